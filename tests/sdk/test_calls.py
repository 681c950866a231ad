"""Lobby calls over the real server: end-to-end encrypted tones between clients, with and without failures."""

import asyncio
import gc
import re
import threading
import wave
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest

from hubbub.protocol.enums import VoiceCloseCode
from hubbub.protocol.voice import XCHACHA20
from hubbub.sdk import (
    AudioModeType,
    AuthorizationTokenType,
    CallError,
    CallStatus,
    ClientStatus,
    LoggingSeverity,
    compat,
)
from hubbub.sdk.media.aec_dump import FILENAMES
from hubbub.sdk.media.voice_socket import VoiceSocket, VoiceSocketClosed
from hubbub.sdk.voice import VoiceCalls
from hubbub.server.app import App
from hubbub.server.commands import certificates
from hubbub.server.core.clock import ControlledClock
from hubbub.server.core.config import Config, VoiceConfig
from tests.fixtures.validator import ResponseMonitor
from tests.oauth import Client as Application
from tests.sdk.audio import FULL_AMPLITUDE, AudioRecorder, CallParticipant, Headset, Tone
from tests.sdk.players import Player, game, new_client, player
from tests.sdk.test_callback_queue import pump_until
from tests.sdk.test_platform_faults import gateway_of
from tests.world import NOW_MS, WAIT_TIMEOUT_SECONDS, World

CONNECTED, RECONNECTING, DISCONNECTED = CallStatus.CONNECTED, CallStatus.RECONNECTING, CallStatus.DISCONNECTED
PAGE = Path(__file__).parents[2] / "docs" / "sdk.md"
MARY_HZ, ZOE_HZ, ANN_HZ = 440.0, 660.0, 1000.0


@pytest.fixture
def voice_config(store_config: Config, tmp_path: Path) -> Config:
    """A configuration whose voice server has its own certificate, as `hubbub dev` sets it up."""
    made = certificates.issue(tmp_path / "voice", [])
    voice = VoiceConfig(certificate=str(made.certificate), key=str(made.key), authority=str(made.authority))
    return msgspec.structs.replace(store_config, voice=voice)


@pytest.fixture
async def world(voice_config: Config, watch: ResponseMonitor) -> AsyncIterator[World]:
    """A world with a voice server."""
    app = App(voice_config, clock=ControlledClock(NOW_MS, running=False))
    await app.start()
    async with aiohttp.ClientSession() as client:
        world = World(app, client)
        yield world
        await world.close()
    await app.stop()


class CallLobby:
    """A lobby and its players."""

    def __init__(self, world: World, application: Application) -> None:
        self.world = world
        self.application = application
        self.players: list[Player] = []
        self.lobby_id = 0

    async def player(self, name: str, **more: Any) -> Player:
        """Add a player to the lobby."""
        made = await player(self.world, self.application, name, threaded=False, **more)
        self.players.append(made)
        self.lobby_id = await made.client.create_or_join_lobby("secret")
        return made

    async def caller(self, name: str, hertz: float, **more: Any) -> CallParticipant:
        """Add a player to the lobby and to its call."""
        made = CallParticipant(await self.player(name, **more), self.lobby_id, hertz)
        await made.wait_for_status(CONNECTED)
        return made


@pytest.fixture
async def house(world: World) -> AsyncIterator[CallLobby]:
    """Create an application for an empty lobby."""
    house = CallLobby(world, await game(world))
    yield house
    for each in house.players:
        await each.client.close()


async def wait_for_mutual_audio(*people: CallParticipant) -> None:
    """Wait until every participant receives the tones of all others."""
    for one in people:
        for other in people:
            if one is not other:
                await one.recorder.wait_for_tone(other.id, other.tone.hertz)


async def test_two_callers_hear_each_other_and_the_lobby_shows_the_call(house: CallLobby) -> None:
    ann = await house.player("ann")
    noticed = ann.record_event("voice_participant_changed")
    mary = await house.caller("mary", MARY_HZ)
    assert [reported[0] for reported in mary.statuses.all] == [
        CallStatus.JOINING,
        CallStatus.CONNECTING,
        CallStatus.SIGNALING_CONNECTED,
        CONNECTED,
    ]
    came, speaks = mary.record_event("participant_changed"), mary.record_event("speaking_status_changed")
    zoe = await house.caller("zoe", ZOE_HZ)

    await wait_for_mutual_audio(mary, zoe)

    assert await came.next() == (zoe.id, True)
    assert await noticed.next() == (house.lobby_id, mary.id, True)
    assert await noticed.next() == (house.lobby_id, zoe.id, True)
    await speaks.next(lambda user_id, speaking: (user_id, speaking) == (zoe.id, True))
    assert set(mary.call.get_participants()) == {mary.id, zoe.id}
    lobby = ann.client.get_lobby_handle(house.lobby_id)
    info = lobby and lobby.get_call_info_handle()
    assert info is not None
    assert set(info.get_participants()) == {mary.id, zoe.id}
    assert (info.channel_id, info.guild_id) == (house.lobby_id, house.lobby_id)


async def test_the_documented_call_example_works(house: CallLobby, capsys: pytest.CaptureFixture[str]) -> None:
    [program] = [each for each in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S) if "start_talking" in each]
    names: dict[str, Any] = {}
    exec(program, names)
    mary, zoe = await house.player("mary"), await house.caller("zoe", ZOE_HZ)
    ear = AudioRecorder()

    call = names["start_talking"](mary.client, house.lobby_id, Tone(MARY_HZ), ear)

    await ear.wait_for_tone(zoe.id, ZOE_HZ)
    await zoe.recorder.wait_for_tone(mary.id, MARY_HZ)
    assert call.get_status() is CONNECTED
    assert names["start_talking"](mary.client, house.lobby_id, Tone(MARY_HZ), ear) is None
    captured = capsys.readouterr().out
    assert "Connected None 0" in captured
    assert f"{zoe.id} speaks" in captured


def session_of(house: CallLobby, caller: CallParticipant) -> Any:
    """Return a player's voice session on the server."""
    assert house.world.app.voice is not None
    return house.world.app.voice.calls._sessions[house.lobby_id, caller.id]


def codes_of(*people: CallParticipant) -> set[str]:
    """Return the verification codes that participants compare."""
    return {connection_of(each)._encryption.privacy_code for each in people}


def connection_of(caller: CallParticipant) -> Any:
    """Return the voice connection of a call."""
    return caller.player.client._parts[VoiceCalls].connections[caller.call.get_channel_id()]


async def test_a_call_is_end_to_end_encrypted(house: CallLobby) -> None:
    mary, zoe = await house.caller("mary", MARY_HZ), await house.caller("zoe", ZOE_HZ)
    await wait_for_mutual_audio(mary, zoe)

    [code] = codes_of(mary, zoe)

    assert len(code) == 30
    assert house.world.app.voice is not None
    [room] = house.world.app.voice.calls._calls_by_channel.values()
    assert not room.forwarding_group.allows_unencrypted()


async def test_a_call_continues_when_a_third_caller_joins_and_leaves(house: CallLobby) -> None:
    mary, zoe = await house.caller("mary", MARY_HZ), await house.caller("zoe", ZOE_HZ)
    ann = await house.caller("ann", ANN_HZ)
    await wait_for_mutual_audio(mary, zoe, ann)
    gone = mary.record_event("participant_changed")

    await ann.player.client.end_call(house.lobby_id)

    assert await gone.next() == (ann.id, False)
    assert not ann.call
    assert ann.player.client.get_call(house.lobby_id) is None
    assert [reported[0] for reported in ann.statuses.all][-2:] == [CallStatus.DISCONNECTING, DISCONNECTED]
    assert set(mary.call.get_participants()) == {mary.id, zoe.id}
    for each in (mary, zoe):
        each.recorder.clear()
    await wait_for_mutual_audio(mary, zoe)
    assert set(mary.recorder.frames) == {zoe.id}


async def test_a_muted_caller_is_silent_and_the_others_are_notified(house: CallLobby) -> None:
    mary, zoe = await house.caller("mary", MARY_HZ), await house.caller("zoe", ZOE_HZ)
    await wait_for_mutual_audio(mary, zoe)
    changed, speaks = mary.record_event("on_voice_state_changed"), mary.record_event("speaking_status_changed")

    zoe.call.set_self_mute(True)

    assert await changed.next() == zoe.id
    state = mary.call.get_voice_state_handle(zoe.id)
    assert state is not None
    assert (state.self_mute, state.self_deaf) == (True, False)
    await speaks.next(lambda user_id, speaking: (user_id, speaking) == (zoe.id, False))
    mary.recorder.clear()
    zoe.call.set_self_mute(False)
    assert await changed.next() == zoe.id
    await mary.recorder.wait_for_tone(zoe.id, ZOE_HZ)


async def test_a_deafened_caller_neither_receives_nor_sends_audio(house: CallLobby) -> None:
    mary, zoe = await house.caller("mary", MARY_HZ), await house.caller("zoe", ZOE_HZ)
    await wait_for_mutual_audio(mary, zoe)
    changed, speaks = mary.record_event("on_voice_state_changed"), mary.record_event("speaking_status_changed")

    zoe.player.client.set_self_deaf_all(True)

    assert await changed.next() == zoe.id
    state = mary.call.get_voice_state_handle(zoe.id)
    assert state is not None
    assert (state.self_mute, state.self_deaf) == (True, True)
    assert (zoe.call.get_self_deaf(), zoe.player.client.get_self_deaf_all()) == (False, True)
    await speaks.next(lambda user_id, speaking: (user_id, speaking) == (zoe.id, False))
    zoe.recorder.clear()
    mary.recorder.clear()
    # Time is measured by received audio. None is received here, so the test measures it by captured audio.
    captured = mary.tone._at
    await wait_for_captured_audio(mary, captured)
    assert zoe.recorder.frames == {}
    zoe.player.client.set_self_deaf_all(False)
    await wait_for_mutual_audio(mary, zoe)


async def wait_for_captured_audio(caller: CallParticipant, since: int, seconds: float = 0.5) -> None:
    """Wait until a player's microphone has run for this many seconds."""
    loop = asyncio.get_running_loop()
    came = asyncio.Event()
    inner = caller.tone

    def watch(*args: Any) -> None:
        inner(*args)
        if inner._at - since > 48_000 * seconds:
            loop.call_soon_threadsafe(came.set)

    caller.call._state.captured_audio = watch
    async with asyncio.timeout(60):
        await came.wait()
    caller.call._state.captured_audio = inner


async def test_local_mute_and_volume_affect_only_this_client(house: CallLobby) -> None:
    headset = Headset()
    mary = await house.player("mary", audio=headset)
    call = mary.client.start_call(house.lobby_id)
    assert call is not None
    zoe, ann = await house.caller("zoe", ZOE_HZ), await house.caller("ann", ANN_HZ)
    ann.call.set_local_mute(zoe.id, True)
    ann.recorder.clear()
    call.set_local_mute(ann.id, True)
    await headset.recorder.wait_for_tone(0, ZOE_HZ)
    await headset.recorder.wait_until(lambda: headset.loudness == pytest.approx(FULL_AMPLITUDE, rel=0.1))

    call.set_participant_volume(zoe.id, 200.0)
    await headset.recorder.wait_until(lambda: headset.loudness == pytest.approx(2 * FULL_AMPLITUDE, rel=0.1))
    mary.client.set_output_volume(25.0)
    await headset.recorder.wait_until(lambda: headset.loudness == pytest.approx(FULL_AMPLITUDE / 2, rel=0.1))
    call.set_participant_volume(zoe.id, 0.0)
    await headset.recorder.wait_until(lambda: headset.loudness == 0)

    assert zoe.id not in ann.recorder.frames
    assert headset.devices == [("default", "default")]
    await mary.client.set_input_device("studio")
    await headset.recorder.wait_until(lambda: headset.devices[-1] == ("studio", "default"))
    assert (await mary.client.get_current_input_device()).name == "Studio"
    await mary.client.end_call(house.lobby_id)
    await mary.client.close()
    assert headset.stopped == 1


async def test_push_to_talk_sends_microphone_audio_while_pressed(house: CallLobby) -> None:
    headset = Headset(Tone(MARY_HZ))
    mary = await house.player("mary", audio=headset)
    call = mary.client.start_call(house.lobby_id)
    assert call is not None
    call.set_audio_mode(AudioModeType.MODE_PTT)
    zoe = await house.caller("zoe", ZOE_HZ)
    speaks = zoe.record_event("speaking_status_changed")
    await headset.recorder.wait_for_tone(0, ZOE_HZ)
    assert mary.id not in zoe.recorder.frames

    call.set_ptt_active(True)
    await zoe.recorder.wait_for_tone(mary.id, MARY_HZ)
    call.set_ptt_active(False)

    await speaks.next(lambda user_id, speaking: (user_id, speaking) == (mary.id, False))


async def test_audio_callbacks_can_modify_received_and_sent_audio(house: CallLobby, tmp_path: Path) -> None:
    headset, silenced = Headset(Tone(MARY_HZ)), False
    mary = await house.player("mary", audio=headset)
    assert mary.client.set_log_dir(str(tmp_path), LoggingSeverity.WARNING)
    mary.client.set_aec_dump(True)

    def soften(user_id: int, samples: Any, *_: int) -> bool:
        for index, each in enumerate(samples):
            samples[index] = each // 2
        return silenced

    def pass_through(*_: Any) -> None:
        pass

    call = mary.client.start_call_with_audio_callbacks(house.lobby_id, soften, pass_through)
    assert call is not None
    zoe = await house.caller("zoe", ZOE_HZ)
    await headset.recorder.wait_until(lambda: headset.loudness == pytest.approx(FULL_AMPLITUDE / 2, rel=0.1))
    silenced = True
    await headset.recorder.wait_until(lambda: headset.loudness == 0)

    await zoe.recorder.wait_until(lambda: zoe.recorder.loudness(mary.id) == pytest.approx(FULL_AMPLITUDE, rel=0.1))
    mary.client.set_input_volume(25.0)
    await zoe.recorder.wait_until(lambda: zoe.recorder.loudness(mary.id) == pytest.approx(FULL_AMPLITUDE / 4, rel=0.1))

    mary.client.set_aec_dump(False)
    await mary.client.end_call(house.lobby_id)
    await mary.client.close()
    for name in FILENAMES:
        with wave.open(str(tmp_path / name)) as file:
            assert any(file.readframes(file.getnframes()))


async def test_a_failing_audio_callback_is_logged_once_and_the_call_continues(house: CallLobby) -> None:
    mary, zoe = await house.caller("mary", MARY_HZ), await house.caller("zoe", ZOE_HZ)
    await wait_for_mutual_audio(mary, zoe)
    reported: list[str] = []
    zoe.player.client.add_voice_log_callback(lambda text, _: reported.append(text), LoggingSeverity.WARNING)

    def fails(*_: Any) -> Any:
        raise ValueError("not today")

    zoe.call._state.captured_audio = zoe.call._state.received_audio = fails
    speaks = mary.record_event("speaking_status_changed")
    await speaks.next(lambda user_id, speaking: (user_id, speaking) == (zoe.id, False))
    zoe.call._state.captured_audio, zoe.call._state.received_audio = zoe.tone, zoe.recorder
    zoe.recorder.clear()

    await wait_for_mutual_audio(mary, zoe)

    assert sorted(text.partition(" ")[0] for text in reported) == ["captured", "received"]
    assert zoe.call.get_status() is CONNECTED


async def test_reset_removes_the_audio_callbacks(house: CallLobby) -> None:
    mary, zoe = await house.caller("mary", MARY_HZ), await house.caller("zoe", ZOE_HZ)
    await wait_for_mutual_audio(mary, zoe)
    speaks = mary.record_event("speaking_status_changed")

    zoe.player.client._core.reset()

    await speaks.next(lambda user_id, speaking: (user_id, speaking) == (zoe.id, False))
    assert (zoe.call._state.captured_audio, zoe.call._state.received_audio) == (None, None)
    assert zoe.call.get_status() is CONNECTED


async def test_the_no_audio_input_callback_reports_silence_and_recovery(house: CallLobby) -> None:
    mary = await house.player("mary")
    noticed = mary.record_event("no_audio_input")
    mary.client.set_no_audio_input_threshold(-60.0)
    call = CallParticipant(mary, house.lobby_id, MARY_HZ)
    call.tone.on = False

    assert await noticed.next() is False
    call.tone.on = True
    assert await noticed.next() is True


# Failures


async def test_a_call_reconnects_after_its_connection_is_cut(house: CallLobby) -> None:
    mary, zoe = await house.caller("mary", MARY_HZ), await house.caller("zoe", ZOE_HZ)
    await wait_for_mutual_audio(mary, zoe)
    session, left = session_of(house, zoe), mary.record_event("participant_changed")

    session.connection.transport.abort()

    assert await zoe.wait_for_status(RECONNECTING) == (CallError.NONE, 0)
    await zoe.wait_for_status(CONNECTED)
    for each in (mary, zoe):
        each.recorder.clear()
    await wait_for_mutual_audio(mary, zoe)
    assert session_of(house, zoe) is session
    assert left.all == []


async def test_a_call_identifies_again_when_the_voice_server_lost_its_session(house: CallLobby) -> None:
    mary, zoe = await house.caller("mary", MARY_HZ), await house.caller("zoe", ZOE_HZ)
    await wait_for_mutual_audio(mary, zoe)
    assert house.world.app.voice is not None

    house.world.app.voice.calls.end(session_of(house, zoe), VoiceCloseCode.SESSION_NO_LONGER_VALID, "")

    await zoe.wait_for_status(RECONNECTING)
    await zoe.wait_for_status(CONNECTED)
    for each in (mary, zoe):
        each.recorder.clear()
    await wait_for_mutual_audio(mary, zoe)


async def test_a_call_rejoins_after_its_resume_period_ends(house: CallLobby, monkeypatch: pytest.MonkeyPatch) -> None:
    mary, zoe = await house.caller("mary", MARY_HZ), await house.caller("zoe", ZOE_HZ)
    await wait_for_mutual_audio(mary, zoe)
    gone, reached = mary.record_event("participant_changed"), VoiceSocket.open
    away = True

    async def open_later(self: VoiceSocket) -> None:
        if away:
            raise VoiceSocketClosed(0)
        await reached(self)

    monkeypatch.setattr(VoiceSocket, "open", open_later)
    session_of(house, zoe).connection.transport.abort()
    await zoe.wait_for_status(RECONNECTING)
    await house.world.clock.run_for(10_000)
    assert await gone.next() == (zoe.id, False)
    away = False

    await zoe.wait_for_status(CONNECTED)
    assert await gone.next() == (zoe.id, True)
    for each in (mary, zoe):
        each.recorder.clear()
    await wait_for_mutual_audio(mary, zoe)


async def test_a_call_recovers_from_a_full_network_outage(house: CallLobby, monkeypatch: pytest.MonkeyPatch) -> None:
    mary, zoe = await house.caller("mary", MARY_HZ), await house.caller("zoe", ZOE_HZ)
    await wait_for_mutual_audio(mary, zoe)
    gone, statuses = mary.record_event("participant_changed"), zoe.player.record_event("status_changed")
    gateway, voice_open = gateway_of(zoe.player.client), VoiceSocket.open
    back = asyncio.Event()

    async def open_later(self: VoiceSocket) -> None:
        if not back.is_set():
            raise VoiceSocketClosed(0)
        await voice_open(self)

    async def wait(seconds: float) -> None:
        await back.wait()

    monkeypatch.setattr(VoiceSocket, "open", open_later)
    gateway.sleep = wait
    assert gateway._socket is not None
    connection = gateway._socket._response.connection
    assert connection is not None
    assert connection.transport is not None
    connection.transport.abort()
    session_of(house, zoe).connection.transport.abort()
    await statuses.next(lambda status, *_: status is ClientStatus.RECONNECTING)
    await zoe.wait_for_status(RECONNECTING)
    await house.world.clock.run_for(10_000)
    assert await gone.next() == (zoe.id, False)
    back.set()

    await zoe.wait_for_status(CONNECTED)
    assert await gone.next() == (zoe.id, True)
    for each in (mary, zoe):
        each.recorder.clear()
    await wait_for_mutual_audio(mary, zoe)


async def test_a_new_gateway_session_keeps_the_call(house: CallLobby) -> None:
    mary, zoe = await house.caller("mary", MARY_HZ), await house.caller("zoe", ZOE_HZ)
    await wait_for_mutual_audio(mary, zoe)

    await gateway_of(zoe.player.client).restart_session()

    await zoe.wait_for_status(RECONNECTING)
    await zoe.wait_for_status(CONNECTED)
    for each in (mary, zoe):
        each.recorder.clear()
    await wait_for_mutual_audio(mary, zoe)
    assert set(zoe.call.get_participants()) == {mary.id, zoe.id}


async def test_deleting_a_lobby_ends_its_call(house: CallLobby) -> None:
    mary = await house.caller("mary", MARY_HZ)
    bot = house.application.bot
    assert bot is not None

    (await bot.delete(f"/lobbies/{house.lobby_id}")).ok()

    error, detail = await mary.wait_for_status(DISCONNECTED)
    assert (error, detail) == (CallError.SIGNALING_UNEXPECTED_CLOSE, VoiceCloseCode.CALL_TERMINATED)
    assert mary.call.get_participants() == []


async def test_leaving_the_lobby_leaves_its_call(house: CallLobby) -> None:
    mary, zoe = await house.caller("mary", MARY_HZ), await house.caller("zoe", ZOE_HZ)
    gone = zoe.record_event("participant_changed")

    await mary.player.client.leave_lobby(house.lobby_id)

    error, detail = await mary.wait_for_status(DISCONNECTED)
    assert (error, detail) == (CallError.SIGNALING_UNEXPECTED_CLOSE, VoiceCloseCode.DISCONNECTED)
    assert await gone.next() == (mary.id, False)
    assert mary.player.client.start_call(house.lobby_id) is not None
    assert mary.call.get_status() is DISCONNECTED


async def test_another_device_takes_a_call_over(house: CallLobby) -> None:
    mary = await house.caller("mary", MARY_HZ)
    phone = new_client(house.world, threaded=False)
    await phone.update_token(AuthorizationTokenType.BEARER, mary.player.tokens["access_token"])
    await phone.connect()

    second = CallParticipant(Player(mary.player.user, phone, {}), house.lobby_id, ZOE_HZ)

    await second.wait_for_status(CONNECTED)
    error, detail = await mary.wait_for_status(DISCONNECTED)
    assert (error, detail) == (CallError.SIGNALING_UNEXPECTED_CLOSE, VoiceCloseCode.DISCONNECTED)
    assert second.call.get_status() is CONNECTED
    await phone.close()


async def test_a_voice_server_with_an_untrusted_certificate_is_rejected(house: CallLobby) -> None:
    mary = await house.player("mary")
    mary.client._core.options.voice_authority = ""

    call = CallParticipant(mary, house.lobby_id, MARY_HZ)

    assert await call.wait_for_status(DISCONNECTED) == (CallError.SIGNALING_CONNECTION_FAILED, 0)
    again = CallParticipant(mary, house.lobby_id, MARY_HZ)
    assert not call.call
    assert again.call


async def test_a_call_fails_without_a_udp_path(house: CallLobby, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hubbub.sdk.media.discovery.TRIES_MAX", 1)
    monkeypatch.setattr("hubbub.sdk.media.discovery.parse_discovery_response", lambda datagram, ssrc: None)
    mary = await house.player("mary")

    call = CallParticipant(mary, house.lobby_id, MARY_HZ)

    error, _ = await call.wait_for_status(DISCONNECTED)
    assert error is CallError.VOICE_CONNECTION_FAILED
    assert CallStatus.SIGNALING_CONNECTED in [reported[0] for reported in call.statuses.all]
    lobby = mary.client.get_lobby_handle(house.lobby_id)
    assert lobby is not None
    await mary.record_event("voice_participant_changed").next(
        lambda *reported: reported == (house.lobby_id, mary.id, False)
    )
    assert lobby.get_call_info_handle() is None


async def test_a_call_that_gets_no_ticket_ends(house: CallLobby, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hubbub.sdk.media.voice_connection.TICKET_TIMEOUT_SECONDS", 0.05)
    monkeypatch.setattr("hubbub.sdk.call_signaling.LOBBY_VOICE_STATES", 1)
    mary = await house.player("mary")

    call = CallParticipant(mary, house.lobby_id, MARY_HZ)

    assert await call.wait_for_status(DISCONNECTED) == (CallError.JOIN_TIMEOUT, 0)


async def test_the_fallback_encryption_mode_works(house: CallLobby, monkeypatch: pytest.MonkeyPatch) -> None:
    mary = await house.caller("mary", MARY_HZ)
    monkeypatch.setattr("hubbub.sdk.media.voice_connection.SUPPORTED_MODES", (XCHACHA20,))

    zoe = await house.caller("zoe", ZOE_HZ)

    await wait_for_mutual_audio(mary, zoe)


# Calls in a game loop


async def test_a_game_loop_receives_participant_and_speaking_callbacks(house: CallLobby) -> None:
    zoe = await house.caller("zoe", ZOE_HZ)
    application, world = house.application, house.world
    tokens = await application.request_tokens(await world.user("mary"), "openid sdk.social_layer")
    options = compat.ClientCreateOptions(web_base=world.url, voice_authority=world.app.config.voice.authority)

    def play() -> list[str]:
        client, seen = compat.Client(options, threaded=True), []
        joined: list[int] = []
        client.UpdateToken(compat.AuthorizationTokenType.Bearer, tokens["access_token"], lambda _: client.Connect())
        client.SetStatusChangedCallback(
            lambda status, *_: (
                status == compat.Client.Status.Ready
                and client.CreateOrJoinLobby("secret", lambda _, lobby_id: joined.append(lobby_id))
            )
        )
        pump_until(client, lambda: bool(joined))
        mary = client.GetCurrentUserV2().Id()
        call = client.StartCallWithAudioCallbacks(joined[0], lambda *_: False, Tone(MARY_HZ))
        call.SetStatusChangedCallback(lambda status, error, _: seen.append(compat.Call.StatusToString(status)))
        call.SetParticipantChangedCallback(
            lambda user_id, came: seen.append(("came" if came else "went", user_id == mary))
        )
        call.SetSpeakingStatusChangedCallback(
            lambda user_id, on: seen.append(("speaks" if on else "quiet", user_id == mary))
        )
        pump_until(client, lambda: ("speaks", False) in seen and ("speaks", True) in seen)
        assert set(call.GetParticipants()) == {mary, zoe.id}
        assert [each.GetChannelId() for each in client.GetCalls()] == joined
        client.EndCalls(lambda: seen.append("over"))
        pump_until(client, lambda: "over" in seen)
        assert (bool(call), client.GetCalls()) == (False, [])
        client.close()
        return seen

    seen = await asyncio.to_thread(play)

    reported = [each for each in seen if isinstance(each, str)]
    assert reported == [
        "Joining",
        "Connecting",
        "SignalingConnected",
        "Connected",
        "Disconnecting",
        "Disconnected",
        "over",
    ]
    assert ("came", True) in seen


async def test_destroying_a_client_in_a_call_leaves_no_thread_or_voice_state(house: CallLobby) -> None:
    mary, zoe = await house.caller("mary", MARY_HZ), await house.caller("zoe", ZOE_HZ)
    await wait_for_mutual_audio(mary, zoe)
    gone = mary.record_event("participant_changed")

    await zoe.player.client.close()

    assert not zoe.call
    assert await gone.next() == (zoe.id, False)
    await mary.player.client.close()
    # Closing waits for the thread, but not longer than a limit that a busy machine exceeds.
    async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
        while any(thread.name == "hubbub-voice" for thread in threading.enumerate()):
            await asyncio.sleep(0.01)


async def test_a_client_dropped_in_a_call_leaves_no_thread(house: CallLobby) -> None:
    mary = await house.caller("mary", MARY_HZ)
    gone = mary.record_event("participant_changed")
    application, world = house.application, house.world
    tokens = await application.request_tokens(await world.user("ann"), "openid sdk.social_layer")

    def play_and_forget() -> None:
        client = new_client(world, threaded=True)
        client.update_token(AuthorizationTokenType.BEARER, tokens["access_token"]).result(WAIT_TIMEOUT_SECONDS)
        client.connect().result(WAIT_TIMEOUT_SECONDS)
        call = client.start_call(client.create_or_join_lobby("secret").result(WAIT_TIMEOUT_SECONDS))
        assert call is not None
        pump_until(client, lambda: call.get_status() is CONNECTED)

    await asyncio.to_thread(play_and_forget)
    gc.collect()

    assert (await gone.next())[1] is True
    assert (await gone.next())[1] is False
    await mary.player.client.close()
    # Closing waits for the thread, but not longer than a limit that a busy machine exceeds.
    async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
        while any(thread.name == "hubbub-voice" for thread in threading.enumerate()):
            await asyncio.sleep(0.01)

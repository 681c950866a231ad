"""Lobby calls over the real server: end-to-end encrypted tones between clients, with and without failures."""

import asyncio
import gc
import re
import threading
import wave
from pathlib import Path
from typing import Any

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
from tests.sdk.audio import (
    FULL_AMPLITUDE,
    AudioRecorder,
    CallParticipant,
    Headset,
    Tone,
    connection_of,
    wait_for_mutual_audio,
)
from tests.sdk.call_lobbies import CallLobby
from tests.sdk.game_loop import pump_until
from tests.sdk.players import Player, gateway_of, new_client
from tests.world import WAIT_TIMEOUT_SECONDS

pytestmark = pytest.mark.voice_certificate

CONNECTED, RECONNECTING, DISCONNECTED = CallStatus.CONNECTED, CallStatus.RECONNECTING, CallStatus.DISCONNECTED
SDK_GUIDE = Path(__file__).parents[2] / "docs" / "sdk.md"
MARY_HZ, ZOE_HZ, ANN_HZ = 440.0, 660.0, 1000.0


async def test_two_callers_receive_each_others_audio_and_the_lobby_shows_the_call(call_lobby: CallLobby) -> None:
    ann = await call_lobby.add_player("ann")
    reported_events = ann.record_event("voice_participant_changed")
    mary = await call_lobby.add_caller("mary", MARY_HZ)
    assert [status_report[0] for status_report in mary.statuses.calls] == [
        CallStatus.JOINING,
        CallStatus.CONNECTING,
        CallStatus.SIGNALING_CONNECTED,
        CONNECTED,
    ]
    participant_events, speaking_events = (
        mary.record_event("participant_changed"),
        mary.record_event("speaking_status_changed"),
    )
    zoe = await call_lobby.add_caller("zoe", ZOE_HZ)

    await wait_for_mutual_audio(mary, zoe)

    assert await participant_events.next() == (zoe.id, True)
    assert await reported_events.next() == (call_lobby.lobby_id, mary.id, True)
    assert await reported_events.next() == (call_lobby.lobby_id, zoe.id, True)
    await speaking_events.next(lambda user_id, speaking: (user_id, speaking) == (zoe.id, True))
    assert set(mary.call.get_participants()) == {mary.id, zoe.id}
    lobby = ann.client.get_lobby_handle(call_lobby.lobby_id)
    assert lobby is not None
    call_info = lobby.get_call_info_handle()
    assert call_info is not None
    assert set(call_info.get_participants()) == {mary.id, zoe.id}
    assert (call_info.channel_id, call_info.guild_id) == (call_lobby.lobby_id, call_lobby.lobby_id)


async def test_the_documented_call_example_works(call_lobby: CallLobby, capsys: pytest.CaptureFixture[str]) -> None:
    [program] = [
        code_block
        for code_block in re.findall(r"```python\n(.*?)```", SDK_GUIDE.read_text(), re.S)
        if "start_talking" in code_block
    ]
    namespace: dict[str, Any] = {}
    exec(program, namespace)
    mary, zoe = await call_lobby.add_player("mary"), await call_lobby.add_caller("zoe", ZOE_HZ)
    recorder = AudioRecorder()

    call = namespace["start_talking"](mary.client, call_lobby.lobby_id, Tone(MARY_HZ), recorder)

    await recorder.wait_for_tone(zoe.id, ZOE_HZ)
    await zoe.recorder.wait_for_tone(mary.id, MARY_HZ)
    assert call.get_status() is CONNECTED
    assert namespace["start_talking"](mary.client, call_lobby.lobby_id, Tone(MARY_HZ), recorder) is None
    output = capsys.readouterr().out
    assert "Connected None 0" in output
    assert f"{zoe.id} speaks" in output


def voice_session_of(call_lobby: CallLobby, caller: CallParticipant) -> Any:
    """Return a player's voice session on the server."""
    assert call_lobby.world.app.voice is not None
    return call_lobby.world.app.voice.calls._sessions[call_lobby.lobby_id, caller.id]


def verification_codes(*participants: CallParticipant) -> set[str]:
    """Return the verification codes that participants compare."""
    return {connection_of(participant)._encryption.privacy_code for participant in participants}


async def test_a_call_is_end_to_end_encrypted(call_lobby: CallLobby) -> None:
    mary, zoe = await call_lobby.add_caller("mary", MARY_HZ), await call_lobby.add_caller("zoe", ZOE_HZ)
    await wait_for_mutual_audio(mary, zoe)

    [code] = verification_codes(mary, zoe)

    assert len(code) == 30
    assert call_lobby.world.app.voice is not None
    [voice_call] = call_lobby.world.app.voice.calls._calls_by_channel.values()
    assert not voice_call.forwarding_group.allows_unencrypted()


async def test_a_call_continues_when_a_third_caller_joins_and_leaves(call_lobby: CallLobby) -> None:
    mary, zoe = await call_lobby.add_caller("mary", MARY_HZ), await call_lobby.add_caller("zoe", ZOE_HZ)
    ann = await call_lobby.add_caller("ann", ANN_HZ)
    await wait_for_mutual_audio(mary, zoe, ann)
    participant_events = mary.record_event("participant_changed")

    await ann.player.client.end_call(call_lobby.lobby_id)

    assert await participant_events.next() == (ann.id, False)
    assert not ann.call
    assert ann.player.client.get_call(call_lobby.lobby_id) is None
    assert [status_report[0] for status_report in ann.statuses.calls][-2:] == [CallStatus.DISCONNECTING, DISCONNECTED]
    assert set(mary.call.get_participants()) == {mary.id, zoe.id}
    for participant in (mary, zoe):
        participant.recorder.clear()
    await wait_for_mutual_audio(mary, zoe)
    assert set(mary.recorder.frame_counts) == {zoe.id}


async def test_a_muted_caller_is_silent_and_the_others_are_notified(call_lobby: CallLobby) -> None:
    mary, zoe = await call_lobby.add_caller("mary", MARY_HZ), await call_lobby.add_caller("zoe", ZOE_HZ)
    await wait_for_mutual_audio(mary, zoe)
    changed_events, speaking_events = (
        mary.record_event("on_voice_state_changed"),
        mary.record_event("speaking_status_changed"),
    )

    zoe.call.set_self_mute(True)

    assert await changed_events.next() == zoe.id
    state = mary.call.get_voice_state_handle(zoe.id)
    assert state is not None
    assert (state.self_mute, state.self_deaf) == (True, False)
    await speaking_events.next(lambda user_id, speaking: (user_id, speaking) == (zoe.id, False))
    mary.recorder.clear()
    zoe.call.set_self_mute(False)
    assert await changed_events.next() == zoe.id
    await mary.recorder.wait_for_tone(zoe.id, ZOE_HZ)


async def test_a_deafened_caller_neither_receives_nor_sends_audio(call_lobby: CallLobby) -> None:
    mary, zoe = await call_lobby.add_caller("mary", MARY_HZ), await call_lobby.add_caller("zoe", ZOE_HZ)
    await wait_for_mutual_audio(mary, zoe)
    changed_events, speaking_events = (
        mary.record_event("on_voice_state_changed"),
        mary.record_event("speaking_status_changed"),
    )

    zoe.player.client.set_self_deaf_all(True)

    assert await changed_events.next() == zoe.id
    state = mary.call.get_voice_state_handle(zoe.id)
    assert state is not None
    assert (state.self_mute, state.self_deaf) == (True, True)
    assert (zoe.call.get_self_deaf(), zoe.player.client.get_self_deaf_all()) == (False, True)
    await speaking_events.next(lambda user_id, speaking: (user_id, speaking) == (zoe.id, False))
    zoe.recorder.clear()
    mary.recorder.clear()
    # Other tests wait for received audio. No audio is received here, so this test waits for captured audio.
    captured_position = mary.tone.position
    await wait_for_captured_audio(mary, captured_position)
    assert zoe.recorder.frame_counts == {}
    zoe.player.client.set_self_deaf_all(False)
    await wait_for_mutual_audio(mary, zoe)


async def wait_for_captured_audio(caller: CallParticipant, start_position: int, seconds: float = 0.5) -> None:
    """Wait until a player's microphone has run for this many seconds."""
    loop = asyncio.get_running_loop()
    capture_event = asyncio.Event()
    tone = caller.tone

    def capture(*args: Any) -> None:
        tone(*args)
        if tone.position - start_position > 48_000 * seconds:
            loop.call_soon_threadsafe(capture_event.set)

    caller.call._state.on_captured_audio = capture
    async with asyncio.timeout(60):
        await capture_event.wait()
    caller.call._state.on_captured_audio = tone


async def test_local_mute_and_volume_affect_only_this_client(call_lobby: CallLobby) -> None:
    headset = Headset()
    mary = await call_lobby.add_player("mary", audio=headset)
    call = mary.client.start_call(call_lobby.lobby_id)
    assert call is not None
    zoe, ann = await call_lobby.add_caller("zoe", ZOE_HZ), await call_lobby.add_caller("ann", ANN_HZ)
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

    assert zoe.id not in ann.recorder.frame_counts
    assert headset.devices == [("default", "default")]
    await mary.client.set_input_device("studio")
    await headset.recorder.wait_until(lambda: headset.devices[-1] == ("studio", "default"))
    assert (await mary.client.get_current_input_device()).name == "Studio"
    await mary.client.end_call(call_lobby.lobby_id)
    await mary.client.close()
    assert headset.stop_count == 1


async def test_push_to_talk_sends_microphone_audio_while_pressed(call_lobby: CallLobby) -> None:
    headset = Headset(Tone(MARY_HZ))
    mary = await call_lobby.add_player("mary", audio=headset)
    call = mary.client.start_call(call_lobby.lobby_id)
    assert call is not None
    call.set_audio_mode(AudioModeType.MODE_PTT)
    zoe = await call_lobby.add_caller("zoe", ZOE_HZ)
    speaking_events = zoe.record_event("speaking_status_changed")
    await headset.recorder.wait_for_tone(0, ZOE_HZ)
    assert mary.id not in zoe.recorder.frame_counts

    call.set_ptt_active(True)
    await zoe.recorder.wait_for_tone(mary.id, MARY_HZ)
    call.set_ptt_active(False)

    await speaking_events.next(lambda user_id, speaking: (user_id, speaking) == (mary.id, False))


async def test_audio_callbacks_can_modify_received_and_sent_audio(call_lobby: CallLobby, tmp_path: Path) -> None:
    headset, is_silenced = Headset(Tone(MARY_HZ)), False
    mary = await call_lobby.add_player("mary", audio=headset)
    assert mary.client.set_log_dir(str(tmp_path), LoggingSeverity.WARNING)
    mary.client.set_aec_dump(True)

    def halve_volume(user_id: int, samples: Any, *_: int) -> bool:
        for index, sample in enumerate(samples):
            samples[index] = sample // 2
        return is_silenced

    def pass_through(*_: Any) -> None:
        pass

    call = mary.client.start_call_with_audio_callbacks(call_lobby.lobby_id, halve_volume, pass_through)
    assert call is not None
    zoe = await call_lobby.add_caller("zoe", ZOE_HZ)
    await headset.recorder.wait_until(lambda: headset.loudness == pytest.approx(FULL_AMPLITUDE / 2, rel=0.1))
    is_silenced = True
    await headset.recorder.wait_until(lambda: headset.loudness == 0)

    await zoe.recorder.wait_until(lambda: zoe.recorder.loudness(mary.id) == pytest.approx(FULL_AMPLITUDE, rel=0.1))
    mary.client.set_input_volume(25.0)
    await zoe.recorder.wait_until(lambda: zoe.recorder.loudness(mary.id) == pytest.approx(FULL_AMPLITUDE / 4, rel=0.1))

    mary.client.set_aec_dump(False)
    await mary.client.end_call(call_lobby.lobby_id)
    await mary.client.close()
    for name in FILENAMES:
        with wave.open(str(tmp_path / name)) as file:
            assert any(file.readframes(file.getnframes()))


async def test_the_voice_log_describes_a_call(call_lobby: CallLobby, tmp_path: Path) -> None:
    mary = await call_lobby.add_player("mary")
    log_lines: list[str] = []
    mary.client.add_voice_log_callback(lambda text, _: log_lines.append(text), LoggingSeverity.INFO)
    mary.client.set_voice_log_dir(str(tmp_path), LoggingSeverity.VERBOSE)
    caller = CallParticipant(mary, call_lobby.lobby_id, MARY_HZ)
    await caller.wait_for_status(CONNECTED)
    zoe = await call_lobby.add_caller("zoe", ZOE_HZ)
    await wait_for_mutual_audio(caller, zoe)
    token = caller.call._state.ticket.token  # type: ignore[union-attr]
    await mary.client.end_call(call_lobby.lobby_id)
    await mary.client.close()

    texts = [line.removeprefix(f"Call of lobby {call_lobby.lobby_id}: ") for line in log_lines]
    status_texts = [text for text in texts if text.startswith("status ")]
    assert status_texts[:4] == ["status Joining", "status Connecting", "status SignalingConnected", "status Connected"]
    for start in ("connecting at ", "audio through ", f"connected users: {zoe.id}", "joined the encryption group"):
        assert [text for text in texts if text.startswith(start)], (start, texts)
    log_text = (tmp_path / "hubbub-webrtc_0").read_text()
    assert f"(Info): Call of lobby {call_lobby.lobby_id}: status Connected" in log_text
    assert f"(Verbose): Call of lobby {call_lobby.lobby_id}: user {zoe.id} speaks" in log_text
    assert token not in log_text


async def test_a_failing_audio_callback_is_logged_once_and_the_call_continues(call_lobby: CallLobby) -> None:
    mary, zoe = await call_lobby.add_caller("mary", MARY_HZ), await call_lobby.add_caller("zoe", ZOE_HZ)
    await wait_for_mutual_audio(mary, zoe)
    log_lines: list[str] = []
    zoe.player.client.add_voice_log_callback(lambda text, _: log_lines.append(text), LoggingSeverity.WARNING)

    def fail(*_: Any) -> Any:
        raise ValueError("callback failed")

    zoe.call._state.on_captured_audio = zoe.call._state.on_received_audio = fail
    speaking_events = mary.record_event("speaking_status_changed")
    await speaking_events.next(lambda user_id, speaking: (user_id, speaking) == (zoe.id, False))
    zoe.call._state.on_captured_audio, zoe.call._state.on_received_audio = zoe.tone, zoe.recorder
    zoe.recorder.clear()

    await wait_for_mutual_audio(mary, zoe)

    assert sorted(text.partition(" failed")[0] for text in log_lines) == ["Receiving frames", "Sending a frame"]
    assert zoe.call.get_status() is CONNECTED


async def test_reset_removes_the_audio_callbacks(call_lobby: CallLobby) -> None:
    mary, zoe = await call_lobby.add_caller("mary", MARY_HZ), await call_lobby.add_caller("zoe", ZOE_HZ)
    await wait_for_mutual_audio(mary, zoe)
    speaking_events = mary.record_event("speaking_status_changed")

    zoe.player.client._core.reset()

    await speaking_events.next(lambda user_id, speaking: (user_id, speaking) == (zoe.id, False))
    assert (zoe.call._state.on_captured_audio, zoe.call._state.on_received_audio) == (None, None)
    assert zoe.call.get_status() is CONNECTED


async def test_the_no_audio_input_callback_reports_silence_and_recovery(call_lobby: CallLobby) -> None:
    mary = await call_lobby.add_player("mary")
    reported_events = mary.record_event("no_audio_input")
    mary.client.set_no_audio_input_threshold(-60.0)
    participant = CallParticipant(mary, call_lobby.lobby_id, MARY_HZ)
    participant.tone.is_on = False

    assert await reported_events.next() is False
    participant.tone.is_on = True
    assert await reported_events.next() is True


# Failures


async def test_a_call_reconnects_after_its_connection_is_aborted(call_lobby: CallLobby) -> None:
    mary, zoe = await call_lobby.add_caller("mary", MARY_HZ), await call_lobby.add_caller("zoe", ZOE_HZ)
    await wait_for_mutual_audio(mary, zoe)
    session, participant_events = voice_session_of(call_lobby, zoe), mary.record_event("participant_changed")

    session.connection.transport.abort()

    assert await zoe.wait_for_status(RECONNECTING) == (CallError.NONE, 0)
    await zoe.wait_for_status(CONNECTED)
    for participant in (mary, zoe):
        participant.recorder.clear()
    await wait_for_mutual_audio(mary, zoe)
    assert voice_session_of(call_lobby, zoe) is session
    assert participant_events.calls == []


async def test_a_call_identifies_again_when_the_voice_server_lost_its_session(call_lobby: CallLobby) -> None:
    mary, zoe = await call_lobby.add_caller("mary", MARY_HZ), await call_lobby.add_caller("zoe", ZOE_HZ)
    await wait_for_mutual_audio(mary, zoe)
    assert call_lobby.world.app.voice is not None

    call_lobby.world.app.voice.calls.end(voice_session_of(call_lobby, zoe), VoiceCloseCode.SESSION_NO_LONGER_VALID, "")

    await zoe.wait_for_status(RECONNECTING)
    await zoe.wait_for_status(CONNECTED)
    for participant in (mary, zoe):
        participant.recorder.clear()
    await wait_for_mutual_audio(mary, zoe)


async def test_a_call_rejoins_after_its_resume_period_ends(
    call_lobby: CallLobby, monkeypatch: pytest.MonkeyPatch
) -> None:
    mary, zoe = await call_lobby.add_caller("mary", MARY_HZ), await call_lobby.add_caller("zoe", ZOE_HZ)
    await wait_for_mutual_audio(mary, zoe)
    participant_events, original_open = mary.record_event("participant_changed"), VoiceSocket.open
    is_unreachable = True

    async def open_if_reachable(self: VoiceSocket) -> None:
        if is_unreachable:
            raise VoiceSocketClosed(0)
        await original_open(self)

    monkeypatch.setattr(VoiceSocket, "open", open_if_reachable)
    voice_session_of(call_lobby, zoe).connection.transport.abort()
    await zoe.wait_for_status(RECONNECTING)
    await call_lobby.world.clock.run_for(10_000)
    assert await participant_events.next() == (zoe.id, False)
    is_unreachable = False

    await zoe.wait_for_status(CONNECTED)
    assert await participant_events.next() == (zoe.id, True)
    for participant in (mary, zoe):
        participant.recorder.clear()
    await wait_for_mutual_audio(mary, zoe)


async def test_a_call_recovers_from_a_full_network_outage(
    call_lobby: CallLobby, monkeypatch: pytest.MonkeyPatch
) -> None:
    mary, zoe = await call_lobby.add_caller("mary", MARY_HZ), await call_lobby.add_caller("zoe", ZOE_HZ)
    await wait_for_mutual_audio(mary, zoe)
    participant_events, status_events = (
        mary.record_event("participant_changed"),
        zoe.player.record_event("status_changed"),
    )
    gateway, original_open = gateway_of(zoe.player.client), VoiceSocket.open
    network_restored = asyncio.Event()

    async def open_if_restored(self: VoiceSocket) -> None:
        if not network_restored.is_set():
            raise VoiceSocketClosed(0)
        await original_open(self)

    async def wait_restored(seconds: float) -> None:
        await network_restored.wait()

    monkeypatch.setattr(VoiceSocket, "open", open_if_restored)
    gateway.sleep = wait_restored
    assert gateway._socket is not None
    connection = gateway._socket._response.connection
    assert connection is not None
    assert connection.transport is not None
    connection.transport.abort()
    voice_session_of(call_lobby, zoe).connection.transport.abort()
    await status_events.next(lambda status, *_: status is ClientStatus.RECONNECTING)
    await zoe.wait_for_status(RECONNECTING)
    await call_lobby.world.clock.run_for(10_000)
    assert await participant_events.next() == (zoe.id, False)
    network_restored.set()

    await zoe.wait_for_status(CONNECTED)
    assert await participant_events.next() == (zoe.id, True)
    for participant in (mary, zoe):
        participant.recorder.clear()
    await wait_for_mutual_audio(mary, zoe)


async def test_a_new_gateway_session_keeps_the_call(call_lobby: CallLobby) -> None:
    mary, zoe = await call_lobby.add_caller("mary", MARY_HZ), await call_lobby.add_caller("zoe", ZOE_HZ)
    await wait_for_mutual_audio(mary, zoe)

    await gateway_of(zoe.player.client).restart_session()

    await zoe.wait_for_status(RECONNECTING)
    await zoe.wait_for_status(CONNECTED)
    for participant in (mary, zoe):
        participant.recorder.clear()
    await wait_for_mutual_audio(mary, zoe)
    assert set(zoe.call.get_participants()) == {mary.id, zoe.id}


async def test_deleting_a_lobby_ends_its_call(call_lobby: CallLobby) -> None:
    mary = await call_lobby.add_caller("mary", MARY_HZ)
    bot = call_lobby.application.bot
    assert bot is not None

    (await bot.delete(f"/lobbies/{call_lobby.lobby_id}")).ok()

    error, detail = await mary.wait_for_status(DISCONNECTED)
    assert (error, detail) == (CallError.SIGNALING_UNEXPECTED_CLOSE, VoiceCloseCode.CALL_TERMINATED)
    assert mary.call.get_participants() == []


async def test_leaving_the_lobby_leaves_its_call(call_lobby: CallLobby) -> None:
    mary, zoe = await call_lobby.add_caller("mary", MARY_HZ), await call_lobby.add_caller("zoe", ZOE_HZ)
    participant_events = zoe.record_event("participant_changed")

    await mary.player.client.leave_lobby(call_lobby.lobby_id)

    error, detail = await mary.wait_for_status(DISCONNECTED)
    assert (error, detail) == (CallError.SIGNALING_UNEXPECTED_CLOSE, VoiceCloseCode.DISCONNECTED)
    assert await participant_events.next() == (mary.id, False)
    assert mary.player.client.start_call(call_lobby.lobby_id) is not None
    assert mary.call.get_status() is DISCONNECTED


async def test_another_device_takes_a_call_over(call_lobby: CallLobby) -> None:
    mary = await call_lobby.add_caller("mary", MARY_HZ)
    phone = new_client(call_lobby.world, threaded=False)
    await phone.update_token(AuthorizationTokenType.BEARER, mary.player.tokens["access_token"])
    await phone.connect()

    phone_participant = CallParticipant(Player(mary.player.user, phone, {}), call_lobby.lobby_id, ZOE_HZ)

    await phone_participant.wait_for_status(CONNECTED)
    error, detail = await mary.wait_for_status(DISCONNECTED)
    assert (error, detail) == (CallError.SIGNALING_UNEXPECTED_CLOSE, VoiceCloseCode.DISCONNECTED)
    assert phone_participant.call.get_status() is CONNECTED
    await phone.close()


async def test_a_voice_server_with_an_untrusted_certificate_is_rejected(call_lobby: CallLobby) -> None:
    mary = await call_lobby.add_player("mary")
    mary.client._core.options.voice_authority = ""

    participant = CallParticipant(mary, call_lobby.lobby_id, MARY_HZ)

    assert await participant.wait_for_status(DISCONNECTED) == (CallError.SIGNALING_CONNECTION_FAILED, 0)
    second_participant = CallParticipant(mary, call_lobby.lobby_id, MARY_HZ)
    assert not participant.call
    assert second_participant.call


async def test_a_call_fails_without_a_udp_path(call_lobby: CallLobby, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hubbub.sdk.media.discovery.TRIES_MAX", 1)
    monkeypatch.setattr("hubbub.sdk.media.discovery.parse_discovery_response", lambda datagram, ssrc: None)
    mary = await call_lobby.add_player("mary")

    participant = CallParticipant(mary, call_lobby.lobby_id, MARY_HZ)

    error, _ = await participant.wait_for_status(DISCONNECTED)
    assert error is CallError.VOICE_CONNECTION_FAILED
    assert CallStatus.SIGNALING_CONNECTED in [status_report[0] for status_report in participant.statuses.calls]
    lobby = mary.client.get_lobby_handle(call_lobby.lobby_id)
    assert lobby is not None
    await mary.record_event("voice_participant_changed").next(
        lambda *change: change == (call_lobby.lobby_id, mary.id, False)
    )
    assert lobby.get_call_info_handle() is None


async def test_a_call_that_gets_no_ticket_ends(call_lobby: CallLobby, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hubbub.sdk.media.voice_connection.TICKET_TIMEOUT_SECONDS", 0.05)
    monkeypatch.setattr("hubbub.sdk.call_signaling.LOBBY_VOICE_STATES", 1)
    mary = await call_lobby.add_player("mary")

    participant = CallParticipant(mary, call_lobby.lobby_id, MARY_HZ)

    assert await participant.wait_for_status(DISCONNECTED) == (CallError.JOIN_TIMEOUT, 0)


async def test_the_fallback_encryption_mode_works(call_lobby: CallLobby, monkeypatch: pytest.MonkeyPatch) -> None:
    mary = await call_lobby.add_caller("mary", MARY_HZ)
    monkeypatch.setattr("hubbub.sdk.media.voice_connection.SUPPORTED_MODES", (XCHACHA20,))

    zoe = await call_lobby.add_caller("zoe", ZOE_HZ)

    await wait_for_mutual_audio(mary, zoe)


# Calls in a game loop


async def test_a_game_loop_receives_participant_and_speaking_callbacks(call_lobby: CallLobby) -> None:
    zoe = await call_lobby.add_caller("zoe", ZOE_HZ)
    application, world = call_lobby.application, call_lobby.world
    tokens = await application.request_tokens(await world.user("mary"), "openid sdk.social_layer")
    options = compat.ClientCreateOptions(web_base=world.url, voice_authority=world.app.config.voice.ca_file)

    def run_game() -> list[str]:
        client, callbacks = compat.Client(options, threaded=True), []
        lobby_ids: list[int] = []
        client.UpdateToken(compat.AuthorizationTokenType.Bearer, tokens["access_token"], lambda _: client.Connect())
        client.SetStatusChangedCallback(
            lambda status, *_: (
                status == compat.Client.Status.Ready
                and client.CreateOrJoinLobby("secret", lambda _, lobby_id: lobby_ids.append(lobby_id))
            )
        )
        pump_until(client, lambda: bool(lobby_ids))
        mary_id = client.GetCurrentUserV2().Id()
        call = client.StartCallWithAudioCallbacks(lobby_ids[0], lambda *_: False, Tone(MARY_HZ))
        call.SetStatusChangedCallback(lambda status, error, _: callbacks.append(compat.Call.StatusToString(status)))
        call.SetParticipantChangedCallback(
            lambda user_id, has_joined: callbacks.append(("joined" if has_joined else "left", user_id == mary_id))
        )
        call.SetSpeakingStatusChangedCallback(
            lambda user_id, is_speaking: callbacks.append(("speaking" if is_speaking else "silent", user_id == mary_id))
        )
        pump_until(client, lambda: ("speaking", False) in callbacks and ("speaking", True) in callbacks)
        assert set(call.GetParticipants()) == {mary_id, zoe.id}
        assert [other_call.GetChannelId() for other_call in client.GetCalls()] == lobby_ids
        client.EndCalls(lambda: callbacks.append("over"))
        pump_until(client, lambda: "over" in callbacks)
        assert (bool(call), client.GetCalls()) == (False, [])
        client.close()
        return callbacks

    callbacks = await asyncio.to_thread(run_game)

    reported_statuses = [entry for entry in callbacks if isinstance(entry, str)]
    assert reported_statuses == [
        "Joining",
        "Connecting",
        "SignalingConnected",
        "Connected",
        "Disconnecting",
        "Disconnected",
        "over",
    ]
    assert ("joined", True) in callbacks


async def test_destroying_a_client_in_a_call_leaves_no_thread_or_voice_state(call_lobby: CallLobby) -> None:
    mary, zoe = await call_lobby.add_caller("mary", MARY_HZ), await call_lobby.add_caller("zoe", ZOE_HZ)
    await wait_for_mutual_audio(mary, zoe)
    participant_events = mary.record_event("participant_changed")

    await zoe.player.client.close()

    assert not zoe.call
    assert await participant_events.next() == (zoe.id, False)
    await mary.player.client.close()
    # Closing waits for the thread, but not longer than a limit that a busy machine exceeds.
    async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
        while any(thread.name == "hubbub-voice" for thread in threading.enumerate()):
            await asyncio.sleep(0.01)


async def test_a_client_dropped_in_a_call_leaves_no_thread(call_lobby: CallLobby) -> None:
    mary = await call_lobby.add_caller("mary", MARY_HZ)
    participant_events = mary.record_event("participant_changed")
    application, world = call_lobby.application, call_lobby.world
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

    assert (await participant_events.next())[1] is True
    assert (await participant_events.next())[1] is False
    await mary.player.client.close()
    # Closing waits for the thread, but not longer than a limit that a busy machine exceeds.
    async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
        while any(thread.name == "hubbub-voice" for thread in threading.enumerate()):
            await asyncio.sleep(0.01)

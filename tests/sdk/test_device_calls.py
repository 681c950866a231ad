"""Lobby calls between microphones and speakers: tones are fed at the capture and measured at the other side's playback."""

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from hubbub.sdk import AudioModeType, Call, LoggingSeverity, compat
from hubbub.sdk.media.devices import DeviceEngine
from tests.sdk.audio import FULL_AMPLITUDE, AudioRecorder, Tone
from tests.sdk.call_lobbies import CallLobby
from tests.sdk.players import CallbackRecorder, Player, create_player
from tests.sdk.test_compat_names import documented_operations
from tests.sdk.virtual_devices import VirtualDriver
from tests.world import WAIT_TIMEOUT_SECONDS

pytestmark = pytest.mark.voice_certificate

DESK_HZ, STUDIO_HZ, ZOE_HZ = 440.0, 1000.0, 660.0


class DeviceCaller:
    """A player in a call, with microphones that produce tones and a recorded speaker."""

    def __init__(self, player: Player, driver: VirtualDriver, lobby_id: int) -> None:
        self.player = player
        self.client = player.client
        self.driver = driver
        self.speaker = driver.recorders["head"]
        # The virtual devices send pure tones, which noise suppression would remove.
        for turn_off in (
            self.client.set_echo_cancellation,
            self.client.set_noise_suppression,
            self.client.set_automatic_gain_control,
        ):
            turn_off(False)
        call = self.client.start_call(lobby_id)
        assert call is not None
        self.call: Call = call

    async def wait_for_tone(self, hertz: float) -> None:
        """Wait until the speaker plays a tone."""
        await self.speaker.wait_for_tone(0, hertz)


def create_devices(**tones: float) -> DeviceEngine:
    """Create a device engine with microphones of these names and tones, and the recorded speaker "head"."""
    driver = VirtualDriver(*tones)
    driver.tones = {name: Tone(hertz) for name, hertz in tones.items()}
    driver.recorders["head"] = AudioRecorder()
    return DeviceEngine(driver, poll_seconds=0.05)


async def add_device_caller(call_lobby: CallLobby, name: str, **tones: float) -> DeviceCaller:
    """Add a player whose microphones have these names and tones; the first one is the default."""
    engine = create_devices(**tones)
    player = await call_lobby.add_player(name, audio=engine)
    return DeviceCaller(player, engine._driver, call_lobby.lobby_id)  # type: ignore[arg-type]


async def test_two_callers_hear_the_microphones_of_each_other(call_lobby: CallLobby) -> None:
    mary = await add_device_caller(call_lobby, "mary", desk=DESK_HZ)
    zoe = await add_device_caller(call_lobby, "zoe", desk=ZOE_HZ)

    await mary.wait_for_tone(ZOE_HZ)
    await zoe.wait_for_tone(DESK_HZ)

    await zoe.speaker.wait_until(lambda: zoe.speaker.loudness(0) == pytest.approx(FULL_AMPLITUDE, rel=0.1))
    mary.client.set_input_volume(50.0)
    await zoe.speaker.wait_until(lambda: zoe.speaker.loudness(0) == pytest.approx(FULL_AMPLITUDE / 2, rel=0.1))
    zoe.client.set_output_volume(200.0)
    await zoe.speaker.wait_until(lambda: zoe.speaker.loudness(0) == pytest.approx(FULL_AMPLITUDE, rel=0.1))
    zoe.call.set_local_mute(mary.player.id, True)
    await zoe.speaker.wait_until(lambda: zoe.speaker.loudness(0) == 0)


async def test_the_microphone_changes_during_a_call_and_a_lost_one_is_replaced(call_lobby: CallLobby) -> None:
    mary = await add_device_caller(call_lobby, "mary", desk=DESK_HZ, studio=STUDIO_HZ)
    changed_events = mary.player.record_event("device_change")
    messages: list[str] = []
    mary.client.add_voice_log_callback(lambda message, _: messages.append(message), LoggingSeverity.WARNING)
    zoe = await add_device_caller(call_lobby, "zoe", desk=ZOE_HZ)
    await zoe.wait_for_tone(DESK_HZ)

    await mary.client.set_input_device("studio")
    await zoe.wait_for_tone(STUDIO_HZ)
    mary.driver.input_names.remove("studio")
    await zoe.wait_for_tone(DESK_HZ)

    inputs, _ = await changed_events.next()
    assert [device.name for device in inputs] == ["desk"]
    assert (await mary.client.get_current_input_device()).name == "desk"
    assert "The microphone 'studio' was lost" in messages


async def test_push_to_talk_and_voice_activity_decide_what_a_microphone_sends(call_lobby: CallLobby) -> None:
    mary = await add_device_caller(call_lobby, "mary", desk=DESK_HZ)
    mary.call.set_audio_mode(AudioModeType.MODE_PTT)
    zoe = await add_device_caller(call_lobby, "zoe", desk=ZOE_HZ)
    await mary.wait_for_tone(ZOE_HZ)
    assert zoe.speaker.loudness(0) == 0

    mary.call.set_ptt_active(True)
    await zoe.wait_for_tone(DESK_HZ)
    mary.call.set_ptt_active(False)
    await zoe.speaker.wait_until(lambda: zoe.speaker.loudness(0) == 0)

    mary.call.set_audio_mode(AudioModeType.MODE_VAD)
    mary.call.set_vad_threshold(False, -30.0)
    await zoe.wait_for_tone(DESK_HZ)


async def test_noise_suppression_changes_what_is_sent_during_a_call(call_lobby: CallLobby) -> None:
    mary = await add_device_caller(call_lobby, "mary", desk=DESK_HZ)
    zoe = await add_device_caller(call_lobby, "zoe", desk=ZOE_HZ)
    await zoe.wait_for_tone(DESK_HZ)

    # A steady tone is noise.
    mary.client.set_noise_suppression(True)
    await zoe.speaker.wait_until(lambda: zoe.speaker.loudness(0) < FULL_AMPLITUDE / 3)
    mary.client.set_noise_suppression(False)

    await zoe.speaker.wait_until(lambda: zoe.speaker.loudness(0) == pytest.approx(FULL_AMPLITUDE, rel=0.1))


async def test_the_voice_log_has_states_devices_and_statistics(call_lobby: CallLobby, tmp_path: Path) -> None:
    mary = await call_lobby.add_player("mary", audio=create_devices(desk=DESK_HZ))
    mary.client.set_voice_log_dir(str(tmp_path), LoggingSeverity.INFO)
    zoe = await add_device_caller(call_lobby, "zoe", desk=ZOE_HZ)
    call = mary.client.start_call(call_lobby.lobby_id)
    assert call is not None
    mary.client.set_noise_suppression(False)
    await zoe.wait_for_tone(DESK_HZ)
    call.set_self_mute(True)

    await mary.client.end_call(call_lobby.lobby_id)
    await mary.client.close()

    log = (tmp_path / "hubbub-webrtc_0").read_text()
    for text in (
        "status Connected",
        "joined the encryption group",
        "Microphones, the default first: 'desk' (desk)",
        "Opened the microphone 'desk'",
        "noise_suppression is now False",
        "self_mute is now True",
        "Closed the speaker 'head'",
    ):
        assert text in log
    statistics = re.search(r"Statistics: sent (\d+) packets, received (\d+) \(0 invalid\), played (\d+) frames", log)
    assert statistics is not None
    assert all(int(number) > 0 for number in statistics.groups())
    assert re.search(r"Audio: microphone at most -\d+ dBFS, .*microphone 'desk': \d+ underruns, \d+ overruns", log)


async def test_a_call_without_devices_continues_when_one_is_plugged_in(call_lobby: CallLobby) -> None:
    mary = await add_device_caller(call_lobby, "mary", desk=DESK_HZ)
    mary.driver.input_names.clear()
    zoe = await add_device_caller(call_lobby, "zoe", desk=ZOE_HZ)
    await mary.wait_for_tone(ZOE_HZ)

    mary.driver.input_names.append("desk")

    await zoe.wait_for_tone(DESK_HZ)
    async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
        await mary.client.end_call(call_lobby.lobby_id)


class NameRecorder:
    """Passes calls to an object of `hubbub.sdk.compat`, and records the names of its methods."""

    def __init__(self, target: Any, used_names: set[str]) -> None:
        self._target, self._used_names = target, used_names

    def __getattr__(self, name: str) -> Any:
        self._used_names.add(name)
        return getattr(self._target, name)


async def test_every_audio_operation_of_the_specification_has_its_effect(call_lobby: CallLobby, tmp_path: Path) -> None:
    zoe = await add_device_caller(call_lobby, "zoe", desk=ZOE_HZ)
    engine, used_names, completed = create_devices(desk=DESK_HZ, studio=STUDIO_HZ), set[str](), CallbackRecorder()
    driver, statuses, changes = engine._driver, CallbackRecorder(), CallbackRecorder()
    assert isinstance(driver, VirtualDriver)
    speaker = driver.recorders["head"]
    account = await create_player(call_lobby.world, call_lobby.application, "mary", connect=False)
    authority = call_lobby.world.app.config.voice.ca_file or ""
    compat_client = compat.Client(
        compat.ClientCreateOptions(web_base=call_lobby.world.url, voice_authority=authority), audio=engine
    )
    client = NameRecorder(compat_client, used_names)
    compat_client.SetStatusChangedCallback(statuses)
    compat_client.SetLogDir(str(tmp_path), compat.LoggingSeverity.Warning)
    compat_client.SetVoiceLogDir(str(tmp_path), compat.LoggingSeverity.Info)
    client.SetDeviceChangeCallback(changes)
    client.SetOpusHardwareCoding(False, False)
    client.SetEngineManagedAudioSession(False)
    assert not client.SetSpeakerMode(True)
    assert not client.ShowAudioRoutePicker()
    for set_on in (client.SetEchoCancellation, client.SetNoiseSuppression, client.SetAutomaticGainControl):
        set_on(False)
    client.SetNoiseCancellation(True)
    client.SetAecDump(True)
    compat_client.UpdateToken(compat.AuthorizationTokenType.Bearer, account.tokens["access_token"], completed)
    await completed.next()
    compat_client.Connect()
    await statuses.next(lambda status, *_: status == compat.Client.Status.Ready)
    compat_client.CreateOrJoinLobby("secret", completed)
    _, lobby_id = await completed.next()
    lobby_changes, detections = CallbackRecorder(), CallbackRecorder()
    client.SetVoiceParticipantChangedCallback(lobby_changes)
    client.SetNoAudioInputCallback(detections)

    # Calls and participants.
    call = NameRecorder(client.StartCall(lobby_id), used_names)
    states, joins, mutes, speech = (CallbackRecorder() for _ in range(4))
    call.SetStatusChangedCallback(states)
    call.SetParticipantChangedCallback(joins)
    call.SetOnVoiceStateChangedCallback(mutes)
    call.SetSpeakingStatusChangedCallback(speech)
    assert client.StartCallWithAudioCallbacks(lobby_id, lambda *_: False, lambda *_: None) is None
    await states.next(lambda status, *_: status == compat.Call.Status.Connected)
    assert (call.GetChannelId(), call.GetGuildId()) == (lobby_id, lobby_id)
    assert call.StatusToString(call.GetStatus()) == "Connected"
    assert call.ErrorToString(compat.Call.Error.None_) == "None"
    assert len(client.GetCalls()) == 1
    assert client.GetCall(lobby_id)
    assert await lobby_changes.next() == (lobby_id, account.id, True)
    await speech.next(lambda user_id, speaks: (user_id, speaks) == (zoe.player.id, True))
    assert set(call.GetParticipants()) == {account.id, zoe.player.id}

    # Noise cancellation removes the steady tone; without it the tone arrives.
    client.SetNoiseCancellation(False)
    await zoe.wait_for_tone(DESK_HZ)
    await speaker.wait_for_tone(0, ZOE_HZ)

    # Volumes and mutes.
    client.SetInputVolume(50.0)
    await zoe.speaker.wait_until(lambda: zoe.speaker.loudness(0) == pytest.approx(FULL_AMPLITUDE / 2, rel=0.1))
    client.SetOutputVolume(25.0)
    await speaker.wait_until(lambda: speaker.loudness(0) == pytest.approx(FULL_AMPLITUDE / 4, rel=0.1))
    call.SetParticipantVolume(zoe.player.id, 200.0)
    await speaker.wait_until(lambda: speaker.loudness(0) == pytest.approx(FULL_AMPLITUDE / 2, rel=0.1))
    assert (client.GetInputVolume(), client.GetOutputVolume()) == (50.0, 25.0)
    assert call.GetParticipantVolume(zoe.player.id) == 200.0
    call.SetLocalMute(zoe.player.id, True)
    assert call.GetLocalMute(zoe.player.id)
    await speaker.wait_until(lambda: speaker.loudness(0) == 0)
    call.SetLocalMute(zoe.player.id, False)
    await speaker.wait_for_tone(0, ZOE_HZ)
    for set_on, get in (
        (call.SetSelfMute, call.GetSelfMute),
        (call.SetSelfDeaf, call.GetSelfDeaf),
        (client.SetSelfMuteAll, client.GetSelfMuteAll),
        (client.SetSelfDeafAll, client.GetSelfDeafAll),
    ):
        set_on(True)
        assert get()
        await zoe.speaker.wait_until(lambda: zoe.speaker.loudness(0) == 0)
        set_on(False)
        await zoe.wait_for_tone(DESK_HZ)
    assert await mutes.next() == account.id
    assert call.GetVoiceStateHandle(account.id) is not None

    # Transmission.
    call.SetAudioMode(compat.AudioModeType.MODE_PTT)
    call.SetPTTReleaseDelay(20)
    assert (call.GetAudioMode(), call.GetPTTReleaseDelay()) == (compat.AudioModeType.MODE_PTT, 20)
    await zoe.speaker.wait_until(lambda: zoe.speaker.loudness(0) == 0)
    call.SetPTTActive(True)
    assert call.GetPTTActive()
    await zoe.wait_for_tone(DESK_HZ)
    call.SetVADThreshold(False, 0.0)
    call.SetAudioMode(compat.AudioModeType.MODE_VAD)
    assert (call.GetVADThreshold().VadThreshold(), call.GetVADThreshold().Automatic()) == (0.0, False)
    await zoe.speaker.wait_until(lambda: zoe.speaker.loudness(0) == 0)
    call.SetVADThreshold(True, -60.0)
    await zoe.wait_for_tone(DESK_HZ)
    client.SetNoAudioInputThreshold(0.0)
    assert await detections.next() is False
    client.SetNoAudioInputThreshold(-60.0)
    assert await detections.next() is True

    # Devices.
    client.GetInputDevices(completed)
    assert [device.Name() for device in await completed.next()] == ["desk", "studio"]
    client.GetOutputDevices(completed)
    assert [device.IsDefault() for device in await completed.next()] == [True]
    client.SetOutputDevice(client.GetDefaultAudioDeviceId(), completed)
    assert (await completed.next()).Successful()
    client.SetInputDevice("studio", completed)
    assert (await completed.next()).Successful()
    await zoe.wait_for_tone(STUDIO_HZ)
    client.GetCurrentInputDevice(completed)
    assert (await completed.next()).Id() == "studio"
    client.GetCurrentOutputDevice(completed)
    assert (await completed.next()).Id() == "head"
    driver.input_names.remove("studio")
    inputs, _ = await changes.next()
    assert [device.Id() for device in inputs] == ["desk"]
    await zoe.wait_for_tone(DESK_HZ)

    client.EndCall(lobby_id, completed)
    assert await completed.next() == ()
    client.EndCalls(completed)
    await completed.next()
    assert not call._target
    await compat_client.close()
    assert {"hubbub-aec-in.wav", "hubbub-aec-out.wav"} <= {path.name for path in tmp_path.iterdir()}
    assert "The microphone 'studio' was lost" in (tmp_path / "hubbub-webrtc_0").read_text()
    assert documented_operations("13.1", "13.2") - used_names == set()

"""Calls before they connect, audio settings and devices; `test_calls.py` covers connected calls."""

import importlib.util

import pytest

from hubbub.sdk import AudioBackend, AudioModeType, Call, CallError, CallStatus, Client, ErrorType, MissingExtraError
from tests.sdk.players import CallbackRecorder
from tests.world import WAIT_TIMEOUT_SECONDS


def test_starting_a_call_without_the_voice_extra_names_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    original_find_spec = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "davey" else original_find_spec(name))
    client = Client()

    with pytest.raises(
        MissingExtraError, match=r"Calls require davey\. Install the voice extra: pip install 'hubbub\[voice\]'"
    ):
        client.start_call(5)

    assert client.get_calls() == []
    client.close()


def test_starting_a_call_in_a_foreign_lobby_is_forbidden() -> None:
    client = Client()
    call = client.start_call(5)
    assert call is not None
    errors: list[CallError] = []
    call.set_status_changed_callback(lambda _, error, __: errors.append(error))

    client.run_callbacks()

    assert errors == [CallError.NONE, CallError.FORBIDDEN]
    assert (call.get_status(), call.get_participants()) == (CallStatus.DISCONNECTED, [])
    assert client.start_call(5) is not None
    assert not call
    client.close()


def test_settings_of_a_call_are_stored_and_shared_by_its_copies() -> None:
    client = Client()
    call = client.start_call(5)
    assert call is not None
    call_copy = call.copy()

    call.set_self_mute(True)
    call.set_self_deaf(True)
    call.set_local_mute(7, True)
    call.set_participant_volume(7, 250.0)
    call.set_audio_mode(AudioModeType.MODE_PTT)
    call.set_ptt_active(True)
    call.set_ptt_release_delay(20)
    call.set_vad_threshold(False, -140.0)

    assert (
        call_copy.get_self_mute(),
        call_copy.get_self_deaf(),
        call_copy.get_local_mute(7),
        call_copy.get_local_mute(8),
    ) == (
        True,
        True,
        True,
        False,
    )
    assert (call_copy.get_participant_volume(7), call_copy.get_participant_volume(8)) == (200.0, 100.0)
    assert (call_copy.get_audio_mode(), call_copy.get_ptt_active(), call_copy.get_ptt_release_delay()) == (
        AudioModeType.MODE_PTT,
        True,
        20,
    )
    threshold = call_copy.get_vad_threshold()
    assert (threshold.automatic, threshold.vad_threshold) == (False, -100.0)
    assert Call.status_to_string(CallStatus.SIGNALING_CONNECTED) == "SignalingConnected"
    client.close()


async def test_the_base_class_of_audio_backends_is_one_virtual_device() -> None:
    client = Client(audio=AudioBackend())

    [device] = await client.get_input_devices()
    assert (await client.get_current_output_device()).equals(device)
    assert (device.id, device.is_default) == (client.get_default_audio_device_id(), True)
    assert "virtual" in device.name
    await client.set_input_device(device.id)
    with pytest.raises(Exception, match="no audio device") as caught:
        await client.set_output_device("studio")
    assert caught.value.result.type is ErrorType.VALIDATION_ERROR  # type: ignore[attr-defined]
    await client.close()


async def test_devices_follow_the_audio_backend() -> None:
    class PluggableBackend(AudioBackend):
        plugged_devices = [("desk", "Desk")]

        def inputs(self) -> list[tuple[str, str]]:
            return self.plugged_devices

    backend, received_recorder = PluggableBackend(), CallbackRecorder()
    client = Client(audio=backend)
    client.set_device_change_callback(received_recorder)

    backend.plugged_devices = [*backend.plugged_devices, ("studio", "Studio")]
    backend.changed()

    client.set_noise_cancellation(True)
    assert (backend.options["noise_cancellation"], backend.options["echo_cancellation"]) == (True, True)
    inputs, outputs = await received_recorder.next()
    assert [(device.id, device.name, device.is_default) for device in inputs] == [
        ("desk", "Desk", True),
        ("studio", "Studio", False),
    ]
    assert [device.id for device in outputs] == ["default"]
    await client.set_input_device("studio")
    assert (await client.get_current_input_device()).name == "Studio"
    backend.plugged_devices = backend.plugged_devices[:1]
    assert (await client.get_current_input_device()).name == "Desk"
    await client.close()


def test_device_callbacks_get_no_result() -> None:
    client, delivered_args = Client(audio=AudioBackend()), []

    client.get_input_devices(lambda devices: delivered_args.append(len(devices))).result(WAIT_TIMEOUT_SECONDS)
    client.end_calls(lambda: delivered_args.append("ended")).result(WAIT_TIMEOUT_SECONDS)
    client.is_platform_app_installed(lambda installed: delivered_args.append(installed)).result(WAIT_TIMEOUT_SECONDS)
    client.run_callbacks()

    assert delivered_args == [1, "ended", False]
    client.close()


def test_options_are_clamped_to_their_range() -> None:
    client = Client()

    client.set_input_volume(120.0)
    client.set_output_volume(120.0)
    client.set_self_mute_all(True)
    client.set_self_deaf_all(True)

    assert (client.get_input_volume(), client.get_output_volume()) == (100.0, 120.0)
    assert (client.get_self_mute_all(), client.get_self_deaf_all()) == (True, True)
    assert (client.set_speaker_mode(True), client.show_audio_route_picker()) == (False, False)
    client.close()

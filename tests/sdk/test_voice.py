"""Voice without a media engine: honest about it, and ready for one."""

from typing import Any

import pytest

from hubbub.sdk import AudioModeType, Call, CallError, CallStatus, Client, ErrorType
from tests.sdk.players import game, player
from tests.world import PATIENCE, World


async def test_a_call_of_a_lobby_ends_with_an_honest_error(world: World) -> None:
    mary = await player(world, await game(world), threaded=False)
    lobby_id = await mary.client.create_or_join_lobby("secret")

    call = mary.client.start_call(lobby_id)
    assert call is not None
    statuses: list[Any] = []
    call.set_status_changed_callback(lambda *told: statuses.append(told))
    assert call.get_status() is CallStatus.JOINING
    assert mary.client.start_call(lobby_id) is None
    assert [each.get_channel_id() for each in mary.client.get_calls()] == [lobby_id]
    mary.client.run_callbacks()

    assert statuses == [
        (CallStatus.JOINING, CallError.NONE, 0),
        (CallStatus.DISCONNECTED, CallError.VOICE_CONNECTION_FAILED, 0),
    ]
    assert call.get_participants() == []
    lobby = mary.client.get_lobby_handle(lobby_id)
    assert lobby is not None
    assert lobby.get_call_info_handle() is None
    await mary.client.end_call(lobby_id)
    assert not call
    assert mary.client.get_call(lobby_id) is None
    await mary.client.close()


def test_a_call_of_a_lobby_that_we_are_not_in_is_forbidden() -> None:
    client = Client()
    call = client.start_call(5)
    assert call is not None
    errors: list[CallError] = []
    call.set_status_changed_callback(lambda _, error, __: errors.append(error))

    client.run_callbacks()

    assert errors == [CallError.NONE, CallError.FORBIDDEN]
    client.close()


def test_settings_of_a_call_are_remembered_and_shared_by_its_copies() -> None:
    client = Client()
    call = client.start_call(5)
    assert call is not None
    other = call.copy()

    call.set_self_mute(True)
    call.set_self_deaf(True)
    call.set_local_mute(7, True)
    call.set_participant_volume(7, 250.0)
    call.set_audio_mode(AudioModeType.MODE_PTT)
    call.set_ptt_active(True)
    call.set_ptt_release_delay(20)
    call.set_vad_threshold(False, -140.0)

    assert (other.get_self_mute(), other.get_self_deaf(), other.get_local_mute(7), other.get_local_mute(8)) == (
        True,
        True,
        True,
        False,
    )
    assert (other.get_participant_volume(7), other.get_participant_volume(8)) == (200.0, 100.0)
    assert (other.get_audio_mode(), other.get_ptt_active(), other.get_ptt_release_delay()) == (
        AudioModeType.MODE_PTT,
        True,
        20,
    )
    threshold = other.get_vad_threshold()
    assert (threshold.automatic, threshold.vad_threshold) == (False, -100.0)
    assert Call.status_to_string(CallStatus.SIGNALING_CONNECTED) == "SignalingConnected"
    client.close()


async def test_there_is_one_device_and_it_says_what_it_is() -> None:
    client = Client()

    [device] = await client.get_input_devices()
    assert (await client.get_current_output_device()).equals(device)
    assert (device.id, device.is_default) == (client.get_default_audio_device_id(), True)
    assert "no audio engine" in device.name
    await client.set_input_device(device.id)
    with pytest.raises(Exception, match="no such device") as caught:
        await client.set_output_device("studio")
    assert caught.value.result.type is ErrorType.VALIDATION_ERROR  # type: ignore[attr-defined]
    await client.close()


def test_callbacks_of_devices_hear_no_result() -> None:
    client, heard = Client(), []

    client.get_input_devices(lambda devices: heard.append(len(devices))).result(PATIENCE)
    client.end_calls(lambda: heard.append("ended")).result(PATIENCE)
    client.is_platform_app_installed(lambda installed: heard.append(installed)).result(PATIENCE)
    client.run_callbacks()

    assert heard == [1, "ended", False]
    client.close()


def test_options_are_kept_within_their_bounds() -> None:
    client = Client()

    client.set_input_volume(120.0)
    client.set_output_volume(120.0)
    client.set_self_mute_all(True)
    client.set_self_deaf_all(True)

    assert (client.get_input_volume(), client.get_output_volume()) == (100.0, 120.0)
    assert (client.get_self_mute_all(), client.get_self_deaf_all()) == (True, True)
    assert (client.set_speaker_mode(True), client.show_audio_route_picker()) == (False, False)
    client.close()

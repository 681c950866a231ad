"""Calls, audio devices and audio settings (spec/sdk.md#13).

The voice connection is in `media`, whose libraries are imported when the first call starts.
"""

import asyncio
import importlib
import ssl
from collections.abc import Callable, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import aiohttp

from hubbub.sdk.audio import (
    DEFAULT_DEVICE,
    AudioBackend,
    CapturedAudio,
    ReceivedAudio,
    require_extra,
)
from hubbub.sdk.call_signaling import CallSignaling
from hubbub.sdk.calls import Call, CallState, GlobalCallSettings
from hubbub.sdk.core import Core
from hubbub.sdk.daemon_threads import new_session, run_in_daemon_thread
from hubbub.sdk.drivers import Completion
from hubbub.sdk.enums import CallError, CallStatus, LoggingSeverity
from hubbub.sdk.events import GatewayEventHandlers
from hubbub.sdk.gateway import Gateway
from hubbub.sdk.handles import find_lobby
from hubbub.sdk.processing_extra import load_processing, require_processing_extra
from hubbub.sdk.records import AudioDevice
from hubbub.sdk.results import ClientResult, validation_error

if TYPE_CHECKING:
    from hubbub.sdk.media.aec_dump import AecDump
    from hubbub.sdk.media.engine import AudioEngine
    from hubbub.sdk.media.voice_connection import VoiceConnection

CALL_SCOPES: Final = frozenset({"lobbies.write", "sdk.social_layer"})
"""Scopes that allow calls; one of them is enough."""
CALLS_MAX: Final = 25
"""Maximum number of simultaneous calls; the gateway closes a session that sends more in opcode 17 (decisions/0059)."""
CALL_CLOSE_TIMEOUT_SECONDS: Final = 2.0
"""Maximum time to wait for the voice connection of a call to close, in seconds."""


class VoiceCalls:
    """Component of the client that manages calls, audio devices and audio options."""

    def __init__(self, core: Core, events: GatewayEventHandlers, gateway: Gateway, audio: AudioBackend) -> None:
        self._core = core
        self._audio = audio
        self._calls: dict[int, CallState] = {}
        """Calls by lobby ID."""
        self._tasks: dict[int, asyncio.Task[None]] = {}
        """Tasks of the running voice connections by lobby ID."""
        self.connections: dict[int, VoiceConnection] = {}
        """Voice connections of the calls by lobby ID."""
        self._global_settings = GlobalCallSettings()
        self._signaling = CallSignaling(core, events, gateway, self._calls)
        self._engine: AudioEngine | None = None
        """Voice thread of all calls; None until the first call."""
        self._http: aiohttp.ClientSession | None = None
        """HTTP session of all voice connections; None until the first call."""
        self._tls: ssl.SSLContext | bool | None = None
        """TLS configuration for voice servers, or True for the default; None until the first call."""
        self._aec_dump: AecDump | None = None
        self._has_started_call = False
        self._is_watching_devices = False
        """Whether the game set a callback for changes of devices."""
        self._input_volume = 100.0
        self._output_volume = 100.0
        self.input_device = self.output_device = DEFAULT_DEVICE
        """IDs of the selected microphone and speaker."""
        self.options: dict[str, Any] = {
            "echo_cancellation": True,
            "noise_suppression": True,
            "automatic_gain_control": True,
            "noise_cancellation": False,
            "no_audio_input_threshold": -100.0,
            "opus_hardware_coding": (True, True),
            "engine_managed_audio_session": False,
            "aec_dump": False,
        }
        """Audio options, which the audio processing and the audio backend read."""
        audio.changed, audio.options = self._devices_changed, MappingProxyType(self.options)
        audio.log = self._log
        core.reset_hooks.append(self._reset_callbacks)
        core.close_hooks.append(self._close)

    def _reset_callbacks(self) -> None:
        for state in self._calls.values():
            state.reset()

    # Calls

    def start_call(self, channel_id: int) -> Call | None:
        """Start or join the call of the lobby with the ID `channel_id`; return None if the current user is already in it.

        A call that is not allowed is returned with the status `DISCONNECTED`; its status callback gets the error `FORBIDDEN`.
        Raise `audio.MissingExtraError` if the `hubbub[voice]` extra is not installed."""
        return self._start_call(channel_id, None, None)

    def start_call_with_audio_callbacks(
        self, lobby_id: int, received_cb: ReceivedAudio, captured_cb: CapturedAudio
    ) -> Call | None:
        """Start or join the call of a lobby with callbacks that can read and change the audio samples.

        `received_cb(user_id, samples, samples_per_channel, sample_rate, channels)` receives the audio of each
        participant and returns whether to mute its local playback.

        `captured_cb(samples, samples_per_channel, sample_rate, channels)` receives the microphone audio before it is
        sent.

        Both may change `samples` in place. They run on the voice thread, not inside `run_callbacks`, and must return
        quickly.

        Return None if the current user is already in the call. Raise `audio.MissingExtraError` if the `hubbub[voice]` extra
        is not installed."""
        return self._start_call(lobby_id, received_cb, captured_cb)

    def _start_call(
        self, lobby_id: int, on_received_audio: ReceivedAudio | None, on_captured_audio: CapturedAudio | None
    ) -> Call | None:
        require_extra()
        self._has_started_call = True
        core = self._core
        with core.lock:
            previous_state = self._calls.get(lobby_id)
            if previous_state is not None and previous_state.status is not CallStatus.DISCONNECTED:
                return None
            if previous_state is not None:
                # Replace a disconnected call.
                previous_state.has_ended = True
            state = self._calls[lobby_id] = CallState(core, lobby_id, self._global_settings)
            state.on_received_audio, state.on_captured_audio = on_received_audio, on_captured_audio
            state.on_settings_changed = self._refresh
            state.set_status(CallStatus.JOINING)
            reason = self._start_error(lobby_id)
            if reason:
                self._warn(f"Could not start the call of lobby {lobby_id}: {reason}")
                state.set_status(CallStatus.DISCONNECTED, CallError.FORBIDDEN)
            else:
                state.should_be_joined = True
                core.run_in_background(lambda: self._run_call(state))
        return core.make(Call, core, lobby_id, state)

    def _start_error(self, lobby_id: int) -> str:
        """Return the reason why a call cannot be started, or an empty string; checks local state only."""
        if find_lobby(self._core, lobby_id) is None:
            return "the current user is not a member of the lobby"
        if not CALL_SCOPES & self._core.scopes:
            return "the token has neither the lobbies.write nor the sdk.social_layer scope"
        if "StartCall" in self._core.disabled_functions:
            return "the platform disabled calls"
        if sum(state.should_be_joined for state in self._calls.values()) >= CALLS_MAX:
            return f"the limit of {CALLS_MAX} calls is reached"
        return ""

    async def _run_call(self, state: CallState) -> None:
        """Connect a call and keep it connected until it ends."""
        task = asyncio.current_task()
        assert task is not None
        with self._core.lock:
            if state.has_ended or not state.should_be_joined:
                return
            self._tasks[state.lobby_id] = task
        self._signaling.refresh()
        try:
            # Load the voice libraries off the loop, which takes a while.
            await run_in_daemon_thread(importlib.import_module, "hubbub.sdk.media.voice_connection")
            from hubbub.sdk.media.voice_connection import VoiceConnection

            engine, http, tls = await self._shared_resources()
            connection = VoiceConnection(
                state,
                self._core.cache.current_user_id,
                engine,
                http,
                tls,
                self._signaling,
                self._core.driver.post,
                self._warn,
            )
            self.connections[state.lobby_id] = connection
            await connection.run()
        except asyncio.CancelledError:
            raise
        except Exception as error:
            self._warn(f"The call of lobby {state.lobby_id} failed with an unexpected exception: {error!r}")
            state.set_status(CallStatus.DISCONNECTED, CallError.VOICE_CONNECTION_FAILED)
        finally:
            if self._tasks.get(state.lobby_id) is task:
                del self._tasks[state.lobby_id]
                self.connections.pop(state.lobby_id, None)
            self._mark_left(state)

    def _mark_left(self, state: CallState) -> None:
        """Record that the client left a call, and notify the platform if it was to be joined."""
        was_wanted, state.should_be_joined = state.should_be_joined, False
        if was_wanted and not self._core.is_destroyed:
            self._signaling.refresh()

    async def _shared_resources(self) -> "tuple[AudioEngine, aiohttp.ClientSession, ssl.SSLContext | bool]":
        """Return the resources that all calls of a client share, which are created on first use."""
        if self._engine is None:
            await run_in_daemon_thread(importlib.import_module, "hubbub.sdk.media.engine")
            from hubbub.sdk.media.engine import AudioEngine

            await run_in_daemon_thread(self._audio.prepare)
            if self._engine is None:
                new_processor = await run_in_daemon_thread(load_processing, self._audio, self.options, self._warn)
                self._engine = AudioEngine(self._audio, self, self._warn, new_processor)
        if self._http is None:
            self._http = new_session()
        if self._tls is None:
            self._tls = await run_in_daemon_thread(_tls_context, self._core.options.voice_authority)
        return self._engine, self._http, self._tls

    def _warn(self, message: str) -> None:
        self._log(message, LoggingSeverity.WARNING)

    def _log(self, message: str, severity: LoggingSeverity) -> None:
        """Write a message to the voice log."""
        self._core.logs.write(message, severity, is_voice=True)

    def _refresh(self) -> None:
        """Send changed mute and deaf settings; called on the game's thread."""
        self._core.driver.post(self._signaling.refresh)

    def get_call(self, channel_id: int) -> Call | None:
        """Return the current user's call in the lobby with the ID `channel_id`, or None."""
        with self._core.lock:
            state = self._calls.get(channel_id)
        return self._core.make(Call, self._core, channel_id, state) if state is not None else None

    def get_calls(self) -> list[Call]:
        """Return the calls of the current user."""
        with self._core.lock:
            calls = list(self._calls.items())
        return [self._core.make(Call, self._core, lobby_id, state) for lobby_id, state in calls]

    def end_call(self, channel_id: int, callback: Callable[[], object] | None = None) -> Completion[None]:
        """Leave the call of the lobby with the ID `channel_id`; its `Call` objects become false.

        The callback has no arguments."""
        return self._core.run("EndCall", _without_result(callback), (), self._end_calls, [channel_id])

    def end_calls(self, callback: Callable[[], object] | None = None) -> Completion[None]:
        """Leave all calls; the callback has no arguments."""
        return self._core.run("EndCalls", _without_result(callback), (), self._end_calls, list(self._calls))

    async def _end_calls(self, lobby_ids: Sequence[int]) -> None:
        """Leave calls and wait until their voice connections are closed; ignore lobbies without a call."""
        for lobby_id in lobby_ids:
            with self._core.lock:
                state = self._calls.get(lobby_id)
                task = self._tasks.get(lobby_id)
                if state is None:
                    continue
                was_wanted, state.should_be_joined = state.should_be_joined, False
            if state.status is not CallStatus.DISCONNECTED:
                state.set_status(CallStatus.DISCONNECTING)
            if was_wanted:
                await self._signaling.leave(state)
            if task is not None:
                task.cancel()
                await asyncio.wait([task], timeout=CALL_CLOSE_TIMEOUT_SECONDS)
            state.set_status(CallStatus.DISCONNECTED)
            with self._core.lock:
                state.has_ended = True
                if self._calls.get(lobby_id) is state:
                    del self._calls[lobby_id]

    async def _close(self) -> None:
        """Release the shared resources when the client closes; the voice connections have already ended."""
        if self._http is not None:
            await self._http.close()
        if self._engine is not None:
            await run_in_daemon_thread(self._engine.join)
        if self._engine is not None or self._is_watching_devices:
            await run_in_daemon_thread(self._audio.close)
        if self._aec_dump is not None:
            self._aec_dump.close()
        with self._core.lock:
            for state in self._calls.values():
                state.status, state.has_ended = CallStatus.DISCONNECTED, True

    # Devices

    def get_input_devices(
        self, callback: Callable[[list[AudioDevice]], object] | None = None
    ) -> Completion[list[AudioDevice]]:
        """List the microphones, the default one first; without the `hubbub[devices]` extra there is a silent virtual device."""
        return self._core.run(
            "GetInputDevices", _without_result(callback), ([],), self._fetch_devices, self._audio.inputs
        )

    def get_output_devices(
        self, callback: Callable[[list[AudioDevice]], object] | None = None
    ) -> Completion[list[AudioDevice]]:
        """List the speakers, the default one first; without the `hubbub[devices]` extra there is a silent virtual device."""
        return self._core.run(
            "GetOutputDevices", _without_result(callback), ([],), self._fetch_devices, self._audio.outputs
        )

    def get_current_input_device(
        self, callback: Callable[[AudioDevice], object] | None = None
    ) -> Completion[AudioDevice]:
        """Get the selected microphone."""
        no_device = self._core.make(AudioDevice)
        return self._core.run(
            "GetCurrentInputDevice",
            _without_result(callback),
            (no_device,),
            self._current_device,
            self._audio.inputs,
            is_input=True,
        )

    def get_current_output_device(
        self, callback: Callable[[AudioDevice], object] | None = None
    ) -> Completion[AudioDevice]:
        """Get the selected speaker."""
        no_device = self._core.make(AudioDevice)
        return self._core.run(
            "GetCurrentOutputDevice",
            _without_result(callback),
            (no_device,),
            self._current_device,
            self._audio.outputs,
            is_input=False,
        )

    def set_input_device(
        self, device_id: str, callback: Callable[[ClientResult], object] | None = None
    ) -> Completion[None]:
        """Select a microphone by its device ID, for all calls."""
        return self._core.run("SetInputDevice", callback, (), self._select_device, device_id, is_input=True)

    def set_output_device(
        self, device_id: str, callback: Callable[[ClientResult], object] | None = None
    ) -> Completion[None]:
        """Select a speaker by its device ID, for all calls."""
        return self._core.run("SetOutputDevice", callback, (), self._select_device, device_id, is_input=False)

    @staticmethod
    def get_default_audio_device_id() -> str:
        """Return the ID that selects the default device."""
        return DEFAULT_DEVICE

    def set_device_change_callback(self, callback: Callable[[list[AudioDevice], list[AudioDevice]], object]) -> None:
        """Set the callback for audio devices that are added, removed or replaced as the default.

        It receives all microphones and all speakers, the default one first. It is also called when a device is lost during
        a call, which then continues with the default device."""
        self._core.set_callback("device_change", callback)
        self._is_watching_devices = True
        self._audio.watch()

    async def _fetch_devices(self, list_devices: Callable[[], Sequence[tuple[str, str]]]) -> list[AudioDevice]:
        return self._to_records(await run_in_daemon_thread(list_devices))

    def _to_records(self, devices: Sequence[tuple[str, str]]) -> list[AudioDevice]:
        return [
            self._core.make(AudioDevice, id=id, name=name, is_default=position == 0)
            for position, (id, name) in enumerate(devices)
        ]

    async def _current_device(
        self, list_devices: Callable[[], Sequence[tuple[str, str]]], *, is_input: bool
    ) -> AudioDevice:
        device_id = self.input_device if is_input else self.output_device
        devices = await self._fetch_devices(list_devices)
        # A selected device that was removed is replaced by the default device.
        return next(
            (device for device in devices if device.id == device_id),
            devices[0] if devices else self._core.make(AudioDevice),
        )

    async def _select_device(self, device_id: str, *, is_input: bool) -> None:
        devices = await run_in_daemon_thread(self._audio.inputs if is_input else self._audio.outputs)
        if device_id != DEFAULT_DEVICE and device_id not in {id for id, _ in devices}:
            raise validation_error("There is no audio device with this ID")
        if is_input:
            self.input_device = device_id
        else:
            self.output_device = device_id
        self._log(f"Selected the {'microphone' if is_input else 'speaker'} {device_id}", LoggingSeverity.INFO)

    def _devices_changed(self) -> None:
        """Emit a device change; called by the backend on any thread."""
        self._core.emit(
            "device_change", self._to_records(self._audio.inputs()), self._to_records(self._audio.outputs())
        )

    # Interface of the voice thread

    @property
    def input_factor(self) -> float:
        """Volume factor of the microphone, 0 to 1."""
        return self._input_volume / 100

    @property
    def output_factor(self) -> float:
        """Volume factor of the playback, 0 to 2."""
        return self._output_volume / 100

    @property
    def no_input_threshold(self) -> float:
        """Level in dBFS below which the microphone counts as silent; -100 turns the detection off."""
        threshold: float = self.options["no_audio_input_threshold"]
        return threshold

    def on_input_detected(self, is_detected: bool) -> None:
        """Emit that the microphone became silent (`is_detected` is False) or audible."""
        self._core.emit("no_audio_input", is_detected)

    def log_statistics(self, message: str) -> None:
        """Write statistics of the calls and devices to the voice log."""
        self._log(message, LoggingSeverity.INFO)

    def record_frame(self, captured_frame: bytes | None, played_frame: bytes | None) -> None:
        """Write a frame to the AEC dump, or close the dump if it is disabled; called on the voice thread."""
        if not self.options["aec_dump"]:
            if self._aec_dump is not None:
                self._aec_dump.close()
                self._aec_dump = None
            return
        if self._aec_dump is None:
            from hubbub.sdk.media.aec_dump import AecDump

            self._aec_dump = AecDump(self._core.logs.directory)
        self._aec_dump.write(captured_frame, played_frame)

    # Options

    def get_input_volume(self) -> float:
        """Return the microphone volume in percent, from 0 to 100."""
        return self._input_volume

    def set_input_volume(self, input_volume: float) -> None:
        """Set the microphone volume in percent, from 0 to 100, for all calls."""
        self._input_volume = min(100.0, max(0.0, input_volume))

    def get_output_volume(self) -> float:
        """Return the playback volume in percent, from 0 to 200."""
        return self._output_volume

    def set_output_volume(self, output_volume: float) -> None:
        """Set the playback volume in percent, from 0 to 200, for all calls; 100 is unchanged."""
        self._output_volume = min(200.0, max(0.0, output_volume))

    def get_self_mute_all(self) -> bool:
        """Return whether the microphone is muted in all calls."""
        return self._global_settings.mute

    def set_self_mute_all(self, mute: bool) -> None:
        """Mute or unmute the microphone in all calls; a mute of a single call stays in effect."""
        self._global_settings.mute = mute
        self._refresh()

    def get_self_deaf_all(self) -> bool:
        """Return whether the playback of all calls is disabled."""
        return self._global_settings.deaf

    def set_self_deaf_all(self, deaf: bool) -> None:
        """Disable or enable the playback of all calls; while it is disabled, the microphone is muted as well."""
        self._global_settings.deaf = deaf
        self._refresh()

    def set_echo_cancellation(self, on: bool) -> None:
        """Turn echo cancellation on or off; the default is on.

        It needs the `hubbub[audio-processing]` extra, or an audio backend that supports it. With the devices of the machine
        and without the extra, turning it on raises `audio.MissingExtraError`."""
        self._set_processing("echo_cancellation", on)

    def set_noise_suppression(self, on: bool) -> None:
        """Turn noise suppression on or off; the default is on.

        It needs the `hubbub[audio-processing]` extra, or an audio backend that supports it. With the devices of the machine
        and without the extra, turning it on raises `audio.MissingExtraError`."""
        self._set_processing("noise_suppression", on)

    def set_automatic_gain_control(self, on: bool) -> None:
        """Turn automatic gain control on or off; the default is on.

        It needs the `hubbub[audio-processing]` extra, or an audio backend that supports it. With the devices of the machine
        and without the extra, turning it on raises `audio.MissingExtraError`."""
        self._set_processing("automatic_gain_control", on)

    def set_noise_cancellation(self, on: bool) -> None:
        """Turn noise cancellation on or off; the default is off.

        It is stronger than noise suppression, which is disabled while noise cancellation is enabled. It needs the
        `hubbub[audio-processing]` extra, or an audio backend that supports it. With the devices of the machine
        and without the extra, turning it on raises `audio.MissingExtraError`."""
        self._set_processing("noise_cancellation", on)

    def _set_processing(self, name: str, is_on: bool) -> None:
        """Set an option of audio processing; raise `MissingExtraError` if the SDK cannot process audio."""
        if is_on and self._audio.uses_sdk_processing:
            require_processing_extra()
        self._set_option(name, is_on)

    def _set_option(self, name: str, value: Any) -> None:
        if self.options[name] != value:
            self._log(f"{name} is now {value}", LoggingSeverity.INFO)
        self.options[name] = value

    def set_no_audio_input_threshold(self, dbfs_threshold: float) -> None:
        """Set the level below which the microphone counts as silent, from -100 to 100 dBFS; -100 disables the detection."""
        self._set_option("no_audio_input_threshold", min(100.0, max(-100.0, dbfs_threshold)))

    def set_no_audio_input_callback(self, callback: Callable[[bool], object]) -> None:
        """Set the callback for a silent microphone; it receives False when input stops and True when it returns."""
        self._core.set_callback("no_audio_input", callback)

    def set_opus_hardware_coding(self, encode: bool, decode: bool) -> None:
        """Accept a preference for hardware coding of Opus; it has no effect, because libopus runs in software.

        Call this right after creating the client; it is ignored once a call was started."""
        if self._has_started_call:
            self._core.logs.warning("Ignored set_opus_hardware_coding(): call it before the first call is started")
            return
        self.options["opus_hardware_coding"] = (encode, decode)

    def set_engine_managed_audio_session(self, is_engine_managed: bool) -> None:
        """Set whether the game manages the system's audio session; call this before the first call.

        The SDK then opens only the selected devices, and does not replace them after a loss or a change of the default."""
        self._set_option("engine_managed_audio_session", is_engine_managed)

    def set_speaker_mode(self, speaker_mode: bool) -> bool:
        """Select the loudspeaker of a mobile device; not supported on desktop systems, so this returns False.

        Deprecated since 1.3."""
        return False

    def show_audio_route_picker(self) -> bool:
        """Show the audio route picker of a mobile system; not supported on desktop systems, so this returns False."""
        return False

    def set_voice_participant_changed_callback(self, callback: Callable[[int, int, bool], object]) -> None:
        """Set the callback for users who join or leave the call of any lobby of the current user.

        It receives the lobby ID, the user ID, and whether the user joined. The current user need not be in the call."""
        self._core.set_callback("voice_participant_changed", callback)

    def set_aec_dump(self, on: bool) -> None:
        """Turn the AEC dump on or off: WAV files of the captured and played audio, at most 5 minutes.

        The files are written to the directory of `set_log_dir`, and nothing is written without one."""
        self._set_option("aec_dump", on)


def _without_result(callback: Callable[..., object] | None) -> Callable[..., object] | None:
    """Wrap a callback that receives the outputs without the result."""
    return None if callback is None else lambda _, *outputs: callback(*outputs)


def _tls_context(authority: str) -> ssl.SSLContext | bool:
    """Return the TLS configuration for voice servers; `authority` is a PEM file with an extra authority, or empty."""
    if not authority:
        return True
    context = ssl.create_default_context()
    context.load_verify_locations(cafile=Path(authority))
    return context

"""Calls and audio settings (sdk.md 13).

Signalling is here and in `signalling.py`; the voice connection and its libraries are in `media`, and come with the first call.
"""

import asyncio
import importlib
import ssl
from collections.abc import Callable, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import aiohttp

from hubbub.sdk.aside import aside, new_session
from hubbub.sdk.audio import DEFAULT_DEVICE, AudioBackend, CapturedAudio, ReceivedAudio, require_extra
from hubbub.sdk.calls import AllCalls, Call, CallState
from hubbub.sdk.core import Core
from hubbub.sdk.drivers import Completion
from hubbub.sdk.enums import CallError, CallStatus, LoggingSeverity
from hubbub.sdk.events import Events
from hubbub.sdk.gateway import Gateway
from hubbub.sdk.handles import find_lobby
from hubbub.sdk.records import AudioDevice
from hubbub.sdk.results import ClientResult, invalid
from hubbub.sdk.signalling import Signalling

if TYPE_CHECKING:
    from hubbub.sdk.media.engine import Engine
    from hubbub.sdk.media.line import Line
    from hubbub.sdk.media.recording import Recording

SCOPES: Final = frozenset({"lobbies.write", "sdk.social_layer"})
"""Either lets a game into calls."""
CALLS_MOST: Final = 25
"""Of one session at once; more than that in opcode 17 would end the session (decisions/0059)."""
ENDING_S: Final = 2.0
"""How long a call that ends may take to hang up."""


class Voice:
    """Calls, devices and audio options."""

    def __init__(self, core: Core, events: Events, gateway: Gateway, audio: AudioBackend) -> None:
        self._core = core
        self._audio = audio
        self._calls: dict[int, CallState] = {}
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self.lines: dict[int, Line] = {}
        """What is under the calls that have begun to connect."""
        self._everywhere = AllCalls()
        self._signalling = Signalling(core, events, gateway, self._calls)
        self._engine: Engine | None = None
        self._http: aiohttp.ClientSession | None = None
        self._tls: ssl.SSLContext | bool | None = None
        self._recording: Recording | None = None
        self._fresh = True
        self._input_volume = 100.0
        self._output_volume = 100.0
        self.input_device = self.output_device = DEFAULT_DEVICE
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
        """What was set. The first four, and the system's audio session, are for an audio backend to read: we change no sound."""
        audio.changed, audio.options = self._devices_changed, MappingProxyType(self.options)
        core.resetters.append(self._forget)
        core.closers.append(self._close)

    def _forget(self) -> None:
        for state in self._calls.values():
            state.reset()

    # Calls

    def start_call(self, channel_id: int) -> Call | None:
        """Start or join the call of a lobby; None if we are in it. Without the extra `voice` it raises MissingExtraError."""
        return self._start(channel_id, None, None)

    def start_call_with_audio_callbacks(
        self, lobby_id: int, received_cb: ReceivedAudio, captured_cb: CapturedAudio
    ) -> Call | None:
        """The same, and change samples as they come and go. Both are called on the voice thread, not by the pump: be quick.

        `received_cb(user_id, samples, samples_per_channel, sample_rate, channels)` answers whether to silence local playback;
        `captured_cb(samples, samples_per_channel, sample_rate, channels)` may write what is to be said."""
        return self._start(lobby_id, received_cb, captured_cb)

    def _start(self, lobby_id: int, received: ReceivedAudio | None, captured: CapturedAudio | None) -> Call | None:
        require_extra()
        self._fresh = False
        core = self._core
        with core.lock:
            before = self._calls.get(lobby_id)
            if before is not None and before.status is not CallStatus.DISCONNECTED:
                return None
            if before is not None:
                # One that failed is not one that we are in.
                before.ended = True
            state = self._calls[lobby_id] = CallState(core, lobby_id, self._everywhere)
            state.received_audio, state.captured_audio = received, captured
            state.changed = self._refresh
            state.become(CallStatus.JOINING)
            refusal = self._refusal(lobby_id)
            if refusal:
                self._complain(f"the call of {lobby_id} cannot be started: {refusal}")
                state.become(CallStatus.DISCONNECTED, CallError.FORBIDDEN)
            else:
                state.wanted = True
                core.background(lambda: self._connect(state))
        return core.make(Call, core, lobby_id, state)

    def _refusal(self, lobby_id: int) -> str:
        """Why a call cannot be started, as far as we know ourselves."""
        if find_lobby(self._core, lobby_id) is None:
            return "we are not in that lobby"
        if not SCOPES & self._core.scopes:
            return "the token has no scope for it"
        if "StartCall" in self._core.disabled:
            return "the platform switched calls off"
        if sum(each.wanted for each in self._calls.values()) >= CALLS_MOST:
            return f"we are in {CALLS_MOST} already"
        return ""

    async def _connect(self, state: CallState) -> None:
        task = asyncio.current_task()
        assert task is not None
        with self._core.lock:
            if state.ended or not state.wanted:
                return
            self._tasks[state.lobby_id] = task
        self._signalling.refresh()
        try:
            media = await aside(importlib.import_module, "hubbub.sdk.media.line")
            engine, http, tls = await self._equip()
            line: Line = media.Line(
                state,
                self._core.cache.me,
                engine,
                http,
                tls,
                self._signalling,
                self._core.driver.post,
                self._complain,
            )
            self.lines[state.lobby_id] = line
            await line.run()
        except asyncio.CancelledError:
            raise
        except Exception as error:
            self._complain(f"the call of {state.lobby_id} broke: {error!r}")
            state.become(CallStatus.DISCONNECTED, CallError.VOICE_CONNECTION_FAILED)
        finally:
            if self._tasks.get(state.lobby_id) is task:
                del self._tasks[state.lobby_id]
                self.lines.pop(state.lobby_id, None)
            self._withdraw(state)

    def _withdraw(self, state: CallState) -> None:
        """The platform need not keep us in a call that we are not in."""
        wanted, state.wanted = state.wanted, False
        if wanted and not self._core.destroyed:
            self._signalling.refresh()

    async def _equip(self) -> "tuple[Engine, aiohttp.ClientSession, ssl.SSLContext | bool]":
        """What all calls of a client share."""
        if self._engine is None:
            module = await aside(importlib.import_module, "hubbub.sdk.media.engine")
            if self._engine is None:
                self._engine = module.Engine(self._audio, self, self._complain)
        if self._http is None:
            self._http = new_session()
        if self._tls is None:
            self._tls = await aside(_trust, self._core.options.voice_authority)
        return self._engine, self._http, self._tls

    def _complain(self, message: str) -> None:
        self._core.logs.write(message, LoggingSeverity.WARNING, voice=True)

    def _refresh(self) -> None:
        """Mute or deaf changed, on the game's thread."""
        self._core.driver.post(self._signalling.refresh)

    def get_call(self, channel_id: int) -> Call | None:
        """The call of a lobby, if we are in it."""
        with self._core.lock:
            state = self._calls.get(channel_id)
        return self._core.make(Call, self._core, channel_id, state) if state is not None else None

    def get_calls(self) -> list[Call]:
        """The calls that we are in."""
        with self._core.lock:
            calls = list(self._calls.items())
        return [self._core.make(Call, self._core, channel_id, state) for channel_id, state in calls]

    def end_call(self, channel_id: int, callback: Callable[[], object] | None = None) -> Completion[None]:
        """Leave a call; its objects are over."""
        return self._core.run("EndCall", _bare(callback), (), self._end, [channel_id])

    def end_calls(self, callback: Callable[[], object] | None = None) -> Completion[None]:
        """Leave all calls."""
        return self._core.run("EndCalls", _bare(callback), (), self._end, list(self._calls))

    async def _end(self, channels: Sequence[int]) -> None:
        for lobby_id in channels:
            with self._core.lock:
                state = self._calls.get(lobby_id)
                task = self._tasks.get(lobby_id)
                if state is None:
                    continue
                wanted, state.wanted = state.wanted, False
            if state.status is not CallStatus.DISCONNECTED:
                state.become(CallStatus.DISCONNECTING)
            if wanted:
                await self._signalling.leave(state)
            if task is not None:
                task.cancel()
                await asyncio.wait([task], timeout=ENDING_S)
            state.become(CallStatus.DISCONNECTED)
            with self._core.lock:
                state.ended = True
                if self._calls.get(lobby_id) is state:
                    del self._calls[lobby_id]

    async def _close(self) -> None:
        """The client is gone: the lines are tasks of it, and ended before this."""
        if self._http is not None:
            await self._http.close()
        if self._engine is not None:
            await aside(self._engine.join)
        if self._recording is not None:
            self._recording.close()
        with self._core.lock:
            for state in self._calls.values():
                state.status, state.ended = CallStatus.DISCONNECTED, True

    # Devices

    def get_input_devices(
        self, callback: Callable[[list[AudioDevice]], object] | None = None
    ) -> Completion[list[AudioDevice]]:
        """The microphones; without an audio backend one that hears nothing."""
        return self._core.run("GetInputDevices", _bare(callback), ([],), self._devices, self._audio.inputs)

    def get_output_devices(
        self, callback: Callable[[list[AudioDevice]], object] | None = None
    ) -> Completion[list[AudioDevice]]:
        """The loudspeakers; without an audio backend one that nobody hears."""
        return self._core.run("GetOutputDevices", _bare(callback), ([],), self._devices, self._audio.outputs)

    def get_current_input_device(
        self, callback: Callable[[AudioDevice], object] | None = None
    ) -> Completion[AudioDevice]:
        """The microphone in use."""
        nothing = self._core.make(AudioDevice)
        return self._core.run(
            "GetCurrentInputDevice", _bare(callback), (nothing,), self._current, self._audio.inputs, True
        )

    def get_current_output_device(
        self, callback: Callable[[AudioDevice], object] | None = None
    ) -> Completion[AudioDevice]:
        """The loudspeaker in use."""
        nothing = self._core.make(AudioDevice)
        return self._core.run(
            "GetCurrentOutputDevice", _bare(callback), (nothing,), self._current, self._audio.outputs, False
        )

    def set_input_device(
        self, device_id: str, callback: Callable[[ClientResult], object] | None = None
    ) -> Completion[None]:
        """Choose a microphone."""
        return self._core.run("SetInputDevice", callback, (), self._choose, device_id, True)

    def set_output_device(
        self, device_id: str, callback: Callable[[ClientResult], object] | None = None
    ) -> Completion[None]:
        """Choose a loudspeaker."""
        return self._core.run("SetOutputDevice", callback, (), self._choose, device_id, False)

    @staticmethod
    def get_default_audio_device_id() -> str:
        """The id of the default device."""
        return DEFAULT_DEVICE

    def set_device_change_callback(self, callback: Callable[[list[AudioDevice], list[AudioDevice]], object]) -> None:
        """Hear that a device came or went."""
        self._core.listen("device_change", callback)

    async def _devices(self, list_devices: Callable[[], Sequence[tuple[str, str]]]) -> list[AudioDevice]:
        return self._listed(await aside(list_devices))

    def _listed(self, devices: Sequence[tuple[str, str]]) -> list[AudioDevice]:
        return [
            self._core.make(AudioDevice, id=id, name=name, is_default=place == 0)
            for place, (id, name) in enumerate(devices)
        ]

    async def _current(self, list_devices: Callable[[], Sequence[tuple[str, str]]], of_input: bool) -> AudioDevice:
        chosen = self.input_device if of_input else self.output_device
        devices = await self._devices(list_devices)
        # One that is gone is the default one again.
        return next(
            (each for each in devices if each.id == chosen), devices[0] if devices else self._core.make(AudioDevice)
        )

    async def _choose(self, device_id: str, of_input: bool) -> None:
        known = await aside(self._audio.inputs if of_input else self._audio.outputs)
        if device_id != DEFAULT_DEVICE and device_id not in {id for id, _ in known}:
            raise invalid("there is no such device")
        if of_input:
            self.input_device = device_id
        else:
            self.output_device = device_id

    def _devices_changed(self) -> None:
        """On whatever thread the backend noticed it."""
        self._core.emit("device_change", self._listed(self._audio.inputs()), self._listed(self._audio.outputs()))

    # What the voice thread reads and tells

    @property
    def input_factor(self) -> float:
        """How loud the microphone is."""
        return self._input_volume / 100

    @property
    def output_factor(self) -> float:
        """How loud everybody is."""
        return self._output_volume / 100

    @property
    def no_input_threshold(self) -> float:
        """From how quiet on the microphone hears nothing."""
        threshold: float = self.options["no_audio_input_threshold"]
        return threshold

    def input_heard(self, detected: bool) -> None:
        """The microphone fell silent, or not any more."""
        self._core.emit("no_audio_input", detected)

    def recorded(self, captured: bytes | None, played: bytes | None) -> None:
        """What goes into the waveforms that `set_aec_dump` asks for; on the voice thread."""
        if not self.options["aec_dump"]:
            if self._recording is not None:
                self._recording.close()
                self._recording = None
            return
        if self._recording is None:
            from hubbub.sdk.media.recording import Recording

            self._recording = Recording(self._core.logs.directory)
        self._recording.take(captured, played)

    # Options

    def get_input_volume(self) -> float:
        """How loud the microphone is, in percent."""
        return self._input_volume

    def set_input_volume(self, input_volume: float) -> None:
        """How loud the microphone is, 0 to 100 percent."""
        self._input_volume = min(100.0, max(0.0, input_volume))

    def get_output_volume(self) -> float:
        """How loud everybody is, in percent."""
        return self._output_volume

    def set_output_volume(self, output_volume: float) -> None:
        """How loud everybody is, 0 to 200 percent."""
        self._output_volume = min(200.0, max(0.0, output_volume))

    def get_self_mute_all(self) -> bool:
        """Whether we are muted in all calls."""
        return self._everywhere.mute

    def set_self_mute_all(self, mute: bool) -> None:
        """Be muted in all calls, whatever each says."""
        self._everywhere.mute = mute
        self._refresh()

    def get_self_deaf_all(self) -> bool:
        """Whether we are deaf in all calls."""
        return self._everywhere.deaf

    def set_self_deaf_all(self, deaf: bool) -> None:
        """Be deaf in all calls, whatever each says."""
        self._everywhere.deaf = deaf
        self._refresh()

    def set_echo_cancellation(self, on: bool) -> None:
        """Remove echo; on unless said otherwise. For an audio backend to do."""
        self.options["echo_cancellation"] = on

    def set_noise_suppression(self, on: bool) -> None:
        """Remove noise; on unless said otherwise. For an audio backend to do."""
        self.options["noise_suppression"] = on

    def set_automatic_gain_control(self, on: bool) -> None:
        """Even out loudness; on unless said otherwise. For an audio backend to do."""
        self.options["automatic_gain_control"] = on

    def set_noise_cancellation(self, on: bool) -> None:
        """Remove noise better; while on, noise suppression is off. For an audio backend to do."""
        self.options["noise_cancellation"] = on

    def set_no_audio_input_threshold(self, dbfs_threshold: float) -> None:
        """From how quiet on a microphone is silent, -100 to 100 dBFS; -100 switches it off."""
        self.options["no_audio_input_threshold"] = min(100.0, max(-100.0, dbfs_threshold))

    def set_no_audio_input_callback(self, callback: Callable[[bool], object]) -> None:
        """Hear that the microphone fell silent, or not any more."""
        self._core.listen("no_audio_input", callback)

    def set_opus_hardware_coding(self, encode: bool, decode: bool) -> None:
        """Use the machine's own coder; only right after the client was made. Remembered: PyAV's libopus has none."""
        if not self._fresh:
            self._core.logs.warning("set_opus_hardware_coding came too late and is ignored")
            return
        self.options["opus_hardware_coding"] = (encode, decode)

    def set_engine_managed_audio_session(self, is_engine_managed: bool) -> None:
        """Leave the system's audio session to the game; before any call."""
        self.options["engine_managed_audio_session"] = is_engine_managed

    def set_speaker_mode(self, speaker_mode: bool) -> bool:
        """Use a phone's loudspeaker; deprecated since 1.3, and there is none here."""
        return False

    def show_audio_route_picker(self) -> bool:
        """Let the player choose where sound goes; one mobile system has that."""
        return False

    def set_voice_participant_changed_callback(self, callback: Callable[[int, int, bool], object]) -> None:
        """Hear who comes into the call of a lobby and leaves it, even from outside."""
        self._core.listen("voice_participant_changed", callback)

    def set_aec_dump(self, on: bool) -> None:
        """Write what the microphone hears and what is played into the directory of `set_log_dir`, a few minutes at most."""
        self.options["aec_dump"] = on


def _bare(callback: Callable[..., object] | None) -> Callable[..., object] | None:
    """A callback that hears the outputs without the result."""
    return None if callback is None else lambda _, *told: callback(*told)


def _trust(authority: str) -> ssl.SSLContext | bool:
    """How voice servers are known: as everybody is, and by one authority more where there is one (`hubbub dev` has its own)."""
    if not authority:
        return True
    context = ssl.create_default_context()
    context.load_verify_locations(cafile=Path(authority))
    return context

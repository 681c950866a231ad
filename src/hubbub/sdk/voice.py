"""Calls and audio settings. This SDK has no media engine, and the platform's voice server knows channels and no lobbies yet: a call
says honestly that it could not be connected, settings are remembered, and there is one device that is not there (decisions/0041).

Who is in a lobby's call would be told by LOBBY_VOICE_STATE_UPDATE, which is heard; our platform never sends it (decisions/0046).
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

from hubbub.sdk.core import Core
from hubbub.sdk.drivers import Completion
from hubbub.sdk.enums import AudioModeType, CallError, CallStatus, LoggingSeverity, to_string
from hubbub.sdk.handles import VoiceStateHandle, find_lobby, participants, voice_state
from hubbub.sdk.objects import Copyable
from hubbub.sdk.records import AudioDevice, VADThresholdSettings
from hubbub.sdk.results import ClientResult, invalid

DEFAULT_DEVICE: Final = "default"
NOT_CONNECTED: Final = "voice is not connected: this SDK has no media engine yet"

ReceivedAudio = Callable[[int, Any, int, int, int], bool]
"""User, samples, samples per channel, sample rate, channels; True silences them."""
CapturedAudio = Callable[[Any, int, int, int], None]


class CallState:
    """What all copies of a call share."""

    def __init__(self) -> None:
        self.status = CallStatus.JOINING
        self.ended = False
        self.self_mute = False
        self.self_deaf = False
        self.local_mutes: set[int] = set()
        self.volumes: dict[int, float] = {}
        self.audio_mode = AudioModeType.MODE_VAD
        self.ptt_active = False
        self.ptt_release_delay_ms = 0
        self.vad = (True, -60.0)
        self.callbacks: dict[str, Callable[..., object]] = {}


class Call(Copyable):
    """A call of a lobby."""

    def __init__(self, core: Core, lobby_id: int, state: CallState) -> None:
        super().__init__()
        self._core, self._lobby_id, self._state = core, lobby_id, state

    def __bool__(self) -> bool:
        """Whether the call is still one."""
        return self._valid and not self._state.ended

    def get_channel_id(self) -> int:
        """The lobby."""
        return self._lobby_id

    def get_guild_id(self) -> int:
        """The lobby again."""
        return self._lobby_id

    def get_status(self) -> CallStatus:
        """Where the call stands; it is usable when Connected."""
        return self._state.status

    def get_participants(self) -> list[int]:
        """Who is in it."""
        return participants(self._core, self._lobby_id)

    def get_voice_state_handle(self, user_id: int) -> VoiceStateHandle | None:
        """How one of them is."""
        return voice_state(self._core, self._lobby_id, user_id)

    def set_self_mute(self, mute: bool) -> None:
        """Be heard by nobody."""
        self._state.self_mute = mute

    def get_self_mute(self) -> bool:
        """Whether nobody hears us."""
        return self._state.self_mute

    def set_self_deaf(self, deaf: bool) -> None:
        """Hear nobody, and be heard by nobody."""
        self._state.self_deaf = deaf

    def get_self_deaf(self) -> bool:
        """Whether we hear nobody."""
        return self._state.self_deaf

    def set_local_mute(self, user_id: int, mute: bool) -> None:
        """Do not hear somebody."""
        (self._state.local_mutes.add if mute else self._state.local_mutes.discard)(user_id)

    def get_local_mute(self, user_id: int) -> bool:
        """Whether we do not hear somebody."""
        return user_id in self._state.local_mutes

    def set_participant_volume(self, user_id: int, volume: float) -> None:
        """How loud somebody is to us: 0 to 200, 100 is normal."""
        self._state.volumes[user_id] = min(200.0, max(0.0, volume))

    def get_participant_volume(self, user_id: int) -> float:
        """How loud somebody is to us."""
        return self._state.volumes.get(user_id, 100.0)

    def set_audio_mode(self, audio_mode: AudioModeType) -> None:
        """Speak when a voice is heard, or while a key is pressed."""
        self._state.audio_mode = audio_mode

    def get_audio_mode(self) -> AudioModeType:
        """When the microphone is heard."""
        return self._state.audio_mode

    def set_ptt_active(self, active: bool) -> None:
        """The key is pressed, or not."""
        self._state.ptt_active = active

    def get_ptt_active(self) -> bool:
        """Whether the key is pressed."""
        return self._state.ptt_active

    def set_ptt_release_delay(self, release_delay_ms: int) -> None:
        """How long one is heard after the key is let go."""
        self._state.ptt_release_delay_ms = max(0, release_delay_ms)

    def get_ptt_release_delay(self) -> int:
        """How long one is heard after the key is let go, in milliseconds."""
        return self._state.ptt_release_delay_ms

    def set_vad_threshold(self, automatic: bool, threshold: float) -> None:
        """From how loud on a sound is a voice, -100 to 0 dBFS."""
        self._state.vad = (automatic, min(0.0, max(-100.0, threshold)))

    def get_vad_threshold(self) -> VADThresholdSettings:
        """From how loud on a sound is a voice."""
        automatic, threshold = self._state.vad
        return self._core.make(VADThresholdSettings, vad_threshold=threshold, automatic=automatic)

    def set_status_changed_callback(self, callback: Callable[[CallStatus, CallError, int], object]) -> None:
        """Hear of each change of status."""
        self._state.callbacks["status"] = callback

    def set_participant_changed_callback(self, callback: Callable[[int, bool], object]) -> None:
        """Hear who comes and goes."""
        self._state.callbacks["participant"] = callback

    def set_on_voice_state_changed_callback(self, callback: Callable[[int], object]) -> None:
        """Hear who mutes and deafens."""
        self._state.callbacks["voice_state"] = callback

    def set_speaking_status_changed_callback(self, callback: Callable[[int, bool], object]) -> None:
        """Hear who speaks."""
        self._state.callbacks["speaking"] = callback

    @staticmethod
    def status_to_string(type: CallStatus) -> str:
        """The name of a status."""
        return to_string(CallStatus, type)

    @staticmethod
    def error_to_string(type: CallError) -> str:
        """The name of an error."""
        return to_string(CallError, type)


class Voice:
    """Calls, devices and audio options."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._calls: dict[int, CallState] = {}
        self._fresh = True
        self._input_volume = 100.0
        self._output_volume = 100.0
        self._mute_all = False
        self._deaf_all = False
        self.options: dict[str, Any] = {
            "echo_cancellation": True,
            "noise_suppression": True,
            "automatic_gain_control": True,
            "noise_cancellation": False,
            "no_audio_input_threshold": -100.0,
            "opus_hardware_coding": (True, True),
            "engine_managed_audio_session": False,
            "aec_dump": False,
            "speaker_mode": False,
        }
        """What was set, for the media engine that will read it."""
        core.resetters.append(self._forget)

    def _forget(self) -> None:
        for state in self._calls.values():
            state.callbacks.clear()

    # Calls

    def start_call(self, channel_id: int) -> Call | None:
        """Start or join the call of a lobby; None if we are in it."""
        self._fresh = False
        if channel_id in self._calls:
            return None
        state = self._calls[channel_id] = CallState()
        call = self._core.make(Call, self._core, channel_id, state)
        allowed = find_lobby(self._core, channel_id) is not None
        error = CallError.VOICE_CONNECTION_FAILED if allowed else CallError.FORBIDDEN
        self._say(state, CallStatus.JOINING, CallError.NONE)
        self._core.logs.write(NOT_CONNECTED, LoggingSeverity.ERROR, voice=True)
        self._say(state, CallStatus.DISCONNECTED, error)
        return call

    def start_call_with_audio_callbacks(
        self, lobby_id: int, received_cb: ReceivedAudio, captured_cb: CapturedAudio
    ) -> Call | None:
        """The same, and look at samples as they come and go; without a media engine there are none."""
        return self.start_call(lobby_id)

    def get_call(self, channel_id: int) -> Call | None:
        """The call of a lobby, if we are in it."""
        state = self._calls.get(channel_id)
        return self._core.make(Call, self._core, channel_id, state) if state is not None else None

    def get_calls(self) -> list[Call]:
        """The calls that we are in."""
        return [self._core.make(Call, self._core, channel_id, state) for channel_id, state in self._calls.items()]

    def end_call(self, channel_id: int, callback: Callable[[], object] | None = None) -> Completion[None]:
        """Leave a call; its objects are over."""
        return self._core.run("EndCall", _bare(callback), (), self._end, [channel_id])

    def end_calls(self, callback: Callable[[], object] | None = None) -> Completion[None]:
        """Leave all calls."""
        return self._core.run("EndCalls", _bare(callback), (), self._end, list(self._calls))

    async def _end(self, channels: Sequence[int]) -> None:
        for channel_id in channels:
            state = self._calls.pop(channel_id, None)
            if state is None:
                continue
            if state.status is not CallStatus.DISCONNECTED:
                self._say(state, CallStatus.DISCONNECTING, CallError.NONE)
                self._say(state, CallStatus.DISCONNECTED, CallError.NONE)
            state.ended = True

    def _say(self, state: CallState, status: CallStatus, error: CallError) -> None:
        def tell() -> None:
            # The status changes when the game hears of it: one that looks before it pumps sees Joining.
            state.status = status
            callback = state.callbacks.get("status")
            if callback is not None:
                callback(status, error, 0)

        self._core.pump.put(tell)

    # Devices

    def get_input_devices(
        self, callback: Callable[[list[AudioDevice]], object] | None = None
    ) -> Completion[list[AudioDevice]]:
        """The microphones: one that is not there."""
        return self._core.run("GetInputDevices", _bare(callback), ([],), self._devices)

    def get_output_devices(
        self, callback: Callable[[list[AudioDevice]], object] | None = None
    ) -> Completion[list[AudioDevice]]:
        """The loudspeakers: one that is not there."""
        return self._core.run("GetOutputDevices", _bare(callback), ([],), self._devices)

    def get_current_input_device(
        self, callback: Callable[[AudioDevice], object] | None = None
    ) -> Completion[AudioDevice]:
        """The microphone in use."""
        return self._core.run("GetCurrentInputDevice", _bare(callback), (self._device(),), self._current)

    def get_current_output_device(
        self, callback: Callable[[AudioDevice], object] | None = None
    ) -> Completion[AudioDevice]:
        """The loudspeaker in use."""
        return self._core.run("GetCurrentOutputDevice", _bare(callback), (self._device(),), self._current)

    def set_input_device(
        self, device_id: str, callback: Callable[[ClientResult], object] | None = None
    ) -> Completion[None]:
        """Choose a microphone."""
        return self._core.run("SetInputDevice", callback, (), self._choose, device_id)

    def set_output_device(
        self, device_id: str, callback: Callable[[ClientResult], object] | None = None
    ) -> Completion[None]:
        """Choose a loudspeaker."""
        return self._core.run("SetOutputDevice", callback, (), self._choose, device_id)

    @staticmethod
    def get_default_audio_device_id() -> str:
        """The id of the default device."""
        return DEFAULT_DEVICE

    def set_device_change_callback(self, callback: Callable[[list[AudioDevice], list[AudioDevice]], object]) -> None:
        """Hear that a device came or went."""
        self._core.listen("device_change", callback)

    def _device(self) -> AudioDevice:
        return self._core.make(AudioDevice, id=DEFAULT_DEVICE, name="Default (no audio engine)", is_default=True)

    async def _devices(self) -> list[AudioDevice]:
        return [self._device()]

    async def _current(self) -> AudioDevice:
        return self._device()

    async def _choose(self, device_id: str) -> None:
        if device_id != DEFAULT_DEVICE:
            raise invalid("there is no such device")

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
        return self._mute_all

    def set_self_mute_all(self, mute: bool) -> None:
        """Be muted in all calls, whatever each says."""
        self._mute_all = mute

    def get_self_deaf_all(self) -> bool:
        """Whether we are deaf in all calls."""
        return self._deaf_all

    def set_self_deaf_all(self, deaf: bool) -> None:
        """Be deaf in all calls, whatever each says."""
        self._deaf_all = deaf

    def set_echo_cancellation(self, on: bool) -> None:
        """Remove echo; on unless said otherwise."""
        self.options["echo_cancellation"] = on

    def set_noise_suppression(self, on: bool) -> None:
        """Remove noise; on unless said otherwise."""
        self.options["noise_suppression"] = on

    def set_automatic_gain_control(self, on: bool) -> None:
        """Even out loudness; on unless said otherwise."""
        self.options["automatic_gain_control"] = on

    def set_noise_cancellation(self, on: bool) -> None:
        """Remove noise better; while on, noise suppression is off."""
        self.options["noise_cancellation"] = on

    def set_no_audio_input_threshold(self, dbfs_threshold: float) -> None:
        """From how quiet on a microphone is silent, -100 to 100 dBFS; -100 switches it off."""
        self.options["no_audio_input_threshold"] = min(100.0, max(-100.0, dbfs_threshold))

    def set_no_audio_input_callback(self, callback: Callable[[bool], object]) -> None:
        """Hear that the microphone fell silent, or not any more."""
        self._core.listen("no_audio_input", callback)

    def set_opus_hardware_coding(self, encode: bool, decode: bool) -> None:
        """Use the machine's own coder; only right after the client was made."""
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
        """Write what is heard and said into the log directory; without a media engine there is nothing to write."""
        self.options["aec_dump"] = on


def _bare(callback: Callable[..., object] | None) -> Callable[..., object] | None:
    """A callback that hears the outputs without the result."""
    return None if callback is None else lambda _, *told: callback(*told)

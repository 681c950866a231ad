"""The `Call` object of a game (spec/sdk.md#13.2) and the state shared by its copies."""

import asyncio
from collections.abc import Callable
from typing import Any, NamedTuple

from hubbub.sdk.arguments import Int32, checks_arguments
from hubbub.sdk.audio import CapturedAudio, ReceivedAudio
from hubbub.sdk.core import Core
from hubbub.sdk.enums import AudioModeType, CallError, CallStatus, ClientStatus, LoggingSeverity, to_string
from hubbub.sdk.handles import VoiceStateHandle, find_voice_state, list_participant_ids
from hubbub.sdk.objects import Copyable
from hubbub.sdk.records import VADThresholdSettings


class VoiceTicket(NamedTuple):
    """Voice server address and credentials from LOBBY_VOICE_SERVER_UPDATE."""

    endpoint: str
    """Host and port of the voice server."""
    token: str
    """Voice token."""
    session_id: str
    """Session ID in the current user's voice state, or the ID of the gateway session if the voice state has none."""


class GlobalCallSettings:
    """Mute and deaf settings that apply to all calls of a client."""

    def __init__(self) -> None:
        self.mute = False
        self.deaf = False


class CallState:
    """State shared by all copies of a call.

    The game's thread writes the settings and the voice thread reads them; each access is a single atomic operation."""

    def __init__(self, core: Core, lobby_id: int, global_settings: GlobalCallSettings) -> None:
        self._core = core
        self._global_settings = global_settings
        self.lobby_id = lobby_id
        """ID of the lobby or, in the agent, of the voice channel; the encryption group has the same ID."""
        self.server_id = lobby_id
        """ID with which the voice server identifies the call: that of the lobby, private channel or guild."""
        self.status = CallStatus.DISCONNECTED
        self.has_ended = False
        """Whether the game ended or replaced the call, so that its `Call` objects are false."""
        self.self_mute = False
        self.self_deaf = False
        self.local_mutes: set[int] = set()
        """User IDs of the participants who are muted on this machine."""
        self.volumes: dict[int, float] = {}
        """Playback volumes in percent by user ID; 100 if a user is missing."""
        self.pans: dict[int, tuple[float, float]] = {}
        """Volume factors of the left and right channel by user ID; 1 if a user is missing."""
        self.audio_mode = AudioModeType.MODE_VAD
        self.is_ptt_active = False
        """Whether the push-to-talk key is pressed."""
        self.ptt_release_delay_ms = 0
        self.vad_threshold = (True, -60.0)
        """Whether the voice activity threshold is automatic, and the fixed threshold in dBFS."""
        self.on_received_audio: ReceivedAudio | None = None
        """Callback of the game for the decoded audio of a participant, which may change or mute it; None if not set."""
        self.on_captured_audio: CapturedAudio | None = None
        """Callback of the game for microphone audio before it is sent, which may change it; None if not set."""
        self.callbacks: dict[str, Callable[..., object]] = {}
        """Callbacks by event name: `status`, `participant`, `voice_state` and `speaking`."""
        self.on_settings_changed: Callable[[], None] = lambda: None
        """Function called when the game sets `self_mute` or `self_deaf`."""
        self.should_be_joined = False
        """Whether the client wants to be in the call; `call_signaling.CallSignaling` sends these calls to the platform."""
        self.ticket: VoiceTicket | None = None
        """Credentials for the voice server; None until they arrive."""
        self.is_expelled = False
        """Whether the call ended without `end_call`.

        The platform rejected or removed the user, another device took over, the lobby was removed, or the client
        disconnected."""
        self.update_event = asyncio.Event()
        """Set when a ticket arrives or is withdrawn, `is_expelled` becomes true, or a gateway session becomes ready."""
        self._speaking: dict[int, bool] = {}
        """Whether a user speaks now, by user ID."""
        self._delivered_speakers: set[int] = set()
        """User IDs of the users who speak according to the callbacks delivered so far."""
        self._is_speaking_queued = False
        """Whether `_deliver_speaking` is in the callback queue."""

    @property
    def muted(self) -> bool:
        """Whether the microphone is muted in this call or in all calls; a deafened user is muted as well."""
        return self.self_mute or self._global_settings.mute or self.deaf

    @property
    def deaf(self) -> bool:
        """Whether playback is disabled in this call or in all calls."""
        return self.self_deaf or self._global_settings.deaf

    def is_session_ready(self) -> bool:
        """Return whether the gateway session is ready, so that voice events can arrive."""
        return self._core.status is ClientStatus.READY

    def emit(self, event: str, *args: Any) -> None:
        """Queue an event for its callback."""
        self._core.callback_queue.put(self._run_callback, event, args)

    def _run_callback(self, event: str, args: tuple[Any, ...]) -> None:
        # The callback is looked up on delivery, so that one that was replaced or reset meanwhile is not called.
        callback = self.callbacks.get(event)
        if callback is not None:
            callback(*args)

    def set_status(self, status: CallStatus, error: CallError = CallError.NONE, detail: int = 0) -> None:
        """Set the status and queue the status callback, unless the status is unchanged or the call ended.

        `detail` is the close code of the voice connection, or 0."""
        with self._core.lock:
            if self.has_ended or self.status is status:
                return
            self.status = status
        self.log(f"status {status.label}" + (f", error {error.label} {detail}" if error else ""))
        self.emit("status", status, error, detail)

    def log(self, message: str, severity: LoggingSeverity = LoggingSeverity.INFO) -> None:
        """Write a message about the call to the voice log."""
        self._core.logs.write(f"Call of lobby {self.lobby_id}: {message}", severity, is_voice=True)

    def record_speaking(self, user_id: int, is_speaking: bool) -> None:
        """Record that a user starts or stops speaking; changes between two `run_callbacks` are merged per user."""
        with self._core.lock:
            self._speaking[user_id] = is_speaking
            was_queued, self._is_speaking_queued = self._is_speaking_queued, True
        if not was_queued:
            self._core.callback_queue.put(self._deliver_speaking)

    def _deliver_speaking(self) -> None:
        with self._core.lock:
            self._is_speaking_queued = False
            changes = [
                (user_id, speaks)
                for user_id, speaks in self._speaking.items()
                if (user_id in self._delivered_speakers) != speaks
            ]
            self._delivered_speakers = {user_id for user_id, speaks in self._speaking.items() if speaks}
            self._speaking = dict.fromkeys(self._delivered_speakers, True)
        for user_id, speaks in changes:
            self._run_callback("speaking", (user_id, speaks))

    def reset(self) -> None:
        """Drop all callbacks."""
        self.callbacks.clear()
        self.on_received_audio = self.on_captured_audio = None
        self._is_speaking_queued = False


class Call(Copyable):
    """The current user's call in a lobby; copies share its state.

    A call is true until it ends. `Client.start_call` returns it."""

    def __init__(self, core: Core, lobby_id: int, state: CallState) -> None:
        super().__init__()
        self._core, self._lobby_id, self._state = core, lobby_id, state

    def __bool__(self) -> bool:
        """Return whether the object is valid and the call has not ended."""
        return self._valid and not self._state.has_ended

    def get_channel_id(self) -> int:
        """Return the ID of the lobby."""
        return self._lobby_id

    def get_guild_id(self) -> int:
        """Return the ID of the lobby, the same as `get_channel_id`."""
        return self._lobby_id

    def get_status(self) -> CallStatus:
        """Return the status of the call; audio is transmitted while it is `CONNECTED`."""
        return self._state.status

    def get_participants(self) -> list[int]:
        """Return the user IDs of the call's participants."""
        return list_participant_ids(self._core, self._lobby_id)

    @checks_arguments
    def get_voice_state_handle(self, user_id: int) -> VoiceStateHandle | None:
        """Return the voice state of a participant, or None if the user is not in the call."""
        return find_voice_state(self._core, self._lobby_id, user_id)

    @checks_arguments
    def set_self_mute(self, mute: bool) -> None:
        """Mute or unmute the current user's microphone in this call."""
        self._state.self_mute = mute
        self._state.log(f"self_mute is now {mute}")
        self._state.on_settings_changed()

    def get_self_mute(self) -> bool:
        """Return whether the current user's microphone is muted in this call."""
        return self._state.self_mute

    @checks_arguments
    def set_self_deaf(self, deaf: bool) -> None:
        """Disable or enable the playback of this call; while it is disabled, the microphone is muted as well."""
        self._state.self_deaf = deaf
        self._state.log(f"self_deaf is now {deaf}")
        self._state.on_settings_changed()

    def get_self_deaf(self) -> bool:
        """Return whether the playback of this call is disabled."""
        return self._state.self_deaf

    @checks_arguments
    def set_local_mute(self, user_id: int, mute: bool) -> None:
        """Mute or unmute a participant on this machine only."""
        (self._state.local_mutes.add if mute else self._state.local_mutes.discard)(user_id)

    @checks_arguments
    def get_local_mute(self, user_id: int) -> bool:
        """Return whether a participant is muted on this machine."""
        return user_id in self._state.local_mutes

    @checks_arguments
    def set_participant_volume(self, user_id: int, volume: float) -> None:
        """Set the playback volume of a participant in percent, from 0 to 200; 100 is unchanged."""
        self._state.volumes[user_id] = min(200.0, max(0.0, volume))

    @checks_arguments
    def get_participant_volume(self, user_id: int) -> float:
        """Return the playback volume of a participant in percent, from 0 to 200."""
        return self._state.volumes.get(user_id, 100.0)

    @checks_arguments
    def set_audio_mode(self, audio_mode: AudioModeType) -> None:
        """Set when the microphone is transmitted: on voice activity (`MODE_VAD`) or by push-to-talk (`MODE_PTT`)."""
        self._state.audio_mode = audio_mode
        self._state.log(f"the audio mode is now {audio_mode.label}")

    def get_audio_mode(self) -> AudioModeType:
        """Return when the microphone is transmitted: on voice activity or by push-to-talk."""
        return self._state.audio_mode

    @checks_arguments
    def set_ptt_active(self, active: bool) -> None:
        """Set whether the push-to-talk key is pressed; it has an effect in `MODE_PTT` only."""
        self._state.is_ptt_active = active

    def get_ptt_active(self) -> bool:
        """Return whether the push-to-talk key is pressed."""
        return self._state.is_ptt_active

    @checks_arguments
    def set_ptt_release_delay(self, release_delay_ms: Int32) -> None:
        """Set the time in milliseconds for which the microphone is transmitted after the push-to-talk key is released."""
        self._state.ptt_release_delay_ms = max(0, release_delay_ms)

    def get_ptt_release_delay(self) -> int:
        """Return the time in milliseconds for which the microphone is transmitted after the push-to-talk key is released."""
        return self._state.ptt_release_delay_ms

    @checks_arguments
    def set_vad_threshold(self, automatic: bool, threshold: float) -> None:
        """Set the voice activity threshold: automatic, or a level from -100 to 0 dBFS."""
        self._state.vad_threshold = (automatic, min(0.0, max(-100.0, threshold)))

    def get_vad_threshold(self) -> VADThresholdSettings:
        """Return the voice activity threshold."""
        automatic, threshold = self._state.vad_threshold
        return self._core.make(VADThresholdSettings, vad_threshold=threshold, automatic=automatic)

    @checks_arguments
    def set_status_changed_callback(self, callback: Callable[[CallStatus, CallError, int], object]) -> None:
        """Set the callback for status changes; it receives the status, the error and a detail code."""
        self._state.callbacks["status"] = callback

    @checks_arguments
    def set_participant_changed_callback(self, callback: Callable[[int, bool], object]) -> None:
        """Set the callback for participants; it receives the user ID and whether the user joined (or left)."""
        self._state.callbacks["participant"] = callback

    @checks_arguments
    def set_on_voice_state_changed_callback(self, callback: Callable[[int], object]) -> None:
        """Set the callback for changes of mute and deaf; it receives the user ID."""
        self._state.callbacks["voice_state"] = callback

    @checks_arguments
    def set_speaking_status_changed_callback(self, callback: Callable[[int, bool], object]) -> None:
        """Set the callback for speaking; it receives the user ID and whether the user speaks."""
        self._state.callbacks["speaking"] = callback

    @staticmethod
    def status_to_string(type: CallStatus) -> str:
        """Return the specification's name of a call status."""
        return to_string(CallStatus, type)

    @staticmethod
    def error_to_string(type: CallError) -> str:
        """Return the specification's name of a call error."""
        return to_string(CallError, type)

"""A call as the game holds it (sdk.md 13.2), and what all its copies share."""

import asyncio
from collections.abc import Callable
from typing import Any, NamedTuple

from hubbub.sdk.audio import CapturedAudio, ReceivedAudio
from hubbub.sdk.core import Core
from hubbub.sdk.enums import AudioModeType, CallError, CallStatus, ClientStatus, to_string
from hubbub.sdk.handles import VoiceStateHandle, participants, voice_state
from hubbub.sdk.objects import Copyable
from hubbub.sdk.records import VADThresholdSettings


class Ticket(NamedTuple):
    """What LOBBY_VOICE_SERVER_UPDATE lets us in with."""

    endpoint: str
    token: str
    session_id: str
    """As our voice state shows it."""


class AllCalls:
    """What holds in every call, whatever each says."""

    def __init__(self) -> None:
        self.mute = False
        self.deaf = False


class CallState:
    """What all copies of a call share. The game writes settings, the voice thread reads them; both one at a time."""

    def __init__(self, core: Core, lobby_id: int, everywhere: AllCalls) -> None:
        self._core = core
        self._everywhere = everywhere
        self.lobby_id = lobby_id
        self.status = CallStatus.DISCONNECTED
        self.ended = False
        self.self_mute = False
        self.self_deaf = False
        self.local_mutes: set[int] = set()
        self.volumes: dict[int, float] = {}
        self.audio_mode = AudioModeType.MODE_VAD
        self.ptt_active = False
        self.ptt_release_delay_ms = 0
        self.vad = (True, -60.0)
        self.received_audio: ReceivedAudio | None = None
        self.captured_audio: CapturedAudio | None = None
        self.callbacks: dict[str, Callable[..., object]] = {}
        self.changed: Callable[[], None] = lambda: None
        """Told when mute or deaf changed."""
        self.wanted = False
        """Whether we want to be in it, as far as the platform is concerned."""
        self.ticket: Ticket | None = None
        self.expelled = False
        """Whether the platform put us out."""
        self.news = asyncio.Event()
        """Set when one of the two changed."""
        self._speaking: dict[int, bool] = {}
        self._told_speaking: dict[int, bool] = {}
        self._speaking_waits = False

    @property
    def muted(self) -> bool:
        """Whether nobody hears us; who is deaf is not heard either."""
        return self.self_mute or self._everywhere.mute or self.deaf

    @property
    def deaf(self) -> bool:
        """Whether we hear nobody."""
        return self.self_deaf or self._everywhere.deaf

    def reachable(self) -> bool:
        """Whether the platform can tell us anything."""
        return self._core.status is ClientStatus.READY

    def fire(self, event: str, *args: Any) -> None:
        """Tell the game, at its next pump."""
        self._core.pump.put(self._call, event, args)

    def _call(self, event: str, args: tuple[Any, ...]) -> None:
        # Looked up now: what was replaced or reset in between is not called any more.
        callback = self.callbacks.get(event)
        if callback is not None:
            callback(*args)

    def become(self, status: CallStatus, error: CallError = CallError.NONE, detail: int = 0) -> None:
        """Change the status and say so, once."""
        with self._core.lock:
            if self.ended or self.status is status:
                return
            self.status = status
        self.fire("status", status, error, detail)

    def note_speaking(self, user_id: int, speaks: bool) -> None:
        """Somebody begins or ends to speak; however often before the game looks, it hears of each person once."""
        with self._core.lock:
            self._speaking[user_id] = speaks
            waits, self._speaking_waits = self._speaking_waits, True
        if not waits:
            self._core.pump.put(self._tell_speaking)

    def _tell_speaking(self) -> None:
        with self._core.lock:
            self._speaking_waits = False
            told = self._told_speaking
            news = [(who, speaks) for who, speaks in self._speaking.items() if told.get(who, False) != speaks]
            self._told_speaking = {who: True for who, speaks in self._speaking.items() if speaks}
            self._speaking = dict(self._told_speaking)
        for who, speaks in news:
            self._call("speaking", (who, speaks))

    def reset(self) -> None:
        """Drop every callback."""
        self.callbacks.clear()
        self.received_audio = self.captured_audio = None
        self._speaking_waits = False


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
        self._state.changed()

    def get_self_mute(self) -> bool:
        """Whether nobody hears us."""
        return self._state.self_mute

    def set_self_deaf(self, deaf: bool) -> None:
        """Hear nobody, and be heard by nobody."""
        self._state.self_deaf = deaf
        self._state.changed()

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

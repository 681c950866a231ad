"""Voice activity detection and push-to-talk: decides which microphone frames are sent (spec/sdk.md#13.2)."""

from typing import Final, Protocol

from hubbub.sdk.audio import FRAME_MS
from hubbub.sdk.enums import AudioModeType

HANGOVER_FRAMES: Final = 10
"""Number of frames that are still sent after the last loud one, so that the ends of words are not clipped."""
NOISE_FLOOR_MAX_DBFS: Final = -50.0
"""Highest noise floor in dBFS."""
NOISE_FLOOR_RISE_DB: Final = 0.01
"""Rise of the noise floor per frame in dB: 0.5 dB per second."""
THRESHOLD_MARGIN_DB: Final = 9.0
"""Distance of the automatic threshold from the noise floor, in dB."""
THRESHOLD_MIN_DBFS: Final = -60.0
"""Lowest automatic threshold in dBFS."""


class GateSettings(Protocol):
    """The settings of a call that the gate reads."""

    audio_mode: AudioModeType
    is_ptt_active: bool
    """Whether the push-to-talk key is pressed."""
    ptt_release_delay_ms: int
    vad_threshold: tuple[bool, float]
    """Whether the voice activity threshold is automatic, and the fixed threshold in dBFS."""


class VoiceGate:
    """Gate that passes or blocks each 20 ms frame of the microphone."""

    def __init__(self, settings: GateSettings) -> None:
        self._settings = settings
        self._open_frames = 0
        """Number of frames that will be sent although they are not loud or the key is not pressed; 0 or less if closed."""
        self._noise_floor = NOISE_FLOOR_MAX_DBFS
        """Estimated level of the background noise in dBFS."""

    def passes(self, level: float) -> bool:
        """Return whether a frame of this level, in dBFS, is sent; call this once per frame."""
        if self._settings.audio_mode is AudioModeType.MODE_PTT:
            return self._passes_push_to_talk()
        automatic, threshold = self._settings.vad_threshold
        self._noise_floor = min(self._noise_floor + NOISE_FLOOR_RISE_DB, level, NOISE_FLOOR_MAX_DBFS)
        if automatic:
            threshold = max(THRESHOLD_MIN_DBFS, self._noise_floor + THRESHOLD_MARGIN_DB)
        if level > threshold:
            self._open_frames = HANGOVER_FRAMES
            return True
        self._open_frames -= 1
        return self._open_frames >= 0

    def _passes_push_to_talk(self) -> bool:
        """Return whether the key is pressed, or was released less than the release delay ago."""
        if self._settings.is_ptt_active:
            self._open_frames = -(-self._settings.ptt_release_delay_ms // FRAME_MS)
            return True
        self._open_frames -= 1
        return self._open_frames >= 0

    def close(self) -> None:
        """Close the gate immediately."""
        self._open_frames = 0

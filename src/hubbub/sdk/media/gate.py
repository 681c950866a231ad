"""When the microphone is heard: while somebody speaks, or while a key is pressed (sdk.md 13.2)."""

from typing import Final, Protocol

from hubbub.sdk.audio import FRAME_MS
from hubbub.sdk.enums import AudioModeType

HANG: Final = 10
"""Frames after the last loud one that still go out, so that words keep their ends."""
FLOOR_MOST: Final = -50.0
RISE: Final = 0.01
"""How much the quietest level that is remembered rises per frame, in dB: half a decibel in a second."""
ABOVE: Final = 9.0
"""What is so much louder than the quietest is a voice."""
LEAST: Final = -60.0


class Settings(Protocol):
    """What a call has set."""

    audio_mode: AudioModeType
    ptt_active: bool
    ptt_release_delay_ms: int
    vad: tuple[bool, float]


class Gate:
    """Opens and closes once per frame."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._left = 0
        """Frames for which it stays open."""
        self._floor = FLOOR_MOST

    def passes(self, level: float) -> bool:
        """Whether a frame this loud goes out."""
        if self._settings.audio_mode is AudioModeType.MODE_PTT:
            return self._passes_key()
        automatic, threshold = self._settings.vad
        self._floor = min(self._floor + RISE, level, FLOOR_MOST)
        if automatic:
            threshold = max(LEAST, self._floor + ABOVE)
        if level > threshold:
            self._left = HANG
            return True
        self._left -= 1
        return self._left > 0

    def _passes_key(self) -> bool:
        if self._settings.ptt_active:
            self._left = -(-self._settings.ptt_release_delay_ms // FRAME_MS)
            return True
        self._left -= 1
        return self._left >= 0

    def shut(self) -> None:
        """Nothing goes out, whatever was loud a moment ago."""
        self._left = 0

"""Waveforms of what the microphone heard and what was played, for somebody who looks for an echo (SetAecDump)."""

import contextlib
import wave
from pathlib import Path
from typing import IO, Final

from hubbub.sdk.audio import CHANNELS, FRAME_BYTES, SAMPLE_RATE

FRAMES_MOST: Final = 15_000
"""Five minutes, about 58 megabytes each; then nothing more is written."""
NAMES: Final = ("hubbub-aec-in.wav", "hubbub-aec-out.wav")


class Recording:
    """The two files of one time that it was switched on; none where there is no directory for them."""

    def __init__(self, directory: Path | None) -> None:
        self._stack = contextlib.ExitStack()
        self._files: list[wave.Wave_write] = []
        self._left = FRAMES_MOST
        if directory is not None:
            with contextlib.suppress(OSError):
                for name in NAMES:
                    # Opened by itself: a waveform without a file is none, and complains when it is collected.
                    file = self._stack.enter_context((directory / name).open("wb"))
                    self._files.append(self._stack.enter_context(_waveform(file)))

    def take(self, captured: bytes | None, played: bytes | None) -> None:
        """20 ms of both; where there was nothing there is silence."""
        if len(self._files) < len(NAMES) or self._left <= 0:
            return
        self._left -= 1
        for file, data in zip(self._files, (captured, played), strict=True):
            file.writeframesraw((data or b"")[:FRAME_BYTES].ljust(FRAME_BYTES, b"\0"))

    def close(self) -> None:
        """That was it."""
        self._files = []
        self._stack.close()


def _waveform(file: IO[bytes]) -> wave.Wave_write:
    made = wave.Wave_write(file)
    made.setnchannels(CHANNELS)
    made.setsampwidth(2)
    made.setframerate(SAMPLE_RATE)
    return made

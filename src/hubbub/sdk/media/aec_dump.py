"""AEC dump: WAV files of the captured and played audio, for debugging echo cancellation (SetAecDump)."""

import contextlib
import wave
from pathlib import Path
from typing import IO, Final

from hubbub.sdk.audio import CHANNELS, FRAME_BYTES, SAMPLE_RATE

FRAMES_MAX: Final = 15_000
"""Maximum length of a dump in frames: 5 minutes, about 58 MB per file."""
FILENAMES: Final = ("hubbub-aec-in.wav", "hubbub-aec-out.wav")
"""Names of the files with the captured and with the played audio."""


class AecDump:
    """The two WAV files of one AEC dump; nothing is written without a directory, or if a file cannot be opened."""

    def __init__(self, directory: Path | None) -> None:
        self._stack = contextlib.ExitStack()
        self._files: list[wave.Wave_write] = []
        self._frames_left = FRAMES_MAX
        if directory is not None:
            with contextlib.suppress(OSError):
                for name in FILENAMES:
                    # Open the file separately: if opening fails, `Wave_write` raises again in its destructor.
                    file = self._stack.enter_context((directory / name).open("wb"))
                    self._files.append(self._stack.enter_context(_open_wav(file)))

    def write(self, captured_frame: bytes | None, played_frame: bytes | None) -> None:
        """Write a frame of captured and played audio, up to `FRAMES_MAX`; None is written as silence."""
        if len(self._files) < len(FILENAMES) or self._frames_left <= 0:
            return
        self._frames_left -= 1
        for file, frame in zip(self._files, (captured_frame, played_frame), strict=True):
            file.writeframesraw((frame or b"")[:FRAME_BYTES].ljust(FRAME_BYTES, b"\0"))

    def close(self) -> None:
        """Close the files."""
        self._files = []
        self._stack.close()


def _open_wav(file: IO[bytes]) -> wave.Wave_write:
    """Return a WAV writer for a file, with the audio format of calls."""
    writer = wave.Wave_write(file)
    writer.setnchannels(CHANNELS)
    writer.setsampwidth(2)
    writer.setframerate(SAMPLE_RATE)
    return writer

"""Ring buffer between the audio callback of a device and the voice thread."""

from typing import Final

from hubbub.sdk.audio import CHANNELS, FRAME_BYTES

CAPACITY_BYTES: Final = 24 * FRAME_BYTES
"""Size of the buffer: 480 ms."""
START_BYTES: Final = 2 * FRAME_BYTES
"""Number of bytes with which reading starts, also after an underrun: 40 ms."""
DELAY_BYTES_MAX: Final = 6 * FRAME_BYTES
"""Maximum delay that a reader accepts, 120 ms; after a longer one it skips to `START_BYTES`."""
SAMPLE_BYTES: Final = 2 * CHANNELS
"""Size of one sample of all channels, in bytes; data is dropped in whole samples only."""


class RingBuffer:
    """A bounded queue of samples for one writing and one reading thread.

    Neither thread waits: each counter is changed by one thread only, so no lock is needed. A writer that is too fast drops
    new samples, and a reader that falls behind skips old ones, so that the delay stays bounded."""

    def __init__(self) -> None:
        self._data = bytearray(CAPACITY_BYTES)
        self._written = 0
        """Number of bytes written so far; changed by the writer only."""
        self._read = 0
        """Number of bytes read or skipped so far; changed by the reader only."""
        self._is_started = False
        """Whether enough was buffered since the start or the last underrun."""
        self._dropped = 0
        self._skipped = 0
        self.underruns = 0
        """Number of reads that found too few samples after reading had started."""

    @property
    def overruns(self) -> int:
        """Number of times that samples were dropped because the reader was too slow."""
        return self._dropped + self._skipped

    def __len__(self) -> int:
        return self._written - self._read

    def write(self, samples: "bytes | bytearray | memoryview") -> None:
        """Add samples; drop those that do not fit."""
        free = CAPACITY_BYTES - (self._written - self._read)
        view = memoryview(samples)
        if len(view) > free:
            self._dropped += 1
            view = view[: free - free % SAMPLE_BYTES]
        position = self._written % CAPACITY_BYTES
        first = min(len(view), CAPACITY_BYTES - position)
        self._data[position : position + first] = view[:first]
        self._data[: len(view) - first] = view[first:]
        self._written += len(view)

    def read(self, size: int) -> bytes | None:
        """Return the next `size` bytes, at most a frame; None until enough is buffered, and on an underrun."""
        fill = self._written - self._read
        if not self._is_started:
            if fill < START_BYTES:
                return None
            self._is_started = True
        if fill > DELAY_BYTES_MAX:
            self._skipped += 1
            self._read += fill - START_BYTES
            fill = START_BYTES
        if fill < size:
            self.underruns += 1
            self._is_started = False
            return None
        position = self._read % CAPACITY_BYTES
        data = bytes(self._data[position : position + size])
        data += self._data[: size - len(data)]
        self._read += size
        return data

    def clear(self) -> None:
        """Discard the buffered samples; called by the reader."""
        self._read, self._is_started = self._written, False

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
        self._storage = bytearray(CAPACITY_BYTES)
        self._written_bytes = 0
        """Number of bytes written so far; changed by the writer only."""
        self._read_bytes = 0
        """Number of bytes read or skipped so far; changed by the reader only."""
        self._is_started = False
        """Whether enough was buffered since the start or the last underrun."""
        self._drop_count = 0
        self._skip_count = 0
        self.underruns = 0
        """Number of reads that found too few samples after reading had started."""

    @property
    def overruns(self) -> int:
        """Number of times that samples were dropped because the reader was too slow."""
        return self._drop_count + self._skip_count

    def __len__(self) -> int:
        return self._written_bytes - self._read_bytes

    def write(self, samples: "bytes | bytearray | memoryview") -> None:
        """Add samples; drop those that do not fit."""
        free_bytes = CAPACITY_BYTES - (self._written_bytes - self._read_bytes)
        view = memoryview(samples)
        if len(view) > free_bytes:
            self._drop_count += 1
            view = view[: free_bytes - free_bytes % SAMPLE_BYTES]
        position = self._written_bytes % CAPACITY_BYTES
        bytes_before_wrap = min(len(view), CAPACITY_BYTES - position)
        self._storage[position : position + bytes_before_wrap] = view[:bytes_before_wrap]
        self._storage[: len(view) - bytes_before_wrap] = view[bytes_before_wrap:]
        self._written_bytes += len(view)

    def read(self, byte_count: int) -> bytes | None:
        """Return the next `byte_count` bytes, at most a frame; None until enough is buffered, and on an underrun."""
        buffered_bytes = self._written_bytes - self._read_bytes
        if not self._is_started:
            if buffered_bytes < START_BYTES:
                return None
            self._is_started = True
        if buffered_bytes > DELAY_BYTES_MAX:
            self._skip_count += 1
            self._read_bytes += buffered_bytes - START_BYTES
            buffered_bytes = START_BYTES
        if buffered_bytes < byte_count:
            self.underruns += 1
            self._is_started = False
            return None
        position = self._read_bytes % CAPACITY_BYTES
        samples = bytes(self._storage[position : position + byte_count])
        samples += self._storage[: byte_count - len(samples)]
        self._read_bytes += byte_count
        return samples

    def clear(self) -> None:
        """Discard the buffered samples; called by the reader."""
        self._read_bytes, self._is_started = self._written_bytes, False

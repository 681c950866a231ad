"""Jitter buffer: delays and reorders the frames of one speaker, with a bounded size."""

from typing import Final

PLAYOUT_DELAY_FRAMES: Final = 3
"""Number of buffered frames, or of waiting calls of `take`, with which playback starts: 60 ms."""
BUFFERED_FRAMES_MAX: Final = 12
"""Maximum number of buffered frames; with more, the oldest are dropped until `PLAYOUT_DELAY_FRAMES` frames are left."""
EMPTY_READS_MAX: Final = 10
"""Number of calls of `take` with an empty buffer after which the speaker counts as silent, and playback starts again."""
SEQUENCE_JUMP_MAX: Final = 100
"""Maximum distance from the expected sequence number; a frame with a greater distance restarts the buffer."""


class JitterBuffer:
    """The jitter buffer of one speaker."""

    def __init__(self) -> None:
        self._frames: dict[int, bytes] = {}
        """Buffered frames by sequence number without wraparound."""
        self._next_number: int | None = None
        """Sequence number to play next, without wraparound; frames with lower numbers are too late."""
        self._is_playing = False
        """Whether playback has started; a frame that is missing before a later one then counts as lost."""
        self._waiting_reads = 0
        """Number of calls of `take` that waited for enough frames to start, or for more frames while the buffer was empty."""

    def put(self, sequence: int, frame: bytes) -> None:
        """Add a frame by its 16-bit sequence number, in any order."""
        if self._next_number is None:
            # The first frame to arrive may not be the first that was sent.
            self._next_number = sequence - PLAYOUT_DELAY_FRAMES
        # The nearest number with these lower 16 bits.
        number = self._next_number + ((sequence - self._next_number + 0x8000) & 0xFFFF) - 0x8000
        if abs(number - self._next_number) > SEQUENCE_JUMP_MAX:
            self._frames.clear()
            self._is_playing, self._waiting_reads, self._next_number = False, 0, number - PLAYOUT_DELAY_FRAMES
        elif number < self._next_number:
            return
        self._frames[number] = frame
        if len(self._frames) > BUFFERED_FRAMES_MAX:
            for old_number in sorted(self._frames)[:-PLAYOUT_DELAY_FRAMES]:
                del self._frames[old_number]
            self._next_number = min(self._frames)

    def take(self) -> tuple[bytes | None, bool]:
        """Return the frame to play next, or None, and whether a frame was lost; call this every 20 ms."""
        if not self._is_playing:
            if not self._frames:
                return None, False
            self._waiting_reads += 1
            if len(self._frames) < PLAYOUT_DELAY_FRAMES and self._waiting_reads < PLAYOUT_DELAY_FRAMES:
                return None, False
            self._is_playing, self._waiting_reads, self._next_number = True, 0, min(self._frames)
        assert self._next_number is not None
        frame = self._frames.pop(self._next_number, None)
        if frame is not None:
            self._next_number += 1
            self._waiting_reads = 0
            return frame, False
        if self._frames:
            # A later frame has arrived, so this one is lost.
            self._next_number += 1
            return None, True
        # The buffer is empty: wait without skipping a number, so that a late frame is still played. The first of these
        # calls reports a loss, which the decoder conceals.
        self._waiting_reads += 1
        if self._waiting_reads >= EMPTY_READS_MAX:
            self._is_playing, self._waiting_reads = False, 0
        return None, self._waiting_reads == 1

    def __len__(self) -> int:
        return len(self._frames)

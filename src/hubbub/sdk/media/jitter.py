"""Frames of one speaker, in order and a little later, so that those on a longer way have a chance; bounded on all sides."""

from typing import Final

DELAY: Final = 3
"""Frames that are waited for before playing begins: 60 ms."""
DEEP: Final = 12
"""With more than this waiting we are too far behind, and go forward to `DELAY`."""
DRY: Final = 10
"""So many times nothing to play, and the speaker has ended; what comes then is waited for anew."""
FAR: Final = 100
"""A number this far from what is expected begins another row."""


class Jitter:
    """What one speaker said and was not played yet."""

    def __init__(self) -> None:
        self._frames: dict[int, bytes] = {}
        self._next: int | None = None
        """The number to play now, and what is below comes too late; numbers here do not wrap."""
        self._playing = False
        self._waited = 0

    def put(self, sequence: int, frame: bytes) -> None:
        """A frame came, in whatever order."""
        if self._next is None:
            # The first to come need not be the first that was said.
            self._next = sequence - DELAY
        # The nearest number that ends like this.
        number = self._next + ((sequence - self._next + 0x8000) & 0xFFFF) - 0x8000
        if abs(number - self._next) > FAR:
            self._frames.clear()
            self._playing, self._waited, self._next = False, 0, number - DELAY
        elif number < self._next:
            return
        self._frames[number] = frame
        if len(self._frames) > DEEP:
            for old in sorted(self._frames)[:-DELAY]:
                del self._frames[old]
            self._next = min(self._frames)

    def take(self) -> tuple[bytes | None, bool]:
        """What to play in these 20 ms, and whether something is missing that was said."""
        if not self._playing:
            if not self._frames:
                return None, False
            self._waited += 1
            if len(self._frames) < DELAY and self._waited < DELAY:
                return None, False
            self._playing, self._waited, self._next = True, 0, min(self._frames)
        assert self._next is not None
        frame = self._frames.pop(self._next, None)
        if frame is not None:
            self._next += 1
            self._waited = 0
            return frame, False
        if self._frames:
            self._next += 1
            return None, True
        self._waited += 1
        if self._waited >= DRY:
            self._playing, self._waited = False, 0
        return None, self._waited == 1

    def __len__(self) -> int:
        return len(self._frames)

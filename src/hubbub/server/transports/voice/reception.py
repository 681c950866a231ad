"""Received packets of a client: replay protection and reception statistics (spec/voice.md#7)."""

from typing import Final

_WINDOW: Final = 64


class ReplayWindow:
    """A replay window: which of the last 64 packet numbers were seen."""

    __slots__ = ("_half", "_mask", "_seen", "highest")

    def __init__(self, bits: int) -> None:
        self._mask = (1 << bits) - 1
        self._half = 1 << (bits - 1)
        self._seen = 0
        self.highest = -1
        """The highest number seen, or -1."""

    def record(self, number: int) -> bool:
        """Record a number; return False if it was seen before or is older than the window."""
        if self.highest < 0:
            self.highest, self._seen = number, 1
            return True
        ahead = (number - self.highest) & self._mask
        if 0 < ahead < self._half:
            self._seen = ((self._seen << ahead) | 1) & ((1 << _WINDOW) - 1) if ahead < _WINDOW else 1
            self.highest = number
            return True
        behind = (self.highest - number) & self._mask
        if behind >= _WINDOW or self._seen >> behind & 1:
            return False
        self._seen |= 1 << behind
        return True


class Reception:
    """Reception statistics of a sender's stream."""

    __slots__ = ("_base", "_cycles", "_highest", "received")

    def __init__(self) -> None:
        self._base = -1
        self._cycles = 0
        self._highest = 0
        self.received = 0

    def record(self, sequence: int) -> None:
        """Record the arrival of a packet with this sequence number."""
        if self._base < 0:
            self._base = self._highest = sequence
        elif 0 < (sequence - self._highest) & 0xFFFF < 0x8000:
            if sequence < self._highest:
                self._cycles += 1
            self._highest = sequence
        self.received += 1

    @property
    def highest(self) -> int:
        """The extended highest sequence number: the number of wraparounds in the upper 16 bits."""
        return (self._cycles & 0xFFFF) << 16 | self._highest

    @property
    def lost(self) -> int:
        """The number of lost packets."""
        return 0 if self._base < 0 else (self._cycles << 16 | self._highest) - self._base + 1 - self.received

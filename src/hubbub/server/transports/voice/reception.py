"""Received packets of a client: replay protection and reception statistics (spec/voice.md#7)."""

from typing import Final

_WINDOW_PACKETS: Final = 64


class ReplayWindow:
    """A replay window: the packet numbers seen among the last 64, where each number has `number_bits` bits."""

    __slots__ = ("_half_range", "_mask", "_seen_bits", "first", "highest")

    def __init__(self, number_bits: int) -> None:
        self._mask = (1 << number_bits) - 1
        self._half_range = 1 << (number_bits - 1)
        self._seen_bits = 0
        """Bit n is set if the number `highest` - n was seen."""
        self.first = self.highest = -1
        """The first number seen and the highest one, or -1."""

    def is_before(self, number: int, other: int) -> bool:
        """Return whether a number precedes another one, at a distance of less than half the range."""
        return 0 < (other - number) & self._mask < self._half_range

    def record(self, number: int) -> bool:
        """Record a number; return False if it was seen before or is older than the window."""
        if self.highest < 0:
            self.first = self.highest = number
            self._seen_bits = 1
            return True
        ahead_count = (number - self.highest) & self._mask
        if 0 < ahead_count < self._half_range:
            self._seen_bits = (
                ((self._seen_bits << ahead_count) | 1) & ((1 << _WINDOW_PACKETS) - 1)
                if ahead_count < _WINDOW_PACKETS
                else 1
            )
            self.highest = number
            return True
        behind_count = (self.highest - number) & self._mask
        if behind_count >= _WINDOW_PACKETS or self._seen_bits >> behind_count & 1:
            return False
        self._seen_bits |= 1 << behind_count
        return True


class Reception:
    """Reception statistics of one stream of a sender."""

    __slots__ = ("_first_sequence", "_highest", "_reported", "_wraparound_count", "received")

    def __init__(self) -> None:
        self._first_sequence = -1
        self._wraparound_count = 0
        self._highest = 0
        self.received = 0
        self._reported = (0, 0)
        """Numbers of lost and received packets at the last call of `take_loss`."""

    def take_loss(self) -> float:
        """Return the share of packets, from 0 to 1, that were lost since the last call."""
        previous_lost, previous_received = self._reported
        self._reported = lost, received = self.lost, self.received
        new_lost, new_received = max(lost - previous_lost, 0), received - previous_received
        return new_lost / (new_lost + new_received) if new_lost else 0.0

    def record(self, sequence: int) -> None:
        """Record the arrival of a packet with this sequence number."""
        if self._first_sequence < 0:
            self._first_sequence = self._highest = sequence
        elif 0 < (sequence - self._highest) & 0xFFFF < 0x8000:
            if sequence < self._highest:
                self._wraparound_count += 1
            self._highest = sequence
        self.received += 1

    @property
    def highest(self) -> int:
        """The highest sequence number, with the number of wraparounds in the upper 16 bits (RFC 3550)."""
        return (self._wraparound_count & 0xFFFF) << 16 | self._highest

    @property
    def lost(self) -> int:
        """The number of lost packets."""
        return (
            0
            if self._first_sequence < 0
            else (self._wraparound_count << 16 | self._highest) - self._first_sequence + 1 - self.received
        )

"""The bitrate that the sender of a video may use: it falls while receivers lose packets, and rises again (spec/voice.md#12)."""

from typing import Final

BITRATE_MAX: Final = 2_500_000
"""Bits per second that a browser may use for its video; a browser that receives no limit stays at a tenth of it."""
BITRATE_MIN: Final = 50_000
"""Bits per second to which losses reduce a video at most; browsers encode hardly less."""
HIGH_LOSS: Final = 0.15
"""Share of lost packets above which the bitrate falls; a radio link loses up to a tenth without being full."""
LOW_LOSS: Final = 0.05
"""Share of lost packets below which the bitrate rises."""
RISE_FACTOR: Final = 1.25
"""Factor of the bitrate after an interval with few lost packets."""


class BitrateLimit:
    """The bitrate limit of one video in bits per second, updated at regular intervals."""

    __slots__ = ("_loss", "_sent_bytes", "bits_per_second")

    def __init__(self) -> None:
        self.bits_per_second = BITRATE_MAX
        self._sent_bytes = 0
        """Bytes that the sender sent since the last update."""
        self._loss = 0.0
        """The highest share of lost packets that was reported since the last update."""

    @property
    def is_lowest(self) -> bool:
        """Whether the bitrate cannot fall further."""
        return self.bits_per_second <= BITRATE_MIN

    def record_packet(self, size: int) -> None:
        """Count a packet of the sender; `size` is in bytes."""
        self._sent_bytes += size

    def record_loss(self, share: float) -> None:
        """Record the share of packets, from 0 to 1, that the server or a receiver did not get."""
        self._loss = max(self._loss, share)

    def update(self, seconds: float) -> int:
        """Return the new limit in bits per second; `seconds` is the time since the last update."""
        if self._loss > HIGH_LOSS:
            # What arrived shows the capacity of the link; a part of it is left to audio.
            arrived_bits_per_second = 8 * self._sent_bytes / seconds * (1 - self._loss)
            limit = min(self.bits_per_second, arrived_bits_per_second) * (1 - self._loss / 2)
        elif self._loss < LOW_LOSS:
            limit = self.bits_per_second * RISE_FACTOR
        else:
            limit = self.bits_per_second
        self.bits_per_second = int(min(max(limit, BITRATE_MIN), BITRATE_MAX))
        self._sent_bytes, self._loss = 0, 0.0
        return self.bits_per_second

"""RTP and RTCP as far as a forwarder reads them, and the control datagrams beside them (voice.md 7)."""

import struct
from typing import Final

FIXED: Final = 12
"""Bytes of an RTP header without its lists."""
CONTROL_CLEAR: Final = 8
"""Bytes of an RTCP packet that are clear."""
CONTROL_TYPES: Final = range(200, 207)

E2EE_TRAILER: Final = b"\xfa\xfa"
"""How an end-to-end encrypted frame ends."""
SILENCE: Final = b"\xf8\xff\xfe"
"""An Opus frame of silence, which may pass unencrypted: it says nothing."""

DISCOVERY: Final = 74
DISCOVERY_ASKED: Final = b"\x00\x01\x00\x46"
PING: Final = b"\x13\x37\xca\xfe"
PONG: Final = b"\x13\x37\xf0\x0d"

OUR_SSRC: Final = 1
"""Our own number in reports; no client has it."""
_REPORT: Final = struct.Struct(">BBHIIIIIII")
_BYE: Final = struct.Struct(">BBHI")
_WINDOW: Final = 64


def discovered(ssrc: int, address: tuple[str, int]) -> bytes:
    """The answer to an address discovery."""
    return struct.pack(">HHI64sH", 2, 70, ssrc, address[0].encode(), address[1])


def clear_length(packet: bytes) -> int:
    """How much of a packet is header: with its sources, and where there is an extension, with that one's first four bytes."""
    return FIXED + 4 * (packet[0] & 0x0F) + (4 if packet[0] & 0x10 else 0)


def frame_of(packet: bytes, clear: int) -> bytes | None:
    """The frame in an open packet, without extension and padding; None when the lengths do not fit."""
    start, end = clear, len(packet)
    if packet[0] & 0x10:
        start += 4 * int.from_bytes(packet[clear - 2 : clear], "big")
    if packet[0] & 0x20 and end > clear:
        end -= packet[-1]
    return packet[start:end] if start <= end else None


def receiver_report(ssrc: int, highest: int, lost: int) -> bytes:
    """What a sender's packets looked like from here."""
    return _REPORT.pack(0x81, 201, 7, OUR_SSRC, ssrc, min(max(lost, 0), 0x7FFFFF), highest, 0, 0, 0)


def bye() -> bytes:
    """We send no more."""
    return _BYE.pack(0x81, 203, 1, OUR_SSRC)


class Window:
    """Which of the last 64 numbers were seen, so that nothing is taken twice."""

    __slots__ = ("_half", "_mask", "_seen", "top")

    def __init__(self, bits: int) -> None:
        self._mask = (1 << bits) - 1
        self._half = 1 << (bits - 1)
        self._seen = 0
        self.top = -1
        """The highest number seen."""

    def take(self, number: int) -> bool:
        """Note a number; False when it was seen before or is too old to tell."""
        if self.top < 0:
            self.top, self._seen = number, 1
            return True
        ahead = (number - self.top) & self._mask
        if 0 < ahead < self._half:
            self._seen = ((self._seen << ahead) | 1) & ((1 << _WINDOW) - 1) if ahead < _WINDOW else 1
            self.top = number
            return True
        behind = (self.top - number) & self._mask
        if behind >= _WINDOW or self._seen >> behind & 1:
            return False
        self._seen |= 1 << behind
        return True


class Reception:
    """How much of a sender's stream arrived."""

    __slots__ = ("_base", "_cycles", "_highest", "received")

    def __init__(self) -> None:
        self._base = -1
        self._cycles = 0
        self._highest = 0
        self.received = 0

    def note(self, sequence: int) -> None:
        """A packet with this sequence number came."""
        if self._base < 0:
            self._base = self._highest = sequence
        elif 0 < (sequence - self._highest) & 0xFFFF < 0x8000:
            if sequence < self._highest:
                self._cycles += 1
            self._highest = sequence
        self.received += 1

    @property
    def highest(self) -> int:
        """The highest number, with the times it began anew above."""
        return (self._cycles & 0xFFFF) << 16 | self._highest

    @property
    def lost(self) -> int:
        """How many did not come."""
        return 0 if self._base < 0 else (self._cycles << 16 | self._highest) - self._base + 1 - self.received

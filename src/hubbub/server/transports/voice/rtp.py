"""The parts of RTP and RTCP that a forwarder needs, and the voice protocol's other datagrams (spec/voice.md#7)."""

import struct
from typing import Final

FIXED_HEADER_BYTES: Final = 12
"""Length in bytes of an RTP header without contributing sources and extension."""
RTCP_HEADER_BYTES: Final = 8
"""Length in bytes of the unencrypted part of an RTCP packet."""
RTCP_TYPES: Final = range(200, 207)

E2EE_TRAILER: Final = b"\xfa\xfa"
"""Trailer of an end-to-end encrypted frame."""
SILENCE: Final = b"\xf8\xff\xfe"
"""An Opus frame of silence, which may be forwarded unencrypted."""

DISCOVERY_BYTES: Final = 74
DISCOVERY_REQUEST: Final = b"\x00\x01\x00\x46"
PING: Final = b"\x13\x37\xca\xfe"
PONG: Final = b"\x13\x37\xf0\x0d"

SERVER_SSRC: Final = 1
"""SSRC of the server in its reports; no client has it."""
_REPORT: Final = struct.Struct(">BBHIIIIIII")
_BYE: Final = struct.Struct(">BBHI")
_WINDOW: Final = 64


def discovery_response(ssrc: int, address: tuple[str, int]) -> bytes:
    """Return the response to an IP discovery request."""
    return struct.pack(">HHI64sH", 2, 70, ssrc, address[0].encode(), address[1])


def header_length(packet: bytes) -> int:
    """Return the length of an RTP header: with contributing sources and the first four bytes of an extension."""
    return FIXED_HEADER_BYTES + 4 * (packet[0] & 0x0F) + (4 if packet[0] & 0x10 else 0)


def extract_frame(packet: bytes, clear: int) -> bytes | None:
    """Return the frame in a decrypted packet, without extension and padding; None if the lengths are invalid."""
    start, end = clear, len(packet)
    if packet[0] & 0x10:
        start += 4 * int.from_bytes(packet[clear - 2 : clear], "big")
    if packet[0] & 0x20 and end > clear:
        end -= packet[-1]
    return packet[start:end] if start <= end else None


def receiver_report(ssrc: int, highest: int, lost: int) -> bytes:
    """Return an RTCP receiver report for a sender."""
    return _REPORT.pack(0x81, 201, 7, SERVER_SSRC, ssrc, min(max(lost, 0), 0x7FFFFF), highest, 0, 0, 0)


def bye() -> bytes:
    """Return an RTCP BYE of the server."""
    return _BYE.pack(0x81, 203, 1, SERVER_SSRC)


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

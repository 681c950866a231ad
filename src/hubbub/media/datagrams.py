"""Datagrams of the voice protocol that are not RTP: address discovery, pings and keepalives (spec/voice.md#7)."""

import struct
from typing import Final

DISCOVERY_BYTES: Final = 74
DISCOVERY_REQUEST: Final = b"\x00\x01\x00\x46"
"""First bytes of a discovery request."""
PING: Final = b"\x13\x37\xca\xfe"
PONG: Final = b"\x13\x37\xf0\x0d"

_DISCOVERY: Final = struct.Struct(">HHI64sH")
_REQUEST: Final = 1
_RESPONSE: Final = 2
_LENGTH: Final = 70
_KEEPALIVE: Final = struct.Struct("<I4x")


def discovery_request(ssrc: int) -> bytes:
    """Return an address discovery request."""
    return _DISCOVERY.pack(_REQUEST, _LENGTH, ssrc, b"", 0)


def discovery_response(ssrc: int, address: tuple[str, int]) -> bytes:
    """Return the response to an address discovery request."""
    return _DISCOVERY.pack(_RESPONSE, _LENGTH, ssrc, address[0].encode(), address[1])


def parse_discovery_response(datagram: bytes, ssrc: int) -> tuple[str, int] | None:
    """Return the address in a discovery response for this SSRC; None for any other datagram."""
    if len(datagram) != DISCOVERY_BYTES:
        return None
    kind, _, found_ssrc, address, port = _DISCOVERY.unpack(datagram)
    if kind != _RESPONSE or found_ssrc != ssrc:
        return None
    return address.partition(b"\0")[0].decode("ascii", "replace"), port


def keepalive(count: int) -> bytes:
    """Return a keepalive, which keeps NAT mappings open during silence; the server may ignore it."""
    return _KEEPALIVE.pack(count & 0xFFFFFFFF)

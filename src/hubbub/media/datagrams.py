"""Datagrams of the voice protocol that are not RTP: address discovery, pings and keepalives (spec/voice.md#7)."""

import struct
from typing import Final

DISCOVERY_BYTES: Final = 74
"""Length in bytes of a discovery request or response."""
DISCOVERY_REQUEST: Final = b"\x00\x01\x00\x46"
"""First bytes of a discovery request."""
PING: Final = b"\x13\x37\xca\xfe"
"""First bytes of a ping of a client."""
PONG: Final = b"\x13\x37\xf0\x0d"
"""First bytes of the response to a ping."""
KEEPALIVE_BYTES: Final = 8
"""Length in bytes of a ping, of its response and of a keepalive."""

# Type, payload length, SSRC, address padded with zeros, port.
_DISCOVERY_FORMAT: Final = struct.Struct(">HHI64sH")
_REQUEST_TYPE: Final = 1
_RESPONSE_TYPE: Final = 2
_DISCOVERY_PAYLOAD_BYTES: Final = 70
"""Value of the length field, which does not count the type and the length itself."""
_KEEPALIVE_FORMAT: Final = struct.Struct("<I4x")


def discovery_request(ssrc: int) -> bytes:
    """Return an address discovery request of the client whose audio has this SSRC."""
    return _DISCOVERY_FORMAT.pack(_REQUEST_TYPE, _DISCOVERY_PAYLOAD_BYTES, ssrc, b"", 0)


def discovery_response(ssrc: int, address: tuple[str, int]) -> bytes:
    """Return the response to an address discovery request; `address` is the client's public (IP address, port)."""
    return _DISCOVERY_FORMAT.pack(_RESPONSE_TYPE, _DISCOVERY_PAYLOAD_BYTES, ssrc, address[0].encode(), address[1])


def parse_discovery_response(datagram: bytes, ssrc: int) -> tuple[str, int] | None:
    """Return the (IP address, port) in a discovery response for this SSRC; None for any other datagram."""
    if len(datagram) != DISCOVERY_BYTES:
        return None
    packet_type, _, response_ssrc, address, port = _DISCOVERY_FORMAT.unpack(datagram)
    if packet_type != _RESPONSE_TYPE or response_ssrc != ssrc:
        return None
    return address.partition(b"\0")[0].decode("ascii", "replace"), port


def keepalive(count: int) -> bytes:
    """Return a keepalive, which keeps NAT mappings open during silence; the server may ignore it.

    `count` numbers the keepalives of a connection; it wraps at 32 bits."""
    return _KEEPALIVE_FORMAT.pack(count & 0xFFFFFFFF)

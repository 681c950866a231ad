"""STUN binding requests of ICE, and their responses (RFC 8489, RFC 8445)."""

import binascii
import hashlib
import hmac
import socket
import struct
from dataclasses import dataclass
from typing import Final

MAGIC_COOKIE: Final = b"\x21\x12\xa4\x42"
HEADER_BYTES: Final = 20

# Types of messages and attributes (RFC 8489, RFC 8445).
_BINDING_REQUEST: Final = 0x0001
_BINDING_RESPONSE: Final = 0x0101
_USERNAME: Final = 0x0006
_MESSAGE_INTEGRITY: Final = 0x0008
_XOR_MAPPED_ADDRESS: Final = 0x0020
_PRIORITY: Final = 0x0024
_USE_CANDIDATE: Final = 0x0025
_FINGERPRINT: Final = 0x8028
_KNOWN_ATTRIBUTES: Final = frozenset({_USERNAME, _MESSAGE_INTEGRITY, _PRIORITY, _USE_CANDIDATE})
_OPTIONAL_ATTRIBUTE_MIN: Final = 0x8000
"""Lowest type of the attributes that a receiver may ignore."""
_FINGERPRINT_MASK: Final = 0x5354554E
_INTEGRITY_BYTES: Final = 20
_HEADER_FORMAT: Final = struct.Struct(">HH4s12s")
_ATTRIBUTE_FORMAT: Final = struct.Struct(">HH")


@dataclass(frozen=True, slots=True)
class BindingRequest:
    """A well-formed binding request whose integrity is not verified yet."""

    packet: bytes
    transaction_id: bytes
    local_ufrag: str
    """The part of the username that selects the session of the receiver."""
    has_use_candidate: bool
    """Whether the client selects the address that the request came from."""
    integrity_offset: int
    """Position of the MESSAGE-INTEGRITY attribute in the packet."""

    def is_authentic(self, password: str) -> bool:
        """Return whether MESSAGE-INTEGRITY was computed with this password."""
        offset = self.integrity_offset
        expected_integrity = _compute_integrity(self.packet[:offset], password)
        return hmac.compare_digest(expected_integrity, self.packet[offset + 4 : offset + 4 + _INTEGRITY_BYTES])


def is_stun(packet: bytes) -> bool:
    """Return whether a datagram is a STUN message."""
    return len(packet) >= HEADER_BYTES and packet[0] < 4 and packet[4:8] == MAGIC_COOKIE


def parse_binding_request(packet: bytes) -> BindingRequest | None:
    """Return a binding request with username and integrity, or None for any other or malformed message."""
    message_type, length, cookie, transaction_id = _HEADER_FORMAT.unpack_from(packet)
    if message_type != _BINDING_REQUEST or cookie != MAGIC_COOKIE or length % 4 or length != len(packet) - HEADER_BYTES:
        return None
    username: bytes | None = None
    integrity_offset = 0
    has_use_candidate = False
    offset = HEADER_BYTES
    while offset < len(packet):
        attribute_type, value_bytes = _ATTRIBUTE_FORMAT.unpack_from(packet, offset)
        end = offset + 4 + value_bytes
        if end > len(packet):
            return None
        if attribute_type == _FINGERPRINT:
            if (
                value_bytes != 4
                or end != len(packet)
                or packet[offset + 4 : end] != _compute_fingerprint(packet[:offset])
            ):
                return None
        elif integrity_offset:
            # Attributes after MESSAGE-INTEGRITY are not authenticated.
            pass
        elif attribute_type == _USERNAME:
            username = packet[offset + 4 : end]
        elif attribute_type == _MESSAGE_INTEGRITY:
            if value_bytes != _INTEGRITY_BYTES:
                return None
            integrity_offset = offset
        elif attribute_type == _USE_CANDIDATE:
            has_use_candidate = True
        elif attribute_type < _OPTIONAL_ATTRIBUTE_MIN and attribute_type not in _KNOWN_ATTRIBUTES:
            return None
        offset = end + -value_bytes % 4
    if username is None or not integrity_offset:
        return None
    local_ufrag, separator, _ = username.partition(b":")
    if not separator or not local_ufrag.isascii():
        return None
    return BindingRequest(packet, transaction_id, local_ufrag.decode(), has_use_candidate, integrity_offset)


def build_binding_response(request: BindingRequest, address: tuple[str, int], password: str) -> bytes:
    """Return the success response to a request; `address` is the IPv4 address and port that the request came from."""
    port = address[1] ^ int.from_bytes(MAGIC_COOKIE[:2], "big")
    ip = bytes(
        address_byte ^ cookie_byte
        for address_byte, cookie_byte in zip(socket.inet_aton(address[0]), MAGIC_COOKIE, strict=True)
    )
    attributes = _ATTRIBUTE_FORMAT.pack(_XOR_MAPPED_ADDRESS, 8) + struct.pack(">BBH4s", 0, 1, port, ip)
    message = _HEADER_FORMAT.pack(_BINDING_RESPONSE, len(attributes), MAGIC_COOKIE, request.transaction_id) + attributes
    message += _ATTRIBUTE_FORMAT.pack(_MESSAGE_INTEGRITY, _INTEGRITY_BYTES) + _compute_integrity(message, password)
    return _with_length(message, 8) + _ATTRIBUTE_FORMAT.pack(_FINGERPRINT, 4) + _compute_fingerprint(message)


def _compute_integrity(message: bytes, password: str) -> bytes:
    """Return the MESSAGE-INTEGRITY value of a message that ends before that attribute."""
    return hmac.digest(password.encode(), _with_length(message, 4 + _INTEGRITY_BYTES), hashlib.sha1)


def _compute_fingerprint(message: bytes) -> bytes:
    """Return the FINGERPRINT value of a message that ends before that attribute."""
    return (binascii.crc32(_with_length(message, 8)) ^ _FINGERPRINT_MASK).to_bytes(4, "big")


def _with_length(message: bytes, following_bytes: int) -> bytes:
    """Return a message whose length field includes attributes of `following_bytes` bytes that are appended later."""
    return message[:2] + (len(message) - HEADER_BYTES + following_bytes).to_bytes(2, "big") + message[4:]

"""STUN binding requests of browsers and of the server, and their responses (RFC 8489, RFC 8445)."""

import binascii
import hashlib
import hmac
import socket
import struct
from dataclasses import dataclass
from typing import Final, NamedTuple

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
_ICE_CONTROLLED: Final = 0x8029
_KNOWN_ATTRIBUTES: Final = frozenset({_USERNAME, _MESSAGE_INTEGRITY, _XOR_MAPPED_ADDRESS, _PRIORITY, _USE_CANDIDATE})
_OPTIONAL_ATTRIBUTE_MIN: Final = 0x8000
"""Lowest type of the attributes that a receiver may ignore."""
_FINGERPRINT_MASK: Final = 0x5354554E
_INTEGRITY_BYTES: Final = 20
TRANSACTION_ID_BYTES: Final = 12
_PEER_REFLEXIVE_PRIORITY: Final = 0x6EFFFFFF
"""PRIORITY of the server's requests: that of a peer-reflexive candidate with the preference of the server's candidate."""
_HEADER_FORMAT: Final = struct.Struct(">HH4s12s")
_ATTRIBUTE_FORMAT: Final = struct.Struct(">HH")


@dataclass(frozen=True, slots=True)
class StunMessage:
    """A well-formed message with MESSAGE-INTEGRITY, which is not verified yet."""

    packet: bytes
    transaction_id: bytes
    integrity_offset: int
    """Position of the MESSAGE-INTEGRITY attribute in the packet."""

    def is_authentic(self, password: str) -> bool:
        """Return whether MESSAGE-INTEGRITY was computed with this password."""
        offset = self.integrity_offset
        expected_integrity = _compute_integrity(self.packet[:offset], password)
        return hmac.compare_digest(expected_integrity, self.packet[offset + 4 : offset + 4 + _INTEGRITY_BYTES])


@dataclass(frozen=True, slots=True)
class BindingRequest(StunMessage):
    """A connectivity check of a browser."""

    local_ufrag: str
    """The part of the username that selects the session of the receiver."""
    has_use_candidate: bool
    """Whether the client selects the address that the request came from."""


class _Attributes(NamedTuple):
    """The attributes of a message that ICE uses."""

    username: bytes | None
    has_use_candidate: bool
    integrity_offset: int
    """Position of the MESSAGE-INTEGRITY attribute in the packet; 0 if there is none."""


def is_stun(packet: bytes) -> bool:
    """Return whether a datagram is a STUN message."""
    return len(packet) >= HEADER_BYTES and packet[0] < 4 and packet[4:8] == MAGIC_COOKIE


def parse_binding_request(packet: bytes) -> BindingRequest | None:
    """Return a binding request with username and integrity, or None for any other or malformed message."""
    attributes = _parse_attributes(packet, _BINDING_REQUEST)
    if attributes is None or attributes.username is None:
        return None
    local_ufrag, separator, _ = attributes.username.partition(b":")
    if not separator or not local_ufrag.isascii():
        return None
    return BindingRequest(
        packet, _transaction_id(packet), attributes.integrity_offset, local_ufrag.decode(), attributes.has_use_candidate
    )


def parse_binding_response(packet: bytes) -> StunMessage | None:
    """Return a success response with integrity, or None for any other or malformed message."""
    attributes = _parse_attributes(packet, _BINDING_RESPONSE)
    return None if attributes is None else StunMessage(packet, _transaction_id(packet), attributes.integrity_offset)


def _transaction_id(packet: bytes) -> bytes:
    return packet[HEADER_BYTES - TRANSACTION_ID_BYTES : HEADER_BYTES]


def _parse_attributes(packet: bytes, expected_type: int) -> _Attributes | None:
    """Return the attributes of a message of this type that has MESSAGE-INTEGRITY; None for any other message."""
    message_type, length, cookie, _ = _HEADER_FORMAT.unpack_from(packet)
    if message_type != expected_type or cookie != MAGIC_COOKIE or length % 4 or length != len(packet) - HEADER_BYTES:
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
    return _Attributes(username, has_use_candidate, integrity_offset) if integrity_offset else None


def build_binding_request(transaction_id: bytes, username: str, password: str) -> bytes:
    """Return a request of the server, which a browser answers if username and password are those of its offer."""
    name = username.encode()
    attributes = _ATTRIBUTE_FORMAT.pack(_USERNAME, len(name)) + name + bytes(-len(name) % 4)
    attributes += _ATTRIBUTE_FORMAT.pack(_PRIORITY, 4) + struct.pack(">I", _PEER_REFLEXIVE_PRIORITY)
    # The tie-breaker is 0: the server never takes the controlling role.
    attributes += _ATTRIBUTE_FORMAT.pack(_ICE_CONTROLLED, 8) + bytes(8)
    return _sign(_HEADER_FORMAT.pack(_BINDING_REQUEST, 0, MAGIC_COOKIE, transaction_id) + attributes, password)


def build_binding_response(request: BindingRequest, address: tuple[str, int], password: str) -> bytes:
    """Return the success response to a request; `address` is the IPv4 address and port that the request came from."""
    port = address[1] ^ int.from_bytes(MAGIC_COOKIE[:2], "big")
    ip = bytes(
        address_byte ^ cookie_byte
        for address_byte, cookie_byte in zip(socket.inet_aton(address[0]), MAGIC_COOKIE, strict=True)
    )
    attributes = _ATTRIBUTE_FORMAT.pack(_XOR_MAPPED_ADDRESS, 8) + struct.pack(">BBH4s", 0, 1, port, ip)
    return _sign(_HEADER_FORMAT.pack(_BINDING_RESPONSE, 0, MAGIC_COOKIE, request.transaction_id) + attributes, password)


def _sign(message: bytes, password: str) -> bytes:
    """Return a message with MESSAGE-INTEGRITY, FINGERPRINT and its length."""
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

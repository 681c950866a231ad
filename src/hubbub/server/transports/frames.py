"""Unmasked, unfragmented WebSocket frames, built by hand so that each frame is a single write."""

from typing import Final

TEXT: Final = 0x81
"""First byte of a text frame: FIN and the opcode (RFC 6455, 5.2)."""
BINARY: Final = 0x82
"""First byte of a binary frame: FIN and the opcode (RFC 6455, 5.2)."""


def header(first_byte: int, length: int) -> bytes:
    """Return the frame header for a payload of `length` bytes; `first_byte` is `TEXT` or `BINARY`."""
    if length < 126:
        return bytes((first_byte, length))
    if length < 65_536:
        return bytes((first_byte, 126)) + length.to_bytes(2, "big")
    return bytes((first_byte, 127)) + length.to_bytes(8, "big")


def frame(first_byte: int, payload: bytes) -> bytes:
    """Return a complete frame; `first_byte` is `TEXT` or `BINARY`."""
    return header(first_byte, len(payload)) + payload

"""WebSocket frames as the server writes them: unmasked, unfragmented, built by hand so that one write sends one."""

from typing import Final

TEXT: Final = 0x81
BINARY: Final = 0x82
"""First byte of a frame: FIN and the opcode (RFC 6455, 5.2)."""


def header(first: int, length: int) -> bytes:
    """What precedes a payload of this length."""
    if length < 126:
        return bytes((first, length))
    if length < 65_536:
        return bytes((first, 126)) + length.to_bytes(2, "big")
    return bytes((first, 127)) + length.to_bytes(8, "big")


def frame(first: int, payload: bytes) -> bytes:
    """A whole frame."""
    return header(first, len(payload)) + payload

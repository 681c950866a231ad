"""Compressed streams that share their work: a body is compressed once, however many connections it goes to.

A gateway message is a short head with the session's own `s`, and a tail that is the same for everybody (see `packets`). Each
connection must see one continuous zlib or zstd stream, but nothing obliges the blocks of a stream to refer to earlier
ones. So the head travels in an uncompressed block of its own, and the tail as blocks that were made without history
and fit into any stream.
"""

import zlib
from enum import IntEnum
from typing import Any, Final

from hubbub.server.transports.gateway.frames import BINARY, TEXT, frame, header

try:
    from compression import zstd  # type: ignore[import-not-found, unused-ignore]
except ImportError:
    try:
        from backports import zstd
    except ImportError:
        zstd = None  # type: ignore[assignment, unused-ignore]


class Compression(IntEnum):
    """How a connection wants its messages (gateway.md 1.2)."""

    NONE = 0
    PAYLOAD = 1
    """Asked for in Identify: every large message is a zlib stream of its own."""
    ZLIB_STREAM = 2
    ZSTD_STREAM = 3


SMALL: Final = 160
"""Tails up to this size are not worth compressing: they stay as they are, inside the stream."""
PAYLOAD_LARGE: Final = 1024
"""From this size on payload compression is used; smaller messages stay text, as gateway.md 1.2 allows."""

ZLIB_OPENING: Final = b"\x78\x9c"
"""The first two bytes of a zlib stream (RFC 1950)."""
_ZLIB_SYNC: Final = b"\x00\x00\x00\xff\xff"
"""An empty stored block: what Z_SYNC_FLUSH ends with, and what clients look for."""
_ZLIB_FINAL: Final = b"\x01\x00\x00\xff\xff"
_STORED_MOST: Final = 65_535
_RAW_MOST: Final = 1 << 17
_WINDOW_LOG: Final = 17

ZSTD_OPENING: Final = b"\x28\xb5\x2f\xfd\x00" + bytes(((_WINDOW_LOG - 10) << 3,))
"""A zstd frame header: no content size, no checksum, a window of 128 KiB (RFC 8878, 3.1.1)."""

# zstd sequences may name one of the last three match distances instead of a new one, and blocks made without history
# believe that these are 1, 4 and 8, as at the start of a frame. Two tiny blocks make that true again: they produce 17
# spaces by matches at distance 8, then 4, then 1. Spaces between JSON tokens mean nothing.
_ZSTD_DISTANCES: Final = bytes.fromhex("44 00 00 41 20 01 54 08 03 00 0b3c 00 00 00 02 54 00 02 00 1c")


def _stored(data: bytes) -> bytes:
    """Bytes as they are, in stored deflate blocks (RFC 1951, 3.2.4)."""
    return b"".join(
        stored_header(len(part)) + part
        for part in (data[i : i + _STORED_MOST] for i in range(0, len(data), _STORED_MOST))
    )


def stored_header(length: int) -> bytes:
    """What precedes so many bytes in a stored deflate block that begins on a byte's edge."""
    return b"\x00" + length.to_bytes(2, "little") + (length ^ 0xFFFF).to_bytes(2, "little")


def raw_header(length: int) -> bytes:
    """What precedes so many bytes in a raw zstd block (RFC 8878, 3.1.1.2)."""
    return (length << 3).to_bytes(3, "little")


class Deflater:
    """Deflates tails for all connections of one gateway."""

    def __init__(self) -> None:
        self._deflate = zlib.compressobj(6, zlib.DEFLATED, -zlib.MAX_WBITS)
        self._zstd: Any = None

    def zlib_blocks(self, tail: bytes) -> bytes:
        """A tail as deflate blocks that end on 00 00 ff ff and refer to nothing before them."""
        if len(tail) <= SMALL:
            return _stored(tail) + _ZLIB_SYNC
        # A full flush forgets what was seen, so that the next tail starts without history too.
        return self._deflate.compress(tail) + self._deflate.flush(zlib.Z_FULL_FLUSH)

    def zstd_blocks(self, tail: bytes) -> bytes:
        """A tail as zstd blocks that refer to nothing before them."""
        if len(tail) <= SMALL:
            return raw_header(len(tail)) + tail
        if self._zstd is None:
            option = zstd.CompressionParameter
            self._zstd = zstd.ZstdCompressor(
                options={
                    option.compression_level: 3,
                    option.window_log: _WINDOW_LOG,
                    option.checksum_flag: 0,
                    option.content_size_flag: 0,
                }
            )
        blocks = self._zstd.compress(tail, zstd.ZstdCompressor.FLUSH_BLOCK)
        self._zstd.compress(b"", zstd.ZstdCompressor.FLUSH_FRAME)
        return _ZSTD_DISTANCES + bytes(blocks[len(ZSTD_OPENING) :])


def has_zstd() -> bool:
    """Whether this Python can speak zstd."""
    return zstd is not None


def whole(kind: Compression, payload: bytes, *, opening: bool = False) -> bytes:
    """A frame with a message that is for one connection only; `opening` begins its stream."""
    if kind is Compression.ZLIB_STREAM:
        return frame(BINARY, (ZLIB_OPENING if opening else b"") + _stored(payload) + _ZLIB_SYNC)
    if kind is Compression.ZSTD_STREAM:
        blocks = b"".join(
            raw_header(len(part)) + part
            for part in (payload[i : i + _RAW_MOST] for i in range(0, len(payload), _RAW_MOST))
        )
        return frame(BINARY, (ZSTD_OPENING if opening else b"") + blocks)
    return frame(TEXT, payload)


class Face:
    """A shared message as connections of one kind see it: only the digits of `s` are put in for each."""

    __slots__ = ("_first", "_head", "_kind", "starts", "tail")

    def __init__(self, kind: Compression, head: bytes, tail: bytes) -> None:
        self._kind = kind
        self._first = TEXT if kind is Compression.NONE else BINARY
        self._head = head
        self.tail = tail
        self.starts: dict[int, bytes] = {}
        """Number of digits to everything that precedes them."""

    def frame(self, seq: int) -> bytes:
        """The frame for one session."""
        digits = b"%d" % seq
        start = self.starts.get(len(digits)) or self._start(len(digits))
        return start + digits + self.tail

    def _start(self, digits: int) -> bytes:
        length = len(self._head) + digits
        block = b""
        if self._kind is Compression.ZLIB_STREAM:
            block = stored_header(length)
        elif self._kind is Compression.ZSTD_STREAM:
            block = raw_header(length)
        start = header(self._first, len(block) + length + len(self.tail)) + block + self._head
        self.starts[digits] = start
        return start


class PayloadFace(Face):
    """A large message as a whole zlib stream."""

    __slots__ = ("_plain",)

    def __init__(self, head: bytes, tail: bytes, blocks: bytes) -> None:
        super().__init__(Compression.PAYLOAD, head, blocks)
        self._plain = tail

    def frame(self, seq: int) -> bytes:
        """The frame for one session; the checksum at its end covers the session's own digits."""
        head = self._head + b"%d" % seq
        checksum = zlib.adler32(self._plain, zlib.adler32(head))
        stream = ZLIB_OPENING + stored_header(len(head)) + head + self.tail + _ZLIB_FINAL
        return frame(BINARY, stream + checksum.to_bytes(4, "big"))

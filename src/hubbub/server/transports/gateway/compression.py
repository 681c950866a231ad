"""Compressed streams that share work: a body is compressed once for all connections that receive it.

A gateway message is a short head with the session's own `s`, and a tail that is the same for all sessions (see
`packets`). Each connection must see one continuous zlib or zstd stream, but the blocks of a stream need not refer to
earlier blocks. So the head is sent in an uncompressed block of its own, and the tail in blocks that were made without
history and fit into any stream.
"""

import zlib
from enum import IntEnum
from typing import Any, Final

from hubbub.server.transports.frames import BINARY, TEXT, frame, header
from hubbub.server.transports.gateway import etf
from hubbub.server.transports.zstd import zstd


class Compression(IntEnum):
    """The compression that a connection requested (spec/gateway.md#1.2)."""

    NONE = 0
    PAYLOAD = 1
    """Requested in Identify: every large dispatch is a zlib stream of its own."""
    ZLIB_STREAM = 2
    """Requested in the URL: all messages of the connection are one zlib stream."""
    ZSTD_STREAM = 3
    """Requested in the URL: all messages of the connection are one zstd stream."""


class Encoding(IntEnum):
    """The encoding that a connection requested (spec/gateway.md#1.1)."""

    JSON = 0
    ETF = 1


UNCOMPRESSED_BYTES_MAX: Final = 160
"""Size in bytes up to which a tail is put into the stream uncompressed."""
PAYLOAD_COMPRESSION_MIN: Final = 1024
"""Minimum size in bytes for payload compression; smaller messages stay text, as spec/gateway.md#1.2 allows."""

ZLIB_HEADER: Final = b"\x78\x9c"
"""The first two bytes of a zlib stream (RFC 1950)."""
_ZLIB_SYNC_BLOCK: Final = b"\x00\x00\x00\xff\xff"
"""An empty stored block: the suffix of Z_SYNC_FLUSH, by which clients detect the end of a message."""
_ZLIB_FINAL_BLOCK: Final = b"\x01\x00\x00\xff\xff"
"""An empty stored block that ends the stream."""
_STORED_BLOCK_MAX: Final = 65_535
"""Maximum size of a stored deflate block in bytes."""
_RAW_BLOCK_MAX: Final = 1 << 17
"""Maximum size of a raw zstd block in bytes."""
_WINDOW_LOG: Final = 17
"""Binary logarithm of the zstd window size in bytes."""

ZSTD_HEADER: Final = b"\x28\xb5\x2f\xfd\x00" + bytes(((_WINDOW_LOG - 10) << 3,))
"""A zstd frame header: no content size, no checksum, a window of 128 KiB (RFC 8878, 3.1.1)."""

# A zstd sequence may refer to one of the last three match distances instead of a new one. Blocks made without history
# assume that these are 1, 4 and 8, as at the start of a frame. Two tiny blocks restore that state: they produce 17
# spaces by matches at distance 8, then 4, then 1. Spaces between JSON tokens are insignificant.
_ZSTD_DISTANCE_RESET: Final = bytes.fromhex("44 00 00 41 20 01 54 08 03 00 0b3c 00 00 00 02 54 00 02 00 1c")


def _stored_blocks(data: bytes) -> bytes:
    """Return the data in stored (uncompressed) deflate blocks (RFC 1951, 3.2.4)."""
    return b"".join(
        stored_block_header(len(block)) + block
        for block in (data[start : start + _STORED_BLOCK_MAX] for start in range(0, len(data), _STORED_BLOCK_MAX))
    )


def stored_block_header(length: int) -> bytes:
    """Return the header of a stored deflate block of this length that starts on a byte boundary."""
    return b"\x00" + length.to_bytes(2, "little") + (length ^ 0xFFFF).to_bytes(2, "little")


def raw_block_header(length: int) -> bytes:
    """Return the header of a raw zstd block of this length (RFC 8878, 3.1.1.2)."""
    return (length << 3).to_bytes(3, "little")


class BlockCompressor:
    """Compresses tails for all connections of one gateway."""

    def __init__(self) -> None:
        self._deflate = zlib.compressobj(6, zlib.DEFLATED, -zlib.MAX_WBITS)
        self._zstd: Any = None

    def zlib_blocks(self, tail: bytes) -> bytes:
        """Compress a tail into deflate blocks that end with 00 00 ff ff and do not refer to earlier blocks."""
        if len(tail) <= UNCOMPRESSED_BYTES_MAX:
            return _stored_blocks(tail) + _ZLIB_SYNC_BLOCK
        # A full flush resets the history, so that the next tail does not refer to this one.
        return self._deflate.compress(tail) + self._deflate.flush(zlib.Z_FULL_FLUSH)

    def zstd_blocks(self, tail: bytes) -> bytes:
        """Compress a tail into zstd blocks that do not refer to earlier blocks."""
        if len(tail) <= UNCOMPRESSED_BYTES_MAX:
            return raw_block_header(len(tail)) + tail
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
        return _ZSTD_DISTANCE_RESET + bytes(blocks[len(ZSTD_HEADER) :])


def has_zstd() -> bool:
    """Return whether zstd is available in this Python installation."""
    return zstd is not None


def template_index(compression: Compression, encoding: Encoding) -> int:
    """Return the index of a compression and an encoding in `Packet.templates`."""
    return encoding * len(Compression) + compression


def raw_blocks(data: bytes) -> bytes:
    """Return the data in raw (uncompressed) zstd blocks."""
    return b"".join(
        raw_block_header(len(block)) + block
        for block in (data[start : start + _RAW_BLOCK_MAX] for start in range(0, len(data), _RAW_BLOCK_MAX))
    )


def encode_message(
    compression: Compression, payload: bytes, *, encoding: Encoding = Encoding.JSON, starts_stream: bool = False
) -> bytes:
    """Return a frame with a message for a single connection. `starts_stream` starts the connection's compressed stream.

    Without a stream the message is not compressed, also with `Compression.PAYLOAD`."""
    if compression is Compression.ZLIB_STREAM:
        return frame(BINARY, (ZLIB_HEADER if starts_stream else b"") + _stored_blocks(payload) + _ZLIB_SYNC_BLOCK)
    if compression is Compression.ZSTD_STREAM:
        return frame(BINARY, (ZSTD_HEADER if starts_stream else b"") + raw_blocks(payload))
    return frame(TEXT if encoding is Encoding.JSON else BINARY, payload)


class FrameTemplate:
    """A shared message for one compression; only the digits of `s` are inserted for each session."""

    __slots__ = ("_first_byte", "_head", "_compression", "prefixes", "tail")

    def __init__(self, compression: Compression, head: bytes, tail: bytes) -> None:
        self._compression = compression
        self._first_byte = TEXT if compression is Compression.NONE else BINARY
        self._head = head
        self.tail = tail
        self.prefixes: dict[int, bytes] = {}
        """Number of digits of `s` to the bytes of the frame that precede them."""

    def frame(self, seq: int) -> bytes:
        """Return the frame with a sequence number."""
        digits = b"%d" % seq
        prefix = self.prefixes.get(len(digits)) or self._build_prefix(len(digits))
        return prefix + digits + self.tail

    def _build_prefix(self, digit_count: int) -> bytes:
        length = len(self._head) + digit_count
        block_header = b""
        if self._compression is Compression.ZLIB_STREAM:
            block_header = stored_block_header(length)
        elif self._compression is Compression.ZSTD_STREAM:
            block_header = raw_block_header(length)
        frame_header = header(self._first_byte, len(block_header) + length + len(self.tail))
        prefix = self.prefixes[digit_count] = frame_header + block_header + self._head
        return prefix


class PayloadFrameTemplate(FrameTemplate):
    """A large message for payload compression: each frame is a complete zlib stream."""

    __slots__ = ("_uncompressed_tail",)

    def __init__(self, head: bytes, tail: bytes, blocks: bytes) -> None:
        """Create a template; `blocks` are the deflate blocks of `tail`."""
        super().__init__(Compression.PAYLOAD, head, blocks)
        self._uncompressed_tail = tail

    def frame(self, seq: int) -> bytes:
        """Return the frame with a sequence number, which the checksum at the end of the zlib stream covers."""
        return self._build_frame(self._head + b"%d" % seq)

    def _build_frame(self, head: bytes) -> bytes:
        checksum = zlib.adler32(self._uncompressed_tail, zlib.adler32(head))
        stream = ZLIB_HEADER + stored_block_header(len(head)) + head + self.tail + _ZLIB_FINAL_BLOCK
        return frame(BINARY, stream + checksum.to_bytes(4, "big"))


class EtfFrameTemplate(FrameTemplate):
    """A shared message in ETF, in which `s` has a fixed size."""

    __slots__ = ()

    def __init__(self, compression: Compression, head: bytes, tail: bytes) -> None:
        super().__init__(compression, head, tail)
        self._first_byte = BINARY

    def frame(self, seq: int) -> bytes:
        """Return the frame with a sequence number."""
        number = etf.encode_sequence(seq)
        prefix = self.prefixes.get(len(number)) or self._build_prefix(len(number))
        return prefix + number + self.tail


class EtfPayloadFrameTemplate(PayloadFrameTemplate):
    """A large message in ETF for payload compression."""

    __slots__ = ()

    def frame(self, seq: int) -> bytes:
        """Return the frame with a sequence number, which the checksum at the end of the zlib stream covers."""
        return self._build_frame(self._head + etf.encode_sequence(seq))

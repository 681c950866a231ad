"""Dispatch packets, which are encoded once and compressed at most once per compression and encoding."""

from collections.abc import Callable
from typing import Final

from hubbub.protocol import codec
from hubbub.server.core import legacy_permissions
from hubbub.server.transports.gateway import etf
from hubbub.server.transports.gateway.compression import (
    PAYLOAD_COMPRESSION_MIN,
    BlockCompressor,
    Compression,
    Encoding,
    EtfFrameTemplate,
    EtfPayloadFrameTemplate,
    FrameTemplate,
    PayloadFrameTemplate,
    raw_blocks,
)

_BODY_PREFIX: Final = b',"op":0,"d":'


class Packet:
    """An encoded event that all receiving sessions share; only `s` differs. Replay buffers hold references to it."""

    __slots__ = (
        "_count_delivered",
        "_compressor",
        "_head",
        "_numeric_packet",
        "_tail",
        "created_at",
        "event",
        "has_numeric_permissions",
        "templates",
        "size",
    )

    def __init__(
        self,
        event: str,
        body: bytes,
        compressor: BlockCompressor,
        created_at: float = 0.0,
        count_delivered: Callable[[str, int, int], None] | None = None,
    ) -> None:
        self.event = event
        self._head = b'{"t":"' + event.encode() + b'","s":'
        self._tail = _BODY_PREFIX + body + b"}"
        self._compressor = compressor
        self._count_delivered = count_delivered
        """Metrics callback: event name, number of connections, and size in bytes."""
        self.created_at = created_at
        """Creation time, in seconds of the event loop's clock."""
        self.size = len(self._head) + len(self._tail)
        self.templates: list[FrameTemplate | None] = [None] * (len(Compression) * len(Encoding))
        """The encoded form for each `template_index`, or None until first use."""
        self.has_numeric_permissions = False
        """Whether the packet is for sessions of API versions 6 and 7."""
        self._numeric_packet: Packet | None = None

    @property
    def body(self) -> bytes:
        """The payload of the event as encoded JSON."""
        return self._tail[len(_BODY_PREFIX) : -1]

    def record_sent(self, count: int) -> None:
        """Report to the metrics that the packet was written to `count` more connections."""
        if count and self._count_delivered is not None:
            self._count_delivered(self.event, count, self.size)

    def with_numeric_permissions(self) -> "Packet":
        """Return the packet for sessions of API versions 6 and 7."""
        if self._numeric_packet is None:
            body = legacy_permissions.convert_permissions(self.body)
            self._numeric_packet = Packet(self.event, body, self._compressor, self.created_at, self._count_delivered)
            self._numeric_packet.has_numeric_permissions = True
        return self._numeric_packet

    def template(self, index: int) -> FrameTemplate:
        """Return the encoded form for connections with this `template_index`."""
        template = self.templates[index]
        if template is None:
            encoding, compression = divmod(index, len(Compression))
            build = self._build_template if encoding == Encoding.JSON else self._build_etf_template
            template = self.templates[index] = build(Compression(compression))
        return template

    def _build_template(self, compression: Compression) -> FrameTemplate:
        if compression is Compression.ZLIB_STREAM:
            return FrameTemplate(compression, self._head, self._compressor.zlib_blocks(self._tail))
        if compression is Compression.ZSTD_STREAM:
            return FrameTemplate(compression, self._head, self._compressor.zstd_blocks(self._tail))
        if compression is Compression.PAYLOAD and self.size >= PAYLOAD_COMPRESSION_MIN:
            return PayloadFrameTemplate(self._head, self._tail, self._compressor.zlib_blocks(self._tail))
        return FrameTemplate(Compression.NONE, self._head, self._tail)

    def _build_etf_template(self, compression: Compression) -> FrameTemplate:
        head, tail = encode_etf_dispatch(self.event, self.body)
        if compression is Compression.ZLIB_STREAM:
            return EtfFrameTemplate(compression, head, self._compressor.zlib_blocks(tail))
        if compression is Compression.ZSTD_STREAM:
            # Shared zstd blocks begin with spaces, which are insignificant in JSON only.
            return EtfFrameTemplate(compression, head, raw_blocks(tail))
        if compression is Compression.PAYLOAD and len(tail) >= PAYLOAD_COMPRESSION_MIN:
            return EtfPayloadFrameTemplate(head, tail, self._compressor.zlib_blocks(tail))
        return EtfFrameTemplate(Compression.NONE, head, tail)


def encode_etf_dispatch(event: str, body: bytes) -> tuple[bytes, bytes]:
    """Return the ETF of a dispatch before and after its sequence number. `body` is JSON."""
    head = bytes((etf.VERSION,)) + etf.map_header(4) + etf.encode_part("t") + etf.encode_part(event)
    tail = etf.encode_part("op") + etf.encode_part(0) + etf.encode_part("d") + etf.encode_part(codec.decode_any(body))
    return head + etf.encode_part("s"), tail

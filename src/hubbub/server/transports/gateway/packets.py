"""One dispatch on its way to sessions: encoded once, compressed at most once per kind."""

from collections.abc import Callable

from hubbub.server.transports.gateway.compression import PAYLOAD_LARGE, Compression, Deflater, Face, PayloadFace


class Packet:
    """An event and its payload; sessions only add their own `s`. Replay buffers hold references to it."""

    __slots__ = ("_count", "_deflater", "_head", "_tail", "at", "event", "faces", "size")

    def __init__(
        self,
        event: str,
        body: bytes,
        deflater: Deflater,
        at: float = 0.0,
        count: Callable[[str, int, int], None] | None = None,
    ) -> None:
        self.event = event
        self._head = b'{"t":"' + event.encode() + b'","s":'
        self._tail = b',"op":0,"d":' + body + b"}"
        self._deflater = deflater
        self._count = count
        """Is told the event, how many got it, and its size."""
        self.at = at
        """When it was made, by the event loop's time."""
        self.size = len(self._head) + len(self._tail)
        self.faces: list[Face | None] = [None, None, None, None]
        """By kind of compression, once somebody needed it."""

    def given(self, count: int) -> None:
        """So many more connections were given it."""
        if count and self._count is not None:
            self._count(self.event, count, self.size)

    def face(self, kind: Compression) -> Face:
        """What connections of this kind get."""
        face = self.faces[kind]
        if face is None:
            face = self.faces[kind] = self._make(kind)
        return face

    def _make(self, kind: Compression) -> Face:
        if kind is Compression.ZLIB_STREAM:
            return Face(kind, self._head, self._deflater.zlib_blocks(self._tail))
        if kind is Compression.ZSTD_STREAM:
            return Face(kind, self._head, self._deflater.zstd_blocks(self._tail))
        if kind is Compression.PAYLOAD and self.size >= PAYLOAD_LARGE:
            return PayloadFace(self._head, self._tail, self._deflater.zlib_blocks(self._tail))
        return Face(Compression.NONE, self._head, self._tail)

    def shed(self) -> None:
        """Forget the compressed forms; a replay makes them again."""
        self.faces = [None, None, None, None]

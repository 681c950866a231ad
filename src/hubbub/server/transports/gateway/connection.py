"""One open socket: frames out without waiting, and an orderly end."""

import asyncio
import logging
from collections import deque
from typing import TYPE_CHECKING, Final

from aiohttp.web import WebSocketResponse

from hubbub.protocol import wire
from hubbub.protocol.enums import CloseCode, GatewayOpcode
from hubbub.server.transports.gateway.compression import Compression, whole
from hubbub.server.transports.gateway.limits import Window
from hubbub.server.transports.gateway.packets import Packet
from hubbub.server.transports.sockets import GONE, OpenSocket, Writing

if TYPE_CHECKING:
    from hubbub.server.transports.gateway.session import Session

log = logging.getLogger(__name__)

ROOM_BYTES: Final = 256 * 1024
"""Bulk (start-up, replay, member chunks) goes on once no more than this waits."""
ROOM_S: Final = 0.01


class Late:
    """A transport whose writes arrive late, in their order."""

    def __init__(self, transport: Writing, delay_s: float) -> None:
        self._transport = transport
        self._delay_s = delay_s
        self._waiting: deque[bytes] = deque()
        self._size = 0

    def write(self, data: bytes) -> None:
        """Write, later."""
        self._waiting.append(data)
        self._size += len(data)
        asyncio.get_running_loop().call_later(self._delay_s, self._write)

    def _write(self) -> None:
        data = self._waiting.popleft()
        self._size -= len(data)
        if not self._transport.is_closing():
            self._transport.write(data)

    def get_write_buffer_size(self) -> int:
        """What has not left yet."""
        return self._size + self._transport.get_write_buffer_size()

    def is_closing(self) -> bool:
        """Whether nothing can be written any more."""
        return self._transport.is_closing()

    def abort(self) -> None:
        """Cut the connection at once."""
        self._transport.abort()


class Connection(OpenSocket):
    """A socket, how it is compressed, and the session it carries."""

    __slots__ = (
        "beat_at",
        "buffer_most",
        "compression",
        "frames",
        "opened_at",
        "resume_url",
        "session",
        "user_id",
        "version",
    )

    def __init__(
        self,
        socket: WebSocketResponse,
        transport: Writing,
        *,
        compression: Compression,
        version: int,
        resume_url: str,
        now: float,
        frames: Window,
        buffer_most: int,
    ) -> None:
        super().__init__(socket, transport)
        self.buffer_most = buffer_most
        """Bytes that may wait; with more the client is too slow."""
        self.compression = compression
        self.version = version
        self.resume_url = resume_url
        self.opened_at = self.beat_at = now
        """By the event loop's time."""
        self.frames = frames
        self.session: Session | None = None
        self.user_id: int | None = None
        """Who identified, or tried to."""

    def deliver(self, packet: Packet, seq: int) -> None:
        """Write a dispatch."""
        with GONE:
            self.transport.write(packet.face(self.compression).frame(seq))

    def say(self, opcode: GatewayOpcode, data: object = None, *, opening: bool = False) -> None:
        """Write anything but a dispatch. Libraries index all four keys (gateway.md 1)."""
        if self.closing is None and self.transport.get_write_buffer_size() > self.buffer_most:
            # Who sends heartbeats and reads no answer is too slow as well.
            self.close(CloseCode.UNKNOWN_ERROR, "Too slow")
        elif self.closing is None:
            payload = b'{"t":null,"s":null,"op":%d,"d":%b}' % (opcode, wire.encode(data))
            with GONE:
                self.transport.write(whole(self.compression, payload, opening=opening))

    async def room(self) -> bool:
        """Wait until little is waiting for the client; False when the connection has gone meanwhile."""
        while self.closing is None and not self.transport.is_closing():
            if self.transport.get_write_buffer_size() <= ROOM_BYTES:
                return True
            await asyncio.sleep(ROOM_S)
        return False

    def delay(self, delay_ms: int) -> None:
        """Send everything so much later from now on."""
        if not isinstance(self.transport, Late):
            self.transport = Late(self.transport, delay_ms / 1000)

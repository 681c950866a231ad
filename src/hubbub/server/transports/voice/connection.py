"""One open voice socket: frames out without waiting, and an orderly end."""

import asyncio
from typing import TYPE_CHECKING, Final

from aiohttp.web import WebSocketResponse

from hubbub.protocol import voice as words
from hubbub.server.transports.gateway.connection import CLOSE_S, GONE
from hubbub.server.transports.gateway.frames import BINARY, TEXT, frame
from hubbub.server.transports.gateway.limits import Window

if TYPE_CHECKING:
    from hubbub.server.transports.voice.session import VoiceSession

FRAMES_MOST: Final = 600
FRAMES_SECONDS: Final = 60.0
"""Frames that a client may send in so long; a person who speaks in short bursts sends two for each."""
WAITING_MOST: Final = 1024 * 1024
"""Bytes that may wait for a slow client."""


class VoiceConnection:
    """A socket, its version of the protocol, and the session it carries."""

    __slots__ = (
        "_socket",
        "_transport",
        "beat_at",
        "busy",
        "closing",
        "code",
        "frames",
        "opened_at",
        "session",
        "version",
    )

    def __init__(
        self, socket: WebSocketResponse, transport: asyncio.WriteTransport, *, version: int, now: float
    ) -> None:
        self._socket = socket
        self._transport = transport
        self.version = version
        self.opened_at = self.beat_at = now
        """By the event loop's time (decisions/0005)."""
        self.frames = Window(FRAMES_MOST, FRAMES_SECONDS)
        self.session: VoiceSession | None = None
        self.busy = False
        """Whether a ticket is being read."""
        self.closing: asyncio.Task[None] | None = None
        self.code: int | None = None
        """The code we closed with."""

    @property
    def buffered(self) -> bool:
        """Whether messages carry numbers."""
        return self.version >= words.BUFFERED_VERSION

    def say(self, op: int, payload: object) -> None:
        """Write a message that is not told again."""
        self.write(TEXT, words.numbered(op, payload, None))

    def write(self, first: int, payload: bytes) -> None:
        """Write a frame, unless the client is too slow: it is cut off, and may resume."""
        if self.closing is not None:
            return
        if self._transport.get_write_buffer_size() > WAITING_MOST:
            self.cut()
            return
        with GONE:
            self._transport.write(frame(first, payload))

    def cut(self) -> None:
        """End without a word, as a network does."""
        self._transport.abort()

    def close(self, code: int, reason: str) -> None:
        """Say goodbye and cut the connection when the client does not answer; returns at once."""
        if self.closing is None:
            self.code = code
            self.closing = asyncio.get_running_loop().create_task(self._close(code, reason))

    async def _close(self, code: int, reason: str) -> None:
        try:
            async with asyncio.timeout(CLOSE_S):
                await self._socket.close(code=code, message=reason.encode())
        except TimeoutError:
            pass
        finally:
            self._transport.abort()


__all__ = ["BINARY", "TEXT", "VoiceConnection"]

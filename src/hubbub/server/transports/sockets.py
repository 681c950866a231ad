"""What the two gateways share: how a WebSocket is taken, and how it ends in order."""

import asyncio
import contextlib
from typing import Final, Protocol

from aiohttp import web

CLOSE_S: Final = 3.0
"""How long a client may take to answer our close frame; a slow one is cut after that."""
GONE: Final = contextlib.suppress(RuntimeError)
"""uvloop's transports refuse to write once the peer is gone. The door will notice."""


class Closing(Exception):
    """Ends the connection with a close code."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


class Writing(Protocol):
    """What frames are written to: a transport, or what stands in for one. Not by its class: uvloop's are none of asyncio's."""

    def write(self, data: bytes, /) -> None:
        """Write, without waiting."""

    def get_write_buffer_size(self) -> int:
        """What has not left yet."""

    def is_closing(self) -> bool:
        """Whether nothing can be written any more."""

    def abort(self) -> None:
        """Cut the connection at once."""


async def accept(request: web.Request, unread_most: int) -> tuple[web.WebSocketResponse, asyncio.Transport | None]:
    """Take a WebSocket, and what to write to; there is nothing to write to when the client has gone already.

    A frame above `unread_most` is not even read; aiohttp closes with 1009. There is no permessage-deflate, which libraries do
    without: frames are written past aiohttp, as they are."""
    socket = web.WebSocketResponse(compress=False, max_msg_size=unread_most)
    try:
        await socket.prepare(request)
    except ValueError:
        # aiohttp takes the key for ASCII.
        raise web.HTTPBadRequest from None
    return socket, request.transport


class OpenSocket:
    """An open socket, and its orderly end."""

    __slots__ = ("_socket", "closing", "code", "reason", "transport")

    def __init__(self, socket: web.WebSocketResponse, transport: Writing) -> None:
        self._socket = socket
        self.transport = transport
        self.closing: asyncio.Task[None] | None = None
        self.code: int | None = None
        """The code we closed with,"""
        self.reason = ""
        """and why."""

    def cut(self) -> None:
        """End without a word, as a network does."""
        self.transport.abort()

    def close(self, code: int, reason: str, *, after_s: float = 0.0) -> None:
        """Say goodbye, and cut the connection when the client does not answer; returns at once. `after_s`: the client is given
        so long to go by itself."""
        if self.closing is None:
            self.code, self.reason = code, reason
            self.closing = asyncio.get_running_loop().create_task(self._close(code, reason, after_s))

    async def _close(self, code: int, reason: str, after_s: float) -> None:
        try:
            if after_s:
                await asyncio.sleep(after_s)
            async with asyncio.timeout(CLOSE_S):
                await self._socket.close(code=code, message=reason.encode())
        except TimeoutError:
            pass
        finally:
            self.transport.abort()

"""WebSocket accept, ping and close, shared by the gateway and the voice gateway, and the IP address of a client."""

import asyncio
import contextlib
from typing import Final, Protocol

from aiohttp import hdrs, web

CLOSE_TIMEOUT_SECONDS: Final = 3.0
"""Time in seconds that a client has to respond to a close frame before the connection is aborted."""
IGNORE_DISCONNECT: Final = contextlib.suppress(RuntimeError)
"""Ignores the RuntimeError of uvloop transports on a write after a disconnect; the read loop ends the connection."""
UPGRADE_REQUIRED_TEXT: Final = (
    "This is a WebSocket server, and the request has no `Upgrade: websocket` header. "
    "Connect with a WebSocket client to the wss:// form of this URL. "
    "If your client is one, a proxy removed the header: configure the proxy to use HTTP/1.1 and to pass the headers "
    "Upgrade and Connection."
)


class CloseConnection(Exception):
    """Raised to end the connection with a close code."""

    def __init__(self, code: int, reason: str, *, cause: str | None = None) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason
        self.cause = cause
        """Explanation for the delivery trace, which the client does not receive; None if the reason is sufficient."""


class WritableTransport(Protocol):
    """The part of a transport that frames are written to.

    A protocol, because uvloop transports do not subclass asyncio's.
    """

    def write(self, data: bytes, /) -> None:
        """Queue data for sending, without waiting."""

    def get_write_buffer_size(self) -> int:
        """Return the number of bytes that have not been sent yet."""

    def is_closing(self) -> bool:
        """Return whether the transport no longer accepts writes."""

    def abort(self) -> None:
        """Close the connection immediately and discard unsent data."""


async def accept(
    request: web.Request, frame_bytes_max: int, *, autoping: bool = True
) -> tuple[web.WebSocketResponse, asyncio.Transport | None]:
    """Accept a WebSocket and return it with its transport, which is None if the client has already disconnected.

    A frame larger than `frame_bytes_max` bytes is not read: aiohttp closes the connection with 1009. permessage-deflate is
    disabled because frames are written directly to the transport, bypassing aiohttp. A request without the headers of a
    WebSocket handshake gets 426 with an explanation (decisions/0063). Without `autoping` the caller receives pings and
    answers them with `answer_ping`, so that they count against its limits.
    """
    if request.headers.get(hdrs.UPGRADE, "").strip().lower() != "websocket":
        raise web.HTTPUpgradeRequired(
            text=UPGRADE_REQUIRED_TEXT, headers={hdrs.UPGRADE: "websocket", hdrs.CONNECTION: "Upgrade"}
        )
    socket = web.WebSocketResponse(autoping=autoping, compress=False, max_msg_size=frame_bytes_max)
    try:
        await socket.prepare(request)
    except ValueError:
        # aiohttp raises ValueError when Sec-WebSocket-Key is not ASCII.
        raise web.HTTPBadRequest from None
    return socket, request.transport


def client_address(request: web.Request, trusted_proxies: int) -> str:
    """Return the client's IP address: the peer's, or the one reported by the trusted proxies."""
    peer = request.remote or ""
    if not trusted_proxies:
        return peer
    forwarded_addresses = ",".join(request.headers.getall("X-Forwarded-For", [])).split(",")
    # Each proxy appends an address, so the last `trusted_proxies` entries were written by trusted proxies.
    return forwarded_addresses[-min(trusted_proxies, len(forwarded_addresses))].strip()[:64] or peer


async def answer_ping(socket: web.WebSocketResponse, data: bytes) -> None:
    """Answer a ping of a client, unless the client has disconnected."""
    with contextlib.suppress(ConnectionError, RuntimeError):
        await socket.pong(data)


class OpenSocket:
    """An open WebSocket and its close handshake."""

    __slots__ = ("_socket", "close_task", "code", "reason", "transport")

    def __init__(self, socket: web.WebSocketResponse, transport: WritableTransport) -> None:
        self._socket = socket
        self.transport = transport
        self.close_task: asyncio.Task[None] | None = None
        """The close handshake that the server started, or None."""
        self.code: int | None = None
        """The close code that the server sent, or None."""
        self.reason = ""
        """The close reason that the server sent."""

    def abort(self) -> None:
        """Drop the connection without a close frame, as a network failure does."""
        self.transport.abort()

    def close(self, code: int, reason: str, *, delay_seconds: float = 0.0) -> None:
        """Start the close handshake and return immediately; abort the connection if the client does not respond.

        During `delay_seconds` before the handshake the client may close the connection itself.
        """
        if self.close_task is None:
            self.code, self.reason = code, reason
            self.close_task = asyncio.get_running_loop().create_task(self._close(code, reason, delay_seconds))

    async def _close(self, code: int, reason: str, delay_seconds: float) -> None:
        try:
            if delay_seconds:
                await asyncio.sleep(delay_seconds)
            async with asyncio.timeout(CLOSE_TIMEOUT_SECONDS):
                await self._socket.close(code=code, message=reason.encode())
        except TimeoutError:
            pass
        finally:
            self.transport.abort()

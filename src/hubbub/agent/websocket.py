"""RPC server on a local WebSocket, for web pages and local programs; disabled by default (spec/rpc.md#1).

It accepts pages of the platform, pages whose origin the application registered, and on Linux programs of the same user.
"""

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from aiohttp import WSCloseCode, WSMsgType, web

from hubbub.agent import peers
from hubbub.agent.connections import ProgramConnection
from hubbub.agent.ipc import WRITE_BUFFER_BYTES_MAX, AcceptHandshake, CloseConnection
from hubbub.protocol import rpc
from hubbub.protocol.rpc import CloseCode, Opcode
from hubbub.protocol.rpc_scopes import PseudoScope

log = logging.getLogger(__name__)

HOST: Final = "127.0.0.1"
CLOSE_TIMEOUT_SECONDS: Final = 1.0
"""Maximum time to wait for a web page to close its connection, in seconds."""


class WebSocketTransport:
    """RPC transport over a WebSocket: payloads without opcodes, and a WebSocket close code instead of CLOSE."""

    def __init__(self, socket: web.WebSocketResponse, transport: asyncio.Transport | None) -> None:
        self._socket = socket
        self._transport = transport
        self._pending: set[asyncio.Task[object]] = set()
        """Tasks that send or close and have not ended."""
        self._send_lock: asyncio.Lock = asyncio.Lock()

    def send(self, opcode: Opcode, body: bytes) -> None:
        """Send the payload of a FRAME in order; abort the connection if the page reads too slowly.

        Other opcodes are ignored, because a WebSocket has its own ping and close frames."""
        if opcode is Opcode.FRAME:
            self._spawn(self._send(body))
        if self._transport is not None and self._transport.get_write_buffer_size() > WRITE_BUFFER_BYTES_MAX:
            log.warning("Aborted the connection of a web page that does not read its messages")
            self._transport.abort()

    def close(self, code: CloseCode, message: str) -> None:
        """Close the connection with a close code and a message."""
        self._spawn(self._close(code, message))

    async def _send(self, body: bytes) -> None:
        async with self._send_lock:
            if not self._socket.closed:
                await self._socket.send_str(body.decode())

    async def _close(self, code: CloseCode, message: str) -> None:
        async with self._send_lock:
            await self._socket.close(code=int(code), message=message.encode())

    async def flush(self) -> None:
        """Wait until all pending messages are sent."""
        await asyncio.gather(*self._pending, return_exceptions=True)

    def _spawn(self, awaitable: Awaitable[object]) -> None:
        task = asyncio.ensure_future(awaitable)
        self._pending.add(task)
        task.add_done_callback(self._pending.discard)


class WebSocketServer:
    """RPC server on a WebSocket at the first free port."""

    def __init__(
        self,
        accept_handshake: AcceptHandshake,
        on_closed: Callable[[ProgramConnection], Awaitable[None]],
        platform_url: str,
        ports: Sequence[int],
    ) -> None:
        self._ports = ports
        self._accept_handshake = accept_handshake
        self._on_closed = on_closed
        self._platform_url = platform_url
        self._runner: web.AppRunner | None = None
        self._open_sockets: set[web.WebSocketResponse] = set()
        self.port: int | None = None
        """Port of the server; None before `start`."""

    async def start(self) -> None:
        """Start listening; raise OSError if no port is free."""
        application = web.Application()
        application.router.add_get("/", self._serve)
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=CLOSE_TIMEOUT_SECONDS)
        await self._runner.setup()
        for port in self._ports:
            try:
                await web.TCPSite(self._runner, HOST, port).start()
            except OSError:
                continue
            self.port = self._runner.addresses[0][1]
            return
        await self._runner.cleanup()
        raise OSError(f"No free port from {self._ports[0]} to {self._ports[-1]}")

    async def stop(self) -> None:
        """Close all connections and stop the server."""
        closings = (
            socket.close(code=WSCloseCode.OK, message=b"The agent is shutting down") for socket in self._open_sockets
        )
        await asyncio.gather(*closings)
        if self._runner is not None:
            await self._runner.cleanup()

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        # Reject other host names that resolve to this machine, to prevent DNS rebinding.
        if request.host.rpartition(":")[0] not in (HOST, "localhost"):
            raise web.HTTPForbidden
        socket = web.WebSocketResponse(max_msg_size=rpc.PROGRAM_FRAME_BYTES_MAX, timeout=CLOSE_TIMEOUT_SECONDS)
        await socket.prepare(request)
        self._open_sockets.add(socket)
        transport, connection = WebSocketTransport(socket, request.transport), None
        try:
            connection = await self._accept_request(transport, request)
            async for message in socket:
                if message.type is WSMsgType.TEXT:
                    connection.receive(message.data.encode())
                else:
                    raise CloseConnection(CloseCode.INVALID_ENCODING, "Invalid Encoding")
        except CloseConnection as error:
            transport.close(error.code, error.message)
        finally:
            self._open_sockets.discard(socket)
            if connection is not None:
                await self._on_closed(connection)
            await transport.flush()
        return socket

    async def _accept_request(self, transport: WebSocketTransport, request: web.Request) -> ProgramConnection:
        if request.query.get("encoding", "json") != "json":
            raise CloseConnection(CloseCode.INVALID_ENCODING, "Invalid Encoding")
        origin = request.headers.get("Origin")
        uid = _peer_uid(request)
        # Other users of the machine can connect too, and send any origin. Without a table of connections (macOS), a
        # program has to use a socket file instead.
        if (uid is None and origin is None) or (uid is not None and uid != os.getuid()):
            raise CloseConnection(CloseCode.INVALID_ORIGIN, "Invalid Origin")
        # A web page always sends its origin, so a request without one comes from a local program.
        pseudo_scope = (
            PseudoScope.LOCAL if origin is None else PseudoScope.PRIVATE if origin == self._platform_url else None
        )
        scopes = frozenset() if pseudo_scope is None else frozenset({pseudo_scope.value})
        return await self._accept_handshake(transport, dict(request.query), pid=None, origin=origin, scopes=scopes)


def _peer_uid(request: web.Request) -> int | None:
    """Return the user ID of the program that sent a request, or None if it is unknown."""
    if request.transport is None:
        return None
    peer_address, own_address = (request.transport.get_extra_info(name) for name in ("peername", "sockname"))
    return peers.find_peer_uid(peer_address[:2], own_address[:2])

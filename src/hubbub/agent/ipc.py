"""RPC server on Unix sockets, for programs of the same operating system user only (spec/rpc.md#2 to 4)."""

import asyncio
import logging
import os
import socket
import struct
import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, Protocol

import msgspec

from hubbub.agent.addresses import ListeningSocket, close_sockets
from hubbub.agent.connections import ProgramConnection, Transport
from hubbub.protocol import codec, rpc
from hubbub.protocol.rpc import CloseCode, Opcode
from hubbub.protocol.rpc_scopes import PseudoScope

log = logging.getLogger(__name__)

WRITE_BUFFER_BYTES_MAX: Final = 1 << 20
"""Maximum number of bytes in the write buffer of a connection; if it is exceeded, the connection is aborted."""
PEER_CREDENTIALS: Final = struct.Struct("3i")
"""Layout of `struct ucred` on Linux: process ID, user ID, group ID."""


class CloseConnection(Exception):
    """Raised to close a connection with a close code and a message."""

    def __init__(self, code: CloseCode, message: str) -> None:
        self.code = code
        self.message = message
        super().__init__(message)


class AcceptHandshake(Protocol):
    """Function that accepts the handshake of a connection, or raises `CloseConnection` to reject it."""

    def __call__(
        self,
        transport: Transport,
        handshake: dict[str, Any],
        *,
        pid: int | None,
        origin: str | None,
        scopes: frozenset[str],
    ) -> Awaitable[ProgramConnection]:
        """Accept a handshake.

        `pid` is the process ID of the program, `origin` the origin of a web page, and `scopes` the scopes that the
        transport grants."""


class UnixSocketTransport:
    """RPC transport over a Unix socket."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    def send(self, opcode: Opcode, body: bytes) -> None:
        """Send a frame in one write; abort the connection if the program reads too slowly."""
        transport = self._writer.transport
        if transport.is_closing():
            return
        self._writer.write(rpc.pack_frame(opcode, body))
        if transport.get_write_buffer_size() > WRITE_BUFFER_BYTES_MAX:
            log.warning("Aborted the connection of a program that reads too slowly")
            transport.abort()

    def close(self, code: CloseCode, message: str) -> None:
        """Send CLOSE and close the connection; buffered frames are still sent."""
        self.send(Opcode.CLOSE, msgspec.json.encode({"code": int(code), "message": message}))
        self._writer.close()


class IpcServer:
    """RPC server that listens on several Unix sockets."""

    def __init__(
        self,
        listening_sockets: Sequence[ListeningSocket],
        accept_handshake: AcceptHandshake,
        on_closed: Callable[[ProgramConnection], Awaitable[None]],
        *,
        handshake_timeout_seconds: float = rpc.HANDSHAKE_TIMEOUT_SECONDS,
    ) -> None:
        self._listening_sockets = listening_sockets
        self._accept_handshake = accept_handshake
        self._on_closed = on_closed
        self._handshake_timeout_seconds = handshake_timeout_seconds
        self._servers: list[asyncio.Server] = []
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Start listening."""
        for listening_socket in self._listening_sockets:
            self._servers.append(await asyncio.start_unix_server(self._serve, sock=listening_socket.socket))

    async def stop(self) -> None:
        """Close all connections and delete the sockets."""
        for server in self._servers:
            server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        close_sockets(self._listening_sockets)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        transport, connection = UnixSocketTransport(writer), None
        try:
            pid = _peer_pid(writer.get_extra_info("socket"))
            async with asyncio.timeout(self._handshake_timeout_seconds):
                handshake = await _read_handshake(reader)
                connection = await self._accept_handshake(
                    transport, handshake, pid=pid, origin=None, scopes=frozenset({PseudoScope.LOCAL.value})
                )
            await self._read_frames(reader, transport, connection)
        except CloseConnection as error:
            transport.close(error.code, error.message)
        except TimeoutError:
            transport.close(CloseCode.UNSUPPORTED, "The handshake timed out")
        except PermissionError as error:
            log.warning("Rejected a connection: %s", error)
        except (EOFError, OSError):
            # The program disconnected. Programs also connect without a handshake to probe for the agent (spec/rpc.md#2).
            pass
        except asyncio.CancelledError:
            transport.close(CloseCode.NORMAL, "The agent is shutting down")
        finally:
            self._tasks.discard(task)
            if connection is not None:
                await self._on_closed(connection)
            writer.close()

    async def _read_frames(
        self, reader: asyncio.StreamReader, transport: UnixSocketTransport, connection: ProgramConnection
    ) -> None:
        while True:
            opcode, body = await _read_frame(reader)
            if opcode == Opcode.FRAME:
                connection.receive(body)
            elif opcode == Opcode.PING:
                # The sender compares the bytes, so return them unchanged (spec/rpc.md#3).
                transport.send(Opcode.PONG, body)
            elif opcode == Opcode.CLOSE:
                return
            elif opcode != Opcode.PONG:
                raise CloseConnection(CloseCode.UNSUPPORTED, "Unexpected opcode")


async def _read_handshake(reader: asyncio.StreamReader) -> dict[str, Any]:
    opcode, body = await _read_frame(reader)
    if opcode == Opcode.CLOSE:
        raise EOFError
    if opcode != Opcode.HANDSHAKE:
        raise CloseConnection(CloseCode.UNSUPPORTED, "The first frame must be a handshake")
    try:
        handshake = codec.decode_any(body)
    except msgspec.DecodeError:
        handshake = None
    if not isinstance(handshake, dict):
        raise CloseConnection(CloseCode.UNSUPPORTED, "The handshake must be a JSON object")
    return handshake


async def _read_frame(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    opcode, length = rpc.HEADER.unpack(await reader.readexactly(rpc.HEADER.size))
    if length > rpc.PROGRAM_FRAME_BYTES_MAX:
        raise CloseConnection(CloseCode.UNSUPPORTED, f"A frame must have at most {rpc.PROGRAM_FRAME_BYTES_MAX} bytes")
    return opcode, await reader.readexactly(length)


def _peer_pid(sock: socket.socket) -> int | None:
    """Return the process ID of the peer, or None if it is unknown; raise PermissionError if it belongs to another user."""
    if sys.platform != "linux":
        return None
    credentials = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, PEER_CREDENTIALS.size)
    pid, uid, _ = PEER_CREDENTIALS.unpack(credentials)
    if uid != os.getuid():
        raise PermissionError(f"the program belongs to another user (uid {uid})")
    # The kernel reports 0 for a peer in another PID namespace.
    return int(pid) or None

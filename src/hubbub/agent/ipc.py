"""The unix sockets that games connect to: frames in and out, for nobody but the user's own programs (rpc.md 2 to 4)."""

import asyncio
import logging
import os
import socket
import struct
import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

import msgspec

from hubbub.agent.addresses import Address, release
from hubbub.agent.links import Link
from hubbub.protocol import rpc, wire
from hubbub.protocol.rpc import CloseCode, Opcode
from hubbub.protocol.rpc_scopes import PseudoScope

log = logging.getLogger(__name__)

WAITING_MAX: Final = 1 << 20
"""Bytes that a program may leave unread before it is cut off."""
CREDENTIALS: Final = struct.Struct("3i")


class Closed(Exception):
    """Why we end a connection."""

    def __init__(self, code: CloseCode, message: str) -> None:
        self.code = code
        self.message = message
        super().__init__(message)


Greet = Callable[..., Awaitable[Link]]
"""Makes a link of a handshake, or raises Closed."""


class StreamDoor:
    """Frames over a stream."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    def send(self, opcode: Opcode, body: bytes) -> None:
        """Send a frame in one write; who does not read is cut off."""
        transport = self._writer.transport
        if transport.is_closing():
            return
        self._writer.write(rpc.pack(opcode, body))
        if transport.get_write_buffer_size() > WAITING_MAX:
            log.warning("a program does not read what it asked for, and is cut off")
            transport.abort()

    def close(self, code: CloseCode, message: str) -> None:
        """Say why, and end it; what is on its way is still sent."""
        self.send(Opcode.CLOSE, msgspec.json.encode({"code": int(code), "message": message}))
        self._writer.close()


class Ipc:
    """Listens at addresses."""

    def __init__(
        self,
        addresses: Sequence[Address],
        greet: Greet,
        gone: Callable[[Link], Awaitable[None]],
        *,
        handshake_s: float = rpc.HANDSHAKE_SECONDS,
    ) -> None:
        self.addresses = addresses
        self._greet = greet
        self._gone = gone
        self._handshake_s = handshake_s
        self._servers: list[asyncio.Server] = []
        self._serving: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Begin to listen."""
        for address in self.addresses:
            self._servers.append(await asyncio.start_unix_server(self._serve, sock=address.socket))

    async def stop(self) -> None:
        """End every connection."""
        for server in self._servers:
            server.close()
        for task in list(self._serving):
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)
        release(self.addresses)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        door, link = StreamDoor(writer), None
        try:
            pid = _peer(writer.get_extra_info("socket"))
            async with asyncio.timeout(self._handshake_s):
                handshake = await _read_handshake(reader)
                link = await self._greet(
                    door, handshake, pid=pid, origin=None, scopes=frozenset({PseudoScope.LOCAL.value})
                )
            await self._read(reader, door, link)
        except Closed as closed:
            door.close(closed.code, closed.message)
        except TimeoutError:
            door.close(CloseCode.UNSUPPORTED, "there was no handshake in time")
        except PermissionError as error:
            log.warning("a connection was refused: %s", error)
        except (EOFError, OSError):
            # Who connects and leaves without a word looks only whether we are there (rpc.md 2).
            pass
        except asyncio.CancelledError:
            door.close(CloseCode.NORMAL, "the agent ends")
        finally:
            self._serving.discard(task)
            if link is not None:
                await self._gone(link)
            writer.close()

    async def _read(self, reader: asyncio.StreamReader, door: StreamDoor, link: Link) -> None:
        while True:
            opcode, body = await _read_frame(reader)
            if opcode == Opcode.FRAME:
                link.take(body)
            elif opcode == Opcode.PING:
                # The very bytes: who sent them compares (rpc.md 3).
                door.send(Opcode.PONG, body)
            elif opcode == Opcode.CLOSE:
                return
            elif opcode != Opcode.PONG:
                raise Closed(CloseCode.UNSUPPORTED, "this opcode has no place here")


async def _read_handshake(reader: asyncio.StreamReader) -> dict[str, Any]:
    opcode, body = await _read_frame(reader)
    if opcode == Opcode.CLOSE:
        raise EOFError
    if opcode != Opcode.HANDSHAKE:
        raise Closed(CloseCode.UNSUPPORTED, "the first frame must be a handshake")
    try:
        sent = wire.decode_any(body)
    except msgspec.DecodeError:
        sent = None
    if not isinstance(sent, dict):
        raise Closed(CloseCode.UNSUPPORTED, "a handshake must hold a JSON object")
    return sent


async def _read_frame(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    opcode, length = rpc.HEADER.unpack(await reader.readexactly(rpc.HEADER.size))
    if length > rpc.FRAME_MAX:
        raise Closed(CloseCode.UNSUPPORTED, f"a frame may have {rpc.FRAME_MAX} bytes")
    return opcode, await reader.readexactly(length)


def _peer(connected: socket.socket) -> int | None:
    """The process on the other side; PermissionError where it is another user's."""
    if sys.platform != "linux":
        return None
    raw = connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS.size)
    pid, uid, _ = CREDENTIALS.unpack(raw)
    if uid != os.getuid():
        raise PermissionError(f"user {uid} is not the one that is signed in")
    return int(pid) or None

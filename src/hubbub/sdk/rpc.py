"""Client for the local RPC socket of the chat client on the same machine (sdk.md 15, rpc.md).

A connection belongs to the application of its handshake, so there is one per application, opened on first use. While
there are event subscriptions, a lost connection is reopened and the subscriptions are renewed (since 1.9.17228).
"""

import asyncio
import os
import sys
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import msgspec

from hubbub.protocol import rpc
from hubbub.protocol.rpc import Opcode
from hubbub.sdk.core import Core
from hubbub.sdk.enums import ErrorType
from hubbub.sdk.results import failure

FRAME_MOST: Final = 1 << 20
LOOK_AGAIN_S: Final = 5.0
NO_CLIENT: Final = "The chat client is not running on this machine"


def socket_paths() -> list[str]:
    """Return the socket paths on which a chat client may listen, in the order to try."""
    if sys.platform == "win32":
        return [rf"\\?\pipe\{rpc.PLATFORM}-ipc-{n}" for n in rpc.INDEXES]
    base = next(
        (os.environ[name] for name in ("XDG_RUNTIME_DIR", "TMPDIR", "TMP", "TEMP") if os.environ.get(name)), "/tmp"
    )
    return [str(Path(base) / f"{rpc.PLATFORM}-ipc-{n}") for n in rpc.INDEXES]


class Rpc:
    """RPC connections to the local chat client."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._lines: dict[int, Line] = {}
        self._subscribed: dict[str, Callable[[Any], None]] = {}
        self._keeper: asyncio.Task[None] | None = None
        self._kept: Line | None = None
        """The connection with the event subscriptions, or None."""
        self.look_again_s = LOOK_AGAIN_S
        core.closers.append(self.close)

    async def connect(self, client_id: int = 0) -> "Line":
        """Return the open connection of an application, by default the client's own; raise SdkError on failure."""
        client_id = client_id or self._core.application_id
        line = self._lines.setdefault(client_id, Line(client_id, self._hear))
        await line.connect()
        return line

    async def command(self, cmd: str, args: Any = None, *, client_id: int = 0) -> Any:
        """Send a command and return its data; raise SdkError with RPCError, or NetworkError without a chat client."""
        return await (await self.connect(client_id)).command(cmd, args)

    async def subscribe(self, event: str, callback: Callable[[Any], None]) -> None:
        """Subscribe to an event, and again after every reconnect."""
        self._subscribed[event] = callback
        if self._keeper is None or self._keeper.done():
            self._keeper = asyncio.create_task(self._keep())
            self._core.tasks.add(self._keeper)
        elif self._kept is not None and self._kept.open:
            await self._kept.command("SUBSCRIBE", None, event)

    async def unsubscribe(self, event: str) -> None:
        """Cancel the subscription to an event."""
        if self._subscribed.pop(event, None) is None:
            return
        if self._kept is not None and self._kept.open:
            try:
                await self._kept.command("UNSUBSCRIBE", None, event)
            except Exception as error:
                self._core.logs.info(f"The chat client did not confirm the end of a subscription: {error}")
        if not self._subscribed and self._keeper is not None:
            self._keeper.cancel()
            self._keeper = self._kept = None

    async def _keep(self) -> None:
        """Keep a connection open and subscribed until the task is canceled."""
        while True:
            try:
                line = self._kept = await self.connect()
                for event in list(self._subscribed):
                    await line.command("SUBSCRIBE", None, event)
            except Exception as error:
                self._core.logs.verbose(f"Could not subscribe at the chat client: {error}")
                await asyncio.sleep(self.look_again_s)
                continue
            await line.lost.wait()

    def _hear(self, event: str, data: Any) -> None:
        callback = self._subscribed.get(event)
        if callback is not None:
            callback(data)

    async def close(self) -> None:
        """Close all connections."""
        if self._keeper is not None:
            self._keeper.cancel()
            await asyncio.wait([self._keeper])
        for line in self._lines.values():
            await line.close()


class Line:
    """An RPC connection of one application to the chat client."""

    def __init__(self, client_id: int, hear: Callable[[str, Any], None]) -> None:
        self._client_id = client_id
        self._hear_event = hear
        self._writer: asyncio.StreamWriter | None = None
        self._reading: asyncio.Task[None] | None = None
        self._connecting = asyncio.Lock()
        self._waiting: dict[str, asyncio.Future[Any]] = {}
        self.lost = asyncio.Event()
        """Set when the connection ends."""
        self.user: Any = None
        """User object of the user who is signed in to the chat client, or None."""

    @property
    def open(self) -> bool:
        """Whether the connection is open."""
        return self._writer is not None

    async def command(self, cmd: str, args: Any = None, evt: str | None = None) -> Any:
        """Send a command and return the data of its response; raise SdkError with RPCError for an error."""
        nonce = str(uuid.uuid4())
        answer = self._waiting[nonce] = asyncio.get_running_loop().create_future()
        request: dict[str, Any] = {"cmd": cmd, "nonce": nonce}
        if args is not None:
            request["args"] = args
        if evt is not None:
            request["evt"] = evt
        try:
            self._write(Opcode.FRAME, request)
            return await answer
        finally:
            self._waiting.pop(nonce, None)

    async def connect(self) -> None:
        """Connect to the chat client and perform the handshake, unless the connection is open."""
        async with self._connecting:
            if self._writer is not None:
                return
            reader, writer = await self._open()
            # Since 1.10 the pending commands of the previous connection fail.
            self._fail_waiting("The connection to the chat client was reopened")
            self.lost.clear()
            try:
                writer.write(rpc.frame(Opcode.HANDSHAKE, {"v": 1, "client_id": str(self._client_id)}))
                async with asyncio.timeout(rpc.HANDSHAKE_SECONDS):
                    opcode, payload = await _read(reader)
            except (OSError, EOFError, TimeoutError) as error:
                writer.close()
                raise failure(ErrorType.NETWORK_ERROR, f"The chat client did not respond: {error}") from None
            if opcode == Opcode.CLOSE or payload.get("evt") != "READY":
                writer.close()
                told = payload.get("data") or payload
                raise failure(
                    ErrorType.RPC_ERROR,
                    str(told.get("message", "The chat client rejected the connection")),
                    code=int(told.get("code", 1000)),
                )
            self.user = (payload.get("data") or {}).get("user")
            self._writer = writer
            self._reading = asyncio.create_task(self._read(reader, writer))

    async def _open(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        for path in socket_paths():
            try:
                return await _open_pipe(path)
            except OSError:
                continue
        raise failure(ErrorType.NETWORK_ERROR, NO_CLIENT, retryable=True)

    async def _read(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                opcode, payload = await _read(reader)
                if opcode == Opcode.PING:
                    self._write(Opcode.PONG, payload)
                elif opcode == Opcode.CLOSE:
                    break
                elif opcode == Opcode.FRAME:
                    self._hear(payload)
        except (OSError, EOFError, msgspec.MsgspecError, ValueError):
            pass
        finally:
            self._writer = None
            writer.close()
            self._fail_waiting("The chat client closed the connection")
            self.lost.set()

    def _hear(self, payload: dict[str, Any]) -> None:
        nonce, event, data = payload.get("nonce"), payload.get("evt"), payload.get("data")
        answer = self._waiting.get(nonce) if isinstance(nonce, str) else None
        if answer is not None:
            if answer.done():
                return
            if event == "ERROR":
                told = data if isinstance(data, dict) else {}
                answer.set_exception(
                    failure(ErrorType.RPC_ERROR, str(told.get("message", "")), code=int(told.get("code", 1000)))
                )
            else:
                answer.set_result(data)
            return
        if isinstance(event, str):
            self._hear_event(event, data)

    def _write(self, opcode: int, payload: Any) -> None:
        if self._writer is None:
            raise failure(ErrorType.NETWORK_ERROR, NO_CLIENT, retryable=True)
        self._writer.write(rpc.frame(opcode, payload))

    def _fail_waiting(self, why: str) -> None:
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(failure(ErrorType.NETWORK_ERROR, why, retryable=True))
        self._waiting.clear()

    async def close(self) -> None:
        """Close the connection."""
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.wait([self._reading])
        if self._writer is not None:
            self._writer.close()
            self._writer = None


async def _read(reader: asyncio.StreamReader) -> tuple[int, Any]:
    opcode, length = rpc.HEADER.unpack(await reader.readexactly(rpc.HEADER.size))
    if length > FRAME_MOST:
        raise ValueError(f"RPC frame of {length} bytes is too long")
    payload = msgspec.json.decode(await reader.readexactly(length))
    return opcode, payload if opcode in (Opcode.PING, Opcode.PONG) else payload if isinstance(payload, dict) else {}


async def _open_pipe(path: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    if sys.platform == "win32":
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader()
        protocol = asyncio.StreamReaderProtocol(reader)
        transport, _ = await loop.create_pipe_connection(lambda: protocol, path)
        return reader, asyncio.StreamWriter(transport, protocol, reader, loop)
    return await asyncio.open_unix_connection(path)

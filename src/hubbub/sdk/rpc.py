"""Client for the local RPC socket of the chat client on the same machine (spec/sdk.md#15, spec/rpc.md#1).

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
from hubbub.protocol.rpc import Opcode, RpcErrorCode
from hubbub.protocol.rpc_names import RpcCommand, RpcEvent
from hubbub.sdk.core import Core
from hubbub.sdk.enums import ErrorType
from hubbub.sdk.results import sdk_error

RECEIVED_FRAME_BYTES_MAX: Final = 1 << 20
"""Maximum size of a received payload in bytes; the chat client accepts less (`rpc.PROGRAM_FRAME_BYTES_MAX`)."""
RECONNECT_SECONDS: Final = 5.0
"""Delay after a failed attempt to open the connection with the event subscriptions, in seconds."""
NO_CHAT_CLIENT_MESSAGE: Final = "The chat client is not running on this machine"


def socket_paths() -> list[str]:
    """Return the socket paths on which a chat client may listen, in the order to try."""
    if sys.platform == "win32":
        return [rf"\\?\pipe\{rpc.SOCKET_PREFIX}-ipc-{index}" for index in rpc.SOCKET_INDEXES]
    base = next(
        (os.environ[name] for name in ("XDG_RUNTIME_DIR", "TMPDIR", "TMP", "TEMP") if os.environ.get(name)), "/tmp"
    )
    return [str(Path(base) / f"{rpc.SOCKET_PREFIX}-ipc-{index}") for index in rpc.SOCKET_INDEXES]


class RpcClient:
    """RPC connections to the local chat client."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._connections: dict[int, RpcConnection] = {}
        """Connections by application ID."""
        self._event_callbacks: dict[str, Callable[[Any], None]] = {}
        """Callbacks of the subscribed events by event name."""
        self._subscription_task: asyncio.Task[None] | None = None
        """Task that opens the connection and renews the event subscriptions; None if there are none."""
        self._subscribed_connection: RpcConnection | None = None
        """The connection with the event subscriptions, or None."""
        self.reconnect_seconds = RECONNECT_SECONDS
        """Delay after a failed attempt to open the connection with the event subscriptions, in seconds; tests shorten it."""
        core.close_hooks.append(self.close)

    async def connect(self, client_id: int = 0) -> "RpcConnection":
        """Return the open connection of an application, by default the client's own; raise SdkError on failure."""
        client_id = client_id or self._core.application_id
        connection = self._connections.setdefault(client_id, RpcConnection(client_id, self._handle_event))
        await connection.connect()
        return connection

    async def command(self, cmd: RpcCommand, args: Any = None, *, client_id: int = 0) -> Any:
        """Send a command and return the data of its response.

        `args` are the arguments, or None for a command without arguments. `client_id` is the application whose
        connection is used; 0 means the client's own. Raise SdkError of type RPC_ERROR for an error response, or of type
        NETWORK_ERROR if no chat client runs."""
        return await (await self.connect(client_id)).command(cmd, args)

    async def subscribe(self, event: RpcEvent, callback: Callable[[Any], None]) -> None:
        """Subscribe to an event, and again after every reconnect; `callback` receives the data of each event."""
        self._event_callbacks[event] = callback
        if self._subscription_task is None or self._subscription_task.done():
            self._subscription_task = asyncio.create_task(self._stay_subscribed())
            self._core.tasks.add(self._subscription_task)
        elif self._subscribed_connection is not None and self._subscribed_connection.is_open:
            await self._subscribed_connection.command(RpcCommand.SUBSCRIBE, None, event)

    async def unsubscribe(self, event: RpcEvent) -> None:
        """Cancel the subscription to an event."""
        if self._event_callbacks.pop(event, None) is None:
            return
        if self._subscribed_connection is not None and self._subscribed_connection.is_open:
            try:
                await self._subscribed_connection.command(RpcCommand.UNSUBSCRIBE, None, event)
            except Exception as error:
                self._core.logs.info(f"The chat client did not confirm the end of a subscription: {error}")
        if not self._event_callbacks and self._subscription_task is not None:
            self._subscription_task.cancel()
            self._subscription_task = self._subscribed_connection = None

    async def _stay_subscribed(self) -> None:
        """Keep a connection open and subscribed until the task is canceled."""
        while True:
            try:
                connection = self._subscribed_connection = await self.connect()
                for event in list(self._event_callbacks):
                    await connection.command(RpcCommand.SUBSCRIBE, None, event)
            except Exception as error:
                self._core.logs.verbose(f"Could not subscribe at the chat client: {error}")
                await asyncio.sleep(self.reconnect_seconds)
                continue
            await connection.closed_event.wait()

    def _handle_event(self, event: str, data: Any) -> None:
        callback = self._event_callbacks.get(event)
        if callback is not None:
            callback(data)

    async def close(self) -> None:
        """Close all connections."""
        if self._subscription_task is not None:
            self._subscription_task.cancel()
            await asyncio.wait([self._subscription_task])
        for connection in self._connections.values():
            await connection.close()


class RpcConnection:
    """An RPC connection of one application to the chat client; `on_event` receives the name and data of each event."""

    def __init__(self, client_id: int, on_event: Callable[[str, Any], None]) -> None:
        self._client_id = client_id
        self._on_event = on_event
        self._writer: asyncio.StreamWriter | None = None
        """Writer of the open connection; None while it is closed."""
        self._read_task: asyncio.Task[None] | None = None
        self._connect_lock = asyncio.Lock()
        self._pending: dict[str, asyncio.Future[Any]] = {}
        """Responses of the pending commands by nonce."""
        self.closed_event = asyncio.Event()
        """Set when the connection ends."""
        self.user: Any = None
        """User object of the user who is signed in to the chat client, or None."""

    @property
    def is_open(self) -> bool:
        """Whether the connection is open."""
        return self._writer is not None

    async def command(self, cmd: str, args: Any = None, evt: str | None = None) -> Any:
        """Send a command and return the data of its response.

        `cmd` is the command, `args` its arguments or None, and `evt` the event of a subscription or None. Raise SdkError of
        type RPC_ERROR for an error response, or of type NETWORK_ERROR if the connection is closed."""
        nonce = str(uuid.uuid4())
        response = self._pending[nonce] = asyncio.get_running_loop().create_future()
        request: dict[str, Any] = {"cmd": cmd, "nonce": nonce}
        if args is not None:
            request["args"] = args
        if evt is not None:
            request["evt"] = evt
        try:
            self._write(Opcode.FRAME, request)
            return await response
        finally:
            self._pending.pop(nonce, None)

    async def connect(self) -> None:
        """Connect to the chat client and perform the handshake, unless the connection is open."""
        async with self._connect_lock:
            if self._writer is not None:
                return
            reader, writer = await self._open_socket()
            # Since 1.10 the pending commands of the previous connection fail.
            self._fail_pending("The connection to the chat client was reopened")
            self.closed_event.clear()
            try:
                writer.write(rpc.encode_frame(Opcode.HANDSHAKE, {"v": rpc.VERSION, "client_id": str(self._client_id)}))
                async with asyncio.timeout(rpc.HANDSHAKE_TIMEOUT_SECONDS):
                    opcode, payload = await _read_frame(reader)
            except (OSError, EOFError, TimeoutError) as error:
                writer.close()
                raise sdk_error(ErrorType.NETWORK_ERROR, f"The chat client did not respond: {error}") from None
            if opcode == Opcode.CLOSE or payload.get("evt") != RpcEvent.READY:
                writer.close()
                error_data = payload.get("data") or payload
                raise sdk_error(
                    ErrorType.RPC_ERROR,
                    str(error_data.get("message", "The chat client rejected the connection")),
                    code=int(error_data.get("code", RpcErrorCode.UNKNOWN)),
                )
            self.user = (payload.get("data") or {}).get("user")
            self._writer = writer
            self._read_task = asyncio.create_task(self._read_frames(reader, writer))

    async def _open_socket(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Connect to the first socket on which a chat client listens; raise SdkError if there is none."""
        for path in socket_paths():
            try:
                return await _connect_to_path(path)
            except OSError:
                continue
        raise sdk_error(ErrorType.NETWORK_ERROR, NO_CHAT_CLIENT_MESSAGE, retryable=True)

    async def _read_frames(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Handle received frames until the connection ends, then fail the pending commands."""
        try:
            while True:
                opcode, payload = await _read_frame(reader)
                if opcode == Opcode.PING:
                    self._write(Opcode.PONG, payload)
                elif opcode == Opcode.CLOSE:
                    break
                elif opcode == Opcode.FRAME:
                    self._handle_payload(payload)
        except (OSError, EOFError, msgspec.MsgspecError, ValueError):
            pass
        finally:
            self._writer = None
            writer.close()
            self._fail_pending("The chat client closed the connection")
            self.closed_event.set()

    def _handle_payload(self, payload: dict[str, Any]) -> None:
        """Complete a pending command with its response, or pass an event to the event function of the connection."""
        nonce, event, data = payload.get("nonce"), payload.get("evt"), payload.get("data")
        response = self._pending.get(nonce) if isinstance(nonce, str) else None
        if response is not None:
            if response.done():
                return
            if event == RpcEvent.ERROR:
                error_data = data if isinstance(data, dict) else {}
                response.set_exception(
                    sdk_error(
                        ErrorType.RPC_ERROR,
                        str(error_data.get("message", "")),
                        code=int(error_data.get("code", RpcErrorCode.UNKNOWN)),
                    )
                )
            else:
                response.set_result(data)
            return
        if isinstance(event, str):
            self._on_event(event, data)

    def _write(self, opcode: int, payload: Any) -> None:
        if self._writer is None:
            raise sdk_error(ErrorType.NETWORK_ERROR, NO_CHAT_CLIENT_MESSAGE, retryable=True)
        self._writer.write(rpc.encode_frame(opcode, payload))

    def _fail_pending(self, reason: str) -> None:
        for response in self._pending.values():
            if not response.done():
                response.set_exception(sdk_error(ErrorType.NETWORK_ERROR, reason, retryable=True))
        self._pending.clear()

    async def close(self) -> None:
        """Close the connection."""
        if self._read_task is not None:
            self._read_task.cancel()
            await asyncio.wait([self._read_task])
        if self._writer is not None:
            self._writer.close()
            self._writer = None


async def _read_frame(reader: asyncio.StreamReader) -> tuple[int, Any]:
    """Return the opcode and the payload of the next frame; except in a ping or pong, the payload is a dict."""
    opcode, length = rpc.HEADER.unpack(await reader.readexactly(rpc.HEADER.size))
    if length > RECEIVED_FRAME_BYTES_MAX:
        raise ValueError(f"RPC frame of {length} bytes is too long")
    payload = msgspec.json.decode(await reader.readexactly(length))
    return opcode, payload if opcode in (Opcode.PING, Opcode.PONG) else payload if isinstance(payload, dict) else {}


async def _connect_to_path(path: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connect to a named pipe on Windows, or to a Unix socket elsewhere."""
    if sys.platform == "win32":
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader()
        protocol = asyncio.StreamReaderProtocol(reader)
        transport, _ = await loop.create_pipe_connection(lambda: protocol, path)
        return reader, asyncio.StreamWriter(transport, protocol, reader, loop)
    return await asyncio.open_unix_connection(path)

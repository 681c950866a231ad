"""Connection of one program: its scopes, its queue of commands and its event subscriptions (spec/rpc.md#3 to 5).

A connection is independent of the transport: a `Transport` sends the frames.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Final, NamedTuple, Protocol

import msgspec

from hubbub.agent.throttle import Throttle
from hubbub.protocol import codec, rpc
from hubbub.protocol.errors import ApiError
from hubbub.protocol.rpc import CloseCode, Opcode, RpcError, RpcErrorCode
from hubbub.protocol.rpc_names import RpcCommand, RpcEvent
from hubbub.protocol.rpc_scopes import PseudoScope

log = logging.getLogger(__name__)

QUEUED_REQUESTS_MAX: Final = 256
"""Maximum number of queued commands; the connection of a program that sends more is closed."""


class Transport(Protocol):
    """Transport of a connection to one program."""

    def send(self, opcode: Opcode, body: bytes) -> None:
        """Send a complete frame."""

    def close(self, code: CloseCode, message: str) -> None:
        """Close the connection with a close code and a message."""


class Application(NamedTuple):
    """The application that a program belongs to."""

    id: str
    name: str
    icon: str | None
    description: str
    rpc_origins: list[str]
    activity_types: frozenset[int]
    """Activity types that SET_ACTIVITY accepts; the platform decides them by its own clock."""
    premium_type_scope: str
    """Scope that the program needs to read the user's `premium_type`; the platform decides it by its own clock."""


class Subscription(NamedTuple):
    """A subscription of a program to an event."""

    event: str
    subscribed_id: str | None
    """ID of the guild, channel or lobby whose events are sent; None for an event without such an ID."""


class ProgramConnection:
    """The connection of one program."""

    def __init__(
        self, transport: Transport, application: Application, *, pid: int | None = None, scopes: frozenset[str]
    ) -> None:
        self.transport = transport
        self.application = application
        self.pid = pid
        """Process ID of the program; None if the system does not provide it."""
        self.transport_scopes = scopes
        """Scopes that the connection has by its transport, without a token."""
        self.token_scopes: frozenset[str] = frozenset()
        """Scopes of the token; empty before AUTHENTICATE."""
        self.token: str | None = None
        """Access token of the program; None before AUTHENTICATE."""
        self.token_checked_ms = 0
        """Time of the last successful check of the token as Unix milliseconds; 0 before AUTHENTICATE."""
        self.subscriptions: set[Subscription] = set()
        self.activity_throttle: Throttle | None = None
        """Rate limit of activity updates."""
        self.pending_activities: dict[int, dict[str, Any] | None] = {}
        """Activities by process ID that are set but not published yet; None removes the activity of the process."""
        self.is_closed = False
        self._queue: asyncio.Queue[rpc.Request] = asyncio.Queue(QUEUED_REQUESTS_MAX)
        self._worker: asyncio.Task[None] | None = None

    @property
    def application_id(self) -> str:
        """ID of the program's application."""
        return self.application.id

    @property
    def scopes(self) -> frozenset[str]:
        """All scopes of the connection."""
        return self.transport_scopes | self.token_scopes

    @property
    def is_authenticated(self) -> bool:
        """Whether the program authenticated with a token."""
        return PseudoScope.AUTHENTICATED in self.token_scopes

    def start(self, handler: Callable[["ProgramConnection", rpc.Request], Awaitable[Any]]) -> None:
        """Start processing commands with `handler`, which returns the data of the response."""
        self._worker = asyncio.get_running_loop().create_task(self._run_commands(handler))

    async def stop(self) -> None:
        """Mark the connection as closed and cancel its running command."""
        self.is_closed = True
        if self.activity_throttle is not None:
            self.activity_throttle.cancel()
        if self._worker is not None:
            self._worker.cancel()
            await asyncio.wait([self._worker])

    # Receiving

    def receive(self, body: bytes) -> None:
        """Queue the command in a received frame, or reply with an error.

        A frame that is not JSON, and a frame for which the queue has no room, close the connection."""
        try:
            payload = codec.decode_any(body)
        except msgspec.DecodeError:
            self.transport.close(CloseCode.UNSUPPORTED, "The frame is not valid JSON")
            return
        nonce = payload.get("nonce") if isinstance(payload, dict) else None
        try:
            request = msgspec.convert(payload, rpc.Request)
        except msgspec.ValidationError as error:
            self._send_error("", nonce, RpcError(RpcErrorCode.INVALID_PAYLOAD, f"Invalid payload: {error}"))
            return
        if self._queue.full():
            self.transport.close(CloseCode.RATE_LIMITED, "Too many queued commands")
            return
        self._queue.put_nowait(request)

    async def _run_commands(self, handler: Callable[["ProgramConnection", rpc.Request], Awaitable[Any]]) -> None:
        """Run commands and send responses in order: pypresence reads the next frame as its response (spec/rpc.md#3)."""
        while True:
            request = await self._queue.get()
            try:
                result = await handler(self, request)
            except RpcError as error:
                self._send_error(request.cmd, request.nonce, error)
            except ApiError as error:
                self._send_error(request.cmd, request.nonce, RpcError(RpcErrorCode.UNKNOWN, str(error)))
            except Exception:
                log.exception("%s failed with an unexpected exception", request.cmd)
                self._send_error(
                    request.cmd, request.nonce, RpcError(RpcErrorCode.UNKNOWN, "Internal error of the agent")
                )
            else:
                # `evt` must be present as null, because pypresence indexes it (spec/rpc.md#5).
                self._send({"cmd": request.cmd, "data": result, "evt": None, "nonce": request.nonce})

    # Sending

    def dispatch(self, event: RpcEvent, payload: Any) -> None:
        """Send an event to the program."""
        self._send({"cmd": RpcCommand.DISPATCH, "data": payload, "evt": event, "nonce": None})

    def _send_error(self, cmd: str, nonce: Any, error: RpcError) -> None:
        error_data = {"code": int(error.code), "message": error.message}
        self._send({"cmd": cmd, "data": error_data, "evt": RpcEvent.ERROR, "nonce": nonce})

    def _send(self, payload: Any) -> None:
        if not self.is_closed:
            self.transport.send(Opcode.FRAME, msgspec.json.encode(payload))

"""One program that is connected: its handshake, its commands one after another, and the events it wants (rpc.md 3 to 5).

It knows no transport; a `Door` carries its frames.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Final, NamedTuple, Protocol

import msgspec

from hubbub.agent.throttle import Throttle
from hubbub.protocol import rpc, wire
from hubbub.protocol.errors import ApiError
from hubbub.protocol.rpc import CloseCode, Opcode, RpcError, RpcErrorCode
from hubbub.protocol.rpc_scopes import PseudoScope

log = logging.getLogger(__name__)

REQUESTS_WAITING: Final = 256
"""Commands that may wait for the one before; a program that sends more is let go."""


class Door(Protocol):
    """Carries frames to one program."""

    def send(self, opcode: Opcode, body: bytes) -> None:
        """Send a frame, whole."""

    def close(self, code: CloseCode, message: str) -> None:
        """Say why, and end the connection."""


class Application(NamedTuple):
    """Who connected."""

    id: str
    name: str
    icon: str | None
    description: str
    rpc_origins: list[str]
    activity_types: frozenset[int]
    """What SET_ACTIVITY takes, as the platform says by its own clock."""


class Subscription(NamedTuple):
    """An event that a program wants, of one thing or of all."""

    event: str
    about: str | None


class Link:
    """A program and what it may do."""

    def __init__(self, door: Door, application: Application, *, pid: int | None = None, scopes: frozenset[str]) -> None:
        self.door = door
        self.application = application
        self.pid = pid
        """The process on the other side, where the system tells."""
        self.given = scopes
        """What it may do by how it came."""
        self.granted: frozenset[str] = frozenset()
        """What its token allows, once it brought one."""
        self.token: str | None = None
        self.looked_ms = 0
        """When the platform last said that the token is good."""
        self.subscriptions: set[Subscription] = set()
        self.updates: Throttle | None = None
        """Counts its activities."""
        self.wanted: dict[int, dict[str, Any] | None] = {}
        """What it last said for each process, and that others do not see yet."""
        self.ended = False
        self._queue: asyncio.Queue[rpc.Request] = asyncio.Queue(REQUESTS_WAITING)
        self._working: asyncio.Task[None] | None = None

    @property
    def application_id(self) -> str:
        """Whose program it is."""
        return self.application.id

    @property
    def scopes(self) -> frozenset[str]:
        """All that it may do."""
        return self.given | self.granted

    @property
    def is_authenticated(self) -> bool:
        """Whether it brought a token."""
        return PseudoScope.AUTHENTICATED in self.granted

    def start(self, obey: Callable[["Link", rpc.Request], Awaitable[Any]]) -> None:
        """Begin to work."""
        self._working = asyncio.get_running_loop().create_task(self._work(obey))

    async def stop(self) -> None:
        """Nobody is there any more: what is under way ends."""
        self.ended = True
        if self.updates is not None:
            self.updates.cancel()
        if self._working is not None:
            self._working.cancel()
            await asyncio.wait([self._working])

    # In

    def take(self, body: bytes) -> None:
        """A FRAME came."""
        try:
            sent = wire.decode_any(body)
        except msgspec.DecodeError:
            self.door.close(CloseCode.UNSUPPORTED, "a frame must hold JSON")
            return
        nonce = sent.get("nonce") if isinstance(sent, dict) else None
        try:
            request = msgspec.convert(sent, rpc.Request)
        except msgspec.ValidationError as error:
            self._refuse("", nonce, RpcError(RpcErrorCode.INVALID_PAYLOAD, f"the payload cannot be read: {error}"))
            return
        if self._queue.full():
            self.door.close(CloseCode.RATE_LIMITED, "too many commands wait")
            return
        self._queue.put_nowait(request)

    async def _work(self, obey: Callable[["Link", rpc.Request], Awaitable[Any]]) -> None:
        """Commands in their order, and so the replies: pypresence takes the next frame for its answer (rpc.md 3)."""
        while True:
            request = await self._queue.get()
            try:
                data = await obey(self, request)
            except RpcError as error:
                self._refuse(request.cmd, request.nonce, error)
            except ApiError as error:
                self._refuse(request.cmd, request.nonce, RpcError(RpcErrorCode.UNKNOWN, str(error)))
            except Exception:
                log.exception("%s broke", request.cmd)
                self._refuse(request.cmd, request.nonce, RpcError(RpcErrorCode.UNKNOWN, "the agent made a mistake"))
            else:
                # `evt` must be there as null: pypresence indexes it (rpc.md 5).
                self._send({"cmd": request.cmd, "data": data, "evt": None, "nonce": request.nonce})

    # Out

    def dispatch(self, event: str, data: Any) -> None:
        """Tell it something."""
        self._send({"cmd": "DISPATCH", "data": data, "evt": event, "nonce": None})

    def _refuse(self, cmd: str, nonce: Any, error: RpcError) -> None:
        told = {"code": int(error.code), "message": error.message}
        self._send({"cmd": cmd, "data": told, "evt": "ERROR", "nonce": nonce})

    def _send(self, payload: Any) -> None:
        if not self.ended:
            self.door.send(Opcode.FRAME, msgspec.json.encode(payload))

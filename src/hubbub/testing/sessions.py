"""An actor's gateway session, which records events in order until a test consumes them."""

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import aiohttp
import msgspec

from hubbub.testing.errors import NotHeard

CONNECT_TIMEOUT_SECONDS: Final = 60.0
CLOSE_TIMEOUT_SECONDS: Final = 5.0
ATTEMPTS_MAX: Final = 5
"""Number of consecutive connections that may fail before the session is given up."""
ABNORMAL_CLOSE_CODE: Final = 1006
"""Close code of a connection that ended without a close frame."""
RESUMABLE_CLOSE_CODE: Final = 4000
"""Close code that keeps the session resumable."""
TERMINAL_CLOSE_CODES: Final = frozenset((4004, 4010, 4011, 4012, 4013, 4014))
"""Close codes after which a reconnect cannot succeed."""
DISPATCH, HEARTBEAT, IDENTIFY, RESUME, RECONNECT, INVALID_SESSION, HELLO, ACKNOWLEDGED = 0, 1, 2, 6, 7, 9, 10, 11
EVENTS_SHOWN_MAX: Final = 30
"""Number of events listed in a failure message."""

EventPredicate = Callable[[dict[str, Any]], object]
"""A predicate of an event's data."""


class ReceivedEvent(NamedTuple):
    """A received event."""

    name: str
    data: Any


class ActorSession:
    """A gateway session that resumes when its connection breaks, with all events it received."""

    def __init__(self, http: aiohttp.ClientSession, url: str, who: str, identify: dict[str, Any]) -> None:
        self.actor_name = who
        self.id = ""
        self.received: list[ReceivedEvent] = []
        """All events since the session started, including GUILD_CREATE at its start."""
        self.closed_with: int | None = None
        """The close code with which the session ended, or None while it is open."""
        self._http = http
        self._url = f"{url}?v=10&encoding=json"
        self._identify = identify
        self._socket: aiohttp.ClientWebSocketResponse | None = None
        self._taken: set[int] = set()
        self._arrived = asyncio.Event()
        self._sequence: int | None = None
        self._acknowledged = 0
        self._attempts = 0
        self._task: asyncio.Task[None] | None = None

    @classmethod
    async def open(
        cls, http: aiohttp.ClientSession, url: str, who: str, token: str, intents: int | None
    ) -> "ActorSession":
        """Connect, identify, and wait for READY and the guilds."""
        identify: dict[str, Any] = {"token": token, "properties": {"os": "", "browser": "hubbub.testing", "device": ""}}
        if intents is not None:
            identify["intents"] = intents
        session = cls(http, url, who, identify)
        session._task = asyncio.get_running_loop().create_task(session._run())
        try:
            ready = await session.take("READY", within=CONNECT_TIMEOUT_SECONDS)
            for guild in ready["guilds"]:
                await session.take("GUILD_CREATE", _has_id(guild["id"]), within=CONNECT_TIMEOUT_SECONDS)
        except BaseException:
            await session.close()
            raise
        return session

    @property
    def is_open(self) -> bool:
        """Whether the session has not ended."""
        return self.closed_with is None

    async def send(self, op: int, data: Any) -> None:
        """Send a payload; it is lost if the session is reconnecting."""
        if self._socket is not None:
            with contextlib.suppress(ConnectionError):
                await self._socket.send_str(msgspec.json.encode({"op": op, "d": data}).decode())

    async def _run(self) -> None:
        """Reconnect until the session cannot be resumed."""
        code = ABNORMAL_CLOSE_CODE
        try:
            while self._attempts < ATTEMPTS_MAX and code not in TERMINAL_CLOSE_CODES:
                self._attempts += 1
                code = await self._connection()
        except (aiohttp.ClientError, OSError):
            pass
        finally:
            self.closed_with = code
            self._wake()

    async def _connection(self) -> int:
        """Run one connection; return its close code."""
        async with self._http.ws_connect(self._url, max_msg_size=0) as socket:
            self._socket = socket
            heartbeat: asyncio.Task[None] | None = None
            try:
                async for message in socket:
                    if message.type is not aiohttp.WSMsgType.TEXT:
                        break
                    frame = msgspec.json.decode(message.data)
                    if frame["op"] == HELLO:
                        heartbeat = asyncio.get_running_loop().create_task(
                            self._send_heartbeats(frame["d"]["heartbeat_interval"] / 1000)
                        )
                        await self._identify_or_resume()
                    else:
                        await self._receive(frame)
            finally:
                self._socket = None
                if heartbeat is not None:
                    heartbeat.cancel()
            return socket.close_code or ABNORMAL_CLOSE_CODE

    async def _identify_or_resume(self) -> None:
        if self.id:
            await self.send(
                RESUME, {"token": self._identify["token"], "session_id": self.id, "seq": self._sequence or 0}
            )
        else:
            await self.send(IDENTIFY, self._identify)

    async def _receive(self, frame: dict[str, Any]) -> None:
        op = frame["op"]
        if op == DISPATCH:
            self._sequence = frame["s"]
            if frame["t"] == "READY":
                self.id = frame["d"]["session_id"]
            if frame["t"] in ("READY", "RESUMED"):
                self._attempts = 0
            self.received.append(ReceivedEvent(frame["t"], frame["d"]))
        elif op == ACKNOWLEDGED:
            self._acknowledged += 1
        elif op == HEARTBEAT:
            await self.send(HEARTBEAT, self._sequence)
        elif op in (RECONNECT, INVALID_SESSION) and self._socket is not None:
            if op == INVALID_SESSION and not frame["d"]:
                self.id, self._sequence = "", None
            # Close codes 1000 and 1001 would end the session.
            await self._socket.close(code=RESUMABLE_CLOSE_CODE)
        self._wake()

    async def _send_heartbeats(self, interval_seconds: float) -> None:
        while True:
            await asyncio.sleep(interval_seconds)
            await self.send(HEARTBEAT, self._sequence)

    def _wake(self) -> None:
        self._arrived.set()
        self._arrived = asyncio.Event()

    async def wait(self, done: Callable[[], bool], within: float) -> bool:
        """Wait until `done` returns True; return False if the time is up or the session has ended."""
        try:
            async with asyncio.timeout(within):
                while not done():
                    if not self.is_open:
                        return False
                    await self._arrived.wait()
        except TimeoutError:
            return False
        return True

    def find(self, name: str, where: EventPredicate | None = None, *, begin: int = 0) -> int | None:
        """Return the position of the first matching event that was not consumed, or None."""
        for position in range(begin, len(self.received)):
            event = self.received[position]
            if event.name == name and position not in self._taken and (where is None or where(event.data)):
                return position
        return None

    def consume(self, position: int) -> Any:
        """Consume the event at a position, so that it is not found again; return its data."""
        self._taken.add(position)
        return self.received[position].data

    async def take(self, name: str, where: EventPredicate | None = None, *, within: float, sought: str = "") -> Any:
        """Consume the first matching event, waiting for it if necessary; raise `NotHeard` if it does not arrive."""
        __tracebackhide__ = True
        if not await self.wait(lambda: self.find(name, where) is not None, within):
            raise NotHeard(self._missing(name, within, sought))
        position = self.find(name, where)
        assert position is not None
        return self.consume(position)

    async def wait_for_sent(self) -> None:
        """Wait until everything sent before now has arrived: a heartbeat is acknowledged in order."""
        before = self._acknowledged
        while self.is_open and self._acknowledged == before:
            socket = self._socket
            await self.send(HEARTBEAT, self._sequence)
            # Retried on the next connection if this one breaks meanwhile.
            await self.wait(
                lambda used=socket: self._acknowledged > before or self._socket is not used,  # type: ignore[misc]
                CONNECT_TIMEOUT_SECONDS,
            )

    def _missing(self, name: str, within: float, sought: str) -> str:
        if self.is_open:
            text = f"{self.actor_name} did not receive {name}{sought} within {within:g} s"
        else:
            text = f"{self.actor_name} cannot receive {name}{sought}: the session was closed with {self.closed_with}"
        waiting = [f"  {format_event(event)}" for index, event in enumerate(self.received) if index not in self._taken]
        if not waiting:
            return f"{text}. No other events arrived."
        left_out = (
            [f"  ({len(waiting) - EVENTS_SHOWN_MAX} earlier events omitted)"] if len(waiting) > EVENTS_SHOWN_MAX else []
        )
        return "\n".join([f"{text}. Unmatched events:", *left_out, *waiting[-EVENTS_SHOWN_MAX:]])

    async def close(self) -> None:
        """End the session."""
        self._attempts = ATTEMPTS_MAX
        if self._socket is not None:
            with contextlib.suppress(ConnectionError, TimeoutError):
                async with asyncio.timeout(CLOSE_TIMEOUT_SECONDS):
                    await self._socket.close(code=1000)
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)


def format_event(event: ReceivedEvent) -> str:
    """Return an event as one line of text."""
    text = msgspec.json.encode(event.data).decode()
    return f"{event.name} {text if len(text) <= 160 else text[:159] + '…'}"


def contains_fields(wanted: Mapping[str, Any], data: Any) -> bool:
    """Return whether the data contains the wanted values; objects are compared recursively, extra keys are ignored."""
    if not isinstance(data, Mapping):
        return False
    for key, value in wanted.items():
        found = data.get(key)
        if isinstance(value, Mapping):
            if not contains_fields(value, found):
                return False
        elif found != value:
            return False
    return True


def _has_id(guild_id: str) -> EventPredicate:
    return lambda data: data["id"] == guild_id

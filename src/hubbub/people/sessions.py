"""An actor's gateway session, which records the received events in order."""

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import aiohttp
import msgspec

from hubbub.people.errors import EventNotReceived
from hubbub.protocol.enums import CloseCode, GatewayOpcode
from hubbub.protocol.resources.gateway import READY, RESUMED
from hubbub.protocol.resources.guilds import GUILD_CREATE
from hubbub.protocol.shared_enums import TERMINAL_CLOSE_CODES

CONNECT_TIMEOUT_SECONDS: Final = 60.0
CLOSE_TIMEOUT_SECONDS: Final = 5.0
ATTEMPTS_MAX: Final = 5
"""Number of consecutive failed connections after which the session ends."""
ABNORMAL_CLOSE_CODE: Final = 1006
"""Close code of a connection that ended without a close frame."""
RESUMABLE_CLOSE_CODE: Final = CloseCode.UNKNOWN_ERROR
"""Close code that keeps the session resumable."""
EVENTS_SHOWN_MAX: Final = 30
"""Maximum number of events in a failure message."""

EventPredicate = Callable[[dict[str, Any]], object]
"""A predicate of an event's data."""


EVENTS_KEPT_MAX: Final = 10_000
"""Maximum number of events that a session keeps; older ones are discarded."""


class ReceivedEvent(NamedTuple):
    """An event that a session received."""

    name: str
    data: Any


DISCARDED_EVENT: Final = ReceivedEvent("", None)
"""Replacement of a discarded event, so that the positions of later events stay the same."""


class ActorSession:
    """A gateway session that records the latest `EVENTS_KEPT_MAX` events, and resumes when its connection breaks."""

    def __init__(self, http: aiohttp.ClientSession, url: str, actor_name: str, identify: dict[str, Any]) -> None:
        self.actor_name = actor_name
        self.id = ""
        self.received: list[ReceivedEvent] = []
        """All events since the session started, including GUILD_CREATE at its start; see `DISCARDED_EVENT`."""
        self.ready: Any = None
        """The data of READY."""
        self.closed_with: int | None = None
        """The close code with which the session ended, or None while it is open."""
        self._http = http
        self._url = f"{url}?v=10&encoding=json"
        self._identify = identify
        self._socket: aiohttp.ClientWebSocketResponse | None = None
        self._consumed_positions: set[int] = set()
        self._event_received = asyncio.Event()
        self._sequence: int | None = None
        self._acknowledged_heartbeats = 0
        self._failed_connections = 0
        self._task: asyncio.Task[None] | None = None

    @classmethod
    async def open(
        cls, http: aiohttp.ClientSession, url: str, actor_name: str, token: str, intents: int | None
    ) -> "ActorSession":
        """Connect, identify, and wait for READY and the guilds."""
        identify: dict[str, Any] = {"token": token, "properties": {"os": "", "browser": "hubbub.people", "device": ""}}
        if intents is not None:
            identify["intents"] = intents
        session = cls(http, url, actor_name, identify)
        session._task = asyncio.get_running_loop().create_task(session._run())
        try:
            ready = await session.wait_event(READY.name, timeout_seconds=CONNECT_TIMEOUT_SECONDS)
            for guild in ready["guilds"]:
                await session.wait_event(
                    GUILD_CREATE.name, _match_id(guild["id"]), timeout_seconds=CONNECT_TIMEOUT_SECONDS
                )
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
        """Connect again after each close, until a close code is terminal, a connection cannot be opened, or too many fail."""
        code = ABNORMAL_CLOSE_CODE
        try:
            while self._failed_connections < ATTEMPTS_MAX and code not in TERMINAL_CLOSE_CODES:
                self._failed_connections += 1
                code = await self._run_connection()
        except (aiohttp.ClientError, OSError):
            pass
        finally:
            self.closed_with = code
            self._notify_waiters()

    async def _run_connection(self) -> int:
        """Run one connection; return its close code."""
        async with self._http.ws_connect(self._url, max_msg_size=0) as socket:
            self._socket = socket
            heartbeat: asyncio.Task[None] | None = None
            try:
                async for message in socket:
                    if message.type is not aiohttp.WSMsgType.TEXT:
                        break
                    frame = msgspec.json.decode(message.data)
                    if frame["op"] == GatewayOpcode.HELLO:
                        heartbeat = asyncio.get_running_loop().create_task(
                            self._send_heartbeats(frame["d"]["heartbeat_interval"] / 1000)
                        )
                        await self._identify_or_resume()
                    else:
                        await self._handle_frame(frame)
            finally:
                self._socket = None
                if heartbeat is not None:
                    heartbeat.cancel()
            return socket.close_code or ABNORMAL_CLOSE_CODE

    async def _identify_or_resume(self) -> None:
        if self.id:
            await self.send(
                GatewayOpcode.RESUME,
                {"token": self._identify["token"], "session_id": self.id, "seq": self._sequence or 0},
            )
        else:
            await self.send(GatewayOpcode.IDENTIFY, self._identify)

    async def _handle_frame(self, frame: dict[str, Any]) -> None:
        op = frame["op"]
        if op == GatewayOpcode.DISPATCH:
            self._sequence = frame["s"]
            if frame["t"] == READY.name:
                self.id, self.ready = frame["d"]["session_id"], frame["d"]
            if frame["t"] in (READY.name, RESUMED.name):
                self._failed_connections = 0
            self.received.append(ReceivedEvent(frame["t"], frame["d"]))
            if (discarded_count := len(self.received) - EVENTS_KEPT_MAX - 1) >= 0:
                self.received[discarded_count] = DISCARDED_EVENT
                self._consumed_positions.discard(discarded_count)
        elif op == GatewayOpcode.HEARTBEAT_ACK:
            self._acknowledged_heartbeats += 1
        elif op == GatewayOpcode.HEARTBEAT:
            await self.send(GatewayOpcode.HEARTBEAT, self._sequence)
        elif op in (GatewayOpcode.RECONNECT, GatewayOpcode.INVALID_SESSION) and self._socket is not None:
            if op == GatewayOpcode.INVALID_SESSION and not frame["d"]:
                self.id, self._sequence = "", None
            # Close codes 1000 and 1001 would end the session.
            await self._socket.close(code=RESUMABLE_CLOSE_CODE)
        self._notify_waiters()

    async def _send_heartbeats(self, interval_seconds: float) -> None:
        while True:
            await asyncio.sleep(interval_seconds)
            await self.send(GatewayOpcode.HEARTBEAT, self._sequence)

    def _notify_waiters(self) -> None:
        self._event_received.set()
        self._event_received = asyncio.Event()

    async def wait_until(self, predicate: Callable[[], bool], timeout_seconds: float) -> bool:
        """Wait until `predicate` returns True; return False after `timeout_seconds` or if the session has ended."""
        try:
            async with asyncio.timeout(timeout_seconds):
                while not predicate():
                    if not self.is_open:
                        return False
                    await self._event_received.wait()
        except TimeoutError:
            return False
        return True

    def find(self, name: str, where: EventPredicate | None = None) -> int | None:
        """Return the position of the first matching event that was not consumed, or None."""
        for position in range(self._first_position, len(self.received)):
            event = self.received[position]
            if event.name == name and position not in self._consumed_positions and (where is None or where(event.data)):
                return position
        return None

    @property
    def _first_position(self) -> int:
        """Position of the first event that was not discarded."""
        return max(len(self.received) - EVENTS_KEPT_MAX, 0)

    @property
    def kept_events(self) -> list[ReceivedEvent]:
        """The latest received events, at most `EVENTS_KEPT_MAX`, in order."""
        return self.received[self._first_position :]

    def consume(self, position: int) -> Any:
        """Consume the event at a position, so that it is not found again; return its data."""
        self._consumed_positions.add(position)
        return self.received[position].data

    async def wait_event(
        self, name: str, where: EventPredicate | None = None, *, timeout_seconds: float, match_description: str = ""
    ) -> Any:
        """Wait for the first matching event, consume it and return its data.

        Raise `EventNotReceived` after `timeout_seconds`, or if the session has ended. `match_description` describes `where`
        in the error message."""
        __tracebackhide__ = True
        if not await self.wait_until(lambda: self.find(name, where) is not None, timeout_seconds):
            raise EventNotReceived(
                self._missing_event_message(name, timeout_seconds, match_description), self.unmatched_events()
            )
        position = self.find(name, where)
        assert position is not None
        return self.consume(position)

    async def wait_for_sent_events(self) -> None:
        """Wait until all events that the platform sent before this call have arrived.

        The platform acknowledges a heartbeat after the events that it has already sent."""
        previous_count = self._acknowledged_heartbeats
        while self.is_open and self._acknowledged_heartbeats == previous_count:
            socket = self._socket
            await self.send(GatewayOpcode.HEARTBEAT, self._sequence)
            # The loop sends another heartbeat on the next connection if this connection breaks meanwhile.
            await self.wait_until(
                lambda used_socket=socket: (
                    self._acknowledged_heartbeats > previous_count or self._socket is not used_socket
                ),  # type: ignore[misc]
                CONNECT_TIMEOUT_SECONDS,
            )

    def unmatched_events(self) -> list[ReceivedEvent]:
        """Return the events that were not consumed, in order."""
        first_position = self._first_position
        return [
            event
            for index, event in enumerate(self.kept_events, first_position)
            if index not in self._consumed_positions
        ]

    def _missing_event_message(self, name: str, timeout_seconds: float, match_description: str) -> str:
        if self.is_open:
            text = f"{self.actor_name} did not receive {name}{match_description} within {timeout_seconds:g} s"
        else:
            text = f"{self.actor_name} cannot receive {name}{match_description}: the session was closed with {self.closed_with}"
        unmatched_lines = [f"  {format_event(event)}" for event in self.unmatched_events()]
        if not unmatched_lines:
            return f"{text}. No other events arrived."
        omission_note = (
            [f"  ({len(unmatched_lines) - EVENTS_SHOWN_MAX} earlier events omitted)"]
            if len(unmatched_lines) > EVENTS_SHOWN_MAX
            else []
        )
        return "\n".join([f"{text}. Unmatched events:", *omission_note, *unmatched_lines[-EVENTS_SHOWN_MAX:]])

    async def close(self) -> None:
        """End the session."""
        self._failed_connections = ATTEMPTS_MAX
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


def _match_id(guild_id: str) -> EventPredicate:
    return lambda data: data["id"] == guild_id

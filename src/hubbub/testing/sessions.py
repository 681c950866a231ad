"""An actor's gateway session: what they see, kept in order, until somebody asks for it."""

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import aiohttp
import msgspec

from hubbub.testing.errors import NotHeard

CONNECT_S: Final = 60.0
CLOSE_S: Final = 5.0
ATTEMPTS: Final = 5
"""Connections in a row that may come to nothing."""
ABNORMAL: Final = 1006
RESUMING: Final = 4000
TERMINAL: Final = frozenset((4004, 4010, 4011, 4012, 4013, 4014))
"""After these there is no use in trying again."""
DISPATCH, HEARTBEAT, IDENTIFY, RESUME, RECONNECT, INVALID_SESSION, HELLO, ACKNOWLEDGED = 0, 1, 2, 6, 7, 9, 10, 11
SHOWN: Final = 30
"""Events that a message lists."""

Where = Callable[[dict[str, Any]], object]


class Heard(NamedTuple):
    """An event that arrived."""

    name: str
    data: Any


class Session:
    """Somebody's eyes and ears: a session that resumes when its connection breaks, and all that came through it."""

    def __init__(self, http: aiohttp.ClientSession, url: str, who: str, identify: dict[str, Any]) -> None:
        self.who = who
        self.id = ""
        self.heard: list[Heard] = []
        """Every event since the session began, its guilds included."""
        self.closed_with: int | None = None
        """The close code of a connection that cannot be replaced."""
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
    async def open(cls, http: aiohttp.ClientSession, url: str, who: str, token: str, intents: int | None) -> "Session":
        """Connect, identify, and wait for everything that a session begins with."""
        identify: dict[str, Any] = {"token": token, "properties": {"os": "", "browser": "hubbub.testing", "device": ""}}
        if intents is not None:
            identify["intents"] = intents
        session = cls(http, url, who, identify)
        session._task = asyncio.get_running_loop().create_task(session._live())
        try:
            ready = await session.take("READY", within=CONNECT_S)
            for guild in ready["guilds"]:
                await session.take("GUILD_CREATE", _same(guild["id"]), within=CONNECT_S)
        except BaseException:
            await session.close()
            raise
        return session

    @property
    def open_now(self) -> bool:
        """Whether the session goes on."""
        return self.closed_with is None

    async def send(self, op: int, data: Any) -> None:
        """Say something; what is said while the connection is being replaced is lost."""
        if self._socket is not None:
            with contextlib.suppress(ConnectionError):
                await self._socket.send_str(msgspec.json.encode({"op": op, "d": data}).decode())

    async def _live(self) -> None:
        """Keep the session until it cannot be kept."""
        code = ABNORMAL
        try:
            while self._attempts < ATTEMPTS and code not in TERMINAL:
                self._attempts += 1
                code = await self._connection()
        except (aiohttp.ClientError, OSError):
            pass
        finally:
            self.closed_with = code
            self._wake()

    async def _connection(self) -> int:
        """One connection from Hello to its end; the code it was closed with."""
        async with self._http.ws_connect(self._url, max_msg_size=0) as socket:
            self._socket = socket
            beating: asyncio.Task[None] | None = None
            try:
                async for message in socket:
                    if message.type is not aiohttp.WSMsgType.TEXT:
                        break
                    frame = msgspec.json.decode(message.data)
                    if frame["op"] == HELLO:
                        beating = asyncio.get_running_loop().create_task(
                            self._beat(frame["d"]["heartbeat_interval"] / 1000)
                        )
                        await self._greet()
                    else:
                        await self._hear(frame)
            finally:
                self._socket = None
                if beating is not None:
                    beating.cancel()
            return socket.close_code or ABNORMAL

    async def _greet(self) -> None:
        if self.id:
            await self.send(
                RESUME, {"token": self._identify["token"], "session_id": self.id, "seq": self._sequence or 0}
            )
        else:
            await self.send(IDENTIFY, self._identify)

    async def _hear(self, frame: dict[str, Any]) -> None:
        op = frame["op"]
        if op == DISPATCH:
            self._sequence = frame["s"]
            if frame["t"] == "READY":
                self.id = frame["d"]["session_id"]
            if frame["t"] in ("READY", "RESUMED"):
                self._attempts = 0
            self.heard.append(Heard(frame["t"], frame["d"]))
        elif op == ACKNOWLEDGED:
            self._acknowledged += 1
        elif op == HEARTBEAT:
            await self.send(HEARTBEAT, self._sequence)
        elif op in (RECONNECT, INVALID_SESSION) and self._socket is not None:
            if op == INVALID_SESSION and not frame["d"]:
                self.id, self._sequence = "", None
            # Any other code than these keeps the session.
            await self._socket.close(code=RESUMING)
        self._wake()

    async def _beat(self, interval_s: float) -> None:
        while True:
            await asyncio.sleep(interval_s)
            await self.send(HEARTBEAT, self._sequence)

    def _wake(self) -> None:
        self._arrived.set()
        self._arrived = asyncio.Event()

    async def wait(self, done: Callable[[], bool], within: float) -> bool:
        """Wait until something that arrives makes it so; False when it did not in time, or cannot any more."""
        try:
            async with asyncio.timeout(within):
                while not done():
                    if not self.open_now:
                        return False
                    await self._arrived.wait()
        except TimeoutError:
            return False
        return True

    def find(self, name: str, where: Where | None = None, *, begin: int = 0) -> int | None:
        """The position of the first such event that nobody took."""
        for position in range(begin, len(self.heard)):
            event = self.heard[position]
            if event.name == name and position not in self._taken and (where is None or where(event.data)):
                return position
        return None

    def took(self, position: int) -> Any:
        """Take an event, so that it is not found again."""
        self._taken.add(position)
        return self.heard[position].data

    async def take(self, name: str, where: Where | None = None, *, within: float, sought: str = "") -> Any:
        """The first such event that nobody took yet, now or when it comes."""
        __tracebackhide__ = True
        if not await self.wait(lambda: self.find(name, where) is not None, within):
            raise NotHeard(self._missing(name, within, sought))
        position = self.find(name, where)
        assert position is not None
        return self.took(position)

    async def fence(self) -> None:
        """Wait until all that was sent to us before now has arrived: a heartbeat is answered in its turn."""
        before = self._acknowledged
        while self.open_now and self._acknowledged == before:
            socket = self._socket
            await self.send(HEARTBEAT, self._sequence)
            # Asked again on the next connection, if this one breaks meanwhile.
            await self.wait(lambda asked=socket: self._acknowledged > before or self._socket is not asked, CONNECT_S)  # type: ignore[misc]

    def _missing(self, name: str, within: float, sought: str) -> str:
        if self.open_now:
            text = f"{self.who} did not hear {name}{sought} within {within:g} s"
        else:
            text = f"{self.who} cannot hear {name}{sought}: the session was closed with {self.closed_with}"
        waiting = [f"  {in_short(event)}" for index, event in enumerate(self.heard) if index not in self._taken]
        if not waiting:
            return f"{text}; nothing else came either"
        left_out = [f"  ({len(waiting) - SHOWN} more before)"] if len(waiting) > SHOWN else []
        return "\n".join([f"{text}. What came and nobody took:", *left_out, *waiting[-SHOWN:]])

    async def close(self) -> None:
        """Leave."""
        self._attempts = ATTEMPTS
        if self._socket is not None:
            with contextlib.suppress(ConnectionError, TimeoutError):
                async with asyncio.timeout(CLOSE_S):
                    await self._socket.close(code=1000)
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)


def in_short(event: Heard) -> str:
    """An event in a line."""
    text = msgspec.json.encode(event.data).decode()
    return f"{event.name} {text if len(text) <= 160 else text[:159] + '…'}"


def fits(wanted: Mapping[str, Any], data: Any) -> bool:
    """Whether everything wanted is there; objects are looked into, and what else they hold does not matter."""
    if not isinstance(data, Mapping):
        return False
    for key, value in wanted.items():
        found = data.get(key)
        if isinstance(value, Mapping):
            if not fits(value, found):
                return False
        elif found != value:
            return False
    return True


def _same(guild_id: str) -> Where:
    return lambda data: data["id"] == guild_id

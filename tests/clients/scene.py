"""Shared setup of the client library tests: a guild with users and a bot, and a proxy whose connections can be cut."""

import asyncio
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hubbub.protocol.ids import UserId
from hubbub.server.core.call import Call
from hubbub.server.places import members
from tests.world import Actor, Guild, World

TIMEOUT_SECONDS = 45.0
"""Timeout in seconds. It is long because a busy machine needs time to start Node."""

ADMINISTRATOR = 1 << 3

LARGE_GUILD_MEMBERS = 1500
"""Members of a large guild: more than fit into GUILD_CREATE, and more than one chunk of 1000."""


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


ONE_PIXEL_PNG = (
    b"\x89PNG\r\n\x1a\n"
    + _chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
    + _chunk(b"IDAT", zlib.compress(b"\x00\x7f"))
    + _chunk(b"IEND", b"")
)
"""A PNG of one pixel."""


class CuttableProxy:
    """A TCP proxy in front of a server, whose gateway connections can be cut without a closing handshake."""

    def __init__(self) -> None:
        self.target = 0
        self.queries: list[str] = []
        """The request lines of all gateway connections so far."""
        self._server: asyncio.Server | None = None
        self._gateway: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    async def open(self) -> int:
        """Start listening and return the port."""
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    async def close(self) -> None:
        """Close all connections."""
        assert self._server is not None
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def cut(self) -> int:
        """Break every gateway connection on both sides, without a closing handshake; return the number of connections."""
        writers, self._gateway = self._gateway, set()
        for writer in writers:
            writer.transport.abort()
        return len(writers) // 2

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            back, onward = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:
            writer.transport.abort()
            return
        ends = {writer, onward}

        def sent(chunk: bytes) -> None:
            # Libraries reuse an HTTP connection for the WebSocket, so any chunk may be the upgrade request.
            if chunk.startswith(b"GET /gateway"):
                self.queries.append(chunk.split(b"\r\n", 1)[0].decode())
                self._gateway |= ends

        try:
            await asyncio.gather(_copy(reader, onward, sent), _copy(back, writer, lambda _: None))
        except OSError:
            pass
        finally:
            self._gateway -= ends
            for end in ends:
                end.transport.abort()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, seen: Callable[[bytes], None]) -> None:
    while chunk := await reader.read(65536):
        seen(chunk)
        writer.write(chunk)
        await writer.drain()
    writer.close()


class Inbox:
    """Events that a library reported to its program, taken one by one in any order."""

    def __init__(self) -> None:
        self.events: list[Any] = []
        """Events that were not taken yet, oldest first."""
        self._arrived = asyncio.Event()
        self._ended = False
        self._reason: BaseException | None = None

    def put(self, event: Any) -> None:
        """Add an event."""
        self.events.append(event)
        self._arrived.set()

    def end(self, reason: BaseException | None = None) -> None:
        """Mark the end of events, with the reason."""
        self._ended, self._reason = True, reason
        self._arrived.set()

    async def take(self, matches: Callable[[Any], bool], what: str = "what the test waits for") -> Any:
        """Wait for the oldest untaken event that matches and take it."""
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                while True:
                    for position, event in enumerate(self.events):
                        if matches(event):
                            return self.events.pop(position)
                    if self._ended:
                        raise AssertionError(f"the client ended before {what} came") from self._reason
                    self._arrived.clear()
                    await self._arrived.wait()
        except TimeoutError:
            came = [event[0] if isinstance(event, tuple) else type(event).__name__ for event in self.events]
            raise AssertionError(f"{what} did not come; what did: {came}") from None


@dataclass
class ClientScene:
    """Alice's guild with Bob in it, and a bot with all permissions."""

    world: World
    proxy: CuttableProxy
    alice: Actor
    bob: Actor
    guild: Guild
    bot: Actor

    async def add_members(self, count: int = LARGE_GUILD_MEMBERS) -> None:
        """Add many members directly to the store."""

        def write(call: Call) -> None:
            people = [(call.new_id(UserId), f"citizen{number:04}") for number in range(count)]
            call.tx.run_many("INSERT INTO users (id, username) VALUES (?, ?)", people)
            rows = [(self.guild.id, user_id, call.now_ms) for user_id, _ in people]
            call.tx.run_many("INSERT INTO members (guild_id, user_id, joined_ms) VALUES (?, ?, ?)", rows)
            call.tx.run("UPDATE guilds SET member_count = member_count + ? WHERE id = ?", count, self.guild.id)

        await self.world.write(write)

    async def guilds_on_both_shards(self) -> dict[int, list[int]]:
        """Create guilds with the bot until each of two shards has one; return the guild ids by shard."""
        shards: dict[int, list[int]] = {0: [], 1: []}
        guild = self.guild
        while True:
            shards[(guild.id >> 22) % 2].append(guild.id)
            if all(shards.values()):
                return shards
            guild = await self.world.guild(self.alice)
            await self.world.write(
                lambda call, guild=guild: members.add(call, guild.id, self.bot.id), actor=self.alice.id
            )

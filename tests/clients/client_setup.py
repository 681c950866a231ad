"""Shared setup of the client library tests: a guild with users and a bot, and a proxy whose connections can be aborted."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hubbub.protocol.ids import UserId
from hubbub.server.core.call import Call
from hubbub.server.places import members
from tests import media
from tests.world import Actor, Guild, World

TIMEOUT_SECONDS = 45.0
"""Timeout of each wait in seconds; it is long, because starting Node on a busy machine takes time."""

LARGE_GUILD_MEMBER_COUNT = 1500
"""Number of members that make a guild large: more than fit into GUILD_CREATE, and more than one chunk of 1000."""

ONE_PIXEL_PNG = media.png(1, 1)


class AbortableProxy:
    """A TCP proxy in front of a server, whose gateway connections can be aborted without a closing handshake."""

    def __init__(self) -> None:
        self.target_port = 0
        """Port of the server that connections are forwarded to."""
        self.request_lines: list[str] = []
        """The HTTP request lines of all gateway connections so far."""
        self._server: asyncio.Server | None = None
        self._gateway_writers: set[asyncio.StreamWriter] = set()
        """Both sides of every open gateway connection."""
        self._tasks: set[asyncio.Task[None]] = set()

    async def open(self) -> int:
        """Start listening and return the port."""
        self._server = await asyncio.start_server(self._on_connected, "127.0.0.1", 0)
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    async def close(self) -> None:
        """Stop listening and close all connections."""
        assert self._server is not None
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def abort_connections(self) -> int:
        """Abort every gateway connection on both sides, without a closing handshake; return the number of connections."""
        writers, self._gateway_writers = self._gateway_writers, set()
        for writer in writers:
            writer.transport.abort()
        return len(writers) // 2

    async def _on_connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            server_reader, server_writer = await asyncio.open_connection("127.0.0.1", self.target_port)
        except OSError:
            writer.transport.abort()
            return
        writers = {writer, server_writer}

        def record_upgrade(chunk: bytes) -> None:
            # Libraries reuse an HTTP connection for the WebSocket, so any chunk may be the upgrade request.
            if chunk.startswith(b"GET /gateway"):
                self.request_lines.append(chunk.split(b"\r\n", 1)[0].decode())
                self._gateway_writers |= writers

        try:
            await asyncio.gather(
                _copy(reader, server_writer, record_upgrade), _copy(server_reader, writer, lambda _: None)
            )
        except OSError:
            pass
        finally:
            self._gateway_writers -= writers
            for open_writer in writers:
                open_writer.transport.abort()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, on_chunk: Callable[[bytes], None]) -> None:
    while chunk := await reader.read(65536):
        on_chunk(chunk)
        writer.write(chunk)
        await writer.drain()
    writer.close()


class Inbox:
    """Events that a client library reported to its program; tests take them in any order."""

    def __init__(self) -> None:
        self.events: list[Any] = []
        """Events that were not taken yet, oldest first."""
        self._arrived = asyncio.Event()
        self._has_ended = False
        self._reason: BaseException | None = None

    def put(self, event: Any) -> None:
        """Add an event."""
        self.events.append(event)
        self._arrived.set()

    def end(self, reason: BaseException | None = None) -> None:
        """Record that no further events follow, with the exception that ended the client, if any."""
        self._has_ended, self._reason = True, reason
        self._arrived.set()

    async def take(self, matches: Callable[[Any], bool], description: str = "the expected event") -> Any:
        """Wait for the oldest event that matches and was not taken yet, and return it."""
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                while True:
                    for position, event in enumerate(self.events):
                        if matches(event):
                            return self.events.pop(position)
                    if self._has_ended:
                        raise AssertionError(f"the client ended before {description} arrived") from self._reason
                    self._arrived.clear()
                    await self._arrived.wait()
        except TimeoutError:
            received_names = [event[0] if isinstance(event, tuple) else type(event).__name__ for event in self.events]
            raise AssertionError(f"{description} did not arrive; events received: {received_names}") from None


@dataclass
class ClientSetup:
    """Alice's guild with Bob in it, and a bot with all permissions."""

    world: World
    proxy: AbortableProxy
    alice: Actor
    bob: Actor
    guild: Guild
    bot: Actor

    async def add_members(self, count: int = LARGE_GUILD_MEMBER_COUNT) -> None:
        """Insert many users and their memberships directly into the store."""

        def insert_members(call: Call) -> None:
            users = [(call.new_id(UserId), f"user{number:04}") for number in range(count)]
            call.tx.run_many("INSERT INTO users (id, username) VALUES (?, ?)", users)
            memberships = [(self.guild.id, user_id, call.now_ms) for user_id, _ in users]
            call.tx.run_many("INSERT INTO members (guild_id, user_id, joined_ms) VALUES (?, ?, ?)", memberships)
            call.tx.run("UPDATE guilds SET member_count = member_count + ? WHERE id = ?", count, self.guild.id)

        await self.world.write(insert_members)

    async def create_guilds_on_both_shards(self) -> dict[int, list[int]]:
        """Create guilds with the bot until each of two shards has one; return the guild IDs by shard number."""
        guild_ids_by_shard: dict[int, list[int]] = {0: [], 1: []}
        guild = self.guild
        while True:
            # spec/gateway.md#4.2: the shard of a guild follows from the timestamp in its ID.
            guild_ids_by_shard[(guild.id >> 22) % 2].append(guild.id)
            if all(guild_ids_by_shard.values()):
                return guild_ids_by_shard
            guild = await self.world.guild(self.alice)
            await self.world.write(
                lambda call, guild=guild: members.membership.add(call, guild.id, self.bot.id), actor=self.alice.id
            )

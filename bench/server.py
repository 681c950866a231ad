"""The measured programs, each in its own process: the platform, or a minimal reference.

    python -m bench.server hubbub DATA [URL]    the platform with a small world, with a durable SQLite or PostgreSQL store
    python -m bench.server hubbub-small DATA    with small buffers, and rate limits in report mode
    python -m bench.server hubbub-again DATA [URL]    started again with existing data
    python -m bench.server hubbub-clients DATA USER SCOPE COUNT    started again, with authorization codes of the user
    python -m bench.server hubbub-players DATA USER COUNT    started again, with players who share a friend
    python -m bench.server hubbub-members DATA GUILD COUNT    started again, with further members of the guild
    python -m bench.server hubbub-guilds DATA BOT OWNER COUNT    started again, with further guilds of the owner that the bot is in
    python -m bench.server http           an aiohttp handler that reads and returns JSON
    python -m bench.server minimal FILE   an aiohttp handler that stores messages in SQLite with group commit
    python -m bench.server sockets        a loop of transport.write of one prebuilt frame to every subscribed connection

The first line on standard output is JSON with its URL, IDs and tokens. The process runs until its standard input
closes.
"""

import asyncio
import gc
import itertools
import json
import sqlite3
import sys
import threading
from collections.abc import Awaitable, Callable
from functools import partial
from queue import SimpleQueue
from typing import Any

import msgspec
import uvloop
from aiohttp import web

from bench.heap import bytes_in_use

FRAME_BYTES = 900
"""About the size of a MESSAGE_CREATE frame."""


def print_document(document: dict[str, Any]) -> None:
    """Print a document for the parent process."""
    print(json.dumps(document), flush=True)


async def serve_until_eof(database: Any = None) -> None:
    """Serve until standard input closes.

    The line `gc` collects garbage and prints the bytes in use; `round_trips` prints the round trips of the database."""
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        if line.strip() == "gc":
            gc.collect()
            print_document({"in_use": bytes_in_use()})
        elif line.strip() == "round_trips":
            print_document({"round_trips": getattr(database, "round_trips", 0)})


async def run_platform(
    folder: str,
    database_url: str | None = None,
    *,
    has_data: bool = False,
    has_small_buffers: bool = False,
    code_arguments: tuple[str, ...] = (),
    player_arguments: tuple[str, ...] = (),
    member_arguments: tuple[str, ...] = (),
    guild_arguments: tuple[str, ...] = (),
) -> None:
    """Run the platform with one user, one bot and one guild.

    With `has_data`, the platform starts with the stored world. The other arguments add stored data: they are the arguments of
    `_create_codes`, `_create_players`, `_create_members` and `_create_guilds`.
    """
    from hubbub.protocol.flags import ApplicationFlags
    from hubbub.protocol.ids import UserId
    from hubbub.server.app import App
    from hubbub.server.commands.serve import tune_garbage_collection
    from hubbub.server.core import auth
    from hubbub.server.core.call import Actor, Call
    from hubbub.server.core.config import Config, GatewayConfig, IdentityConfig
    from hubbub.server.identity import accounts, applications
    from hubbub.server.places import guilds, members

    config = Config(
        data=folder,
        database_url=database_url,
        port=0,
        rate_limits="report" if has_small_buffers else "off",
        identity=IdentityConfig(id_token_algorithm="ES256"),
        gateway=GatewayConfig(session_starts_max=10_000_000, max_concurrency=10_000_000, drain_ms=0),
    )
    if has_small_buffers:
        buffers = msgspec.structs.replace(config.gateway, replay_events_max=400, replay_ms=10_000)
        config = msgspec.structs.replace(config, gateway=buffers, database_cache_bytes=1024 * 1024)
    app = App(config)
    await app.start()
    if code_arguments or player_arguments or member_arguments or guild_arguments or has_data:
        extra_fields: dict[str, Any] = {}
        if code_arguments:
            extra_fields = await app.database.write(lambda tx: _create_codes(app.make_call(tx), *code_arguments))
        if player_arguments:
            extra_fields = await app.database.write(lambda tx: _create_players(app.make_call(tx), *player_arguments))
        if member_arguments:
            extra_fields = await app.database.write(lambda tx: _create_members(app.make_call(tx), *member_arguments))
        if guild_arguments:
            actor = Actor(user_id=UserId(1), kind="user")
            await app.database.write(lambda tx: _create_guilds(app.make_call(tx, actor), *guild_arguments))
        print_document({"url": app.config.public_url, **extra_fields})
        await serve_until_eof(app.database)
        await app.stop()
        return

    def create_world(call: Call) -> dict[str, Any]:
        row = accounts.create_user(call, "alice")
        token = auth.issue(call.tx, kind="user", user_id=row.id, now=call.now_ms, ids=call.ids)
        flags = ApplicationFlags.GATEWAY_MESSAGE_CONTENT_LIMITED | ApplicationFlags.GATEWAY_GUILD_MEMBERS_LIMITED
        application = applications.management.create(call, "bencher", row.id, flags=flags)
        guild = guilds.creation.create(call, owner_id=row.id, name="Bench")
        members.membership.add(call, guild.id, UserId(application.row.id))
        rows = call.tx.all("SELECT id FROM channels WHERE guild_id = ? AND type = 0", guild.id)
        return {
            "user_token": token,
            "user_id": str(int(row.id)),
            "bot_token": application.bot_token,
            "bot_id": str(int(application.row.id)),
            "guild": str(int(guild.id)),
            "channel": str(rows[0][0]),
        }

    actor = Actor(user_id=UserId(1), kind="user")
    document = await app.database.write(lambda tx: create_world(app.make_call(tx, actor)))
    tune_garbage_collection()
    print_document({"url": app.config.public_url, **document})
    await serve_until_eof(app.database)
    await app.stop()


def _create_codes(call: Any, user_id: str, scope: str, count: str) -> dict[str, str]:
    """Create an application, and authorization codes `CLIENT_ID 0`, `CLIENT_ID 1`, ... granted by a user."""
    from hubbub.protocol.ids import UserId
    from hubbub.server.core.auth import hash_token
    from hubbub.server.identity import applications

    redirect = "https://bench.example/callback"
    application = applications.management.create(
        call, "client", UserId(int(user_id)), with_bot=False, redirect_uris=[redirect]
    )
    expires_ms = call.now_ms + 600_000
    call.tx.run_many(
        "INSERT INTO authorization_codes (hash, application_id, user_id, scopes, redirect_uri, redirect_sent, expires_ms) "
        "VALUES (?, ?, ?, ?, ?, 1, ?)",
        [
            (
                hash_token(f"{application.row.id} {number}"),
                application.row.id,
                int(user_id),
                scope,
                redirect,
                expires_ms,
            )
            for number in range(int(count))
        ],
    )
    return {
        "client_id": str(int(application.row.id)),
        "client_secret": application.client_secret,
        "redirect_uri": redirect,
    }


def _create_players(call: Any, user_id: str, count: str) -> dict[str, Any]:
    """Create a game; return the access tokens of its players, and of one more player who is a friend of all of them."""
    from hubbub.protocol.flags import ApplicationFlags
    from hubbub.protocol.ids import UserId
    from hubbub.protocol.scopes import expand_scopes
    from hubbub.server.core import auth
    from hubbub.server.identity import accounts, applications, relationships

    social = ApplicationFlags.SOCIAL_LAYER_INTEGRATION
    game = applications.management.create(call, "game", UserId(int(user_id)), flags=social).row
    scopes = expand_scopes(["sdk.social_layer"])

    def create_player(name: str) -> tuple[int, str]:
        row = accounts.create_user(call, name)
        token = auth.issue(
            call.tx,
            kind="bearer",
            user_id=row.id,
            now=call.now_ms,
            ids=call.ids,
            application_id=game.id,
            scopes=scopes,
        )
        return row.id, token

    shared_friend_id, shared_friend_token = create_player("shared_friend")
    tokens = []
    for number in range(int(count)):
        player_id, token = create_player(f"player{number}")
        relationships.befriend(call, shared_friend_id, player_id)
        tokens.append(token)
    return {"player_tokens": tokens, "shared_friend_token": shared_friend_token}


def _create_members(call: Any, guild_id: str, count: str) -> dict[str, Any]:
    """Add members to a guild; return their tokens."""
    from hubbub.protocol.ids import GuildId
    from hubbub.server.core import auth
    from hubbub.server.identity import accounts
    from hubbub.server.places import members

    tokens = []
    for number in range(int(count)):
        row = accounts.create_user(call, f"member{number}")
        members.membership.add(call, GuildId(int(guild_id)), row.id)
        tokens.append(auth.issue(call.tx, kind="user", user_id=row.id, now=call.now_ms, ids=call.ids))
    return {"member_tokens": tokens}


def _create_guilds(call: Any, bot_id: str, owner_id: str, count: str) -> None:
    """Create guilds of a user with a bot."""
    from hubbub.protocol.ids import UserId
    from hubbub.server.places import guilds, members

    for number in range(int(count)):
        guild = guilds.creation.create(call, owner_id=UserId(int(owner_id)), name=f"Guild {number}")
        members.membership.add(call, guild.id, UserId(int(bot_id)))


class GroupCommit:
    """Writes messages in one thread, which commits all that wait in one transaction and syncs the disk once."""

    def __init__(self, file: str) -> None:
        self._queue: SimpleQueue[tuple[tuple[Any, ...], asyncio.Future[None]] | None] = SimpleQueue()
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._run, args=(file,))
        self._thread.start()

    def write(self, row: tuple[Any, ...]) -> "asyncio.Future[None]":
        """Write a message; the future is done when it is durable."""
        future: asyncio.Future[None] = self._loop.create_future()
        self._queue.put((row, future))
        return future

    def close(self) -> None:
        """Wait for the thread."""
        self._queue.put(None)
        self._thread.join()

    def _run(self, file: str) -> None:
        connection = sqlite3.connect(file, isolation_level=None)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("CREATE TABLE messages (channel_id INTEGER, id INTEGER PRIMARY KEY, content TEXT)")
        while (write := self._queue.get()) is not None:
            batch = [write]
            while not self._queue.empty() and (write := self._queue.get()) is not None:
                batch.append(write)
            connection.execute("BEGIN")
            connection.executemany("INSERT INTO messages VALUES (?, ?, ?)", [row for row, _ in batch])
            connection.execute("COMMIT")
            self._loop.call_soon_threadsafe(_resolve, [future for _, future in batch])
            if write is None:
                return


def _resolve(futures: "list[asyncio.Future[None]]") -> None:
    for future in futures:
        future.set_result(None)


async def run_minimal_platform(file: str) -> None:
    """Serve a durable POST of a message with aiohttp, msgspec and SQLite, and nothing else."""

    class NewMessage(msgspec.Struct):
        content: str

    decode = msgspec.json.Decoder(NewMessage).decode
    store, ids = GroupCommit(file), itertools.count(1)

    async def handler(request: web.Request) -> web.Response:
        message = decode(await request.read())
        message_id, channel_id = next(ids), int(request.match_info["channel_id"])
        await store.write((channel_id, message_id, message.content))
        response = {"id": str(message_id), "channel_id": str(channel_id), "content": message.content}
        return web.Response(body=msgspec.json.encode(response), content_type="application/json")

    await _serve_route(handler)
    store.close()


async def run_http_reference() -> None:
    """Serve a minimal JSON POST and GET with a path parameter."""

    async def handler(request: web.Request) -> web.Response:
        body = await request.read()
        if body:
            msgspec.json.decode(body)
        response = msgspec.json.encode({"id": request.match_info["channel_id"], "content": "x"})
        return web.Response(body=response, content_type="application/json")

    await _serve_route(handler)


async def _serve_route(handler: Callable[[web.Request], Awaitable[web.Response]]) -> None:
    """Serve one handler until standard input closes."""
    application = web.Application()
    application.router.add_route("*", "/api/v10/channels/{channel_id}/messages", handler)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    print_document({"url": f"http://{host}:{port}"})
    await serve_until_eof()
    await runner.cleanup()


async def run_socket_reference() -> None:
    """Serve two commands: `join` subscribes the connection; `go N` writes one prebuilt frame N times to each subscriber."""
    connections: set[asyncio.Transport] = set()
    frame = b"\x81\x7e" + FRAME_BYTES.to_bytes(2, "big") + b"x" * FRAME_BYTES

    class Connection(asyncio.Protocol):
        def connection_made(self, transport: Any) -> None:
            self.transport = transport

        def data_received(self, data: bytes) -> None:
            command, _, number = data.decode().strip().partition(" ")
            if command == "join":
                connections.add(self.transport)
                return
            loop = asyncio.get_running_loop()
            self.remaining = int(number)
            loop.call_soon(self.write_frame)

        def write_frame(self) -> None:
            for transport in connections:
                transport.write(frame)
            self.remaining -= 1
            if self.remaining:
                # Pause between messages, so that buffers drain as they do in production.
                asyncio.get_running_loop().call_later(0.02, self.write_frame)

        def connection_lost(self, _: Exception | None) -> None:
            connections.discard(self.transport)

    server = await asyncio.get_running_loop().create_server(Connection, "127.0.0.1", 0, backlog=8192)
    host, port = server.sockets[0].getsockname()[:2]
    print_document({"host": host, "port": port})
    await serve_until_eof()
    server.close()


if __name__ == "__main__":
    programs: dict[str, Any] = {
        "hubbub": run_platform,
        "hubbub-small": partial(run_platform, has_small_buffers=True),
        "hubbub-again": partial(run_platform, has_data=True),
        "hubbub-clients": lambda folder, *arguments: run_platform(folder, code_arguments=arguments),
        "hubbub-players": lambda folder, *arguments: run_platform(folder, player_arguments=arguments),
        "hubbub-guilds": lambda folder, *arguments: run_platform(folder, guild_arguments=arguments),
        "hubbub-members": lambda folder, *arguments: run_platform(folder, member_arguments=arguments),
        "http": run_http_reference,
        "minimal": run_minimal_platform,
        "sockets": run_socket_reference,
    }
    uvloop.run(programs[sys.argv[1]](*sys.argv[2:]))

"""A rolling upgrade: processes of two versions on one PostgreSQL, while users keep using the platform.

In the first test the older version is this one, and the newer version is this one with further migrations, the first of which
adds columns to every table. So the code of this version runs on a schema that it does not know, as it will beside the next
release (decisions/0148). In the second test the older version is the code of the previous release, if the clone contains it.
"""

import asyncio
import re
import sqlite3
from pathlib import Path

import aiohttp
import psycopg
import pytest

from hubbub.server.core import migrations
from hubbub.server.core.migrations import MigrationError
from tests.journeys.previous_version import extract_source
from tests.journeys.processes import ApiUser, GatewaySession, Server, create_guild, register_user

pytestmark = pytest.mark.xdist_group("rolling_upgrade")

CURRENT_SCHEMA = len(migrations.load())
EMOJI = "%F0%9F%94%A5"


def table_names() -> list[str]:
    """Return the tables of the current schema, without those that exist on SQLite only."""
    statements = [statement for migration in migrations.load() for statement in migration.statements("postgres")]
    return [match[1] for statement in statements if (match := re.match(r"CREATE TABLE (\w+)", statement))]


def write_migrations(folder: Path, *further_migrations: tuple[str, str]) -> Path:
    """Create a folder with the migrations of this version and further ones (name, SQL)."""
    folder.mkdir()
    for migration in migrations.load():
        (folder / f"{migration.number:04d}_{migration.name}.sql").write_text(migration.text)
    for number, (name, text) in enumerate(further_migrations, start=CURRENT_SCHEMA + 1):
        (folder / f"{number:04d}_{name}.sql").write_text(text)
    return folder


def expanding_migration() -> tuple[str, str]:
    """Return the name and the SQL of a migration that adds columns to every table, and one more table."""
    statements = [
        f"ALTER TABLE {name} ADD COLUMN added_text TEXT;\n"
        f"ALTER TABLE {name} ADD COLUMN added_number INTEGER NOT NULL DEFAULT 7;"
        for name in table_names()
    ]
    return "expansion", "\n".join([*statements, "CREATE TABLE added (id {autoid}, body {blob});"])


def contracting_migration() -> tuple[str, str]:
    """Return name and SQL of a migration that removes a column, which code of the expanded schema does not use."""
    return (
        "contraction",
        f"-- contract: schema {CURRENT_SCHEMA + 1}, release 9.0.0\nALTER TABLE users DROP COLUMN added_text;",
    )


class Platform:
    """Processes on one database; each has its own number and all roles."""

    def __init__(self, folder: Path, database_url: str, nats_url: str) -> None:
        self.servers: list[Server] = []
        self._folder = folder
        self._flags = ("--database-url", database_url, "--nats-url", nats_url, "--rate-limits", "off")

    def add(self, migration_folder: Path | None = None, source: Path | None = None) -> Server:
        """Return a new process of this version, or of the version with the migrations or the source of a folder.

        It is not started."""
        startup_code = ""
        if migration_folder is not None:
            startup_code = (
                "from pathlib import Path\n"
                "from hubbub.server.core import migrations\n"
                f"newer = tuple(migrations.load(Path({str(migration_folder)!r})))\n"
                "migrations.shipped_migrations = lambda: newer\n"
            )
        elif source is not None:
            startup_code = "import hubbub\nprint('Package:', hubbub.__file__, flush=True)\n"
        number = str(len(self.servers))
        folder_flags = ("--data", str(self._folder / "data"), "--gateway-drain-ms", "0", "--worker", number)
        self.servers.append(
            Server(self._folder, "serve", *self._flags, *folder_flags, startup_code=startup_code, source=source)
        )
        return self.servers[-1]

    def stop(self) -> None:
        for server in self.servers:
            server.stop()


async def stop_server(server: Server) -> None:
    """Stop a process as an operator does."""
    server.terminate()
    assert await server.wait_ended() == 0, server.log_text()


async def wait_refused(server: Server) -> str:
    """Start a process that must refuse to start, and return its log."""
    with pytest.raises(AssertionError, match="the server ended by itself"):
        await server.start()
    assert await server.wait_ended() == 1
    return server.log_text()


async def use_platform(user: ApiUser, server: Server, label: str) -> None:
    """Use the main features through one process."""
    user = user.at_server(server)
    member = await register_user(user.client, server, "member")
    guild_id, channel_id, _ = await create_guild(user, member)
    role = (await user.post(f"/guilds/{guild_id}/roles", {"name": label})).ok()
    (await user.request("PUT", f"/guilds/{guild_id}/members/{member.id}/roles/{role['id']}", json={})).ok()
    message = await member.create_message(channel_id, f"hello <@{user.id}>")
    reaction_path = f"/channels/{channel_id}/messages/{message['id']}/reactions/{EMOJI}/@me"
    (await user.request("PUT", reaction_path)).ok()
    thread = (await user.post(f"/channels/{channel_id}/messages/{message['id']}/threads", {"name": "thread"})).ok()
    await user.create_message(thread["id"], "in a thread")
    (await user.request("PATCH", f"/channels/{channel_id}", json={"topic": label})).ok()
    webhook = (await user.post(f"/channels/{channel_id}/webhooks", {"name": "news"})).ok()
    (await user.post(f"/webhooks/{webhook['id']}/{webhook['token']}?wait=true", {"content": label})).ok()
    (await user.post("/users/@me/channels", {"recipient_id": member.id})).ok()
    contents = [message["content"] for message in (await user.get(f"/channels/{channel_id}/messages")).ok()]
    assert contents[0] == label
    assert (await user.get(f"/guilds/{guild_id}/audit-logs")).ok()["audit_log_entries"]
    (await user.request("DELETE", f"/channels/{channel_id}/messages/{message['id']}")).ok()
    (await user.request("PUT", f"/guilds/{guild_id}/bans/{member.id}", json={})).ok()


async def test_two_versions_serve_one_platform_during_a_rolling_upgrade(
    tmp_path: Path, postgres_database: str, nats_url: str, client: aiohttp.ClientSession
) -> None:
    expanded_folder = write_migrations(tmp_path / "expanded", expanding_migration())
    contracted_folder = write_migrations(tmp_path / "contracted", expanding_migration(), contracting_migration())
    platform = Platform(tmp_path, postgres_database, nats_url)
    try:
        old_server = await platform.add().start()
        alice = await register_user(client, old_server, "alice")
        _, channel_id, code = await create_guild(alice)
        session_at_old = await GatewaySession(alice, old_server.gateway).open()
        # The statements of the older process are prepared before the migration.
        await use_platform(alice, old_server, "before")

        # Users keep sending messages through the older process while the newer one migrates the database.
        new_server = platform.add(expanded_folder)
        starting_task = asyncio.create_task(new_server.start())
        sent_contents: list[str] = []
        while not starting_task.done():
            sent_contents.append(f"during {len(sent_contents)}")
            await alice.create_message(channel_id, sent_contents[-1])
        await starting_task
        assert f"Applied migration {CURRENT_SCHEMA + 1:04d}_expansion" in new_server.log_text()

        session_at_new = await GatewaySession(alice, new_server.gateway).open()
        await use_platform(alice, old_server, "old code, new schema")
        await use_platform(alice, new_server, "new code, new schema")
        bob = await register_user(client, new_server, "bob")
        (await bob.at_server(old_server).post(f"/invites/{code}")).ok()
        await bob.at_server(new_server).create_message(channel_id, "through the newer process")
        await bob.at_server(old_server).create_message(channel_id, "through the older process")
        for session in (session_at_old, session_at_new):
            await session.wait_message("through the newer process")
            await session.wait_message("through the older process")
        messages = (await bob.at_server(new_server).get(f"/channels/{channel_id}/messages?limit=100")).ok()
        assert sent_contents[-90:] == [
            message["content"] for message in reversed(messages) if message["content"] in sent_contents[-90:]
        ]

        # The older version also starts on the newer schema.
        await session_at_old.close()
        await stop_server(old_server)
        await old_server.start()
        assert f"The database has schema {CURRENT_SCHEMA + 1}" in old_server.log_text()
        await use_platform(alice, old_server, "old code, started on the new schema")

        # A migration that removes a column is not applied while a process uses it.
        newest = platform.add(contracted_folder)
        log = await wait_refused(newest)
        assert f"{CURRENT_SCHEMA + 2:04d}_contraction removes what connected processes use" in log
        assert f"schema {CURRENT_SCHEMA} from" in log
        assert "upgrade these processes to release 9.0.0 or later first" in log
        await stop_server(old_server)
        await newest.start()
        await use_platform(alice, new_server, "beside the contraction")

        assert f"this version of Hubbub supports only {CURRENT_SCHEMA}" in await wait_refused(old_server)
    finally:
        platform.stop()
    with psycopg.connect(postgres_database) as connection:
        [(count,)] = connection.execute("SELECT COUNT(*) FROM messages WHERE added_number = 7").fetchall()
    assert count > len(sent_contents)


async def test_the_previous_release_serves_beside_this_version(
    tmp_path: Path, postgres_database: str, nats_url: str, client: aiohttp.ClientSession
) -> None:
    source = extract_source(tmp_path / "previous")
    platform = Platform(tmp_path, postgres_database, nats_url)
    try:
        old_server = await platform.add(source=source).start()
        assert f"Package: {source}/" in old_server.log_text()
        alice = await register_user(client, old_server, "alice")
        _, channel_id, _ = await create_guild(alice)
        await use_platform(alice, old_server, "before")
        session_at_old = await GatewaySession(alice, old_server.gateway).open()

        new_server = await platform.add().start()
        session_at_new = await GatewaySession(alice, new_server.gateway).open()
        await use_platform(alice, old_server, "old code, new schema")
        await use_platform(alice, new_server, "new code, new schema")
        for server, text in ((old_server, "through the older process"), (new_server, "through the newer process")):
            await alice.at_server(server).create_message(channel_id, text)
            for session in (session_at_old, session_at_new):
                await session.wait_message(text)

        await session_at_old.close()
        await stop_server(old_server)
        await old_server.start()
        await use_platform(alice, old_server, "old code, started on the new schema")
        assert "Traceback" not in old_server.log_text() + new_server.log_text()
    finally:
        platform.stop()


def test_the_embedded_database_can_go_back_to_a_version_before_an_expansion(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "hubbub.sqlite3", isolation_level=None)
    migrations.migrate_sqlite(connection, write_migrations(tmp_path / "expanded", expanding_migration()))

    assert migrations.migrate_sqlite(connection) == []

    migrations.migrate_sqlite(
        connection,
        write_migrations(tmp_path / "contracted", expanding_migration(), ("drop", contracting_migration()[1])),
    )
    with pytest.raises(MigrationError, match=rf"migration {CURRENT_SCHEMA + 2:04d}_drop changed what it uses"):
        migrations.migrate_sqlite(connection)
    connection.close()

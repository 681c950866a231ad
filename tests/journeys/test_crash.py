"""kill -9 the server during writes: acknowledged writes survive, and no write is applied in part."""

import asyncio
import itertools
import os
import signal
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import psycopg
import pytest

from hubbub.protocol.enums import AuditLogAction, MessageType
from tests.fixtures.postgres import start_postgres
from tests.journeys.processes import TIMEOUT_SECONDS, ApiUser, Server, create_guild, register_user

pytestmark = [pytest.mark.crash, pytest.mark.xdist_group("crash")]

ACKNOWLEDGED_BEFORE_KILL = 120
EMOJI = "%F0%9F%94%A5"


@dataclass
class WriteLog:
    """Attempted and acknowledged writes."""

    acknowledged_contents: dict[str, str] = field(default_factory=dict)
    """Contents of acknowledged messages, by message ID."""
    attempted_contents: set[str] = field(default_factory=set)
    """Contents of all messages that the test tried to create."""
    deleted_message_ids: set[str] = field(default_factory=set)
    acknowledged_role_number: int = 0
    attempted_role_number: int = 0
    acknowledged_join_count: int = 0
    attempted_join_count: int = 0
    is_member_by_user_id: dict[str, bool | None] = field(default_factory=dict)
    """Whether each joining user is a member; None while a request is in flight."""
    has_reacted_by_user_id: dict[str, bool | None] = field(default_factory=dict)
    """Whether each reacting user has a reaction; None while a request is in flight."""
    acknowledged_count: int = 0
    """Acknowledged writes since the last kill."""


@dataclass
class CrashGuild:
    """The guild of the test and its users."""

    owner: ApiUser
    joining_users: list[ApiUser]
    """Users who join and leave the guild."""
    reacting_users: list[ApiUser]
    """Members who create messages, and add and remove reactions to the target message."""
    guild_id: str
    channel_id: str
    invite_code: str
    role_id: str
    target_message_id: str
    message_numbers: Any = field(default_factory=lambda: itertools.count(1))


async def create_crash_guild(client: aiohttp.ClientSession, server: Server, write_log: WriteLog) -> CrashGuild:
    owner, *other_users = await asyncio.gather(*(register_user(client, server, "user") for _ in range(5)))
    joining_users, reacting_users = other_users[:2], other_users[2:]
    guild_id, channel_id, invite_code = await create_guild(owner, *reacting_users)
    role = (await owner.post(f"/guilds/{guild_id}/roles", {"name": "role-0"})).ok()
    target = await owner.create_message(channel_id, "target")
    write_log.acknowledged_contents[target["id"]] = "target"
    write_log.attempted_contents.add("target")
    write_log.acknowledged_join_count = write_log.attempted_join_count = len(reacting_users)
    write_log.is_member_by_user_id = {user.id: False for user in joining_users}
    write_log.has_reacted_by_user_id = {user.id: False for user in reacting_users}
    return CrashGuild(owner, joining_users, reacting_users, guild_id, channel_id, invite_code, role["id"], target["id"])


async def write_until_killed(crash_guild: CrashGuild, write_log: WriteLog, enough_writes: asyncio.Event) -> None:
    """Run all writers until the server is killed; set `enough_writes` after ACKNOWLEDGED_BEFORE_KILL writes."""

    async def repeat_until_disconnected(write: Callable[[], Awaitable[None]]) -> None:
        while True:
            try:
                await write()
            except (aiohttp.ClientError, ConnectionError):
                return
            write_log.acknowledged_count += 1
            if write_log.acknowledged_count >= ACKNOWLEDGED_BEFORE_KILL:
                enough_writes.set()

    def message_writer(user: ApiUser) -> Callable[[], Awaitable[None]]:
        async def create_message() -> None:
            content = f"message {next(crash_guild.message_numbers)}"
            write_log.attempted_contents.add(content)
            message = await user.create_message(crash_guild.channel_id, content)
            write_log.acknowledged_contents[message["id"]] = content

        return create_message

    async def create_and_delete_message() -> None:
        content = f"deleted message {next(crash_guild.message_numbers)}"
        write_log.attempted_contents.add(content)
        message = await crash_guild.owner.create_message(crash_guild.channel_id, content)
        (await crash_guild.owner.request("DELETE", f"/channels/{crash_guild.channel_id}/messages/{message['id']}")).ok()
        write_log.deleted_message_ids.add(message["id"])

    async def rename_role() -> None:
        write_log.attempted_role_number += 1
        name = f"role-{write_log.attempted_role_number}"
        path = f"/guilds/{crash_guild.guild_id}/roles/{crash_guild.role_id}"
        (await crash_guild.owner.request("PATCH", path, json={"name": name})).ok()
        write_log.acknowledged_role_number = write_log.attempted_role_number

    def membership_writer(user: ApiUser) -> Callable[[], Awaitable[None]]:
        async def join_or_leave() -> None:
            is_member = write_log.is_member_by_user_id[user.id]
            write_log.is_member_by_user_id[user.id] = None
            if is_member:
                (await user.request("DELETE", f"/users/@me/guilds/{crash_guild.guild_id}")).ok()
            else:
                write_log.attempted_join_count += 1
                (await user.post(f"/invites/{crash_guild.invite_code}")).ok()
                write_log.acknowledged_join_count += 1
            write_log.is_member_by_user_id[user.id] = not is_member

        return join_or_leave

    def reaction_writer(user: ApiUser) -> Callable[[], Awaitable[None]]:
        async def toggle_reaction() -> None:
            has_reacted = write_log.has_reacted_by_user_id[user.id]
            write_log.has_reacted_by_user_id[user.id] = None
            path = f"/channels/{crash_guild.channel_id}/messages/{crash_guild.target_message_id}/reactions/{EMOJI}/@me"
            (await user.request("DELETE" if has_reacted else "PUT", path)).ok()
            write_log.has_reacted_by_user_id[user.id] = not has_reacted

        return toggle_reaction

    writers = [
        message_writer(crash_guild.owner),
        *map(message_writer, crash_guild.reacting_users),
        create_and_delete_message,
        rename_role,
    ]
    writers += [*map(membership_writer, crash_guild.joining_users), *map(reaction_writer, crash_guild.reacting_users)]
    await asyncio.gather(*map(repeat_until_disconnected, writers))


async def list_messages(user: ApiUser, channel_id: str) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    while True:
        last_id = messages[-1]["id"] if messages else "0"
        page = (await user.get(f"/channels/{channel_id}/messages?limit=100&after={last_id}")).ok()
        if not page:
            return messages
        messages += sorted(page, key=lambda message: int(message["id"]))


async def check_restarted_server(crash_guild: CrashGuild, write_log: WriteLog) -> None:
    """Check the restarted server through its API, and record the outcome of writes that were in flight."""
    owner = crash_guild.owner
    guild = (await owner.get(f"/guilds/{crash_guild.guild_id}?with_counts=true")).ok()
    member_ids = {
        member["user"]["id"] for member in (await owner.get(f"/guilds/{crash_guild.guild_id}/members?limit=1000")).ok()
    }
    messages = await list_messages(owner, crash_guild.channel_id)
    stored_contents = {
        message["id"]: message["content"] for message in messages if message["type"] == MessageType.DEFAULT
    }

    # Every acknowledged message exists once, every acknowledged deletion happened, and every other message was attempted.
    assert {
        message_id: stored_contents.get(message_id) for message_id in write_log.acknowledged_contents
    } == write_log.acknowledged_contents
    assert not write_log.deleted_message_ids & stored_contents.keys()
    assert set(stored_contents.values()) <= write_log.attempted_contents
    assert len(set(stored_contents.values())) == len(stored_contents)

    # The channel's last message ID is not older than the newest message.
    channel = (await owner.get(f"/channels/{crash_guild.channel_id}")).ok()
    assert int(channel["last_message_id"]) >= int(messages[-1]["id"])

    # The role and its audit log agree.
    role = next(role for role in guild["roles"] if role["id"] == crash_guild.role_id)
    number = int(role["name"].removeprefix("role-"))
    assert number in (write_log.acknowledged_role_number, write_log.attempted_role_number)
    entries = (
        await owner.get(f"/guilds/{crash_guild.guild_id}/audit-logs?action_type={AuditLogAction.ROLE_UPDATE}&limit=1")
    ).ok()["audit_log_entries"]
    if number:
        change = next(change for change in entries[0]["changes"] if change["key"] == "name")
        assert change["new_value"] == role["name"]
    write_log.acknowledged_role_number = write_log.attempted_role_number = number

    # Members, the member count and the invite's uses agree.
    assert guild["approximate_member_count"] == len(member_ids)
    for user_id, is_member in write_log.is_member_by_user_id.items():
        assert is_member is None or (user_id in member_ids) == is_member
        write_log.is_member_by_user_id[user_id] = user_id in member_ids
    invites = {invite["code"]: invite for invite in (await owner.get(f"/guilds/{crash_guild.guild_id}/invites")).ok()}
    uses = invites[crash_guild.invite_code]["uses"]
    assert write_log.acknowledged_join_count <= uses <= write_log.attempted_join_count
    write_log.acknowledged_join_count = write_log.attempted_join_count = uses

    # A reaction's count is the number of users who reacted.
    path = f"/channels/{crash_guild.channel_id}/messages/{crash_guild.target_message_id}"
    target = (await owner.get(path)).ok()
    reacting_user_ids = {user["id"] for user in (await owner.get(f"{path}/reactions/{EMOJI}")).ok()}
    assert sum(reaction["count"] for reaction in target.get("reactions", [])) == len(reacting_user_ids)
    for user_id, has_reacted in write_log.has_reacted_by_user_id.items():
        assert has_reacted is None or (user_id in reacting_user_ids) == has_reacted
        write_log.has_reacted_by_user_id[user_id] = user_id in reacting_user_ids


async def kill_and_check_repeatedly(
    server: Server, kill_count: int, after_kill: Callable[[], None] = lambda: None
) -> None:
    """Kill, restart and check the server several times, each time on the data of the previous run.

    `after_kill` runs between the kill and the restart.
    """
    write_log = WriteLog()
    async with aiohttp.ClientSession() as client:
        crash_guild = await create_crash_guild(client, await server.start(), write_log)
        for _ in range(kill_count):
            write_log.acknowledged_count = 0
            enough_writes = asyncio.Event()
            writer_task = asyncio.create_task(write_until_killed(crash_guild, write_log, enough_writes))
            enough_task = asyncio.create_task(enough_writes.wait())
            await asyncio.wait([writer_task, enough_task], return_when=asyncio.FIRST_COMPLETED, timeout=TIMEOUT_SECONDS)
            assert enough_task.done(), (writer_task, server.log_text())
            server.kill()
            await writer_task
            after_kill()
            await server.start()
            await check_restarted_server(crash_guild, write_log)
    assert len(write_log.acknowledged_contents) > ACKNOWLEDGED_BEFORE_KILL // 4
    server.stop()


async def test_no_acknowledged_write_is_lost_on_sqlite(tmp_path: Path) -> None:
    server = Server(tmp_path, "serve", "--data", str(tmp_path / "data"), "--rate-limits", "off")
    try:
        await kill_and_check_repeatedly(server, 3)
    finally:
        server.stop()


async def test_no_acknowledged_write_is_lost_when_postgres_crashes_too(
    tmp_path: Path, durable_postgres_url: str
) -> None:
    flags = ["--data", str(tmp_path / "data"), "--database-url", durable_postgres_url, "--rate-limits", "off"]
    server = Server(tmp_path, "serve", *flags)
    with psycopg.connect(durable_postgres_url) as connection:
        row = connection.execute("SHOW data_directory").fetchone()
        assert row is not None
        data_folder = Path(row[0])

    def crash_postgres() -> None:
        """Stop the database without a checkpoint and start it again, so that it recovers from its write-ahead log."""
        pid = int((data_folder / "postmaster.pid").read_text().split()[0])
        os.kill(pid, signal.SIGQUIT)
        while (data_folder / "postmaster.pid").exists():
            os.sched_yield()
        url = start_postgres(data_folder.parent, is_durable=True)
        assert urlsplit(url).query == urlsplit(durable_postgres_url).query

    try:
        await kill_and_check_repeatedly(server, 2, crash_postgres)
    finally:
        server.stop()

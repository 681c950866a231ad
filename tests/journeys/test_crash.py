"""kill -9 the server during writes: acknowledged writes survive, and no write is half done."""

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

from tests.fixtures.postgres import start_postgres
from tests.journeys.processes import TIMEOUT_SECONDS, ApiUser, Server, create_guild, register

pytestmark = [pytest.mark.crash, pytest.mark.xdist_group("crash")]

ACKNOWLEDGED_BEFORE_KILL = 120
EMOJI = "%F0%9F%94%A5"


@dataclass
class Ledger:
    """Attempted and acknowledged writes."""

    messages: dict[str, str] = field(default_factory=dict)
    """Contents by id of acknowledged messages."""
    tried: set[str] = field(default_factory=set)
    deleted: set[str] = field(default_factory=set)
    role_acknowledged: int = 0
    role_tried: int = 0
    joins_acknowledged: int = 0
    joins_tried: int = 0
    inside: dict[str, bool | None] = field(default_factory=dict)
    """Whether each visitor is a member; None while unknown."""
    reacted: dict[str, bool | None] = field(default_factory=dict)
    count: int = 0
    """Acknowledged writes since the last kill."""


@dataclass
class CrashGuild:
    """The guild of the test."""

    owner: ApiUser
    visitors: list[ApiUser]
    fans: list[ApiUser]
    guild_id: str
    channel_id: str
    code: str
    role_id: str
    target_id: str
    numbers: Any = field(default_factory=lambda: itertools.count(1))


async def settle_in(client: aiohttp.ClientSession, server: Server, ledger: Ledger) -> CrashGuild:
    owner, *others = await asyncio.gather(*(register(client, server, "person") for _ in range(5)))
    visitors, fans = others[:2], others[2:]
    guild_id, channel_id, code = await create_guild(owner, *fans)
    role = (await owner.post(f"/guilds/{guild_id}/roles", {"name": "role-0"})).ok()
    target = await owner.create_message(channel_id, "target")
    ledger.messages[target["id"]] = "target"
    ledger.tried.add("target")
    ledger.joins_acknowledged = ledger.joins_tried = len(fans)
    ledger.inside = {person.id: False for person in visitors}
    ledger.reacted = {person.id: False for person in fans}
    return CrashGuild(owner, visitors, fans, guild_id, channel_id, code, role["id"], target["id"])


async def write_until_killed(crash_guild: CrashGuild, ledger: Ledger, enough: asyncio.Event) -> None:
    """Run all writers until the server is gone."""

    async def again_and_again(step: Callable[[], Awaitable[None]]) -> None:
        while True:
            try:
                await step()
            except (aiohttp.ClientError, ConnectionError):
                return
            ledger.count += 1
            if ledger.count >= ACKNOWLEDGED_BEFORE_KILL:
                enough.set()

    def talking(person: ApiUser) -> Callable[[], Awaitable[None]]:
        async def talk() -> None:
            content = f"message {next(crash_guild.numbers)}"
            ledger.tried.add(content)
            made = await person.create_message(crash_guild.channel_id, content)
            ledger.messages[made["id"]] = content

        return talk

    async def delete() -> None:
        content = f"doomed {next(crash_guild.numbers)}"
        ledger.tried.add(content)
        made = await crash_guild.owner.create_message(crash_guild.channel_id, content)
        (await crash_guild.owner.request("DELETE", f"/channels/{crash_guild.channel_id}/messages/{made['id']}")).ok()
        ledger.deleted.add(made["id"])

    async def rename_role() -> None:
        ledger.role_tried += 1
        name = f"role-{ledger.role_tried}"
        path = f"/guilds/{crash_guild.guild_id}/roles/{crash_guild.role_id}"
        (await crash_guild.owner.request("PATCH", path, json={"name": name})).ok()
        ledger.role_acknowledged = ledger.role_tried

    def visiting(person: ApiUser) -> Callable[[], Awaitable[None]]:
        async def come_or_go() -> None:
            inside = ledger.inside[person.id]
            ledger.inside[person.id] = None
            if inside:
                (await person.request("DELETE", f"/users/@me/guilds/{crash_guild.guild_id}")).ok()
            else:
                ledger.joins_tried += 1
                (await person.post(f"/invites/{crash_guild.code}")).ok()
                ledger.joins_acknowledged += 1
            ledger.inside[person.id] = not inside

        return come_or_go

    def reacting(person: ApiUser) -> Callable[[], Awaitable[None]]:
        async def react() -> None:
            reacted = ledger.reacted[person.id]
            ledger.reacted[person.id] = None
            path = f"/channels/{crash_guild.channel_id}/messages/{crash_guild.target_id}/reactions/{EMOJI}/@me"
            (await person.request("DELETE" if reacted else "PUT", path)).ok()
            ledger.reacted[person.id] = not reacted

        return react

    steps = [talking(crash_guild.owner), *map(talking, crash_guild.fans), delete, rename_role]
    steps += [*map(visiting, crash_guild.visitors), *map(reacting, crash_guild.fans)]
    await asyncio.gather(*map(again_and_again, steps))


async def list_messages(person: ApiUser, channel_id: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    while True:
        after = found[-1]["id"] if found else "0"
        page = (await person.get(f"/channels/{channel_id}/messages?limit=100&after={after}")).ok()
        if not page:
            return found
        found += sorted(page, key=lambda message: int(message["id"]))


async def check(crash_guild: CrashGuild, ledger: Ledger) -> None:
    """Check the restarted server through its API, and record the outcome of writes that were in flight."""
    owner = crash_guild.owner
    guild = (await owner.get(f"/guilds/{crash_guild.guild_id}?with_counts=true")).ok()
    members = {
        row["user"]["id"] for row in (await owner.get(f"/guilds/{crash_guild.guild_id}/members?limit=1000")).ok()
    }
    messages = await list_messages(owner, crash_guild.channel_id)
    stored = {message["id"]: message["content"] for message in messages if message["type"] == 0}

    # Every acknowledged message exists once, every acknowledged deletion happened, and no message was invented.
    assert {id: stored.get(id) for id in ledger.messages} == ledger.messages
    assert not ledger.deleted & stored.keys()
    assert set(stored.values()) <= ledger.tried
    assert len(set(stored.values())) == len(stored)

    # The channel's last message id is that of a real message.
    channel = (await owner.get(f"/channels/{crash_guild.channel_id}")).ok()
    assert int(channel["last_message_id"]) >= int(messages[-1]["id"])

    # The role and its audit log agree.
    role = next(role for role in guild["roles"] if role["id"] == crash_guild.role_id)
    number = int(role["name"].removeprefix("role-"))
    assert number in (ledger.role_acknowledged, ledger.role_tried)
    entries = (await owner.get(f"/guilds/{crash_guild.guild_id}/audit-logs?action_type=31&limit=1")).ok()[
        "audit_log_entries"
    ]
    if number:
        change = next(change for change in entries[0]["changes"] if change["key"] == "name")
        assert change["new_value"] == role["name"]
    ledger.role_acknowledged = ledger.role_tried = number

    # Members, the member count and the invite's uses agree.
    assert guild["approximate_member_count"] == len(members)
    for person_id, inside in ledger.inside.items():
        assert inside is None or (person_id in members) == inside
        ledger.inside[person_id] = person_id in members
    invites = {invite["code"]: invite for invite in (await owner.get(f"/guilds/{crash_guild.guild_id}/invites")).ok()}
    uses = invites[crash_guild.code]["uses"]
    assert ledger.joins_acknowledged <= uses <= ledger.joins_tried
    ledger.joins_acknowledged = ledger.joins_tried = uses

    # A reaction's count is the number of users who reacted.
    path = f"/channels/{crash_guild.channel_id}/messages/{crash_guild.target_id}"
    target = (await owner.get(path)).ok()
    fans = {user["id"] for user in (await owner.get(f"{path}/reactions/{EMOJI}")).ok()}
    assert sum(reaction["count"] for reaction in target.get("reactions", [])) == len(fans)
    for person_id, reacted in ledger.reacted.items():
        assert reacted is None or (person_id in fans) == reacted
        ledger.reacted[person_id] = person_id in fans


async def kill_again_and_again(server: Server, times: int, also: Callable[[], None] = lambda: None) -> None:
    """Kill, restart and check several times, each time on the data of the previous run."""
    ledger = Ledger()
    async with aiohttp.ClientSession() as client:
        crash_guild = await settle_in(client, await server.start(), ledger)
        for _ in range(times):
            ledger.count = 0
            enough = asyncio.Event()
            writing = asyncio.create_task(write_until_killed(crash_guild, ledger, enough))
            ready = asyncio.create_task(enough.wait())
            await asyncio.wait([writing, ready], return_when=asyncio.FIRST_COMPLETED, timeout=TIMEOUT_SECONDS)
            assert ready.done(), (writing, server.log_text())
            server.kill()
            await writing
            also()
            await server.start()
            await check(crash_guild, ledger)
    assert len(ledger.messages) > ACKNOWLEDGED_BEFORE_KILL // 4
    server.stop()


async def test_no_acknowledged_write_is_lost_on_sqlite(tmp_path: Path) -> None:
    server = Server(tmp_path, "serve", "--data", str(tmp_path / "data"), "--rate-limits", "off")
    try:
        await kill_again_and_again(server, 3)
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
        data = Path(row[0])

    def crash_postgres() -> None:
        """Stop the database without a checkpoint, so that it recovers from its log."""
        number = int((data / "postmaster.pid").read_text().split()[0])
        os.kill(number, signal.SIGQUIT)
        while (data / "postmaster.pid").exists():
            os.sched_yield()
        url = start_postgres(data.parent, durable=True)
        assert urlsplit(url).query == urlsplit(durable_postgres_url).query

    try:
        await kill_again_and_again(server, 2, crash_postgres)
    finally:
        server.stop()

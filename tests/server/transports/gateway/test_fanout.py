"""Event delivery: intents, permissions, redaction, joins, leaves and order."""

import asyncio
import re
from typing import Any

import pytest

from hubbub.protocol.intents import Intents
from hubbub.protocol.operation import Event
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources.messages import MESSAGE_CREATE
from hubbub.server.core.event_dispatch import BROADCAST_SUBJECT, BROADCAST_USERS_MIN, Audience, Dispatch
from hubbub.server.core.store import Tx
from tests.server.transports.gateway.harness import (
    BOT_INTENTS,
    GUILD,
    VIEW,
    Channel,
    Client,
    GuildRow,
    Platform,
    sample_guild,
)

BAN = Event("GUILD_BAN_ADD", Any, intents=Intents.GUILD_MODERATION)
ENTITLEMENT = Event("ENTITLEMENT_CREATE", Any)
DM = Event("MESSAGE_CREATE", Any, intents=Intents.GUILD_MESSAGES, dm_intents=Intents.DIRECT_MESSAGES)


async def contents(client: Client) -> list[str]:
    """Return the contents of the messages received since the last call."""
    await client.fence()
    messages = [p["d"]["content"] for p in client.received if p["t"] == "MESSAGE_CREATE"]
    client.received.clear()
    return messages


async def test_channel_events_are_sent_to_members_who_see_the_channel(platform: Platform) -> None:
    await platform.guild(sample_guild(), {5: [], 6: [77], 1: []})
    outsider, insider = await platform.session(platform.bot(5)), await platform.session(platform.bot(6))
    owner = await platform.session(platform.user(1))
    await platform.message(10, "to all")
    await platform.message(20, "to staff")
    assert await contents(outsider) == ["to all"]
    assert await contents(insider) == ["to all", "to staff"]
    assert await contents(owner) == ["to all", "to staff"]


async def test_events_need_their_intent_except_for_users(platform: Platform) -> None:
    await platform.guild(sample_guild(), {5: [], 6: [], 7: []})
    without_intent = await platform.session(platform.bot(5), intents=Intents.GUILDS)
    with_intent = await platform.session(platform.bot(6), intents=Intents.GUILDS | Intents.GUILD_MESSAGES)
    user = await platform.session(platform.user(7), intents=0)
    await platform.message(10, "hello")
    assert await contents(without_intent) == []
    assert await contents(with_intent) == ["hello"]
    assert await contents(user) == ["hello"]


async def test_some_events_need_a_permission_in_the_guild(platform: Platform) -> None:
    row = sample_guild()
    row.roles[77] = Permissions.BAN_MEMBERS
    await platform.guild(row, {5: [], 6: [77]})
    plain, moderator = await platform.session(platform.bot(5)), await platform.session(platform.bot(6))
    permissions = Permissions.BAN_MEMBERS | Permissions.VIEW_AUDIT_LOG
    await platform.emit(BAN, {}, Audience.guild(GUILD, permission=permissions))
    assert await plain.events() == []
    assert await moderator.events() == ["GUILD_BAN_ADD"]


async def test_some_events_need_a_permission_in_the_channel(platform: Platform) -> None:
    row = sample_guild()
    row.channels[10].overwrites = {77: (Permissions.MANAGE_CHANNELS, 0)}
    await platform.guild(row, {5: [], 6: [77]})
    plain, manager = await platform.session(platform.bot(5)), await platform.session(platform.bot(6))
    await platform.emit(BAN, {}, Audience.viewers(GUILD, 10, permission=Permissions.MANAGE_CHANNELS))
    assert (await plain.events(), await manager.events()) == ([], ["GUILD_BAN_ADD"])


async def test_message_content_is_redacted_without_the_intent(platform: Platform) -> None:
    await platform.guild(sample_guild(), {5: [], 6: [], 7: [], 8: []})
    intents = Intents.BOT_MASK & ~Intents.MESSAGE_CONTENT
    with_intent = await platform.session(platform.bot(5))
    without_intent = await platform.session(platform.bot(6), intents=intents)
    mentioned = await platform.session(platform.bot(7), intents=intents)
    user = await platform.session(platform.user(8))
    await platform.message(10, "secret", redacted={"content": ""}, unredacted_for=frozenset({7}))
    received = [await contents(client) for client in (with_intent, without_intent, mentioned, user)]
    assert received == [["secret"], [""], ["secret"], ["secret"]]


async def test_private_thread_events_are_sent_to_thread_members_and_managers(platform: Platform) -> None:
    row = sample_guild()
    row.roles[77] = Permissions.MANAGE_THREADS
    await platform.guild(row, {5: [], 6: [], 7: [77]})
    clients = [await platform.session(platform.bot(user)) for user in (5, 6, 7)]
    audience = Audience.viewers(GUILD, 10, members=frozenset({6}))
    await platform.emit(MESSAGE_CREATE, {"content": "psst"}, audience)
    assert [await contents(client) for client in clients] == [[], ["psst"], ["psst"]]


async def test_an_audience_can_select_exclude_and_exempt_users(platform: Platform) -> None:
    await platform.guild(sample_guild(), {5: [], 6: [], 7: []})
    clients = [await platform.session(platform.bot(user)) for user in (5, 6)]
    clients.append(await platform.session(platform.bot(7), intents=Intents.GUILDS))
    await platform.emit(MESSAGE_CREATE, {"content": "a"}, Audience.guild(GUILD, users=frozenset({6})))
    await platform.emit(MESSAGE_CREATE, {"content": "b"}, Audience.guild(GUILD, excluded_user_id=6))
    await platform.emit(MESSAGE_CREATE, {"content": "c"}, Audience.guild(GUILD, intent_exempt_user_id=7))
    assert [await contents(client) for client in clients] == [["b", "c"], ["a", "c"], ["c"]]


async def test_direct_events_need_the_direct_message_intent(platform: Platform) -> None:
    one = await platform.session(platform.bot(5), guilds=0, intents=Intents.DIRECT_MESSAGES)
    two = await platform.session(platform.bot(6), guilds=0, intents=Intents.GUILD_MESSAGES)
    await platform.emit(DM, {"content": "direct"}, Audience.of_users(5, 6))
    await platform.emit(ENTITLEMENT, {}, Audience.of_users(5, 6))
    assert await one.events() == ["MESSAGE_CREATE", "ENTITLEMENT_CREATE"]
    assert await two.events() == ["ENTITLEMENT_CREATE"]


async def test_a_broadcast_is_published_once_and_delivered_in_order(platform: Platform) -> None:
    crowd = frozenset(range(100, 100 + BROADCAST_USERS_MIN))
    await platform.guild(sample_guild(), {99: [], 100: [], 101: []})
    recipients = [await platform.session(platform.user(user_id)) for user_id in (100, 101)]
    stranger = await platform.session(platform.user(99))
    subjects: list[str] = []
    publish = platform.bus.publish

    def record(subject: str, message: Any) -> None:
        subjects.append(subject)
        publish(subject, message)

    platform.bus.publish = record  # type: ignore[method-assign]
    for number, users in enumerate([{100, 101}, crowd, {100, 101}, crowd]):
        await platform.emit(DM, {"content": str(number)}, Audience(users=frozenset(users)))

    assert subjects.count(BROADCAST_SUBJECT) == 2
    assert len(subjects) == 6
    assert [await contents(client) for client in recipients] == [["0", "1", "2", "3"]] * 2
    assert await contents(stranger) == []


async def test_a_broadcast_during_identify_is_delivered_after_ready(platform: Platform) -> None:
    crowd = Audience(users=frozenset(range(100, 100 + BROADCAST_USERS_MIN)))
    client = await platform.connect()
    stop = asyncio.Event()

    async def broadcast() -> int:
        number = 0
        while not stop.is_set():
            await platform.emit(DM, {"content": str(number)}, crowd)
            number += 1
        return number

    broadcasting = asyncio.create_task(broadcast())
    await client.identify(platform.user(100))
    await client.until("MESSAGE_CREATE")
    stop.set()
    total = await broadcasting

    await client.fence()
    received = [payload["d"]["content"] for payload in client.received if payload["t"] == "MESSAGE_CREATE"]
    # Every message since READY was received once and in order.
    assert received == [str(number) for number in range(total - len(received), total)]
    assert [payload["s"] for payload in client.received] == list(range(1, len(client.received) + 1))


async def test_an_event_can_be_sent_to_one_session(platform: Platform) -> None:
    token = platform.bot(5)
    one, two = await platform.session(token, guilds=0), await platform.session(token, guilds=0)
    audience = Audience(users=frozenset({5}), guild_id=GUILD, session_id=two.session_id)
    await platform.emit(ENTITLEMENT, {}, audience)
    assert (await one.events(), await two.events()) == ([], ["ENTITLEMENT_CREATE"])


async def test_joining_sends_the_guild_without_the_unavailable_key(platform: Platform) -> None:
    await platform.guild(sample_guild(), {1: []})
    client = await platform.session(platform.bot(5), guilds=0)
    await platform.join(GUILD, 5)
    await platform.message(10, "welcome")
    created = await client.until("GUILD_CREATE")
    assert "unavailable" not in created
    assert created["member_count"] == 2
    assert (await client.until("MESSAGE_CREATE"))["content"] == "welcome"


async def test_leaving_sends_guild_delete_and_no_later_events(platform: Platform) -> None:
    await platform.guild(sample_guild(), {5: []})
    client = await platform.session(platform.bot(5))
    await platform.message(10, "before")
    await platform.kick(GUILD, 5)
    await platform.message(10, "after")
    await client.fence()
    assert [(p["t"], p["d"].get("content")) for p in client.received] == [
        ("MESSAGE_CREATE", "before"),
        ("GUILD_DELETE", None),
    ]
    await platform.join(GUILD, 5)
    await client.until("GUILD_CREATE")
    await platform.message(10, "again")
    assert (await client.until("MESSAGE_CREATE"))["content"] == "again"


async def test_a_role_grant_takes_effect_from_the_next_event_on(platform: Platform) -> None:
    await platform.guild(sample_guild(), {5: []})
    client = await platform.session(platform.bot(5))
    await platform.message(20, "hidden")
    await platform.put_member(GUILD, 5, [77])
    await platform.message(20, "seen")
    await platform.put_member(GUILD, 5, [])
    await platform.message(20, "hidden again")
    await platform.settle()
    assert await contents(client) == ["seen"]


async def test_events_after_a_refresh_keep_their_order(platform: Platform) -> None:
    row = sample_guild()
    await platform.guild(row, {5: []})
    client = await platform.session(platform.bot(5))
    expected = []
    for number in range(30):
        if number % 3 == 0:
            await platform.put_role(row, 77, number)
            expected.append("GUILD_ROLE_UPDATE")
        await platform.message(10, str(number))
        expected.append(str(number))
    await platform.settle()
    await client.fence()
    assert [p["d"].get("content", p["t"]) for p in client.received] == expected


async def test_a_session_that_starts_under_load_receives_each_event_exactly_once(platform: Platform) -> None:
    """GUILD_CREATE and later events give the full state: each rename is either in GUILD_CREATE or sent after it."""
    row = sample_guild(name="0")
    await platform.guild(row, {5: []})
    update = Event("GUILD_UPDATE", Any, intents=Intents.GUILDS)
    stop = False

    async def rename() -> None:
        number = 0
        while not stop:
            number += 1

            def work(tx: Tx, number: int = number) -> None:
                row.name = str(number)
                platform.store_guild(tx, row)
                tx.emit(update, {"name": row.name}, Audience.guild(GUILD), refresh="guild")

            await platform.db.write(work)
            if number % 5 == 0:
                await asyncio.sleep(0)

    renaming = asyncio.ensure_future(rename())
    clients = []
    for user in range(8):
        token = platform.bot(5)
        client = await platform.connect()
        await client.identify(token, shard=None)
        clients.append((user, client))
    for _, client in clients:
        await client.until("GUILD_CREATE")
        for _ in range(5):
            await client.until("GUILD_UPDATE")
    stop = True
    await renaming
    await platform.settle()
    for _, client in clients:
        await client.fence()
        created = next(p["d"]["name"] for p in client.received if p["t"] == "GUILD_CREATE")
        names = [int(p["d"]["name"]) for p in client.received if p["t"] == "GUILD_UPDATE"]
        assert names == list(range(int(created) + 1, int(row.name) + 1))


async def test_guild_events_of_a_new_hub_wait_for_guild_create(platform: Platform) -> None:
    await platform.guild(sample_guild(), {5: []})
    client = await platform.connect()
    await client.send_identify(platform.bot(5))
    for number in range(20):
        await platform.message(10, str(number))
    await platform.settle()
    await client.fence()
    names = [p["t"] for p in client.received]
    assert names[:2] == ["READY", "GUILD_CREATE"]
    received = [int(p["d"]["content"]) for p in client.received[2:]]
    assert received == list(range(20 - len(received), 20))


@pytest.mark.parametrize("count", [60])
async def test_many_sessions_can_start_together(platform: Platform, count: int) -> None:
    await platform.guild(sample_guild(), {user: [] for user in range(100, 100 + count)})
    clients = await asyncio.gather(*(platform.session(platform.bot(user)) for user in range(100, 100 + count)))
    await platform.message(10, "hello")
    for client in clients:
        assert await contents(client) == ["hello"]


async def test_events_of_two_guilds_do_not_mix(platform: Platform) -> None:
    other = 2000 << 22
    await platform.guild(sample_guild(), {5: []})
    await platform.guild(GuildRow(id=other, roles={other: VIEW}, channels={30: Channel(30)}), {6: []})
    one, two = await platform.session(platform.bot(5)), await platform.session(platform.bot(6))
    await platform.message(10, "here")
    await platform.message(30, "there", guild_id=other)
    assert (await contents(one), await contents(two)) == (["here"], ["there"])


@pytest.mark.parametrize("refresh", ["", "guild"])
async def test_only_sessions_that_missed_a_guild_event_are_invalidated(
    platform: Platform, caplog: pytest.LogCaptureFixture, refresh: str
) -> None:
    await platform.guild(sample_guild(), {5: [], 6: []})
    await platform.guild(GuildRow(id=2 << 22, channels={30: Channel(30)}, roles={2 << 22: VIEW}), {7: []})
    clients = [await platform.session(platform.bot(user)) for user in (5, 6)]
    other_guild = await platform.session(platform.bot(7))
    broken = Dispatch(event="MESSAGE_CREATE", body=None, audience=Audience.guild(GUILD), refresh=refresh)  # type: ignore[arg-type]
    platform.bus.publish(f"guild.{GUILD}", broken)
    for client in clients:
        assert (await client.opcode(9))["d"] is False
        await client.identify(client.token)
        await client.until("GUILD_CREATE")
    await platform.message(10, "after")
    assert [await contents(client) for client in clients] == [["after"], ["after"]]
    assert await other_guild.events() == []
    assert "failed to deliver a guild event" in caplog.text


async def test_a_guild_failure_while_a_session_starts_invalidates_it(platform: Platform) -> None:
    await platform.guild(sample_guild(), {5: []})
    client = await platform.connect()
    await client.identify(platform.bot(5))
    broken = Dispatch(event="MESSAGE_CREATE", body=None, audience=Audience.guild(GUILD))  # type: ignore[arg-type]
    platform.bus.publish(f"guild.{GUILD}", broken)
    assert (await client.opcode(9))["d"] is False
    await client.identify(client.token)
    await client.until("GUILD_CREATE")
    await platform.message(10, "after")
    assert await contents(client) == ["after"]


@pytest.mark.parametrize("subject", ["user.5", BROADCAST_SUBJECT])
async def test_all_sessions_of_a_user_who_missed_an_event_are_invalidated(platform: Platform, subject: str) -> None:
    clients = [await platform.session(platform.bot(5), guilds=0) for _ in range(2)]
    other = await platform.session(platform.bot(6), guilds=0)
    broken = Dispatch(event="USER_UPDATE", body=None, audience=Audience.of_users(5))  # type: ignore[arg-type]
    platform.bus.publish(subject, broken)
    for client in clients:
        assert (await client.opcode(9))["d"] is False
        await client.identify(client.token)
    await platform.emit(ENTITLEMENT, {}, Audience.of_users(5))
    for client in clients:
        assert (await client.events())[-1] == "ENTITLEMENT_CREATE"
    assert await other.events() == []


async def test_deliveries_to_connections_are_counted(platform: Platform) -> None:
    def counted() -> dict[str, float]:
        text = platform.metrics.render().decode()
        found = re.findall(
            r'^hubbub_(?:deliveries_total{event="(\w+)"}|delivered_bytes_total) (\S+)$', text, re.MULTILINE
        )
        return {event or "bytes": float(value) for event, value in found}

    await platform.guild(sample_guild(), {5: [], 6: [], 7: [], 8: []})
    await platform.session(platform.bot(5))
    await platform.session(platform.bot(6), "zlib-stream")
    without_content = await platform.session(platform.bot(7), intents=BOT_INTENTS & ~Intents.MESSAGE_CONTENT)
    disconnected = await platform.session(platform.bot(8))
    await disconnected.leave(4900)
    await platform.settle()
    assert (counted()["READY"], counted()["GUILD_CREATE"]) == (4, 4)

    before = counted()["bytes"]
    await platform.message(10, "hi")
    # The session without a connection is not counted, and bytes are counted before compression.
    assert counted()["MESSAGE_CREATE"] == 3
    assert counted()["bytes"] - before == 3 * len('{"t":"MESSAGE_CREATE","s":,"op":0,"d":{"content":"hi"}}')

    await platform.emit(ENTITLEMENT, {}, Audience.of_users(5))
    await platform.emit(ENTITLEMENT, {}, Audience.of_users(*range(5, 5 + BROADCAST_USERS_MIN)))
    await platform.put_channel(sample_guild(), Channel(10, "renamed"))
    await without_content.until("CHANNEL_UPDATE")
    assert (counted()["ENTITLEMENT_CREATE"], counted()["CHANNEL_UPDATE"]) == (4, 3)

    # Replayed events are not counted again.
    resumed = await platform.connect()
    await resumed.resume(disconnected.session_id, disconnected.token, disconnected.seq or 0)
    await resumed.until("RESUMED")
    assert (counted()["MESSAGE_CREATE"], counted()["RESUMED"]) == (3, 1)

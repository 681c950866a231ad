"""Event delivery to sessions: intents, permissions, redaction, broadcasts, joins, leaves, order, failures and metrics."""

import asyncio
import re
from typing import Any

import pytest

from hubbub.protocol.enums import GatewayOpcode
from hubbub.protocol.intents import Intents
from hubbub.protocol.operation import Event
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources.messages import MESSAGE_CREATE
from hubbub.server.core.event_dispatch import (
    BROADCAST_SUBJECT,
    BROADCAST_USERS_MIN,
    Dispatch,
    GuildAudience,
    UserAudience,
)
from hubbub.server.core.store import Tx
from hubbub.server.transports.gateway.frame_batches import CONNECTION_BATCH_BYTES_MAX
from tests.server.transports.gateway.harness import (
    BOT_INTENTS,
    GUILD_ID,
    PUBLIC_CHANNEL_ID,
    RESUMABLE_CLOSE_CODE,
    STAFF_CHANNEL_ID,
    STAFF_ROLE_ID,
    VIEW_CHANNEL,
    Channel,
    GatewayClient,
    GatewayPlatform,
    GuildRow,
    sample_guild,
)

BAN_EVENT = Event("GUILD_BAN_ADD", Any, intents=Intents.GUILD_MODERATION)
ENTITLEMENT_EVENT = Event("ENTITLEMENT_CREATE", Any)
MESSAGE_EVENT = Event("MESSAGE_CREATE", Any, intents=Intents.GUILD_MESSAGES, dm_intents=Intents.DIRECT_MESSAGES)


async def take_message_contents(client: GatewayClient) -> list[str]:
    """Return the contents of the messages received since the last call."""
    await client.wait_processed()
    messages = [payload["d"]["content"] for payload in client.dispatches if payload["t"] == "MESSAGE_CREATE"]
    client.dispatches.clear()
    return messages


async def test_channel_events_are_sent_to_members_who_see_the_channel(platform: GatewayPlatform) -> None:
    await platform.create_guild(sample_guild(), member_roles={5: [], 6: [STAFF_ROLE_ID], 1: []})
    client_without_role, staff_member = (
        await platform.start_session(platform.create_bot(user_id=5)),
        await platform.start_session(platform.create_bot(user_id=6)),
    )
    owner = await platform.start_session(platform.create_user(user_id=1))
    await platform.publish_message(PUBLIC_CHANNEL_ID, "to all")
    await platform.publish_message(STAFF_CHANNEL_ID, "to staff")
    assert await take_message_contents(client_without_role) == ["to all"]
    assert await take_message_contents(staff_member) == ["to all", "to staff"]
    assert await take_message_contents(owner) == ["to all", "to staff"]


async def test_events_need_their_intent_except_for_users(platform: GatewayPlatform) -> None:
    await platform.create_guild(sample_guild(), member_roles={5: [], 6: [], 7: []})
    client_without_intent = await platform.start_session(platform.create_bot(user_id=5), intents=Intents.GUILDS)
    client_with_intent = await platform.start_session(
        platform.create_bot(user_id=6), intents=Intents.GUILDS | Intents.GUILD_MESSAGES
    )
    user = await platform.start_session(platform.create_user(user_id=7), intents=0)
    await platform.publish_message(PUBLIC_CHANNEL_ID, "hello")
    assert await take_message_contents(client_without_intent) == []
    assert await take_message_contents(client_with_intent) == ["hello"]
    assert await take_message_contents(user) == ["hello"]


async def test_some_events_need_a_permission_in_the_guild(platform: GatewayPlatform) -> None:
    row = sample_guild()
    row.roles[STAFF_ROLE_ID] = Permissions.BAN_MEMBERS
    await platform.create_guild(row, member_roles={5: [], 6: [STAFF_ROLE_ID]})
    plain_client, moderator = (
        await platform.start_session(platform.create_bot(user_id=5)),
        await platform.start_session(platform.create_bot(user_id=6)),
    )
    permissions = Permissions.BAN_MEMBERS | Permissions.VIEW_AUDIT_LOG
    await platform.emit(BAN_EVENT, {}, GuildAudience(GUILD_ID, permission=permissions))
    assert await plain_client.take_event_names() == []
    assert await moderator.take_event_names() == ["GUILD_BAN_ADD"]


async def test_some_events_need_a_permission_in_the_channel(platform: GatewayPlatform) -> None:
    row = sample_guild()
    row.channels[PUBLIC_CHANNEL_ID].overwrites = {STAFF_ROLE_ID: (Permissions.MANAGE_CHANNELS, 0)}
    await platform.create_guild(row, member_roles={5: [], 6: [STAFF_ROLE_ID]})
    plain_client, manager = (
        await platform.start_session(platform.create_bot(user_id=5)),
        await platform.start_session(platform.create_bot(user_id=6)),
    )
    await platform.emit(
        BAN_EVENT, {}, GuildAudience(GUILD_ID, PUBLIC_CHANNEL_ID, permission=Permissions.MANAGE_CHANNELS)
    )
    assert (await plain_client.take_event_names(), await manager.take_event_names()) == ([], ["GUILD_BAN_ADD"])


async def test_message_content_is_redacted_without_the_intent(platform: GatewayPlatform) -> None:
    await platform.create_guild(sample_guild(), member_roles={5: [], 6: [], 7: [], 8: []})
    intents = Intents.BOT_MASK & ~Intents.MESSAGE_CONTENT
    client_with_intent = await platform.start_session(platform.create_bot(user_id=5))
    client_without_intent = await platform.start_session(platform.create_bot(user_id=6), intents=intents)
    mentioned_client = await platform.start_session(platform.create_bot(user_id=7), intents=intents)
    user = await platform.start_session(platform.create_user(user_id=8))
    await platform.publish_message(PUBLIC_CHANNEL_ID, "secret", redacted={"content": ""}, unredacted_for=frozenset({7}))
    received_contents = [
        await take_message_contents(client)
        for client in (client_with_intent, client_without_intent, mentioned_client, user)
    ]
    assert received_contents == [["secret"], [""], ["secret"], ["secret"]]


async def test_private_thread_events_are_sent_to_thread_members_and_managers(platform: GatewayPlatform) -> None:
    row = sample_guild()
    row.roles[STAFF_ROLE_ID] = Permissions.MANAGE_THREADS
    await platform.create_guild(row, member_roles={5: [], 6: [], 7: [STAFF_ROLE_ID]})
    clients = [await platform.start_session(platform.create_bot(user_id=user_id)) for user_id in (5, 6, 7)]
    audience = GuildAudience(GUILD_ID, PUBLIC_CHANNEL_ID, members=frozenset({6}))
    await platform.emit(MESSAGE_CREATE, {"content": "psst"}, audience)
    assert [await take_message_contents(client) for client in clients] == [[], ["psst"], ["psst"]]


async def test_an_audience_can_select_exclude_and_exempt_users(platform: GatewayPlatform) -> None:
    await platform.create_guild(sample_guild(), member_roles={5: [], 6: [], 7: []})
    clients = [await platform.start_session(platform.create_bot(user_id=user_id)) for user_id in (5, 6)]
    clients.append(await platform.start_session(platform.create_bot(user_id=7), intents=Intents.GUILDS))
    await platform.emit(MESSAGE_CREATE, {"content": "a"}, GuildAudience(GUILD_ID, users=frozenset({6})))
    await platform.emit(MESSAGE_CREATE, {"content": "b"}, GuildAudience(GUILD_ID, excluded_user_id=6))
    await platform.emit(MESSAGE_CREATE, {"content": "c"}, GuildAudience(GUILD_ID, intent_exempt_user_id=7))
    assert [await take_message_contents(client) for client in clients] == [["b", "c"], ["a", "c"], ["c"]]


async def test_direct_messages_need_the_direct_message_intent(platform: GatewayPlatform) -> None:
    one = await platform.start_session(platform.create_bot(user_id=5), guild_count=0, intents=Intents.DIRECT_MESSAGES)
    two = await platform.start_session(platform.create_bot(user_id=6), guild_count=0, intents=Intents.GUILD_MESSAGES)
    await platform.emit(MESSAGE_EVENT, {"content": "direct"}, UserAudience.of(5, 6))
    await platform.emit(ENTITLEMENT_EVENT, {}, UserAudience.of(5, 6))
    assert await one.take_event_names() == ["MESSAGE_CREATE", "ENTITLEMENT_CREATE"]
    assert await two.take_event_names() == ["ENTITLEMENT_CREATE"]


async def test_a_broadcast_is_published_once_and_delivered_in_order(platform: GatewayPlatform) -> None:
    broadcast_user_ids = frozenset(range(100, 100 + BROADCAST_USERS_MIN))
    await platform.create_guild(sample_guild(), member_roles={99: [], 100: [], 101: []})
    recipients = [await platform.start_session(platform.create_user(user_id)) for user_id in (100, 101)]
    stranger = await platform.start_session(platform.create_user(user_id=99))
    subjects: list[str] = []
    publish = platform.bus.publish

    def record(subject: str, message: Any) -> None:
        subjects.append(subject)
        publish(subject, message)

    platform.bus.publish = record  # type: ignore[method-assign]
    for number, users in enumerate([{100, 101}, broadcast_user_ids, {100, 101}, broadcast_user_ids]):
        await platform.emit(MESSAGE_EVENT, {"content": str(number)}, UserAudience.of(*users))

    assert subjects.count(BROADCAST_SUBJECT) == 2
    assert len(subjects) == 6
    assert [await take_message_contents(client) for client in recipients] == [["0", "1", "2", "3"]] * 2
    assert await take_message_contents(stranger) == []


async def test_a_broadcast_during_identify_is_delivered_after_ready(platform: GatewayPlatform) -> None:
    broadcast_audience = UserAudience.of(*range(100, 100 + BROADCAST_USERS_MIN))
    client = await platform.connect()
    stop_event = asyncio.Event()

    async def broadcast() -> int:
        number = 0
        while not stop_event.is_set():
            await platform.emit(MESSAGE_EVENT, {"content": str(number)}, broadcast_audience)
            number += 1
        return number

    broadcasting_task = asyncio.create_task(broadcast())
    await client.identify(platform.create_user(user_id=100))
    await client.next_event("MESSAGE_CREATE")
    stop_event.set()
    total = await broadcasting_task

    await client.wait_processed()
    received_contents = [payload["d"]["content"] for payload in client.dispatches if payload["t"] == "MESSAGE_CREATE"]
    # Every message since READY was received once and in order.
    assert received_contents == [str(number) for number in range(total - len(received_contents), total)]
    assert [payload["s"] for payload in client.dispatches] == list(range(1, len(client.dispatches) + 1))


async def test_an_event_can_be_sent_to_one_session(platform: GatewayPlatform) -> None:
    token = platform.create_bot(user_id=5)
    first_session, second_session = (
        await platform.start_session(token, guild_count=0),
        await platform.start_session(token, guild_count=0),
    )
    audience = UserAudience.of(5, session_id=second_session.session_id)
    await platform.emit(ENTITLEMENT_EVENT, {}, audience)
    assert (await first_session.take_event_names(), await second_session.take_event_names()) == (
        [],
        ["ENTITLEMENT_CREATE"],
    )


async def test_joining_sends_the_guild_without_the_unavailable_key(platform: GatewayPlatform) -> None:
    await platform.create_guild(sample_guild(), member_roles={1: []})
    client = await platform.start_session(platform.create_bot(user_id=5), guild_count=0)
    await platform.add_member(GUILD_ID, 5)
    await platform.publish_message(PUBLIC_CHANNEL_ID, "welcome")
    guild_create = await client.next_event("GUILD_CREATE")
    assert "unavailable" not in guild_create
    assert guild_create["member_count"] == 2
    assert (await client.next_event("MESSAGE_CREATE"))["content"] == "welcome"


async def test_leaving_sends_guild_delete_and_no_later_events(platform: GatewayPlatform) -> None:
    await platform.create_guild(sample_guild(), member_roles={5: []})
    client = await platform.start_session(platform.create_bot(user_id=5))
    await platform.publish_message(PUBLIC_CHANNEL_ID, "before")
    await platform.remove_member(GUILD_ID, 5)
    await platform.publish_message(PUBLIC_CHANNEL_ID, "after")
    await client.wait_processed()
    assert [(payload["t"], payload["d"].get("content")) for payload in client.dispatches] == [
        ("MESSAGE_CREATE", "before"),
        ("GUILD_DELETE", None),
    ]
    await platform.add_member(GUILD_ID, 5)
    await client.next_event("GUILD_CREATE")
    await platform.publish_message(PUBLIC_CHANNEL_ID, "again")
    assert (await client.next_event("MESSAGE_CREATE"))["content"] == "again"


async def test_a_role_grant_takes_effect_from_the_next_event_on(platform: GatewayPlatform) -> None:
    await platform.create_guild(sample_guild(), member_roles={5: []})
    client = await platform.start_session(platform.create_bot(user_id=5))
    await platform.publish_message(STAFF_CHANNEL_ID, "hidden")
    await platform.set_member_roles(GUILD_ID, 5, [STAFF_ROLE_ID])
    await platform.publish_message(STAFF_CHANNEL_ID, "seen")
    await platform.set_member_roles(GUILD_ID, 5, [])
    await platform.publish_message(STAFF_CHANNEL_ID, "hidden again")
    await platform.wait_idle()
    assert await take_message_contents(client) == ["seen"]


async def test_events_after_a_refresh_keep_their_order(platform: GatewayPlatform) -> None:
    row = sample_guild()
    await platform.create_guild(row, member_roles={5: []})
    client = await platform.start_session(platform.create_bot(user_id=5))
    expected = []
    for number in range(30):
        if number % 3 == 0:
            await platform.set_role_permissions(row, STAFF_ROLE_ID, number)
            expected.append("GUILD_ROLE_UPDATE")
        await platform.publish_message(PUBLIC_CHANNEL_ID, str(number))
        expected.append(str(number))
    await platform.wait_idle()
    await client.wait_processed()
    assert [payload["d"].get("content", payload["t"]) for payload in client.dispatches] == expected


async def test_a_session_that_starts_under_load_receives_each_event_exactly_once(platform: GatewayPlatform) -> None:
    """GUILD_CREATE and later events give the full state: each rename is either in GUILD_CREATE or sent after it."""
    row = sample_guild(name="0")
    await platform.create_guild(row, member_roles={5: []})
    update = Event("GUILD_UPDATE", Any, intents=Intents.GUILDS)
    is_stopped = False

    async def rename() -> None:
        number = 0
        while not is_stopped:
            number += 1

            def store_name(tx: Tx, number: int = number) -> None:
                row.name = str(number)
                platform.store_guild(tx, row)
                tx.emit(update, {"name": row.name}, GuildAudience(GUILD_ID), refresh="guild")

            await platform.db.write(store_name)
            if number % 5 == 0:
                await asyncio.sleep(0)

    renaming_task = asyncio.ensure_future(rename())
    clients = []
    for _ in range(8):
        token = platform.create_bot(user_id=5)
        client = await platform.connect()
        await client.identify(token, shard=None)
        clients.append(client)
    for client in clients:
        await client.next_event("GUILD_CREATE")
        for _ in range(5):
            await client.next_event("GUILD_UPDATE")
    is_stopped = True
    await renaming_task
    await platform.wait_idle()
    for client in clients:
        await client.wait_processed()
        created_names = next(payload["d"]["name"] for payload in client.dispatches if payload["t"] == "GUILD_CREATE")
        names = [int(payload["d"]["name"]) for payload in client.dispatches if payload["t"] == "GUILD_UPDATE"]
        assert names == list(range(int(created_names) + 1, int(row.name) + 1))


async def test_guild_events_of_a_new_hub_wait_for_guild_create(platform: GatewayPlatform) -> None:
    await platform.create_guild(sample_guild(), member_roles={5: []})
    client = await platform.connect()
    await client.send_identify(platform.create_bot(user_id=5))
    for number in range(20):
        await platform.publish_message(PUBLIC_CHANNEL_ID, str(number))
    await platform.wait_idle()
    await client.wait_processed()
    names = [payload["t"] for payload in client.dispatches]
    assert names[:2] == ["READY", "GUILD_CREATE"]
    received_numbers = [int(payload["d"]["content"]) for payload in client.dispatches[2:]]
    assert received_numbers == list(range(20 - len(received_numbers), 20))


async def test_many_sessions_can_start_together(platform: GatewayPlatform) -> None:
    user_ids = range(100, 160)
    await platform.create_guild(sample_guild(), member_roles={user_id: [] for user_id in user_ids})
    clients = await asyncio.gather(
        *(platform.start_session(platform.create_bot(user_id=user_id)) for user_id in user_ids)
    )
    await platform.publish_message(PUBLIC_CHANNEL_ID, "hello")
    for client in clients:
        assert await take_message_contents(client) == ["hello"]


async def test_sessions_that_arrive_after_an_event_receive_the_next_ones(platform: GatewayPlatform) -> None:
    await platform.create_guild(sample_guild(), member_roles={5: [], 6: [STAFF_ROLE_ID]})
    bot_token, staff_token = platform.create_bot(user_id=5), platform.create_bot(user_id=6)
    clients = [await platform.start_session(bot_token)]
    # The hub now knows the recipients of both channels; further sessions are added to them.
    await platform.publish_message(PUBLIC_CHANNEL_ID, "first")
    await platform.publish_message(STAFF_CHANNEL_ID, "first to staff")
    clients.append(await platform.start_session(bot_token))
    clients.append(await platform.start_session(bot_token, intents=Intents.GUILDS))
    clients.append(await platform.start_session(staff_token))
    await platform.publish_message(PUBLIC_CHANNEL_ID, "second")
    await platform.publish_message(STAFF_CHANNEL_ID, "second to staff")
    await clients[0].close()
    await platform.wait_idle()
    await platform.publish_message(PUBLIC_CHANNEL_ID, "third")
    assert await take_message_contents(clients[1]) == ["second", "third"]
    assert await take_message_contents(clients[2]) == []
    assert await take_message_contents(clients[3]) == ["second", "second to staff", "third"]


class CountingTransport:
    """A transport that counts its writes."""

    def __init__(self, transport: Any) -> None:
        self._transport = transport
        self.write_count = 0

    def write(self, data: bytes) -> None:
        self.write_count += 1
        self._transport.write(data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


@pytest.mark.parametrize("compression", ["", "zlib-stream"])
async def test_events_of_commits_that_finish_together_share_a_write(
    platform: GatewayPlatform, compression: str
) -> None:
    await platform.create_guild(sample_guild(), member_roles={5: []})
    client = await platform.start_session(platform.create_bot(user_id=5), compression)
    [session] = platform.gateway.sessions
    assert session.connection is not None
    transport = session.connection.transport = CountingTransport(session.connection.transport)
    contents = [f"message {number}" for number in range(200)]

    await asyncio.gather(*(platform.publish_message(PUBLIC_CHANNEL_ID, content) for content in contents))

    write_count = transport.write_count
    assert await take_message_contents(client) == contents
    assert write_count < len(contents) / 2


async def test_a_payload_follows_the_events_that_wait_for_a_shared_write(platform: GatewayPlatform) -> None:
    await platform.create_guild(sample_guild(), member_roles={5: []})
    client = await platform.start_session(platform.create_bot(user_id=5))
    [session] = platform.gateway.sessions
    assert session.connection is not None
    packet = platform.gateway.sessions.create_packet("MESSAGE_CREATE", b'{"content":"before"}')
    with platform.gateway.frame_batch:
        session.send(packet)
        session.connection.send_payload(GatewayOpcode.HEARTBEAT_ACK)
        session.send(packet)
    received = [(await client.receive())["op"] for _ in range(3)]
    assert received == [GatewayOpcode.DISPATCH, GatewayOpcode.HEARTBEAT_ACK, GatewayOpcode.DISPATCH]


async def test_frames_wait_for_a_shared_write_up_to_a_limit(platform: GatewayPlatform) -> None:
    await platform.create_guild(sample_guild(), member_roles={5: []})
    client = await platform.start_session(platform.create_bot(user_id=5))
    [session] = platform.gateway.sessions
    connection = session.connection
    assert connection is not None
    body = b'{"content":"%b"}' % (b"x" * (CONNECTION_BATCH_BYTES_MAX // 4))
    packet = platform.gateway.sessions.create_packet("MESSAGE_CREATE", body)
    with platform.gateway.frame_batch:
        for _ in range(10):
            session.send(packet)
            assert connection.waiting_bytes <= CONNECTION_BATCH_BYTES_MAX
    assert connection.waiting_bytes == 0
    assert len(await take_message_contents(client)) == 10


async def test_events_of_two_guilds_do_not_mix(platform: GatewayPlatform) -> None:
    other_guild_id = 2000 << 22
    await platform.create_guild(sample_guild(), member_roles={5: []})
    await platform.create_guild(
        GuildRow(id=other_guild_id, roles={other_guild_id: VIEW_CHANNEL}, channels={30: Channel(30)}), {6: []}
    )
    first_session, second_session = (
        await platform.start_session(platform.create_bot(user_id=5)),
        await platform.start_session(platform.create_bot(user_id=6)),
    )
    await platform.publish_message(PUBLIC_CHANNEL_ID, "here")
    await platform.publish_message(30, "there", guild_id=other_guild_id)
    assert (await take_message_contents(first_session), await take_message_contents(second_session)) == (
        ["here"],
        ["there"],
    )


@pytest.mark.parametrize("refresh", ["", "guild"])
async def test_only_sessions_that_missed_a_guild_event_are_invalidated(
    platform: GatewayPlatform, caplog: pytest.LogCaptureFixture, refresh: str
) -> None:
    await platform.create_guild(sample_guild(), member_roles={5: [], 6: []})
    await platform.create_guild(
        GuildRow(id=2 << 22, channels={30: Channel(30)}, roles={2 << 22: VIEW_CHANNEL}), {7: []}
    )
    clients = [await platform.start_session(platform.create_bot(user_id=user_id)) for user_id in (5, 6)]
    other_guild = await platform.start_session(platform.create_bot(user_id=7))
    broken_dispatch = Dispatch(event="MESSAGE_CREATE", body=None, audience=GuildAudience(GUILD_ID), refresh=refresh)  # type: ignore[arg-type]
    platform.bus.publish(f"guild.{GUILD_ID}", broken_dispatch)
    for client in clients:
        assert (await client.next_payload(GatewayOpcode.INVALID_SESSION))["d"] is False
        await client.identify(client.token)
        await client.next_event("GUILD_CREATE")
    await platform.publish_message(PUBLIC_CHANNEL_ID, "after")
    assert [await take_message_contents(client) for client in clients] == [["after"], ["after"]]
    assert await other_guild.take_event_names() == []
    assert "Failed to deliver a guild event" in caplog.text


async def test_a_guild_failure_while_a_session_starts_invalidates_it(platform: GatewayPlatform) -> None:
    await platform.create_guild(sample_guild(), member_roles={5: []})
    client = await platform.connect()
    await client.identify(platform.create_bot(user_id=5))
    broken_dispatch = Dispatch(event="MESSAGE_CREATE", body=None, audience=GuildAudience(GUILD_ID))  # type: ignore[arg-type]
    platform.bus.publish(f"guild.{GUILD_ID}", broken_dispatch)
    assert (await client.next_payload(GatewayOpcode.INVALID_SESSION))["d"] is False
    await client.identify(client.token)
    await client.next_event("GUILD_CREATE")
    await platform.publish_message(PUBLIC_CHANNEL_ID, "after")
    assert await take_message_contents(client) == ["after"]


@pytest.mark.parametrize("subject", ["user.5", BROADCAST_SUBJECT])
async def test_all_sessions_of_a_user_who_missed_an_event_are_invalidated(
    platform: GatewayPlatform, subject: str
) -> None:
    clients = [await platform.start_session(platform.create_bot(user_id=5), guild_count=0) for _ in range(2)]
    other_session = await platform.start_session(platform.create_bot(user_id=6), guild_count=0)
    broken_dispatch = Dispatch(event="USER_UPDATE", body=None, audience=UserAudience.of(5))  # type: ignore[arg-type]
    platform.bus.publish(subject, broken_dispatch)
    for client in clients:
        assert (await client.next_payload(GatewayOpcode.INVALID_SESSION))["d"] is False
        await client.identify(client.token)
    await platform.emit(ENTITLEMENT_EVENT, {}, UserAudience.of(5))
    for client in clients:
        assert (await client.take_event_names())[-1] == "ENTITLEMENT_CREATE"
    assert await other_session.take_event_names() == []


async def test_deliveries_to_connections_are_counted(platform: GatewayPlatform) -> None:
    def delivery_counts() -> dict[str, float]:
        rendered_metrics = platform.metrics.render().decode()
        samples = re.findall(
            r'^hubbub_(?:deliveries_total{event="(\w+)"}|delivered_bytes_total) (\S+)$', rendered_metrics, re.MULTILINE
        )
        return {event or "bytes": float(value) for event, value in samples}

    await platform.create_guild(sample_guild(), member_roles={5: [], 6: [], 7: [], 8: []})
    await platform.start_session(platform.create_bot(user_id=5))
    await platform.start_session(platform.create_bot(user_id=6), "zlib-stream")
    client_without_content = await platform.start_session(
        platform.create_bot(user_id=7), intents=BOT_INTENTS & ~Intents.MESSAGE_CONTENT
    )
    disconnected_client = await platform.start_session(platform.create_bot(user_id=8))
    await disconnected_client.close(RESUMABLE_CLOSE_CODE)
    await platform.wait_idle()
    assert (delivery_counts()["READY"], delivery_counts()["GUILD_CREATE"]) == (4, 4)

    bytes_before = delivery_counts()["bytes"]
    await platform.publish_message(PUBLIC_CHANNEL_ID, "hi")
    # The session without a connection is not counted, and bytes are counted before compression.
    assert delivery_counts()["MESSAGE_CREATE"] == 3
    assert delivery_counts()["bytes"] - bytes_before == 3 * len(
        '{"t":"MESSAGE_CREATE","s":,"op":0,"d":{"content":"hi"}}'
    )

    await platform.emit(ENTITLEMENT_EVENT, {}, UserAudience.of(5))
    await platform.emit(ENTITLEMENT_EVENT, {}, UserAudience.of(*range(5, 5 + BROADCAST_USERS_MIN)))
    await platform.update_channel(sample_guild(), Channel(PUBLIC_CHANNEL_ID, "renamed"))
    await client_without_content.next_event("CHANNEL_UPDATE")
    assert (delivery_counts()["ENTITLEMENT_CREATE"], delivery_counts()["CHANNEL_UPDATE"]) == (4, 3)

    # Replayed events are not counted again.
    resumed_client = await platform.connect()
    await resumed_client.resume(disconnected_client.session_id, disconnected_client.token, disconnected_client.seq or 0)
    await resumed_client.next_event("RESUMED")
    assert (delivery_counts()["MESSAGE_CREATE"], delivery_counts()["RESUMED"]) == (3, 1)

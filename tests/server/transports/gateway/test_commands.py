"""Gateway commands: member requests, voice states, presence updates and first-party opcodes."""

from typing import Any

import pytest

from hubbub.protocol import changes
from hubbub.protocol.enums import ActivityType, CloseCode, GatewayOpcode
from hubbub.protocol.intents import Intents
from tests.server.transports.gateway.harness import (
    GUILD_ID,
    PUBLIC_CHANNEL_ID,
    GatewayClient,
    GatewayPlatform,
    sample_guild,
)

ALL_MEMBERS_REQUEST = {"guild_id": str(GUILD_ID), "query": "", "limit": 0}


async def take_events(client: GatewayClient) -> list[dict[str, Any]]:
    """Return the dispatches received since the last call: their data, with the event name under `t`."""
    await client.wait_processed()
    events = [{"t": payload["t"]} | payload["d"] for payload in client.dispatches]
    client.dispatches.clear()
    return events


async def test_a_command_is_answered_only_to_its_session(platform: GatewayPlatform) -> None:
    await platform.create_guild(sample_guild(), member_roles={5: []})
    token = platform.create_bot(user_id=5)
    requester, other_session = await platform.start_session(token), await platform.start_session(token)
    await requester.send(
        GatewayOpcode.REQUEST_GUILD_MEMBERS, {"guild_id": str(GUILD_ID), "query": "a", "limit": 3, "nonce": "n"}
    )
    assert [(event["chunk_index"], event["nonce"]) for event in await take_events(requester)] == [
        (0, "n"),
        (1, "n"),
        (2, "n"),
    ]
    assert await take_events(other_session) == []


async def test_a_command_that_writes_receives_the_id_of_its_session(platform: GatewayPlatform) -> None:
    await platform.create_guild(sample_guild(), member_roles={5: []})
    client = await platform.start_session(platform.create_bot(user_id=5))
    await client.send(
        GatewayOpcode.VOICE_STATE_UPDATE,
        {"guild_id": str(GUILD_ID), "channel_id": str(PUBLIC_CHANNEL_ID), "self_mute": False, "self_deaf": False},
    )
    assert await take_events(client) == [{"t": "VOICE_SERVER_UPDATE", "token": client.session_id}]


async def test_all_members_can_be_requested_once_in_30_seconds(platform: GatewayPlatform) -> None:
    await platform.create_guild(sample_guild(), member_roles={5: []})
    platform.clock.freeze()
    client = await platform.start_session(platform.create_bot(user_id=5))
    other_session = await platform.start_session(client.token)
    await client.send(GatewayOpcode.REQUEST_GUILD_MEMBERS, ALL_MEMBERS_REQUEST | {"nonce": "one"})
    assert [event["t"] for event in await take_events(client)] == ["GUILD_MEMBERS_CHUNK"]
    platform.clock.advance(12_500)
    await other_session.send(GatewayOpcode.REQUEST_GUILD_MEMBERS, ALL_MEMBERS_REQUEST | {"nonce": "two"})
    assert await take_events(other_session) == [
        {
            "t": "RATE_LIMITED",
            "opcode": GatewayOpcode.REQUEST_GUILD_MEMBERS,
            "retry_after": 17.5,
            "meta": {"guild_id": str(GUILD_ID), "nonce": "two"},
        }
    ]
    await client.send(GatewayOpcode.REQUEST_GUILD_MEMBERS, ALL_MEMBERS_REQUEST | {"nonce": "x" * 33})
    assert (await take_events(client))[0]["meta"] == {"guild_id": str(GUILD_ID)}
    await client.send(GatewayOpcode.REQUEST_GUILD_MEMBERS, {"guild_id": str(GUILD_ID), "user_ids": ["5"], "limit": 1})
    await client.send(GatewayOpcode.REQUEST_GUILD_MEMBERS, {"guild_id": str(GUILD_ID), "query": "b", "limit": 1})
    assert [event["t"] for event in await take_events(client)] == ["GUILD_MEMBERS_CHUNK"] * 2
    platform.clock.advance(17_500)
    await client.send(GatewayOpcode.REQUEST_GUILD_MEMBERS, ALL_MEMBERS_REQUEST)
    assert [event["t"] for event in await take_events(client)] == ["GUILD_MEMBERS_CHUNK"]


@pytest.mark.parametrize(
    ("mode", "repeated_events"),
    [
        ("real", ["RATE_LIMITED"]),
        ("report", ["RATE_LIMITED", "GUILD_MEMBERS_CHUNK"]),
        ("off", ["GUILD_MEMBERS_CHUNK"]),
    ],
)
async def test_a_repeated_member_request_is_reported_unless_limits_are_off(
    mode: str, repeated_events: list[str]
) -> None:
    async with GatewayPlatform(rate_limits=mode) as platform:
        await platform.create_guild(sample_guild(), member_roles={5: []})
        platform.clock.freeze()
        client = await platform.start_session(platform.create_bot(user_id=5))
        for _ in range(2):
            await client.send(GatewayOpcode.REQUEST_GUILD_MEMBERS, ALL_MEMBERS_REQUEST)
        assert [event["t"] for event in await take_events(client)] == ["GUILD_MEMBERS_CHUNK", *repeated_events]


@pytest.mark.dated(changes.MEMBER_REQUEST_LIMIT)
async def test_member_requests_were_unlimited_before_the_change(platform: GatewayPlatform) -> None:
    await platform.create_guild(sample_guild(), member_roles={5: []})
    platform.clock.freeze()
    client = await platform.start_session(platform.create_bot(user_id=5))
    event_names = []
    for offset_ms in (-1, 0):
        platform.clock.set(changes.MEMBER_REQUEST_LIMIT.at_ms + offset_ms)
        for _ in range(2):
            await client.send(GatewayOpcode.REQUEST_GUILD_MEMBERS, ALL_MEMBERS_REQUEST)
        event_names.append([event["t"] for event in await take_events(client)])
    assert event_names == [["GUILD_MEMBERS_CHUNK"] * 2, ["GUILD_MEMBERS_CHUNK", "RATE_LIMITED"]]


async def test_users_may_send_opcodes_that_bots_may_not(platform: GatewayPlatform) -> None:
    user, bot = (
        await platform.start_session(platform.create_user(user_id=7), guild_count=0),
        await platform.start_session(platform.create_bot(user_id=5), guild_count=0),
    )
    await user.send(GatewayOpcode.QOS_HEARTBEAT, {"seq": 1, "qos": {}})
    await user.next_payload(GatewayOpcode.HEARTBEAT_ACK)
    await user.send(GatewayOpcode.UPDATE_TIME_SPENT_SESSION, {})
    await user.wait_processed()
    await bot.send(GatewayOpcode.QOS_HEARTBEAT, {"seq": 1, "qos": {}})
    assert await bot.wait_close_code() == CloseCode.UNKNOWN_OPCODE


FIRST_PARTY_OPCODES = (5, 14, 18, 19, 20, 21, 22, 28, 29, 30, 34, 35, 36, 37, 38, 39, 41)
"""First-party opcodes without a handler; call opcodes have their own tests."""
UNKNOWN_OPCODE = 12


@pytest.mark.parametrize("kind", ["user", "bearer"])
async def test_first_party_opcodes_of_users_and_oauth2_sessions_are_ignored(
    platform: GatewayPlatform, kind: str
) -> None:
    token = platform.create_user(user_id=7, kind=kind, scopes=frozenset({"identify", "gateway.connect"}))
    client = await platform.start_session(token, guild_count=0)
    for opcode in FIRST_PARTY_OPCODES:
        for data in ({"lobby_id": "1"}, [], None):
            await client.send(opcode, data)
    await client.wait_processed()
    await client.send(UNKNOWN_OPCODE, {})
    assert await client.wait_close_code() == CloseCode.UNKNOWN_OPCODE


@pytest.mark.parametrize("opcode", FIRST_PARTY_OPCODES)
async def test_first_party_opcodes_of_bots_are_unknown(platform: GatewayPlatform, opcode: int) -> None:
    client = await platform.start_session(platform.create_bot(user_id=5), guild_count=0)
    await client.send(opcode, {})
    assert await client.wait_close_code() == CloseCode.UNKNOWN_OPCODE


async def test_presence_is_sent_to_guild_members_with_the_intent(platform: GatewayPlatform) -> None:
    await platform.create_guild(sample_guild(), member_roles={5: [], 6: [], 7: []})
    sender = await platform.start_session(platform.create_bot(user_id=5))
    watcher = await platform.start_session(platform.create_bot(user_id=6), intents=Intents.BOT_MASK)
    client_without_intent = await platform.start_session(platform.create_bot(user_id=7), intents=Intents.GUILDS)
    await platform.wait_idle()
    for client in (sender, watcher, client_without_intent):
        await take_events(client)
    activities = [
        {
            "name": "Chess",
            "type": ActivityType.PLAYING,
            "details": "dropped",
            "state": "round 2",
            "url": "https://twitch.tv/x",
        },
        {"name": "Live", "type": ActivityType.STREAMING, "url": "https://twitch.tv/x"},
        {"name": "Bad", "type": ActivityType.STREAMING, "url": "https://example.com/x"},
        {"name": "", "type": ActivityType.PLAYING},
        {"name": "Unknown", "type": 9},
    ]
    await sender.send(
        GatewayOpcode.PRESENCE_UPDATE, {"since": None, "activities": activities, "status": "dnd", "afk": False}
    )
    await sender.wait_processed()
    await platform.wait_idle()
    stored_presence = platform.presences.find(5)
    assert stored_presence is not None
    created_at = stored_presence.activities[0]["created_at"]
    assert await take_events(watcher) == [
        {
            "t": "PRESENCE_UPDATE",
            "user": {"id": "5"},
            "guild_id": str(GUILD_ID),
            "status": "dnd",
            "activities": [
                {"name": "Chess", "type": ActivityType.PLAYING, "state": "round 2", "created_at": created_at},
                {
                    "name": "Live",
                    "type": ActivityType.STREAMING,
                    "url": "https://twitch.tv/x",
                    "created_at": created_at,
                },
                {"name": "Bad", "type": ActivityType.STREAMING, "created_at": created_at},
            ],
            "client_status": {"web": "dnd"},
        }
    ]
    assert await take_events(sender) == []
    assert await take_events(client_without_intent) == []


async def test_invisible_and_disconnected_bots_are_shown_as_offline(platform: GatewayPlatform) -> None:
    await platform.create_guild(sample_guild(), member_roles={5: [], 6: []})
    sender = await platform.start_session(platform.create_bot(user_id=5))
    watcher = await platform.start_session(platform.create_bot(user_id=6), intents=Intents.BOT_MASK)
    await sender.send(
        GatewayOpcode.PRESENCE_UPDATE,
        {"status": "invisible", "activities": [{"name": "x"}], "since": None, "afk": False},
    )
    await sender.wait_processed()
    await platform.wait_idle()
    update = (await take_events(watcher))[-1]
    assert (update["status"], update["activities"], update["client_status"]) == ("offline", [], {})
    await sender.send(GatewayOpcode.PRESENCE_UPDATE, {"status": "bogus"})
    await sender.send(GatewayOpcode.PRESENCE_UPDATE, {"status": "online"})
    await sender.wait_processed()
    await platform.wait_idle()
    assert [event["status"] for event in await take_events(watcher)] == ["online"]
    await sender.close()
    await platform.wait_idle()
    assert [event["status"] for event in await take_events(watcher)] == ["offline"]


async def test_presence_updates_beyond_five_in_20_seconds_are_dropped(platform: GatewayPlatform) -> None:
    client = await platform.start_session(platform.create_bot(user_id=5), guild_count=0)
    for number in range(8):
        await client.send(
            GatewayOpcode.PRESENCE_UPDATE,
            {"status": "online", "activities": [{"name": str(number)}], "since": None, "afk": False},
        )
    await client.wait_processed()
    presence = platform.presences.find(5)
    assert presence is not None
    assert presence.activities[0]["name"] == "4"


async def test_the_latest_presence_of_several_sessions_is_shown(platform: GatewayPlatform) -> None:
    token = platform.create_bot(user_id=5)
    first_session, second_session = (
        await platform.start_session(token, guild_count=0),
        await platform.start_session(token, guild_count=0),
    )
    await second_session.send(
        GatewayOpcode.PRESENCE_UPDATE, {"status": "idle", "activities": [], "since": None, "afk": False}
    )
    await second_session.wait_processed()
    await first_session.send(
        GatewayOpcode.PRESENCE_UPDATE, {"status": "dnd", "activities": [], "since": None, "afk": False}
    )
    await first_session.wait_processed()
    presence = platform.presences.find(5)
    assert presence is not None
    assert presence.status == "dnd"
    await first_session.close()
    await platform.wait_idle()
    presence = platform.presences.find(5)
    assert presence is not None
    assert presence.status == "idle"

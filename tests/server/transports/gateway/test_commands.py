"""Gateway commands: member requests, voice states and presence updates."""

from typing import Any

import pytest

from hubbub.protocol import changes
from hubbub.protocol.enums import CloseCode
from hubbub.protocol.intents import Intents
from tests.server.transports.gateway.harness import GUILD, Client, Platform, sample_guild

ALL = {"guild_id": str(GUILD), "query": "", "limit": 0}


async def received(client: Client) -> list[dict[str, Any]]:
    await client.fence()
    events = [{"t": p["t"]} | p["d"] for p in client.received]
    client.received.clear()
    return events


async def test_a_command_is_answered_only_to_its_session(platform: Platform) -> None:
    await platform.guild(sample_guild(), {5: []})
    token = platform.bot(5)
    requester, other = await platform.session(token), await platform.session(token)
    await requester.send(8, {"guild_id": str(GUILD), "query": "a", "limit": 3, "nonce": "n"})
    assert [(a["chunk_index"], a["nonce"]) for a in await received(requester)] == [(0, "n"), (1, "n"), (2, "n")]
    assert await received(other) == []


async def test_a_writing_command_receives_its_session_id(platform: Platform) -> None:
    await platform.guild(sample_guild(), {5: []})
    client = await platform.session(platform.bot(5))
    await client.send(4, {"guild_id": str(GUILD), "channel_id": "10", "self_mute": False, "self_deaf": False})
    assert await received(client) == [{"t": "VOICE_SERVER_UPDATE", "token": client.session_id}]


async def test_all_members_can_be_requested_once_in_30_seconds(platform: Platform) -> None:
    await platform.guild(sample_guild(), {5: []})
    platform.clock.freeze()
    client = await platform.session(platform.bot(5))
    other = await platform.session(client.token)
    await client.send(8, ALL | {"nonce": "one"})
    assert [a["t"] for a in await received(client)] == ["GUILD_MEMBERS_CHUNK"]
    platform.clock.advance(12_500)
    await other.send(8, ALL | {"nonce": "two"})
    assert await received(other) == [
        {"t": "RATE_LIMITED", "opcode": 8, "retry_after": 17.5, "meta": {"guild_id": str(GUILD), "nonce": "two"}}
    ]
    await client.send(8, ALL | {"nonce": "x" * 33})
    assert (await received(client))[0]["meta"] == {"guild_id": str(GUILD)}
    await client.send(8, {"guild_id": str(GUILD), "user_ids": ["5"], "limit": 1})
    await client.send(8, {"guild_id": str(GUILD), "query": "b", "limit": 1})
    assert [a["t"] for a in await received(client)] == ["GUILD_MEMBERS_CHUNK"] * 2
    platform.clock.advance(17_500)
    await client.send(8, ALL)
    assert [a["t"] for a in await received(client)] == ["GUILD_MEMBERS_CHUNK"]


@pytest.mark.dated(changes.MEMBER_REQUEST_LIMIT)
async def test_member_requests_were_unlimited_before_the_change(platform: Platform) -> None:
    await platform.guild(sample_guild(), {5: []})
    platform.clock.freeze()
    client = await platform.session(platform.bot(5))
    event_names = []
    for offset_ms in (-1, 0):
        platform.clock.set(changes.MEMBER_REQUEST_LIMIT.at_ms + offset_ms)
        for _ in range(2):
            await client.send(8, ALL)
        event_names.append([a["t"] for a in await received(client)])
    assert event_names == [["GUILD_MEMBERS_CHUNK"] * 2, ["GUILD_MEMBERS_CHUNK", "RATE_LIMITED"]]


async def test_users_may_send_opcodes_that_bots_may_not(platform: Platform) -> None:
    user, bot = (
        await platform.session(platform.user(7), guilds=0),
        await platform.session(platform.bot(5), guilds=0),
    )
    await user.send(40, {"seq": 1, "qos": {}})
    await user.opcode(11)
    await user.send(41, {})
    await user.fence()
    await bot.send(40, {"seq": 1, "qos": {}})
    assert await bot.closed() == CloseCode.UNKNOWN_OPCODE


FIRST_PARTY = (5, 14, 18, 19, 20, 21, 22, 28, 29, 30, 34, 35, 36, 37, 38, 39, 41)
"""First-party opcodes without a handler; call opcodes have their own tests."""


@pytest.mark.parametrize("kind", ["user", "bearer"])
async def test_first_party_opcodes_of_users_and_oauth2_sessions_are_ignored(platform: Platform, kind: str) -> None:
    token = platform.user(7, kind, frozenset({"identify", "gateway.connect"}))
    client = await platform.session(token, guilds=0)
    for opcode in FIRST_PARTY:
        for data in ({"lobby_id": "1"}, [], None):
            await client.send(opcode, data)
    await client.fence()
    await client.send(12, {})
    assert await client.closed() == CloseCode.UNKNOWN_OPCODE


@pytest.mark.parametrize("opcode", FIRST_PARTY)
async def test_first_party_opcodes_of_bots_are_unknown(platform: Platform, opcode: int) -> None:
    client = await platform.session(platform.bot(5), guilds=0)
    await client.send(opcode, {})
    assert await client.closed() == CloseCode.UNKNOWN_OPCODE


async def test_presence_is_sent_to_guild_members_with_the_intent(platform: Platform) -> None:
    await platform.guild(sample_guild(), {5: [], 6: [], 7: []})
    sender = await platform.session(platform.bot(5))
    watcher = await platform.session(platform.bot(6), intents=Intents.BOT_MASK)
    without_intent = await platform.session(platform.bot(7), intents=Intents.GUILDS)
    await platform.settle()
    for client in (sender, watcher, without_intent):
        await received(client)
    activities = [
        {"name": "Chess", "type": 0, "details": "dropped", "state": "round 2", "url": "https://twitch.tv/x"},
        {"name": "Live", "type": 1, "url": "https://twitch.tv/x"},
        {"name": "Bad", "type": 1, "url": "https://example.com/x"},
        {"name": "", "type": 0},
        {"name": "Unknown", "type": 9},
    ]
    await sender.send(3, {"since": None, "activities": activities, "status": "dnd", "afk": False})
    await sender.fence()
    await platform.settle()
    stored = platform.presences.find(5)
    assert stored is not None
    created_at = stored.activities[0]["created_at"]
    assert await received(watcher) == [
        {
            "t": "PRESENCE_UPDATE",
            "user": {"id": "5"},
            "guild_id": str(GUILD),
            "status": "dnd",
            "activities": [
                {"name": "Chess", "type": 0, "state": "round 2", "created_at": created_at},
                {"name": "Live", "type": 1, "url": "https://twitch.tv/x", "created_at": created_at},
                {"name": "Bad", "type": 1, "created_at": created_at},
            ],
            "client_status": {"web": "dnd"},
        }
    ]
    assert await received(sender) == []
    assert await received(without_intent) == []


async def test_invisible_and_disconnected_bots_are_shown_as_offline(platform: Platform) -> None:
    await platform.guild(sample_guild(), {5: [], 6: []})
    sender = await platform.session(platform.bot(5))
    watcher = await platform.session(platform.bot(6), intents=Intents.BOT_MASK)
    await sender.send(3, {"status": "invisible", "activities": [{"name": "x"}], "since": None, "afk": False})
    await sender.fence()
    await platform.settle()
    update = (await received(watcher))[-1]
    assert (update["status"], update["activities"], update["client_status"]) == ("offline", [], {})
    await sender.send(3, {"status": "bogus"})
    await sender.send(3, {"status": "online"})
    await sender.fence()
    await platform.settle()
    assert [a["status"] for a in await received(watcher)] == ["online"]
    await sender.leave()
    await platform.settle()
    assert [a["status"] for a in await received(watcher)] == ["offline"]


async def test_presence_updates_beyond_five_in_20_seconds_are_dropped(platform: Platform) -> None:
    client = await platform.session(platform.bot(5), guilds=0)
    for number in range(8):
        await client.send(3, {"status": "online", "activities": [{"name": str(number)}], "since": None, "afk": False})
    await client.fence()
    presence = platform.presences.find(5)
    assert presence is not None
    assert presence.activities[0]["name"] == "4"


async def test_the_latest_presence_of_several_sessions_wins(platform: Platform) -> None:
    token = platform.bot(5)
    one, two = await platform.session(token, guilds=0), await platform.session(token, guilds=0)
    await two.send(3, {"status": "idle", "activities": [], "since": None, "afk": False})
    await two.fence()
    await one.send(3, {"status": "dnd", "activities": [], "since": None, "afk": False})
    await one.fence()
    presence = platform.presences.find(5)
    assert presence is not None
    assert presence.status == "dnd"
    await one.leave()
    await platform.settle()
    presence = platform.presences.find(5)
    assert presence is not None
    assert presence.status == "idle"

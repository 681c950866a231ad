"""What sessions ask for: members, voice, presence."""

from typing import Any

import pytest

from hubbub.protocol import changes
from hubbub.protocol.enums import CloseCode
from hubbub.protocol.intents import Intents
from tests.server.transports.gateway.rehearsal import GUILD, Client, Platform, town

ALL = {"guild_id": str(GUILD), "query": "", "limit": 0}


async def answers(client: Client) -> list[dict[str, Any]]:
    await client.fence()
    heard = [{"t": p["t"]} | p["d"] for p in client.heard]
    client.heard.clear()
    return heard


async def test_a_command_is_answered_to_the_asking_session_only(platform: Platform) -> None:
    await platform.guild(town(), {5: []})
    token = platform.bot(5)
    asking, other = await platform.session(token), await platform.session(token)
    await asking.send(8, {"guild_id": str(GUILD), "query": "a", "limit": 3, "nonce": "n"})
    assert [(a["chunk_index"], a["nonce"]) for a in await answers(asking)] == [(0, "n"), (1, "n"), (2, "n")]
    assert await answers(other) == []


async def test_a_writing_command_knows_its_session(platform: Platform) -> None:
    await platform.guild(town(), {5: []})
    client = await platform.session(platform.bot(5))
    await client.send(4, {"guild_id": str(GUILD), "channel_id": "10", "self_mute": False, "self_deaf": False})
    assert await answers(client) == [{"t": "VOICE_SERVER_UPDATE", "token": client.session_id}]


async def test_all_members_may_be_asked_for_once_in_thirty_seconds(platform: Platform) -> None:
    await platform.guild(town(), {5: []})
    platform.clock.freeze()
    client = await platform.session(platform.bot(5))
    other = await platform.session(client.token)
    await client.send(8, ALL | {"nonce": "one"})
    assert [a["t"] for a in await answers(client)] == ["GUILD_MEMBERS_CHUNK"]
    platform.clock.advance(12_500)
    await other.send(8, ALL | {"nonce": "two"})
    assert await answers(other) == [
        {"t": "RATE_LIMITED", "opcode": 8, "retry_after": 17.5, "meta": {"guild_id": str(GUILD), "nonce": "two"}}
    ]
    await client.send(8, ALL | {"nonce": "x" * 33})
    assert (await answers(client))[0]["meta"] == {"guild_id": str(GUILD)}
    await client.send(8, {"guild_id": str(GUILD), "user_ids": ["5"], "limit": 1})
    await client.send(8, {"guild_id": str(GUILD), "query": "b", "limit": 1})
    assert [a["t"] for a in await answers(client)] == ["GUILD_MEMBERS_CHUNK"] * 2
    platform.clock.advance(17_500)
    await client.send(8, ALL)
    assert [a["t"] for a in await answers(client)] == ["GUILD_MEMBERS_CHUNK"]


@pytest.mark.dated(changes.MEMBER_REQUEST_LIMIT)
async def test_before_its_date_the_limit_did_not_exist(platform: Platform) -> None:
    await platform.guild(town(), {5: []})
    platform.clock.freeze()
    client = await platform.session(platform.bot(5))
    told = []
    for moment in (-1, 0):
        platform.clock.set(changes.MEMBER_REQUEST_LIMIT.at_ms + moment)
        for _ in range(2):
            await client.send(8, ALL)
        told.append([a["t"] for a in await answers(client)])
    assert told == [["GUILD_MEMBERS_CHUNK"] * 2, ["GUILD_MEMBERS_CHUNK", "RATE_LIMITED"]]


async def test_people_may_say_what_bots_may_not(platform: Platform) -> None:
    person, bot = (
        await platform.session(platform.person(7), guilds=0),
        await platform.session(platform.bot(5), guilds=0),
    )
    await person.send(40, {"seq": 1, "qos": {}})
    await person.opcode(11)
    await person.send(41, {})
    await person.fence()
    await bot.send(40, {"seq": 1, "qos": {}})
    assert await bot.closed() == CloseCode.UNKNOWN_OPCODE


FIRST_PARTY = (5, 14, 18, 19, 20, 21, 22, 28, 29, 30, 34, 35, 36, 37, 38, 39, 41)
"""Those that no slice obeys; calls have their own tests."""


@pytest.mark.parametrize("kind", ["user", "bearer"])
async def test_no_first_party_opcode_costs_a_person_or_a_game_the_connection(platform: Platform, kind: str) -> None:
    token = platform.person(7, kind, frozenset({"identify", "gateway.connect"}))
    client = await platform.session(token, guilds=0)
    for opcode in FIRST_PARTY:
        for data in ({"lobby_id": "1"}, [], None):
            await client.send(opcode, data)
    await client.fence()
    await client.send(12, {})
    assert await client.closed() == CloseCode.UNKNOWN_OPCODE


@pytest.mark.parametrize("opcode", FIRST_PARTY)
async def test_first_party_opcodes_are_unknown_from_bots(platform: Platform, opcode: int) -> None:
    client = await platform.session(platform.bot(5), guilds=0)
    await client.send(opcode, {})
    assert await client.closed() == CloseCode.UNKNOWN_OPCODE


async def test_presence_reaches_others_in_the_guild_with_the_intent(platform: Platform) -> None:
    await platform.guild(town(), {5: [], 6: [], 7: []})
    speaker = await platform.session(platform.bot(5))
    watcher = await platform.session(platform.bot(6), intents=Intents.BOT_MASK)
    blind = await platform.session(platform.bot(7), intents=Intents.GUILDS)
    await platform.settle()
    for client in (speaker, watcher, blind):
        await answers(client)
    activities = [
        {"name": "Chess", "type": 0, "details": "dropped", "state": "round 2", "url": "https://twitch.tv/x"},
        {"name": "Live", "type": 1, "url": "https://twitch.tv/x"},
        {"name": "Bad", "type": 1, "url": "https://example.com/x"},
        {"name": "", "type": 0},
        {"name": "Unknown", "type": 9},
    ]
    await speaker.send(3, {"since": None, "activities": activities, "status": "dnd", "afk": False})
    await speaker.fence()
    await platform.settle()
    now = platform.presences.find(5)
    assert now is not None
    made = now.activities[0]["created_at"]
    assert await answers(watcher) == [
        {
            "t": "PRESENCE_UPDATE",
            "user": {"id": "5"},
            "guild_id": str(GUILD),
            "status": "dnd",
            "activities": [
                {"name": "Chess", "type": 0, "state": "round 2", "created_at": made},
                {"name": "Live", "type": 1, "url": "https://twitch.tv/x", "created_at": made},
                {"name": "Bad", "type": 1, "created_at": made},
            ],
            "client_status": {"web": "dnd"},
        }
    ]
    assert await answers(speaker) == []
    assert await answers(blind) == []


async def test_going_invisible_or_away_shows_as_offline(platform: Platform) -> None:
    await platform.guild(town(), {5: [], 6: []})
    speaker = await platform.session(platform.bot(5))
    watcher = await platform.session(platform.bot(6), intents=Intents.BOT_MASK)
    await speaker.send(3, {"status": "invisible", "activities": [{"name": "x"}], "since": None, "afk": False})
    await speaker.fence()
    await platform.settle()
    gone = (await answers(watcher))[-1]
    assert (gone["status"], gone["activities"], gone["client_status"]) == ("offline", [], {})
    await speaker.send(3, {"status": "bogus"})
    await speaker.send(3, {"status": "online"})
    await speaker.fence()
    await platform.settle()
    assert [a["status"] for a in await answers(watcher)] == ["online"]
    await speaker.leave()
    await platform.settle()
    assert [a["status"] for a in await answers(watcher)] == ["offline"]


async def test_presence_updates_beyond_five_in_twenty_seconds_are_dropped(platform: Platform) -> None:
    client = await platform.session(platform.bot(5), guilds=0)
    for number in range(8):
        await client.send(3, {"status": "online", "activities": [{"name": str(number)}], "since": None, "afk": False})
    await client.fence()
    shown = platform.presences.find(5)
    assert shown is not None
    assert shown.activities[0]["name"] == "4"


async def test_the_latest_update_of_several_sessions_wins(platform: Platform) -> None:
    token = platform.bot(5)
    one, two = await platform.session(token, guilds=0), await platform.session(token, guilds=0)
    await two.send(3, {"status": "idle", "activities": [], "since": None, "afk": False})
    await two.fence()
    await one.send(3, {"status": "dnd", "activities": [], "since": None, "afk": False})
    await one.fence()
    shown = platform.presences.find(5)
    assert shown is not None
    assert shown.status == "dnd"
    await one.leave()
    await platform.settle()
    shown = platform.presences.find(5)
    assert shown is not None
    assert shown.status == "idle"

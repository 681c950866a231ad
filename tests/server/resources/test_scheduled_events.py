"""Scheduled events: who plans what and where, how plans repeat, who comes, and what the clock does with them."""

import base64
from datetime import UTC, datetime
from typing import Any

import pytest

from hubbub.protocol import changes, wire
from hubbub.protocol.ids import Snowflake
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources.scheduled_events import EVENT_IDLE_MS, EVENT_UNSTARTED_MS, NthWeekday, RecurrenceRule
from hubbub.protocol.resources.stage_instances import STAGE_MODERATOR
from hubbub.server.resources.scheduled_events import recurrence
from tests.world import NOW_MS, Actor, Guild, Session, World

HOUR = 3_600_000
DAY = 24 * HOUR
PNG = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
assert base64.b64decode(PNG.partition(",")[2])


def at(ms: int) -> str:
    """A moment as requests and answers have it."""
    return wire.timestamp(ms)


def external(**more: Any) -> dict[str, Any]:
    """A plan without a channel, from in an hour to in two."""
    return {
        "name": "picnic",
        "entity_type": 3,
        "privacy_level": 2,
        "scheduled_start_time": at(NOW_MS + HOUR),
        "scheduled_end_time": at(NOW_MS + 2 * HOUR),
        "entity_metadata": {"location": "the park"},
        **more,
    }


def on(channel: int, kind: int = 2, **more: Any) -> dict[str, Any]:
    """A plan on a channel, in an hour."""
    return {
        "name": "talk",
        "entity_type": kind,
        "privacy_level": 2,
        "channel_id": str(channel),
        "scheduled_start_time": at(NOW_MS + HOUR),
        **more,
    }


async def plan(actor: Actor, guild: Guild, body: dict[str, Any]) -> Any:
    """A new event."""
    return (await actor.post(f"/guilds/{guild.id}/scheduled-events", json=body)).ok()


def told(event: dict[str, Any], **more: Any) -> dict[str, Any]:
    """An event as the gateway tells it."""
    return {key: value for key, value in event.items() if key not in ("creator", "user_count")} | more


def path(guild: Guild, event: Any, *more: object) -> str:
    """The address of an event, or of something of it."""
    return "/".join(map(str, (f"/guilds/{guild.id}/scheduled-events", event["id"], *more)))


async def join(session: Session, guild: Guild, channel: int | None) -> None:
    """Connect or leave."""
    where = None if channel is None else str(channel)
    await session.send(4, {"guild_id": str(guild.id), "channel_id": where, "self_mute": False, "self_deaf": False})
    await session.next("VOICE_STATE_UPDATE", lambda state: state["user_id"] == str(session.actor.id))


@pytest.fixture
async def guild(world: World) -> Guild:
    guild = await world.guild()
    await guild.channel("stage", type=13)
    await guild.channel("Lounge", type=2)
    return guild


# Planning


async def test_a_plan_is_told_written_down_and_read(world: World, guild: Guild) -> None:
    bot = await world.bot(guild, permissions=Permissions.CREATE_EVENTS)
    session = await guild.owner.connect()
    made = await plan(bot, guild, external(description="bring bread", image=PNG))
    assert made["creator"]["id"] == made["creator_id"] == str(bot.id)
    assert (made["status"], made["entity_type"], made["channel_id"], made["entity_id"]) == (1, 3, None, None)
    assert (made["entity_metadata"], made["recurrence_rule"]) == ({"location": "the park"}, None)
    assert made["scheduled_end_time"] == at(NOW_MS + 2 * HOUR)
    assert made["image"]
    assert await session.next("GUILD_SCHEDULED_EVENT_CREATE") == told(made)
    entry = await guild.last_audit_entry(100)
    assert entry["target_id"] == made["id"]
    assert {"key": "name", "new_value": "picnic"} in entry["changes"]
    log = (await guild.owner.get(f"/guilds/{guild.id}/audit-logs?action_type=100")).ok()
    assert [event["id"] for event in log["guild_scheduled_events"]] == [made["id"]]
    assert (await bot.get(path(guild, made))).ok() == made
    listed = (await bot.get(f"/guilds/{guild.id}/scheduled-events?with_user_count=true")).ok()
    assert listed == [made | {"user_count": 0}]
    fresh = await bot.connect()
    assert fresh.guilds[str(guild.id)]["guild_scheduled_events"] == [told(made)]


@pytest.mark.parametrize(
    ("body", "where"),
    [
        (external(name=""), "name"),
        (external(name="x" * 101), "name"),
        (external(description="x" * 1001), "description"),
        (external(privacy_level=1), "privacy_level"),
        (external(entity_type=9), "entity_type"),
        (external(entity_type=0), "entity_type"),
        (external(entity_metadata=None), "entity_metadata.location"),
        (external(entity_metadata={"location": "x" * 101}), "entity_metadata.location"),
        (external(scheduled_end_time=None), "scheduled_end_time"),
        (external(scheduled_end_time=at(NOW_MS + HOUR)), "scheduled_end_time"),
        (external(scheduled_start_time=at(NOW_MS)), "scheduled_start_time"),
        (external(scheduled_start_time="soon"), "scheduled_start_time"),
        (external(scheduled_end_time="9000-01-01T00:00:00Z"), "scheduled_end_time"),
        (external(channel_id="5"), "channel_id"),
        (external(entity_type=2), "channel_id"),
        (external(image="nonsense"), "image"),
    ],
)
async def test_a_bad_plan_is_named(world: World, guild: Guild, body: dict[str, Any], where: str) -> None:
    if "channel_id" in body:
        body = body | {"channel_id": str(guild.channels["Lounge"])}
    answer = await guild.owner.post(f"/guilds/{guild.id}/scheduled-events", json=body)
    assert answer.errors(where)


async def test_the_channel_must_be_of_the_guild_and_of_the_kind(world: World, guild: Guild) -> None:
    other = await world.guild(guild.owner)
    url = f"/guilds/{guild.id}/scheduled-events"
    (await guild.owner.post(url, json=on(guild.channels["stage"], 2))).refused(400, 50024)
    (await guild.owner.post(url, json=on(guild.channels["Lounge"], 1))).refused(400, 50024)
    (await guild.owner.post(url, json=on(other.channels["General"]))).refused(404, 10003)
    (await guild.owner.post(url, json=on(1))).refused(404, 10003)


async def test_who_may_plan_where(world: World, guild: Guild) -> None:
    stage, lounge = guild.channels["stage"], guild.channels["Lounge"]
    url = f"/guilds/{guild.id}/scheduled-events"
    nobody = await guild.member()
    for body in (external(), on(lounge), on(stage, 1)):
        (await nobody.post(url, json=body)).refused(403, 50013)
    planner = await guild.member(Permissions.CREATE_EVENTS)
    (await planner.post(url, json=external())).ok()
    (await planner.post(url, json=on(lounge))).ok()
    (await planner.post(url, json=on(stage, 1))).refused(403, 50013)
    await guild.overwrite(stage, planner.id, allow=STAGE_MODERATOR)
    (await planner.post(url, json=on(stage, 1))).ok()
    await guild.overwrite(lounge, planner.id, deny=Permissions.CONNECT)
    (await planner.post(url, json=on(lounge))).refused(403, 50013)
    await guild.overwrite(lounge, planner.id, deny=Permissions.VIEW_CHANNEL)
    (await planner.post(url, json=on(lounge))).refused(403, 50001)
    (await (await world.user()).post(url, json=external())).refused(403, 50001)


@pytest.mark.dated(changes.PERMISSION_SPLITS)
async def test_managing_was_enough_to_plan_until_the_split(world: World, guild: Guild) -> None:
    bot = await world.bot(guild, permissions=Permissions.MANAGE_EVENTS)
    world.clock.set(changes.PERMISSION_SPLITS.at_ms - 1)
    (await bot.post(f"/guilds/{guild.id}/scheduled-events", json=external())).ok()
    world.clock.set(changes.PERMISSION_SPLITS.at_ms)
    (await bot.post(f"/guilds/{guild.id}/scheduled-events", json=external())).refused(403, 50013)


@pytest.mark.dated(changes.CREATE_PERMISSIONS_FOR_BOTS)
async def test_bots_could_not_use_create_events_before_it_was_theirs(world: World, guild: Guild) -> None:
    bot = await world.bot(guild, permissions=Permissions.CREATE_EVENTS)
    world.clock.set(changes.CREATE_PERMISSIONS_FOR_BOTS.at_ms - 1)
    (await bot.post(f"/guilds/{guild.id}/scheduled-events", json=external())).refused(403, 50013)
    world.clock.set(changes.CREATE_PERMISSIONS_FOR_BOTS.at_ms)
    (await bot.post(f"/guilds/{guild.id}/scheduled-events", json=external())).ok()


async def test_a_guild_has_a_hundred_plans_at_most(world: World, guild: Guild) -> None:
    first = await plan(guild.owner, guild, external())

    def fill(call: Any) -> None:
        call.tx.run_many(
            "INSERT INTO scheduled_events (id, guild_id, name, start_ms, end_ms, entity_type, location) "
            "VALUES (?, ?, 'x', ?, ?, 3, 'there')",
            [(number, guild.id, NOW_MS + HOUR, NOW_MS + 2 * HOUR) for number in range(1, 100)],
        )

    await world.write(fill)
    url = f"/guilds/{guild.id}/scheduled-events"
    (await guild.owner.post(url, json=external())).refused(400, 30038)
    (await guild.owner.patch(path(guild, first), json={"status": 4})).ok()
    (await guild.owner.post(url, json=external())).ok()


# Changing


async def test_changes_are_told_and_written_down(world: World, guild: Guild) -> None:
    session = await guild.owner.connect()
    made = await plan(guild.owner, guild, external())
    changed = (await guild.owner.patch(path(guild, made), json={"name": "feast", "description": "much"})).ok()
    assert changed == made | {"name": "feast", "description": "much"}
    assert await session.next("GUILD_SCHEDULED_EVENT_UPDATE") == told(changed)
    entry = await guild.last_audit_entry(101)
    assert {"key": "name", "old_value": "picnic", "new_value": "feast"} in entry["changes"]
    (await guild.owner.patch(path(guild, made), json={"name": "feast"})).ok()
    await session.none_of("GUILD_SCHEDULED_EVENT_UPDATE")
    assert (await guild.owner.patch(path(guild, made), json={"entity_type": 2})).errors("channel_id")
    moved = (
        await guild.owner.patch(path(guild, made), json={"entity_type": 2, "channel_id": str(guild.channels["Lounge"])})
    ).ok()
    assert (moved["entity_metadata"], moved["channel_id"]) == (None, str(guild.channels["Lounge"]))


async def test_one_changes_ones_own_and_managers_everybodys(world: World, guild: Guild) -> None:
    planner = await guild.member(Permissions.CREATE_EVENTS)
    other = await guild.member(Permissions.CREATE_EVENTS)
    manager = await guild.member(Permissions.MANAGE_EVENTS)
    made = await plan(planner, guild, external())
    (await planner.patch(path(guild, made), json={"name": "mine"})).ok()
    (await manager.patch(path(guild, made), json={"name": "ours"})).ok()
    (await other.patch(path(guild, made), json={"name": "theirs"})).refused(403, 50013)
    (await other.delete(path(guild, made))).refused(403, 50013)
    session = await other.connect()
    assert (await manager.delete(path(guild, made))).status == 204
    assert (await session.next("GUILD_SCHEDULED_EVENT_DELETE"))["id"] == made["id"]
    assert (await guild.last_audit_entry(102))["target_id"] == made["id"]
    for method in (planner.get, planner.delete):
        (await method(path(guild, made))).refused(404, 10070)
    elsewhere = await world.guild(guild.owner)
    kept = await plan(guild.owner, guild, external())
    (await guild.owner.get(path(elsewhere, kept))).refused(404, 10070)


async def test_statuses_follow_one_another(world: World, guild: Guild) -> None:
    made = await plan(guild.owner, guild, external())
    assert (await guild.owner.patch(path(guild, made), json={"status": 3})).errors("status")
    assert (await guild.owner.patch(path(guild, made), json={"status": 2})).ok()["status"] == 2
    assert (await guild.owner.patch(path(guild, made), json={"status": 4})).errors("status")
    assert (await guild.owner.patch(path(guild, made), json={"status": 3})).ok()["status"] == 3
    (await guild.owner.patch(path(guild, made), json={"name": "again"})).refused(400, 180000)
    assert (await guild.owner.get(path(guild, made))).ok()["status"] == 3
    assert (await guild.owner.get(f"/guilds/{guild.id}/scheduled-events")).ok() == []


async def test_an_event_on_a_channel_is_for_those_who_see_it(world: World, guild: Guild) -> None:
    stage, lounge = guild.channels["stage"], guild.channels["Lounge"]
    bot = await world.bot(guild)
    await guild.overwrite(stage, bot.id, deny=Permissions.VIEW_CHANNEL)
    session = await bot.connect()
    made = await plan(guild.owner, guild, on(stage, 1))
    await session.none_of("GUILD_SCHEDULED_EVENT_CREATE")
    (await bot.get(path(guild, made))).refused(403, 50001)
    assert (await bot.get(f"/guilds/{guild.id}/scheduled-events")).ok() == []
    assert (await bot.connect()).guilds[str(guild.id)]["guild_scheduled_events"] == []
    (await guild.owner.patch(path(guild, made), json={"entity_type": 2, "channel_id": str(lounge)})).ok()
    assert (await session.next("GUILD_SCHEDULED_EVENT_UPDATE"))["channel_id"] == str(lounge)
    back = {"entity_type": 1, "channel_id": str(stage)}
    (await guild.owner.patch(path(guild, made), json=back)).ok()
    assert (await session.next("GUILD_SCHEDULED_EVENT_DELETE"))["id"] == made["id"]
    await session.none_of("GUILD_SCHEDULED_EVENT_UPDATE")
    await guild.overwrite(stage, bot.id, allow=Permissions.VIEW_CHANNEL)
    assert (await session.next("GUILD_SCHEDULED_EVENT_CREATE"))["id"] == made["id"]


# The clock


async def test_an_external_event_begins_and_ends_by_itself(world: World, guild: Guild) -> None:
    session = await guild.owner.connect()
    made = await plan(guild.owner, guild, external())
    world.clock.advance(HOUR - 1)
    await session.none_of("GUILD_SCHEDULED_EVENT_UPDATE")
    world.clock.advance(1)
    assert await session.next("GUILD_SCHEDULED_EVENT_UPDATE") == told(made, status=2)
    world.clock.advance(HOUR)
    assert await session.next("GUILD_SCHEDULED_EVENT_UPDATE") == told(made, status=3)


async def test_what_nobody_began_is_called_off(world: World, guild: Guild) -> None:
    session = await guild.owner.connect()
    made = await plan(guild.owner, guild, on(guild.channels["Lounge"]))
    world.clock.advance(HOUR + EVENT_UNSTARTED_MS - 1)
    await session.none_of("GUILD_SCHEDULED_EVENT_UPDATE")
    world.clock.advance(1)
    assert await session.next("GUILD_SCHEDULED_EVENT_UPDATE") == told(made, status=4)


async def test_a_stage_event_opens_its_stage_and_ends_with_it(world: World, guild: Guild) -> None:
    stage = guild.channels["stage"]
    session = await guild.owner.connect()
    made = await plan(guild.owner, guild, on(stage, 1))
    begun = (await guild.owner.patch(path(guild, made), json={"status": 2})).ok()
    opened = await session.next("STAGE_INSTANCE_CREATE")
    assert (opened["topic"], opened["guild_scheduled_event_id"]) == ("talk", made["id"])
    assert begun["entity_id"] == opened["id"]
    assert await session.next("GUILD_SCHEDULED_EVENT_UPDATE") == told(begun)
    (await guild.owner.delete(f"/stage-instances/{stage}")).ok()
    assert (await session.next("GUILD_SCHEDULED_EVENT_UPDATE"))["status"] == 3

    again = await plan(guild.owner, guild, on(stage, 1))
    (await guild.owner.patch(path(guild, again), json={"status": 2})).ok()
    ended = (await guild.owner.patch(path(guild, again), json={"status": 3})).ok()
    assert (ended["status"], ended["entity_id"]) == (3, None)
    await session.next("STAGE_INSTANCE_DELETE")
    (await guild.owner.get(f"/stage-instances/{stage}")).refused(404, 10067)

    third = await plan(guild.owner, guild, on(stage, 1))
    (await guild.owner.post("/stage-instances", json={"channel_id": str(stage), "topic": "x"})).ok()
    (await guild.owner.patch(path(guild, third), json={"status": 2})).refused(400, 180002)


async def test_a_stage_may_open_for_an_event(world: World, guild: Guild) -> None:
    stage = guild.channels["stage"]
    session = await guild.owner.connect()
    made = await plan(guild.owner, guild, on(stage, 1))
    other = await plan(guild.owner, guild, external())
    body = {"channel_id": str(stage), "topic": "x"}
    url = "/stage-instances"
    (await guild.owner.post(url, json=body | {"guild_scheduled_event_id": "1"})).refused(404, 10070)
    (await guild.owner.post(url, json=body | {"guild_scheduled_event_id": other["id"]})).refused(400, 50091)
    opened = (await guild.owner.post(url, json=body | {"guild_scheduled_event_id": made["id"]})).ok()
    begun = await session.next("GUILD_SCHEDULED_EVENT_UPDATE")
    assert (begun["status"], begun["entity_id"]) == (2, opened["id"])
    await guild.owner.delete(path(guild, made))
    assert (await session.next("STAGE_INSTANCE_DELETE"))["id"] == opened["id"]


async def test_a_voice_event_ends_a_while_after_the_last_one_left(world: World, guild: Guild) -> None:
    lounge = guild.channels["Lounge"]
    session = await guild.owner.connect()
    made = await plan(guild.owner, guild, on(lounge))
    (await guild.owner.patch(path(guild, made), json={"status": 2})).ok()
    await session.next("GUILD_SCHEDULED_EVENT_UPDATE")
    await join(session, guild, lounge)
    await join(session, guild, None)
    world.clock.advance(EVENT_IDLE_MS - 1)
    await session.none_of("GUILD_SCHEDULED_EVENT_UPDATE")
    world.clock.advance(1)
    assert (await session.next("GUILD_SCHEDULED_EVENT_UPDATE"))["status"] == 3


async def test_a_deleted_channel_calls_its_events_off(world: World, guild: Guild) -> None:
    lounge = guild.channels["Lounge"]
    session = await guild.owner.connect()
    made = await plan(guild.owner, guild, on(lounge))
    (await guild.owner.delete(f"/channels/{lounge}")).ok()
    assert await session.next("GUILD_SCHEDULED_EVENT_UPDATE") == told(made, status=4, channel_id=None)
    await session.next("CHANNEL_DELETE")
    (await guild.owner.delete(f"/guilds/{guild.id}")).ok()


# Repeating

MONDAY = 1_795_410_000_000
"""2026-11-23, 05:00: a Monday."""
assert datetime.fromtimestamp(MONDAY / 1000, UTC).isoformat() == "2026-11-23T05:00:00+00:00"


def weekly(**more: Any) -> dict[str, Any]:
    """Every Monday, one hour."""
    return external(
        scheduled_start_time=at(MONDAY),
        scheduled_end_time=at(MONDAY + HOUR),
        recurrence_rule={"start": at(MONDAY), "frequency": 2, "interval": 1, "by_weekday": [0]},
        **more,
    )


@pytest.mark.parametrize(
    ("rule", "where"),
    [
        ({"frequency": 9}, "frequency"),
        ({"frequency": 2, "by_weekday": [0, 1]}, "by_weekday"),
        ({"frequency": 2, "interval": 3}, "interval"),
        ({"frequency": 2, "interval": -1}, "interval"),
        ({"frequency": 3, "interval": 2}, "interval"),
        ({"frequency": 3, "by_weekday": [0]}, "by_weekday"),
        ({"frequency": 1}, "by_n_weekday"),
        ({"frequency": 1, "by_n_weekday": [{"n": 6, "day": 0}]}, "by_n_weekday.0.n"),
        ({"frequency": 1, "by_weekday": [0]}, "by_weekday"),
        ({"frequency": 0, "by_month": [2]}, "by_month_day"),
        ({"frequency": 0, "by_month": [2], "by_month_day": [30]}, "by_month_day.0"),
        ({"frequency": 0, "by_month": [13], "by_month_day": [3]}, "by_month.0"),
        ({"frequency": 2, "by_weekday": [0], "by_n_weekday": [{"n": 1, "day": 0}]}, ""),
        ({"frequency": 2, "count": 3}, "count"),
        ({"frequency": 2, "end": "2030-01-01T00:00:00Z"}, "end"),
        ({"frequency": 3, "by_year_day": [1]}, "by_year_day"),
    ],
)
async def test_a_bad_rule_is_named(world: World, guild: Guild, rule: dict[str, Any], where: str) -> None:
    body = external(recurrence_rule={"start": at(NOW_MS + HOUR), "interval": 1, **rule})
    answer = await guild.owner.post(f"/guilds/{guild.id}/scheduled-events", json=body)
    assert answer.errors(".".join(filter(None, ("recurrence_rule", where))))


@pytest.mark.parametrize(
    ("rule", "days"),
    [
        ({"frequency": 3}, ["11-23", "11-24", "11-25"]),
        ({"frequency": 3, "by_weekday": [0, 1, 2, 3, 4]}, ["11-23", "11-24", "11-25", "11-26", "11-27", "11-30"]),
        ({"frequency": 3, "by_weekday": [5, 6]}, ["11-28", "11-29", "12-05"]),
        ({"frequency": 2}, ["11-23", "11-30", "12-07"]),
        ({"frequency": 2, "interval": 2, "by_weekday": [2]}, ["11-25", "12-09", "12-23"]),
        ({"frequency": 1, "by_n_weekday": [NthWeekday(n=5, day=0)]}, ["11-30", "03-29", "05-31"]),  # type: ignore[arg-type]
        ({"frequency": 0, "by_month": [2], "by_month_day": [29]}, ["02-29", "02-29"]),
    ],
)
def test_rules_name_their_days(rule: dict[str, Any], days: list[str]) -> None:
    given = RecurrenceRule(start=wire.timestamp(MONDAY), **{"interval": 1, **rule})
    moment, found = MONDAY - 1, []
    for _ in days:
        following = recurrence.next_after(given, moment)
        assert following is not None
        assert recurrence.occurs(given, following)
        assert not recurrence.occurs(given, following + 1)
        found.append(datetime.fromtimestamp(following / 1000, UTC).strftime("%m-%d"))
        assert following % DAY == MONDAY % DAY
        moment = following
    assert found == days


async def test_a_recurring_event_goes_on_to_its_next_time(world: World, guild: Guild) -> None:
    session = await guild.owner.connect()
    made = await plan(guild.owner, guild, weekly())
    assert made["recurrence_rule"]["by_weekday"] == [0]
    world.clock.set(MONDAY)
    assert (await session.next("GUILD_SCHEDULED_EVENT_UPDATE"))["status"] == 2
    world.clock.set(MONDAY + HOUR)
    again = await session.next("GUILD_SCHEDULED_EVENT_UPDATE")
    assert (again["status"], again["scheduled_start_time"]) == (1, at(MONDAY + 7 * DAY))
    assert again["scheduled_end_time"] == at(MONDAY + 7 * DAY + HOUR)
    world.clock.set(MONDAY + 7 * DAY)
    assert (await session.next("GUILD_SCHEDULED_EVENT_UPDATE"))["status"] == 2
    ended = (await guild.owner.patch(path(guild, made), json={"status": 3})).ok()
    assert (ended["status"], ended["scheduled_start_time"]) == (1, at(MONDAY + 14 * DAY))
    assert (await guild.owner.patch(path(guild, made), json={"status": 4})).ok()["status"] == 4


async def test_one_occurrence_may_differ(world: World, guild: Guild) -> None:
    session = await guild.owner.connect()
    made = await plan(guild.owner, guild, weekly())
    body = {"original_scheduled_start_time": at(MONDAY), "scheduled_start_time": at(MONDAY + 2 * HOUR)}
    exception = (await guild.owner.post(path(guild, made, "exceptions"), json=body)).ok()
    assert exception == {
        "event_id": made["id"],
        "event_exception_id": str(int(Snowflake.at(MONDAY))),
        "scheduled_start_time": at(MONDAY + 2 * HOUR),
        "scheduled_end_time": None,
        "is_canceled": False,
    }
    assert await session.next("GUILD_SCHEDULED_EVENT_EXCEPTION_CREATE") == exception | {"guild_id": str(guild.id)}
    entry = await guild.last_audit_entry(200)
    assert entry["options"] == {"event_exception_id": exception["event_exception_id"]}
    assert (await guild.owner.get(path(guild, made))).ok()["guild_scheduled_event_exceptions"] == [exception]
    url = path(guild, made, "exceptions", exception["event_exception_id"])
    later = (await guild.owner.patch(url, json={"scheduled_end_time": at(MONDAY + 4 * HOUR)})).ok()
    assert later["scheduled_end_time"] == at(MONDAY + 4 * HOUR)
    assert await session.next("GUILD_SCHEDULED_EVENT_EXCEPTION_UPDATE") == later | {"guild_id": str(guild.id)}
    assert (await guild.last_audit_entry(201))["target_id"] == made["id"]
    world.clock.set(MONDAY + 2 * HOUR - 1)
    await session.none_of("GUILD_SCHEDULED_EVENT_UPDATE")
    world.clock.advance(1)
    assert (await session.next("GUILD_SCHEDULED_EVENT_UPDATE"))["status"] == 2
    world.clock.advance(2 * HOUR)
    assert (await session.next("GUILD_SCHEDULED_EVENT_UPDATE"))["scheduled_start_time"] == at(MONDAY + 7 * DAY)
    assert (await guild.owner.delete(url)).status == 204
    assert (await session.next("GUILD_SCHEDULED_EVENT_EXCEPTION_DELETE"))["event_id"] == made["id"]
    assert (await guild.last_audit_entry(202))["options"] == {"event_exception_id": exception["event_exception_id"]}
    (await guild.owner.delete(url)).refused(404, 10070)
    (await guild.owner.patch(url, json={})).refused(404, 10070)


async def test_the_next_occurrence_can_be_called_off(world: World, guild: Guild) -> None:
    session = await guild.owner.connect()
    made = await plan(guild.owner, guild, weekly())
    for week in (1, 0):
        body = {"original_scheduled_start_time": at(MONDAY + week * 7 * DAY), "is_canceled": True}
        assert (await guild.owner.post(path(guild, made, "exceptions"), json=body)).ok()["is_canceled"] is True
    assert (await session.next("GUILD_SCHEDULED_EVENT_UPDATE"))["scheduled_start_time"] == at(MONDAY + 14 * DAY)
    changed = {"recurrence_rule": {"start": at(MONDAY + 14 * DAY), "frequency": 3}}
    after = (await guild.owner.patch(path(guild, made), json=changed)).ok()
    assert after["guild_scheduled_event_exceptions"] == []
    gone = await session.next("GUILD_SCHEDULED_EVENT_EXCEPTIONS_DELETE")
    assert (gone["event_id"], len(gone["event_exception_ids"])) == (made["id"], 2)


@pytest.mark.parametrize("patched", [False, True])
async def test_a_series_begins_with_its_event(world: World, guild: Guild, patched: bool) -> None:
    """The rule's start is the event's, said when planning or later: its first time can differ, and the others keep its hour."""
    rule = {"start": at(MONDAY), "frequency": 3}
    later = {"scheduled_start_time": at(MONDAY + 3 * HOUR), "scheduled_end_time": at(MONDAY + 4 * HOUR)}
    if patched:
        made = await plan(guild.owner, guild, weekly())
        made = (await guild.owner.patch(path(guild, made), json={**later, "recurrence_rule": rule})).ok()
        moved = {"scheduled_start_time": at(MONDAY + 5 * HOUR), "scheduled_end_time": at(MONDAY + 6 * HOUR)}
        assert (await guild.owner.patch(path(guild, made), json=moved)).ok()["recurrence_rule"]["start"] == at(
            MONDAY + 5 * HOUR
        )
        made = (await guild.owner.patch(path(guild, made), json=later)).ok()
    else:
        made = await plan(guild.owner, guild, external(**later, recurrence_rule=rule))
    assert made["recurrence_rule"]["start"] == made["scheduled_start_time"] == at(MONDAY + 3 * HOUR)
    off = {"original_scheduled_start_time": made["scheduled_start_time"], "is_canceled": True}
    (await guild.owner.post(path(guild, made, "exceptions"), json=off)).ok()
    now = (await guild.owner.get(path(guild, made))).ok()
    assert now["scheduled_start_time"] == at(MONDAY + DAY + 3 * HOUR)
    # What is shown can be sent back: the series goes on from where it began, and its exceptions stay.
    same = {key: now[key] for key in ("scheduled_start_time", "scheduled_end_time", "recurrence_rule")}
    same["recurrence_rule"] = {key: value for key, value in same["recurrence_rule"].items() if value is not None}
    assert (await guild.owner.patch(path(guild, made), json=same)).ok() == now


async def test_an_events_own_start_is_an_occurrence_on_any_day(world: World, guild: Guild) -> None:
    made = await plan(guild.owner, guild, weekly())
    tuesday = {"scheduled_start_time": at(MONDAY + DAY), "scheduled_end_time": at(MONDAY + DAY + HOUR)}
    made = (await guild.owner.patch(path(guild, made), json=tuesday)).ok()
    off = {"original_scheduled_start_time": at(MONDAY + DAY), "is_canceled": True}
    exception = (await guild.owner.post(path(guild, made, "exceptions"), json=off)).ok()
    assert exception["event_exception_id"] == str(int(Snowflake.at(MONDAY + DAY)))
    assert (await guild.owner.get(path(guild, made))).ok()["scheduled_start_time"] == at(MONDAY + 7 * DAY)


async def test_exceptions_need_an_occurrence_and_a_planner(world: World, guild: Guild) -> None:
    made = await plan(guild.owner, guild, weekly())
    once = await plan(guild.owner, guild, external())
    where = "original_scheduled_start_time"
    url = path(guild, made, "exceptions")
    assert (await guild.owner.post(url, json={where: at(MONDAY + 1)})).errors(where)
    assert (await guild.owner.post(url, json={where: at(MONDAY - 7 * DAY)})).errors(where)
    assert (await guild.owner.post(url, json={})).errors(where) == ["BASE_TYPE_REQUIRED"]
    assert (await guild.owner.post(path(guild, once, "exceptions"), json={where: at(NOW_MS + HOUR)})).errors(where)
    past = {where: at(MONDAY), "scheduled_start_time": at(NOW_MS - 1)}
    assert (await guild.owner.post(url, json=past)).errors("scheduled_start_time")
    (await guild.owner.post(url, json={where: at(MONDAY)})).ok()
    assert (await guild.owner.post(url, json={where: at(MONDAY)})).errors(where) == ["SET_TYPE_ALREADY_CONTAINS_VALUE"]
    nobody = await guild.member()
    (await nobody.post(url, json={where: at(MONDAY + 7 * DAY)})).refused(403, 50013)
    (await nobody.patch(f"{url}/{int(Snowflake.at(MONDAY))}", json={})).refused(403, 50013)
    (await nobody.delete(f"{url}/{int(Snowflake.at(MONDAY))}")).refused(403, 50013)


# Who comes


async def test_people_want_to_come_and_no_longer(world: World, guild: Guild) -> None:
    bob, carol = await guild.member(), await guild.member()
    session = await guild.owner.connect()
    made = await plan(guild.owner, guild, external())
    mine = path(guild, made, "users", "@me")
    for person in (carol, bob):
        assert (await person.put(mine)).ok()["user_id"] == str(person.id)
        assert await session.next("GUILD_SCHEDULED_EVENT_USER_ADD") == {
            "guild_scheduled_event_id": made["id"],
            "user_id": str(person.id),
            "guild_id": str(guild.id),
        }
    (await bob.put(mine)).ok()
    await session.none_of("GUILD_SCHEDULED_EVENT_USER_ADD")
    url = path(guild, made, "users")
    both = (await guild.owner.get(f"{url}?with_member=true")).ok()
    ids = sorted((str(bob.id), str(carol.id)), key=int)
    assert [each["user_id"] for each in both] == [each["member"]["user"]["id"] for each in both] == ids
    assert both[0]["user"]["id"] == ids[0]
    assert [each["user_id"] for each in (await bob.get(f"{url}?limit=1&after={ids[0]}")).ok()] == ids[1:]
    assert [each["user_id"] for each in (await bob.get(f"{url}?before={ids[1]}&after={ids[1]}")).ok()] == ids[:1]
    assert (await bob.get(f"{url}?limit=0")).errors("limit")
    assert (await bob.get(path(guild, made) + "?with_user_count=1")).ok()["user_count"] == 2
    assert (await bob.delete(mine)).status == 204
    assert (await session.next("GUILD_SCHEDULED_EVENT_USER_REMOVE"))["user_id"] == str(bob.id)
    (await bob.delete(mine)).refused(404, 10071)
    counts = (await bob.get(f"{url}/counts")).ok()
    assert counts == {"guild_scheduled_event_count": 1, "guild_scheduled_event_exception_counts": {}}
    bot = await world.bot(guild)
    (await bot.put(mine)).refused(403, 20001)
    (await guild.owner.delete(f"/guilds/{guild.id}/members/{carol.id}")).ok()
    assert (await session.next("GUILD_SCHEDULED_EVENT_USER_REMOVE"))["user_id"] == str(carol.id)
    (await guild.owner.patch(path(guild, made), json={"status": 4})).ok()
    (await bob.put(mine)).refused(400, 180000)


async def test_people_answer_for_one_occurrence(world: World, guild: Guild) -> None:
    bob, carol = await guild.member(), await guild.member()
    session = await guild.owner.connect()
    made = await plan(guild.owner, guild, weekly())
    one = str(int(Snowflake.at(MONDAY + 7 * DAY)))
    mine = path(guild, made, one, "users", "@me")
    answer = (await bob.put(mine)).ok()
    assert (answer["guild_scheduled_event_exception_id"], answer["response"]) == (one, 1)
    assert (await session.next("GUILD_SCHEDULED_EVENT_USER_ADD"))["guild_scheduled_event_exception_id"] == one
    assert (await carol.put(mine, json={"response": 0})).ok()["response"] == 0
    listed = (await bob.get(path(guild, made, one, "users"))).ok()
    assert {each["user_id"]: each["response"] for each in listed} == {str(bob.id): 1, str(carol.id): 0}
    url = path(guild, made, "users", "counts")
    counts = (await bob.get(f"{url}?guild_scheduled_event_exception_ids={one}")).ok()
    assert counts == {"guild_scheduled_event_count": 0, "guild_scheduled_event_exception_counts": {one: 1}}
    many = "&".join(f"guild_scheduled_event_exception_ids={number}" for number in range(11))
    assert (await bob.get(f"{url}?{many}")).errors("guild_scheduled_event_exception_ids")
    assert (await bob.put(mine, json={"response": 0})).ok()["response"] == 0
    await session.next("GUILD_SCHEDULED_EVENT_USER_REMOVE")
    assert (await bob.delete(mine)).status == 204
    (await bob.delete(mine)).refused(404, 10071)
    wrong = path(guild, made, int(Snowflake.at(MONDAY)) + 1, "users")
    (await bob.get(wrong)).refused(404, 10070)
    (await bob.put(f"{wrong}/@me")).refused(404, 10070)

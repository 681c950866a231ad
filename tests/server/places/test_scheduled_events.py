"""Scheduled events: creation, updates, recurrence, subscribers, and automatic status changes."""

from datetime import UTC, datetime
from typing import Any

import pytest

from hubbub.protocol import changes, codec
from hubbub.protocol.enums import AuditLogAction, ChannelType, EventEntityType, EventStatus
from hubbub.protocol.ids import Snowflake
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources.scheduled_events import EVENT_CANCEL_AFTER_MS, EVENT_IDLE_MS, NthWeekday, RecurrenceRule
from hubbub.protocol.resources.stage_instances import STAGE_MODERATOR_PERMISSIONS
from hubbub.server.places.scheduled_events import recurrence
from tests import media
from tests.server.places.scheduled_events import HOUR_MS, channel_event, create_event, external_event, timestamp
from tests.world import NOW_MS, Guild, World

DAY_MS = 24 * HOUR_MS
PNG_DATA_URI = media.data_uri(media.png())


def gateway_view(event: dict[str, Any], **overrides: Any) -> dict[str, Any]:
    """Return the gateway's view of an event, without creator and user count."""
    return {key: value for key, value in event.items() if key not in ("creator", "user_count")} | overrides


def event_path(guild: Guild, event: Any, *segments: object) -> str:
    """Return the path of an event, followed by these segments."""
    return "/".join(map(str, (f"/guilds/{guild.id}/scheduled-events", event["id"], *segments)))


@pytest.fixture
async def guild(world: World) -> Guild:
    """A guild with a stage channel and a voice channel."""
    guild = await world.guild()
    await guild.channel("stage", type=ChannelType.GUILD_STAGE_VOICE)
    await guild.channel("Lounge", type=ChannelType.GUILD_VOICE)
    return guild


# Creating


async def test_a_new_event_is_published_audited_and_returned(world: World, guild: Guild) -> None:
    bot = await world.bot(guild, permissions=Permissions.CREATE_EVENTS)
    session = await guild.owner.connect()
    event = await create_event(bot, guild, external_event(description="bring bread", image=PNG_DATA_URI))
    assert event["creator"]["id"] == event["creator_id"] == str(bot.id)
    assert (event["status"], event["entity_type"], event["channel_id"], event["entity_id"]) == (
        EventStatus.SCHEDULED,
        EventEntityType.EXTERNAL,
        None,
        None,
    )
    assert (event["entity_metadata"], event["recurrence_rule"]) == ({"location": "the park"}, None)
    assert event["scheduled_end_time"] == timestamp(NOW_MS + 2 * HOUR_MS)
    assert event["image"]
    assert await session.next("GUILD_SCHEDULED_EVENT_CREATE") == gateway_view(event)
    audit_entry = await guild.last_audit_entry(AuditLogAction.GUILD_SCHEDULED_EVENT_CREATE)
    assert audit_entry["target_id"] == event["id"]
    assert {"key": "name", "new_value": "picnic"} in audit_entry["changes"]
    log = (
        await guild.owner.get(
            f"/guilds/{guild.id}/audit-logs?action_type={AuditLogAction.GUILD_SCHEDULED_EVENT_CREATE:d}"
        )
    ).ok()
    assert [referenced_event["id"] for referenced_event in log["guild_scheduled_events"]] == [event["id"]]
    assert (await bot.get(event_path(guild, event))).ok() == event
    listed_events = (await bot.get(f"/guilds/{guild.id}/scheduled-events?with_user_count=true")).ok()
    assert listed_events == [event | {"user_count": 0}]
    bot_session = await bot.connect()
    assert bot_session.guilds[str(guild.id)]["guild_scheduled_events"] == [gateway_view(event)]


@pytest.mark.one_postgres_case
@pytest.mark.parametrize(
    ("body", "field"),
    [
        (external_event(name=""), "name"),
        (external_event(name="x" * 101), "name"),
        (external_event(description="x" * 1001), "description"),
        (external_event(privacy_level=1), "privacy_level"),
        (external_event(entity_type=9), "entity_type"),
        (external_event(entity_type=0), "entity_type"),
        (external_event(entity_metadata=None), "entity_metadata.location"),
        (external_event(entity_metadata={"location": "x" * 101}), "entity_metadata.location"),
        (external_event(scheduled_end_time=None), "scheduled_end_time"),
        (external_event(scheduled_end_time=timestamp(NOW_MS + HOUR_MS)), "scheduled_end_time"),
        (external_event(scheduled_start_time=timestamp(NOW_MS)), "scheduled_start_time"),
        (external_event(scheduled_start_time="soon"), "scheduled_start_time"),
        (external_event(scheduled_end_time="9000-01-01T00:00:00Z"), "scheduled_end_time"),
        (external_event(channel_id="5"), "channel_id"),
        (external_event(entity_type=EventEntityType.VOICE), "channel_id"),
        (external_event(image="nonsense"), "image"),
    ],
)
async def test_invalid_event_fields_are_rejected(world: World, guild: Guild, body: dict[str, Any], field: str) -> None:
    if "channel_id" in body:
        body = body | {"channel_id": str(guild.channels["Lounge"])}
    response = await guild.owner.post(f"/guilds/{guild.id}/scheduled-events", json=body)
    assert response.errors(field)


async def test_the_channel_must_match_the_guild_and_entity_type(world: World, guild: Guild) -> None:
    other_guild = await world.guild(guild.owner)
    path = f"/guilds/{guild.id}/scheduled-events"
    (await guild.owner.post(path, json=channel_event(guild.channels["stage"], EventEntityType.VOICE))).rejected(
        400, 50024
    )
    (
        await guild.owner.post(path, json=channel_event(guild.channels["Lounge"], EventEntityType.STAGE_INSTANCE))
    ).rejected(400, 50024)
    (await guild.owner.post(path, json=channel_event(other_guild.channels["General"]))).rejected(404, 10003)
    (await guild.owner.post(path, json=channel_event(1))).rejected(404, 10003)


async def test_creating_an_event_requires_permissions_in_its_channel(world: World, guild: Guild) -> None:
    stage_channel_id, lounge_id = guild.channels["stage"], guild.channels["Lounge"]
    path = f"/guilds/{guild.id}/scheduled-events"
    unprivileged_member = await guild.member()
    for body in (
        external_event(),
        channel_event(lounge_id),
        channel_event(stage_channel_id, EventEntityType.STAGE_INSTANCE),
    ):
        (await unprivileged_member.post(path, json=body)).rejected(403, 50013)
    planner = await guild.member(Permissions.CREATE_EVENTS)
    (await planner.post(path, json=external_event())).ok()
    (await planner.post(path, json=channel_event(lounge_id))).ok()
    (await planner.post(path, json=channel_event(stage_channel_id, EventEntityType.STAGE_INSTANCE))).rejected(
        403, 50013
    )
    await guild.overwrite(stage_channel_id, planner.id, allow=STAGE_MODERATOR_PERMISSIONS)
    (await planner.post(path, json=channel_event(stage_channel_id, EventEntityType.STAGE_INSTANCE))).ok()
    await guild.overwrite(lounge_id, planner.id, deny=Permissions.CONNECT)
    (await planner.post(path, json=channel_event(lounge_id))).rejected(403, 50013)
    await guild.overwrite(lounge_id, planner.id, deny=Permissions.VIEW_CHANNEL)
    (await planner.post(path, json=channel_event(lounge_id))).rejected(403, 50001)
    (await (await world.user()).post(path, json=external_event())).rejected(403, 50001)


@pytest.mark.dated(changes.PERMISSION_SPLITS)
async def test_manage_events_permits_creation_until_the_split(world: World, guild: Guild) -> None:
    bot = await world.bot(guild, permissions=Permissions.MANAGE_EVENTS)
    world.clock.set(changes.PERMISSION_SPLITS.at_ms - 1)
    (await bot.post(f"/guilds/{guild.id}/scheduled-events", json=external_event())).ok()
    world.clock.set(changes.PERMISSION_SPLITS.at_ms)
    (await bot.post(f"/guilds/{guild.id}/scheduled-events", json=external_event())).rejected(403, 50013)


@pytest.mark.dated(changes.CREATE_PERMISSIONS_FOR_BOTS)
async def test_bots_cannot_use_create_events_before_its_date(world: World, guild: Guild) -> None:
    bot = await world.bot(guild, permissions=Permissions.CREATE_EVENTS)
    world.clock.set(changes.CREATE_PERMISSIONS_FOR_BOTS.at_ms - 1)
    (await bot.post(f"/guilds/{guild.id}/scheduled-events", json=external_event())).rejected(403, 50013)
    world.clock.set(changes.CREATE_PERMISSIONS_FOR_BOTS.at_ms)
    (await bot.post(f"/guilds/{guild.id}/scheduled-events", json=external_event())).ok()


async def test_a_guild_has_at_most_one_hundred_events(world: World, guild: Guild) -> None:
    first_event = await create_event(guild.owner, guild, external_event())

    def insert_events(call: Any) -> None:
        call.tx.run_many(
            "INSERT INTO scheduled_events (id, guild_id, name, start_ms, end_ms, entity_type, location) "
            "VALUES (?, ?, 'x', ?, ?, 3, 'there')",
            [(number, guild.id, NOW_MS + HOUR_MS, NOW_MS + 2 * HOUR_MS) for number in range(1, 100)],
        )

    await world.write(insert_events)
    path = f"/guilds/{guild.id}/scheduled-events"
    (await guild.owner.post(path, json=external_event())).rejected(400, 30038)
    (await guild.owner.patch(event_path(guild, first_event), json={"status": EventStatus.CANCELED})).ok()
    (await guild.owner.post(path, json=external_event())).ok()


# Updating


async def test_an_event_update_is_published_and_audited(world: World, guild: Guild) -> None:
    session = await guild.owner.connect()
    event = await create_event(guild.owner, guild, external_event())
    changed_event = (
        await guild.owner.patch(event_path(guild, event), json={"name": "feast", "description": "much"})
    ).ok()
    assert changed_event == event | {"name": "feast", "description": "much"}
    assert await session.next("GUILD_SCHEDULED_EVENT_UPDATE") == gateway_view(changed_event)
    audit_entry = await guild.last_audit_entry(AuditLogAction.GUILD_SCHEDULED_EVENT_UPDATE)
    assert {"key": "name", "old_value": "picnic", "new_value": "feast"} in audit_entry["changes"]
    (await guild.owner.patch(event_path(guild, event), json={"name": "feast"})).ok()
    await session.assert_not_received("GUILD_SCHEDULED_EVENT_UPDATE")
    assert (await guild.owner.patch(event_path(guild, event), json={"entity_type": EventEntityType.VOICE})).errors(
        "channel_id"
    )
    moved_event = (
        await guild.owner.patch(
            event_path(guild, event),
            json={"entity_type": EventEntityType.VOICE, "channel_id": str(guild.channels["Lounge"])},
        )
    ).ok()
    assert (moved_event["entity_metadata"], moved_event["channel_id"]) == (None, str(guild.channels["Lounge"]))


async def test_creators_update_their_own_events_and_managers_all_events(world: World, guild: Guild) -> None:
    planner = await guild.member(Permissions.CREATE_EVENTS)
    other_member = await guild.member(Permissions.CREATE_EVENTS)
    manager = await guild.member(Permissions.MANAGE_EVENTS)
    event = await create_event(planner, guild, external_event())
    (await planner.patch(event_path(guild, event), json={"name": "mine"})).ok()
    (await manager.patch(event_path(guild, event), json={"name": "ours"})).ok()
    (await other_member.patch(event_path(guild, event), json={"name": "theirs"})).rejected(403, 50013)
    (await other_member.delete(event_path(guild, event))).rejected(403, 50013)
    session = await other_member.connect()
    assert (await manager.delete(event_path(guild, event))).status == 204
    assert (await session.next("GUILD_SCHEDULED_EVENT_DELETE"))["id"] == event["id"]
    assert (await guild.last_audit_entry(AuditLogAction.GUILD_SCHEDULED_EVENT_DELETE))["target_id"] == event["id"]
    for method in (planner.get, planner.delete):
        (await method(event_path(guild, event))).rejected(404, 10070)
    other_guild = await world.guild(guild.owner)
    other_event = await create_event(guild.owner, guild, external_event())
    (await guild.owner.get(event_path(other_guild, other_event))).rejected(404, 10070)


async def test_status_transitions_are_validated(world: World, guild: Guild) -> None:
    event = await create_event(guild.owner, guild, external_event())
    assert (await guild.owner.patch(event_path(guild, event), json={"status": EventStatus.COMPLETED})).errors("status")
    assert (await guild.owner.patch(event_path(guild, event), json={"status": EventStatus.ACTIVE})).ok()[
        "status"
    ] == EventStatus.ACTIVE
    assert (await guild.owner.patch(event_path(guild, event), json={"status": EventStatus.CANCELED})).errors("status")
    assert (await guild.owner.patch(event_path(guild, event), json={"status": EventStatus.COMPLETED})).ok()[
        "status"
    ] == EventStatus.COMPLETED
    (await guild.owner.patch(event_path(guild, event), json={"name": "again"})).rejected(400, 180000)
    assert (await guild.owner.get(event_path(guild, event))).ok()["status"] == EventStatus.COMPLETED
    assert (await guild.owner.get(f"/guilds/{guild.id}/scheduled-events")).ok() == []


async def test_a_channel_event_is_visible_only_to_channel_viewers(world: World, guild: Guild) -> None:
    stage_channel_id, lounge_id = guild.channels["stage"], guild.channels["Lounge"]
    bot = await world.bot(guild)
    await guild.overwrite(stage_channel_id, bot.id, deny=Permissions.VIEW_CHANNEL)
    session = await bot.connect()
    event = await create_event(guild.owner, guild, channel_event(stage_channel_id, EventEntityType.STAGE_INSTANCE))
    await session.assert_not_received("GUILD_SCHEDULED_EVENT_CREATE")
    (await bot.get(event_path(guild, event))).rejected(403, 50001)
    assert (await bot.get(f"/guilds/{guild.id}/scheduled-events")).ok() == []
    assert (await bot.connect()).guilds[str(guild.id)]["guild_scheduled_events"] == []
    (
        await guild.owner.patch(
            event_path(guild, event), json={"entity_type": EventEntityType.VOICE, "channel_id": str(lounge_id)}
        )
    ).ok()
    assert (await session.next("GUILD_SCHEDULED_EVENT_UPDATE"))["channel_id"] == str(lounge_id)
    stage_body = {"entity_type": EventEntityType.STAGE_INSTANCE, "channel_id": str(stage_channel_id)}
    (await guild.owner.patch(event_path(guild, event), json=stage_body)).ok()
    assert (await session.next("GUILD_SCHEDULED_EVENT_DELETE"))["id"] == event["id"]
    await session.assert_not_received("GUILD_SCHEDULED_EVENT_UPDATE")
    await guild.overwrite(stage_channel_id, bot.id, allow=Permissions.VIEW_CHANNEL)
    assert (await session.next("GUILD_SCHEDULED_EVENT_CREATE"))["id"] == event["id"]


# Automatic status changes


async def test_an_external_event_starts_and_ends_automatically(world: World, guild: Guild) -> None:
    session = await guild.owner.connect()
    event = await create_event(guild.owner, guild, external_event())
    world.clock.advance(HOUR_MS - 1)
    await session.assert_not_received("GUILD_SCHEDULED_EVENT_UPDATE")
    world.clock.advance(1)
    assert await session.next("GUILD_SCHEDULED_EVENT_UPDATE") == gateway_view(event, status=EventStatus.ACTIVE)
    world.clock.advance(HOUR_MS)
    assert await session.next("GUILD_SCHEDULED_EVENT_UPDATE") == gateway_view(event, status=EventStatus.COMPLETED)


async def test_an_event_that_is_not_started_is_canceled(world: World, guild: Guild) -> None:
    session = await guild.owner.connect()
    event = await create_event(guild.owner, guild, channel_event(guild.channels["Lounge"]))
    world.clock.advance(HOUR_MS + EVENT_CANCEL_AFTER_MS - 1)
    await session.assert_not_received("GUILD_SCHEDULED_EVENT_UPDATE")
    world.clock.advance(1)
    assert await session.next("GUILD_SCHEDULED_EVENT_UPDATE") == gateway_view(event, status=EventStatus.CANCELED)


async def test_a_stage_event_starts_a_stage_instance_and_ends_with_it(world: World, guild: Guild) -> None:
    stage_channel_id = guild.channels["stage"]
    session = await guild.owner.connect()
    event = await create_event(guild.owner, guild, channel_event(stage_channel_id, EventEntityType.STAGE_INSTANCE))
    started_event = (await guild.owner.patch(event_path(guild, event), json={"status": EventStatus.ACTIVE})).ok()
    stage_create = await session.next("STAGE_INSTANCE_CREATE")
    assert (stage_create["topic"], stage_create["guild_scheduled_event_id"]) == ("talk", event["id"])
    assert started_event["entity_id"] == stage_create["id"]
    assert await session.next("GUILD_SCHEDULED_EVENT_UPDATE") == gateway_view(started_event)
    (await guild.owner.delete(f"/stage-instances/{stage_channel_id}")).ok()
    assert (await session.next("GUILD_SCHEDULED_EVENT_UPDATE"))["status"] == EventStatus.COMPLETED

    second_event = await create_event(
        guild.owner, guild, channel_event(stage_channel_id, EventEntityType.STAGE_INSTANCE)
    )
    (await guild.owner.patch(event_path(guild, second_event), json={"status": EventStatus.ACTIVE})).ok()
    ended_event = (
        await guild.owner.patch(event_path(guild, second_event), json={"status": EventStatus.COMPLETED})
    ).ok()
    assert (ended_event["status"], ended_event["entity_id"]) == (EventStatus.COMPLETED, None)
    await session.next("STAGE_INSTANCE_DELETE")
    (await guild.owner.get(f"/stage-instances/{stage_channel_id}")).rejected(404, 10067)

    third_event = await create_event(
        guild.owner, guild, channel_event(stage_channel_id, EventEntityType.STAGE_INSTANCE)
    )
    (await guild.owner.post("/stage-instances", json={"channel_id": str(stage_channel_id), "topic": "x"})).ok()
    (await guild.owner.patch(event_path(guild, third_event), json={"status": EventStatus.ACTIVE})).rejected(400, 180002)


async def test_a_stage_instance_can_start_an_event(world: World, guild: Guild) -> None:
    stage_channel_id = guild.channels["stage"]
    session = await guild.owner.connect()
    event = await create_event(guild.owner, guild, channel_event(stage_channel_id, EventEntityType.STAGE_INSTANCE))
    other_event = await create_event(guild.owner, guild, external_event())
    body = {"channel_id": str(stage_channel_id), "topic": "x"}
    path = "/stage-instances"
    (await guild.owner.post(path, json=body | {"guild_scheduled_event_id": "1"})).rejected(404, 10070)
    (await guild.owner.post(path, json=body | {"guild_scheduled_event_id": other_event["id"]})).rejected(400, 50091)
    created_stage = (await guild.owner.post(path, json=body | {"guild_scheduled_event_id": event["id"]})).ok()
    event_update = await session.next("GUILD_SCHEDULED_EVENT_UPDATE")
    assert (event_update["status"], event_update["entity_id"]) == (EventStatus.ACTIVE, created_stage["id"])
    await guild.owner.delete(event_path(guild, event))
    assert (await session.next("STAGE_INSTANCE_DELETE"))["id"] == created_stage["id"]


async def test_a_voice_event_ends_after_the_channel_is_idle(world: World, guild: Guild) -> None:
    lounge_id = guild.channels["Lounge"]
    session = await guild.owner.connect()
    event = await create_event(guild.owner, guild, channel_event(lounge_id))
    (await guild.owner.patch(event_path(guild, event), json={"status": EventStatus.ACTIVE})).ok()
    await session.next("GUILD_SCHEDULED_EVENT_UPDATE")
    await session.join_voice(guild, lounge_id)
    await session.join_voice(guild, None)
    world.clock.advance(EVENT_IDLE_MS - 1)
    await session.assert_not_received("GUILD_SCHEDULED_EVENT_UPDATE")
    world.clock.advance(1)
    assert (await session.next("GUILD_SCHEDULED_EVENT_UPDATE"))["status"] == EventStatus.COMPLETED


async def test_deleting_a_channel_cancels_its_events(world: World, guild: Guild) -> None:
    lounge_id = guild.channels["Lounge"]
    session = await guild.owner.connect()
    event = await create_event(guild.owner, guild, channel_event(lounge_id))
    (await guild.owner.delete(f"/channels/{lounge_id}")).ok()
    assert await session.next("GUILD_SCHEDULED_EVENT_UPDATE") == gateway_view(
        event, status=EventStatus.CANCELED, channel_id=None
    )
    await session.next("CHANNEL_DELETE")
    (await guild.owner.delete(f"/guilds/{guild.id}")).ok()


# Recurrence. The frequencies are 0 (yearly), 1 (monthly), 2 (weekly) and 3 (daily); weekday 0 is Monday.

MONDAY_MS = 1_795_410_000_000
"""A Monday: 2026-11-23 05:00 UTC."""
assert datetime.fromtimestamp(MONDAY_MS / 1000, UTC).isoformat() == "2026-11-23T05:00:00+00:00"


def weekly_event(**overrides: Any) -> dict[str, Any]:
    """Return the body of a one-hour event that repeats every Monday."""
    return external_event(
        scheduled_start_time=timestamp(MONDAY_MS),
        scheduled_end_time=timestamp(MONDAY_MS + HOUR_MS),
        recurrence_rule={"start": timestamp(MONDAY_MS), "frequency": 2, "interval": 1, "by_weekday": [0]},
        **overrides,
    )


@pytest.mark.one_postgres_case
@pytest.mark.parametrize(
    ("rule", "field"),
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
async def test_invalid_recurrence_rules_are_rejected(
    world: World, guild: Guild, rule: dict[str, Any], field: str
) -> None:
    body = external_event(recurrence_rule={"start": timestamp(NOW_MS + HOUR_MS), "interval": 1, **rule})
    response = await guild.owner.post(f"/guilds/{guild.id}/scheduled-events", json=body)
    assert response.errors(".".join(filter(None, ("recurrence_rule", field))))


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
def test_recurrence_rules_produce_their_dates(rule: dict[str, Any], days: list[str]) -> None:
    recurrence_rule = RecurrenceRule(start=codec.timestamp(MONDAY_MS), **{"interval": 1, **rule})
    after_ms, occurrence_dates = MONDAY_MS - 1, []
    for _ in days:
        occurrence_ms = recurrence.find_next(recurrence_rule, after_ms)
        assert occurrence_ms is not None
        assert recurrence.occurs(recurrence_rule, occurrence_ms)
        assert not recurrence.occurs(recurrence_rule, occurrence_ms + 1)
        occurrence_dates.append(datetime.fromtimestamp(occurrence_ms / 1000, UTC).strftime("%m-%d"))
        assert occurrence_ms % DAY_MS == MONDAY_MS % DAY_MS
        after_ms = occurrence_ms
    assert occurrence_dates == days


async def test_a_recurring_event_advances_to_its_next_occurrence(world: World, guild: Guild) -> None:
    session = await guild.owner.connect()
    event = await create_event(guild.owner, guild, weekly_event())
    assert event["recurrence_rule"]["by_weekday"] == [0]
    world.clock.set(MONDAY_MS)
    assert (await session.next("GUILD_SCHEDULED_EVENT_UPDATE"))["status"] == EventStatus.ACTIVE
    world.clock.set(MONDAY_MS + HOUR_MS)
    event_update = await session.next("GUILD_SCHEDULED_EVENT_UPDATE")
    assert (event_update["status"], event_update["scheduled_start_time"]) == (
        EventStatus.SCHEDULED,
        timestamp(MONDAY_MS + 7 * DAY_MS),
    )
    assert event_update["scheduled_end_time"] == timestamp(MONDAY_MS + 7 * DAY_MS + HOUR_MS)
    world.clock.set(MONDAY_MS + 7 * DAY_MS)
    assert (await session.next("GUILD_SCHEDULED_EVENT_UPDATE"))["status"] == EventStatus.ACTIVE
    ended_event = (await guild.owner.patch(event_path(guild, event), json={"status": EventStatus.COMPLETED})).ok()
    assert (ended_event["status"], ended_event["scheduled_start_time"]) == (
        EventStatus.SCHEDULED,
        timestamp(MONDAY_MS + 14 * DAY_MS),
    )
    assert (await guild.owner.patch(event_path(guild, event), json={"status": EventStatus.CANCELED})).ok()[
        "status"
    ] == EventStatus.CANCELED


async def test_a_single_occurrence_can_be_changed(world: World, guild: Guild) -> None:
    session = await guild.owner.connect()
    event = await create_event(guild.owner, guild, weekly_event())
    body = {
        "original_scheduled_start_time": timestamp(MONDAY_MS),
        "scheduled_start_time": timestamp(MONDAY_MS + 2 * HOUR_MS),
    }
    exception = (await guild.owner.post(event_path(guild, event, "exceptions"), json=body)).ok()
    assert exception == {
        "event_id": event["id"],
        "event_exception_id": str(int(Snowflake.at(MONDAY_MS))),
        "scheduled_start_time": timestamp(MONDAY_MS + 2 * HOUR_MS),
        "scheduled_end_time": None,
        "is_canceled": False,
    }
    assert await session.next("GUILD_SCHEDULED_EVENT_EXCEPTION_CREATE") == exception | {"guild_id": str(guild.id)}
    audit_entry = await guild.last_audit_entry(AuditLogAction.GUILD_SCHEDULED_EVENT_EXCEPTION_CREATE)
    assert audit_entry["options"] == {"event_exception_id": exception["event_exception_id"]}
    assert (await guild.owner.get(event_path(guild, event))).ok()["guild_scheduled_event_exceptions"] == [exception]
    path = event_path(guild, event, "exceptions", exception["event_exception_id"])
    later_exception = (
        await guild.owner.patch(path, json={"scheduled_end_time": timestamp(MONDAY_MS + 4 * HOUR_MS)})
    ).ok()
    assert later_exception["scheduled_end_time"] == timestamp(MONDAY_MS + 4 * HOUR_MS)
    assert await session.next("GUILD_SCHEDULED_EVENT_EXCEPTION_UPDATE") == later_exception | {"guild_id": str(guild.id)}
    assert (await guild.last_audit_entry(AuditLogAction.GUILD_SCHEDULED_EVENT_EXCEPTION_UPDATE))["target_id"] == event[
        "id"
    ]
    world.clock.set(MONDAY_MS + 2 * HOUR_MS - 1)
    await session.assert_not_received("GUILD_SCHEDULED_EVENT_UPDATE")
    world.clock.advance(1)
    assert (await session.next("GUILD_SCHEDULED_EVENT_UPDATE"))["status"] == EventStatus.ACTIVE
    world.clock.advance(2 * HOUR_MS)
    assert (await session.next("GUILD_SCHEDULED_EVENT_UPDATE"))["scheduled_start_time"] == timestamp(
        MONDAY_MS + 7 * DAY_MS
    )
    assert (await guild.owner.delete(path)).status == 204
    assert (await session.next("GUILD_SCHEDULED_EVENT_EXCEPTION_DELETE"))["event_id"] == event["id"]
    assert (await guild.last_audit_entry(AuditLogAction.GUILD_SCHEDULED_EVENT_EXCEPTION_DELETE))["options"] == {
        "event_exception_id": exception["event_exception_id"]
    }
    (await guild.owner.delete(path)).rejected(404, 10070)
    (await guild.owner.patch(path, json={})).rejected(404, 10070)


async def test_the_next_occurrence_can_be_canceled(world: World, guild: Guild) -> None:
    session = await guild.owner.connect()
    event = await create_event(guild.owner, guild, weekly_event())
    for week_number in (1, 0):
        body = {"original_scheduled_start_time": timestamp(MONDAY_MS + week_number * 7 * DAY_MS), "is_canceled": True}
        assert (await guild.owner.post(event_path(guild, event, "exceptions"), json=body)).ok()["is_canceled"] is True
    assert (await session.next("GUILD_SCHEDULED_EVENT_UPDATE"))["scheduled_start_time"] == timestamp(
        MONDAY_MS + 14 * DAY_MS
    )
    rule_body = {"recurrence_rule": {"start": timestamp(MONDAY_MS + 14 * DAY_MS), "frequency": 3}}
    changed_event = (await guild.owner.patch(event_path(guild, event), json=rule_body)).ok()
    assert changed_event["guild_scheduled_event_exceptions"] == []
    exceptions_delete = await session.next("GUILD_SCHEDULED_EVENT_EXCEPTIONS_DELETE")
    assert (exceptions_delete["event_id"], len(exceptions_delete["event_exception_ids"])) == (event["id"], 2)


@pytest.mark.parametrize("is_patched", [False, True])
async def test_a_series_starts_with_its_event(world: World, guild: Guild, is_patched: bool) -> None:
    """A new rule, or a new start of the event, sets the rule's start to the event's start.

    Later occurrences keep the time of day of the rule's start."""
    rule = {"start": timestamp(MONDAY_MS), "frequency": 3}
    later_times = {
        "scheduled_start_time": timestamp(MONDAY_MS + 3 * HOUR_MS),
        "scheduled_end_time": timestamp(MONDAY_MS + 4 * HOUR_MS),
    }
    if is_patched:
        event = await create_event(guild.owner, guild, weekly_event())
        event = (await guild.owner.patch(event_path(guild, event), json={**later_times, "recurrence_rule": rule})).ok()
        moved_times = {
            "scheduled_start_time": timestamp(MONDAY_MS + 5 * HOUR_MS),
            "scheduled_end_time": timestamp(MONDAY_MS + 6 * HOUR_MS),
        }
        assert (await guild.owner.patch(event_path(guild, event), json=moved_times)).ok()["recurrence_rule"][
            "start"
        ] == timestamp(MONDAY_MS + 5 * HOUR_MS)
        event = (await guild.owner.patch(event_path(guild, event), json=later_times)).ok()
    else:
        event = await create_event(guild.owner, guild, external_event(**later_times, recurrence_rule=rule))
    assert event["recurrence_rule"]["start"] == event["scheduled_start_time"] == timestamp(MONDAY_MS + 3 * HOUR_MS)
    cancellation_body = {"original_scheduled_start_time": event["scheduled_start_time"], "is_canceled": True}
    (await guild.owner.post(event_path(guild, event, "exceptions"), json=cancellation_body)).ok()
    current_event = (await guild.owner.get(event_path(guild, event))).ok()
    assert current_event["scheduled_start_time"] == timestamp(MONDAY_MS + DAY_MS + 3 * HOUR_MS)
    # A request that repeats the returned fields changes nothing: the series keeps its start and its exceptions.
    unchanged_fields = {
        key: current_event[key] for key in ("scheduled_start_time", "scheduled_end_time", "recurrence_rule")
    }
    unchanged_fields["recurrence_rule"] = {
        key: value for key, value in unchanged_fields["recurrence_rule"].items() if value is not None
    }
    assert (await guild.owner.patch(event_path(guild, event), json=unchanged_fields)).ok() == current_event


async def test_an_events_own_start_is_an_occurrence_on_any_day(world: World, guild: Guild) -> None:
    event = await create_event(guild.owner, guild, weekly_event())
    tuesday = {
        "scheduled_start_time": timestamp(MONDAY_MS + DAY_MS),
        "scheduled_end_time": timestamp(MONDAY_MS + DAY_MS + HOUR_MS),
    }
    event = (await guild.owner.patch(event_path(guild, event), json=tuesday)).ok()
    cancellation_body = {"original_scheduled_start_time": timestamp(MONDAY_MS + DAY_MS), "is_canceled": True}
    exception = (await guild.owner.post(event_path(guild, event, "exceptions"), json=cancellation_body)).ok()
    assert exception["event_exception_id"] == str(int(Snowflake.at(MONDAY_MS + DAY_MS)))
    assert (await guild.owner.get(event_path(guild, event))).ok()["scheduled_start_time"] == timestamp(
        MONDAY_MS + 7 * DAY_MS
    )


async def test_exceptions_require_an_occurrence_and_permissions(world: World, guild: Guild) -> None:
    event = await create_event(guild.owner, guild, weekly_event())
    single_event = await create_event(guild.owner, guild, external_event())
    field = "original_scheduled_start_time"
    path = event_path(guild, event, "exceptions")
    assert (await guild.owner.post(path, json={field: timestamp(MONDAY_MS + 1)})).errors(field)
    assert (await guild.owner.post(path, json={field: timestamp(MONDAY_MS - 7 * DAY_MS)})).errors(field)
    assert (await guild.owner.post(path, json={})).errors(field) == ["BASE_TYPE_REQUIRED"]
    assert (
        await guild.owner.post(event_path(guild, single_event, "exceptions"), json={field: timestamp(NOW_MS + HOUR_MS)})
    ).errors(field)
    past_body = {field: timestamp(MONDAY_MS), "scheduled_start_time": timestamp(NOW_MS - 1)}
    assert (await guild.owner.post(path, json=past_body)).errors("scheduled_start_time")
    (await guild.owner.post(path, json={field: timestamp(MONDAY_MS)})).ok()
    assert (await guild.owner.post(path, json={field: timestamp(MONDAY_MS)})).errors(field) == [
        "SET_TYPE_ALREADY_CONTAINS_VALUE"
    ]
    unprivileged_member = await guild.member()
    (await unprivileged_member.post(path, json={field: timestamp(MONDAY_MS + 7 * DAY_MS)})).rejected(403, 50013)
    (await unprivileged_member.patch(f"{path}/{int(Snowflake.at(MONDAY_MS))}", json={})).rejected(403, 50013)
    (await unprivileged_member.delete(f"{path}/{int(Snowflake.at(MONDAY_MS))}")).rejected(403, 50013)


# Subscribers


async def test_users_subscribe_and_unsubscribe(world: World, guild: Guild) -> None:
    bob, carol = await guild.member(), await guild.member()
    session = await guild.owner.connect()
    event = await create_event(guild.owner, guild, external_event())
    own_path = event_path(guild, event, "users", "@me")
    for user in (carol, bob):
        assert (await user.put(own_path)).ok()["user_id"] == str(user.id)
        assert await session.next("GUILD_SCHEDULED_EVENT_USER_ADD") == {
            "guild_scheduled_event_id": event["id"],
            "user_id": str(user.id),
            "guild_id": str(guild.id),
        }
    (await bob.put(own_path)).ok()
    await session.assert_not_received("GUILD_SCHEDULED_EVENT_USER_ADD")
    path = event_path(guild, event, "users")
    subscribers = (await guild.owner.get(f"{path}?with_member=true")).ok()
    user_ids = sorted((str(bob.id), str(carol.id)), key=int)
    assert (
        [user["user_id"] for user in subscribers] == [user["member"]["user"]["id"] for user in subscribers] == user_ids
    )
    assert subscribers[0]["user"]["id"] == user_ids[0]
    assert [user["user_id"] for user in (await bob.get(f"{path}?limit=1&after={user_ids[0]}")).ok()] == user_ids[1:]
    assert [
        user["user_id"] for user in (await bob.get(f"{path}?before={user_ids[1]}&after={user_ids[1]}")).ok()
    ] == user_ids[:1]
    assert (await bob.get(f"{path}?limit=0")).errors("limit")
    assert (await bob.get(event_path(guild, event) + "?with_user_count=1")).ok()["user_count"] == 2
    assert (await bob.delete(own_path)).status == 204
    assert (await session.next("GUILD_SCHEDULED_EVENT_USER_REMOVE"))["user_id"] == str(bob.id)
    (await bob.delete(own_path)).rejected(404, 10071)
    counts = (await bob.get(f"{path}/counts")).ok()
    assert counts == {"guild_scheduled_event_count": 1, "guild_scheduled_event_exception_counts": {}}
    bot = await world.bot(guild)
    (await bot.put(own_path)).rejected(403, 20001)
    (await guild.owner.delete(f"/guilds/{guild.id}/members/{carol.id}")).ok()
    assert (await session.next("GUILD_SCHEDULED_EVENT_USER_REMOVE"))["user_id"] == str(carol.id)
    (await guild.owner.patch(event_path(guild, event), json={"status": EventStatus.CANCELED})).ok()
    (await bob.put(own_path)).rejected(400, 180000)


async def test_users_respond_to_one_occurrence(world: World, guild: Guild) -> None:
    bob, carol = await guild.member(), await guild.member()
    session = await guild.owner.connect()
    event = await create_event(guild.owner, guild, weekly_event())
    occurrence_id = str(int(Snowflake.at(MONDAY_MS + 7 * DAY_MS)))
    own_path = event_path(guild, event, occurrence_id, "users", "@me")
    subscription = (await bob.put(own_path)).ok()
    assert (subscription["guild_scheduled_event_exception_id"], subscription["response"]) == (occurrence_id, 1)
    assert (await session.next("GUILD_SCHEDULED_EVENT_USER_ADD"))["guild_scheduled_event_exception_id"] == occurrence_id
    assert (await carol.put(own_path, json={"response": 0})).ok()["response"] == 0
    listed_users = (await bob.get(event_path(guild, event, occurrence_id, "users"))).ok()
    assert {user["user_id"]: user["response"] for user in listed_users} == {str(bob.id): 1, str(carol.id): 0}
    path = event_path(guild, event, "users", "counts")
    counts = (await bob.get(f"{path}?guild_scheduled_event_exception_ids={occurrence_id}")).ok()
    assert counts == {"guild_scheduled_event_count": 0, "guild_scheduled_event_exception_counts": {occurrence_id: 1}}
    query = "&".join(f"guild_scheduled_event_exception_ids={number}" for number in range(11))
    assert (await bob.get(f"{path}?{query}")).errors("guild_scheduled_event_exception_ids")
    assert (await bob.put(own_path, json={"response": 0})).ok()["response"] == 0
    await session.next("GUILD_SCHEDULED_EVENT_USER_REMOVE")
    assert (await bob.delete(own_path)).status == 204
    (await bob.delete(own_path)).rejected(404, 10071)
    unknown_path = event_path(guild, event, int(Snowflake.at(MONDAY_MS)) + 1, "users")
    (await bob.get(unknown_path)).rejected(404, 10070)
    (await bob.put(f"{unknown_path}/@me")).rejected(404, 10070)

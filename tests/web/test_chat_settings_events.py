"""Scheduled events in the guild settings of the chat client, in a real browser."""

from datetime import UTC, datetime
from typing import Any

from hubbub.protocol.enums import (
    AuditLogAction,
    ChannelType,
    EventEntityType,
    EventStatus,
    RecurrenceFrequency,
)
from hubbub.protocol.ids import Snowflake
from hubbub.protocol.permissions import Permissions
from tests import media
from tests.server.places.scheduled_events import HOUR_MS, channel_event, create_event, external_event, timestamp
from tests.web.chat import ChatPlatform, ChatWindow, general_path
from tests.web.settings import open_settings, save_changes
from tests.world import NOW_MS, Guild

FORMAT_LOCAL_TIME = """ms => { const date = new Date(ms - new Date(ms).getTimezoneOffset() * 60000);
  return date.toISOString().slice(0, 16); }"""
"""A JavaScript function that formats a Unix time as the value of a `datetime-local` field, in the browser's time zone."""
MINUTE_MS = 60_000


async def fill_time(window: ChatWindow, field: Any, time_ms: int) -> int:
    """Fill a field with a time in whole minutes, in the time zone of the browser; return the time."""
    whole_ms = time_ms // MINUTE_MS * MINUTE_MS
    await field.fill(await window.page.evaluate(FORMAT_LOCAL_TIME, whole_ms))
    return whole_ms


async def get_event(guild: Guild) -> Any:
    """Return the only event of a guild."""
    [event] = (await guild.owner.get(f"/guilds/{guild.id}/scheduled-events")).ok()
    return event


async def test_an_event_is_created_edited_started_and_ended_and_another_member_sees_it(platform: ChatPlatform) -> None:
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    await guild.allow_permissions(tom, Permissions.MANAGE_EVENTS)
    stage_channel_id = await guild.channel("Talks", type=ChannelType.GUILD_STAGE_VOICE)
    lounge_id = await guild.channel("Lounge", type=ChannelType.GUILD_VOICE)
    async with (
        platform.open_window(nora, general_path(guild)) as nora_window,
        platform.open_window(tom, general_path(guild)) as tom_window,
    ):
        page = nora_window.page
        settings, tom_settings = await open_settings(nora_window, "Events"), await open_settings(tom_window, "Events")
        await settings.get_by_text("No events are scheduled.").wait_for()
        await tom_settings.get_by_text("To create events: You need the permission “Create events”.").wait_for()
        assert await tom_settings.get_by_role("button", name="Create event").is_disabled()
        await settings.get_by_role("button", name="Create event").click()
        dialog = page.get_by_role("dialog", name="Create event")
        await dialog.get_by_label("Name", exact=True).fill("Picnic")
        await dialog.get_by_label("Location").fill("The park")
        start_ms = await fill_time(nora_window, dialog.get_by_label("Start"), NOW_MS + HOUR_MS)
        await dialog.locator("input[type=file]").set_input_files(
            {"name": "cover.png", "mimeType": "image/png", "buffer": media.png(80, 32)}
        )
        # An event outside of the guild needs an end: the API reports it at the field.
        nora_window.expected_errors = ("Failed to load resource",)
        await dialog.get_by_role("button", name="Create", exact=True).click()
        await dialog.get_by_role("alert").filter(has_text="required").wait_for()
        await fill_time(nora_window, dialog.get_by_label("End"), NOW_MS + 2 * HOUR_MS)
        await dialog.get_by_label("Repeats").select_option(label="Every week")
        await dialog.get_by_role("button", name="Create", exact=True).click()
        await settings.get_by_text("The park · Every week").wait_for()
        event = await get_event(guild)
        assert event["image"] is not None
        assert (event["name"], event["entity_type"]) == ("Picnic", EventEntityType.EXTERNAL)
        assert event["recurrence_rule"]["frequency"] == RecurrenceFrequency.WEEKLY
        assert len(event["recurrence_rule"]["by_weekday"]) == 1
        await nora_window.wait_until("() => document.activeElement.ariaLabel === 'Edit Picnic'")

        # Tom manages events of others: he moves it to a voice channel.
        await tom_settings.get_by_role("button", name="Edit Picnic").click()
        assert await tom_settings.get_by_label("Where").locator("option", has_text="Talks").count() == 0
        await tom_settings.get_by_label("Where").select_option(label="Lounge (voice)")
        assert await tom_settings.get_by_label("Location").is_hidden()
        await tom_settings.get_by_label("Repeats").select_option(label="Does not repeat")
        await tom_settings.get_by_label("Description").fill("Bring a blanket")
        await save_changes(tom_settings)
        event = await get_event(guild)
        assert (event["channel_id"], event["entity_type"]) == (str(lounge_id), EventEntityType.VOICE)
        assert (event["description"], event["recurrence_rule"]) == ("Bring a blanket", None)
        await settings.get_by_text("Lounge (voice)").wait_for()

        await settings.get_by_role("button", name="Edit Picnic").click()
        await settings.get_by_label("Where").select_option(label="Talks (voice)")
        await fill_time(nora_window, settings.get_by_label("Start"), start_ms + HOUR_MS // 2)
        await save_changes(settings)
        event = await get_event(guild)
        assert (event["channel_id"], event["entity_type"]) == (str(stage_channel_id), EventEntityType.STAGE_INSTANCE)
        await settings.get_by_role("button", name="Start now").click()
        await page.get_by_role("dialog", name="Start now?").get_by_role("button", name="Start now").click()
        await settings.get_by_role("button", name="End event").wait_for()
        assert (await get_event(guild))["status"] == EventStatus.ACTIVE
        await settings.get_by_role("button", name="All events").click()
        await settings.get_by_text("Now", exact=True).wait_for()
        await settings.get_by_role("button", name="Edit Picnic").click()
        await settings.get_by_role("button", name="End event").click()
        await page.get_by_role("dialog", name="End event?").get_by_role("button", name="End event").click()
        await settings.get_by_text("No events are scheduled.").wait_for()
        await tom_settings.get_by_text("Picnic was ended or deleted by someone else.").wait_for()


async def test_interested_members_are_listed_and_an_event_is_deleted(platform: ChatPlatform) -> None:
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    event = await create_event(nora, guild, external_event())
    async with platform.open_window(nora, general_path(guild)) as window:
        page = window.page
        settings = await open_settings(window, "Events")
        await settings.get_by_text("0 interested · created by nora").wait_for()
        (await tom.put(f"/guilds/{guild.id}/scheduled-events/{event['id']}/users/@me")).ok()
        await settings.get_by_text("1 interested").wait_for()
        await settings.get_by_role("button", name="Edit picnic").click()
        await settings.get_by_role("button", name="Show interested members").click()
        await page.get_by_role("dialog", name="Interested in picnic").get_by_text("@tom").wait_for()
        await page.keyboard.press("Escape")
        await settings.get_by_role("button", name="Delete event").click()
        await page.get_by_role("dialog", name="Delete picnic?").get_by_role("button", name="Delete event").click()
        await settings.get_by_text("No events are scheduled.").wait_for()
        audit_entry = await guild.last_audit_entry(AuditLogAction.GUILD_SCHEDULED_EVENT_DELETE)
        assert audit_entry["target_id"] == event["id"]


async def test_the_page_of_an_event_closes_if_another_member_deletes_it_while_a_dialog_is_open(
    platform: ChatPlatform,
) -> None:
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    await guild.allow_permissions(tom, Permissions.MANAGE_EVENTS)
    event = await create_event(nora, guild, external_event())
    async with platform.open_window(nora, general_path(guild)) as window:
        settings = await open_settings(window, "Events")
        await settings.get_by_role("button", name="Edit picnic").click()
        await settings.get_by_role("button", name="Delete event").click()
        dialog = window.page.get_by_role("dialog", name="Delete picnic?")
        await dialog.wait_for()
        (await tom.delete(f"/guilds/{guild.id}/scheduled-events/{event['id']}")).ok()
        await window.page.get_by_text("picnic was ended or deleted by someone else.").wait_for()
        await dialog.get_by_role("button", name="Cancel").click()
        await settings.get_by_text("No events are scheduled.").wait_for()


async def test_dates_of_an_event_are_skipped_and_restored_and_another_manager_sees_it(platform: ChatPlatform) -> None:
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    await guild.allow_permissions(tom, Permissions.MANAGE_EVENTS)
    start_ms = NOW_MS + HOUR_MS
    rule = {"start": timestamp(start_ms), "frequency": RecurrenceFrequency.WEEKLY, "interval": 2}
    weekday = datetime.fromtimestamp(start_ms / 1000, UTC).weekday()
    await create_event(nora, guild, external_event(recurrence_rule={**rule, "by_weekday": [weekday]}))
    second_date_id = Snowflake.at(start_ms + 14 * 24 * HOUR_MS)
    async with (
        platform.open_window(nora, general_path(guild)) as nora_window,
        platform.open_window(tom, general_path(guild)) as tom_window,
    ):
        settings, tom_settings = await open_settings(nora_window, "Events"), await open_settings(tom_window, "Events")
        for window_settings in (settings, tom_settings):
            await window_settings.get_by_role("button", name="Edit picnic").click()
            await window_settings.get_by_role("button", name="Skip").nth(4).wait_for()
        await settings.get_by_role("button", name="Skip").nth(1).click()
        await settings.get_by_role("button", name="Restore").wait_for()
        [exception] = (await get_event(guild))["guild_scheduled_event_exceptions"]
        assert (exception["event_exception_id"], exception["is_canceled"]) == (str(int(second_date_id)), True)
        await tom_settings.get_by_text("Skipped").wait_for()
        await tom_settings.get_by_role("button", name="Restore").click()
        await settings.get_by_role("button", name="Restore").wait_for(state="detached")
        [exception] = (await get_event(guild))["guild_scheduled_event_exceptions"]
        assert exception["is_canceled"] is False


async def test_events_follow_the_permissions_of_the_user(platform: ChatPlatform) -> None:
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    role_id = await guild.role("hosts", Permissions.CREATE_EVENTS)
    await guild.add_role(tom, role_id)
    lounge_id = await guild.channel("Lounge", type=ChannelType.GUILD_VOICE)
    await create_event(nora, guild, external_event(name="theirs"))
    await create_event(tom, guild, channel_event(lounge_id, name="mine"))
    async with platform.open_window(tom, general_path(guild)) as window:
        settings = await open_settings(window, "Events")
        await settings.get_by_role("button", name="Edit mine").wait_for()
        await settings.get_by_role("button", name="View theirs").click()
        await settings.get_by_text("You need the permission “Manage events”.").wait_for()
        assert await settings.get_by_label("Name", exact=True).is_disabled()
        assert await settings.get_by_role("button", name="Cancel event").is_disabled()
        await settings.get_by_role("button", name="All events").click()
        await settings.get_by_role("button", name="Edit mine").click()
        (
            await nora.patch(f"/guilds/{guild.id}/roles/{role_id}", json={"permissions": str(Permissions.KICK_MEMBERS)})
        ).ok()
        await settings.get_by_text("You need the permission “Create events” in this channel.").wait_for()
        assert await settings.get_by_role("button", name="Start now").is_disabled()

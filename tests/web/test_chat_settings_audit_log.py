"""The audit log and the ownership of a guild in the settings of the chat client, in a real browser."""

import re
from typing import Any

from hubbub.protocol.enums import (
    AuditLogAction,
    AutoModerationActionType,
    AutoModerationEventType,
    AutoModerationTriggerType,
    VerificationLevel,
)
from hubbub.protocol.permissions import Permissions
from hubbub.server.transports.web.templating import PACKAGE_DIR
from tests.server.places.scheduled_events import create_event, external_event
from tests.web.chat import ChatPlatform, general_path
from tests.web.settings import choose_in_picker, open_settings


def test_every_action_of_the_audit_log_has_a_label() -> None:
    source = (PACKAGE_DIR / "static/app/settings/audit/texts.js").read_text()
    labeled_actions = re.findall(r'\[AuditLogAction\.(\w+), t\("', source)
    assert sorted(labeled_actions) == sorted(AuditLogAction.__members__)


async def test_the_audit_log_is_filtered_and_shows_new_entries(platform: ChatPlatform) -> None:
    nora, tom, mary = [await platform.world.user(name) for name in ("nora", "tom", "mary")]
    guild = await platform.world.guild(nora, tom, mary)
    await guild.allow_permissions(tom, Permissions.VIEW_AUDIT_LOG | Permissions.MANAGE_CHANNELS)
    reason = {"X-Audit-Log-Reason": "Too%20loud"}
    (await nora.patch(f"/guilds/{guild.id}/members/{mary.id}", json={"nick": "Mary"}, headers=reason)).ok()
    (await tom.patch(f"/channels/{guild.general}", json={"topic": "Tides"})).ok()
    (await nora.patch(f"/guilds/{guild.id}", json={"name": "Harbor"})).ok()
    (await nora.patch(f"/guilds/{guild.id}", json={"name": "Guild"})).ok()
    (await nora.patch(f"/guilds/{guild.id}/roles/{guild.id}", json={"permissions": str(Permissions.VIEW_CHANNEL)})).ok()
    async with (
        platform.open_window(nora, general_path(guild)) as nora_window,
        platform.open_window(tom, general_path(guild)) as tom_window,
    ):
        for window in (nora_window, tom_window):
            settings = await open_settings(window, "Audit log")
            log = settings.get_by_role("list", name="Audit log")
            log_entry = log.locator("> li").filter(has_text="Channel updated")
            await log_entry.get_by_text("general").wait_for()
        await log.get_by_text("Reason: Too loud").wait_for()
        # The guild and its role @everyone have the same ID.
        assert await log.locator("> li").filter(has_text="Guild updated").first.get_by_text("@everyone").count() == 0
        await log.locator("> li").filter(has_text="Role updated").get_by_text("@everyone").wait_for()
        await log_entry.get_by_text("1 change").click()
        await log_entry.get_by_text("Topic: Tides").wait_for()

        await choose_in_picker(tom_window.page, "Done by", "tom")
        await log.get_by_text("Member updated").wait_for(state="detached")
        assert await log.locator("> li").count() == 1
        # An entry that does not match the filters is not added; one that matches is.
        await guild.role("Crew")
        (await tom.patch(f"/channels/{guild.general}", json={"nsfw": True})).ok()
        await log.locator("> li").nth(1).wait_for()
        assert await log.get_by_text("Role created").count() == 0
        nora_log = nora_window.page.get_by_role("list", name="Audit log")
        await nora_log.get_by_text("Role created").first.wait_for()

        await settings.get_by_label("Action").select_option(label="Member banned")
        await settings.get_by_text("No entries match these filters.").wait_for()


async def test_changes_are_sentences_with_names_instead_of_ids(platform: ChatPlatform) -> None:
    nora = await platform.world.user("nora")
    guild = await platform.world.guild(nora)
    crew_role_id, harbor_channel_id = await guild.role("Crew", color=0xC0392B), await guild.channel("harbor")
    rule = {
        "name": "No spoilers",
        "event_type": AutoModerationEventType.MESSAGE_SEND,
        "trigger_type": AutoModerationTriggerType.KEYWORD,
        "trigger_metadata": {"keyword_filter": ["the end"]},
        "actions": [
            {"type": AutoModerationActionType.SEND_ALERT_MESSAGE, "metadata": {"channel_id": str(harbor_channel_id)}}
        ],
        "exempt_roles": [str(crew_role_id)],
    }
    (await nora.post(f"/guilds/{guild.id}/auto-moderation/rules", json=rule)).ok()
    (await nora.patch(f"/channels/{harbor_channel_id}", json={"rate_limit_per_user": 60})).ok()
    (await nora.patch(f"/guilds/{guild.id}", json={"verification_level": VerificationLevel.MEDIUM})).ok()
    await create_event(nora, guild, external_event())
    async with platform.open_window(nora, general_path(guild)) as window:
        settings = await open_settings(window, "Audit log")
        await settings.get_by_role("list", name="Audit log").get_by_text("Rule created").wait_for()
        texts = await settings.locator(".audit-changes li").all_text_contents()
    assert {
        "Exempt roles: Crew",
        "Trigger: Words and phrases: the end",
        "Actions: Send an alert",
        "Slow mode: from none to 1 minute",
        "Verification level: from none to medium",
        "Colors: Primary color: #c0392b",
        "Place: Location: the park",
    } <= set(texts)
    assert [text for text in texts if "{" in text or re.search(r"\d{15}|\dT\d\d:", text)] == []


async def test_the_audit_log_names_the_missing_permission(platform: ChatPlatform) -> None:
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    await guild.allow_permissions(tom, Permissions.KICK_MEMBERS)
    async with platform.open_window(tom, general_path(guild)) as window:
        settings = await open_settings(window, "Audit log")
        await settings.get_by_text("You need the permission “View audit log”.").wait_for()
        await settings.get_by_role("navigation").get_by_role("button", name="Ownership").click()
        await settings.get_by_text("Only the owner can transfer or delete the guild. The owner is nora.").wait_for()
        assert await settings.get_by_role("button", name="Delete guild").is_disabled()
        assert await settings.get_by_role("button", name="New owner").is_disabled()


async def confirm_name(page: Any, title: str, label: str, name: str) -> Any:
    """Type a name into the dialog with this title, press the button with this label, and return the dialog."""
    dialog = page.get_by_role("dialog", name=title)
    await dialog.get_by_label("to confirm").fill(name)
    await dialog.get_by_role("button", name=label).click()
    return dialog


async def test_a_guild_is_transferred_and_deleted_by_its_new_owner(platform: ChatPlatform) -> None:
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    async with (
        platform.open_window(nora, general_path(guild)) as nora_window,
        platform.open_window(tom, general_path(guild)) as tom_window,
    ):
        page = nora_window.page
        settings = await open_settings(nora_window, "Ownership")
        assert await settings.get_by_role("button", name="Transfer ownership").is_disabled()
        await choose_in_picker(page, "New owner", "tom")
        await settings.get_by_role("button", name="Transfer ownership").click()
        dialog = await confirm_name(page, "Transfer Guild to tom?", "Transfer ownership", "Guilt")
        await dialog.get_by_role("alert").filter(has_text="This is not the name of the guild").wait_for()
        await confirm_name(page, "Transfer Guild to tom?", "Transfer ownership", "Guild")
        await page.get_by_text("tom owns the guild now.").wait_for()
        await settings.get_by_text("The owner is tom.").wait_for()
        assert (await nora.get(f"/guilds/{guild.id}")).ok()["owner_id"] == str(tom.id)

        settings = await open_settings(tom_window, "Ownership")
        await settings.get_by_role("button", name="Delete guild").click()
        await confirm_name(tom_window.page, "Delete Guild?", "Delete guild", "Guild")
        await tom_window.page.get_by_text("Guild was deleted.").wait_for()
        assert await settings.is_hidden()
        assert (await tom.get(f"/guilds/{guild.id}")).status == 404
        # The settings of the other member close.
        await page.get_by_text("You are no longer a member of this guild.").wait_for()

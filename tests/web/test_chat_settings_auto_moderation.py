"""The auto moderation screen of the guild settings in a real browser."""

from typing import Any

from hubbub.protocol.enums import (
    AutoModerationActionType,
    AutoModerationEventType,
    AutoModerationKeywordPresetType,
    AutoModerationTriggerType,
)
from hubbub.protocol.permissions import Permissions
from tests.web.chat import ChatPlatform, general_path
from tests.web.settings import choose_in_picker, open_settings, save_changes
from tests.world import Guild


async def create_rule(
    guild: Guild, name: str, trigger_type: int = AutoModerationTriggerType.KEYWORD, **body: Any
) -> Any:
    """Create a rule as the owner."""
    json = {
        "name": name,
        "event_type": AutoModerationEventType.MESSAGE_SEND,
        "trigger_type": trigger_type,
        "enabled": True,
        **body,
    }
    return (await guild.owner.post(f"/guilds/{guild.id}/auto-moderation/rules", json=json)).ok()


async def list_rules(guild: Guild) -> Any:
    return (await guild.owner.get(f"/guilds/{guild.id}/auto-moderation/rules")).ok()


async def test_rule_is_created_edited_and_deleted(platform: ChatPlatform) -> None:
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    await guild.allow_permissions(tom, Permissions.MANAGE_GUILD)
    alerts_channel_id = await guild.channel("alerts")
    crew_role_id = await guild.role("Crew")
    async with (
        platform.open_window(nora, general_path(guild)) as window,
        platform.open_window(tom, general_path(guild)) as tom_window,
    ):
        window.expected_errors = ("Failed to load resource",)
        page = window.page
        settings = await open_settings(window, "Auto moderation")
        tom_settings = await open_settings(tom_window, "Auto moderation")
        await tom_settings.get_by_text("There are no rules yet.").wait_for()
        await settings.get_by_role("button", name="Create rule").click()
        dialog = page.get_by_role("dialog", name="Create rule")
        await dialog.get_by_label("Name").fill("No spoilers")
        await dialog.get_by_role("button", name="Create").click()
        await settings.get_by_role("heading", name="No spoilers").wait_for()
        # Other managers see the rule immediately, turned off.
        rules = tom_settings.get_by_role("list", name="Rules")
        await rules.get_by_role("listitem").filter(has_text="No spoilers").get_by_text("Off").wait_for()

        # Errors of the API are shown at the line and the action that they belong to.
        await settings.get_by_label("Turned on").check()
        await settings.get_by_label("Words and phrases", exact=True).fill("the ending\nfinal*\n")
        await settings.get_by_label("Regular expressions").fill("end(ing\n")
        await save_changes(settings, expects_success=False)
        await settings.get_by_role("alert").filter(has_text="“end(ing”: Regular expression").wait_for()
        await settings.get_by_label("Regular expressions").fill("end(ing)?")
        await settings.get_by_label("Send an alert").check()
        await save_changes(settings, expects_success=False)
        field = settings.locator(".field").filter(has=page.get_by_label("Alert channel"))
        await field.get_by_role("alert").filter(has_text="required").wait_for()
        for action in ("Block the message", "Send an alert"):
            await settings.get_by_label(action).uncheck()
        await save_changes(settings, expects_success=False)
        await settings.get_by_role("alert").filter(has_text="Choose at least one action.").wait_for()

        await settings.get_by_label("Block the message").check()
        await settings.get_by_label("Message to the author").fill("Not before Sunday.")
        await settings.get_by_label("Send an alert").check()
        await settings.get_by_label("Alert channel").select_option(label="#alerts")
        await settings.get_by_label("Time out the member").check()
        await settings.get_by_label("Duration").select_option(label="1 hour")
        await settings.get_by_label("Allowed words and phrases").fill("ending credits")
        await choose_in_picker(page, "Exempt roles", "Crew")
        await page.keyboard.press("Escape")
        await choose_in_picker(page, "Exempt channels", "general")
        await page.keyboard.press("Escape")
        await save_changes(settings)
        [rule] = await list_rules(guild)
        assert rule["enabled"] is True
        assert rule["trigger_metadata"] == {
            "keyword_filter": ["the ending", "final*"],
            "regex_patterns": ["end(ing)?"],
            "allow_list": ["ending credits"],
        }
        assert rule["actions"] == [
            {"type": AutoModerationActionType.BLOCK_MESSAGE, "metadata": {"custom_message": "Not before Sunday."}},
            {"type": AutoModerationActionType.SEND_ALERT_MESSAGE, "metadata": {"channel_id": str(alerts_channel_id)}},
            {"type": AutoModerationActionType.TIMEOUT, "metadata": {"duration_seconds": 3600}},
        ]
        assert (rule["exempt_roles"], rule["exempt_channels"]) == ([str(crew_role_id)], [str(guild.general)])
        await rules.get_by_text("Block the message · Send an alert · Time out the member").wait_for()

        # Tom may not time out members: he can remove the timeout, but change nothing that it depends on.
        await rules.get_by_role("button", name="Edit No spoilers").click()
        await tom_settings.get_by_text("This rule times out members.").wait_for()
        await tom_settings.get_by_text("You need the permission “Time out members”.").first.wait_for()
        assert await tom_settings.get_by_label("Words and phrases", exact=True).is_disabled()
        await tom_settings.get_by_label("Time out the member").uncheck()
        await save_changes(tom_settings)
        await tom_settings.get_by_text("This rule times out members.").wait_for(state="detached")
        assert await tom_settings.get_by_label("Words and phrases", exact=True).is_enabled()
        assert await tom_settings.get_by_label("Time out the member").is_disabled()
        # Nora's page shows the change: the fourth switch is the timeout.
        await window.wait_until("() => !document.querySelectorAll('.settings .switch input')[3].checked")

        # Tom keeps his unsaved change while Nora renames the rule, and leaves the page when she deletes it.
        await tom_settings.get_by_label("Allowed words and phrases").fill("credits")
        await settings.get_by_label("Name").fill("Spoilers")
        await save_changes(settings)
        await tom_settings.get_by_role("heading", name="Spoilers").wait_for()
        assert await tom_settings.get_by_label("Allowed words and phrases").input_value() == "credits"
        tom_window.expected_errors = ("Failed to load resource",)
        await settings.get_by_role("button", name="Delete rule").click()
        confirmation = page.get_by_role("dialog", name="Delete Spoilers?")
        await confirmation.get_by_role("button", name="Delete rule").click()
        await settings.get_by_text("There are no rules yet.").wait_for()
        await tom_window.page.get_by_text("Spoilers was deleted by someone else.").wait_for()
        await tom_settings.get_by_text("There are no rules yet.").wait_for()
        assert await list_rules(guild) == []


async def test_each_type_of_rule_has_its_own_fields(platform: ChatPlatform) -> None:
    nora = await platform.world.user("nora")
    guild = await platform.world.guild(nora)
    async with platform.open_window(nora, general_path(guild)) as window:
        page = window.page
        settings = await open_settings(window, "Auto moderation")

        async def create(name: str, trigger: str) -> None:
            await settings.get_by_role("button", name="Create rule").click()
            dialog = page.get_by_role("dialog", name="Create rule")
            await dialog.get_by_label("Name").fill(name)
            await dialog.get_by_label("Reacts to").select_option(label=trigger)
            await dialog.get_by_role("button", name="Create").click()
            await settings.get_by_role("heading", name=name).wait_for()

        await create("Words", "Commonly flagged words")
        await settings.get_by_label("Swear words").check()
        await settings.get_by_label("Insults and slurs").check()
        assert await settings.get_by_label("Time out the member").count() == 0
        await save_changes(settings)
        await settings.get_by_role("button", name="All rules").click()
        await create("Mentions", "Too many mentions")
        await settings.get_by_label("Mentions in a message").fill("8")
        await settings.get_by_label("Detect mention raids").check()
        await save_changes(settings)
        await settings.get_by_role("button", name="All rules").click()
        await create("Names", "Names of members")
        assert await settings.get_by_label("Quarantine the member").is_checked()
        assert await settings.get_by_role("button", name="Exempt channels").count() == 0
        await settings.get_by_label("Words and phrases", exact=True).fill("admin")
        await save_changes(settings)
        await settings.get_by_role("button", name="All rules").click()
        await create("Repeats", "Spam")
        await settings.get_by_text("Messages that look like spam.").wait_for()
        await settings.get_by_role("button", name="All rules").click()
        # Only keyword rules can still be created.
        await settings.get_by_role("button", name="Create rule").click()
        dialog = page.get_by_role("dialog", name="Create rule")
        assert await dialog.get_by_label("Reacts to").locator("option").all_inner_texts() == [
            "Words and patterns that you list"
        ]
        await dialog.get_by_text("Already used: Commonly flagged words (1)").wait_for()
        await page.keyboard.press("Escape")
    stored_rules = {rule["name"]: rule for rule in await list_rules(guild)}
    assert stored_rules["Words"]["trigger_metadata"] == {
        "presets": [AutoModerationKeywordPresetType.PROFANITY, AutoModerationKeywordPresetType.SLURS],
        "allow_list": [],
    }
    assert stored_rules["Mentions"]["trigger_metadata"] == {
        "mention_total_limit": 8,
        "mention_raid_protection_enabled": True,
    }
    assert stored_rules["Names"]["trigger_metadata"]["keyword_filter"] == ["admin"]
    assert stored_rules["Repeats"]["trigger_metadata"] == {}


async def test_rules_need_the_permission_to_manage_the_guild(platform: ChatPlatform) -> None:
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    await guild.allow_permissions(tom, Permissions.KICK_MEMBERS)
    await create_rule(guild, "No spoilers")
    async with platform.open_window(tom, general_path(guild)) as window:
        settings = await open_settings(window, "Auto moderation")
        await settings.get_by_text("You cannot see the rules. You need the permission “Manage guild”.").wait_for()
        # The screen updates when the permission is granted.
        await guild.allow_permissions(tom, Permissions.MANAGE_GUILD)
        await settings.get_by_role("button", name="Edit No spoilers").wait_for()

"""Webhooks in the guild settings of the chat client, in a real browser."""

from typing import Any

from hubbub.protocol.enums import AuditLogAction, ChannelType
from hubbub.protocol.permissions import Permissions
from tests import media
from tests.web.chat import ChatPlatform, general_path
from tests.web.settings import open_settings, save_changes
from tests.world import Guild


async def get_webhook(guild: Guild) -> Any:
    """Return the only webhook of a guild."""
    [webhook] = (await guild.owner.get(f"/guilds/{guild.id}/webhooks")).ok()
    return webhook


async def test_a_webhook_is_created_edited_and_deleted_and_another_manager_sees_it(platform: ChatPlatform) -> None:
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    news_channel_id = await guild.channel("news")
    await guild.channel("Harbor", type=ChannelType.GUILD_CATEGORY)
    await guild.allow_permissions(tom, Permissions.MANAGE_WEBHOOKS)
    async with (
        platform.open_window(nora, general_path(guild)) as nora_window,
        platform.open_window(tom, general_path(guild)) as tom_window,
    ):
        page = nora_window.page
        await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        settings = await open_settings(nora_window, "Webhooks")
        tom_settings = await open_settings(tom_window, "Webhooks")
        await settings.get_by_text("There are no webhooks yet.").wait_for()
        await settings.get_by_role("button", name="Create webhook").click()
        dialog = page.get_by_role("dialog", name="Create webhook")
        names = await dialog.get_by_label("Channel").locator("option").all_text_contents()
        assert sorted(names) == ["#general", "#news", "General (voice)"]

        # A rejected name is reported at its field.
        nora_window.expected_errors = ("Failed to load resource",)
        await dialog.get_by_label("Name", exact=True).fill("hubbub")
        await dialog.get_by_role("button", name="Create", exact=True).click()
        await dialog.get_by_role("alert").filter(has_text="hubbub").wait_for()
        await dialog.get_by_label("Name", exact=True).fill("Builds")
        await dialog.get_by_role("button", name="Create", exact=True).click()
        await settings.get_by_role("heading", name="Builds", exact=True).wait_for()
        webhook = await get_webhook(guild)
        await settings.get_by_role("button", name="Copy URL of Builds").click()
        await settings.get_by_text("URL copied.").wait_for()
        assert await page.evaluate("navigator.clipboard.readText()") == webhook["url"]

        await tom_settings.get_by_role("button", name="Edit Builds").click()
        await tom_settings.get_by_role("heading", name="Builds", exact=True).wait_for()
        await settings.get_by_label("Name", exact=True).fill("Releases")
        await settings.get_by_label("Channel").select_option(label="#news")
        await settings.locator("input[type=file]").set_input_files(
            {"name": "avatar.png", "mimeType": "image/png", "buffer": media.png(64, 64)}
        )
        await settings.locator(".image-preview img").wait_for()
        await save_changes(settings)
        webhook = await get_webhook(guild)
        assert (webhook["name"], webhook["channel_id"]) == ("Releases", str(news_channel_id))
        assert webhook["avatar"] is not None
        # The page of the other manager shows the new values.
        await tom_settings.get_by_role("heading", name="Releases", exact=True).wait_for()
        assert await tom_settings.get_by_label("Name", exact=True).input_value() == "Releases"

        # A dialog confirms that unsaved changes are discarded.
        await settings.get_by_label("Name", exact=True).fill("Nothing")
        await settings.get_by_role("button", name="All webhooks").click()
        await page.get_by_role("dialog", name="Discard changes?").get_by_role("button", name="Discard").click()
        await settings.get_by_text("Posts in #news").wait_for()
        await nora_window.wait_until("() => document.activeElement.ariaLabel === 'Edit Releases'")
        await settings.get_by_role("button", name="Edit Releases").click()
        await settings.get_by_role("button", name="Delete webhook").click()
        confirmation = page.get_by_role("dialog", name="Delete Releases?")
        await confirmation.get_by_role("button", name="Delete webhook").click()
        await settings.get_by_text("There are no webhooks yet.").wait_for()
        await tom_settings.get_by_text("Releases was deleted by someone else.").wait_for()
        assert (await guild.last_audit_entry(AuditLogAction.WEBHOOK_DELETE))["target_id"] == webhook["id"]


async def test_the_page_of_a_webhook_names_the_missing_permission(platform: ChatPlatform) -> None:
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    role_id = await guild.role("writers", Permissions.MANAGE_WEBHOOKS)
    await guild.add_role(tom, role_id)
    staff_channel_id = await guild.channel("staff")
    await guild.overwrite(staff_channel_id, tom.id, deny=Permissions.MANAGE_WEBHOOKS)
    (await nora.post(f"/channels/{staff_channel_id}/webhooks", json={"name": "Alerts"})).ok()
    async with platform.open_window(tom, general_path(guild)) as window:
        settings = await open_settings(window, "Webhooks")
        await settings.get_by_role("button", name="Edit Alerts").click()
        await settings.get_by_text("You need the permission “Manage webhooks” in this channel.").wait_for()
        assert await settings.get_by_label("Name", exact=True).is_disabled()
        assert await settings.get_by_role("button", name="Delete webhook").is_disabled()
        (await nora.patch(f"/guilds/{guild.id}/roles/{role_id}", json={"permissions": "0"})).ok()
        await settings.get_by_text("You cannot see the webhooks. You need the permission “Manage webhooks”.").wait_for()

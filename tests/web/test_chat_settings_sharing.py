"""The template, widget, vanity URL and guild tag screens of the guild settings in a real browser."""

import pytest

from hubbub.protocol.permissions import Permissions
from tests.server.talk.uploads import PNG
from tests.web.chat import ChatPlatform, general_path
from tests.web.settings import open_settings, save_changes

REPLACE_CLIPBOARD = """
Object.defineProperty(navigator, "clipboard", { value: { writeText: async text => { window.copiedText = text; } } });
"""
"""A script that replaces the clipboard by one that the test can read; the real one needs HTTPS and a permission."""


async def test_template_is_created_synced_copied_and_deleted(platform: ChatPlatform) -> None:
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    await guild.allow_permissions(tom, Permissions.MANAGE_GUILD)
    path = f"/guilds/{guild.id}/templates"
    async with (
        platform.open_window(nora, general_path(guild), init_script=REPLACE_CLIPBOARD) as window,
        platform.open_window(tom, general_path(guild)) as tom_window,
    ):
        page = window.page
        settings = await open_settings(window, "Template")
        tom_settings = await open_settings(tom_window, "Template")
        await tom_settings.get_by_text("This guild has no template yet.").wait_for()
        await settings.get_by_role("button", name="Create template").click()
        dialog = page.get_by_role("dialog", name="Create template")
        await dialog.get_by_label("Name").fill("Harbor")
        await dialog.get_by_label("Description").fill("Channels for a club")
        await dialog.get_by_role("button", name="Create").click()
        await settings.get_by_text("Used 0 times").wait_for()
        assert await settings.get_by_role("button", name="Sync template").is_disabled()
        [template] = (await nora.get(path)).ok()
        await settings.get_by_role("button", name="Copy link").click()
        await page.get_by_text("Link copied.").wait_for()
        assert (await page.evaluate("copiedText")).endswith(f"/template/{template['code']}")

        # Both screens show that the guild changed, and a sync copies the change. Templates have no events, so Tom's screen reads
        # the template again with the event of the channel.
        await guild.channel("arrivals")
        for screen in (settings, tom_settings):
            await screen.get_by_text("The guild changed since the last sync.").wait_for()
        await settings.get_by_role("button", name="Sync template").click()
        await settings.get_by_text("The template has the current channels").first.wait_for()
        names = [channel["name"] for channel in (await nora.get(path)).ok()[0]["serialized_source_guild"]["channels"]]
        assert "arrivals" in names

        await settings.get_by_role("button", name="Edit").click()
        dialog = page.get_by_role("dialog", name="Edit template")
        assert await dialog.get_by_label("Description").input_value() == "Channels for a club"
        await dialog.get_by_label("Name").fill("Port")
        await dialog.get_by_role("button", name="Save").click()
        await settings.get_by_role("list", name="Templates").get_by_text("Port", exact=True).wait_for()
        # Tom returns to his window and sees the new name.
        await tom_window.page.evaluate("dispatchEvent(new Event('focus'))")
        await tom_settings.get_by_role("list", name="Templates").get_by_text("Port", exact=True).wait_for()

        await settings.get_by_role("button", name="Delete").click()
        await page.get_by_role("dialog", name="Delete Port?").get_by_role("button", name="Delete template").click()
        await settings.get_by_text("This guild has no template yet.").wait_for()
        assert (await nora.get(path)).ok() == []


async def test_widget_is_turned_on_with_preview_and_code(platform: ChatPlatform) -> None:
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    await guild.allow_permissions(tom, Permissions.MANAGE_GUILD)
    async with (
        platform.open_window(nora, general_path(guild), init_script=REPLACE_CLIPBOARD) as window,
        platform.open_window(tom, general_path(guild)) as tom_window,
    ):
        page = window.page
        settings = await open_settings(window, "Widget")
        tom_settings = await open_settings(tom_window, "Widget")
        await tom_settings.get_by_text("Turn on the widget to see it.").wait_for()
        await settings.get_by_label("Turn on the widget").check()
        await settings.get_by_label("Invite channel").select_option(label="#general")
        await save_changes(settings)
        await settings.get_by_text("members are online.").wait_for()
        assert (await nora.get(f"/guilds/{guild.id}/widget")).ok() == {
            "enabled": True,
            "channel_id": str(guild.general),
        }
        await settings.get_by_label("Style").select_option(label="Badge")
        await window.wait_until("() => document.querySelector('.widget-image').naturalWidth > 0")
        assert await settings.get_by_role("region", name="Unsaved changes").is_hidden()
        await settings.get_by_role("button", name="Copy code").click()
        await page.get_by_text("Copied.").wait_for()
        code = await page.evaluate("copiedText")
        assert code.startswith('<a href="')
        assert "/invite/" in code
        assert f"/guilds/{guild.id}/widget.png?style=shield" in code
        # Tom's screen shows the widget too.
        await tom_settings.get_by_label("HTML code").wait_for()
        assert await tom_settings.get_by_label("Turn on the widget").is_checked()


async def test_vanity_url_is_set_and_removed(platform: ChatPlatform) -> None:
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    other_guild = await platform.world.guild(tom, name="Other")
    async with platform.open_window(nora, general_path(guild)) as window:
        settings = await open_settings(window, "Vanity URL")
        await settings.get_by_text(
            "The operator of this server can add the feature VANITY_URL with hubbub admin guild."
        ).wait_for()
        for granted_guild in (guild, other_guild):
            await platform.world.grant_to_guild(granted_guild, "VANITY_URL")
        (await tom.patch(f"/guilds/{other_guild.id}/vanity-url", json={"code": "harbor"})).ok()
        await settings.get_by_text("This guild has no vanity URL yet.").wait_for()

        window.expected_errors = ("Failed to load resource",)
        await settings.get_by_label("Code").fill("harbor")
        await save_changes(settings, expects_success=False)
        await settings.get_by_role("alert").filter(has_text="This code is taken").wait_for()
        await settings.get_by_label("Code").fill("Tides")
        await save_changes(settings)
        await settings.get_by_text("/invite/tides").wait_for()
        assert await settings.get_by_label("Code").input_value() == "tides"
        assert (await nora.get(f"/guilds/{guild.id}/vanity-url")).ok() == {"code": "tides", "uses": 0}

        # Another manager changes the code.
        await guild.allow_permissions(tom, Permissions.MANAGE_GUILD)
        (await tom.patch(f"/guilds/{guild.id}/vanity-url", json={"code": "boats"})).ok()
        await settings.get_by_text("/invite/boats").wait_for()
        await settings.get_by_label("Code").fill("")
        await save_changes(settings)
        await settings.get_by_text("This guild has no vanity URL yet.").wait_for()


async def test_guild_tag_is_set_with_a_badge(platform: ChatPlatform) -> None:
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    await guild.allow_permissions(tom, Permissions.MANAGE_GUILD | Permissions.VIEW_AUDIT_LOG)
    async with (
        platform.open_window(nora, general_path(guild)) as window,
        platform.open_window(tom, general_path(guild)) as tom_window,
    ):
        settings = await open_settings(window, "Guild tag")
        tom_settings = await open_settings(tom_window, "Guild tag")
        await settings.get_by_text("Tags are not available in this guild.").wait_for()
        assert await settings.get_by_label("Tag", exact=True).is_disabled()
        await platform.world.grant_to_guild(guild, "GUILD_TAGS")
        await settings.get_by_text("Tags are not available in this guild.").wait_for(state="detached")
        await settings.get_by_label("Tag", exact=True).fill("HRBR")
        await settings.locator("input[type=file]").set_input_files(
            {"name": "badge.png", "mimeType": "image/png", "buffer": PNG}
        )
        await settings.locator(".image-preview img").wait_for()
        await save_changes(settings)
        stored_profile = (await nora.get(f"/guilds/{guild.id}/profile")).ok()
        assert (stored_profile["tag"], stored_profile["badge"] is None) == ("HRBR", False)
        # Tom sees the stored badge, and removes the tag.
        await tom_settings.locator(".image-preview img").wait_for()
        assert await tom_settings.get_by_label("Tag", exact=True).input_value() == "HRBR"
        await tom_settings.get_by_label("Tag", exact=True).fill("")
        await save_changes(tom_settings)
        await settings.get_by_text("No badge").wait_for()


@pytest.mark.parametrize(
    ("screen", "subject"), [("Template", "template"), ("Widget", "widget"), ("Vanity URL", "vanity URL")]
)
async def test_sharing_needs_the_permission_to_manage_the_guild(
    platform: ChatPlatform, screen: str, subject: str
) -> None:
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    await platform.world.grant_to_guild(guild, "VANITY_URL")
    await guild.allow_permissions(tom, Permissions.KICK_MEMBERS)
    async with platform.open_window(tom, general_path(guild)) as window:
        settings = await open_settings(window, screen)
        await settings.get_by_text(f"You cannot see the {subject}. You need the permission “Manage guild”.").wait_for()

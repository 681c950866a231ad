"""Emoji, stickers and sounds in the guild settings of the chat client, in a real browser."""

from typing import Any

import pytest

from hubbub.protocol.enums import AuditLogAction
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources.emojis import EMOJI_BYTES_MAX, EMOJIS_MAX_BY_TIER
from tests import media
from tests.web.chat import ChatPlatform, general_path
from tests.web.settings import choose_in_picker, open_settings
from tests.world import Actor, Guild

pytestmark = pytest.mark.full_browser

CREATE, MANAGE = Permissions.CREATE_GUILD_EXPRESSIONS, Permissions.MANAGE_GUILD_EXPRESSIONS


def input_file(name: str, data: bytes, media_type: str = "image/png") -> Any:
    """Return a file in the form that Playwright accepts for a file field."""
    return {"name": name, "mimeType": media_type, "buffer": data}


async def add_emoji(actor: Actor, guild: Guild, name: str, **body: Any) -> Any:
    """Create an emoji and return it."""
    json = {"name": name, "image": media.data_uri(media.png()), **body}
    return (await actor.post(f"/guilds/{guild.id}/emojis", json=json)).ok()


async def test_an_emoji_is_added_renamed_and_deleted_and_another_member_sees_it(platform: ChatPlatform) -> None:
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    await guild.allow_permissions(tom, CREATE)
    crew_role_id = await guild.role("Crew")
    async with (
        platform.open_window(nora, general_path(guild)) as nora_window,
        platform.open_window(tom, general_path(guild)) as tom_window,
    ):
        page = nora_window.page
        settings, tom_settings = await open_settings(nora_window, "Emoji"), await open_settings(tom_window, "Emoji")
        await settings.get_by_text("There are no emoji yet.").wait_for()
        maximum = EMOJIS_MAX_BY_TIER[0]
        await settings.get_by_text(f"0 of {maximum} emoji, 0 of {maximum} animated emoji").wait_for()
        await settings.get_by_role("button", name="Add emoji").click()
        dialog = page.get_by_role("dialog", name="Add emoji")
        await dialog.get_by_text("at most 256 KB").wait_for()

        # The limit of the size is checked before the upload.
        chooser = dialog.locator("input[type=file]")
        await chooser.set_input_files(input_file("large.png", b"\0" * (EMOJI_BYTES_MAX + 1)))
        await dialog.get_by_role("alert").filter(has_text="The limit is 256 KB.").wait_for()
        # A missing image is reported at its field.
        nora_window.expected_errors = ("Failed to load resource",)
        await dialog.get_by_label("Name", exact=True).fill("wave")
        await dialog.get_by_role("button", name="Add", exact=True).click()
        await dialog.get_by_role("alert").filter(has_text="required").wait_for()

        await dialog.get_by_label("Name", exact=True).fill("")
        await chooser.set_input_files(input_file("Happy cat.png", media.png(64, 64)))
        await dialog.get_by_role("img", name="Preview").wait_for()
        assert await dialog.get_by_label("Name", exact=True).input_value() == "Happy_cat"
        await choose_in_picker(dialog, "Roles", "Crew")
        await page.keyboard.press("Escape")
        await dialog.get_by_role("button", name="Add", exact=True).click()
        await settings.get_by_text("Only for Crew").wait_for()
        [emoji] = (await nora.get(f"/guilds/{guild.id}/emojis")).ok()
        assert (emoji["name"], emoji["roles"]) == ("Happy_cat", [str(crew_role_id)])
        await nora_window.wait_until("() => document.activeElement.ariaLabel === 'Edit :Happy_cat:'")

        # Tom may add emoji, but not change those of others.
        await tom_settings.get_by_text(":Happy_cat:").wait_for()
        await tom_settings.get_by_text("Added by nora").wait_for()
        assert await tom_settings.get_by_role("button", name="Delete :Happy_cat:").is_disabled()

        await settings.get_by_role("button", name="Edit :Happy_cat:").click()
        dialog = page.get_by_role("dialog", name="Edit :Happy_cat:")
        await dialog.get_by_label("Name", exact=True).fill("cat!")
        await dialog.get_by_role("button", name="Save").click()
        await dialog.get_by_role("alert").wait_for()
        await dialog.get_by_label("Name", exact=True).fill("cat")
        await dialog.get_by_role("button", name="Save").click()
        await settings.get_by_text(":cat:", exact=True).wait_for()
        await tom_settings.get_by_text(":cat:", exact=True).wait_for()

        await settings.get_by_role("button", name="Delete :cat:").click()
        await page.get_by_role("dialog", name="Delete :cat:?").get_by_role("button", name="Delete").click()
        await settings.get_by_text("There are no emoji yet.").wait_for()
        await tom_settings.get_by_text("There are no emoji yet.").wait_for()
        assert (await guild.last_audit_entry(AuditLogAction.EMOJI_DELETE))["target_id"] == emoji["id"]


async def test_emoji_follow_the_permissions_of_the_user(platform: ChatPlatform) -> None:
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    role_id = await guild.role("artists", CREATE)
    await guild.add_role(tom, role_id)
    await add_emoji(nora, guild, "theirs")
    await add_emoji(tom, guild, "mine", image=media.data_uri(media.animated_image(), "image/gif"))
    async with platform.open_window(tom, general_path(guild)) as window:
        settings = await open_settings(window, "Emoji")
        await settings.get_by_text("1 of 50 emoji, 1 of 50 animated emoji").wait_for()
        assert await settings.get_by_role("button", name="Edit :mine:").is_enabled()
        assert await settings.get_by_role("button", name="Edit :theirs:").is_disabled()
        reason = await settings.get_by_role("button", name="Edit :theirs:").get_attribute("title")
        assert reason == "You need the permission “Manage expressions”."
        # Another member changes the permissions while the screen is open.
        (await nora.patch(f"/guilds/{guild.id}/roles/{role_id}", json={"permissions": str(MANAGE)})).ok()
        await settings.get_by_text("To add something: You need the permission “Create expressions”.").wait_for()
        assert await settings.get_by_role("button", name="Add emoji").is_disabled()
        assert await settings.get_by_role("button", name="Edit :theirs:").is_enabled()
        (await nora.patch(f"/guilds/{guild.id}/roles/{role_id}", json={"permissions": "0"})).ok()
        await settings.get_by_text("You can view this but not change it.").wait_for()
        assert await settings.get_by_role("button", name="Delete :theirs:").is_disabled()


async def test_a_sticker_is_added_edited_and_deleted_and_another_member_sees_it(platform: ChatPlatform) -> None:
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    await guild.allow_permissions(tom, MANAGE)
    async with (
        platform.open_window(nora, general_path(guild)) as nora_window,
        platform.open_window(tom, general_path(guild)) as tom_window,
    ):
        page = nora_window.page
        settings = await open_settings(nora_window, "Stickers")
        tom_settings = await open_settings(tom_window, "Stickers")
        await settings.get_by_text("0 of 5 stickers").wait_for()
        assert await tom_settings.get_by_role("button", name="Add sticker").is_disabled()
        await settings.get_by_role("button", name="Add sticker").click()
        dialog = page.get_by_role("dialog", name="Add sticker")
        await dialog.get_by_text("at most 512 KB and 5 seconds").wait_for()
        await dialog.get_by_label("Name", exact=True).fill("Wave")
        await dialog.get_by_label("Suggested for").fill("hello, hi")

        # The API reports a wrong type without a field; the dialog shows it at the file.
        nora_window.expected_errors = ("Failed to load resource",)
        chooser = dialog.locator("input[type=file]")
        await chooser.set_input_files(input_file("wave.jpg", media.jpeg(), "image/jpeg"))
        await dialog.get_by_role("button", name="Add", exact=True).click()
        await dialog.get_by_role("alert").wait_for()

        await chooser.set_input_files(input_file("wave.png", media.png(320, 320)))
        await dialog.get_by_role("img", name="Preview").wait_for()
        await dialog.get_by_label("Description").fill("x")
        await dialog.get_by_role("button", name="Add", exact=True).click()
        await dialog.get_by_role("alert").filter(has_text="2").wait_for()
        await dialog.get_by_label("Description").fill("A hand that waves")
        await dialog.get_by_role("button", name="Add", exact=True).click()
        await settings.get_by_text("Suggested for: hello, hi").wait_for()
        [sticker] = (await nora.get(f"/guilds/{guild.id}/stickers")).ok()
        assert (sticker["name"], sticker["description"]) == ("Wave", "A hand that waves")

        # Tom manages the stickers of others, and Nora sees his change.
        await tom_settings.get_by_role("button", name="Edit Wave").click()
        dialog = tom_window.page.get_by_role("dialog", name="Edit Wave")
        await dialog.get_by_label("Name", exact=True).fill("Greeting")
        await dialog.get_by_label("Description").fill("")
        await dialog.get_by_role("button", name="Save").click()
        await settings.get_by_text("Greeting", exact=True).wait_for()
        assert (await nora.get(f"/guilds/{guild.id}/stickers/{sticker['id']}")).ok()["description"] is None
        await tom_settings.get_by_role("button", name="Delete Greeting").click()
        await (
            tom_window.page.get_by_role("dialog", name="Delete Greeting?").get_by_role("button", name="Delete").click()
        )
        await settings.get_by_text("There are no stickers yet.").wait_for()


async def test_a_sound_is_added_played_edited_and_deleted_and_another_member_sees_it(platform: ChatPlatform) -> None:
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    await guild.allow_permissions(tom, CREATE)
    async with (
        platform.open_window(nora, general_path(guild)) as nora_window,
        platform.open_window(tom, general_path(guild)) as tom_window,
    ):
        page = nora_window.page
        settings = await open_settings(nora_window, "Soundboard")
        tom_settings = await open_settings(tom_window, "Soundboard")
        await settings.get_by_text("0 of 8 sounds").wait_for()
        await settings.get_by_role("button", name="Add sound").click()
        dialog = page.get_by_role("dialog", name="Add sound")
        await dialog.get_by_text("MP3 or Ogg, at most 512 KB and 5.2 seconds.").wait_for()

        nora_window.expected_errors = ("Failed to load resource", "NotSupportedError")
        chooser = dialog.locator("input[type=file]")
        await chooser.set_input_files(input_file("honk.ogg", b"not a sound", "audio/ogg"))
        assert await dialog.get_by_label("Name", exact=True).input_value() == "honk"
        await dialog.get_by_role("button", name="Add", exact=True).click()
        await dialog.get_by_role("alert").wait_for()
        await chooser.set_input_files(input_file("honk.ogg", media.ogg(), "audio/ogg"))
        await dialog.get_by_label("Volume").fill("0.5")
        await dialog.get_by_role("button", name="Choose emoji").click()
        await page.get_by_label("Search emoji").fill("fire")
        await page.get_by_role("option").first.click()
        await dialog.get_by_role("button", name="Add", exact=True).click()
        await tom_settings.get_by_text("Volume 50%").wait_for()
        [sound] = (await nora.get(f"/guilds/{guild.id}/soundboard-sounds")).ok()["items"]
        assert (sound["name"], sound["volume"], sound["emoji_name"]) == ("honk", 0.5, "🔥")
        assert await tom_settings.get_by_role("button", name="Edit honk").is_disabled()

        async with page.expect_request(f"**/cdn/soundboard-sounds/{sound['sound_id']}"):
            await settings.get_by_role("button", name="Play honk").click()
        await settings.get_by_role("button", name="Edit honk").click()
        dialog = page.get_by_role("dialog", name="Edit honk")
        await dialog.get_by_label("Name", exact=True).fill("horn")
        await dialog.get_by_role("button", name="Remove emoji").click()
        await dialog.get_by_role("button", name="Save").click()
        await tom_settings.get_by_text("horn", exact=True).wait_for()
        [sound] = (await nora.get(f"/guilds/{guild.id}/soundboard-sounds")).ok()["items"]
        assert (sound["name"], sound["emoji_name"]) == ("horn", None)
        await settings.get_by_role("button", name="Delete horn").click()
        await page.get_by_role("dialog", name="Delete horn?").get_by_role("button", name="Delete").click()
        await tom_settings.get_by_text("There are no sounds yet.").wait_for()

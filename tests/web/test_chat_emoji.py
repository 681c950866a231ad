"""The emoji of the chat client in a real browser: the picker, skin tones, recent emoji, typed names and the font."""

from typing import Any

import pytest

from hubbub.protocol.permissions import Permissions
from tests.media import data_uri, png
from tests.third_party_files import needs_emoji_files
from tests.web.chat import ChatPlatform, general_path

HIDE_EMOJI_FILES = """new MutationObserver(() => {
  document.querySelector("meta[name=hubbub-client]")?.removeAttribute("data-emoji");
}).observe(document, {childList: true, subtree: true});"""
"""A script that makes the page behave as on a server without the list of all emoji."""


async def open_picker(page: Any) -> Any:
    """Open the emoji picker of the composer, and return its locator."""
    await page.get_by_role("button", name="Emoji", exact=True).click()
    picker = page.get_by_role("dialog", name="Emoji")
    await picker.get_by_role("option").first.wait_for()
    return picker


@needs_emoji_files
async def test_all_emoji_are_found_by_name_and_sent_in_the_skin_tone_of_the_user(platform: ChatPlatform) -> None:
    expect = pytest.importorskip("playwright.async_api").expect
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    async with (
        platform.open_window(nora, general_path(guild)) as window,
        platform.open_window(tom, general_path(guild)) as tom_window,
    ):
        page = window.page
        picker = await open_picker(page)
        groups = picker.get_by_role("toolbar", name="Groups of emoji").get_by_role("button")
        labels = await groups.evaluate_all("buttons => buttons.map(button => button.ariaLabel)")
        assert labels == [
            "Smileys",
            "People",
            "Animals and nature",
            "Food and drink",
            "Travel and places",
            "Activities",
            "Objects",
            "Symbols",
            "Flags",
        ]
        # Only the rows in view are built.
        assert await picker.get_by_role("option").count() < 300
        await groups.last.click()
        await picker.get_by_role("option", name="flag_ee", exact=True).wait_for(state="attached")
        assert await picker.get_by_role("option").count() < 300

        await picker.get_by_role("button", name="Skin tone: No skin tone").click()
        await picker.get_by_role("button", name="Medium-dark").click()
        await picker.get_by_role("button", name="Skin tone: Medium-dark").wait_for()
        await picker.get_by_role("searchbox", name="Search emoji").fill("waving hand")
        await picker.get_by_role("option", name="wave", exact=True).click()
        await expect(window.composer).to_have_value("👋🏾")
        await window.composer.press("Enter")
        await tom_window.wait_message("👋🏾")

        # The tone is valid on all devices, and the chosen emoji is among the recent ones.
        await page.reload()
        await window.wait_message("👋🏾")
        picker = await open_picker(page)
        await expect(picker.get_by_role("option").first).to_have_text("👋🏾")
        await picker.get_by_role("button", name="Skin tone: Medium-dark").wait_for()


@needs_emoji_files
async def test_the_picker_works_by_keyboard_for_messages_and_reactions(platform: ChatPlatform) -> None:
    expect = pytest.importorskip("playwright.async_api").expect
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    await guild.send_message(tom, "Do we sail?")
    async with (
        platform.open_window(nora, general_path(guild)) as window,
        platform.open_window(tom, general_path(guild)) as tom_window,
    ):
        page, keyboard = window.page, window.page.keyboard
        await page.get_by_role("button", name="Emoji", exact=True).focus()
        await keyboard.press("Enter")
        search = page.get_by_role("searchbox", name="Search emoji")
        await expect(search).to_be_focused()
        await page.get_by_role("option").first.wait_for()
        active_label_script = (
            "() => document.getElementById(document.activeElement.getAttribute('aria-activedescendant')).ariaLabel"
        )
        first_emoji = await page.evaluate(active_label_script)
        await keyboard.press("ArrowDown")
        await keyboard.press("ArrowRight")
        second_emoji = await page.evaluate(active_label_script)
        await keyboard.press("ArrowDown")
        below = await page.evaluate(active_label_script)
        assert len({first_emoji, second_emoji, below}) == 3
        await keyboard.press("ArrowUp")
        await keyboard.press("ArrowLeft")
        assert await page.evaluate(active_label_script) == first_emoji
        # Rows below the window are built when the active emoji reaches them.
        for _ in range(40):
            await keyboard.press("ArrowDown")
        await expect(page.locator(".emoji-row [aria-selected=true]")).to_be_in_viewport()
        await keyboard.press("Escape")
        await expect(page.get_by_role("button", name="Emoji", exact=True)).to_be_focused()

        await (await window.wait_message("Do we sail?")).focus()
        await keyboard.press("+")
        await expect(search).to_be_focused()
        await keyboard.type("sailboat")
        await keyboard.press("Enter")
        await (await tom_window.wait_message("Do we sail?")).locator(".reaction", has_text="⛵").wait_for()


@needs_emoji_files
async def test_names_of_emoji_become_emoji_when_the_message_is_sent_but_not_in_code(platform: ChatPlatform) -> None:
    expect = pytest.importorskip("playwright.async_api").expect
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    async with (
        platform.open_window(nora, general_path(guild)) as window,
        platform.open_window(tom, general_path(guild)) as tom_window,
    ):
        await window.send(
            "Hi :tada::heart: `:tada:` ```\n:tada:\n``` 10:30:45 :unknown_name: std::star::x https://a.example/:tada: \\:tada:"
        )
        await tom_window.wait_message("Hi 🎉❤️")
        [message] = (await nora.get(f"/channels/{guild.general}/messages?limit=1")).ok()
        assert message["content"] == (
            "Hi 🎉❤️ `:tada:` ```\n:tada:\n``` 10:30:45 :unknown_name: std::star::x https://a.example/:tada: \\:tada:"
        )
        await window.composer.press("ArrowUp")
        edit = window.page.get_by_role("textbox", name="Edit message")
        await edit.fill("Bye :wave_tone5:")
        await edit.press("Enter")
        await tom_window.wait_message("Bye 👋🏿")

        # While a name is typed, it is suggested.
        await window.composer.press_sequentially("Off :rocke")
        await window.page.get_by_role("option", name=":rocket:").wait_for()
        await window.composer.press("Enter")
        await expect(window.composer).to_have_value("Off 🚀 ")


async def test_emoji_of_guilds_come_first_and_follow_the_permission(platform: ChatPlatform) -> None:
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild, other_guild = await platform.world.guild(tom, nora), await platform.world.guild(nora, name="Harbour")
    for owner, place, name in ((tom, guild, "lighthouse"), (nora, other_guild, "anchor_sign")):
        path = f"/guilds/{place.id}/emojis"
        (await owner.post(path, json={"name": name, "image": data_uri(png(64, 64))})).ok()
    async with platform.open_window(nora, general_path(guild)) as window:
        page = window.page
        picker = await open_picker(page)
        assert await picker.get_by_role("option").first.get_attribute("aria-label") == ":lighthouse:"
        await picker.get_by_role("option", name=":anchor_sign:").wait_for()
        await picker.get_by_role("searchbox").press("Escape")
        await window.send("Here :lighthouse:")
        await (await window.wait_message("Here")).locator("img[alt=':lighthouse:']").wait_for()

        everyone = (await tom.get(f"/guilds/{guild.id}/roles")).ok()[0]
        permissions = int(everyone["permissions"]) & ~Permissions.USE_EXTERNAL_EMOJIS
        (await tom.patch(f"/guilds/{guild.id}/roles/{everyone['id']}", json={"permissions": str(permissions)})).ok()
        await window.open(general_path(guild))
        await window.wait_message("Here")
        picker = await open_picker(page)
        await picker.get_by_role("option", name=":lighthouse:").first.wait_for()
        assert await picker.get_by_role("option", name=":anchor_sign:").count() == 0


@needs_emoji_files
async def test_emoji_have_the_font_of_the_server_and_digits_do_not(platform: ChatPlatform) -> None:
    nora = await platform.world.user("nora")
    guild = await platform.world.guild(nora)
    await guild.send_message(nora, "123")
    async with platform.open_window(nora, general_path(guild)) as window:
        await window.wait_message("123")
        count_loaded_fonts = "() => [...document.fonts].filter(face => face.status === 'loaded').length"
        assert await window.page.evaluate(count_loaded_fonts) == 0
        await guild.send_message(nora, "A party 🎉 at pier 1️⃣")
        party = await window.wait_message("A party")
        await window.wait_until("() => [...document.fonts].some(face => face.status === 'loaded')")
        # The text of a keycap starts with a digit, which is an emoji here.
        await party.locator(".emoji-text", has_text="1️⃣").wait_for()


async def test_without_the_list_the_picker_has_common_emoji(platform: ChatPlatform) -> None:
    nora = await platform.world.user("nora")
    guild = await platform.world.guild(nora)
    async with platform.open_window(nora, general_path(guild), init_script=HIDE_EMOJI_FILES) as window:
        picker = await open_picker(window.page)
        await picker.get_by_role("searchbox", name="Search emoji").fill("party")
        assert await picker.get_by_role("option").count() == 2
        await picker.get_by_role("option", name="tada").click()
        await window.composer.press("Enter")
        await window.wait_message("🎉")
        await window.send(":rocket:")
        await window.wait_message("🚀")

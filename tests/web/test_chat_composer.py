"""The chat client in a real browser: drafts, files, polls, stickers, formatting and voice messages."""

import base64
from typing import Any

import aiohttp
import msgspec
import pytest

from hubbub.protocol.flags import MessageFlags
from hubbub.protocol.permissions import Permissions
from tests.media import png
from tests.web.chat import ChatPlatform, general_path
from tests.web.conftest import DESKTOP_WIDTH, PHONE_WIDTH, OpenPage, run_platform
from tests.web.settings import accessibility_problems
from tests.world import Actor, Guild, small_config


async def test_drafts_of_channels_and_threads_survive_a_reload_with_their_mentions(platform: ChatPlatform) -> None:
    expect = pytest.importorskip("playwright.async_api").expect
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    starter = await guild.send_message(tom, "Do we sail?")
    path = f"/channels/{guild.general}/messages/{starter['id']}/threads"
    thread = (await nora.request("POST", path, json={"name": "Sailing"})).ok()
    async with (
        platform.open_window(nora, general_path(guild), width=1440) as window,
        platform.open_window(tom, general_path(guild)) as tom_window,
    ):
        page = window.page
        await window.composer.press_sequentially("Ask @to")
        await page.get_by_role("option", name="tom").wait_for()
        await window.composer.press("Enter")
        await window.composer.press_sequentially("now")
        await page.set_input_files(
            "input[type=file]", [{"name": "notes.txt", "mimeType": "text/plain", "buffer": b"hello"}]
        )
        await window.open(f"/app/channels/{guild.id}/{thread['id']}")
        thread_composer = page.get_by_role("textbox", name="Message #Sailing")
        await thread_composer.fill("Later")

        await window.open(f"/app/channels/{guild.id}/{thread['id']}")
        await expect(thread_composer).to_have_value("Later")
        channel_composer = page.get_by_role("textbox", name="Message #general")
        await expect(channel_composer).to_have_value("Ask @tom now")
        # Files are not part of a draft.
        await expect(page.get_by_role("list", name="Files to send")).to_have_count(0)
        await channel_composer.press("Enter")
        await window.wait_message("Ask")
        await expect(tom_window.message("Ask @tom now").locator(".mention")).to_have_text("@tom")

        await page.reload()
        await expect(channel_composer).to_have_value("")
        await expect(thread_composer).to_have_value("Later")


async def test_only_the_newest_drafts_are_kept(platform: ChatPlatform) -> None:
    nora = await platform.world.user("nora")
    async with platform.open_window(nora) as window:
        saved_draft = await window.page.evaluate(
            """async () => {
              const folder = document.querySelector("script[type=module]").src.replace(/start.js$/, "");
              const { saveDraft, readDraft } = await import(`${folder}state/drafts.js`);
              for (let id = 1; id <= 60; id += 1) saveDraft(String(id), { text: `draft ${id}`, mentions: [] });
              saveDraft("61", { text: "x".repeat(100_000), mentions: [] });
              saveDraft("60", { text: "  ", mentions: [] });
              return [10, 11, 59, 60, 61].map(id => readDraft(String(id))?.text ?? null);
            }"""
        )
        assert saved_draft == [None, "draft 11", "draft 59", None, None]


async def test_drafts_are_removed_on_logout_and_for_another_account(platform: ChatPlatform) -> None:
    expect = pytest.importorskip("playwright.async_api").expect
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    read_storage_script = "() => JSON.stringify({...localStorage})"
    async with platform.open_window(nora, general_path(guild)) as window:
        page = window.page
        await window.composer.fill("a secret")
        await window.wait_until("() => JSON.stringify({...localStorage}).includes('a secret')")
        cookies = [{"name": "hubbub_session", "value": tom.token, "url": platform.url}]
        await page.context.add_cookies(cookies)
        await window.open(general_path(guild))
        await expect(window.composer).to_have_value("")
        assert "a secret" not in await page.evaluate(read_storage_script)

        for is_page in (False, True):
            user = nora if is_page else tom
            await page.context.add_cookies([{"name": "hubbub_session", "value": user.token, "url": platform.url}])
            await window.open(general_path(guild))
            await window.composer.fill("another secret")
            await window.wait_until("() => JSON.stringify({...localStorage}).includes('another secret')")
            if is_page:
                await page.goto(f"{platform.url}/settings")
            else:
                await page.get_by_role("button", name="Account menu").click()
            window.expected_errors = ("Failed to load resource", "WebSocket")
            await page.get_by_role("button" if is_page else "menuitem", name="Log out").first.click()
            await page.wait_for_url("**/login*")
            assert "secret" not in await page.evaluate(read_storage_script)


async def add_sticker(owner: Actor, guild: Guild, name: str) -> None:
    form = aiohttp.FormData({"name": name, "description": "", "tags": name.lower()})
    form.add_field("file", png(320, 320), filename="sticker.png", content_type="image/png")
    (await owner.post(f"/guilds/{guild.id}/stickers", data=form)).ok()


def image_files(*names: str) -> list[dict[str, Any]]:
    """Return image files to choose in a file field."""
    return [{"name": name, "mimeType": "image/png", "buffer": png(64, 48)} for name in names]


async def test_files_are_ordered_described_and_marked_as_spoilers(platform: ChatPlatform) -> None:
    expect = pytest.importorskip("playwright.async_api").expect
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    async with (
        platform.open_window(nora, general_path(guild)) as window,
        platform.open_window(tom, general_path(guild)) as tom_window,
    ):
        page = window.page
        await page.set_input_files("input[type=file]", image_files("one.png", "two.png", "three.png", "four.png"))
        entries = page.get_by_role("list", name="Files to send").get_by_role("listitem")
        await expect(entries).to_have_count(4)
        await page.get_by_role("button", name="Move three.png", exact=True).focus()
        await page.keyboard.press("ArrowUp")
        await page.keyboard.press("ArrowUp")
        await expect(entries.first).to_contain_text("three.png")
        await page.get_by_text("three.png is number 1 of 4.").wait_for(state="attached")
        await page.get_by_role("button", name="Move one.png", exact=True).hover()
        await page.mouse.down()
        box = await entries.nth(2).bounding_box()
        await page.mouse.move(box["x"] + 20, box["y"] + box["height"] - 4, steps=4)
        await page.mouse.up()
        await expect(entries.nth(2)).to_contain_text("one.png")
        await page.get_by_role("textbox", name="Alt text of three.png").fill("A lighthouse at night")
        await page.get_by_role("button", name="Mark two.png as spoiler").press("Enter")
        await page.get_by_role("button", name="Remove four.png").press("Enter")
        await expect(page.get_by_role("button", name="Remove one.png")).to_be_focused()
        await window.send("Look")

        row = await tom_window.wait_message("Look")
        await expect(row.locator("img")).to_have_count(3)
        assert await row.locator("img").evaluate_all("images => images.map(image => image.alt)") == [
            "A lighthouse at night",
            "two.png",
            "one.png",
        ]
        await row.get_by_text("Alt text").click()
        await expect(row.get_by_text("A lighthouse at night")).to_be_visible()
        await expect(row.locator(".spoiler img[alt='two.png']")).to_be_hidden()
        await row.get_by_role("button", name="Spoiler").click()
        await expect(row.locator(".spoiler img[alt='two.png']")).to_be_visible()


async def test_a_file_that_is_too_large_is_explained_before_sending(open_page: OpenPage) -> None:
    config = small_config()
    config = msgspec.structs.replace(config, http=msgspec.structs.replace(config.http, file_bytes_max=1 << 20))
    async with run_platform(open_page, config) as platform:
        nora = await platform.world.user("nora")
        guild = await platform.world.guild(nora)
        async with platform.open_window(nora, general_path(guild)) as window:
            large_file = {"name": "film.bin", "mimeType": "application/octet-stream", "buffer": bytes(1_200_000)}
            await window.page.set_input_files("input[type=file]", [large_file, *image_files("cat.png")])
            await window.page.get_by_text(
                "film.bin is too large (1.2 MB). You can send files of up to 1 MB here."
            ).wait_for()
            await window.page.get_by_text("Up to 10 files of 1 MB each.").wait_for()
            files = window.page.get_by_role("list", name="Files to send").get_by_role("listitem")
            assert await files.count() == 1


async def test_a_poll_is_created_with_emoji_and_errors_are_shown_at_their_fields(platform: ChatPlatform) -> None:
    expect = pytest.importorskip("playwright.async_api").expect
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    async with (
        platform.open_window(nora, general_path(guild)) as window,
        platform.open_window(tom, general_path(guild)) as tom_window,
    ):
        page = window.page
        await page.get_by_role("button", name="Add to message").press("Enter")
        await page.get_by_role("menuitem", name="Create a poll").press("Enter")
        dialog = page.get_by_role("dialog", name="Create a poll")
        question = dialog.get_by_role("textbox", name="Question")
        await expect(question).to_be_focused()
        await page.keyboard.press("Enter")
        await dialog.get_by_text("Enter a question.").wait_for()
        await expect(question).to_be_focused()
        await question.fill("Where do we sail?")
        await dialog.get_by_role("textbox", name="Answer 1").fill("North")
        await page.keyboard.press("Enter")
        await dialog.get_by_text("Enter an answer.").wait_for()
        await expect(dialog.get_by_role("textbox", name="Answer 2")).to_be_focused()
        await dialog.get_by_role("textbox", name="Answer 2").fill("South")
        await dialog.get_by_role("button", name="Add answer (2 of 10)").click()
        await dialog.get_by_role("textbox", name="Answer 3").fill("x" * 60)
        assert await dialog.get_by_role("textbox", name="Answer 3").input_value() == "x" * 55
        await dialog.get_by_role("button", name="Remove answer 3").click()
        await dialog.get_by_role("button", name="Choose emoji of answer 1").click()
        await page.get_by_role("searchbox", name="Search emoji").fill("snowboarder")
        await page.get_by_role("dialog", name="Emoji").get_by_role("option").first.click()
        await dialog.get_by_role("button", name="Remove emoji of answer 1").wait_for()
        await dialog.get_by_label("Duration").select_option("3 days")
        await dialog.get_by_role("checkbox", name="Allow several answers").check()
        await dialog.get_by_role("button", name="Create poll").click()
        await dialog.wait_for(state="detached")

        poll = tom_window.page.get_by_role("group", name="Poll: Where do we sail?")
        await poll.get_by_text("Select one or more answers.").wait_for()
        await poll.get_by_role("button", name="North").click()
        await expect(
            page.get_by_role("group", name="Poll: Where do we sail?").get_by_text("1 vote").first
        ).to_be_visible()
        [message] = (await nora.get(f"/channels/{guild.general}/messages?limit=1")).ok()
        assert message["poll"]["answers"][0]["poll_media"]["emoji"] == {"id": None, "name": "🏂"}
        assert len(message["poll"]["answers"]) == 2


async def test_stickers_are_sent_and_those_of_other_guilds_need_the_permission(platform: ChatPlatform) -> None:
    expect = pytest.importorskip("playwright.async_api").expect
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild, other_guild = await platform.world.guild(tom, nora), await platform.world.guild(nora, name="Harbour")
    for owner, sticker_guild, name in ((tom, guild, "Lighthouse"), (nora, other_guild, "Anchor")):
        await add_sticker(owner, sticker_guild, name)
    everyone = (await tom.get(f"/guilds/{guild.id}/roles")).ok()[0]
    permissions = int(everyone["permissions"]) & ~Permissions.USE_EXTERNAL_STICKERS
    (await tom.patch(f"/guilds/{guild.id}/roles/{everyone['id']}", json={"permissions": str(permissions)})).ok()
    async with (
        platform.open_window(nora, general_path(guild)) as window,
        platform.open_window(tom, general_path(guild)) as tom_window,
    ):
        page = window.page
        await page.get_by_role("button", name="Stickers").press("Enter")
        picker = page.get_by_role("dialog", name="Stickers")
        await expect(picker.get_by_role("searchbox", name="Search stickers")).to_be_focused()
        await expect(picker.get_by_role("button", name="Anchor")).to_be_disabled()
        await picker.get_by_text("You do not have permission to use stickers of other guilds").wait_for()
        await page.keyboard.press("ArrowDown")
        await expect(picker.get_by_role("button", name="Lighthouse")).to_be_focused()
        await page.keyboard.press("Enter")
        await tom_window.page.get_by_role("img", name="Sticker: Lighthouse").wait_for()
        await expect(window.composer).to_be_focused()

        await window.open(general_path(other_guild))
        await page.get_by_role("button", name="Stickers").click()
        await picker.get_by_role("searchbox", name="Search stickers").fill("light")
        await picker.get_by_role("button", name="Lighthouse").click()
        await page.get_by_role("img", name="Sticker: Lighthouse").wait_for()


async def test_text_is_formatted_with_buttons_and_shortcuts(platform: ChatPlatform) -> None:
    expect = pytest.importorskip("playwright.async_api").expect
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    async with (
        platform.open_window(nora, general_path(guild)) as window,
        platform.open_window(tom, general_path(guild)) as tom_window,
    ):
        page, field = window.page, window.composer
        await field.focus()
        bar = page.get_by_role("toolbar", name="Formatting")
        await expect(bar.get_by_role("button", name="Bold")).to_be_visible()
        field_top = (await field.bounding_box())["y"]

        async def format_with(button: str, text: str = "sail") -> str:
            await field.fill(text)
            await field.press("Control+a")
            await bar.get_by_role("button", name=button, exact=True).click()
            return str(await field.input_value())

        assert [await format_with(name) for name in ("Bold", "Italic", "Strikethrough", "Code", "Spoiler")] == [
            "**sail**",
            "*sail*",
            "~~sail~~",
            "`sail`",
            "||sail||",
        ]
        assert await format_with("Code block") == "```\nsail\n```"
        assert await format_with("Quote", "a\nb") == "> a\n> b"
        assert await format_with("List", "a\nb") == "- a\n- b"
        assert await format_with("Link") == "[sail](https://)"
        await page.keyboard.type("https://a.example")
        await expect(field).to_have_value("[sail](https://a.example)")
        assert (await field.bounding_box())["y"] == field_top

        await field.fill("ahoy")
        await field.press("Control+a")
        await field.press("Control+b")
        await field.press("Control+i")
        await expect(field).to_have_value("***ahoy***")
        await field.press("Control+i")
        await expect(field).to_have_value("**ahoy**")
        await field.press("Control+b")
        await expect(field).to_have_value("ahoy")
        await field.press("Control+Shift+X")
        await field.press("Control+z")
        await expect(field).to_have_value("ahoy")
        await field.press("Control+b")
        await field.press("Enter")
        await (await tom_window.wait_message("ahoy")).locator("strong", has_text="ahoy").last.wait_for()

        # One button is in the tab order; the arrow keys lead to the others.
        await bar.get_by_role("button", name="Bold").focus()
        await page.keyboard.press("ArrowRight")
        await expect(bar.get_by_role("button", name="Italic")).to_be_focused()

        (await nora.patch("/users/@me/settings", json={"formatting_toolbar": False})).ok()
        await window.open(general_path(guild))
        await field.focus()
        await field.press("Control+b")
        await expect(field).to_have_value("****")
        await expect(bar).to_be_hidden()


async def test_a_voice_message_is_recorded_played_and_sent(platform: ChatPlatform) -> None:
    expect = pytest.importorskip("playwright.async_api").expect
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    async with (
        platform.open_window(nora, general_path(guild)) as window,
        platform.open_window(tom, general_path(guild)) as tom_window,
    ):
        page = window.page
        add_button = page.get_by_role("button", name="Add to message")
        recorder = page.get_by_role("group", name="Voice message")

        async def record() -> None:
            await add_button.click()
            await page.get_by_role("menuitem", name="Record a voice message").click()
            await expect(recorder.get_by_role("button", name="Stop")).to_be_focused()
            await expect(recorder.get_by_role("timer")).to_have_text("0:02")

        await record()
        await page.keyboard.press("Escape")
        await expect(recorder).to_be_hidden()
        await expect(window.composer).to_be_focused()

        await record()
        await page.keyboard.press("Enter")
        await expect(recorder.get_by_role("button", name="Send voice message")).to_be_focused()
        await recorder.get_by_role("button", name="Play voice message").click()
        await recorder.get_by_role("button", name="Pause voice message").click()
        await recorder.get_by_role("button", name="Send voice message").click()

        player = tom_window.page.locator(".message .voice-message")
        await player.get_by_role("slider", name="Position in the voice message").wait_for()
        [message] = (await tom.get(f"/channels/{guild.general}/messages?limit=1")).ok()
        assert message["flags"] & MessageFlags.IS_VOICE_MESSAGE
        [attachment] = message["attachments"]
        assert attachment["content_type"].startswith("audio/")
        assert attachment["duration_secs"] >= 2
        # The fake microphone beeps.
        assert len(set(base64.b64decode(attachment["waveform"]))) > 1
        await player.get_by_role("button", name="Play voice message").click()
        await tom_window.wait_until("() => document.querySelector('.message .voice-bars i.played') !== null")


@pytest.mark.parametrize(("width", "scheme"), [(PHONE_WIDTH, "dark"), (DESKTOP_WIDTH, "light")])
async def test_the_parts_of_the_composer_are_accessible(platform: ChatPlatform, width: int, scheme: str) -> None:
    nora = await platform.world.user("nora")
    guild = await platform.world.guild(nora)
    await add_sticker(nora, guild, "Lighthouse")
    problems: list[str] = []
    async with platform.open_window(nora, general_path(guild), width=width, scheme=scheme) as window:
        page = window.page

        async def check_accessibility(name: str) -> None:
            problems.extend(f"{name}: {problem}" for problem in await accessibility_problems(window))

        await page.set_input_files("input[type=file]", image_files("one.png", "two.png"))
        await page.get_by_role("textbox", name="Alt text of two.png").wait_for()
        await window.composer.fill("text")
        await window.composer.press("Control+a")
        await page.get_by_role("toolbar", name="Formatting").wait_for()
        await check_accessibility("files and formatting")
        await page.get_by_role("button", name="Stickers").click()
        await page.get_by_role("button", name="Lighthouse").wait_for()
        await check_accessibility("stickers")
        await page.keyboard.press("Escape")
        await page.get_by_role("button", name="Add to message").click()
        await page.get_by_role("menuitem", name="Create a poll").click()
        await page.get_by_role("button", name="Create poll").click()
        await page.get_by_text("Enter a question.").wait_for()
        await check_accessibility("poll")
        await page.keyboard.press("Escape")
        await page.get_by_role("button", name="Add to message").click()
        await page.get_by_role("menuitem", name="Record a voice message").click()
        await page.get_by_role("button", name="Stop").click()
        await page.get_by_role("button", name="Send voice message").wait_for()
        await check_accessibility("voice message")
        assert await page.evaluate("document.documentElement.scrollWidth") == width
    assert problems == []

"""The chat client in a real browser: reading position, threads, edits, reactions, forwarding, images, moderation and code."""

import re
from datetime import UTC, datetime
from typing import Any

import pytest

from hubbub.protocol.enums import ChannelType
from tests.media import png
from tests.server.talk.uploads import send_files
from tests.third_party_files import needs_highlighter
from tests.web.chat import ChatPlatform, general_path
from tests.world import NOW_MS


@pytest.mark.parametrize("width", [1440, 390])
async def test_a_reopened_channel_shows_its_newest_message_and_scrolls_to_new_ones(
    platform: ChatPlatform, width: int
) -> None:
    expect = pytest.importorskip("playwright.async_api").expect
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    other_channel_id = await guild.channel("other")
    for number in range(40):
        await guild.send_message(tom, f"number {number:02}")
    await guild.send_message(tom, "elsewhere", channel_id=other_channel_id)
    async with platform.open_window(nora, general_path(guild), width=width) as window:
        page = window.page
        await expect(window.message("number 39")).to_be_in_viewport()
        for _ in range(2):
            await page.evaluate(
                "path => history.pushState(null, '', path)", f"/app/channels/{guild.id}/{other_channel_id}"
            )
            await page.evaluate("() => dispatchEvent(new PopStateEvent('popstate'))")
            await expect(window.message("elsewhere")).to_be_in_viewport()
            await page.go_back()
            await expect(window.message("number 39")).to_be_in_viewport(ratio=1)
        await guild.send_message(tom, "a new message")
        await expect(window.message("a new message")).to_be_in_viewport(ratio=1)
        await expect(page.get_by_role("button", name="Newest messages")).to_be_hidden()


async def test_a_thread_opens_beside_its_channel_with_the_message_that_started_it(platform: ChatPlatform) -> None:
    expect = pytest.importorskip("playwright.async_api").expect
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    starter = await guild.send_message(tom, "Do we sail?")
    path = f"/channels/{guild.general}/messages/{starter['id']}/threads"
    thread = (await nora.request("POST", path, json={"name": "Sailing"})).ok()
    await guild.send_message(nora, "On Sunday", channel_id=thread["id"])
    async with platform.open_window(nora, general_path(guild), width=1440) as window:
        page = window.page
        await (await window.wait_message("Do we sail?")).get_by_role("link", name="Sailing").click()
        pane = page.get_by_role("complementary", name="Thread")
        await expect(pane.get_by_role("listitem").filter(has_text="tom").filter(has_text="Do we sail?")).to_be_visible()
        await expect(page.get_by_role("textbox", name="Message #general")).to_be_visible()
        await page.wait_for_url(f"**/{thread['id']}")
        field = pane.get_by_role("textbox", name="Message #Sailing")
        await expect(field).to_be_focused()
        await field.fill("With pleasure")
        await field.press("Enter")
        await expect(pane.get_by_role("listitem").filter(has_text="With pleasure")).to_be_visible()
        # The browser's back button, the close button and Escape close the pane.
        await page.go_back()
        await expect(pane).to_be_hidden()
        await page.go_forward()
        await pane.get_by_role("button", name="Close thread").click()
        await page.wait_for_url(f"**{general_path(guild)}")
        link = page.get_by_role("main").get_by_role("link", name="Sailing")
        await expect(link).to_be_focused()
        await link.press("Enter")
        await expect(field).to_be_focused()
        await field.press("Escape")
        await expect(link).to_be_focused()
        # The list of threads opens the pane too.
        await page.get_by_role("button", name="Threads").click()
        await page.get_by_role("dialog", name="Threads").get_by_role("link", name="Sailing").click()
        await expect(field).to_be_focused()
        await pane.get_by_role("link", name="Show in the channel").click()
        await expect(page.get_by_role("main").locator(".message.marked")).to_contain_text("Do we sail?")
    async with platform.open_window(tom, f"/app/channels/{guild.id}/{thread['id']}", width=390) as window:
        await expect(window.message("Do we sail?")).to_be_visible()
        await expect(window.page.get_by_role("complementary", name="Thread")).to_be_hidden()
        (await nora.request("DELETE", f"/channels/{guild.general}/messages/{starter['id']}")).ok()
        await window.open(f"/app/channels/{guild.id}/{thread['id']}")
        await expect(window.page.get_by_text("The message that started this thread was deleted.")).to_be_visible()


async def test_a_message_is_edited_with_names_in_place_of_ids(platform: ChatPlatform) -> None:
    expect = pytest.importorskip("playwright.async_api").expect
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    role = (await nora.request("POST", f"/guilds/{guild.id}/roles", json={"name": "Sailors"})).ok()
    content = f"<@{tom.id}> and <@&{role['id']}> meet in <#{guild.general}> <:boat:123>"
    sent_message = await guild.send_message(nora, content)
    # A name that is also plain text stays an ID, because it could not be converted back.
    await guild.send_message(nora, f"@tom is <@{tom.id}>")
    async with platform.open_window(nora, general_path(guild)) as window:
        # The custom emoji has no image.
        window.expected_errors = ("Failed to load resource",)
        page = window.page
        row = await window.wait_message("and @Sailors")
        await row.focus()
        await row.press("e")
        field = page.get_by_role("textbox", name="Edit message")
        await expect(field).to_have_value("@tom and @Sailors meet in #general :boat:")
        await field.press("End")
        await field.press_sequentially(" with @tommy")
        await field.press("Enter")
        await expect(window.message("with @tommy")).to_contain_text("(edited)")
        await row.press("e")
        # The line below the field names the keys of its buttons.
        await expect(page.locator(".edit-form")).to_have_text("Save (Enter) · Cancel (Escape)")
        await field.press("Escape")
        await window.composer.press("ArrowUp")
        await expect(field).to_have_value(f"@tom is <@{tom.id}>")
    stored_message = (await nora.request("GET", f"/channels/{guild.general}/messages/{sent_message['id']}")).ok()
    assert stored_message["content"] == f"{content} with @tommy"


@pytest.mark.parametrize("width", [1440, 390])
async def test_the_users_of_each_reaction_are_listed(platform: ChatPlatform, width: int) -> None:
    expect = pytest.importorskip("playwright.async_api").expect
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    message = await guild.send_message(tom, "Ready to sail?")
    path = f"/channels/{guild.general}/messages/{message['id']}/reactions"
    for user, emoji in ((tom, "👍"), (nora, "👍"), (tom, "⛵")):
        (await user.request("PUT", f"{path}/{emoji}/@me")).ok()
    async with platform.open_window(nora, general_path(guild), width=width) as window:
        page = window.page
        row = await window.wait_message("Ready to sail?")
        reaction_button = row.get_by_role("button", name="⛵, 1")
        await reaction_button.click(button="right")
        dialog = page.get_by_role("dialog", name="Reactions")
        await expect(dialog.get_by_role("tab", name="⛵ 1")).to_have_attribute("aria-selected", "true")
        await expect(dialog.get_by_role("listitem")).to_contain_text(["tom"])
        await dialog.get_by_role("tab", name="👍 2").click()
        await expect(
            dialog.get_by_role("list", name="Users who reacted with 👍").get_by_role("listitem")
        ).to_have_count(2)
        await page.keyboard.press("Escape")
        await expect(dialog).to_be_hidden()
        # The keyboard opens the list with the context menu key on a reaction, and with the menu of the message.
        await reaction_button.focus()
        await reaction_button.press("Shift+F10")
        await expect(dialog).to_be_visible()
        await page.keyboard.press("Escape")
        await expect(reaction_button).to_be_focused()
        await row.focus()
        await row.press("m")
        await page.get_by_role("menuitem", name="Show reactions").press("Enter")
        await expect(dialog.get_by_role("tab", name="👍 2")).to_be_visible()


@pytest.mark.parametrize("width", [1440, 390])
async def test_a_message_is_forwarded_with_a_comment(platform: ChatPlatform, width: int) -> None:
    expect = pytest.importorskip("playwright.async_api").expect
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    harbor_channel_id = await guild.channel("harbor")
    await guild.channel("quay")
    role_id = await guild.role("Crew")
    await guild.send_message(tom, f"The boat is **ready** in <#{harbor_channel_id}> for <@&{role_id}>")
    async with (
        platform.open_window(nora, general_path(guild), width=width) as window,
        platform.open_window(tom, f"/app/channels/{guild.id}/{harbor_channel_id}") as tom_window,
    ):
        page = window.page
        row = await window.wait_message("The boat is ready")
        await row.focus()
        await row.press("m")
        await page.get_by_role("menuitem", name="Forward").click()
        dialog = page.get_by_role("dialog", name="Forward message")
        await expect(dialog.locator("blockquote")).to_have_text("The boat is ready in #harbor for @Crew")
        submit_button = dialog.get_by_role("button", name="Forward")
        await expect(submit_button).to_be_disabled()
        await dialog.get_by_label("Forward to", exact=True).and_(dialog.get_by_role("searchbox")).fill("nothing here")
        await expect(dialog.get_by_text("No channel or conversation matches.")).to_be_visible()
        await dialog.get_by_role("searchbox").fill("harb")
        await expect(dialog.get_by_role("checkbox")).to_have_count(1)
        await dialog.get_by_label("harbor").check()
        await dialog.get_by_label("Comment (optional)").fill("See this")
        await submit_button.click()
        await expect(dialog).to_be_hidden()
        await expect(page.get_by_text("Message forwarded.")).to_be_visible()
        forwarded_row = tom_window.message("The boat is ready")
        await expect(forwarded_row).to_contain_text("Forwarded from #general")
        await expect(tom_window.message("See this")).to_be_visible()
        await forwarded_row.get_by_role("link", name="Forwarded from #general").click()
        await tom_window.page.wait_for_url("**/channels/*/*/*")
        await expect(tom_window.page.locator(".message.marked")).to_contain_text("The boat is ready")


async def test_a_message_is_forwarded_to_at_most_five_targets_even_after_a_search(platform: ChatPlatform) -> None:
    expect = pytest.importorskip("playwright.async_api").expect
    nora = await platform.world.user("nora")
    guild = await platform.world.guild(nora)
    channel_names = [f"pier-{number}" for number in range(6)]
    for name in channel_names:
        await guild.channel(name)
    await guild.send_message(nora, "The boat is ready")
    async with platform.open_window(nora, general_path(guild)) as window:
        row = await window.wait_message("The boat is ready")
        await row.focus()
        await row.press("m")
        await window.page.get_by_role("menuitem", name="Forward").click()
        dialog = window.page.get_by_role("dialog", name="Forward message")
        *chosen_names, other_name = channel_names
        for name in chosen_names:
            await dialog.get_by_label(name).check()
        await expect(dialog.get_by_label(other_name)).to_be_disabled()
        await dialog.get_by_role("searchbox").fill(other_name)
        await expect(dialog.get_by_label(other_name)).to_be_disabled()
        await dialog.get_by_label(chosen_names[0]).uncheck()
        await expect(dialog.get_by_label(other_name)).to_be_enabled()


@pytest.mark.parametrize("width", [1440, 390])
async def test_images_open_in_the_page_with_zoom_and_the_next_image(platform: ChatPlatform, width: int) -> None:
    expect = pytest.importorskip("playwright.async_api").expect
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    attachments: list[dict[str, Any]] = [
        {"id": 0, "filename": "boat.png", "description": "A red boat"},
        {"id": 1, "filename": "SPOILER_end.png"},
        {"id": 2, "filename": "quay.png"},
    ]
    body: dict[str, Any] = {
        "content": "Pictures",
        "attachments": attachments,
        "embeds": [{"title": "Harbor", "image": {"url": "attachment://quay.png"}}],
    }
    files = [(attachment["filename"], png(600, 400)) for attachment in attachments]
    (await send_files(tom, f"/channels/{guild.general}/messages", *files, **body)).ok()
    async with platform.open_window(nora, general_path(guild), width=width) as window:
        page = window.page
        row = await window.wait_message("Pictures")
        picture = row.get_by_role("link", name="Image: A red boat")
        await picture.click()
        viewer = page.get_by_role("dialog", name="Image viewer")
        await expect(viewer.get_by_role("img", name="A red boat")).to_be_visible()
        # The spoiler is not revealed by the viewer.
        await expect(viewer.get_by_role("status")).to_have_text("1 of 2")
        await viewer.get_by_role("button", name="Zoom in").click()
        await expect(viewer.locator(".viewer-stage")).to_contain_class("zoomed")
        await page.keyboard.press("0")
        await expect(viewer.get_by_role("button", name="Zoom out")).to_be_disabled()
        await page.keyboard.press("ArrowRight")
        await expect(viewer.get_by_role("img", name="quay.png")).to_be_visible()
        await viewer.get_by_role("button", name="Next image").click()
        await expect(viewer.get_by_role("status")).to_have_text("1 of 2")
        async with page.expect_download() as download:
            await viewer.get_by_role("link", name="Download").click()
        assert (await download.value).suggested_filename == "boat.png"
        original = viewer.get_by_role("link", name="Open original")
        await expect(original).to_have_attribute("href", re.compile(r"^/cdn/attachments/.*/boat\.png"))
        await page.keyboard.press("Escape")
        await expect(viewer).to_be_hidden()
        await expect(picture).to_be_focused()
        await row.get_by_role("button", name="Spoiler: press to reveal").click()
        await expect(viewer).to_be_hidden()
        await row.get_by_role("link", name="Image: SPOILER_end.png").click()
        await expect(viewer.get_by_role("status")).to_have_text("2 of 3")


@pytest.mark.parametrize("width", [1440, 390])
async def test_a_timeout_and_slow_mode_are_explained_with_a_countdown(platform: ChatPlatform, width: int) -> None:
    expect = pytest.importorskip("playwright.async_api").expect
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    async with platform.open_window(tom, "/app", width=width) as window:
        page = window.page
        # The page follows the server's clock, which is stopped. The clock of this device is a day behind.
        device_time = NOW_MS / 1000 - 86_400
        await page.clock.set_fixed_time(device_time)
        await window.open(general_path(guild))
        (await nora.patch(f"/channels/{guild.general}", json={"rate_limit_per_user": 30})).ok()
        await expect(page.get_by_text("Slow mode: one message every 0:30.")).to_be_visible()
        await window.send("first")
        await window.wait_message("first")
        await expect(page.get_by_text("Slow mode: you can send a message in 0:")).to_be_visible()
        await expect(page.get_by_role("button", name="Send", exact=True)).to_be_disabled()
        await window.send("second")
        await expect(window.composer).to_have_value("second")
        await window.open(general_path(guild))
        await expect(page.get_by_role("button", name="Send", exact=True)).to_be_disabled()
        platform.world.clock.advance(31_000)
        await page.clock.set_fixed_time(device_time + 31)
        await expect(page.get_by_role("button", name="Send", exact=True)).to_be_enabled()
        await window.composer.fill("second")
        # The typing indicator may arrive after the timeout begins.
        window.expected_errors = ("status of 403",)

        end = datetime.fromtimestamp(NOW_MS / 1000 + 3_600, UTC).isoformat()
        path = f"/guilds/{guild.id}/members/{tom.id}"
        (await nora.patch(path, json={"communication_disabled_until": end})).ok()
        notice = page.get_by_text("A moderator timed you out until")
        await expect(notice).to_contain_text(re.compile(r"\(5\d:\d\d left\)"))
        await expect(window.composer).to_be_hidden()
        platform.world.clock.advance(3_600_000)
        await page.clock.set_fixed_time(device_time + 31 + 3_600)
        await expect(notice).to_be_hidden()
        await expect(window.composer).to_have_value("second")


@pytest.mark.parametrize(("action", "width"), [("kick", 1440), ("ban", 390)])
async def test_a_removed_member_sees_a_notice(platform: ChatPlatform, action: str, width: int) -> None:
    expect = pytest.importorskip("playwright.async_api").expect
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    async with platform.open_window(tom, general_path(guild), width=width) as window:
        window.expected_errors = ("Failed to load resource",)
        await window.composer.wait_for()
        if action == "kick":
            (await nora.delete(f"/guilds/{guild.id}/members/{tom.id}")).ok()
        else:
            (await nora.put(f"/guilds/{guild.id}/bans/{tom.id}", json={})).ok()
        await expect(window.page.get_by_text("You are no longer a member of Guild.")).to_be_visible()
        await window.page.get_by_role("main").get_by_role("link", name="Friends and conversations").click()
        await window.page.wait_for_url("**/app")


@pytest.mark.parametrize("width", [1440, 390])
async def test_several_messages_are_selected_and_deleted(platform: ChatPlatform, width: int) -> None:
    expect = pytest.importorskip("playwright.async_api").expect
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    for number in range(6):
        await guild.send_message(tom if number % 2 else nora, f"number {number}")
    async with (
        platform.open_window(nora, general_path(guild), width=width) as window,
        platform.open_window(tom, general_path(guild)) as tom_window,
    ):
        page = window.page
        row = await window.wait_message("number 1")
        await row.focus()
        await row.press("m")
        await page.get_by_role("menuitem", name="Select messages").press("Enter")
        bar = page.get_by_role("toolbar", name="Selected messages")
        await expect(bar).to_contain_text("1 message selected")
        await window.message("number 4").click(modifiers=["Shift"], position={"x": 5, "y": 5})
        await expect(bar).to_contain_text("4 messages selected")
        await window.message("number 3").get_by_role("checkbox", name="Select message").click()
        await expect(bar).to_contain_text("3 messages selected")
        await window.message("number 4").focus()
        await page.keyboard.press("Space")
        await expect(bar).to_contain_text("2 messages selected")
        await bar.get_by_role("button", name="Delete").click()
        await page.get_by_role("dialog", name="Delete 2 messages?").get_by_role("button", name="Delete").click()
        await expect(bar).to_be_hidden()
        for shown_window in (window, tom_window):
            contents = shown_window.page.locator(".message .content")
            await expect(contents).to_have_text(["number 0", "number 3", "number 4", "number 5"])
        # A member without the permission selects only own messages, which are deleted one by one.
        await tom_window.message("number 3").click(modifiers=["Shift"], position={"x": 5, "y": 5})
        await expect(tom_window.message("number 4").get_by_role("checkbox")).to_have_count(0)
        await tom_window.message("number 5").click(modifiers=["Shift"], position={"x": 5, "y": 5})
        tom_bar = tom_window.page.get_by_role("toolbar", name="Selected messages")
        await expect(tom_bar).to_contain_text("2 messages selected")
        await tom_bar.get_by_role("button", name="Delete").click()
        await tom_window.page.get_by_role("dialog").get_by_role("button", name="Delete").click()
        await expect(page.locator(".message .content")).to_have_text(["number 0", "number 4"])
        await window.message("number 0").click(modifiers=["Shift"], position={"x": 5, "y": 5})
        await expect(bar).to_contain_text("1 message selected")
        await window.message("number 0").focus()
        await page.keyboard.press("Escape")
        await expect(bar).to_be_hidden()
        await expect(window.composer).to_be_focused()


async def test_a_range_without_its_start_selects_one_message(platform: ChatPlatform) -> None:
    expect = pytest.importorskip("playwright.async_api").expect
    nora = await platform.world.user("nora")
    guild = await platform.world.guild(nora)
    messages = [await guild.send_message(nora, f"number {number}") for number in range(4)]
    async with platform.open_window(nora, general_path(guild)) as window:
        await (await window.wait_message("number 1")).click(modifiers=["Shift"], position={"x": 5, "y": 5})
        bar = window.page.get_by_role("toolbar", name="Selected messages")
        await expect(bar).to_contain_text("1 message selected")
        (await nora.request("DELETE", f"/channels/{guild.general}/messages/{messages[1]['id']}")).ok()
        await expect(bar).to_contain_text("0 messages selected")
        await window.message("number 3").click(modifiers=["Shift"], position={"x": 5, "y": 5})
        await expect(bar).to_contain_text("1 message selected")
        await expect(window.message("number 3").get_by_role("checkbox")).to_be_checked()


async def test_members_and_categories_have_context_menus(platform: ChatPlatform) -> None:
    expect = pytest.importorskip("playwright.async_api").expect
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    category_id = await guild.channel("docks", type=ChannelType.GUILD_CATEGORY)
    await guild.send_message(tom, "Ahoy")
    async with (
        platform.open_window(nora, general_path(guild), width=1440) as window,
        platform.open_window(tom, general_path(guild), width=1440) as tom_window,
    ):
        # A request of the removed member that was under way is rejected.
        tom_window.expected_errors = ("Failed to load resource",)
        page, menu = window.page, window.page.get_by_role("menu", name="tom")
        member_button = page.locator("hubbub-members").get_by_role("button", name="tom")
        await member_button.focus()
        await member_button.press("Shift+F10")
        await expect(menu.get_by_role("menuitem")).to_have_text(
            [
                "Show profile",
                "Send message",
                "Add friend",
                "Block",
                "Nickname and roles",
                "Time out",
                "Kick",
                "Ban",
                "Report user",
            ]
        )
        await page.keyboard.press("Escape")
        await expect(member_button).to_be_focused()
        row = await window.wait_message("Ahoy")
        await row.locator(".author-name").click(button="right")
        await menu.get_by_role("menuitem", name="Kick").click()
        await page.get_by_role("dialog", name="Kick tom?").get_by_role("button", name="Kick").click()
        await expect(tom_window.page.get_by_text("You are no longer a member of Guild.")).to_be_visible()

        await page.get_by_role("button", name="docks").click(button="right")
        await page.get_by_role("menuitem", name="Rename").click()
        await page.get_by_role("dialog", name="Rename").get_by_label("Name").fill("piers")
        await page.get_by_role("dialog", name="Rename").get_by_role("button", name="Save").click()
        await page.get_by_role("button", name="piers").click(button="right")
        await page.get_by_role("menuitem", name="Delete").click()
        await page.get_by_role("dialog", name="Delete the category piers?").get_by_role("button", name="Delete").click()
        await expect(page.get_by_role("button", name="piers")).to_have_count(0)
        await page.wait_for_url(f"**{general_path(guild)}")
    (await nora.get(f"/channels/{category_id}")).rejected(404, 10003)


@needs_highlighter
async def test_code_with_a_language_has_colors_and_keeps_its_text(platform: ChatPlatform) -> None:
    expect = pytest.importorskip("playwright.async_api").expect
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    code = 'def sail(boat: str) -> None:\n    # <b>away</b>\n    print(f"go {boat}", 3)'
    page_code = '<script>const a = "</b>";</script>'
    await guild.send_message(tom, "plain")
    async with platform.open_window(nora, general_path(guild)) as window:
        requests: list[str] = []
        window.page.on("request", lambda request: requests.append(request.url))
        await guild.send_message(tom, f"```\n{code}\n```")
        await guild.send_message(tom, f"```nolanguage\n{code}\n``` unknown")
        unknown_message = await window.wait_message("unknown")
        await expect(unknown_message.locator("pre code > *")).to_have_count(0)
        await guild.send_message(tom, f"```python\n{code}\n``` colored")
        python_code = (await window.wait_message("colored")).locator("pre code")
        await expect(python_code.locator(".code-keyword").first).to_have_text("def")
        await expect(python_code.locator(".code-comment")).to_have_text("# <b>away</b>")
        await expect(python_code).to_have_text(code)
        await expect(python_code.locator("b")).to_have_count(0)
        await guild.send_message(tom, f"```html\n{page_code}\n``` nested")
        html_code = (await window.wait_message("nested")).locator("pre code")
        await expect(html_code.locator(".code-string")).to_have_text('"</b>"')
        await expect(html_code).to_have_text(page_code)
        assert sum(url.endswith("/third_party/highlight.js") for url in requests) == 1


async def test_a_message_that_arrives_while_the_history_loads_is_shown(platform: ChatPlatform) -> None:
    playwright = pytest.importorskip("playwright.async_api")
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    await guild.send_message(tom, "before")
    async with platform.open_window(nora, "/app") as window:
        page = window.page

        async def respond_late(route: Any) -> None:
            response = await route.fetch()
            await guild.send_message(tom, f"<@{nora.id}> meanwhile")
            await playwright.expect(page).to_have_title(re.compile(r"^\(1\)"))
            await route.fulfill(response=response)

        await page.route(re.compile(r"/messages\?limit="), respond_late, times=1)
        await page.get_by_role("navigation", name="Guilds").get_by_role("link", name="Guild").click()
        await playwright.expect(window.message("before")).to_be_visible()
        await playwright.expect(window.message("meanwhile")).to_be_visible()


async def test_a_menu_deletes_its_own_message_although_the_pointer_is_over_another(platform: ChatPlatform) -> None:
    expect = pytest.importorskip("playwright.async_api").expect
    nora = await platform.world.user("nora")
    guild = await platform.world.guild(nora)
    for content in ("first", "second"):
        await guild.send_message(nora, content)
    async with platform.open_window(nora, general_path(guild)) as window:
        page = window.page
        row = await window.wait_message("first")
        await row.hover()
        await row.get_by_role("button", name="More").click()
        item = page.get_by_role("menuitem", name="Delete")
        await item.wait_for()
        # A pointer that moves over another row shows the toolbar there.
        await window.message("second").first.dispatch_event("pointerover")
        await item.click()
        dialog = page.get_by_role("dialog", name="Delete this message?")
        await expect(dialog).to_contain_text("first")
        await dialog.get_by_role("button", name="Delete").click()
        await expect(window.message("first")).to_have_count(0)
        await expect(window.message("second")).to_have_count(1)

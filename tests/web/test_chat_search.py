"""Finding and moving in the chat client: search with filters, the quick switcher and keyboard shortcuts."""

from typing import Any

from hubbub.protocol.enums import ChannelType, OverwriteType
from hubbub.protocol.permissions import Permissions
from tests.server.talk.private_channels import open_dm, send_message
from tests.web.chat import ChatPlatform, ChatWindow, general_path
from tests.web.conftest import PHONE_WIDTH
from tests.world import befriend


def locate_results(window: ChatWindow) -> Any:
    """Return the locator of the search results."""
    return window.page.get_by_role("list", name="Results").get_by_role("listitem")


async def open_search(window: ChatWindow) -> Any:
    """Open the search pane and return its field."""
    await window.page.get_by_role("button", name="Search", exact=True).first.click()
    field = window.page.get_by_role("combobox", name="Search messages")
    await field.wait_for()
    return field


async def test_messages_are_found_with_typed_filters_and_opened_beside_the_results(platform: ChatPlatform) -> None:
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    harbor_channel_id = await guild.channel("harbor")
    await guild.send_message(nora, "The lantern is mine")
    target = await guild.send_message(
        tom, f"The lantern of <@{nora.id}>: https://a.example/lantern", channel_id=harbor_channel_id
    )
    for number in range(60):
        await guild.send_message(tom, f"number {number}", channel_id=harbor_channel_id)
    async with (
        platform.open_window(nora, general_path(guild)) as nora_window,
        platform.open_window(tom, f"/app/channels/{guild.id}/{harbor_channel_id}") as tom_window,
    ):
        page = nora_window.page
        field = await open_search(nora_window)
        await field.fill("lantern")
        await field.press("Enter")
        # The first search of a guild builds the index; the pane repeats the search until it is ready.
        await page.get_by_text("2 messages").wait_for()

        await field.fill(f"lantern from:tom in:harbor has:link mentions:nora after:2015 before:{await next_year(page)}")
        await field.press("Enter")
        await page.get_by_text("1 message", exact=True).wait_for()
        chips = page.get_by_role("list", name="Filters").get_by_role("listitem")
        assert await chips.count() == 6
        assert await field.input_value() == "lantern"
        await locate_results(nora_window).get_by_role("link", name="Jump to message of tom").click()
        await page.locator(".message.marked", has_text="The lantern of").wait_for()
        assert page.url.endswith(f"/{guild.id}/{harbor_channel_id}/{target['id']}")
        await page.locator("a.search-result-link[aria-current]").wait_for()

        # A message that another user sends now is found by the next search.
        await tom_window.send("A new lantern: https://a.example/new")
        await tom_window.wait_message("A new lantern")
        await page.get_by_role("button", name="Remove filter mentions: nora").click()
        await page.get_by_text("2 messages").wait_for()
        await page.get_by_label("Order of results").select_option("oldest")
        await nora_window.wait_until(
            "() => document.querySelector('.search-result')?.textContent.includes('The lantern of')"
        )
        await field.focus()
        await page.keyboard.press("Escape")
        await page.keyboard.press("Escape")
        await field.wait_for(state="hidden")


async def next_year(page: Any) -> int:
    """Return the year after the current one of the browser."""
    return int(await page.evaluate("new Date().getFullYear() + 1"))


async def test_filters_are_completed_by_keyboard_and_wrong_ones_explained(platform: ChatPlatform) -> None:
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    await guild.send_message(tom, "A pear")
    message = await guild.send_message(nora, "An apple")
    (await nora.put(f"/channels/{guild.general}/messages/pins/{message['id']}")).ok()
    async with platform.open_window(nora, general_path(guild)) as nora_window:
        page = nora_window.page
        field = await open_search(nora_window)
        await page.get_by_role("option", name="pinned:").wait_for()
        await field.press_sequentially("fr")
        await field.press("ArrowDown")
        await field.press("Enter")
        assert await field.input_value() == "from:"
        await field.press_sequentially("to")
        await page.get_by_role("option", name="tom").wait_for()
        await field.press("Enter")
        await page.get_by_role("button", name="Remove filter from: tom").wait_for()
        assert await field.input_value() == ""
        await page.keyboard.press("Escape")
        await field.press("Enter")
        await page.get_by_text("1 message", exact=True).wait_for()
        # The keyboard reaches the results and returns to the field.
        await field.press("ArrowDown")
        await field.press("Escape")
        await field.press("ArrowDown")
        assert await page.evaluate("document.activeElement.matches('.search-result-link')")
        await page.keyboard.press("ArrowUp")
        assert await page.evaluate("document.activeElement.getAttribute('role')") == "combobox"

        await field.press("Backspace")
        await page.get_by_role("button", name="Remove filter from: tom").wait_for(state="detached")
        await field.fill("pinned:true ")
        await field.press("Enter")
        await locate_results(nora_window).filter(has_text="An apple").wait_for()
        await field.fill("has:link ")
        await field.press("Enter")
        await page.get_by_text("Nothing matches all filters.").wait_for()
        await page.get_by_role("button", name="Remove all filters").click()
        for text, sentence in (
            ("from:ghost ", "No user is named “ghost” here."),
            ("in:nowhere ", "No channel that you can read is named “nowhere”."),
            ("before:soon ", "“soon” is not a date."),
            ("before:constructor ", "“constructor” is not a date."),
            ("pinned:constructor ", "Use “pinned:true” or “pinned:false”."),
            ("has:smell ", "“has:smell” is unknown."),
        ):
            await field.fill(text)
            await field.press("Enter")
            await page.get_by_role("alert").filter(has_text=sentence).wait_for()
        await field.fill("zebra")
        await field.press("Enter")
        await page.get_by_text("Check the spelling, or use fewer words.").wait_for()


async def test_direct_messages_are_searched_and_results_are_paginated(platform: ChatPlatform) -> None:
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    await befriend(nora, tom)
    channel_id = (await open_dm(nora, tom))["id"]
    for number in range(30):
        await send_message(tom, channel_id, f"shell {number}")
    await send_message(nora, channel_id, "my shell")
    async with (
        platform.open_window(nora, f"/app/channels/@me/{channel_id}") as nora_window,
        platform.open_window(tom, f"/app/channels/@me/{channel_id}", width=PHONE_WIDTH) as tom_window,
    ):
        page = nora_window.page
        field = await open_search(nora_window)
        await page.get_by_role("heading", name="Search in tom").wait_for()
        await field.fill("shell from:tom")
        await field.press("Enter")
        await page.get_by_text("30 messages").wait_for()
        await page.get_by_text("Page 1 of 2").wait_for()
        await page.get_by_role("button", name="Next").click()
        await page.get_by_text("Page 2 of 2").wait_for()
        assert await locate_results(nora_window).count() == 5
        await locate_results(nora_window).filter(has_text="shell 0").get_by_role("link", name="Jump to message").click()
        await page.locator(".message.marked", has_text="shell 0").wait_for()
        await page.get_by_role("link", name="Friends").click()
        await field.wait_for(state="hidden")

        # On a phone, the pane covers the view until a result is opened, and keeps its results.
        phone = tom_window.page
        field = await open_search(tom_window)
        await field.fill("my from:nora")
        await field.press("Enter")
        await phone.get_by_text("1 message", exact=True).wait_for()
        await locate_results(tom_window).get_by_role("link", name="Jump to message").click()
        await phone.locator(".message.marked", has_text="my shell").wait_for()
        await field.wait_for(state="hidden")
        await open_search(tom_window)
        assert await locate_results(tom_window).count() == 1


async def test_results_in_threads_replace_the_view_while_the_search_is_open(platform: ChatPlatform) -> None:
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    thread = (
        await tom.post(f"/channels/{guild.general}/threads", json={"name": "tides", "type": ChannelType.PUBLIC_THREAD})
    ).ok()
    await guild.send_message(tom, "The tide is high", channel_id=int(thread["id"]))
    async with platform.open_window(nora, general_path(guild)) as nora_window:
        page = nora_window.page
        field = await open_search(nora_window)
        await field.fill("tide in:tides")
        await field.press("Enter")
        await locate_results(nora_window).get_by_role("link", name="Jump to message").click()
        await page.locator(".view .message.marked", has_text="The tide is high").wait_for()
        await page.get_by_role("button", name="Close search").click()
        await page.locator(".thread-pane .message", has_text="The tide is high").wait_for()


async def test_errors_of_a_search_offer_to_try_again(platform: ChatPlatform) -> None:
    nora = await platform.world.user("nora")
    guild = await platform.world.guild(nora)
    await guild.send_message(nora, "A lantern")
    await platform.inject_fault(
        transport="http", effect="status", status=503, method="GET", route="/guilds/{guild_id}/messages/search", times=4
    )
    async with platform.open_window(nora, general_path(guild)) as nora_window:
        nora_window.expected_errors = ("503",)
        page = nora_window.page
        field = await open_search(nora_window)
        await field.fill("lantern")
        await field.press("Enter")
        await page.get_by_role("button", name="Try again").click()
        await page.get_by_text("1 message", exact=True).wait_for()


async def test_the_switcher_leads_to_channels_users_and_guilds_by_keyboard(platform: ChatPlatform) -> None:
    nora, tom, ida = [await platform.world.user(name) for name in ("nora", "tom", "ida")]
    guild = await platform.world.guild(nora, tom, name="Harbour Guild")
    other_guild = await platform.world.guild(tom, nora, ida, name="Mountain Guild")
    harbor_channel_id = await guild.channel("harbor-lights")
    await guild.channel("hall", type=ChannelType.GUILD_VOICE)
    secret_channel_id = await other_guild.channel("hidden-harbor")
    await other_guild.overwrite(
        secret_channel_id, other_guild.id, deny=Permissions.VIEW_CHANNEL, target_type=OverwriteType.ROLE
    )
    thread = (
        await tom.post(f"/channels/{guild.general}/threads", json={"name": "tides", "type": ChannelType.PUBLIC_THREAD})
    ).ok()
    async with (
        platform.open_window(nora, general_path(guild)) as nora_window,
        platform.open_window(tom, general_path(other_guild)) as tom_window,
    ):
        page = nora_window.page
        await tom_window.send(f"Look here <@{nora.id}>")
        await page.get_by_role("link", name="Mountain Guild, 1 mention").wait_for()

        async def type_query(query: str) -> Any:
            await page.keyboard.press("Control+k")
            await page.get_by_role("combobox", name="Channel, conversation, user or guild").fill(query)
            return page.get_by_role("listbox", name="Destinations").get_by_role("option")

        async def choose(query: str, first_option: str) -> None:
            options = await type_query(query)
            await options.first.filter(has_text=first_option).wait_for()
            await page.keyboard.press("Enter")
            await page.get_by_role("dialog").wait_for(state="detached")

        # The channel with the mention is the first proposal.
        await choose("", "general")
        await page.wait_for_url(f"**/{other_guild.id}/{other_guild.general}")
        await choose("hrlig", "harbor-lights")
        await page.wait_for_url(f"**/{guild.id}/{harbor_channel_id}")
        await choose("harbour gen", "general")
        await page.wait_for_url(f"**/{guild.id}/{guild.general}")
        await choose("#tide", "tides")
        await page.wait_for_url(f"**/{guild.id}/{thread['id']}")
        await choose("*mount", "Mountain Guild")
        await page.wait_for_url(f"**/{other_guild.id}/**")
        await choose("@ida", "ida")
        await page.get_by_placeholder("Message ida").or_(page.get_by_role("heading", name="ida")).first.wait_for()

        options = await type_query("!h")
        assert await options.all_inner_texts() == [(await options.first.inner_text())]
        await page.keyboard.press("Escape")
        options = await type_query("hidden")
        await page.get_by_text("Nothing has this name.").wait_for()
        assert await options.count() == 0
        await page.keyboard.press("Escape")
        # The arrow keys move through the proposals.
        await type_query("guild")
        await page.keyboard.press("ArrowDown")
        await page.locator("[role=option][aria-selected=true]").filter(has_text="Mountain Guild").wait_for()
        await page.keyboard.press("Enter")
        await page.wait_for_url(f"**/{other_guild.id}/**")


async def test_shortcuts_move_mark_as_read_and_are_listed(platform: ChatPlatform) -> None:
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom, name="Harbour Guild")
    other_guild = await platform.world.guild(nora, tom, name="Mountain Guild")
    first_channel_id, second_channel_id, third_channel_id = [
        await guild.channel(name) for name in ("a-first", "b-second", "c-third")
    ]
    async with (
        platform.open_window(nora, f"/app/channels/{guild.id}/{first_channel_id}") as nora_window,
        platform.open_window(tom, f"/app/channels/{guild.id}/{third_channel_id}") as tom_window,
    ):
        page, keyboard = nora_window.page, nora_window.page.keyboard
        await tom_window.send("unread here")
        await page.get_by_role("link", name="c-third unread").wait_for()
        await keyboard.press("Alt+Shift+ArrowDown")
        await page.wait_for_url(f"**/{guild.id}/{third_channel_id}")
        await keyboard.press("Alt+ArrowUp")
        await page.wait_for_url(f"**/{guild.id}/{second_channel_id}")
        await keyboard.press("Control+Alt+ArrowDown")
        await page.wait_for_url(f"**/{other_guild.id}/**")
        await keyboard.press("Control+Alt+ArrowUp")
        await page.wait_for_url(f"**/{guild.id}/{second_channel_id}")

        # Escape marks the channel in view as read, and Shift+Escape all channels of the guild.
        for number in range(30):
            await guild.send_message(tom, f"line {number}", channel_id=second_channel_id)
        message = await guild.send_message(tom, "the last", channel_id=second_channel_id)
        row = await nora_window.wait_message("line 10")
        await row.focus()
        await keyboard.press("u")
        await page.get_by_role("link", name="b-second unread").wait_for()
        await nora_window.composer.focus()
        await keyboard.press("Escape")
        await page.get_by_role("link", name="b-second unread").wait_for(state="detached")
        await nora_window.wait_message("the last")
        read_states = {entry["id"]: entry for entry in (await nora.get("/users/@me/read-states")).ok()["entries"]}
        assert read_states[str(second_channel_id)]["last_message_id"] == message["id"]
        await tom_window.send("unread again")
        await page.get_by_role("link", name="c-third unread").wait_for()
        await keyboard.press("Shift+Escape")
        await page.get_by_role("link", name="c-third unread").wait_for(state="detached")

        await keyboard.press("Control+/")
        dialog = page.get_by_role("dialog", name="Keyboard shortcuts")
        for label in ("Next unread channel", "Mark the guild as read", "Reply", "Add a reaction"):
            await dialog.get_by_text(label, exact=True).wait_for()
        await keyboard.press("Escape")
        await page.get_by_role("button", name="Account menu").click()
        await page.get_by_role("menuitem", name="Keyboard shortcuts").click()
        await dialog.wait_for()
        await keyboard.press("Escape")
        await keyboard.press("Control+Shift+f")
        await page.get_by_role("combobox", name="Search messages").wait_for()

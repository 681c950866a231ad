"""The chat client in a real browser: messages, files, lost connections, lost access, the token, phones and the keyboard."""

import asyncio
from typing import Any
from urllib.parse import parse_qs, urlsplit

from hubbub.protocol.enums import ChannelType, OverwriteType
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources.messages import CONTENT_MAX
from tests.server.talk.uploads import PNG
from tests.web.chat import ChatPlatform, general_path
from tests.web.conftest import PHONE_WIDTH


async def test_two_users_see_each_others_messages_and_changes_immediately(platform: ChatPlatform) -> None:
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    async with (
        platform.open_window(nora, general_path(guild)) as nora_window,
        platform.open_window(tom, general_path(guild)) as tom_window,
    ):
        await tom_window.composer.press_sequentially("Good")
        await nora_window.page.get_by_text("tom is typing…").wait_for()
        await tom_window.send("Good morning **Nora**")
        row = await nora_window.wait_message("Good morning")
        assert await row.locator("strong", has_text="Nora").count() == 1
        await nora_window.wait_until("() => !document.querySelector('.typing').textContent")
        # The pending message has become the real one.
        await tom_window.wait_message("Good morning")
        assert await tom_window.page.locator(".message.pending").count() == 0

        await row.hover()
        await row.get_by_role("button", name="Reply").click()
        await nora_window.send("And to you")
        reply = await tom_window.wait_message("And to you")
        await reply.locator(".reply-line", has_text="tom Good morning Nora").wait_for()
        assert "mentions-user" in await reply.get_attribute("class")

        await tom_window.composer.press("ArrowUp")
        edit = tom_window.page.get_by_role("textbox", name="Edit message")
        await edit.fill("Good evening")
        await edit.press("Enter")
        await (await nora_window.wait_message("Good evening")).get_by_text("(edited)").wait_for()

        await reply.hover()
        await reply.get_by_role("button", name="React").click()
        await tom_window.page.get_by_role("searchbox", name="Search emoji").fill("tada")
        await tom_window.page.get_by_role("option", name="tada").click()
        reaction = (await nora_window.wait_message("And to you")).locator(".reaction", has_text="🎉")
        await reaction.click()
        await reply.locator(".reaction", has_text="2").wait_for()

        evening_message = await tom_window.wait_message("Good evening")
        await evening_message.focus()
        await tom_window.page.keyboard.press("Delete")
        await tom_window.page.get_by_role("dialog").get_by_role("button", name="Delete").click()
        await nora_window.message("Good evening").wait_for(state="detached")
        await (
            (await nora_window.wait_message("And to you")).locator(".reply-line", has_text="deleted message").wait_for()
        )


async def test_files_are_chosen_dropped_pasted_and_sent(platform: ChatPlatform) -> None:
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    async with (
        platform.open_window(nora, general_path(guild)) as nora_window,
        platform.open_window(tom, general_path(guild)) as tom_window,
    ):
        await nora_window.page.set_input_files(
            "input[type=file]",
            [
                {"name": "cat.png", "mimeType": "image/png", "buffer": PNG},
                {"name": "notes.txt", "mimeType": "text/plain", "buffer": b"hello"},
            ],
        )
        new_file = "() => { const data = new DataTransfer(); data.items.add(new File(['x'], '%s.txt')); return data; }"
        data_transfer = await nora_window.page.evaluate_handle(new_file % "dropped")
        await nora_window.page.dispatch_event("hubbub-channel", "drop", {"dataTransfer": data_transfer})
        await nora_window.page.evaluate(
            """() => { const data = new DataTransfer(); data.items.add(new File(["y"], "pasted.txt"));
            document.querySelector("textarea.compose").dispatchEvent(
                new ClipboardEvent("paste", {clipboardData: data, bubbles: true, cancelable: true})); }"""
        )
        await nora_window.page.get_by_role("list", name="Files to send").get_by_text("pasted.txt").wait_for()
        await nora_window.page.get_by_role("button", name="Remove dropped.txt").click()
        await nora_window.send("Look")

        row = await tom_window.wait_message("Look")
        await row.locator("img[alt='cat.png']").wait_for()
        await tom_window.wait_until("() => document.querySelector(\"img[alt='cat.png']\").naturalWidth > 0")
        assert await row.locator(".file a").all_inner_texts() == ["notes.txt", "pasted.txt"]
        await nora_window.page.locator(".message.pending").wait_for(state="detached")


async def test_a_message_that_is_too_long_keeps_its_files(platform: ChatPlatform) -> None:
    nora = await platform.world.user("nora")
    guild = await platform.world.guild(nora)
    async with platform.open_window(nora, general_path(guild)) as window:
        await window.page.set_input_files(
            "input[type=file]", [{"name": "notes.txt", "mimeType": "text/plain", "buffer": b"hello"}]
        )
        files = window.page.get_by_role("list", name="Files to send").get_by_text("notes.txt")
        await files.wait_for()
        await window.composer.fill("x" * (CONTENT_MAX + 1))
        await window.composer.press("Enter")
        assert await files.count() == 1
        assert len(await window.composer.input_value()) == CONTENT_MAX + 1


HOSTILE_CONTENTS = [
    "<script>window.stolen = 1</script>",
    "<img src=x onerror='window.stolen = 1'>",
    "[click me](javascript:window.stolen=1)",
    'javascript:window.stolen=1 <javascript:window.stolen=1> https://example.com/"onmouseover="window.stolen=1',
    "data:text/html,<script>window.stolen=1</script>",
    "a" + "\u0301" * 800 + "\u202e gnirts \u2066\U0001f3f4\U000e0067",
    "**" * 900,
    "||" * 400 + "`" * 500,
]


async def test_hostile_message_content_is_shown_as_text(platform: ChatPlatform) -> None:
    name = "<b>x</b><script>window.stolen = 1</script>"
    nora, eve = await platform.world.user("nora"), await platform.world.user("eve")
    (await eve.patch("/users/@me", json={"global_name": name[:32]})).ok()
    guild = await platform.world.guild(nora, eve, name=name)
    await guild.channel("voices", type=ChannelType.GUILD_VOICE, topic=None)
    (await nora.patch(f"/channels/{guild.general}", json={"topic": name})).ok()
    for content in HOSTILE_CONTENTS:
        await guild.send_message(eve, content)
    embed = {"title": name, "url": "https://example.com/", "description": HOSTILE_CONTENTS[2], "footer": {"text": name}}
    last_message = await guild.send_message(eve, "the last", embeds=[embed])
    async with platform.open_window(nora, general_path(guild)) as nora_window:
        await nora_window.wait_message("the last")
        await nora_window.page.get_by_text("<b>x</b><script>window.stolen").first.wait_for()
        assert (
            await nora_window.page.evaluate(
                "document.querySelectorAll('.client script, .client b, .client img').length"
            )
            == 0
        )
        links = await nora_window.page.evaluate(
            "[...document.querySelectorAll('.client a')].map(link => link.protocol)"
        )
        assert set(links) <= {"http:", "https:"}
        external_links = nora_window.page.locator(".message a[href^='https://example.com']")
        assert set(await external_links.evaluate_all("links => links.map(link => link.rel)")) == {
            "noopener noreferrer nofollow"
        }
        assert await nora_window.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert await nora_window.page.evaluate("window.stolen") is None
        assert await nora_window.page.locator(f"#message-{last_message['id']} .embed").inner_text() != ""


async def test_a_lost_connection_is_reported_and_resumed_without_missed_messages(platform: ChatPlatform) -> None:
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    await guild.send_message(tom, "before")
    async with platform.open_window(nora, general_path(guild)) as nora_window:
        nora_window.expected_errors = ("WebSocket",)
        await nora_window.wait_message("before")
        # The connection is dropped and the next attempts are rejected; messages sent meanwhile arrive with the resume.
        await platform.inject_fault(transport="gateway", effect="close", code=4000, moment="identify", times=2)
        await platform.inject_fault(transport="gateway", effect="drop", user_id=str(nora.id))
        await nora_window.page.get_by_text("Connection lost.").wait_for()
        await guild.send_message(tom, "meanwhile")
        await nora_window.wait_message("meanwhile")
        await nora_window.page.get_by_text("Connection lost.").wait_for(state="hidden")

        # An invalid session is replaced by a new one, which reads the missed messages.
        await platform.inject_fault(transport="gateway", effect="invalid_session", user_id=str(nora.id))
        await guild.send_message(tom, "afterwards")
        await nora_window.wait_message("afterwards")
        await nora_window.send("still here")
        await nora_window.wait_message("still here")
        contents = await nora_window.page.locator(".message .content").all_inner_texts()
        assert contents == ["before", "meanwhile", "afterwards", "still here"]


async def test_a_page_that_slept_detects_its_dead_connection(platform: ChatPlatform) -> None:
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    is_dead: list[bool] = []  # The list has one entry per connection.

    def forward(client_socket: Any) -> None:
        """Forward the messages of a connection in both directions until it is dead."""
        server_socket, number = client_socket.connect_to_server(), len(is_dead)
        is_dead.append(False)
        server_socket.on_message(lambda message: None if is_dead[number] else client_socket.send(message))
        client_socket.on_message(lambda message: None if is_dead[number] else server_socket.send(message))

    async with platform.open_window(nora) as nora_window:
        await nora_window.page.route_web_socket("**/gateway?**", forward)
        await nora_window.open(general_path(guild))
        await nora_window.page.get_by_role("textbox", name="Message #general").wait_for()
        is_dead[0] = True
        await guild.send_message(tom, "while you slept")
        # The computer wakes up an hour later.
        await nora_window.page.evaluate("() => { const now = Date.now; Date.now = () => now() + 3_600_000; }")
        await nora_window.page.evaluate("window.dispatchEvent(new Event('focus'))")
        await nora_window.wait_message("while you slept")
        assert len(is_dead) >= 2


async def test_a_failed_message_shows_the_error_and_is_sent_once_on_retry(platform: ChatPlatform) -> None:
    nora = await platform.world.user("nora")
    guild = await platform.world.guild(nora)
    route = "/channels/{channel_id}/messages"
    async with platform.open_window(nora, general_path(guild)) as nora_window:
        nora_window.expected_errors = ("Failed to load resource",)
        await platform.inject_fault(transport="http", effect="status", status=503, method="POST", route=route)
        await nora_window.send("first try")
        failed_message = nora_window.page.locator(".message.failed")
        await failed_message.get_by_role("alert").wait_for()
        await failed_message.get_by_role("button", name="Try again").click()
        await nora_window.wait_message("first try")

        # The message was created but the response was lost: the event confirms it, and a retry is the same message.
        await platform.inject_fault(transport="http", effect="drop", moment="after", method="POST", route=route)
        await nora_window.send("in doubt")
        await nora_window.wait_message("in doubt")
        await nora_window.page.locator(".message.pending").wait_for(state="detached")

        await platform.inject_fault(
            transport="http", effect="status", status=429, retry_after=0.2, method="POST", route=route
        )
        await nora_window.send("too fast")
        await nora_window.wait_message("too fast")
        messages = (await nora.get(f"/channels/{guild.general}/messages")).ok()
        assert [message["content"] for message in reversed(messages)] == ["first try", "in doubt", "too fast"]

        await nora_window.composer.fill("x" * 2003)
        await nora_window.page.get_by_text("-3", exact=True).wait_for()
        assert await nora_window.page.get_by_role("button", name="Send").is_disabled()
        await nora_window.composer.press("Enter")
        assert await nora_window.composer.input_value() == "x" * 2003


async def test_an_open_channel_that_becomes_inaccessible_shows_a_notice(platform: ChatPlatform) -> None:
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    first_channel_id, second_channel_id = await guild.channel("first"), await guild.channel("second")
    async with platform.open_window(tom, f"/app/channels/{guild.id}/{first_channel_id}") as tom_window:
        tom_window.expected_errors = ("Failed to load resource",)
        await tom_window.page.get_by_role("textbox", name="Message #first").wait_for()
        (await nora.delete(f"/channels/{first_channel_id}")).ok()
        await tom_window.page.get_by_text("you do not have access to it").wait_for()

        await tom_window.page.get_by_role("link", name="second").click()
        await tom_window.page.get_by_role("textbox", name="Message #second").wait_for()
        await guild.overwrite(
            second_channel_id, guild.id, deny=Permissions.SEND_MESSAGES, target_type=OverwriteType.ROLE
        )
        await tom_window.page.get_by_text("You do not have permission to send messages in this channel.").wait_for()
        await guild.overwrite(
            second_channel_id, guild.id, deny=Permissions.VIEW_CHANNEL, target_type=OverwriteType.ROLE
        )
        await tom_window.page.get_by_text("you do not have access to it").wait_for()
        await tom_window.page.get_by_role("link", name="second").wait_for(state="detached")

        (await nora.delete(f"/guilds/{guild.id}/members/{tom.id}")).ok()
        await (
            tom_window.page.get_by_role("navigation", name="Guilds")
            .get_by_role("link", name="Guild", exact=True)
            .wait_for(state="detached")
        )


async def test_an_expired_token_leads_to_the_login_page(platform: ChatPlatform) -> None:
    nora = await platform.world.user("nora")
    guild = await platform.world.guild(nora)
    async with platform.open_window(nora, general_path(guild)) as nora_window:
        nora_window.expected_errors = ("Failed to load resource", "WebSocket")
        await nora_window.page.get_by_role("textbox", name="Message #general").wait_for()
        (await nora.post("/auth/logout", json={})).ok()
        await nora_window.page.wait_for_url("**/login?next=*")
        assert parse_qs(urlsplit(nora_window.page.url).query) == {"next": [general_path(guild)]}
        # A signed-out user is redirected from /app to the login page, too.
        await nora_window.page.goto(f"{platform.url}/app")
        await nora_window.page.wait_for_url("**/login?next=/app")


async def test_the_token_is_given_only_to_same_origin_scripts_and_not_stored(platform: ChatPlatform) -> None:
    nora = await platform.world.user("nora")
    async with platform.open_window(nora) as nora_window:
        stored_data = (
            "JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie,"
            " document.documentElement.outerHTML])"
        )
        assert nora.token not in await nora_window.page.evaluate(stored_data)
        nora_window.expected_errors = ("Failed to load resource",)
        request_token = (
            "form => fetch('/app/token', {method: 'POST', body: new URLSearchParams(form)})"
            ".then(response => response.status)"
        )
        assert await nora_window.page.evaluate(request_token, {"form_token": "made up"}) == 403
    cookie = {"Cookie": f"hubbub_session={nora.token}"}
    cross_site = {**cookie, "Origin": "https://elsewhere.example", "Sec-Fetch-Site": "cross-site"}
    response = await platform.world.request(
        "POST", f"{platform.url}/app/token", headers=cross_site, data={"form_token": ""}
    )
    assert (response.status, nora.token.encode() in response.body) == (403, False)


async def test_on_a_phone_one_panel_is_visible_at_a_time_and_all_are_reachable(platform: ChatPlatform) -> None:
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom, name="The Guild of All Harbours and Lighthouses of the North")
    other_channel_id = await guild.channel("a-rather-long-name-for-a-channel-on-a-phone")
    await guild.send_message(tom, "unbroken" * 40)
    async with platform.open_window(nora, "/app", width=PHONE_WIDTH) as nora_window:
        page = nora_window.page
        await page.get_by_role("navigation", name="Guilds").get_by_role("link", name="The Guild").click()
        await page.get_by_role("link", name="general unread").click()
        await nora_window.wait_message("unbroken")
        await page.get_by_role("link", name="a-rather-long").wait_for(state="hidden")
        await nora_window.send("from a phone")
        await nora_window.wait_message("from a phone")
        await page.get_by_role("button", name="Members").click()
        await page.get_by_role("complementary", name="Members").get_by_role("button", name="tom").wait_for()
        await page.keyboard.press("Escape")
        await page.get_by_role("complementary", name="Members").wait_for(state="detached")
        await page.get_by_role("button", name="Channels and conversations").click()
        await page.get_by_role("link", name="a-rather-long").click()
        await page.wait_for_url(f"**/{other_channel_id}")
        await page.locator(".beginning").wait_for()
        assert await page.evaluate("document.documentElement.scrollWidth") == PHONE_WIDTH


async def test_on_a_phone_the_channel_list_stays_open_when_the_channel_has_loaded(platform: ChatPlatform) -> None:
    nora = await platform.world.user("nora")
    guild = await platform.world.guild(nora)
    thread_id = await nora.create_thread(guild.general, name="harbour")
    (await nora.patch(f"/channels/{thread_id}", json={"archived": True})).ok()
    held_event, release_event = asyncio.Event(), asyncio.Event()

    async def hold(route: Any) -> None:
        held_event.set()
        await release_event.wait()
        await route.continue_()

    async with platform.open_window(nora, "/app", width=PHONE_WIDTH) as window:
        page = window.page
        await page.get_by_role("navigation", name="Guilds").get_by_role("link", name="Guild").wait_for()
        await page.route(f"**/api/v*/channels/{thread_id}", hold)
        await page.goto(f"{platform.url}/app/channels/{guild.id}/{thread_id}")
        await held_event.wait()
        await page.get_by_role("button", name="Channels and conversations").click()
        link = page.locator(f'.side .entry[data-focus="{guild.general}"]')
        await link.wait_for()
        release_event.set()
        await page.get_by_role("heading", name="harbour").wait_for(state="attached")
        assert await page.locator(".client.show-side").count() == 1
        await link.click()
        await page.wait_for_url(f"**/{guild.general}")
        await link.wait_for(state="hidden")


async def test_everything_can_be_done_with_the_keyboard(platform: ChatPlatform) -> None:
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    await guild.channel("zebra")
    for number in range(3):
        await guild.send_message(tom, f"number {number}")
    async with platform.open_window(nora, general_path(guild)) as nora_window:
        page, keyboard = nora_window.page, nora_window.page.keyboard
        await nora_window.wait_message("number 2")
        focus_expression = "document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent"
        await nora_window.wait_until("() => document.activeElement.matches('textarea.compose')")
        await keyboard.type("typed")
        await keyboard.press("Enter")
        await nora_window.wait_message("typed")

        # The messages are one tab stop; the arrow keys move between them.
        await page.locator(".message", has_text="typed").focus()
        await keyboard.press("ArrowUp")
        await keyboard.press("ArrowUp")
        assert "number 1" in await page.evaluate(focus_expression)
        await keyboard.press("r")
        await page.get_by_text("Replying to").wait_for()
        await keyboard.type("a reply")
        await keyboard.press("Enter")
        await (await nora_window.wait_message("a reply")).locator(".reply-line", has_text="number 1").wait_for()

        await page.locator(".message", has_text="number 0").first.focus()
        await keyboard.press("+")
        await page.get_by_role("searchbox", name="Search emoji").wait_for()
        await keyboard.type("rocket")
        await keyboard.press("Enter")
        await page.locator(".message", has_text="number 0").first.locator(".reaction", has_text="🚀").wait_for()

        await page.locator(".message", has_text="number 0").first.focus()
        await keyboard.press("m")
        await page.get_by_role("menuitem", name="Reply").wait_for()
        assert await page.evaluate(focus_expression) == "Reply"
        await keyboard.press("Escape")
        await page.get_by_role("menu").wait_for(state="detached")
        await keyboard.press("Alt+ArrowUp")
        await page.wait_for_url(f"**/{guild.channels['zebra']}")
        await nora_window.wait_until("() => document.activeElement.matches('textarea.compose')")
        await page.goto(f"{platform.url}{general_path(guild)}")
        await nora_window.wait_message("typed")
        # The buttons of the panes have their state, also after the header was drawn again.
        await page.get_by_role("button", name="Members", expanded=True).click()
        await page.get_by_role("complementary", name="Members").wait_for(state="detached")
        (await nora.patch(f"/channels/{guild.general}", json={"topic": "Boats"})).ok()
        await page.locator(".topic", has_text="Boats").wait_for()
        await page.get_by_role("button", name="Members", expanded=False).press("Enter")
        await page.get_by_role("complementary", name="Members").wait_for()
        await page.get_by_role("button", name="Search", expanded=False).press("Enter")
        await page.get_by_role("combobox", name="Search messages").wait_for()
        await page.get_by_role("button", name="Search", expanded=True).wait_for()
        await page.get_by_role("button", name="Close search").press("Enter")
        await page.get_by_role("button", name="Search", expanded=False).wait_for()
        # A live region announces new messages and nothing else.
        await guild.send_message(tom, "hear this")
        await page.get_by_role("log", name="New messages").get_by_text("tom: hear this").wait_for()
        assert "number" not in await page.get_by_role("log", name="New messages").inner_text()


async def test_a_message_that_arrives_while_the_first_page_is_loading_is_shown(platform: ChatPlatform) -> None:
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    zebra_channel_id = await guild.channel("zebra")
    held_event, release_event = asyncio.Event(), asyncio.Event()

    async def hold(route: Any) -> None:
        response = await route.fetch()
        held_event.set()
        await release_event.wait()
        await route.fulfill(response=response)

    async with platform.open_window(nora, f"/app/channels/{guild.id}/{zebra_channel_id}") as window:
        await window.page.route(f"**/channels/{guild.general}/messages?*", hold)
        await window.page.locator(f'.side .entry[data-focus="{guild.general}"]').click()
        await held_event.wait()
        await guild.send_message(tom, "in between")
        # The sidebar shows that the event has arrived.
        await window.page.locator(f'.side .entry.unread[data-focus="{guild.general}"]').wait_for()
        release_event.set()
        await window.wait_message("in between")


async def test_a_page_of_messages_that_fails_to_load_is_loaded_again_by_a_click(platform: ChatPlatform) -> None:
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    other_channel_id = await guild.channel("other")
    for number in range(60):
        await guild.send_message(tom, f"number {number:02}")
    # The client tries four times before it shows the error.
    fault = {
        "transport": "http",
        "effect": "status",
        "status": 503,
        "times": 4,
        "method": "GET",
        "route": "/channels/{channel_id}/messages",
    }
    async with platform.open_window(nora, f"/app/channels/{guild.id}/{other_channel_id}") as window:
        window.expected_errors = ("Failed to load resource",)
        await window.page.get_by_text("This is the beginning of the channel.").wait_for()
        await platform.inject_fault(**fault)
        await window.page.locator(f'.side .entry[data-focus="{guild.general}"]').click()
        retry_button = window.page.get_by_role("button", name="Try again")
        await retry_button.wait_for()
        await guild.send_message(tom, "meanwhile")
        await window.page.locator(f'.side .entry.unread[data-focus="{guild.general}"]').wait_for(state="attached")
        await retry_button.click()
        await window.wait_message("meanwhile")

        # The page above the first one fails, and the messages below it stay.
        await platform.inject_fault(**fault)
        await window.page.locator(".scroller").hover()
        await window.page.mouse.wheel(0, -10_000)
        await retry_button.wait_for()
        await retry_button.click()
        await window.wait_message("number 00")
        assert await retry_button.count() == 0

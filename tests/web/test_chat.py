"""The chat client in a real browser: messages, and actions on messages."""

from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import aiohttp
import pytest

from hubbub.protocol.permissions import Permissions
from hubbub.server.app import App
from hubbub.server.control import ControlApi
from hubbub.server.core.clock import ControlledClock
from tests.server.talk.uploads import PNG
from tests.web.chat import ChatPlatform, general
from tests.web.conftest import PHONE, Opener
from tests.world import NOW_MS, World, small_config

pytestmark = [pytest.mark.xdist_group("chromium"), pytest.mark.timeout(300)]


@pytest.fixture
async def town(chromium: Opener) -> AsyncIterator[ChatPlatform]:
    """A platform with fault injection, and browsers."""
    app = App(small_config(), clock=ControlledClock(NOW_MS, running=False))
    control = ControlApi(app)
    await app.start()
    async with aiohttp.ClientSession() as client:
        world = World(app, client)
        yield ChatPlatform(world, control, chromium)
        await world.close()
    await control.close()
    await app.stop()


async def test_two_users_see_each_others_messages_and_changes_at_once(town: ChatPlatform) -> None:
    nora, tom = await town.world.user("nora"), await town.world.user("tom")
    guild = await town.world.guild(nora, tom)
    async with town.window(nora, general(guild)) as hers, town.window(tom, general(guild)) as his:
        await his.field.press_sequentially("Good")
        await hers.page.get_by_text("tom is typing…").wait_for()
        await his.say("Good morning **Nora**")
        row = await hers.sees("Good morning")
        assert await row.locator("strong", has_text="Nora").count() == 1
        await hers.until("() => !document.querySelector('.typing').textContent")
        # The pending message has become the real one.
        await his.sees("Good morning")
        assert await his.page.locator(".message.pending").count() == 0

        await row.hover()
        await row.get_by_role("button", name="Reply").click()
        await hers.say("And to you")
        answer = await his.sees("And to you")
        await answer.locator(".reply-line", has_text="tom Good morning Nora").wait_for()
        assert "for-me" in await answer.get_attribute("class")

        await his.field.press("ArrowUp")
        edit = his.page.get_by_role("textbox", name="Edit message")
        await edit.fill("Good evening")
        await edit.press("Enter")
        await (await hers.sees("Good evening")).get_by_text("(edited)").wait_for()

        await answer.hover()
        await answer.get_by_role("button", name="React").click()
        await his.page.get_by_role("searchbox", name="Search emoji").fill("tada")
        await his.page.get_by_role("option", name="tada").click()
        mine = (await hers.sees("And to you")).locator(".reaction", has_text="🎉")
        await mine.click()
        await answer.locator(".reaction", has_text="2").wait_for()

        evening = await his.sees("Good evening")
        await evening.focus()
        await his.page.keyboard.press("Delete")
        await his.page.get_by_role("dialog").get_by_role("button", name="Delete").click()
        await hers.row("Good evening").wait_for(state="detached")
        await (await hers.sees("And to you")).locator(".reply-line", has_text="deleted message").wait_for()


async def test_files_are_chosen_dropped_pasted_and_sent(town: ChatPlatform) -> None:
    nora, tom = await town.world.user("nora"), await town.world.user("tom")
    guild = await town.world.guild(nora, tom)
    async with town.window(nora, general(guild)) as hers, town.window(tom, general(guild)) as his:
        await hers.page.set_input_files(
            "input[type=file]",
            [
                {"name": "cat.png", "mimeType": "image/png", "buffer": PNG},
                {"name": "notes.txt", "mimeType": "text/plain", "buffer": b"hello"},
            ],
        )
        pasted = "() => { const data = new DataTransfer(); data.items.add(new File(['x'], '%s.txt')); return data; }"
        data = await hers.page.evaluate_handle(pasted % "dropped")
        await hers.page.dispatch_event("hubbub-channel", "drop", {"dataTransfer": data})
        await hers.page.evaluate(
            """() => { const data = new DataTransfer(); data.items.add(new File(["y"], "pasted.txt"));
            document.querySelector("textarea.compose").dispatchEvent(
                new ClipboardEvent("paste", {clipboardData: data, bubbles: true, cancelable: true})); }"""
        )
        await hers.page.get_by_role("list", name="Files to send").get_by_text("pasted.txt").wait_for()
        await hers.page.get_by_role("button", name="Remove dropped.txt").click()
        await hers.say("Look")

        row = await his.sees("Look")
        await row.locator("img[alt='cat.png']").wait_for()
        await his.until("() => document.querySelector(\"img[alt='cat.png']\").naturalWidth > 0")
        assert await row.locator(".file a").all_inner_texts() == ["notes.txt", "pasted.txt"]
        await hers.page.locator(".message.pending").wait_for(state="detached")


HOSTILE = [
    "<script>window.stolen = 1</script>",
    "<img src=x onerror='window.stolen = 1'>",
    "[press me](javascript:window.stolen=1)",
    'javascript:window.stolen=1 <javascript:window.stolen=1> https://example.com/"onmouseover="window.stolen=1',
    "data:text/html,<script>window.stolen=1</script>",
    "a" + "\u0301" * 800 + "\u202e gnirts \u2066\U0001f3f4\U000e0067",
    "**" * 900,
    "||" * 400 + "`" * 500,
]


async def test_hostile_message_content_is_shown_as_text(town: ChatPlatform) -> None:
    name = "<b>x</b><script>window.stolen = 1</script>"
    nora, eve = await town.world.user("nora"), await town.world.user("eve")
    (await eve.patch("/users/@me", json={"global_name": name[:32]})).ok()
    guild = await town.world.guild(nora, eve, name=name)
    await guild.channel("voices", type=2, topic=None)
    (await nora.patch(f"/channels/{guild.general}", json={"topic": name})).ok()
    for words in HOSTILE:
        await guild.send_message(eve, words)
    box = {"title": name, "url": "https://example.com/", "description": HOSTILE[2], "footer": {"text": name}}
    last = await guild.send_message(eve, "the last", embeds=[box])
    async with town.window(nora, general(guild)) as hers:
        await hers.sees("the last")
        await hers.page.get_by_text("<b>x</b><script>window.stolen").first.wait_for()
        assert (
            await hers.page.evaluate("document.querySelectorAll('.client script, .client b, .client img').length") == 0
        )
        links = await hers.page.evaluate("[...document.querySelectorAll('.client a')].map(link => link.protocol)")
        assert set(links) <= {"http:", "https:"}
        outside = hers.page.locator(".message a[href^='https://example.com']")
        assert set(await outside.evaluate_all("links => links.map(link => link.rel)")) == {
            "noopener noreferrer nofollow"
        }
        assert await hers.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert await hers.page.evaluate("window.stolen") is None
        assert await hers.page.locator(f"#message-{last['id']} .embed").inner_text() != ""


async def test_a_lost_connection_is_reported_and_resumed_without_missed_messages(town: ChatPlatform) -> None:
    nora, tom = await town.world.user("nora"), await town.world.user("tom")
    guild = await town.world.guild(nora, tom)
    await guild.send_message(tom, "before")
    async with town.window(nora, general(guild)) as hers:
        hers.expected = ("WebSocket",)
        await hers.sees("before")
        # The connection is cut and refused for some attempts; messages sent meanwhile arrive with the resume.
        await town.fault(door="gateway", effect="close", code=4000, moment="identify", times=2)
        await town.fault(door="gateway", effect="drop", user_id=str(nora.id))
        await hers.page.get_by_text("Connection lost.").wait_for()
        await guild.send_message(tom, "meanwhile")
        await hers.sees("meanwhile")
        await hers.page.get_by_text("Connection lost.").wait_for(state="hidden")

        # An invalid session is replaced by a new one, which reads the missed messages.
        await town.fault(door="gateway", effect="invalid_session", user_id=str(nora.id))
        await guild.send_message(tom, "afterwards")
        await hers.sees("afterwards")
        await hers.say("still here")
        await hers.sees("still here")
        words = await hers.page.locator(".message .content").all_inner_texts()
        assert words == ["before", "meanwhile", "afterwards", "still here"]


async def test_a_page_that_slept_detects_its_dead_connection(town: ChatPlatform) -> None:
    nora, tom = await town.world.user("nora"), await town.world.user("tom")
    guild = await town.world.guild(nora, tom)
    deaf: list[bool] = []

    def between(socket: Any) -> None:
        """Forward everything until the first connection stops responding."""
        server, number = socket.connect_to_server(), len(deaf)
        deaf.append(False)
        server.on_message(lambda said: None if deaf[number] else socket.send(said))
        socket.on_message(lambda said: None if deaf[number] else server.send(said))

    async with town.window(nora) as hers:
        await hers.page.route_web_socket("**/gateway?**", between)
        await hers.go(general(guild))
        await hers.page.get_by_role("textbox", name="Message #general").wait_for()
        deaf[0] = True
        await guild.send_message(tom, "while you slept")
        # The computer wakes up an hour later.
        await hers.page.evaluate("() => { const now = Date.now; Date.now = () => now() + 3_600_000; }")
        await hers.page.evaluate("window.dispatchEvent(new Event('focus'))")
        await hers.sees("while you slept")
        assert len(deaf) >= 2


async def test_a_failed_message_shows_the_error_and_is_sent_once_on_retry(town: ChatPlatform) -> None:
    nora = await town.world.user("nora")
    guild = await town.world.guild(nora)
    route = "/channels/{channel_id}/messages"
    async with town.window(nora, general(guild)) as hers:
        hers.expected = ("Failed to load resource",)
        await town.fault(door="http", effect="status", status=503, method="POST", route=route)
        await hers.say("first try")
        failed = hers.page.locator(".message.failed")
        await failed.get_by_role("alert").wait_for()
        await failed.get_by_role("button", name="Try again").click()
        await hers.sees("first try")

        # The message was created but the response was lost: the event confirms it, and a retry is the same message.
        await town.fault(door="http", effect="drop", moment="after", method="POST", route=route)
        await hers.say("in doubt")
        await hers.sees("in doubt")
        await hers.page.locator(".message.pending").wait_for(state="detached")

        await town.fault(door="http", effect="status", status=429, retry_after=0.2, method="POST", route=route)
        await hers.say("too fast")
        await hers.sees("too fast")
        said = (await nora.get(f"/channels/{guild.general}/messages")).ok()
        assert [each["content"] for each in reversed(said)] == ["first try", "in doubt", "too fast"]

        await hers.field.fill("x" * 2003)
        await hers.page.get_by_text("-3", exact=True).wait_for()
        assert await hers.page.get_by_role("button", name="Send").is_disabled()
        await hers.field.press("Enter")
        assert await hers.field.input_value() == "x" * 2003


async def test_a_channel_deleted_while_open_shows_a_notice(town: ChatPlatform) -> None:
    nora, tom = await town.world.user("nora"), await town.world.user("tom")
    guild = await town.world.guild(nora, tom)
    first, second = await guild.channel("first"), await guild.channel("second")
    async with town.window(tom, f"/app/channels/{guild.id}/{first}") as his:
        his.expected = ("Failed to load resource",)
        await his.page.get_by_role("textbox", name="Message #first").wait_for()
        (await nora.delete(f"/channels/{first}")).ok()
        await his.page.get_by_text("you do not have access to it").wait_for()

        await his.page.get_by_role("link", name="second").click()
        await his.page.get_by_role("textbox", name="Message #second").wait_for()
        await guild.overwrite(second, guild.id, deny=Permissions.SEND_MESSAGES, kind=0)
        await his.page.get_by_text("You do not have permission to send messages in this channel.").wait_for()
        await guild.overwrite(second, guild.id, deny=Permissions.VIEW_CHANNEL, kind=0)
        await his.page.get_by_text("you do not have access to it").wait_for()
        assert await his.page.get_by_role("link", name="second").count() == 0

        (await nora.delete(f"/guilds/{guild.id}/members/{tom.id}")).ok()
        await (
            his.page.get_by_role("navigation", name="Guilds")
            .get_by_role("link", name="Guild", exact=True)
            .wait_for(state="detached")
        )


async def test_an_expired_token_leads_to_the_login_page(town: ChatPlatform) -> None:
    nora = await town.world.user("nora")
    guild = await town.world.guild(nora)
    async with town.window(nora, general(guild)) as hers:
        hers.expected = ("Failed to load resource", "WebSocket")
        await hers.page.get_by_role("textbox", name="Message #general").wait_for()
        (await nora.post("/auth/logout", json={})).ok()
        await hers.page.wait_for_url("**/login?next=*")
        assert parse_qs(urlsplit(hers.page.url).query) == {"next": [general(guild)]}
        # Signed out: the next URL leads there too, and no token is returned.
        await hers.page.goto(f"{town.url}/app")
        await hers.page.wait_for_url("**/login?next=/app")


async def test_the_token_is_given_only_to_same_origin_scripts_and_not_stored(town: ChatPlatform) -> None:
    nora = await town.world.user("nora")
    async with town.window(nora) as hers:
        kept = "JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie, document.documentElement.outerHTML])"
        assert nora.token not in await hers.page.evaluate(kept)
        hers.expected = ("Failed to load resource",)
        ask = "form => fetch('/app/token', {method: 'POST', body: new URLSearchParams(form)}).then(answer => answer.status)"
        assert await hers.page.evaluate(ask, {"form_token": "made up"}) == 403
    cookie = {"Cookie": f"hubbub_session={nora.token}"}
    strange = {**cookie, "Origin": "https://elsewhere.example", "Sec-Fetch-Site": "cross-site"}
    answer = await town.world.request("POST", f"{town.url}/app/token", headers=strange, data={"form_token": ""})
    assert (answer.status, nora.token.encode() in answer.body) == (403, False)


async def test_on_a_phone_one_panel_is_visible_at_a_time_and_all_are_reachable(town: ChatPlatform) -> None:
    nora, tom = await town.world.user("nora"), await town.world.user("tom")
    guild = await town.world.guild(nora, tom, name="The Guild of All Harbours and Lighthouses of the North")
    side = await guild.channel("a-rather-long-name-for-a-channel-on-a-phone")
    await guild.send_message(tom, "unbroken" * 40)
    async with town.window(nora, "/app", width=PHONE) as hers:
        page = hers.page
        await page.get_by_role("navigation", name="Guilds").get_by_role("link", name="The Guild").click()
        await page.get_by_role("link", name="general unread").click()
        await hers.sees("unbroken")
        await page.get_by_role("link", name="a-rather-long").wait_for(state="hidden")
        await hers.say("from a phone")
        await hers.sees("from a phone")
        await page.get_by_role("button", name="Members").click()
        await page.get_by_role("complementary", name="Members").get_by_role("button", name="tom").wait_for()
        await page.keyboard.press("Escape")
        await page.get_by_role("complementary", name="Members").wait_for(state="detached")
        await page.get_by_role("button", name="Channels and conversations").click()
        await page.get_by_role("link", name="a-rather-long").click()
        await page.wait_for_url(f"**/{side}")
        await page.locator(".beginning").wait_for()
        assert await page.evaluate("document.documentElement.scrollWidth") == PHONE


async def test_everything_can_be_done_with_the_keyboard(town: ChatPlatform) -> None:
    nora, tom = await town.world.user("nora"), await town.world.user("tom")
    guild = await town.world.guild(nora, tom)
    await guild.channel("zebra")
    for number in range(3):
        await guild.send_message(tom, f"number {number}")
    async with town.window(nora, general(guild)) as hers:
        page, keys = hers.page, hers.page.keyboard
        await hers.sees("number 2")
        focused = "document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent"
        await hers.until("() => document.activeElement.matches('textarea.compose')")
        await keys.type("typed")
        await keys.press("Enter")
        await hers.sees("typed")

        # Back into the messages: one tab stop for all of them, then the arrow keys.
        await page.locator(".message", has_text="typed").focus()
        await keys.press("ArrowUp")
        await keys.press("ArrowUp")
        assert "number 1" in await page.evaluate(focused)
        await keys.press("r")
        await page.get_by_text("Replying to").wait_for()
        await keys.type("an answer")
        await keys.press("Enter")
        await (await hers.sees("an answer")).locator(".reply-line", has_text="number 1").wait_for()

        await page.locator(".message", has_text="number 0").first.focus()
        await keys.press("+")
        await page.get_by_role("searchbox", name="Search emoji").wait_for()
        await keys.type("rocket")
        await keys.press("Enter")
        await page.locator(".message", has_text="number 0").first.locator(".reaction", has_text="🚀").wait_for()

        await page.locator(".message", has_text="number 0").first.focus()
        await keys.press("m")
        await page.get_by_role("menuitem", name="Reply").wait_for()
        assert await page.evaluate(focused) == "Reply"
        await keys.press("Escape")
        await page.get_by_role("menu").wait_for(state="detached")
        await keys.press("Alt+ArrowUp")
        await page.wait_for_url(f"**/{guild.channels['zebra']}")
        await hers.until("() => document.activeElement.matches('textarea.compose')")
        await page.goto(f"{town.url}{general(guild)}")
        await hers.sees("typed")
        # A live region announces new messages and nothing else.
        await guild.send_message(tom, "hear this")
        await page.get_by_role("log", name="New messages").get_by_text("tom: hear this").wait_for()
        assert "number" not in await page.get_by_role("log", name="New messages").inner_text()

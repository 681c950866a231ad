"""The console of a rehearsal in a browser: the timeline with the traffic of a discord.py bot, and the other panes."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import pytest
import pytest_asyncio

from hubbub.server.core.traffic import TrafficContent
from tests.clients.discord_py_bot import Bot, run_bot, use_server_urls
from tests.receiver import Receiver, subscribe_to_events
from tests.rehearsal import Rehearsal, start_rehearsal
from tests.web.accessibility import find_problems
from tests.web.conftest import DESKTOP_WIDTH, PHONE_WIDTH, OpenPage
from tests.web.polling import wait_until

pytestmark = pytest.mark.full_browser


class EchoBot(Bot):
    """A bot that answers messages of users."""

    async def on_message(self, message: Any) -> None:
        if not message.author.bot:
            await message.channel.send(f"echo: {message.content}")


@pytest_asyncio.fixture(loop_scope="session", name="rehearsal")
async def run_demo_world() -> AsyncIterator[Rehearsal]:
    """A rehearsal with the demo world, which reports exceeded rate limits."""
    async with start_rehearsal(rate_limits="report") as rehearsal:
        yield rehearsal


@asynccontextmanager
async def open_console(
    rehearsal: Rehearsal, open_page: OpenPage, pane: str = "timeline", width: int = DESKTOP_WIDTH
) -> AsyncIterator[Any]:
    """Open the console with a new link; on exit, assert that the page reported no error."""
    console_errors: list[str] = []
    async with open_page(width) as page:
        page.on("pageerror", lambda error: console_errors.append(str(error)))
        page.on("console", lambda line: line.type == "error" and console_errors.append(line.text))
        link = (await rehearsal.control_request("POST", "/console-links")).ok()["url"]
        await page.goto(link)
        await page.goto(f"{rehearsal.url}/console#{pane}")
        await page.locator("main h1").wait_for(state="attached")
        if pane == "timeline":
            await page.get_by_text("Live", exact=True).wait_for()
        yield page
    # The browser reports a rejected request, which a test causes on purpose.
    assert [error for error in console_errors if "400 (Bad Request)" not in error] == []


def general_messages_path(rehearsal: Rehearsal) -> str:
    """Return the path of the messages of the demo guild's general channel."""
    return f"/channels/{rehearsal.control.built_world.guilds['Town Square'].channels['general']}/messages"


def locate_timeline_entry(page: Any, text: str) -> Any:
    """Return the locator of the newest entry of the timeline with this text."""
    return page.locator(".entry").filter(has_text=text).last


async def test_the_timeline_shows_the_traffic_of_a_bot(
    rehearsal: Rehearsal, open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_server_urls(monkeypatch, rehearsal)
    bot = rehearsal.actor("demo-bot")
    alice = rehearsal.actor("alice")
    async with open_console(rehearsal, open_page) as page:
        async with run_bot(EchoBot(), bot.token):
            (await alice.post(general_messages_path(rehearsal), json={"content": "hello bot"})).ok()
            answer = (
                page.locator(".entry")
                .filter(has_text="POST /channels/{channel_id}/messages")
                .filter(has_text="demo-bot")
            )
            await answer.first.wait_for()
        await locate_timeline_entry(page, "IDENTIFY").wait_for()

        await answer.first.click()
        details = page.get_by_role("region", name="Details")
        await details.get_by_text('"echo: hello bot"').first.wait_for()
        await details.get_by_role("button", name="MESSAGE_CREATE").first.click()
        await details.get_by_role("heading", name="MESSAGE_CREATE").wait_for()
        recipient = details.locator(".recipients tr").filter(has_text="demo-bot")
        assert "delivered" in await recipient.inner_text()

        await details.get_by_role("button", name="Copy as Python test").click()
        assert "def test_message_create(hubbub)" in await details.locator(".copied").inner_text()


async def test_filters_apply_to_new_and_old_entries(rehearsal: Rehearsal, open_page: OpenPage) -> None:
    alice, carol = rehearsal.actor("alice"), rehearsal.actor("carol")
    staff_channel_id = rehearsal.control.built_world.guilds["Town Square"].channels["staff"]
    async with open_console(rehearsal, open_page) as page:
        (await alice.get("/users/@me")).ok()
        (await carol.post(f"/channels/{staff_channel_id}/messages", json={"content": "x"})).rejected(403, 50001)
        await locate_timeline_entry(page, "403").wait_for()

        await page.get_by_label("Only failures").check()
        await page.get_by_text("1 entry", exact=True).wait_for()
        await locate_timeline_entry(page, "403").click()
        await page.get_by_text("carol lacks the permission VIEW_CHANNEL in #staff.").wait_for()

        await page.get_by_label("Only failures").uncheck()
        await page.get_by_label("User").select_option(label="alice")
        await page.get_by_text("1 entry", exact=True).wait_for()
        await page.get_by_label("User").select_option(label="All")
        await page.get_by_label("Filter").fill("users/@me")
        await page.get_by_text("1 entry", exact=True).wait_for()


async def test_webhook_events_are_shown_and_filtered_by_their_kind(open_page: OpenPage) -> None:
    async with (
        start_rehearsal(allow_private_targets=True) as rehearsal,
        open_console(rehearsal, open_page) as page,
        Receiver() as receiver,
    ):
        await subscribe_to_events(receiver, rehearsal.actor("demo-game"), "APPLICATION_AUTHORIZED")
        (await rehearsal.control_request("DELETE", "/traffic")).ok()
        challenge = {"code_challenge": "c" * 43, "code_challenge_method": "S256"}
        (await rehearsal.act("carol", "authorize", application="demo-game", query=challenge)).ok()
        await receiver.wait_for_events(1)
        await locate_timeline_entry(page, f"POST 127.0.0.1:{receiver.port}").wait_for()

        for kind in ("http", "gateway", "interaction", "voice", "control"):
            await page.locator(".kinds").get_by_label(kind).uncheck()
        await page.get_by_text("1 entry", exact=True).wait_for()
        await locate_timeline_entry(page, f"POST 127.0.0.1:{receiver.port}").click()

        await page.get_by_role("region", name="Details").get_by_text('"APPLICATION_AUTHORIZED"').first.wait_for()


async def test_a_request_is_replayed_and_secrets_are_masked(rehearsal: Rehearsal, open_page: OpenPage) -> None:
    alice = rehearsal.actor("alice")
    async with open_console(rehearsal, open_page) as page:
        (await alice.post(general_messages_path(rehearsal), json={"content": f"secret {alice.token}"})).ok()
        await locate_timeline_entry(page, "POST /channels").click()
        details = page.get_by_role("region", name="Details")
        await details.get_by_text("secret •••").first.wait_for()
        await details.get_by_label("Show secrets").check()
        await details.get_by_text(f"secret {alice.token}").first.wait_for()

        await details.get_by_role("button", name="Copy as curl").click()
        assert "curl -X POST -H" in await details.locator(".copied").inner_text()
        await details.get_by_role("button", name="Replay").click()

        await page.get_by_text("POST /channels/{channel_id}/messages responded with 200.").wait_for()
        assert len((await alice.get(general_messages_path(rehearsal))).ok()) >= 2


async def test_the_timeline_holds_ten_thousand_entries_and_works_with_the_keyboard(
    rehearsal: Rehearsal, open_page: OpenPage
) -> None:
    async with open_console(rehearsal, open_page) as page:
        traffic = rehearsal.app.trace.traffic
        for number in range(10_000):
            traffic.add(TrafficContent(), kind="http", direction="in", summary=f"GET /number/{number}")
        await page.get_by_text("10,000 entries").wait_for()
        assert await page.locator(".entry").count() < 100

        await locate_timeline_entry(page, "GET /number/9999").focus()
        await page.keyboard.press("ArrowUp")
        assert "9998" in await page.evaluate("document.activeElement.textContent")
        await page.keyboard.press("Home")
        await wait_until(page, "document.activeElement.textContent.endsWith('/number/0')")
        await page.keyboard.press("Enter")
        await page.get_by_role("heading", name="GET /number/0").wait_for()


async def test_the_clock_pane_moves_the_clock_to_a_dated_change(rehearsal: Rehearsal, open_page: OpenPage) -> None:
    async with open_console(rehearsal, open_page, "clock") as page:
        await page.get_by_text("frozen").wait_for()
        await page.get_by_role("button", name="+ 1 hour").click()
        before_ms = rehearsal.clock.now_ms()
        slider = page.get_by_label("Change", exact=True)
        await slider.focus()
        await page.keyboard.press("Home")
        await page.get_by_role("button", name="Just before").click()
        await page.get_by_text("2024").first.wait_for()
        await page.locator(".clock-state", has_text=re.compile("23:59:59")).wait_for()
        assert rehearsal.clock.now_ms() < before_ms
        await page.get_by_role("button", name="Resume").click()
        await page.locator(".clock-state", has_text="running").wait_for()
        await page.get_by_role("button", name="Freeze").click()
        await page.locator(".clock-state", has_text="frozen").wait_for()


async def test_faults_are_added_and_removed(rehearsal: Rehearsal, open_page: OpenPage) -> None:
    async with open_console(rehearsal, open_page, "faults") as page:
        await page.get_by_label("Route").fill("GET /users/@me")
        await page.get_by_role("button", name="Add fault").click()
        await page.get_by_text("http: status 503, GET /users/@me").wait_for()
        assert (await rehearsal.actor("alice").get("/users/@me")).status == 503

        await page.get_by_role("button", name="Remove").click()
        await page.get_by_text("No fault is active.").wait_for()
        (await rehearsal.actor("alice").get("/users/@me")).ok()

        await page.get_by_label("Route").fill("GET /nowhere")
        await page.get_by_role("button", name="Add fault").click()
        await page.get_by_text("No operation has this path").wait_for()


async def test_snapshots_and_forks_are_a_tree(rehearsal: Rehearsal, open_page: OpenPage) -> None:
    async with open_console(rehearsal, open_page, "snapshots") as page:
        take = page.get_by_role("button", name="Take snapshot")
        await take.click()
        await page.get_by_text("Snapshot 1", exact=True).wait_for()
        await take.click()
        await page.locator("li li li", has_text="Snapshot 2").first.wait_for()
        await page.get_by_role("button", name="Restore Snapshot 1").click()
        await page.get_by_text("Snapshot 1 was restored.").wait_for()
        await page.get_by_role("button", name="Fork Snapshot 2").click()
        await page.get_by_role("button", name="Stop Fork 3").wait_for()

        async with page.expect_popup() as opened_page:
            await page.get_by_role("button", name="Open console of Fork 3").click()
        fork_page = await opened_page.value
        await fork_page.get_by_text("Live", exact=True).wait_for()
        await fork_page.close()
        await page.get_by_role("button", name="Stop Fork 3").click()
        await page.get_by_text("Fork 3", exact=True).wait_for(state="detached")


async def test_two_people_are_open_side_by_side(rehearsal: Rehearsal, open_page: OpenPage) -> None:
    async with open_console(rehearsal, open_page, "people") as page:
        await page.get_by_label("Left").select_option("alice")
        await page.get_by_label("Right").select_option("bob")
        async with page.context.expect_event("page") as opened_page:
            await page.get_by_role("button", name="Open side by side").click()
        window = await opened_page.value
        alice_frame = window.frame_locator('iframe[title="Left person"]')
        bob_frame = window.frame_locator('iframe[title="Right person"]')
        await alice_frame.locator(".account-name", has_text="alice").wait_for()
        await bob_frame.locator(".account-name", has_text="bob").wait_for()
        await page.get_by_text("The chat clients of alice and bob are open.").wait_for()
        hosts = [urlsplit(frame.url).hostname for frame in window.frames]
        assert hosts == ["people.localhost", "alice.people.localhost", "bob.people.localhost"]

        # The session of each frame is kept when its page is loaded again.
        await window.frames[1].evaluate("location.reload()")
        await alice_frame.locator(".account-name", has_text="alice").wait_for()


async def test_the_browser_of_these_tests_blocks_a_second_window(rehearsal: Rehearsal, open_page: OpenPage) -> None:
    async with open_console(rehearsal, open_page, "people") as page:
        await page.evaluate(
            "document.addEventListener('click', () => { window.opened = [1, 2].map(n => window.open('about:blank', n)); })"
        )
        await page.get_by_role("heading", name="People").click()
        assert await page.evaluate("window.opened.map(target => target !== null)") == [True, False]


async def test_one_person_is_opened(rehearsal: Rehearsal, open_page: OpenPage) -> None:
    async with open_console(rehearsal, open_page, "people") as page:
        async with page.context.expect_event("page") as opened_page:
            await page.get_by_role("button", name="Open as carol").click()
        await (await opened_page.value).locator(".account-name", has_text="carol").wait_for()


async def test_mail_the_world_and_rate_limits_are_shown(rehearsal: Rehearsal, open_page: OpenPage) -> None:
    alice = rehearsal.actor("alice")
    body = {"username": "dora", "email": "dora@example.com", "password": "correct horse battery"}
    (await rehearsal.request("POST", "/auth/register", json=body)).ok()
    async with open_console(rehearsal, open_page) as page:
        (await alice.post(general_messages_path(rehearsal), json={"content": "x"})).ok()
        await locate_timeline_entry(page, "POST /channels").wait_for()
        await page.get_by_role("tab", name="Rate limits").click()
        row = page.locator(".limits tr", has_text="POST /channels/{channel_id}/messages")
        await row.wait_for()
        assert "alice" in await row.inner_text()

        await page.get_by_role("tab", name="World").click()
        picture = page.locator(".world-picture svg")
        await picture.wait_for()
        assert "Town Square: members alice" in await picture.get_attribute("aria-label")

        await page.get_by_role("tab", name="Mail").click()
        mail = page.locator(".mail", has_text="to dora@example.com")
        await mail.click()
        assert "/confirm-email?token=" in await mail.locator(".mail-text").inner_text()


@pytest.mark.parametrize("width", [PHONE_WIDTH, DESKTOP_WIDTH])
async def test_the_panes_are_accessible_and_fit(rehearsal: Rehearsal, open_page: OpenPage, width: int) -> None:
    async with open_console(rehearsal, open_page, width=width) as page:
        (await rehearsal.actor("alice").get("/users/@me")).ok()
        await locate_timeline_entry(page, "GET /users/@me").wait_for()
        await page.get_by_role("tab", name="Timeline").focus()
        for _ in range(8):
            assert await find_problems(page) == []
            assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
            await page.keyboard.press("ArrowRight")
            await page.locator("main h1").wait_for(state="attached")

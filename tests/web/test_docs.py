"""The API reference in a real browser: navigation, search, requests from its forms, and example languages.

Pages are checked on phone and desktop, in light and dark, and without scripts.
"""

import re
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
import pytest_asyncio

from hubbub.server import worlds
from hubbub.server.app import App
from hubbub.server.control import ControlApi
from hubbub.server.core.clock import ControlledClock
from tests.web.accessibility import record_problems
from tests.web.conftest import DESKTOP_WIDTH, PHONE_WIDTH, OpenPage
from tests.world import NOW_MS, World, small_config

RESPONSE_SELECTOR = ".try-response"

pytestmark = pytest.mark.timeout(400)


@pytest.mark.parametrize(("width", "scheme"), [(PHONE_WIDTH, "light"), (DESKTOP_WIDTH, "dark")])
async def test_a_reader_navigates_the_reference(web_world: World, open_page: OpenPage, width: int, scheme: str) -> None:
    problems: list[str] = []
    async with open_page(width) as page:
        page.on("console", lambda message: problems.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: problems.append(f"error: {error}"))
        await page.emulate_media(color_scheme=scheme)

        async def check_current_page(path: str) -> None:
            await page.wait_for_url(f"**{path}")
            await record_problems(page, problems, path)

        # Links lead from the first page to an operation, to its response, and to the type of a field.
        await page.goto(web_world.url)
        await page.get_by_role("link", name="API reference").click()
        await check_current_page("/docs")
        await page.locator(".card-grid").get_by_role("link", name=re.compile("^Messages ")).click()
        await check_current_page("/docs/resources/messages")
        section = page.locator("#create_message")
        assert await wait_visible(section.get_by_text("at most 2,000 characters"))
        await section.get_by_role("link", name="Message", exact=True).click()
        await check_current_page("/docs/objects/Message")
        await page.get_by_role("link", name="Embed", exact=True).first.click()
        await check_current_page("/docs/objects/Embed")

        # The search is a plain form.
        await page.get_by_label("Search the reference").fill("missing permissions")
        await page.get_by_role("button", name="Search").click()
        await check_current_page("/docs?q=missing+permissions")
        await page.get_by_role("link", name="MISSING_PERMISSIONS").first.click()
        await check_current_page("/docs/errors#MISSING_PERMISSIONS")
        operations = page.locator("#MISSING_PERMISSIONS details")
        await operations.locator("summary").click()
        await operations.get_by_role("link", name="create_guild_role", exact=True).click()
        await check_current_page("/docs/resources/roles#create_guild_role")
        assert await wait_visible(page.locator("#create_guild_role pre"))

        for path in ("events", "gateway", "intents", "permissions", "scopes", "webhook-events", "changes", "enums"):
            await page.goto(f"{web_world.url}/docs/{path}")
            await check_current_page(f"/docs/{path}")
        await page.goto(f"{web_world.url}/docs/enums/ChannelType")
        await check_current_page("/docs/enums/ChannelType")

    assert problems == []


@pytest_asyncio.fixture(loop_scope="session")
async def demo_world() -> AsyncIterator[World]:
    """A platform with the demo world and the control API, as `hubbub dev` starts it."""
    app = App(small_config(rate_limits="report"), clock=ControlledClock(NOW_MS, running=False))
    control = ControlApi(app)
    await app.start()
    control.built_world = await worlds.load_initial(app, worlds.demo_world(), 0)
    async with aiohttp.ClientSession() as client:
        yield World(app, client)
    await control.close()
    await app.stop()


@pytest.mark.parametrize(("width", "scheme"), [(PHONE_WIDTH, "dark"), (DESKTOP_WIDTH, "light")])
async def test_a_reader_sends_a_message_as_alice(
    demo_world: World, open_page: OpenPage, width: int, scheme: str
) -> None:
    problems: list[str] = []
    async with open_page(width) as page:
        page.on("pageerror", lambda error: problems.append(f"error: {error}"))
        page.on(
            "console",
            lambda message: problems.append(message.text) if "Content Security Policy" in message.text else None,
        )
        await page.emulate_media(color_scheme=scheme)
        await page.goto(f"{demo_world.url}/docs/resources/messages#create_message")
        form = await open_form(page, "create_message")
        await record_problems(page, problems, "an open form")
        assert await form.get_by_label("Caller").locator("option").all_text_contents() == [
            "alice (user)",
            "bob (user)",
            "carol (user)",
            "demo-bot (bot)",
            "demo-game (bot)",
            "Another token",
        ]

        # Invalid JSON is reported beside the body, and nothing is sent.
        await form.get_by_label("Body").fill('{"content": }')
        await form.get_by_role("button", name="Send request").click()
        assert "Body: this is not valid JSON." in await form.get_by_role("alert").inner_text()
        assert await form.get_by_label("Body").get_attribute("aria-invalid") == "true"
        await record_problems(page, problems, "invalid JSON")

        await form.get_by_label("Body").fill('{"content": "Hello from the reference"}')
        await form.get_by_role("button", name="Send request").click()
        response = page.locator(f"#create_message {RESPONSE_SELECTOR}")
        await response.get_by_text("Hello from the reference").wait_for()
        text = await response.inner_text()
        assert "200 OK" in text
        assert "X-RateLimit-Remaining" in text
        assert '"username": "alice"' in text
        assert await form.get_by_role("alert").is_hidden()
        await record_problems(page, problems, "a response")

        # The other forms are filled in with the ID of the created message. A destructive request is confirmed first.
        delete_form = await open_form(page, "delete_message")
        message_id = await delete_form.get_by_label("message_id").input_value()
        assert message_id.isdigit()
        await delete_form.get_by_role("button", name="Send request").click()
        await record_problems(page, problems, "a confirmation")
        await delete_form.get_by_role("button", name="Cancel").click()
        assert await page.locator(f"#delete_message {RESPONSE_SELECTOR}").is_hidden()
        await delete_form.get_by_role("button", name="Send request").click()
        await delete_form.get_by_role("button", name="Send anyway").click()
        await page.locator(f"#delete_message {RESPONSE_SELECTOR}").get_by_text("204").wait_for()

        # The form reports a missing value, an error of the API and a lost connection.
        get_form = await open_form(page, "get_message")
        await get_form.get_by_label("message_id").fill("")
        await get_form.get_by_role("button", name="Send request").click()
        assert await get_form.get_by_role("alert").inner_text() == "message_id: enter a value."
        await get_form.get_by_label("message_id").fill(message_id)
        await get_form.get_by_role("button", name="Send request").click()
        await page.locator(f"#get_message {RESPONSE_SELECTOR}").get_by_text("Unknown Message").wait_for()
        await page.route("**/api/**", lambda route: route.abort())
        await get_form.get_by_role("button", name="Send request").click()
        await get_form.get_by_text("The request failed:").wait_for()
        assert await page.locator(f"#get_message {RESPONSE_SELECTOR}").is_hidden()

        # A caller outside of the demo world needs a token.
        await get_form.get_by_label("Caller").select_option("Another token")
        await get_form.get_by_role("button", name="Send request").click()
        assert "Authorization: enter a token" in await get_form.get_by_role("alert").inner_text()
        await record_problems(page, problems, "a token")

    assert problems == []


async def open_form(page: Any, name: str) -> Any:
    """Open the form of an operation, wait until its callers are listed, and return its locator."""
    section = page.locator(f"#{name}")
    await section.locator("details.try > summary").click()
    await section.locator("select option").first.wait_for(state="attached")
    return section.locator("form")


async def test_the_language_of_examples_is_remembered(demo_world: World, open_page: OpenPage) -> None:
    async with open_page() as page:
        await page.goto(f"{demo_world.url}/docs/resources/messages#create_message")
        section = page.locator("#create_message")
        assert await section.locator("pre[data-language=curl]").first.is_visible()

        # Arrow keys move between the languages, as in every group of radio buttons.
        await section.get_by_role("radio", name="curl").first.focus()
        await page.keyboard.press("ArrowRight")
        assert await section.locator("pre[data-language=python]").first.is_visible()
        assert await section.locator("pre[data-language=curl]").first.is_hidden()
        assert await page.locator("#get_message pre[data-language=python]").first.is_visible()

        await page.goto(f"{demo_world.url}/docs/resources/roles#create_guild_role")
        await page.locator("#create_guild_role pre[data-language=python]").wait_for(state="visible")


async def test_examples_work_without_scripts(web_world: World, open_page: OpenPage) -> None:
    async with open_page(has_script=False) as page:
        await page.goto(f"{web_world.url}/docs/resources/messages#create_message")
        section = page.locator("#create_message")
        await section.get_by_text("JavaScript").first.click()

        await section.locator("pre[data-language=javascript]").first.wait_for(state="visible")
        assert await section.locator("pre[data-language=curl]").first.is_hidden()
        assert await section.locator("details.try").is_hidden()


async def wait_visible(locator: Any) -> bool:
    """Wait until an element is visible and return True; raise an error after the timeout."""
    await locator.first.wait_for(state="visible")
    return True

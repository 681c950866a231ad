"""The developer portal in a real browser: from a new application to a connected bot, and its deletion."""

import base64
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from hubbub.server.app import App
from hubbub.server.core.clock import ControlledClock
from tests.media import data_uri, png
from tests.receiver import Receiver
from tests.web.conftest import DESK, PHONE, Opener
from tests.web.test_accessibility import look
from tests.world import NOW_MS, Actor, World, small_config

pytestmark = [pytest.mark.xdist_group("chromium"), pytest.mark.timeout(400)]

REDIRECT = "https://game.example/callback"
SECTIONS = (
    "General",
    "Bot",
    "OAuth2",
    "Installation",
    "Approvals",
    "Identity",
    "Webhook events",
    "Interactions",
    "Emoji and art",
    "Testers",
    "Store",
)


@pytest.fixture
async def near_town() -> AsyncIterator[World]:
    """A platform that may send requests to this machine, as `hubbub dev` does."""
    app = App(small_config(private_targets=True), clock=ControlledClock(NOW_MS, running=False))
    await app.start()
    async with aiohttp.ClientSession() as client:
        world = World(app, client)
        yield world
        await world.close()
    await app.stop()


async def enter(page: Any, world: World, name: str = "alice") -> Actor:
    """Sign in as a new user."""
    person = await world.user(name)
    await page.context.add_cookies([{"name": "hubbub_session", "value": person.token, "url": world.url}])
    return person


async def press(page: Any, name: str) -> None:
    """Click a button and wait for the next page."""
    async with page.expect_navigation():
        await page.get_by_role("button", name=name, exact=True).click()


async def make(page: Any, world: World, name: str) -> str:
    """Create an application and return its id."""
    await page.goto(f"{world.url}/developers")
    await page.get_by_label("Name").fill(name)
    await press(page, "Create application")
    await page.get_by_text(f"{name} was created.").wait_for()
    identifier: str = page.url.rpartition("/")[2]
    return identifier


@pytest.mark.parametrize(("width", "script"), [(PHONE, False), (DESK, False), (DESK, True)])
async def test_a_developer_creates_configures_and_deletes_an_application(
    near_town: World, chromium: Opener, receiver: Receiver, width: int, script: bool
) -> None:
    world = near_town
    said: list[str] = []
    async with chromium(width, script) as page:
        page.on("console", lambda message: said.append(message.text))
        alice = await enter(page, world)
        identifier = await make(page, world, "Lighthouse")
        home = f"{world.url}/developers/{identifier}"

        # A bot, whose token is shown once.
        await page.goto(f"{home}/bot")
        await press(page, "Add a bot")
        first = await page.locator("dd .secret").inner_text()
        await page.get_by_role("link", name="I copied it").click()
        assert first not in await page.content()
        await press(page, "Reset token")
        token = await page.locator("dd .secret").inner_text()
        bot = Actor(world, int(identifier), token, "Lighthouse", bot=True, application_id=int(identifier))
        session = await bot.connect(1)
        assert session.ready["user"]["id"] == identifier

        # Intents.
        await page.goto(f"{home}/bot")
        await page.get_by_text("1 of 10,000").or_(page.get_by_text("0 of 10,000")).wait_for()
        await page.get_by_label("MESSAGE_CONTENT").check()
        await press(page, "Save intents")
        await page.get_by_text("The change applies when the bot reconnects.").wait_for()
        assert await page.get_by_label("MESSAGE_CONTENT").is_checked()
        assert (await alice.get(f"/applications/{identifier}")).ok()["flags"] == 1 << 19

        # Redirect URIs: the error of an invalid one is beside its field, where a screen reader finds it.
        await page.goto(f"{home}/oauth2")
        field = page.get_by_label("Redirect URI")
        await field.fill("javascript:alert(1)")
        await press(page, "Add redirect")
        assert await field.get_attribute("aria-invalid") == "true"
        described = (await field.get_attribute("aria-describedby")).split()
        assert "Not a valid redirect URI" in await page.locator(f"#{described[-1]}").inner_text()
        await field.fill(REDIRECT)
        await press(page, "Add redirect")
        await page.get_by_role("button", name=f"Remove {REDIRECT}").wait_for()

        # A webhook URL that accepts any signature is rejected, and accepted once it verifies signatures.
        receiver.use_verify_key_of((await alice.get(f"/applications/{identifier}")).ok())
        receiver.accept_invalid_signatures = True
        await page.goto(f"{home}/webhooks")
        await page.get_by_label("URL (optional)").fill(receiver.url)
        await page.get_by_label("Application deauthorized").check()
        await press(page, "Verify and save")
        await page.locator("#error-event_webhooks_url").wait_for()
        receiver.accept_invalid_signatures = False
        await press(page, "Verify and save")
        await page.get_by_text("Endpoint verified and saved.").wait_for()
        assert await page.get_by_label("URL (optional)").input_value() == receiver.url

        # Trusted identity providers.
        await page.goto(f"{home}/identity")
        await page.get_by_label("Provider", exact=True).select_option("STEAM")
        await page.get_by_label("Client IDs").fill("480")
        await press(page, "Verify and save")
        await page.get_by_role("button", name="Remove Steam").wait_for()

        # The application is deleted.
        await page.goto(home)
        await page.get_by_label("to confirm").fill("Lighthouse")
        await press(page, "Delete application")
        await page.get_by_text("Lighthouse was deleted.").wait_for()
        assert await session.wait_closed() == 4004
    assert [text for text in said if "Content Security Policy" in text] == []


async def test_an_authorize_url_is_built_by_keyboard_and_opens_the_consent_page(
    near_town: World, chromium: Opener
) -> None:
    async with chromium(DESK, False) as page:
        await enter(page, near_town)
        identifier = await make(page, near_town, "Lighthouse")
        await page.goto(f"{near_town.url}/developers/{identifier}/bot")
        await press(page, "Add a bot")
        await page.goto(f"{near_town.url}/developers/{identifier}/oauth2")
        await page.get_by_label("bot", exact=True).focus()
        await page.keyboard.press("Space")
        await page.get_by_role("button", name="Generate URL").focus()
        await page.keyboard.press("Enter")

        await page.locator("a.address").click()

        assert "Lighthouse" in await page.get_by_role("heading", level=1).inner_text()


async def test_images_are_uploaded(near_town: World, chromium: Opener) -> None:
    picture = {"name": "x.png", "mimeType": "image/png", "buffer": base64.b64decode(data_uri(png()).partition(",")[2])}
    async with chromium(PHONE, False) as page:
        alice = await enter(page, near_town)
        identifier = await make(page, near_town, "Lighthouse")
        home = f"{near_town.url}/developers/{identifier}"
        await page.set_input_files("#field-icon", picture)
        await press(page, "Save")
        await page.get_by_text("Saved.").wait_for()
        await page.goto(f"{home}/pictures")
        await page.fill("#field-emoji_name", "beam")
        await page.set_input_files("#field-emoji_image", picture)
        await press(page, "Add emoji")
        await page.fill("#field-art_name", "Tower")
        await page.set_input_files("#field-art_image", picture)
        await press(page, "Add art")

        await page.get_by_role("button", name="Delete tower").wait_for()
        shown = page.locator(".gallery img")
        assert [await shown.nth(place).evaluate("image => image.naturalWidth") for place in range(2)] == [1, 1]
        assert (await alice.get(f"/applications/{identifier}")).ok()["icon"]


@pytest.mark.parametrize(("width", "scheme"), [(PHONE, "dark"), (DESK, "light")])
async def test_every_portal_page_is_accessible(near_town: World, chromium: Opener, width: int, scheme: str) -> None:
    problems: list[str] = []
    async with chromium(width) as page:
        await page.emulate_media(color_scheme=scheme)
        alice = await enter(page, near_town)
        await near_town.user("bob")
        await page.goto(f"{near_town.url}/developers")
        await look(page, problems, "nothing yet")
        identifier = await make(page, near_town, "A lighthouse with a longish name"[:32])
        await page.goto(f"{near_town.url}/developers")
        await look(page, problems, "list")
        (await alice.post(f"/applications/{identifier}/bot")).ok()
        (await alice.post(f"/applications/{identifier}/testers", json={"username": "bob"})).ok()
        (await alice.post(f"/applications/{identifier}/emojis", json={"name": "wave", "image": data_uri(png())})).ok()
        address = f"/applications/{identifier}"
        (await alice.patch(address, json={"redirect_uris": [f"{REDIRECT}/{'long' * 30}"]})).ok()
        await page.goto(f"{near_town.url}/developers/{identifier}")
        for section in SECTIONS:
            if width == PHONE:
                await page.get_by_text("Sections", exact=True).click()
            async with page.expect_navigation():
                await page.get_by_role("navigation", name="Application").get_by_role("link", name=section).click()
            await look(page, problems, section)
        await page.goto(f"{near_town.url}/developers/{identifier}/oauth2?scope=bot&scope=identify")
        await look(page, problems, "address")
        await page.get_by_label("Redirect URI").fill("nowhere")
        await press(page, "Add redirect")
        await look(page, problems, "refused")
        await press(page, "Reset secret")
        await look(page, problems, "secret")

    assert problems == []

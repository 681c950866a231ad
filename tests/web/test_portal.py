"""The developer portal in a real browser: configuration of an application, images, and accessibility."""

from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
import pytest_asyncio

from hubbub.protocol.enums import CloseCode, EventWebhooksStatus
from hubbub.protocol.flags import ApplicationFlags
from hubbub.protocol.intents import Intents
from hubbub.server.app import App
from hubbub.server.core.clock import ControlledClock
from hubbub.server.transports.web.portal.common import SECTIONS as PORTAL_SECTIONS
from tests.media import data_uri, png
from tests.receiver import Receiver
from tests.web.accessibility import record_problems
from tests.web.conftest import DESKTOP_WIDTH, PHONE_WIDTH, OpenPage
from tests.world import NOW_MS, Actor, World, small_config

pytestmark = pytest.mark.timeout(400)

REDIRECT_URI = "https://game.example/callback"
SECTIONS = (
    "General",
    "Bot",
    "OAuth2",
    "Installation",
    "Approvals",
    "Identity",
    "Webhook events",
    "Interactions",
    "Keys",
    "Log",
    "Commands",
    "Emoji and art",
    "Testers",
    "Store",
)


@pytest_asyncio.fixture(loop_scope="session")
async def portal_world() -> AsyncIterator[World]:
    """A platform that may send requests to this machine, as `hubbub dev` does."""
    app = App(small_config(allow_private_targets=True), clock=ControlledClock(NOW_MS, running=False))
    await app.start()
    async with aiohttp.ClientSession() as client:
        world = World(app, client)
        yield world
        await world.close()
    await app.stop()


async def sign_in(page: Any, world: World, name: str = "alice") -> Actor:
    """Sign in as a new user."""
    user = await world.user(name)
    await page.context.add_cookies([{"name": "hubbub_session", "value": user.token, "url": world.url}])
    return user


async def click_and_wait(page: Any, name: str) -> None:
    """Click a button and wait for the next page."""
    async with page.expect_navigation():
        await page.get_by_role("button", name=name, exact=True).click()


async def create_app(page: Any, world: World, name: str) -> str:
    """Create an application in the portal and return its ID."""
    await page.goto(f"{world.url}/developers")
    await page.get_by_label("Name").fill(name)
    await click_and_wait(page, "Create application")
    await page.get_by_text(f"{name} was created.").wait_for()
    application_id: str = page.url.rpartition("/")[2]
    return application_id


async def test_scripts_of_the_portal_need_no_markup_from_text(portal_world: World, open_page: OpenPage) -> None:
    world, violations = portal_world, list[str]()
    async with open_page() as page:
        page.on("console", lambda line: violations.append(line.text))
        page.on("pageerror", lambda error: violations.append(str(error)))
        await sign_in(page, world)
        application_id = await create_app(page, world, "Lighthouse")
        for section, title in PORTAL_SECTIONS:
            await page.goto(f"{world.url}/developers/{application_id}{section}")
            await page.get_by_role("link", name=title, exact=True).wait_for()
            for button in await page.locator("button[data-copy]").all():
                if await button.is_visible():
                    await button.click()
                    await page.get_by_role("status").get_by_text("Copied").wait_for()
        assert violations == []
        # Trusted Types are in force: text cannot become markup.
        error = await page.evaluate("(() => { try { document.body.innerHTML = '<p>' } catch (e) { return e.name } })()")
        assert error == "TypeError"


@pytest.mark.parametrize(("width", "has_script"), [(PHONE_WIDTH, False), (DESKTOP_WIDTH, False), (DESKTOP_WIDTH, True)])
async def test_a_developer_creates_configures_and_deletes_an_application(
    portal_world: World, open_page: OpenPage, width: int, has_script: bool
) -> None:
    world = portal_world
    console_lines: list[str] = []
    async with Receiver() as receiver, open_page(width, has_script) as page:
        page.on("console", lambda message: console_lines.append(message.text))
        alice = await sign_in(page, world)
        application_id = await create_app(page, world, "Lighthouse")
        portal_url = f"{world.url}/developers/{application_id}"

        # Create a bot; its token is shown once.
        await page.goto(f"{portal_url}/bot")
        await click_and_wait(page, "Add a bot")
        first_token = await page.locator("dd .secret").inner_text()
        await page.get_by_role("link", name="I copied it").click()
        assert first_token not in await page.content()
        await click_and_wait(page, "Reset token")
        token = await page.locator("dd .secret").inner_text()
        bot = Actor(world, int(application_id), token, "Lighthouse", is_bot=True, application_id=int(application_id))
        session = await bot.connect(Intents.GUILDS)
        assert session.ready["user"]["id"] == application_id

        # Intents.
        await page.goto(f"{portal_url}/bot")
        await page.get_by_text("1 of 10,000").or_(page.get_by_text("0 of 10,000")).wait_for()
        await page.get_by_label("MESSAGE_CONTENT").check()
        await click_and_wait(page, "Save intents")
        await page.get_by_text("The change applies when the bot reconnects.").wait_for()
        assert await page.get_by_label("MESSAGE_CONTENT").is_checked()
        assert (await alice.get(f"/applications/{application_id}")).ok()[
            "flags"
        ] == ApplicationFlags.GATEWAY_MESSAGE_CONTENT_LIMITED

        # Redirect URIs: the error of an invalid one is beside its field, where a screen reader finds it.
        await page.goto(f"{portal_url}/oauth2")
        field = page.get_by_label("Redirect URI")
        await field.fill("javascript:alert(1)")
        await click_and_wait(page, "Add redirect")
        assert await field.get_attribute("aria-invalid") == "true"
        description_ids = (await field.get_attribute("aria-describedby")).split()
        assert "Not a valid redirect URI" in await page.locator(f"#{description_ids[-1]}").inner_text()
        await field.fill(REDIRECT_URI)
        await click_and_wait(page, "Add redirect")
        await page.get_by_role("button", name=f"Remove {REDIRECT_URI}").wait_for()

        # A webhook URL that accepts any signature is rejected, and accepted once it verifies signatures.
        receiver.use_verify_key_of((await alice.get(f"/applications/{application_id}")).ok())
        receiver.accepts_invalid_signatures = True
        await page.goto(f"{portal_url}/webhooks")
        await page.get_by_label("URL (optional)").fill(receiver.events_url)
        await page.get_by_label("Application deauthorized").check()
        await click_and_wait(page, "Verify and save")
        await page.locator("#error-event_webhooks_url").wait_for()
        receiver.accepts_invalid_signatures = False
        await click_and_wait(page, "Verify and save")
        await page.get_by_text("Endpoint verified and saved.").wait_for()
        assert await page.get_by_label("URL (optional)").input_value() == receiver.events_url

        # Trusted identity providers.
        await page.goto(f"{portal_url}/identity")
        await page.get_by_label("Provider", exact=True).select_option("STEAM")
        await page.get_by_label("Client IDs").fill("480")
        await click_and_wait(page, "Verify and save")
        await page.get_by_role("button", name="Remove Steam").wait_for()

        # The application is deleted.
        await page.goto(portal_url)
        await page.get_by_label("to confirm").fill("Lighthouse")
        await click_and_wait(page, "Delete application")
        await page.get_by_text("Lighthouse was deleted.").wait_for()
        assert await session.wait_closed() == CloseCode.AUTHENTICATION_FAILED
    assert [text for text in console_lines if "Content Security Policy" in text] == []


async def test_an_authorize_url_is_built_by_keyboard_and_opens_the_consent_page(
    portal_world: World, open_page: OpenPage
) -> None:
    async with open_page(DESKTOP_WIDTH, False) as page:
        await sign_in(page, portal_world)
        application_id = await create_app(page, portal_world, "Lighthouse")
        await page.goto(f"{portal_world.url}/developers/{application_id}/bot")
        await click_and_wait(page, "Add a bot")
        await page.goto(f"{portal_world.url}/developers/{application_id}/oauth2")
        await page.get_by_label("bot", exact=True).focus()
        await page.keyboard.press("Space")
        await page.get_by_role("button", name="Generate URL").focus()
        await page.keyboard.press("Enter")

        await page.locator("a.address").click()

        assert "Lighthouse" in await page.get_by_role("heading", level=1).inner_text()


async def test_images_are_uploaded(portal_world: World, open_page: OpenPage) -> None:
    image_file = {
        "name": "x.png",
        "mimeType": "image/png",
        "buffer": png(1, 1),
    }
    async with open_page(PHONE_WIDTH, False) as page:
        alice = await sign_in(page, portal_world)
        application_id = await create_app(page, portal_world, "Lighthouse")
        portal_url = f"{portal_world.url}/developers/{application_id}"
        await page.set_input_files("#field-icon", image_file)
        await click_and_wait(page, "Save")
        await page.get_by_text("Saved.").wait_for()
        await page.goto(f"{portal_url}/pictures")
        await page.fill("#field-emoji_name", "beam")
        await page.set_input_files("#field-emoji_image", image_file)
        await click_and_wait(page, "Add emoji")
        await page.fill("#field-art_name", "Tower")
        await page.set_input_files("#field-art_image", image_file)
        await click_and_wait(page, "Add art")

        await page.get_by_role("button", name="Delete tower").wait_for()
        images = page.locator(".gallery img")
        assert [await images.nth(index).evaluate("image => image.naturalWidth") for index in range(2)] == [1, 1]
        assert (await alice.get(f"/applications/{application_id}")).ok()["icon"]


async def create_delivery(world: World, owner: Actor, application_id: str, receiver: Receiver) -> None:
    """Deliver a webhook event of an application to a receiver."""
    path = f"/applications/{application_id}"
    receiver.use_verify_key_of((await owner.get(path)).ok())
    endpoint = {"event_webhooks_url": receiver.events_url, "event_webhooks_types": ["APPLICATION_AUTHORIZED"]}
    redirects = {"redirect_uris": [REDIRECT_URI]}
    (await owner.patch(path, json=endpoint | redirects | {"event_webhooks_status": EventWebhooksStatus.ENABLED})).ok()
    query = f"client_id={application_id}&response_type=code&scope=identify&redirect_uri={REDIRECT_URI}"
    (await owner.post(f"/oauth2/authorize?{query}", json={"authorize": True})).ok()
    await world.run_due_jobs()
    await receiver.wait_for_events(1)


@pytest.mark.parametrize(("width", "scheme"), [(PHONE_WIDTH, "dark"), (DESKTOP_WIDTH, "light")])
async def test_every_portal_page_is_accessible(
    portal_world: World, open_page: OpenPage, width: int, scheme: str
) -> None:
    problems: list[str] = []
    async with Receiver() as receiver, open_page(width) as page:
        await page.emulate_media(color_scheme=scheme)
        alice = await sign_in(page, portal_world)
        await portal_world.user("bob")
        await page.goto(f"{portal_world.url}/developers")
        await record_problems(page, problems, "empty list")
        application_id = await create_app(page, portal_world, "A lighthouse with a longish name")
        await page.goto(f"{portal_world.url}/developers")
        await record_problems(page, problems, "list")
        (await alice.post(f"/applications/{application_id}/bot")).ok()
        (await alice.post(f"/applications/{application_id}/testers", json={"username": "bob"})).ok()
        (
            await alice.post(f"/applications/{application_id}/emojis", json={"name": "wave", "image": data_uri(png())})
        ).ok()
        (
            await alice.patch(
                f"/applications/{application_id}", json={"redirect_uris": [f"{REDIRECT_URI}/{'long' * 30}"]}
            )
        ).ok()
        await page.goto(f"{portal_world.url}/developers/{application_id}")
        for section in SECTIONS:
            if width == PHONE_WIDTH:
                await page.get_by_text("Sections", exact=True).click()
            async with page.expect_navigation():
                await page.get_by_role("navigation", name="Application").get_by_role("link", name=section).click()
            await record_problems(page, problems, section)
        team = (await alice.post("/teams", json={"name": "Sailors"})).ok()
        (await alice.post(f"/teams/{team['id']}/members", json={"username": "bob"})).ok()
        sku = (await alice.post(f"/applications/{application_id}/skus", json={"type": 2, "name": "Gold"})).ok()
        (await alice.post(f"/applications/{application_id}/key-rollover")).ok()
        for path in ("teams", f"teams/{team['id']}", f"{application_id}/store/{sku['id']}", f"{application_id}/keys"):
            await page.goto(f"{portal_world.url}/developers/{path}")
            await record_problems(page, problems, path)
        await create_delivery(portal_world, alice, application_id, receiver)
        await page.goto(f"{portal_world.url}/developers/{application_id}/log")
        await record_problems(page, problems, "log")
        await page.get_by_role("link", name="APPLICATION_AUTHORIZED").first.click()
        await page.wait_for_url("**/log/*")
        await record_problems(page, problems, "delivery")
        await page.goto(f"{portal_world.url}/")
        await record_problems(page, problems, "home")
        await page.goto(f"{portal_world.url}/developers/{application_id}/oauth2?scope=bot&scope=identify")
        await record_problems(page, problems, "authorize URL")
        await page.get_by_label("Redirect URI").fill("nowhere")
        await click_and_wait(page, "Add redirect")
        await record_problems(page, problems, "rejected")
        await click_and_wait(page, "Reset secret")
        await record_problems(page, problems, "secret")

    assert problems == []


async def test_copy_buttons_copy_ids_keys_and_secrets(portal_world: World, open_page: OpenPage) -> None:
    async with open_page(DESKTOP_WIDTH, True) as page:
        await page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=portal_world.url)
        await sign_in(page, portal_world)
        application_id = await create_app(page, portal_world, "Lighthouse")
        await page.get_by_role("button", name="Copy application ID").click()
        await page.get_by_role("status").get_by_text("Copied", exact=True).wait_for(state="attached")
        assert await page.evaluate("navigator.clipboard.readText()") == application_id
        await page.goto(f"{portal_world.url}/developers/{application_id}/bot")
        await click_and_wait(page, "Add a bot")
        token = await page.locator("dd .secret").inner_text()
        await page.get_by_role("button", name="Copy Token").focus()
        await page.keyboard.press("Enter")
        await page.get_by_role("status").get_by_text("Copied", exact=True).wait_for(state="attached")
        assert await page.evaluate("navigator.clipboard.readText()") == token


async def test_copy_buttons_are_hidden_without_script(portal_world: World, open_page: OpenPage) -> None:
    async with open_page(PHONE_WIDTH, False) as page:
        await sign_in(page, portal_world)
        await create_app(page, portal_world, "Lighthouse")

        assert await page.get_by_role("button", name="Copy").count() == 0
        assert await page.locator("[data-copy]").count() == 2

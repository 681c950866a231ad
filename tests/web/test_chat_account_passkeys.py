"""Passkeys in a real browser, with Chromium's virtual authenticator."""

import socket
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest_asyncio

from hubbub.server.app import App
from hubbub.server.control import ControlApi
from hubbub.server.core.clock import ControlledClock
from tests.server.identity.accounts import PASSWORD, create_user_with_password, enable_totp
from tests.web.chat import ChatPlatform
from tests.web.conftest import OpenPage
from tests.web.test_chat_account_settings import open_user_settings
from tests.world import NOW_MS, World, small_config


@pytest_asyncio.fixture(loop_scope="session")
async def local_platform(open_page: OpenPage) -> AsyncIterator[ChatPlatform]:
    """A platform at `localhost`, where browsers allow passkeys without HTTPS."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    config = small_config(port=port, public_url=f"http://localhost:{port}")
    app = App(config, clock=ControlledClock(NOW_MS, running=False))
    control = ControlApi(app)
    await app.start()
    async with aiohttp.ClientSession() as client:
        world = World(app, client)
        yield ChatPlatform(world, control, open_page)
        await world.close()
    await control.close()
    await app.stop()


async def add_authenticator(page: Any) -> None:
    """Add an authenticator that verifies the user immediately."""
    session = await page.context.new_cdp_session(page)
    await session.send("WebAuthn.enable")
    options = {
        "protocol": "ctap2",
        "transport": "internal",
        "hasResidentKey": True,
        "hasUserVerification": True,
        "isUserVerified": True,
        "automaticPresenceSimulation": True,
    }
    await session.send("WebAuthn.addVirtualAuthenticator", {"options": options})


async def test_a_passkey_is_added_in_the_chat_and_replaces_password_and_code(local_platform: ChatPlatform) -> None:
    world = local_platform.world
    nora = await create_user_with_password(world, "nora")
    await enable_totp(world, nora)
    async with local_platform.open_window(nora) as window:
        page = window.page
        window.expected_errors = ("Failed to load resource",)
        await add_authenticator(page)
        settings = await open_user_settings(window, "Security")
        await settings.get_by_text("You have no passkeys.").wait_for()
        await settings.get_by_role("button", name="Add passkey").click()
        dialog = page.get_by_role("dialog", name="Add passkey")
        await dialog.get_by_label("Name").fill("Laptop")
        await dialog.get_by_label("Your password").fill("not this one")
        await dialog.get_by_role("button", name="Continue").click()
        await dialog.get_by_role("alert").get_by_text("Password does not match.").wait_for()
        await dialog.get_by_label("Your password").fill(PASSWORD)
        await dialog.get_by_role("button", name="Continue").click()
        await settings.get_by_role("list", name="Passkeys").get_by_text("Laptop", exact=True).wait_for()

        await page.context.clear_cookies()
        await page.goto(f"{local_platform.url}/login")
        await page.get_by_role("button", name="Log in with a passkey").click()
        await page.wait_for_url("**/app")
        await page.locator(".account-name").get_by_text("nora").wait_for()

        # The page that asks for a code offers the passkey too.
        await page.context.clear_cookies()
        await page.goto(f"{local_platform.url}/login?next=/settings/account")
        await page.get_by_label("Username or email").fill("nora")
        await page.get_by_label("Password", exact=True).fill(PASSWORD)
        await page.get_by_role("button", name="Log in", exact=True).click()
        await page.get_by_label("Code").wait_for()
        await page.get_by_role("button", name="Log in with a passkey").click()
        await page.wait_for_url("**/settings/account")
        await page.get_by_role("link", name="Remove Laptop").wait_for()


async def test_the_login_page_offers_passkeys_only_where_they_work(
    local_platform: ChatPlatform, web_world: World, open_page: OpenPage
) -> None:
    button = "Log in with a passkey"
    async with open_page(has_script=False) as page:
        await page.goto(f"{local_platform.url}/login")
        assert await page.get_by_role("button", name=button).count() == 0
        await page.get_by_role("button", name="Log in", exact=True).wait_for()
    async with open_page() as page:
        # The host of this URL is an IP address, and passkeys need a host name.
        await page.goto(f"{web_world.url}/login")
        assert await page.get_by_role("button", name=button).count() == 0

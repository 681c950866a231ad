"""User flows through the pages, with and without scripts: registration, authorization, devices, export and deletion."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.oauth import Client, create_application, url_parameters
from tests.pages import PASSWORD
from tests.web.conftest import DESKTOP_WIDTH, PHONE_WIDTH, OpenPage
from tests.world import World

pytestmark = [pytest.mark.full_browser, pytest.mark.timeout(400)]

REDIRECT_URI = "http://127.0.0.1/callback"

with_and_without_script = pytest.mark.parametrize("has_script", [True, False], ids=["script", "no script"])


async def create_authorizing_game(web_world: World, **fields: Any) -> Client:
    """Create a game that requests authorization."""
    client = await create_application(web_world, name="Orchard", redirect_uris=(REDIRECT_URI,), **fields)
    client.redirect_uri = REDIRECT_URI
    return client


async def register_with_keyboard(page: Any, web_world: World, name: str = "mary") -> None:
    """Register an account with the keyboard alone."""
    await page.goto(f"{web_world.url}/register")
    await page.get_by_label("Username").focus()
    await page.keyboard.type(name)
    await page.keyboard.press("Tab")
    await page.keyboard.type("Mary of the Hills")
    await page.keyboard.press("Tab")
    await page.keyboard.press("Tab")
    await page.keyboard.type(PASSWORD)
    await page.keyboard.press("Enter")
    await page.wait_for_url("**/app")


async def click_and_wait_redirect(page: Any, button: str) -> dict[str, str]:
    """Click a button that redirects to the game; return the query that the game receives."""
    requested_urls: list[str] = []

    async def handle_request(route: Any) -> None:
        requested_urls.append(route.request.url)
        await route.fulfill(status=200, content_type="text/html", body="<title>game</title>")

    await page.context.route("http://127.0.0.1:4915*/**", handle_request)
    await page.get_by_role("button", name=button).click()
    await page.wait_for_url("**/callback?*")
    return url_parameters(requested_urls[-1])


@with_and_without_script
async def test_a_user_registers_authorizes_a_game_and_revokes_it(
    web_world: World, open_page: OpenPage, has_script: bool
) -> None:
    client = await create_authorizing_game(web_world)
    async with open_page(PHONE_WIDTH, has_script) as page:
        await register_with_keyboard(page, web_world)
        path = client.authorize_path("identify", state="s", redirect_uri="http://127.0.0.1:49152/callback")
        await page.goto(web_world.url + path)
        assert await page.get_by_role("heading", level=1).inner_text() == "Orchard wants to access your account"

        query = await click_and_wait_redirect(page, "Authorize")

        assert query["state"] == "s"
        token_response = await client.exchange(query["code"], redirect_uri="http://127.0.0.1:49152/callback")
        assert token_response.ok()["scope"] == "identify"
        await page.goto(f"{web_world.url}/settings/apps")
        await page.get_by_role("button", name="Remove Orchard").click()
        await page.get_by_text("No connected apps.").wait_for()


@with_and_without_script
async def test_a_user_logs_in_during_authorization_and_denies(
    web_world: World, open_page: OpenPage, has_script: bool
) -> None:
    client = await create_authorizing_game(web_world)
    async with open_page(DESKTOP_WIDTH, has_script) as page:
        await register_with_keyboard(page, web_world)
        await page.goto(f"{web_world.url}/settings/account")
        await page.get_by_role("button", name="Log out").click()
        await page.get_by_text("You have been logged out.").wait_for()
        await page.goto(
            web_world.url + client.authorize_path("identify", redirect_uri="http://127.0.0.1:49153/callback")
        )
        await page.get_by_label("Username or email").fill("mary")
        await page.get_by_label("Password").fill("not this one")
        await page.get_by_role("button", name="Log in").click()
        await page.get_by_role("alert").wait_for()
        await page.get_by_label("Password").fill(PASSWORD)
        await page.keyboard.press("Enter")
        await page.get_by_role("heading", name="Orchard wants to access your account").wait_for()

        query = await click_and_wait_redirect(page, "Cancel")

        assert query["error"] == "access_denied"


@with_and_without_script
async def test_an_authorized_game_requires_only_a_login(
    web_world: World, open_page: OpenPage, has_script: bool
) -> None:
    """The CSP directive form-action also applies to redirects after a form, so the login page must allow the game's URL."""
    client = await create_authorizing_game(web_world)
    async with open_page(DESKTOP_WIDTH, has_script) as page:
        await register_with_keyboard(page, web_world)
        redirect = "http://127.0.0.1:49154/callback"
        await page.goto(web_world.url + client.authorize_path("identify", redirect_uri=redirect))
        await click_and_wait_redirect(page, "Authorize")
        await page.goto(f"{web_world.url}/settings/account")
        await page.get_by_role("button", name="Log out").click()
        await page.goto(web_world.url + client.authorize_path("identify", redirect_uri=redirect, prompt="none"))
        await page.get_by_label("Username or email").fill("mary")
        await page.get_by_label("Password").fill(PASSWORD)

        query = await click_and_wait_redirect(page, "Log in")

        assert "code" in query


@with_and_without_script
async def test_a_device_is_authorized_by_its_code(web_world: World, open_page: OpenPage, has_script: bool) -> None:
    client = await create_authorizing_game(web_world, is_public=True)
    device = (await client.post_form("/oauth2/device/authorize", scope="identify")).ok()
    async with open_page(PHONE_WIDTH, has_script) as page:
        await register_with_keyboard(page, web_world)
        await page.goto(device["verification_uri"])
        await page.get_by_label("Device code").focus()
        await page.keyboard.type(device["user_code"].lower())
        await page.keyboard.press("Enter")
        await page.get_by_role("button", name="Authorize").click()
        await page.get_by_role("heading", name="Connected").wait_for()
    web_world.clock.advance(6_000)
    fields = {"grant_type": "urn:ietf:params:oauth:grant-type:device_code", "device_code": device["device_code"]}
    assert (await client.post_form("/oauth2/token", **fields)).ok()["scope"] == "identify"


@with_and_without_script
async def test_a_user_exports_their_data_and_deletes_the_account(
    web_world: World, open_page: OpenPage, has_script: bool, tmp_path: Path
) -> None:
    async with open_page(DESKTOP_WIDTH, has_script) as page:
        await register_with_keyboard(page, web_world)
        await page.goto(f"{web_world.url}/settings/account")
        async with page.expect_download() as download_info:
            await page.get_by_role("link", name="Download your data").click()
        download = await download_info.value
        await download.save_as(tmp_path / "copy.json")
        assert json.loads((tmp_path / "copy.json").read_text())["user"]["username"] == "mary"
        await page.get_by_role("link", name="Delete account").click()
        await page.get_by_label("Your password").fill(PASSWORD)
        await page.get_by_role("button", name="Delete account").click()
        await page.get_by_text("Your account was deleted.").wait_for()
        await page.get_by_label("Username or email").fill("mary")
        await page.get_by_label("Password").fill(PASSWORD)
        await page.get_by_role("button", name="Log in").click()
        await page.get_by_role("alert").wait_for()

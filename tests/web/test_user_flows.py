"""Complete user flows through the pages, with and without scripts."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.oauth import Client, create_application, url_parameters
from tests.pages import PASSWORD
from tests.web.conftest import DESK, PHONE, Opener
from tests.world import World

pytestmark = [pytest.mark.xdist_group("chromium"), pytest.mark.timeout(400)]

BACK = "http://127.0.0.1/callback"

either = pytest.mark.parametrize("script", [True, False], ids=["script", "no script"])


async def orchard(town: World, **more: Any) -> Client:
    """Create a game that requests authorization."""
    client = await create_application(town, name="Orchard", redirect_uris=(BACK,), **more)
    client.redirect_uri = BACK
    return client


async def register(page: Any, town: World, name: str = "mary") -> None:
    """Register an account with the keyboard alone."""
    await page.goto(f"{town.url}/register")
    await page.get_by_label("Username").focus()
    await page.keyboard.type(name)
    await page.keyboard.press("Tab")
    await page.keyboard.type("Mary of the Hills")
    await page.keyboard.press("Tab")
    await page.keyboard.press("Tab")
    await page.keyboard.type(PASSWORD)
    await page.keyboard.press("Enter")
    await page.wait_for_url("**/settings/account")


async def came_back(page: Any, press: str, receiver: list[str]) -> dict[str, str]:
    """Press a button that leads to the game; return the query that it receives."""

    async def catch(route: Any) -> None:
        receiver.append(route.request.url)
        await route.fulfill(status=200, content_type="text/html", body="<title>game</title>")

    await page.context.route("http://127.0.0.1:4915*/**", catch)
    await page.get_by_role("button", name=press).click()
    await page.wait_for_url("**/callback?*")
    return url_parameters(receiver[-1])


@either
async def test_a_user_registers_authorizes_a_game_and_revokes_it(town: World, chromium: Opener, script: bool) -> None:
    client = await orchard(town)
    async with chromium(PHONE, script) as page:
        await register(page, town)
        address = client.authorize_path("identify", state="s", redirect_uri="http://127.0.0.1:49152/callback")
        await page.goto(town.url + address)
        assert await page.get_by_role("heading", level=1).inner_text() == "Orchard wants to access your account"

        answer = await came_back(page, "Authorize", [])

        assert answer["state"] == "s"
        exchanged = await client.exchange(answer["code"], redirect_uri="http://127.0.0.1:49152/callback")
        assert exchanged.ok()["scope"] == "identify"
        await page.goto(f"{town.url}/settings/apps")
        await page.get_by_role("button", name="Remove Orchard").click()
        await page.get_by_text("No connected apps.").wait_for()


@either
async def test_a_user_logs_in_during_authorization_and_denies(town: World, chromium: Opener, script: bool) -> None:
    client = await orchard(town)
    async with chromium(DESK, script) as page:
        await register(page, town)
        await page.get_by_role("button", name="Log out").click()
        await page.get_by_text("You have been logged out.").wait_for()
        await page.goto(town.url + client.authorize_path("identify", redirect_uri="http://127.0.0.1:49153/callback"))
        await page.get_by_label("Username or email").fill("mary")
        await page.get_by_label("Password").fill("not this one")
        await page.get_by_role("button", name="Log in").click()
        await page.get_by_role("alert").wait_for()
        await page.get_by_label("Password").fill(PASSWORD)
        await page.keyboard.press("Enter")
        await page.get_by_role("heading", name="Orchard wants to access your account").wait_for()

        answer = await came_back(page, "Cancel", [])

        assert answer["error"] == "access_denied"


@either
async def test_an_authorized_game_needs_only_the_login(town: World, chromium: Opener, script: bool) -> None:
    """form-action also governs where a form ends after redirects: the login must be able to end in the game."""
    client = await orchard(town)
    async with chromium(DESK, script) as page:
        await register(page, town)
        redirect = "http://127.0.0.1:49154/callback"
        await page.goto(town.url + client.authorize_path("identify", redirect_uri=redirect))
        await came_back(page, "Authorize", [])
        await page.goto(f"{town.url}/settings/account")
        await page.get_by_role("button", name="Log out").click()
        await page.goto(town.url + client.authorize_path("identify", redirect_uri=redirect, prompt="none"))
        await page.get_by_label("Username or email").fill("mary")
        await page.get_by_label("Password").fill(PASSWORD)

        answer = await came_back(page, "Log in", [])

        assert "code" in answer


@either
async def test_a_device_is_authorized_by_its_code(town: World, chromium: Opener, script: bool) -> None:
    client = await orchard(town, public=True)
    device = (await client.post_form("/oauth2/device/authorize", scope="identify")).ok()
    async with chromium(PHONE, script) as page:
        await register(page, town)
        await page.goto(device["verification_uri"])
        await page.get_by_label("Device code").focus()
        await page.keyboard.type(device["user_code"].lower())
        await page.keyboard.press("Enter")
        await page.get_by_role("button", name="Authorize").click()
        await page.get_by_role("heading", name="Connected").wait_for()
    town.app.clock.advance(6_000)
    fields = {"grant_type": "urn:ietf:params:oauth:grant-type:device_code", "device_code": device["device_code"]}
    assert (await client.post_form("/oauth2/token", **fields)).ok()["scope"] == "identify"


@either
async def test_a_user_exports_their_data_and_deletes_the_account(
    town: World, chromium: Opener, script: bool, tmp_path: Path
) -> None:
    async with chromium(DESK, script) as page:
        await register(page, town)
        async with page.expect_download() as started:
            await page.get_by_role("link", name="Download your data").click()
        copy = await started.value
        await copy.save_as(tmp_path / "copy.json")
        assert json.loads((tmp_path / "copy.json").read_text())["user"]["username"] == "mary"
        await page.get_by_role("link", name="Delete account").click()
        await page.get_by_label("Your password").fill(PASSWORD)
        await page.get_by_role("button", name="Delete account").click()
        await page.get_by_text("Your account was deleted.").wait_for()
        await page.get_by_label("Username or email").fill("mary")
        await page.get_by_label("Password").fill(PASSWORD)
        await page.get_by_role("button", name="Log in").click()
        await page.get_by_role("alert").wait_for()

"""The device code page, and the page of authorized applications."""

from typing import Any

import pytest

from tests.oauth import Client, assert_oauth2_error, create_application
from tests.pages import Browser
from tests.world import World

pytestmark = pytest.mark.usefixtures("accented_pages")


async def authorize_device(client: Client) -> Any:
    """Start a device authorization and return its codes."""
    return (await client.post_form("/oauth2/device/authorize", scope="identify")).ok()


async def request_tokens(client: Client, device: Any) -> Any:
    client.world.app.clock.advance(6_000)  # A device may poll every 5 seconds.
    fields = {"grant_type": "urn:ietf:params:oauth:grant-type:device_code", "device_code": device["device_code"]}
    return await client.post_form("/oauth2/token", **fields)


async def test_a_device_is_authorized_by_its_code(world: World) -> None:
    client = await create_application(world, is_public=True, name="Orchard")
    device = await authorize_device(client)
    browser = Browser(world)
    browser.sign_in_as(await world.user("mary"))

    page = await browser.open(device["verification_uri"])
    shown_page = await browser.submit(page, "Continue", user_code=device["user_code"].lower())
    assert "Authorize Orchard on a device" in shown_page.text
    result_page = await browser.submit(shown_page, "Authorize")

    assert "Connected" in result_page.text
    assert (await request_tokens(client, device)).ok()["scope"] == "identify"
    assert "Orchard" in (await browser.open("/settings/apps")).text


async def test_a_code_in_the_url_needs_confirmation(world: World) -> None:
    client = await create_application(world, is_public=True)
    device = await authorize_device(client)
    browser = Browser(world)
    browser.sign_in_as(await world.user("mary"))

    page = await browser.open(device["verification_uri_complete"])

    assert f'value="{device["user_code"]}"' in page.body
    assert page.form("Continue")


async def test_a_device_is_denied(world: World) -> None:
    client = await create_application(world, is_public=True)
    device = await authorize_device(client)
    browser = Browser(world)
    browser.sign_in_as(await world.user("mary"))

    shown_page = await browser.submit(await browser.open("/activate"), "Continue", user_code=device["user_code"])
    result_page = await browser.submit(shown_page, "Cancel")

    assert "Not connected" in result_page.text
    assert_oauth2_error(await request_tokens(client, device), "access_denied")


async def test_an_unknown_code_is_reported_at_its_field(world: World) -> None:
    browser = Browser(world)
    browser.sign_in_as(await world.user("mary"))

    shown_page = await browser.submit(await browser.open("/activate"), "Continue", user_code="NOPENOPE")

    assert shown_page.status == 400
    assert 'id="error-user_code"' in shown_page.body
    assert 'value="NOPENOPE"' in shown_page.body


async def test_a_removed_application_loses_access(world: World) -> None:
    client = await create_application(world, name="Orchard")
    mary = await world.user("mary")
    token = (await client.request_tokens(mary))["access_token"]
    browser = Browser(world)
    browser.sign_in_as(mary)

    page = await browser.open("/settings/apps")
    result_page = await browser.submit(page, "Remove Orchard")

    assert "Access revoked." in result_page.text
    assert "No connected apps" in result_page.text
    (await client.bearer(mary, token).get("/users/@me")).rejected(401, 0)
    repeated_page = await browser.submit(page, "Remove Orchard")
    assert repeated_page.status == 200


async def test_a_notice_is_shown_once(world: World) -> None:
    client = await create_application(world)
    mary = await world.user("mary")
    await client.request_tokens(mary)
    browser = Browser(world)
    browser.sign_in_as(mary)

    result_page = await browser.submit(await browser.open("/settings/apps"), "Remove Game")

    assert "Access revoked." in result_page.text
    assert "Access revoked." not in (await browser.open("/settings/apps")).text


async def test_an_app_that_the_user_added_is_removed_from_a_guild(world: World) -> None:
    client, guild = await create_application(world, name="Orchard"), await world.guild()
    assert client.bot is not None
    fields = {"response_type": None, "redirect_uri": None}
    (await client.authorize(guild.owner, "bot", body={"guild_id": str(guild.id)}, **fields)).ok()
    browser = Browser(world)
    browser.sign_in_as(guild.owner)

    page = await browser.open("/settings/apps")
    assert "In Guild" in page.text
    result_page = await browser.submit(page, "Remove Orchard from Guild")

    assert "App removed from the guild." in result_page.text
    assert "In Guild" not in result_page.text
    (await guild.owner.get(f"/guilds/{guild.id}/members/{client.bot.id}")).rejected(404, 10007)
    repeated_page = await browser.submit(page, "Remove Orchard from Guild")
    assert "App removed from the guild." in repeated_page.text

"""The account page: display name, password, two-factor authentication, sessions, data export and deletion."""

import json
import re

import pytest

from hubbub.server.identity.accounts.credentials import totp
from tests.pages import PASSWORD, Browser
from tests.world import Actor, World

pytestmark = pytest.mark.usefixtures("accented_pages")


async def register_browser(world: World) -> Browser:
    """Register a new account with a password in a browser, and return the browser."""
    browser = Browser(world)
    await browser.register("mary")
    return browser


async def fetch_api_user(browser: Browser) -> Actor:
    """Return the signed-in user as an API client."""
    token = browser.cookies["hubbub_session"]
    me = (await browser.world.request("GET", "/users/@me", headers={"Authorization": token})).ok()
    return Actor(browser.world, int(me["id"]), token, me["username"])


async def test_a_display_name_is_changed_and_removed(world: World) -> None:
    browser = await register_browser(world)

    page = await browser.submit(await browser.open("/settings/account"), "Save", global_name="Mary of the Hills")
    assert "Display name updated." in page.text
    assert (await (await fetch_api_user(browser)).get("/users/@me")).ok()["global_name"] == "Mary of the Hills"
    await browser.submit(page, "Save", global_name="")

    assert (await (await fetch_api_user(browser)).get("/users/@me")).ok()["global_name"] is None


async def test_a_too_long_name_is_reported_at_its_field(world: World) -> None:
    browser = await register_browser(world)

    page = await browser.submit(await browser.open("/settings/account"), "Save", global_name="m" * 33)

    assert page.status == 400
    assert 'id="error-global_name"' in page.body
    assert f'value="{"m" * 33}"' in page.body


async def test_a_new_password_ends_the_other_sessions(world: World) -> None:
    browser, other_browser = await register_browser(world), Browser(world)
    await other_browser.log_in("mary")
    page = await browser.open("/settings/account")

    error_page = await browser.submit(page, "Change password", password="not this", new_password="another good one")
    assert (error_page.status, 'id="error-password"' in error_page.body) == (400, True)
    result_page = await browser.submit(page, "Change password", password=PASSWORD, new_password="another good one")

    assert "Password changed." in result_page.text
    assert (await other_browser.open("/settings/account")).url.startswith("/login")
    again = await Browser(world).log_in("mary", "another good one")
    assert again.url == "/app"


async def test_sessions_are_listed_and_ended(world: World) -> None:
    browser, other_browser = await register_browser(world), Browser(world)
    await other_browser.log_in("mary")

    page = await browser.open("/settings/account")
    assert page.text.count("This session") == 1
    label = next(text for form in page.forms for text, _, _ in form.buttons if text.startswith("Log out of"))
    result_page = await browser.submit(page, label)
    assert "Session logged out." in result_page.text
    assert (await other_browser.open("/settings/account")).url.startswith("/login")
    await other_browser.log_in("mary")
    await browser.submit(await browser.open("/settings/account"), "Log out all other sessions")

    assert (await other_browser.open("/settings/account")).url.startswith("/login")
    assert (await browser.open("/settings/account")).status == 200


async def test_two_factor_authentication_is_enabled_and_disabled(world: World) -> None:
    browser = await register_browser(world)
    page = await browser.open("/settings/account/second-factor")
    secret = dict(page.form("Turn on").values)["secret"]
    step = world.app.clock.now_ms() // 30_000
    assert secret in dict(page.links)["Open in an authenticator on this device"]

    assert re.search(r'<svg class="qr-code" viewBox="0 0 (\d+) \1" .*?><path d="M4 4h7v1', page.body)

    error_page = await browser.submit(page, "Turn on", code="000000", password=PASSWORD)
    assert (error_page.status, secret in error_page.body.replace(" ", "")) == (400, True)
    code = totp.code_at(secret, step)
    enabled_page = await browser.submit(error_page, "Turn on", code=f"{code[:3]} {code[3:]}", password=PASSWORD)
    assert "Save your backup codes" in enabled_page.text
    assert "need a code" in (await browser.open("/settings/account")).text
    off = await browser.open("/settings/account/second-factor")
    result_page = await browser.submit(off, "Turn off", password=PASSWORD, code=totp.code_at(secret, step + 1))

    assert "Two-factor authentication is off" in result_page.text


async def test_the_data_export_contains_all_messages(world: World) -> None:
    browser = await register_browser(world)
    mary = await fetch_api_user(browser)
    guild = await world.guild(mary)
    messages = [await guild.send_message(mary, f"number {number} </script>") for number in range(3)]

    response = await browser.request("GET", "/settings/account/export")

    assert response.headers["Content-Disposition"].startswith("attachment")
    assert response.headers["Cache-Control"] == "no-store"
    export = json.loads(response.body)
    assert export["user"]["username"] == "mary"
    assert [message["id"] for message in export["messages"]] == [message["id"] for message in messages]


async def test_the_data_export_of_a_user_without_messages_is_complete(world: World) -> None:
    browser = await register_browser(world)

    response = await browser.request("GET", "/settings/account/export")

    assert json.loads(response.body)["messages"] == []


async def test_an_account_is_deleted_with_its_password(world: World) -> None:
    browser = await register_browser(world)
    page = await browser.open("/settings/account/delete")

    error_page = await browser.submit(page, "Delete account", password="not this one")
    assert (error_page.status, 'id="error-password"' in error_page.body) == (400, True)
    result_page = await browser.submit(page, "Delete account", password=PASSWORD)

    assert "Your account was deleted." in result_page.text
    assert "hubbub_session" not in browser.cookies
    assert (await Browser(world).log_in("mary")).status == 400


async def test_guilds_are_transferred_or_deleted_before_the_account(world: World) -> None:
    browser = await register_browser(world)
    mary, tom = await fetch_api_user(browser), await world.user("tom")
    kept_guild, deleted_guild = await world.guild(mary, tom, name="Harbor"), await world.guild(mary, name="Attic")

    page = await browser.open("/settings/account/delete")
    assert "2 guilds are left." in page.text
    assert "Delete account" not in {text for form in page.forms for text, _, _ in form.buttons}
    for username in ("ghost.user", "mary"):
        error_page = await browser.submit(page, "Transfer guild", new_owner=username)
        assert (error_page.status, 'id="error-new_owner"' in error_page.body) == (400, True)
    page = await browser.submit(page, "Transfer guild", new_owner="@Tom")
    assert "tom owns the guild now." in page.text
    error_page = await browser.submit(page, "Delete guild", guild_name="Cellar")
    assert (error_page.status, 'id="error-guild_name"' in error_page.body) == (400, True)
    page = await browser.submit(page, "Delete guild", guild_name="Attic")
    assert "Attic was deleted." in page.text
    result_page = await browser.submit(page, "Delete account", password=PASSWORD)

    assert "Your account was deleted." in result_page.text
    assert (await tom.get(f"/guilds/{kept_guild.id}")).ok()["owner_id"] == str(tom.id)
    (await tom.get(f"/guilds/{deleted_guild.id}")).rejected(404, 10004)


async def test_a_guild_of_another_owner_is_neither_transferred_nor_deleted(world: World) -> None:
    browser = await register_browser(world)
    mary, tom = await fetch_api_user(browser), await world.user("tom")
    own_guild, other_guild = await world.guild(mary, name="Attic"), await world.guild(tom, mary, name="Harbor")
    page = await browser.open("/settings/account/delete")
    for form in page.forms:
        form.action = form.action.replace(str(own_guild.id), str(other_guild.id))

    await browser.submit(page, "Delete guild", guild_name="Harbor")
    rejected_page = await browser.submit(page, "Transfer guild", new_owner="mary")

    assert rejected_page.status == 400
    assert (await tom.get(f"/guilds/{other_guild.id}")).ok()["owner_id"] == str(tom.id)

"""Login, registration, logout and revoked sessions, without JavaScript, and the style sheet of the login page."""

import pytest

from hubbub.server.identity.accounts.credentials import totp
from tests.pages import PASSWORD, Browser
from tests.world import World

pytestmark = pytest.mark.usefixtures("accented_pages")

SECRET = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"


def authenticator_code(world: World, steps_later: int = 0) -> str:
    """Return the authenticator's code, `steps_later` steps after the current one."""
    return totp.code_at(SECRET, world.app.clock.now_ms() // 30_000 + steps_later)


async def test_registration_signs_the_user_in(world: World) -> None:
    browser = Browser(world)

    response = await browser.register("mary")

    assert browser.history[-2].location == "/app"
    token = browser.cookies["hubbub_session"]
    me = (await world.request("GET", "/users/@me", headers={"Authorization": token})).ok()
    assert me["username"] == "mary"
    assert response.status == 200


async def test_invalid_registration_fields_are_reported(world: World) -> None:
    browser = Browser(world)
    page = await browser.open("/register")

    response = await browser.submit(page, "Create account", username="m", password="short")

    assert response.status == 400
    assert 'id="error-username"' in response.body
    assert 'aria-describedby="hint-password error-password"' in response.body
    assert "short" not in response.body


async def test_a_user_logs_in_and_out(world: World) -> None:
    browser = Browser(world)
    await browser.register("mary")
    token = browser.cookies["hubbub_session"]

    logged_out_page = await browser.submit(await browser.open("/settings/account"), "Log out")

    assert "You have been logged out." in logged_out_page.text
    assert "hubbub_session" not in browser.cookies
    (await world.request("GET", "/users/@me", headers={"Authorization": token})).rejected(401, 0)
    await browser.log_in("mary")
    assert browser.cookies["hubbub_session"] != token


async def test_a_wrong_password_is_reported_once_and_the_name_is_kept(world: World) -> None:
    browser = Browser(world)
    await browser.register("mary")
    other_browser = Browser(world)

    response = await other_browser.log_in("mary", "not this one")

    assert response.status == 400
    assert response.text.count("Incorrect username or password") == 1
    assert 'value="mary"' in response.body
    assert "not this one" not in response.body


async def test_the_login_asks_for_the_authenticator_code(world: World) -> None:
    browser = Browser(world)
    await browser.register("mary")
    headers = {"Authorization": browser.cookies["hubbub_session"]}
    body = {"password": PASSWORD, "secret": SECRET, "code": authenticator_code(world)}
    (await world.request("POST", "/users/@me/mfa/totp/enable", json=body, headers=headers)).ok()
    other_browser = Browser(world)

    code_page = await other_browser.log_in("mary", path="/login?next=/settings/apps")
    assert "hubbub_session" not in other_browser.cookies
    error_page = await other_browser.submit(code_page, "Log in", code="000000")
    assert error_page.status == 400
    result_page = await other_browser.submit(
        error_page, "Log in", code=authenticator_code(world, 1), follows_redirects=False
    )

    assert result_page.location == "/settings/apps"
    assert other_browser.cookies["hubbub_session"]


async def test_an_expired_mfa_ticket_restarts_the_login(world: World) -> None:
    browser = Browser(world)
    await browser.register("mary")
    headers = {"Authorization": browser.cookies["hubbub_session"]}
    body = {"password": PASSWORD, "secret": SECRET, "code": authenticator_code(world)}
    (await world.request("POST", "/users/@me/mfa/totp/enable", json=body, headers=headers)).ok()
    other_browser = Browser(world)
    code_page = await other_browser.log_in("mary")

    world.app.clock.advance(301_000)  # A ticket is valid for 5 minutes.
    response = await other_browser.submit(code_page, "Log in", code=authenticator_code(world))

    assert "Log in again" in response.text
    assert response.form("Log in").names[-2:] == ["login", "password"]


async def test_the_login_returns_to_the_requested_page(world: World) -> None:
    browser = Browser(world)
    await browser.register("mary")
    other_browser = Browser(world)

    page = await other_browser.open("/settings/apps?from=here")
    assert page.url == "/login?next=/settings/apps%3Ffrom%3Dhere"
    result_page = await other_browser.submit(page, "Log in", login="mary", password=PASSWORD, follows_redirects=False)

    assert (result_page.status, result_page.location) == (303, "/settings/apps?from=here")


async def test_a_session_revoked_over_the_api_ends_in_the_browser(world: World) -> None:
    browser = Browser(world)
    await browser.register("mary")
    token = browser.cookies["hubbub_session"]
    (await world.request("POST", "/auth/logout", headers={"Authorization": token})).ok()

    response = await browser.open("/settings/account")

    assert response.url.startswith("/login")
    assert "hubbub_session" not in browser.cookies


async def test_static_files_are_immutable_under_a_hashed_name(world: World) -> None:
    browser = Browser(world)
    page = await browser.open("/login")
    url = page.body.partition('rel="stylesheet" href="')[2].partition('"')[0]

    sheet = await browser.request("GET", url)

    assert sheet.status == 200
    assert sheet.headers["Content-Type"] == "text/css; charset=utf-8"
    assert "immutable" in sheet.headers["Cache-Control"]
    assert 'url("/static/ripples.' in sheet.body
    assert (await browser.request("GET", "/static/style.css")).status == 404

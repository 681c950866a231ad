"""Log in, register and log out, with a browser that runs no script."""

from hubbub.server.resources.accounts import totp
from tests.pages import PASSWORD, Browser
from tests.world import World

SECRET = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"


def code_now(world: World, later: int = 0) -> str:
    """The authenticator's code."""
    return totp.code_at(SECRET, world.app.clock.now_ms() // 30_000 + later)


async def test_a_person_registers_and_is_signed_in(world: World) -> None:
    browser = Browser(world)

    shown = await browser.register("mary")

    assert browser.history[-2].location == "/settings/account"
    token = browser.cookies["hubbub_session"]
    me = (await world.request("GET", "/users/@me", headers={"Authorization": token})).ok()
    assert me["username"] == "mary"
    assert shown.status == 200


async def test_what_is_wrong_stands_beside_its_field(world: World) -> None:
    browser = Browser(world)
    page = await browser.open("/register")

    shown = await browser.submit(page, "Create account", username="m", password="short")

    assert shown.status == 400
    assert 'id="error-username"' in shown.body
    assert 'aria-describedby="hint-password error-password"' in shown.body
    assert "short" not in shown.body


async def test_a_person_logs_in_and_out(world: World) -> None:
    browser = Browser(world)
    await browser.register("mary")
    token = browser.cookies["hubbub_session"]

    out = await browser.submit(await browser.open("/settings/account"), "Log out")

    assert "You have been logged out." in out.text
    assert "hubbub_session" not in browser.cookies
    (await world.request("GET", "/users/@me", headers={"Authorization": token})).refused(401, 0)
    await browser.log_in("mary")
    assert browser.cookies["hubbub_session"] != token


async def test_a_wrong_password_is_said_once_and_the_name_stays(world: World) -> None:
    browser = Browser(world)
    await browser.register("mary")
    other = Browser(world)

    shown = await other.log_in("mary", "not this one")

    assert shown.status == 400
    assert shown.text.count("Incorrect username or password") == 1
    assert 'value="mary"' in shown.body
    assert "not this one" not in shown.body


async def test_an_authenticator_asks_for_its_code_next(world: World) -> None:
    browser = Browser(world)
    await browser.register("mary")
    headers = {"Authorization": browser.cookies["hubbub_session"]}
    body = {"password": PASSWORD, "secret": SECRET, "code": code_now(world)}
    (await world.request("POST", "/users/@me/mfa/totp/enable", json=body, headers=headers)).ok()
    other = Browser(world)

    second = await other.log_in("mary", path="/login?next=/settings/apps")
    assert "hubbub_session" not in other.cookies
    wrong = await other.submit(second, "Log in", code="000000")
    assert wrong.status == 400
    done = await other.submit(wrong, "Log in", code=code_now(world, 1), follow=False)

    assert done.location == "/settings/apps"
    assert other.cookies["hubbub_session"]


async def test_a_ticket_that_is_over_begins_again(world: World) -> None:
    browser = Browser(world)
    await browser.register("mary")
    headers = {"Authorization": browser.cookies["hubbub_session"]}
    body = {"password": PASSWORD, "secret": SECRET, "code": code_now(world)}
    (await world.request("POST", "/users/@me/mfa/totp/enable", json=body, headers=headers)).ok()
    other = Browser(world)
    second = await other.log_in("mary")

    world.app.clock.advance(301_000)
    shown = await other.submit(second, "Log in", code=code_now(world))

    assert "Log in again" in shown.text
    assert shown.form("Log in").names[-2:] == ["login", "password"]


async def test_who_is_stopped_at_the_login_goes_on_afterwards(world: World) -> None:
    browser = Browser(world)
    await browser.register("mary")
    other = Browser(world)

    page = await other.open("/settings/apps?from=here")
    assert page.url == "/login?next=/settings/apps%3Ffrom%3Dhere"
    done = await other.submit(page, "Log in", login="mary", password=PASSWORD, follow=False)

    assert (done.status, done.location) == (303, "/settings/apps?from=here")


async def test_a_session_that_was_ended_elsewhere_is_over_here_too(world: World) -> None:
    browser = Browser(world)
    await browser.register("mary")
    token = browser.cookies["hubbub_session"]
    (await world.request("POST", "/auth/logout", headers={"Authorization": token})).ok()

    shown = await browser.open("/settings/account")

    assert shown.url.startswith("/login")
    assert "hubbub_session" not in browser.cookies


async def test_files_are_kept_for_good_under_a_name_of_their_content(world: World) -> None:
    browser = Browser(world)
    page = await browser.open("/login")
    address = page.body.partition('rel="stylesheet" href="')[2].partition('"')[0]

    sheet = await browser.request("GET", address)

    assert sheet.status == 200
    assert sheet.headers["Content-Type"] == "text/css; charset=utf-8"
    assert "immutable" in sheet.headers["Cache-Control"]
    assert 'url("/static/ripples.' in sheet.body
    assert (await browser.request("GET", "/static/style.css")).status == 404

"""Pages of logins at external providers and of backup codes, without JavaScript."""

import msgspec
import pytest

from hubbub.server.core.config import Config
from hubbub.server.core.login_config import LoginConfig
from tests.openid_provider import OpenIdProvider
from tests.pages import PASSWORD, Browser, Page
from tests.server.identity.accounts import create_user_with_password, enable_totp, totp_code
from tests.world import World

pytestmark = pytest.mark.usefixtures("accented_pages")


@pytest.fixture
def world_config(store_config: Config, provider: OpenIdProvider) -> Config:
    """The configuration of the world, with the provider."""
    return msgspec.structs.replace(store_config, login=LoginConfig(providers=(provider.settings(),)))


async def continue_at(provider: OpenIdProvider, browser: Browser, redirect: Page) -> Page:
    """Log in at the provider to which a page redirected, and open the page to which the provider redirects."""
    assert redirect.location.startswith(f"{provider.url}/authorize?")
    return await browser.open(await provider.request_redirect(redirect.location))


async def log_in_at_provider(provider: OpenIdProvider, browser: Browser, path: str = "/login/with/work") -> Page:
    """Log in at the provider with a browser."""
    return await continue_at(provider, browser, await browser.request("GET", path))


async def register_in_browser(provider: OpenIdProvider, browser: Browser, username: str = "mary") -> Page:
    """Register an account with the provider."""
    return await browser.submit(await log_in_at_provider(provider, browser), "Create account", username=username)


async def test_login_and_registration_pages_link_to_the_provider(world: World) -> None:
    browser = Browser(world)

    for path in ("/login", "/register"):
        page = await browser.open(f"{path}?next=/settings/apps")
        assert ("Continue with Work", "/login/with/work?next=/settings/apps") in page.links


async def test_a_visitor_registers_with_a_provider_and_returns_to_the_requested_page(
    world: World, provider: OpenIdProvider
) -> None:
    browser = Browser(world)

    page = await log_in_at_provider(provider, browser, "/login/with/work?next=/settings/apps")
    assert 'value="mary.stone"' in page.body
    assert "hubbub_login" not in browser.cookies
    error_page = await browser.submit(page, "Create account", username="m")
    assert error_page.status == 400
    result_page = await browser.submit(error_page, "Create account", username="mary", follows_redirects=False)

    assert result_page.location == "/settings/apps"
    headers = {"Authorization": browser.cookies["hubbub_session"]}
    assert (await world.request("GET", "/users/@me", headers=headers)).ok()["username"] == "mary"
    other_browser = Browser(world)
    await log_in_at_provider(provider, other_browser)
    assert other_browser.cookies["hubbub_session"]


async def test_a_response_is_rejected_in_a_browser_that_did_not_start_the_login(
    world: World, provider: OpenIdProvider
) -> None:
    attacker, victim = Browser(world), Browser(world)
    await register_in_browser(provider, attacker)
    await attacker.submit(await attacker.open("/settings/account"), "Log out")
    redirect = await attacker.request("GET", "/login/with/work")
    response = await provider.request_redirect(redirect.location)

    page_without_login = await victim.open(response)
    await victim.request("GET", "/login/with/work")
    page_of_other_login = await victim.open(response)

    assert "The login has expired. Start again." in page_without_login.text
    assert "This response belongs to another login. Start again." in page_of_other_login.text
    assert "hubbub_session" not in victim.cookies


async def test_a_login_that_the_user_cancels_at_the_provider_is_reported(world: World) -> None:
    browser = Browser(world)
    await browser.request("GET", "/login/with/work")

    page = await browser.open("/login/callback/work?error=access_denied&state=x")

    assert page.status == 400
    assert "The login was canceled or rejected. Start again." in page.text
    assert page.form("Log in")


async def test_the_login_asks_for_the_code_of_the_account(world: World, provider: OpenIdProvider) -> None:
    alice = await create_user_with_password(world)
    browser = Browser(world)
    browser.sign_in_as(alice)
    page = await browser.open("/settings/account/logins/add/work")
    assert "form-action" not in page.headers["Content-Security-Policy"]
    redirect = await browser.submit(page, "Continue", password=PASSWORD, follows_redirects=False)
    account_page = await continue_at(provider, browser, redirect)
    assert "Login linked." in account_page.text
    secret, _ = await enable_totp(world, alice)

    other_browser = Browser(world)
    code_page = await log_in_at_provider(provider, other_browser, "/login/with/work?next=/settings/apps")
    error_page = await other_browser.submit(code_page, "Log in", code="000000")
    result_page = await other_browser.submit(
        error_page, "Log in", code=totp_code(world, secret), follows_redirects=False
    )

    assert result_page.location == "/settings/apps"
    assert other_browser.cookies["hubbub_provider"] == "work"


async def test_a_login_is_unlinked_in_the_account_settings(world: World, provider: OpenIdProvider) -> None:
    browser = Browser(world)
    await register_in_browser(provider, browser)
    account = await browser.open("/settings/account")
    [path] = [path for label, path in account.links if label == "Unlink Work"]

    page = await browser.submit(await browser.open(path), "Unlink")
    assert "This is your only way to log in. Set a password first." in page.text
    account = await browser.submit(await browser.open("/settings/account"), "Set password", new_password=PASSWORD)
    assert "Password set." in account.text
    error_page = await browser.submit(await browser.open(path), "Unlink", password="wrong password")
    assert 'id="error-password"' in error_page.body
    result_page = await browser.submit(error_page, "Unlink", password=PASSWORD)

    assert "Login unlinked." in result_page.text
    assert "Unlink Work" not in [label for label, _ in result_page.links]


async def test_a_logout_offers_to_end_the_session_at_the_provider(world: World, provider: OpenIdProvider) -> None:
    browser = Browser(world)
    await register_in_browser(provider, browser)

    page = await browser.submit(await browser.open("/settings/account"), "Log out")

    assert "You may still be logged in at Work." in page.text
    assert ("Log out of Work", "/login/with/work/logout") in page.links
    redirect = await browser.request("GET", "/login/with/work/logout")
    assert redirect.location.startswith(f"{provider.url}/logout?")


async def test_an_unknown_provider_is_reported_on_the_login_page(world: World) -> None:
    page = await Browser(world).open("/login/with/other")

    assert page.status == 404
    assert page.form("Log in")


async def test_backup_codes_are_replaced_on_a_page(world: World) -> None:
    alice = await create_user_with_password(world)
    secret, _ = await enable_totp(world, alice)
    browser = Browser(world)
    browser.sign_in_as(alice)
    path = "/settings/account/second-factor/backup-codes"
    assert ("New backup codes", path) in (await browser.open("/settings/account")).links

    page = await browser.open(path)
    assert "You have 10 unused codes." in page.text
    error_page = await browser.submit(page, "Create new codes", password=PASSWORD, code="000000")
    assert 'id="error-code"' in error_page.body
    result_page = await browser.submit(error_page, "Create new codes", password=PASSWORD, code=totp_code(world, secret))

    assert "Save your backup codes" in result_page.text
    assert result_page.body.count('<code class="secret">') == 10

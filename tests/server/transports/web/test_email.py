"""Pages for email addresses and the mailbox of a rehearsal, without JavaScript."""

from collections.abc import AsyncIterator

import aiohttp
import pytest

from hubbub.server.app import App
from hubbub.server.core.clock import ControlledClock
from hubbub.server.core.config import MailConfig
from tests.pages import PASSWORD, Browser, Page
from tests.smtp import token_in
from tests.world import NOW_MS, World, small_config

MARY_EMAIL = "mary@example.org"


@pytest.fixture
async def mail_world() -> AsyncIterator[World]:
    """A running, empty platform that keeps mail in a mailbox."""
    app = App(small_config(mail=MailConfig(keep_in_memory=True)), clock=ControlledClock(NOW_MS, running=False))
    await app.start()
    async with aiohttp.ClientSession() as client:
        world = World(app, client)
        yield world
        await world.close()
    await app.stop()


async def read_newest_token(world: World) -> str:
    """Run all due jobs, and return the token in the newest mail."""
    assert world.app.worker is not None
    assert world.app.mailbox is not None
    await world.app.worker.run_due()
    return token_in(list(world.app.mailbox)[-1].text)


async def register_in_browser(world: World) -> tuple[Browser, Page]:
    """Register a user with an email address in a new browser. Return the browser and the account page."""
    browser = Browser(world)
    page = await browser.open("/register")
    await browser.submit(page, "Create account", username="mary", email=MARY_EMAIL, password=PASSWORD)
    return browser, await browser.open("/settings/account")


async def test_a_user_confirms_an_address_and_resets_a_password(mail_world: World) -> None:
    browser, account = await register_in_browser(mail_world)
    assert f"{MARY_EMAIL} Not confirmed" in account.text
    link = f"/confirm-email?token={await read_newest_token(mail_world)}"
    confirmed_page = await browser.submit(await browser.open(link), "Confirm email address")
    assert "Your email address is confirmed." in confirmed_page.text
    assert f"{MARY_EMAIL} Confirmed" in confirmed_page.text

    other_browser = Browser(mail_world)
    login = await other_browser.open("/login")
    assert ("Forgot your password?", "/forgot-password") in login.links
    sent_page = await other_browser.submit(await other_browser.open("/forgot-password"), "Send link", email=MARY_EMAIL)
    assert "Check your mail" in sent_page.text
    reset = await other_browser.open(f"/reset-password?token={await read_newest_token(mail_world)}")
    result_page = await other_browser.submit(reset, "Change password", password="a new password")
    assert "Your password was changed." in result_page.text
    assert (await other_browser.log_in("mary", "a new password")).url == "/app"
    assert (await browser.open("/settings/account")).url.startswith("/login")


async def test_the_page_is_the_same_for_an_unknown_address(mail_world: World) -> None:
    browser = Browser(mail_world)

    unknown_page = await browser.submit(
        await browser.open("/forgot-password"), "Send link", email="unknown@example.org"
    )

    assert unknown_page.status == 200
    assert "Check your mail" in unknown_page.text


async def test_opening_a_confirmation_link_does_not_use_it(mail_world: World) -> None:
    browser, _ = await register_in_browser(mail_world)
    link = f"/confirm-email?token={await read_newest_token(mail_world)}"

    await browser.open(link)
    page = await Browser(mail_world).open(link)

    assert "Confirm your email address" in page.text
    assert "Not confirmed" in (await browser.open("/settings/account")).text


@pytest.mark.parametrize(
    ("path", "label"), [("/confirm-email", "Confirm email address"), ("/reset-password", "Change password")]
)
async def test_an_invalid_link_is_reported_with_a_way_to_request_a_new_one(
    mail_world: World, path: str, label: str
) -> None:
    browser = Browser(mail_world)
    values = {"password": "a new password"} if path == "/reset-password" else {}

    page = await browser.submit(await browser.open(f"{path}?token=unknown"), label, **values)

    assert page.status == 400
    assert "This link is invalid or has expired." in page.text
    assert "Request a new link" in [text for text, _ in page.links]


async def test_a_user_changes_the_address(mail_world: World) -> None:
    browser, _ = await register_in_browser(mail_world)
    page = await browser.open("/settings/account/email")

    error_page = await browser.submit(page, "Change email", email="new@example.org", password="guess")
    assert 'id="error-password"' in error_page.body
    changed_page = await browser.submit(page, "Change email", email="new@example.org", password=PASSWORD)
    assert "Open the link that was sent to new@example.org" in changed_page.text
    repeated_page = await browser.submit(changed_page, "Send the link again")
    assert "The link was sent again." in repeated_page.text
    link = f"/confirm-email?token={await read_newest_token(mail_world)}"
    confirmed_page = await browser.submit(await browser.open(link), "Confirm email address")
    assert "new@example.org Confirmed" in confirmed_page.text


async def test_a_server_without_mail_explains_it(world: World) -> None:
    browser, _ = await register_in_browser(world)

    forgot = await Browser(world).open("/forgot-password")
    settings = await browser.open("/settings/account/email")

    assert "This server does not send mail." in forgot.text
    assert "This server does not send mail" in settings.text
    changed_page = await browser.submit(settings, "Change email", email="new@example.org", password=PASSWORD)
    assert "new@example.org Not confirmed" in changed_page.text


async def test_the_mailbox_shows_mail_with_its_links(mail_world: World) -> None:
    await register_in_browser(mail_world)
    token = await read_newest_token(mail_world)
    browser = Browser(mail_world)

    mailbox = await browser.open("/mailbox")

    assert MARY_EMAIL in mailbox.text
    assert any(href.endswith(f"/confirm-email?token={token}") for _, href in mailbox.links)
    html = await browser.open("/mailbox/1")
    assert html.headers["Content-Security-Policy"].startswith("default-src 'none'")
    assert token in html.body
    assert (await browser.open("/mailbox/2")).status == 404


@pytest.mark.parametrize("headers", [{"X-Forwarded-For": "203.0.113.1"}, {"Host": "rebound.example"}])
async def test_the_mailbox_is_only_open_to_this_machine(mail_world: World, headers: dict[str, str]) -> None:
    page = await Browser(mail_world).request("GET", "/mailbox", headers=headers)

    assert page.status == 403


async def test_a_regular_server_has_no_mailbox(world: World) -> None:
    assert (await Browser(world).open("/mailbox")).status == 404

"""The application pages of the operator console, without JavaScript."""

import pytest

from hubbub.protocol.operator_roles import OperatorRole
from hubbub.server.core.clock import DAY_MS
from tests.server.transports.web.test_console import open_browser
from tests.world import World

pytestmark = pytest.mark.usefixtures("accented_pages")


async def test_applications_are_searched(world: World) -> None:
    browser, _ = await open_browser(world)
    bot = await world.bot()

    page = await browser.open("/admin/applications")
    assert bot.name in page.text
    page = await browser.submit(page, "Search", query="no such application")
    assert "No applications match this search." in page.text
    page = await browser.submit(page, "Search", query="", state="disabled")
    assert "No applications match this search." in page.text


async def test_a_moderator_disables_and_enables_an_application(world: World) -> None:
    browser, _ = await open_browser(world, OperatorRole.MODERATOR)
    bot = await world.bot()

    page = await browser.open(f"/admin/applications/{bot.application_id}")
    page = await browser.submit(page, "Disable application", reason="")
    assert page.status == 400
    page = await browser.submit(page, "Disable application", reason="Spam")
    assert "Application disabled." in page.text
    assert (await bot.get("/users/@me")).status == 401
    page = await browser.submit(page, "Enable application", audit_reason="Resolved")

    assert f"ann enabled the application {bot.name} Resolved" in page.text
    (await bot.get("/users/@me")).ok()


async def test_an_application_is_deleted_after_a_confirmation_and_restored(world: World) -> None:
    browser, _ = await open_browser(world)
    bot = await world.bot()

    page = await browser.open(f"/admin/applications/{bot.application_id}")
    page = await browser.submit(page, "Delete application", deletion_reason="Spam", confirm="x")
    assert "Type the name of the application exactly as shown." in page.text
    page = await browser.submit(page, "Delete application", deletion_reason="Spam", confirm=bot.name)

    assert "The application is being deleted." in page.text
    page = await browser.submit(page, "Restore application")
    assert "Application restored." in page.text
    (await bot.get("/users/@me")).ok()


async def test_the_server_deletes_an_application_at_the_end_of_the_grace_period(world: World) -> None:
    browser, _ = await open_browser(world)
    bot = await world.bot()
    page = await browser.open(f"/admin/applications/{bot.application_id}")
    await browser.submit(page, "Delete application", deletion_reason="Spam", confirm=bot.name)

    world.clock.advance(31 * DAY_MS)
    await world.run_due_jobs()

    assert f"Server deleted the application {bot.name}" in (await browser.open("/admin/audit-log")).text


async def test_auditors_see_no_actions_on_applications(world: World) -> None:
    browser, _ = await open_browser(world, OperatorRole.AUDITOR)
    bot = await world.bot()

    assert "Disable application" not in (await browser.open(f"/admin/applications/{bot.application_id}")).text

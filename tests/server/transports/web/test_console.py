"""The operator console without JavaScript: access, accounts, operator roles and the audit log."""

import pytest

from hubbub.protocol.operator_roles import OperatorRole
from hubbub.server.core.call import Call
from hubbub.server.identity import administration
from tests.pages import Browser
from tests.server.admin_commands import run_admin_command
from tests.server.identity.accounts import create_user_with_password, enable_totp, log_in
from tests.server.identity.operators import create_operator, grant_role
from tests.world import Actor, World

pytestmark = pytest.mark.usefixtures("accented_pages")

DAY_MS = 24 * 3_600_000


async def open_browser(world: World, role: OperatorRole = OperatorRole.OWNER) -> tuple[Browser, Actor]:
    """Create an operator. Return a browser in which the operator is logged in, and the operator."""
    ann = await create_operator(world, "ann", role)
    browser = Browser(world)
    browser.sign_in_as(ann)
    return browser, ann


async def test_the_console_is_for_operators_with_two_factor_authentication(world: World) -> None:
    browser = Browser(world)
    assert "/login" in (await browser.request("GET", "/admin")).location
    ben = await create_user_with_password(world, "ben")
    browser.sign_in_as(ben)
    page = await browser.open("/admin/users")
    assert page.status == 403
    assert "Only operators of this server can do this." in page.text
    await grant_role(world, ben, OperatorRole.AUDITOR)
    ben.token = (await log_in(world, "ben")).ok()["token"]
    browser.sign_in_as(ben)

    page = await browser.open("/admin/operators")
    assert page.status == 403
    assert ("Set up two-factor authentication", "/settings/account/second-factor") in page.links
    await enable_totp(world, ben)
    assert "ben" in (await browser.open("/admin/operators")).text


async def test_accounts_are_searched_in_pages(world: World) -> None:
    browser, _ = await open_browser(world)
    for number in range(30):
        await world.user(f"user{number:02}")

    page = await browser.open("/admin")
    assert "user23" in page.text
    assert "user24" not in page.text
    [next_path] = [path for label, path in page.links if label == "More accounts"]
    page = await browser.open(next_path)
    assert "user24" in page.text
    assert not [path for label, path in page.links if label == "More accounts"]
    page = await browser.submit(page, "Search", query="USER07")
    assert "user07" in page.text
    assert "user08" not in page.text
    page = await browser.submit(page, "Search", query="unknown-name")
    assert "No accounts match this search." in page.text
    assert (await browser.open("/admin/users?state=x&after=y")).status == 200


async def test_a_moderator_suspends_an_account_and_lifts_the_suspension(world: World) -> None:
    browser, _ = await open_browser(world, OperatorRole.MODERATOR)
    ben = await create_user_with_password(world, "ben")

    page = await browser.open(f"/admin/users/{ben.id}")
    assert "phone/1" in page.text
    page = await browser.submit(page, "Suspend account", reason="Spam", ends_at="2020-01-01")
    assert (page.status, "Choose a time in the future." in page.text) == (400, True)
    page = await browser.submit(page, "Suspend account", reason="Spam", ends_at="2027-01-01")
    assert "Account suspended." in page.text
    assert "Reason: Spam" in page.text
    assert (await ben.get("/users/@me")).status == 401
    assert (await log_in(world, "ben")).errors("login") == ["ACCOUNT_DISABLED"]
    page = await browser.submit(page, "Lift suspension", audit_reason="Apologized")

    assert "Suspension lifted." in page.text
    assert "ann lifted the suspension of ben Apologized" in page.text
    (await log_in(world, "ben")).ok()


async def test_a_moderator_ends_the_sessions_of_a_user(world: World) -> None:
    browser, _ = await open_browser(world, OperatorRole.MODERATOR)
    ben = await create_user_with_password(world, "ben")

    page = await browser.submit(await browser.open(f"/admin/users/{ben.id}"), "End all sessions")

    assert "This user is not logged in anywhere." in page.text
    assert (await ben.get("/users/@me")).status == 401


async def test_an_account_is_deleted_after_a_confirmation_and_restored(world: World) -> None:
    browser, _ = await open_browser(world)
    ben = await create_user_with_password(world, "ben")

    page = await browser.open(f"/admin/users/{ben.id}")
    page = await browser.submit(page, "Delete account", deletion_reason="Spam", grace_days="7", confirm="bob")
    assert "Type the username exactly as shown." in page.text
    page = await browser.submit(page, "Delete account", deletion_reason="Spam", grace_days="7", confirm="ben")
    assert "The account is being deleted." in page.text
    page = await browser.submit(page, "Restore account")
    assert "Account restored." in page.text

    world.clock.advance(8 * DAY_MS)
    await world.run_due_jobs()
    assert (await browser.open(f"/admin/users/{ben.id}")).status == 200


async def test_the_owner_of_a_guild_cannot_be_deleted(world: World) -> None:
    browser, _ = await open_browser(world)
    owner = (await world.guild()).owner

    page = await browser.open(f"/admin/users/{owner.id}")
    page = await browser.submit(page, "Delete account", deletion_reason="Spam", confirm=owner.name)

    assert "This user owns guilds or applications." in page.text


async def test_auditors_see_no_actions(world: World) -> None:
    browser, _ = await open_browser(world, OperatorRole.AUDITOR)
    ben = await world.user("ben")

    page = await browser.open(f"/admin/users/{ben.id}")
    assert not any(form.action.startswith("/admin") for form in page.forms)
    page = await browser.open("/admin/operators")
    assert not any(form.action.startswith("/admin") for form in page.forms)
    assert (await browser.open("/admin/users/1")).status == 404


async def test_an_owner_grants_and_removes_roles(world: World) -> None:
    browser, _ = await open_browser(world)
    await world.user("ben")

    page = await browser.open("/admin/operators")
    page = await browser.submit(page, "Grant role", username="unknown", role="auditor")
    assert "There is no user with this name." in page.text
    page = await browser.submit(page, "Grant role", username="Ben", role="moderator", reason="Helps")
    assert "ben now has the role Moderator." in page.text
    assert "No two-factor authentication" in page.text
    page = await browser.submit(page, "Remove ben")
    assert "Role removed." in page.text
    page = await browser.submit(page, "Remove ann")
    assert "This is the last owner." in page.text

    page = await browser.open("/admin/audit-log")
    assert "ann set the operator role of ben to Moderator" in page.text
    assert "Helps" in page.text


async def test_the_audit_log_is_filtered_by_operator_action_and_target(world: World) -> None:
    browser, ann = await open_browser(world)
    olga = await create_operator(world, "olga")
    ben, carl = await world.user("ben"), await world.user("carl")
    for operator, user in ((ann, ben), (olga, carl)):
        (await operator.post(f"/admin/users/{user.id}/suspend", json={"reason": "Spam"})).ok()
    (await olga.post(f"/admin/users/{ben.id}/unsuspend")).ok()

    page = await browser.submit(await browser.open("/admin/audit-log"), "Filter", operator_id=str(olga.id))
    assert "olga suspended carl" in page.text
    assert "ann suspended ben" not in page.text
    page = await browser.submit(page, "Filter", action="user.unsuspend")
    assert "olga lifted the suspension of ben" in page.text
    assert "olga suspended carl" not in page.text
    page = await browser.submit(page, "Filter", target_id=str(carl.id))
    assert "No actions match these filters." in page.text
    page = await browser.submit(page, "Filter", action="", operator_id="")
    assert "olga suspended carl" in page.text
    assert "No actions match" not in (await browser.open("/admin/audit-log?operator_id=x&action=y&target_id=z")).text
    output = await run_admin_command(world, "audit-log", "--operator", "olga", "--target", str(ben.id))
    assert output.splitlines()[0].endswith(" olga: user.unsuspend ben")
    assert await run_admin_command(world, "audit-log", "--action", "user.delete") == "No actions found."


async def test_the_audit_log_has_pages(world: World) -> None:
    browser, _ = await open_browser(world)

    def record_actions(call: Call) -> None:
        for number in range(50):
            administration.audit.log_action(call, "user.create", "user", target_name=f"user{number:02}")

    await world.write(record_actions)

    page = await browser.open("/admin/audit-log")
    assert "user49" in page.text
    assert "set the operator role" not in page.text
    [next_path] = [path for label, path in page.links if label == "Older entries"]
    assert "set the operator role" in (await browser.open(next_path)).text

"""Reports and appeals on pages without JavaScript, and on the command line."""

import pytest

from hubbub.protocol.operator_roles import OperatorRole
from hubbub.server.commands.admin_actions import AdminError
from tests.pages import Browser
from tests.server.admin_commands import run_admin_command
from tests.server.identity.accounts import PASSWORD, log_in
from tests.server.identity.operators import create_operator
from tests.server.talk.test_reports import create_guild_with_spam, list_cases, report, report_message
from tests.server.transports.web.test_console import open_browser
from tests.world import World

pytestmark = pytest.mark.usefixtures("accented_pages")


async def test_a_moderator_decides_about_a_report(world: World) -> None:
    browser, _ = await open_browser(world, OperatorRole.MODERATOR)
    guild, _, bob, message = await create_guild_with_spam(world)
    await guild.send_message(bob, "stop it")
    await report_message(bob, message, comment="Again and again")

    page = await browser.open("/admin/reports")
    assert "buy now" in page.text
    [path] = [path for label, path in page.links if label == "buy now"]
    page = await browser.open(path)
    for text in ("#general in Harbor", "stop it", "Again and again", "Spam or scam", bob.name):
        assert text in page.text
    page = await browser.submit(page, "Assign to me")
    assert "Assigned to ann." in page.text
    page = await browser.submit(page, "Save decision", action="suspend_user", note="")
    assert page.status == 400
    page = await browser.submit(page, "Save decision", action="suspend_user", note="Spam", ends_at="2030-01-01")
    assert "Decision saved." in page.text

    (await log_in(world, "spammer")).rejected(400, 50035)
    assert "No reports match these filters." in page.text
    page = await browser.open("/admin/reports?state=decided&reason=spam&kind=message")
    assert "Suspension of the account" in page.text
    assert "Decision: Suspension of the account, by ann" in (await browser.open(path)).text
    assert "decided about the report on the" in (await browser.open("/admin/audit-log")).text


async def test_an_auditor_reads_reports_without_forms(world: World) -> None:
    browser, ann = await open_browser(world, OperatorRole.AUDITOR)
    _, spammer, bob, _ = await create_guild_with_spam(world)
    await report(bob, "user", spammer.id)
    [case] = await list_cases(ann)

    page = await browser.open(f"/admin/reports/{case['id']}")

    assert "spammer" in page.text
    assert "Save decision" not in page.text
    assert (await browser.open("/admin/reports?state=x&age=y&before=z")).status == 200
    assert (await browser.open("/admin/reports/1")).status == 404


async def test_cases_are_listed_in_pages(world: World) -> None:
    browser, _ = await open_browser(world)
    guild, spammer, bob, _ = await create_guild_with_spam(world)
    reporters = [bob, guild.owner, await guild.member()]
    for number in range(27):
        message = await guild.send_message(spammer, f"spam {number:02}")
        await report_message(reporters[number // 10], message)

    page = await browser.open("/admin/reports")

    assert "spam 02" in page.text
    assert "spam 01" not in page.text
    [next_path] = [path for label, path in page.links if label == "Older reports"]
    assert "spam 01" in (await browser.open(next_path)).text


async def test_a_suspended_user_appeals_on_the_page_that_the_login_names(world: World) -> None:
    browser, ann = await open_browser(world, OperatorRole.MODERATOR)
    _, spammer, _, _ = await create_guild_with_spam(world)
    (await ann.post(f"/admin/users/{spammer.id}/suspend", json={"reason": "Spam"})).ok()
    visitor = Browser(world)

    page = await visitor.submit(await visitor.open("/login"), "Log in", login="spammer", password=PASSWORD)
    assert ("Appeal against the suspension", "/appeal") in page.links
    page = await visitor.open("/appeal")
    page = await visitor.submit(page, "Send appeal", login="spammer", password="wrong", text="Sorry")
    assert "Incorrect username or password." in page.text
    page = await visitor.submit(page, "Send appeal", login="spammer", password=PASSWORD, text="Sorry")
    assert "Appeal sent" in page.text

    page = await browser.open("/admin/appeals")
    assert "Sorry" in page.text
    page = await browser.submit(page, "Grant appeal", note="Welcome back")
    assert "Appeal granted." in page.text
    assert "No appeals." in page.text
    assert "Welcome back" in (await browser.open("/admin/appeals?state=granted")).text
    page = await visitor.submit(await visitor.open("/login"), "Log in", login="spammer", password=PASSWORD)
    assert "Decisions about your account" in (await visitor.open("/settings/account")).text


async def test_a_warned_user_appeals_on_the_account_page(world: World) -> None:
    ann = await create_operator(world, "ann", OperatorRole.MODERATOR)
    ben = await create_operator(world, "ben", OperatorRole.MODERATOR)
    _, spammer, bob, _ = await create_guild_with_spam(world)
    await report(bob, "user", spammer.id)
    [case] = await list_cases(ann)
    (await ann.post(f"/admin/reports/{case['id']}/decide", json={"action": "warn", "note": "Stay polite"})).ok()
    browser = Browser(world)
    browser.sign_in_as(spammer)

    page = await browser.open("/settings/account")
    assert "Reason: Stay polite" in page.text
    page = await browser.submit(page, "Send appeal", text="It was a joke")
    assert "An operator has not decided about your appeal yet." in page.text
    browser.sign_in_as(ann)
    page = await browser.submit(await browser.open("/admin/appeals"), "Reject appeal")
    assert "Another operator decides about the appeal." in page.text
    browser.sign_in_as(ben)
    page = await browser.submit(await browser.open("/admin/appeals"), "Reject appeal", note="No")
    assert "Appeal rejected." in page.text
    browser.sign_in_as(spammer)
    assert "Your appeal was rejected. No" in (await browser.open("/settings/account")).text


async def test_reports_are_assigned_on_the_command_line(world: World) -> None:
    ann = await create_operator(world, "ann", OperatorRole.AUDITOR)
    await create_operator(world, "ben", OperatorRole.MODERATOR)
    _, _, bob, message = await create_guild_with_spam(world)
    await report_message(bob, message)
    [case] = await list_cases(ann)

    with pytest.raises(AdminError, match="ann is not a moderator or owner"):
        await run_admin_command(world, "assign-report", case["id"], "ann")
    assert "to ben" in await run_admin_command(world, "assign-report", case["id"], "ben")

    assert [found_case["assignee_name"] for found_case in await list_cases(ann)] == ["ben"]
    assert "(assigned to ben)" in await run_admin_command(world, "list-reports", "--assignee", "ben")
    assert await run_admin_command(world, "list-reports", "--assignee", "ann") == "No reports found."
    assert "assigned to: ben" in await run_admin_command(world, "show-report", case["id"])
    await run_admin_command(world, "unassign-report", case["id"])
    assert [found_case["assignee_name"] for found_case in await list_cases(ann)] == [None]
    await run_admin_command(world, "decide-report", case["id"], "warn", "--reason", "Stay polite")
    assert "warn: Stay polite" in await run_admin_command(world, "list-decisions")
    with pytest.raises(AdminError, match="already decided"):
        await run_admin_command(world, "assign-report", case["id"], "ben")


async def test_reports_and_appeals_are_decided_on_the_command_line(world: World) -> None:
    ann = await create_operator(world, "ann", OperatorRole.AUDITOR)
    _, spammer, bob, message = await create_guild_with_spam(world)
    await report_message(bob, message, comment="Rude")
    [case] = await list_cases(ann)

    assert "buy now" in await run_admin_command(world, "list-reports")
    shown_report = await run_admin_command(world, "show-report", case["id"])
    assert "text: buy now" in shown_report
    assert "spam Rude" in shown_report
    output = await run_admin_command(
        world, "decide-report", case["id"], "warn", "--reason", "Stay polite", "--delete-message"
    )
    assert "the reporters are notified" in output
    with pytest.raises(AdminError, match="already decided"):
        await run_admin_command(world, "decide-report", case["id"], "dismiss")
    assert await run_admin_command(world, "list-reports") == "No reports found."
    [decision] = (await spammer.get("/users/@me/decisions")).ok()
    with pytest.raises(AdminError, match="no appeal"):
        await run_admin_command(world, "decide-appeal", decision["id"], "grant")
    (await spammer.post(f"/users/@me/decisions/{decision['id']}/appeal", json={"text": "Sorry"})).ok()
    assert "Sorry" in await run_admin_command(world, "list-appeals")
    assert "Granted" in await run_admin_command(world, "decide-appeal", decision["id"], "grant")
    assert await run_admin_command(world, "list-appeals") == "No open appeals."

"""The console of operators in a real browser: accessibility, and a suspension."""

import pytest

from hubbub.protocol.operator_roles import OperatorRole
from tests.server.identity.accounts import create_user_with_password
from tests.server.identity.operators import create_operator
from tests.server.identity.test_administration_queues import create_jobs
from tests.server.identity.test_moderation_decisions import appeal_with_password
from tests.server.talk.test_file_administration import send_sized_file
from tests.server.talk.test_reports import list_cases, report_message
from tests.web.accessibility import record_problems
from tests.web.conftest import DESKTOP_WIDTH, PHONE_WIDTH, OpenPage
from tests.world import World

pytestmark = [pytest.mark.xdist_group("chromium"), pytest.mark.timeout(400)]


@pytest.mark.parametrize(("width", "scheme"), [(PHONE_WIDTH, "dark"), (DESKTOP_WIDTH, "light")])
async def test_the_console_is_accessible(web_world: World, open_page: OpenPage, width: int, scheme: str) -> None:
    ann = await create_operator(web_world, "ann")
    await create_operator(web_world, "carol", OperatorRole.AUDITOR)
    ben = await create_user_with_password(web_world, "ben")
    await create_jobs(web_world, ("waiting", 0), ("waiting", 2), ("failed", 9), kind=f"test.{'delivery' * 12}")
    guild = await web_world.guild(name="Harbor watch " * 7)
    bot = await web_world.bot(guild)
    (await send_sized_file(guild.owner, guild.general, 5000, f"{'long' * 20}.txt")).ok()
    announcement = {"content": "Maintenance " * 20, "level": "critical", "ends_at": "2026-12-24T00:00:00Z"}
    (await ann.post("/admin/announcements", json=announcement)).ok()
    (await ann.request("PUT", "/admin/features/uploads", json={"enabled": False, "message": "The disk is full."})).ok()
    carl = await create_user_with_password(web_world, "carl")
    message = await guild.send_message(guild.owner, "Buy now " * 40)
    await report_message(await guild.member(), message, comment="Again " * 30)
    [case] = await list_cases(ann)
    (await ann.post(f"/admin/users/{carl.id}/suspend", json={"reason": "Spam " * 20})).ok()
    (await appeal_with_password(web_world, "carl", "Sorry " * 50)).ok()
    problems: list[str] = []
    async with open_page(width) as page:
        await page.emulate_media(color_scheme=scheme)
        await page.context.add_cookies([{"name": "hubbub_session", "value": ann.token, "url": web_world.url}])
        sections = (
            "/guilds",
            "/applications",
            "/files",
            "/announcements",
            "/features",
            "/queues",
            "/operators",
            "/sessions",
        )
        details = (f"/users/{ann.id}", f"/users/{ben.id}", f"/guilds/{guild.id}", f"/applications/{bot.application_id}")
        report_paths = ("/reports", f"/reports/{case['id']}", "/appeals")
        for path in ("/users", "/users?query=nothing", *details, *sections, *report_paths):
            await page.goto(f"{web_world.url}/admin{path}")
            await record_problems(page, problems, path)
        await page.goto(f"{web_world.url}/admin/users/{ben.id}")
        await page.get_by_label("Reason", exact=True).fill("Spam " * 20)
        await page.get_by_role("button", name="Suspend account").click()
        await page.get_by_text("Account suspended.").wait_for()
        await record_problems(page, problems, "suspended")
        await page.get_by_label("Reason for the audit log", exact=True).fill("Spam")
        await page.get_by_label("Type ben to confirm").fill("bob")
        await page.get_by_role("button", name="Delete account").click()
        await page.get_by_text("Type the username exactly as shown.").first.wait_for()
        await record_problems(page, problems, "deletion rejected")
        await page.goto(f"{web_world.url}/admin/audit-log")
        await record_problems(page, problems, "audit log")

    assert not problems, "\n".join(problems)

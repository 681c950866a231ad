"""The console of operators in a real browser: accessibility, and a suspension."""

import pytest

from tests.web.accessibility import record_problems
from tests.web.conftest import DESKTOP_WIDTH, PHONE_WIDTH, OpenPage
from tests.web.console_pages import create_console_content
from tests.world import World

pytestmark = pytest.mark.timeout(400)


@pytest.mark.parametrize(("width", "scheme"), [(PHONE_WIDTH, "dark"), (DESKTOP_WIDTH, "light")])
async def test_the_console_is_accessible(web_world: World, open_page: OpenPage, width: int, scheme: str) -> None:
    content = await create_console_content(web_world)
    ben = content.user
    problems: list[str] = []
    async with open_page(width) as page:
        await page.emulate_media(color_scheme=scheme)
        await page.context.add_cookies(
            [{"name": "hubbub_session", "value": content.operator.token, "url": web_world.url}]
        )
        for path in content.paths:
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

"""Reports of messages, users and guilds in the chat client, and the notice about their outcome."""

from typing import Any

from hubbub.protocol.operator_roles import OperatorRole
from tests.server.identity.operators import create_operator
from tests.server.talk.test_reports import decide, list_cases
from tests.web.chat import ChatPlatform, general_path
from tests.web.settings import accessibility_problems
from tests.world import Actor


async def send_report(page: Any, reason: str, comment: str = "") -> None:
    """Fill in the dialog of a report and send it."""
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Reason").select_option(label=reason)
    await dialog.get_by_label("Comment (optional)").fill(comment)
    await dialog.get_by_role("button", name="Send report").click()
    await page.get_by_text("Report sent.").first.wait_for()


async def list_case_reasons(operator: Actor) -> list[tuple[str, list[str]]]:
    """Return kind and reasons of the cases, newest first."""
    return [(case["kind"], case["reasons"]) for case in await list_cases(operator)]


async def test_a_message_a_user_and_a_guild_are_reported(platform: ChatPlatform) -> None:
    ann = await create_operator(platform.world, "ann", OperatorRole.MODERATOR)
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(tom, nora)
    await guild.send_message(tom, "Buy my boats")
    async with platform.open_window(nora, general_path(guild)) as window:
        page = window.page
        await page.get_by_text("Buy my boats").click(button="right")
        await page.get_by_role("menuitem", name="Report message").click()
        assert await accessibility_problems(window) == []
        await page.get_by_role("button", name="Send report").click()
        assert await list_cases(ann) == []
        await send_report(page, "Spam or scam", "Every day")
        await page.locator(".members-area").get_by_role("button", name="tom").press("Shift+F10")
        await page.get_by_role("menuitem", name="Report user").click()
        await send_report(page, "Harassment or bullying")
        await page.locator(f".rail a[href$='/{guild.id}']").click(button="right")
        await page.get_by_role("menuitem", name="Report guild").click()
        await send_report(page, "Other illegal content")
        assert await list_case_reasons(ann) == [
            ("guild", ["illegal"]),
            ("user", ["harassment"]),
            ("message", ["spam"]),
        ]

        *_, case = await list_cases(ann)
        await decide(ann, case, "delete_message", note="No advertising")
        await page.get_by_text("Buy my boats").wait_for(state="detached")
        await platform.world.run_due_jobs()
        await window.open("/app")
        await page.get_by_role("link", name="Server notices").first.click()
        await page.get_by_text("found a violation of the rules and took action").wait_for()


async def test_own_messages_and_own_guilds_have_no_report(platform: ChatPlatform) -> None:
    nora = await platform.world.user("nora")
    guild = await platform.world.guild(nora)
    await guild.send_message(nora, "My own message")
    async with platform.open_window(nora, general_path(guild)) as window:
        await window.page.get_by_text("My own message").click(button="right")
        await window.page.get_by_role("menuitem", name="Delete").wait_for()
        assert await window.page.get_by_role("menuitem", name="Report message").count() == 0

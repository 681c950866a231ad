"""Administration as users see it in the chat client: announcements, suspended guilds and switched-off features."""

from tests.server.identity.operators import create_operator
from tests.web.chat import ChatPlatform, general_path
from tests.web.settings import accessibility_problems


async def test_an_announcement_is_dismissed_for_the_account(platform: ChatPlatform) -> None:
    ann = await create_operator(platform.world, "ann")
    nora = await platform.world.user("nora")
    guild = await platform.world.guild(nora)
    body = {"content": "Maintenance tonight at 22:00 UTC.", "level": "warning"}
    body["ends_at"] = "2026-12-24T00:00:00Z"
    (await ann.post("/admin/announcements", json=body)).ok()

    async with platform.open_window(nora, general_path(guild)) as first_window:
        await first_window.page.get_by_text("Maintenance tonight at 22:00 UTC.").wait_for()
        assert await accessibility_problems(first_window) == []
        await first_window.page.get_by_role("button", name="Dismiss this announcement").click()
        await first_window.page.get_by_text("Maintenance tonight at 22:00 UTC.").wait_for(state="detached")
        await first_window.page.reload()
        await first_window.page.locator("textarea.compose").wait_for()
        assert await first_window.page.get_by_text("Maintenance tonight at 22:00 UTC.").count() == 0


async def test_members_of_a_suspended_guild_see_the_reason(platform: ChatPlatform) -> None:
    ann = await create_operator(platform.world, "ann")
    nora = await platform.world.user("nora")
    guild = await platform.world.guild(nora)
    text = "The operators of this server suspended this guild. Reason: Spam"

    async with platform.open_window(nora, general_path(guild)) as window:
        window.expected_errors = ("Failed to load resource",)
        await window.page.locator("textarea.compose").wait_for()
        (await ann.post(f"/admin/guilds/{guild.id}/suspend", json={"reason": "Spam"})).ok()
        await window.page.locator(".unavailable").get_by_text(text).wait_for()

        (await ann.post(f"/admin/guilds/{guild.id}/unsuspend")).ok()
        await window.page.locator("textarea.compose").wait_for()


async def test_the_dialog_explains_that_guilds_cannot_be_created(platform: ChatPlatform) -> None:
    ann = await create_operator(platform.world, "ann")
    nora = await platform.world.user("nora")
    body = {"enabled": False, "message": "Ask an operator."}
    (await ann.request("PUT", "/admin/features/guild_creation", json=body)).ok()

    async with platform.open_window(nora, "/app") as window:
        await window.page.get_by_role("button", name="Join or create a guild").click()
        await window.page.get_by_text("Creating guilds is switched off on this server. Ask an operator.").wait_for()
        assert await window.page.get_by_role("button", name="Create guild").is_disabled()


async def test_a_banned_user_sees_why_an_invite_fails(platform: ChatPlatform) -> None:
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    invite = (await nora.post(f"/channels/{guild.general}/invites", json={})).ok()
    (await nora.put(f"/guilds/{guild.id}/bans/{tom.id}", headers={"X-Audit-Log-Reason": "secret reason"})).ok()
    (await tom.patch("/users/@me", json={"locale": "de"})).ok()

    async with platform.open_window(tom, "/app") as window:
        window.expected_errors = ("403",)
        await window.page.get_by_role("button", name="Gilde beitreten oder erstellen").click()
        await window.page.get_by_label("Einladungslink").fill(invite["code"])
        await window.page.keyboard.press("Enter")
        await window.page.locator(".invitation").get_by_role("button").click()
        text = "Du bist in dieser Gilde gebannt. Nur ihre Moderatoren können den Ban aufheben."
        await window.page.get_by_text(text).wait_for()
        assert "secret reason" not in await window.page.content()

"""Accessibility of the guild settings of the chat client, on a phone and on a desktop, in light and dark."""

import pytest

from hubbub.protocol.enums import ChannelType
from tests.web.chat import ChatPlatform, general_path
from tests.web.conftest import DESKTOP_WIDTH, PHONE_WIDTH
from tests.web.settings import accessibility_problems, choose_in_picker, open_settings

pytestmark = [pytest.mark.xdist_group("chromium"), pytest.mark.timeout(400)]


@pytest.mark.parametrize(("width", "scheme"), [(PHONE_WIDTH, "dark"), (DESKTOP_WIDTH, "light")])
async def test_role_and_channel_settings_are_accessible(platform: ChatPlatform, width: int, scheme: str) -> None:
    nora = await platform.world.user("nora")
    guild = await platform.world.guild(nora)
    await platform.world.grant_to_guild(guild, "ENHANCED_ROLE_COLORS", "ROLE_ICONS")
    crew = await guild.role("Keepers of the lighthouse", colors={"primary_color": 1, "secondary_color": 2})
    await guild.add_role(nora, crew)
    harbor = await guild.channel("Harbor", type=ChannelType.GUILD_CATEGORY)
    tags = [{"name": "Question", "emoji_name": "❓"}]
    await guild.channel("ideas", type=ChannelType.GUILD_FORUM, parent_id=str(harbor), available_tags=tags)
    await guild.channel("lounge", type=ChannelType.GUILD_VOICE, parent_id=str(harbor))
    problems: list[str] = []
    async with platform.open_window(nora, general_path(guild), width=width, scheme=scheme) as window:
        page = window.page

        async def check(name: str) -> None:
            problems.extend(f"{name}: {problem}" for problem in await accessibility_problems(window))
            if await page.evaluate(
                "(main => main.scrollWidth > main.clientWidth)(document.querySelector('.settings-main'))"
            ):
                problems.append(f"{name}: scrolls sideways")

        if width == PHONE_WIDTH:
            await page.get_by_role("button", name="Channels and conversations").click()
        settings = await open_settings(window, "Roles")
        await settings.get_by_text("1 member").wait_for()
        await check("roles")
        await settings.get_by_role("button", name="Edit Keepers").click()
        for tab in ("Appearance", "Permissions", "Members"):
            await settings.get_by_role("tab", name=tab).click()
            await check(f"role: {tab}")
        await settings.get_by_role("navigation").get_by_role("button", name="Channels").click()
        await choose_in_picker(page, "View as", "Keepers")
        await settings.get_by_text("Can write").first.wait_for()
        await check("channels")
        await settings.get_by_role("button", name="Create channel", exact=True).click()
        await page.get_by_role("dialog", name="Create channel").get_by_label("Private").check()
        await check("create channel")
        await page.keyboard.press("Escape")
        for channel, tabs in (("ideas", ("Overview", "Posts", "Permissions", "View as")), ("lounge", ("Overview",))):
            await settings.get_by_role("button", name=f"Edit {channel}").click()
            for tab in tabs:
                await settings.get_by_role("tab", name=tab).click()
                await check(f"{channel}: {tab}")
            await settings.get_by_role("button", name="All channels").click()
        for screen in ("Audit log", "Ownership"):
            await settings.get_by_role("navigation").get_by_role("button", name=screen).click()
            await check(screen)
    assert problems == []

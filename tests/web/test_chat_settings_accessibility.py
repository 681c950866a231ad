"""Accessibility of the guild settings of the chat client, on a phone with dark colors and on a desktop with light colors."""

import re

import pytest

from hubbub.protocol.enums import AutoModerationEventType, AutoModerationTriggerType, ChannelType, CommandPermissionType
from tests import media
from tests.server.places.expressions import OGG_DATA_URI, upload_sticker
from tests.server.places.invites import create_invite
from tests.server.places.scheduled_events import create_event, external_event
from tests.web.chat import ChatPlatform, general_path
from tests.web.conftest import DESKTOP_WIDTH, PHONE_WIDTH
from tests.web.settings import accessibility_problems, choose_in_picker, open_screen, open_settings

pytestmark = pytest.mark.timeout(400)


@pytest.mark.parametrize(("width", "scheme"), [(PHONE_WIDTH, "dark"), (DESKTOP_WIDTH, "light")])
async def test_role_and_channel_settings_are_accessible(platform: ChatPlatform, width: int, scheme: str) -> None:
    nora = await platform.world.user("nora")
    guild = await platform.world.guild(nora)
    await platform.world.grant_to_guild(guild, "ENHANCED_ROLE_COLORS", "ROLE_ICONS")
    crew_role_id = await guild.role("Keepers of the lighthouse", colors={"primary_color": 1, "secondary_color": 2})
    await guild.add_role(nora, crew_role_id)
    harbor_channel_id = await guild.channel("Harbor", type=ChannelType.GUILD_CATEGORY)
    tags = [{"name": "Question", "emoji_name": "❓"}]
    await guild.channel("ideas", type=ChannelType.GUILD_FORUM, parent_id=str(harbor_channel_id), available_tags=tags)
    await guild.channel("lounge", type=ChannelType.GUILD_VOICE, parent_id=str(harbor_channel_id))
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
        await open_screen(settings, "Channels")
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
            await open_screen(settings, screen)
            await check(screen)
    assert problems == []


@pytest.mark.parametrize(("width", "scheme"), [(PHONE_WIDTH, "dark"), (DESKTOP_WIDTH, "light")])
async def test_moderation_and_joining_settings_are_accessible(platform: ChatPlatform, width: int, scheme: str) -> None:
    nora = await platform.world.user("nora")
    guild = await platform.world.guild(nora)
    await platform.world.grant_to_guild(guild, "VANITY_URL")
    path = f"/guilds/{guild.id}"
    rule = {
        "name": "No spoilers",
        "event_type": AutoModerationEventType.MESSAGE_SEND,
        "trigger_type": AutoModerationTriggerType.KEYWORD,
        "trigger_metadata": {"keyword_filter": ["end"]},
    }
    (await nora.post(f"{path}/auto-moderation/rules", json=rule)).ok()
    channels = [{"channel_id": str(guild.general), "description": "Say hello"}]
    (await nora.patch(f"{path}/welcome-screen", json={"welcome_channels": channels})).ok()
    prompts = [{"id": "0", "title": "What do you play?", "options": [{"title": "Chess"}]}]
    (await nora.put(f"{path}/onboarding", json={"prompts": prompts})).ok()
    form = {"enabled": True, "manual_approval": True, "form_fields": [{"field_type": "PARAGRAPH", "label": "Why?"}]}
    (await nora.patch(f"{path}/member-verification", json=form)).ok()
    (await nora.post(f"{path}/templates", json={"name": "Harbor"})).ok()
    (await nora.patch(f"{path}/widget", json={"enabled": True, "channel_id": str(guild.general)})).ok()
    problems: list[str] = []
    async with platform.open_window(nora, general_path(guild), width=width, scheme=scheme) as window:
        page = window.page
        if width == PHONE_WIDTH:
            await page.get_by_role("button", name="Channels and conversations").click()
        settings = await open_settings(window)

        async def check(name: str) -> None:
            problems.extend(f"{name}: {problem}" for problem in await accessibility_problems(window))
            if await page.evaluate(
                "(main => main.scrollWidth > main.clientWidth)(document.querySelector('.settings-main'))"
            ):
                problems.append(f"{name}: scrolls sideways")

        async def check_screen(name: str, content: str) -> None:
            await open_screen(settings, name)
            await settings.get_by_text(content).first.wait_for()
            await check(name)

        await check_screen("Auto moderation", "No spoilers")
        await settings.get_by_role("button", name="Edit No spoilers").click()
        await settings.get_by_label("Send an alert").check()
        await check("rule")
        await page.get_by_role("button", name="Reset").click()
        await check_screen("Welcome screen", "Recommended channels")
        await check_screen("Member guide", "First steps")
        await check_screen("Onboarding", "What do you play?")
        for text in ("What do you play?", "Chess"):
            await settings.get_by_text(text).click()
        await check("question")
        await check_screen("Join form", "Why?")
        await settings.get_by_text("Why?").click()
        await check("question of the form")
        await check_screen("Join requests", "There are no requests with this status.")
        await check_screen("Template", "Used 0 times")
        await check_screen("Widget", "Code for your website")
        await check_screen("Vanity URL", "This guild has no vanity URL yet.")
        await check_screen("Safety", "Pause during a raid")
        await open_screen(settings, "Members")
        await settings.get_by_role("button", name="Remove inactive members").click()
        await page.get_by_text("would be removed").wait_for()
        await check("inactive members")
    assert problems == []


@pytest.mark.parametrize(("width", "scheme"), [(PHONE_WIDTH, "dark"), (DESKTOP_WIDTH, "light")])
async def test_expressions_apps_invites_and_events_are_accessible(
    platform: ChatPlatform, width: int, scheme: str
) -> None:
    nora = await platform.world.user("nora")
    guild = await platform.world.guild(nora)
    emoji = {"name": "a_rather_long_name_of_an_emoji", "image": media.data_uri(media.png())}
    (await nora.post(f"/guilds/{guild.id}/emojis", json=emoji)).ok()
    (await upload_sticker(nora, guild)).ok()
    (await nora.post(f"/guilds/{guild.id}/soundboard-sounds", json={"name": "honk", "sound": OGG_DATA_URI})).ok()
    (await nora.post(f"/channels/{guild.general}/webhooks", json={"name": "Builds"})).ok()
    bot = await platform.world.bot(guild, name="crier")
    path = f"/applications/{bot.application_id}/guilds/{guild.id}/commands"
    command = (await bot.post(path, json={"name": "announce", "description": "Announces something"})).ok()
    permission_entry = {"id": str(guild.general), "type": CommandPermissionType.CHANNEL, "permission": False}
    (await nora.put(f"{path}/{command['id']}/permissions", json={"permissions": [permission_entry]})).ok()
    await create_invite(nora, guild.general, max_uses=5, temporary=True)
    await create_event(nora, guild, external_event())
    problems: list[str] = []
    async with platform.open_window(nora, general_path(guild), width=width, scheme=scheme) as window:
        page = window.page

        async def check(name: str) -> None:
            problems.extend(f"{name}: {problem}" for problem in await accessibility_problems(window))
            if await page.evaluate(
                "[...document.querySelectorAll('.settings-main, .window')].some(box => box.scrollWidth > box.clientWidth)"
            ):
                problems.append(f"{name}: scrolls sideways")

        if width == PHONE_WIDTH:
            await page.get_by_role("button", name="Channels and conversations").click()
        settings = await open_settings(window)
        for screen, create, details in (
            ("Emoji", "Add emoji", None),
            ("Stickers", "Add sticker", None),
            ("Soundboard", "Add sound", None),
            ("Webhooks", "Create webhook", ["Edit Builds"]),
            ("Apps", None, ["Commands of crier", "Permissions of /announce"]),
            ("Invites", "Create invite", None),
            ("Events", "Create event", ["Edit picnic"]),
        ):
            await open_screen(settings, screen)
            await settings.locator(".settings-entry").first.wait_for()
            await check(screen)
            if create is not None:
                await settings.get_by_role("button", name=create).click()
                await page.get_by_role("dialog", name=create).wait_for()
                await check(create)
                await page.keyboard.press("Escape")
            for button in details or ():
                await settings.get_by_role("button", name=button).click()
                await settings.get_by_role("button", name=re.compile("^(All (?!settings)|crier)")).wait_for()
                await check(button)
    assert problems == []

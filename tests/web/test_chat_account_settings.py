"""The user settings of the chat client in a real browser: profile, status, appearance, privacy, security and deletion."""

import re
from typing import Any

import pytest

from hubbub.server.identity.accounts.credentials import totp
from tests.oauth import create_application
from tests.server.identity.accounts import PASSWORD, create_user_with_password
from tests.server.talk.uploads import PNG
from tests.web.chat import ChatPlatform, ChatWindow, general_path
from tests.web.conftest import PHONE_WIDTH
from tests.web.settings import accessibility_problems, open_screen, save_changes
from tests.world import befriend

SCREENS = (
    "Profile",
    "Nicknames",
    "Status",
    "Account",
    "Security",
    "Sessions",
    "Appearance",
    "Language",
    "Privacy",
    "Blocked people",
    "Connected apps",
)


async def open_user_settings(window: ChatWindow, screen: str | None = None) -> Any:
    """Open the user settings from the account panel, and return the locator of the dialog."""
    await window.page.get_by_role("button", name="User settings", exact=True).click()
    settings = window.page.get_by_role("dialog", name="User settings")
    await settings.wait_for()
    if screen is not None:
        await open_screen(settings, screen)
    return settings


async def test_the_profile_is_changed_and_other_people_see_it(platform: ChatPlatform) -> None:
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    async with (
        platform.open_window(nora, general_path(guild)) as nora_window,
        platform.open_window(tom, general_path(guild)) as tom_window,
    ):
        settings = await open_user_settings(nora_window, "Profile")
        await settings.get_by_label("Display name").fill("Captain Nora")
        await settings.get_by_label("About you").fill("Boats and tides")
        preview = settings.get_by_role("group", name="Preview")
        await preview.get_by_text("Captain Nora").wait_for()
        await settings.locator("input[type=file]").first.set_input_files(
            {"name": "me.png", "mimeType": "image/png", "buffer": PNG}
        )
        await preview.locator("img").first.wait_for()
        await settings.get_by_label("Color", exact=True).fill("#336699")
        await save_changes(settings)

        stored_user = (await nora.get("/users/@me")).ok()
        assert (stored_user["global_name"], stored_user["bio"], stored_user["accent_color"]) == (
            "Captain Nora",
            "Boats and tides",
            0x336699,
        )
        assert stored_user["avatar"] is not None
        await tom_window.page.locator(".members-area").get_by_role("button", name=re.compile("Captain Nora")).click()
        await tom_window.page.get_by_role("dialog", name="Captain Nora").get_by_text("Boats and tides").wait_for()

        nora_window.expected_errors = ("Failed to load resource",)
        await open_screen(settings, "Account")
        await settings.get_by_role("button", name="Change username").click()
        dialog = nora_window.page.get_by_role("dialog", name="Change username")
        await dialog.get_by_label("Username").fill("tom")
        await dialog.get_by_role("button", name="Change username").click()
        await dialog.get_by_role("alert").get_by_text("Username is unavailable.").wait_for()
        await dialog.get_by_label("Username").fill("nora.sails")
        await dialog.get_by_role("button", name="Change username").click()
        await settings.locator(".settings-list").get_by_text("@nora.sails").wait_for()


async def test_status_and_custom_status_survive_a_reload_and_reach_other_people(platform: ChatPlatform) -> None:
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    await befriend(nora, tom)
    tom_session = await tom.connect()
    async with (
        platform.open_window(nora) as window,
        platform.open_window(nora) as other_window,
    ):
        await window.page.get_by_role("button", name="change status").click()
        await window.page.get_by_role("menuitemradio", name="Do not disturb").click()
        await other_window.page.locator(".account-name").get_by_text("Do not disturb").wait_for()
        await tom_session.next("PRESENCE_UPDATE", lambda data: data["status"] == "dnd")

        await window.page.get_by_role("button", name="change status").click()
        await window.page.get_by_role("menuitem", name="Set custom status").click()
        settings = window.page.get_by_role("dialog", name="User settings")
        await settings.get_by_label("Text").fill("At sea")
        await save_changes(settings)
        await other_window.page.locator(".account-name").get_by_text("At sea").wait_for()
        presence = await tom_session.next("PRESENCE_UPDATE", lambda data: bool(data["activities"]))
        assert (presence["activities"][0]["type"], presence["activities"][0]["state"]) == (4, "At sea")

        await window.page.reload()
        await window.page.locator(".account-name").get_by_text("At sea").wait_for()
        await window.page.get_by_role("button", name=re.compile("Do not disturb, At sea: change status")).click()
        await window.page.get_by_role("menuitem", name="Clear custom status").click()
        await other_window.page.locator(".account-name").get_by_text("Do not disturb").wait_for()


async def test_appearance_applies_immediately_on_all_devices_and_before_the_first_paint(platform: ChatPlatform) -> None:
    nora = await platform.world.user("nora")
    async with platform.open_window(nora) as window, platform.open_window(nora) as other_window:
        settings = await open_user_settings(window, "Appearance")
        await settings.get_by_label("Theme").select_option(label="Dark")
        await settings.get_by_label("Density").select_option(label="Compact")
        await settings.get_by_label("Text size").select_option(label="125%")
        await settings.get_by_label("Motion").select_option(label="Reduced: no animations")

        state = "() => ['theme', 'density', 'fontScale', 'motion'].map(name => document.documentElement.dataset[name]).join()"
        for shown_window in (window, other_window):
            await shown_window.wait_until(f"() => ({state})() === 'dark,compact,125,reduced'")
        assert await window.page.evaluate("getComputedStyle(document.documentElement).fontSize") == "20px"
        color = await window.page.evaluate("getComputedStyle(document.body).color")
        assert color == "rgb(236, 231, 220)"
        response = await window.page.request.get(f"{platform.url}/app")
        assert (
            '<html lang="en" dir="ltr" data-theme="dark" data-density="compact" data-font-scale="125" data-motion="reduced">'
            in (await response.text())
        )


async def test_privacy_blocked_people_and_nicknames_are_stored(platform: ChatPlatform) -> None:
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(tom, nora)
    (await nora.put(f"/users/@me/relationships/{tom.id}", json={"type": 2})).ok()
    async with platform.open_window(nora) as window:
        settings = await open_user_settings(window, "Privacy")
        await settings.get_by_label("Everyone").uncheck()
        await settings.get_by_label("Friends of friends").uncheck()
        await settings.get_by_label("Guild", exact=True).uncheck()
        await save_changes(settings)
        stored_settings = (await nora.get("/users/@me/settings")).ok()
        assert stored_settings["friend_source_flags"] == {"all": False, "mutual_friends": False, "mutual_guilds": True}
        assert stored_settings["restricted_guilds"] == [str(guild.id)]

        await open_screen(settings, "Blocked people")
        await settings.get_by_role("button", name="Unblock tom").click()
        await settings.get_by_text("You have not blocked anyone.").wait_for()
        assert (await nora.get("/users/@me/relationships")).ok() == []

        await open_screen(settings, "Nicknames")
        await settings.get_by_role("button", name="Change nickname in Guild").click()
        dialog = window.page.get_by_role("dialog", name="Nickname in Guild")
        await dialog.get_by_label("Nickname").fill("Skipper")
        await dialog.get_by_role("button", name="Save").click()
        await settings.get_by_text("Skipper").wait_for()
        member = (await tom.get(f"/guilds/{guild.id}/members/{nora.id}")).ok()
        assert member["nick"] == "Skipper"


async def test_two_factor_authentication_is_set_up_with_a_qr_code(platform: ChatPlatform) -> None:
    nora = await create_user_with_password(platform.world, "nora")
    async with platform.open_window(nora) as window, platform.open_window(nora) as other_window:
        window.expected_errors = ("Failed to load resource",)
        settings = await open_user_settings(window, "Security")
        other_settings = await open_user_settings(other_window, "Security")
        await settings.get_by_role("button", name="Set up").click()
        assert (await settings.get_by_role("img", name="QR code").bounding_box())["width"] > 150
        secret = (await settings.locator("code.secret").inner_text()).replace(" ", "")
        await settings.get_by_label("Code", exact=True).fill("000000")
        await settings.get_by_label("Your password").fill(PASSWORD)
        await settings.get_by_role("button", name="Turn on").click()
        await settings.get_by_role("alert").get_by_text("Invalid two-factor code.").wait_for()
        code = totp.code_at(secret, platform.world.app.clock.now_ms() // 30_000)
        await settings.get_by_label("Code", exact=True).fill(code)
        await settings.get_by_role("button", name="Turn on").click()
        await settings.get_by_role("list", name="Backup codes").wait_for()
        assert await settings.get_by_role("list", name="Backup codes").get_by_role("listitem").count() == 10
        await settings.get_by_role("button", name="I saved them").click()
        await settings.get_by_role("button", name="Turn off two-factor authentication").wait_for()
        await other_settings.get_by_role("button", name="Turn off two-factor authentication").wait_for()


async def test_sessions_and_apps_are_removed(platform: ChatPlatform) -> None:
    world = platform.world
    nora = await create_user_with_password(world, "nora")
    guild = await world.guild(nora)
    client = await create_application(world, name="Orchard")
    assert client.bot is not None
    fields = {"response_type": None, "redirect_uri": None}
    (await client.authorize(nora, "bot", body={"guild_id": str(guild.id)}, **fields)).ok()
    login = {"login": "nora", "password": PASSWORD}
    other_login = (
        await world.request("POST", "/auth/login", json=login, headers={"User-Agent": "Firefox/1 Linux"})
    ).ok()
    async with platform.open_window(nora) as window:
        settings = await open_user_settings(window, "Sessions")
        await settings.get_by_role("button", name="Log out Firefox on Linux").click()
        await settings.get_by_text("Firefox on Linux", exact=True).wait_for(state="detached")
        (await world.request("GET", "/users/@me", headers={"Authorization": other_login["token"]})).rejected(401, 0)

        await open_screen(settings, "Connected apps")
        await settings.get_by_role("button", name="Remove Orchard from Guild").click()
        dialog = window.page.get_by_role("dialog", name="Remove Orchard from Guild?")
        await dialog.get_by_role("button", name="Remove app").click()
        await settings.get_by_text("You have not added an app to a guild.").wait_for()
        (await nora.get(f"/guilds/{guild.id}/members/{client.bot.id}")).rejected(404, 10007)


async def test_deleting_an_account_resolves_its_guilds_first(platform: ChatPlatform) -> None:
    world = platform.world
    nora, tom = await create_user_with_password(world, "nora"), await world.user("tom")
    kept_guild, deleted_guild = await world.guild(nora, tom, name="Harbor"), await world.guild(nora, name="Attic")
    async with platform.open_window(nora) as window, platform.open_window(tom) as tom_window:
        page = window.page
        window.expected_errors = ("Failed to load resource",)
        settings = await open_user_settings(window, "Account")
        await settings.get_by_role("button", name="Delete account").click()
        delete_button = settings.get_by_role("button", name="Delete account")
        assert await delete_button.is_disabled()

        await settings.get_by_role("button", name="Transfer Harbor").click()
        await settings.get_by_role("button", name=re.compile("^New owner")).click()
        await page.get_by_role("listbox", name="New owner").get_by_role("option", name="tom").click()
        await settings.get_by_role("button", name="Transfer ownership").click()
        dialog = page.get_by_role("dialog", name="Transfer Harbor to tom?")
        await dialog.get_by_label("Type “Harbor” to confirm").fill("Harbor")
        await dialog.get_by_role("button", name="Transfer ownership").click()
        await settings.get_by_role("button", name="Delete Attic").click()
        dialog = page.get_by_role("dialog", name="Delete Attic?")
        await dialog.get_by_label("Type “Attic” to confirm").fill("Attic")
        await dialog.get_by_role("button", name="Delete guild").click()
        await settings.get_by_text("You do not own a guild.").wait_for()

        await delete_button.click()
        dialog = page.get_by_role("dialog", name="Delete nora?")
        await dialog.get_by_label("Your password").fill("not this")
        await dialog.get_by_role("button", name="Delete account").click()
        await dialog.get_by_role("alert").get_by_text("Password does not match.").wait_for()
        await dialog.get_by_label("Your password").fill(PASSWORD)
        await dialog.get_by_role("button", name="Delete account").click()
        await page.wait_for_url("**/login*")
        (await tom.get(f"/users/{nora.id}")).rejected(404, 10013)
        assert (await tom.get(f"/guilds/{kept_guild.id}")).ok()["owner_id"] == str(tom.id)
        (await tom.get(f"/guilds/{deleted_guild.id}")).rejected(404, 10004)
        assert tom_window.console_errors == []


@pytest.mark.parametrize(("width", "scheme"), [(1280, "dark"), (PHONE_WIDTH, "light")])
async def test_every_screen_is_accessible(platform: ChatPlatform, width: int, scheme: str) -> None:
    nora = await create_user_with_password(platform.world, "nora")
    guild = await platform.world.guild(nora)
    problems: list[str] = []
    async with platform.open_window(nora, general_path(guild), width=width, scheme=scheme) as window:
        if width == PHONE_WIDTH:
            await window.page.get_by_role("button", name="Channels and conversations").click()
        settings = await open_user_settings(window)
        for screen in SCREENS:
            await open_screen(settings, screen)
            await settings.get_by_text("Loading…").first.wait_for(state="hidden")
            problems += [f"{screen}: {problem}" for problem in await accessibility_problems(window)]
        await window.page.keyboard.press("Escape")
        await settings.wait_for(state="hidden")
        focused_label = await window.page.evaluate("document.activeElement.ariaLabel")
        assert focused_label == "User settings"
    assert problems == []

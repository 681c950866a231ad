"""The guild settings in a real browser: the overview, members and bans, and the dialog on a phone."""

from hubbub.protocol.enums import LOCALES, AuditLogAction, DefaultMessageNotifications, VerificationLevel
from hubbub.protocol.permissions import Permissions
from tests.server.talk.uploads import PNG
from tests.web.chat import ChatPlatform, general_path
from tests.web.conftest import DESKTOP_WIDTH, PHONE_WIDTH
from tests.web.settings import open_screen, open_settings
from tests.world import NOW_MS


async def test_overview_saves_only_changes_and_other_members_see_them(platform: ChatPlatform) -> None:
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    other_channel_id = await guild.channel("arrivals")
    async with (
        platform.open_window(nora, general_path(guild)) as nora_window,
        platform.open_window(tom, general_path(guild)) as tom_window,
    ):
        page = nora_window.page
        settings = await open_settings(nora_window)
        save_bar = settings.get_by_role("region", name="Unsaved changes")
        assert await save_bar.is_hidden()
        assert await settings.get_by_label("Language").locator("option").count() == len(LOCALES)

        # Reset restores the stored value.
        await settings.get_by_label("Name").fill("Harbor")
        await save_bar.wait_for()
        await save_bar.get_by_role("button", name="Reset").click()
        assert await settings.get_by_label("Name").input_value() == "Guild"
        assert await save_bar.is_hidden()

        # A rejected value is reported at its field, and stays.
        nora_window.expected_errors = ("Failed to load resource",)
        await settings.get_by_label("Name").fill("H")
        await save_bar.get_by_role("button", name="Save changes").click()
        await settings.get_by_role("alert").filter(has_text="2").wait_for()

        await settings.get_by_label("Name").fill("Harbor")
        await settings.get_by_label("Description").fill("Boats and tides")
        await settings.get_by_label("System channel").select_option(label="#arrivals")
        await settings.get_by_label("Verification level").select_option(label="Medium: also registered for 5 minutes")
        await settings.get_by_label("Default notifications").select_option(label="Only mentions")
        await settings.get_by_label("Language").select_option(label="German")
        await settings.locator("input[type=file]").first.set_input_files(
            {"name": "icon.png", "mimeType": "image/png", "buffer": PNG}
        )
        await settings.locator(".image-preview img").wait_for()
        await save_bar.get_by_role("button", name="Save changes").click()
        await page.get_by_text("Changes saved.").wait_for()
        await save_bar.wait_for(state="hidden")
        stored_guild = (await nora.get(f"/guilds/{guild.id}")).ok()
        assert stored_guild["icon"] is not None
        assert {
            name: stored_guild[name] for name in ("name", "description", "system_channel_id", "preferred_locale")
        } == {
            "name": "Harbor",
            "description": "Boats and tides",
            "system_channel_id": str(other_channel_id),
            "preferred_locale": "de",
        }
        assert (stored_guild["verification_level"], stored_guild["default_message_notifications"]) == (
            VerificationLevel.MEDIUM,
            DefaultMessageNotifications.ONLY_MENTIONS,
        )
        await tom_window.page.get_by_role("heading", name="Harbor").wait_for()
        # The audit log entry has only the fields that changed.
        entry = await guild.last_audit_entry(AuditLogAction.GUILD_UPDATE)
        assert "afk_timeout" not in {change["key"] for change in entry["changes"]}


async def test_settings_manage_focus_and_unsaved_changes_on_a_phone(platform: ChatPlatform) -> None:
    nora = await platform.world.user("nora")
    guild = await platform.world.guild(nora)
    async with platform.open_window(nora, general_path(guild), width=PHONE_WIDTH, scheme="dark") as window:
        page = window.page
        await page.get_by_role("button", name="Channels and conversations").click()
        settings = await open_settings(window)
        # The list of screens fills the phone; a screen covers it.
        assert await page.evaluate("document.activeElement.textContent") == "Overview"
        assert await settings.get_by_role("region", name="Overview").is_hidden()
        await page.keyboard.press("Enter")
        await settings.get_by_role("region", name="Overview").wait_for()
        assert await page.evaluate("document.activeElement.className") == "settings-main"
        assert await settings.get_by_role("navigation").is_hidden()
        assert await page.evaluate(
            "document.documentElement.scrollWidth <= innerWidth && "
            "document.querySelector('.settings-main').scrollWidth <= document.querySelector('.settings-main').clientWidth"
        )
        await settings.get_by_label("Name").fill("Harbor")
        await page.keyboard.press("Escape")
        confirmation_dialog = page.get_by_role("dialog", name="Discard changes?")
        await confirmation_dialog.wait_for()
        await page.keyboard.press("Escape")
        await confirmation_dialog.wait_for(state="hidden")
        assert await settings.get_by_label("Name").input_value() == "Harbor"
        # The button “All settings” leads back to the list of screens after the changes are discarded.
        await settings.get_by_role("button", name="All settings").click()
        await confirmation_dialog.get_by_role("button", name="Discard").click()
        await settings.get_by_role("navigation").wait_for()
        await window.wait_until("() => document.activeElement.textContent === 'Overview'")
        await settings.get_by_role("button", name="Overview").click()
        assert await settings.get_by_label("Name").input_value() == "Guild"
        await settings.get_by_label("Name").fill("Harbor")
        await page.keyboard.press("Escape")
        await confirmation_dialog.get_by_role("button", name="Discard").click()
        await settings.wait_for(state="hidden")
        await window.wait_until("() => document.activeElement.ariaLabel === 'Menu of Guild'")
        assert (await nora.get(f"/guilds/{guild.id}")).ok()["name"] == "Guild"


async def test_pages_of_a_screen_lead_back_to_it_and_then_to_the_list_on_a_phone(platform: ChatPlatform) -> None:
    nora = await platform.world.user("nora")
    guild = await platform.world.guild(nora)
    await guild.role("Crew")
    async with platform.open_window(nora, general_path(guild), width=PHONE_WIDTH) as window:
        await window.page.get_by_role("button", name="Channels and conversations").click()
        settings = await open_settings(window, "Roles")
        await settings.get_by_role("button", name="Edit Crew").click()
        # On this page the button “All roles” leads back, instead of the button “All settings”.
        assert await settings.get_by_role("button", name="All settings").count() == 0
        await settings.get_by_role("button", name="All roles").click()
        await window.wait_until("() => document.activeElement.ariaLabel === 'Edit Crew'")
        await window.page.set_viewport_size({"width": DESKTOP_WIDTH, "height": 800})
        await settings.get_by_role("navigation").wait_for()
        await settings.get_by_role("button", name="Edit Crew").wait_for()
        await window.page.set_viewport_size({"width": PHONE_WIDTH, "height": 800})
        await settings.get_by_role("button", name="All settings").click()
        await window.wait_until("() => document.activeElement.textContent === 'Roles'")


async def test_a_long_dialog_shows_its_buttons_and_describes_its_fields_on_a_phone(platform: ChatPlatform) -> None:
    nora = await platform.world.user("nora")
    guild = await platform.world.guild(nora)
    async with platform.open_window(nora, general_path(guild), width=PHONE_WIDTH) as window:
        await window.page.get_by_role("button", name="Channels and conversations").click()
        settings = await open_settings(window, "Invites")
        await settings.get_by_role("button", name="Create invite").click()
        dialog = window.page.get_by_role("dialog", name="Create invite")
        await dialog.wait_for()
        assert await dialog.locator(".window-body").evaluate("body => body.scrollHeight > body.clientHeight")
        button_box = await dialog.get_by_role("button", name="Create and copy link").bounding_box()
        box = await dialog.bounding_box()
        assert button_box["y"] + button_box["height"] <= box["y"] + box["height"]
        field = dialog.get_by_label("Only for these users")
        description = await field.evaluate(
            "field => field.getAttribute('aria-describedby').split(' ').map(id => document.getElementById(id).textContent)"
        )
        assert description[0].startswith("Optional.")


async def test_settings_explain_missing_permissions(platform: ChatPlatform) -> None:
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    async with platform.open_window(tom, general_path(guild)) as window:
        page = window.page
        await page.get_by_role("button", name="Menu of Guild").click()
        await page.get_by_role("menuitem", name="Mark all as read").wait_for()
        assert await page.get_by_role("menuitem", name="Guild settings").count() == 0
    await guild.allow_permissions(tom, Permissions.KICK_MEMBERS)
    async with platform.open_window(tom, general_path(guild)) as window:
        settings = await open_settings(window)
        await settings.get_by_text("You need the permission “Manage guild”.").wait_for()
        assert await settings.get_by_label("Name").is_disabled()
        await open_screen(settings, "Roles")
        await settings.get_by_text("You need the permission “Manage roles”.").wait_for()
        assert await settings.get_by_text("To change the order").is_hidden()
    async with platform.open_window(nora, general_path(guild)) as window:
        settings = await open_settings(window, "Roles")
        await settings.get_by_text("To change the order").wait_for()


async def test_members_are_found_named_and_given_roles(platform: ChatPlatform) -> None:
    nora, tom, mary = [await platform.world.user(name) for name in ("nora", "tom", "mary")]
    guild = await platform.world.guild(nora, tom, mary)
    crew_role_id = await guild.role("Crew")
    async with platform.open_window(nora, general_path(guild)) as window:
        page = window.page
        settings = await open_settings(window, "Members")
        members = settings.get_by_role("list", name="Members")
        await members.get_by_text("@mary").wait_for()
        await settings.get_by_label("Search members").fill("to")
        await members.get_by_text("@mary").wait_for(state="detached")
        await members.get_by_role("button", name="Manage tom").click()
        dialog = page.get_by_role("dialog", name="tom")
        assert await dialog.get_by_role("button", name="Save").is_disabled()
        await dialog.get_by_label("Nickname").fill("Captain")
        await dialog.get_by_label("Crew").check()
        await dialog.get_by_role("button", name="Save").click()
        await members.get_by_text("Captain").wait_for()
        await members.get_by_text("Crew").wait_for()
        member = (await nora.get(f"/guilds/{guild.id}/members/{tom.id}")).ok()
        assert (member["nick"], member["roles"]) == ("Captain", [str(crew_role_id)])


async def test_members_are_timed_out_with_a_reason(platform: ChatPlatform) -> None:
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    async with platform.open_window(nora, general_path(guild)) as window:
        page = window.page
        # The server's clock is stopped, so the browser's must agree for the end of a timeout.
        await page.clock.set_fixed_time(NOW_MS / 1000)
        settings = await open_settings(window, "Members")
        members = settings.get_by_role("list", name="Members")
        await members.get_by_role("button", name="Manage tom").click()
        await page.get_by_role("dialog", name="tom", exact=True).get_by_role("button", name="Time out").click()
        confirmation_dialog = page.get_by_role("dialog", name="Time out tom?")
        await confirmation_dialog.get_by_label("For").select_option(label="1 hour")
        await confirmation_dialog.get_by_label("Reason").fill("Too loud")
        await confirmation_dialog.get_by_role("button", name="Time out").click()
        await members.get_by_text("Timed out until").wait_for()
        assert (await guild.last_audit_entry(AuditLogAction.MEMBER_UPDATE))["reason"] == "Too loud"
        await members.get_by_role("button", name="Manage tom").click()
        await page.get_by_role("dialog", name="tom", exact=True).get_by_role("button", name="End timeout").click()
        await members.get_by_text("Timed out until").wait_for(state="detached")


async def test_members_are_kicked_and_banned_and_bans_are_lifted(platform: ChatPlatform) -> None:
    nora, tom, mary = [await platform.world.user(name) for name in ("nora", "tom", "mary")]
    guild = await platform.world.guild(nora, tom, mary)
    async with platform.open_window(nora, general_path(guild)) as window:
        page = window.page
        settings = await open_settings(window, "Members")
        members = settings.get_by_role("list", name="Members")
        for name, action in (("mary", "Kick"), ("tom", "Ban")):
            await members.get_by_role("button", name=f"Manage {name}").click()
            await page.get_by_role("dialog", name=name, exact=True).get_by_role("button", name=action).click()
            confirmation_dialog = page.get_by_role("dialog", name=f"{action} {name}?")
            await confirmation_dialog.get_by_label("Reason").fill("Spam")
            await confirmation_dialog.get_by_role("button", name=action).click()
            await members.get_by_text(f"@{name}").wait_for(state="detached")
        assert (await nora.get(f"/guilds/{guild.id}/members/{mary.id}")).status == 404

        await settings.get_by_role("button", name="Bans").click()
        bans = settings.get_by_role("list", name="Bans")
        await bans.get_by_text("Reason: Spam").wait_for()
        assert await bans.get_by_role("listitem").count() == 1
        await bans.get_by_role("button", name="Lift ban on tom").click()
        await page.get_by_role("dialog", name="Lift the ban on tom?").get_by_role("button", name="Lift ban").click()
        await settings.get_by_text("There are no bans.").wait_for()
        assert (await nora.get(f"/guilds/{guild.id}/bans")).ok() == []


async def test_members_and_bans_explain_what_a_moderator_cannot_do(platform: ChatPlatform) -> None:
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    await guild.allow_permissions(tom, Permissions.KICK_MEMBERS)
    async with platform.open_window(tom, general_path(guild)) as window:
        settings = await open_settings(window, "Members")
        await settings.get_by_role("button", name="Manage nora").click()
        dialog = window.page.get_by_role("dialog", name="nora", exact=True)
        await dialog.get_by_text("Kick: The owner of the guild cannot be changed by others.").wait_for()
        await dialog.get_by_text("Ban: You need the permission “Ban members”.").wait_for()
        assert await dialog.get_by_role("button", name="Kick").is_disabled()
        assert await dialog.get_by_label("Nickname").is_disabled()
        await window.page.keyboard.press("Escape")
        await settings.get_by_role("button", name="Bans").click()
        await settings.get_by_text("You cannot see the bans. You need the permission “Ban members”.").wait_for()

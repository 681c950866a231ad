"""Apps of a guild and the permissions of their commands in the guild settings of the chat client, in a real browser."""

from typing import Any

from hubbub.protocol.enums import AuditLogAction, CommandPermissionType
from hubbub.protocol.permissions import Permissions
from tests.web.chat import ChatPlatform, general_path
from tests.web.settings import choose_in_picker, open_settings, save_changes
from tests.world import Actor, Guild


async def add_command(bot: Actor, guild: Guild, name: str) -> Any:
    """Create a command of a guild and return it."""
    path = f"/applications/{bot.application_id}/guilds/{guild.id}/commands"
    return (await bot.post(path, json={"name": name, "description": f"Runs {name}"})).ok()


async def fetch_permissions(bot: Actor, guild: Guild, target: str) -> Any:
    """Return the permissions of a command or application, sorted by type and ID."""
    path = f"/applications/{bot.application_id}/guilds/{guild.id}/commands/permissions"
    permissions_by_id = {entry["id"]: entry["permissions"] for entry in (await bot.get(path)).ok()}
    return sorted(permissions_by_id.get(target, []), key=lambda entry: (entry["type"], entry["id"]))


async def test_permissions_of_a_command_are_set_and_another_manager_sees_them(platform: ChatPlatform) -> None:
    nora, tom, mary = [await platform.world.user(name) for name in ("nora", "tom", "mary")]
    guild = await platform.world.guild(nora, tom, mary)
    await guild.allow_permissions(tom, Permissions.ADMINISTRATOR)
    crew_role_id, staff_channel_id = await guild.role("Crew"), await guild.channel("staff")
    bot = await platform.world.bot(guild, name="crier")
    command = await add_command(bot, guild, "announce")
    async with (
        platform.open_window(nora, general_path(guild)) as nora_window,
        platform.open_window(tom, general_path(guild)) as tom_window,
    ):
        page = nora_window.page
        settings, tom_settings = await open_settings(nora_window, "Apps"), await open_settings(tom_window, "Apps")
        for window_settings in (settings, tom_settings):
            await window_settings.get_by_role("button", name="Commands of crier").click()
            await window_settings.get_by_text("Runs announce").wait_for()
            await window_settings.get_by_role("button", name="Permissions of /announce").click()
            await window_settings.get_by_role("heading", name="/announce", exact=True).wait_for()
        await settings.get_by_label("Permission of @everyone").select_option(label="Not allowed")
        await choose_in_picker(page, "Add role or member", "Crew")
        await choose_in_picker(page, "Add role or member", "mary")
        await settings.get_by_label("Permission of mary").select_option(label="Not allowed")
        await settings.get_by_label("Permission of All channels").select_option(label="Not allowed")
        await choose_in_picker(page, "Add channel", "staff")
        await save_changes(settings)
        role, user, channel = CommandPermissionType
        assert await fetch_permissions(bot, guild, command["id"]) == sorted(
            [
                {"id": str(guild.id), "type": role, "permission": False},
                {"id": str(crew_role_id), "type": role, "permission": True},
                {"id": str(mary.id), "type": user, "permission": False},
                # The ID of “All channels” is the ID of the guild minus one.
                {"id": str(guild.id - 1), "type": channel, "permission": False},
                {"id": str(staff_channel_id), "type": channel, "permission": True},
            ],
            key=lambda entry: (entry["type"], entry["id"]),
        )
        await tom_settings.get_by_label("Permission of mary").wait_for()

        # The other manager removes an entry, and the first page follows.
        await tom_settings.get_by_role("button", name="Remove Crew").click()
        await save_changes(tom_settings)
        await settings.get_by_label("Permission of Crew").wait_for(state="detached")
        await settings.get_by_role("button", name="crier", exact=True).click()
        await settings.get_by_text("4 permissions set").wait_for()
        await nora_window.wait_until("() => document.activeElement.ariaLabel === 'Permissions of /announce'")


async def test_permissions_of_a_command_explain_why_they_cannot_be_set(platform: ChatPlatform) -> None:
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    await guild.allow_permissions(tom, Permissions.MANAGE_GUILD | Permissions.MANAGE_ROLES | Permissions.VIEW_AUDIT_LOG)
    bot = await platform.world.bot(guild, name="crier")
    command = await add_command(bot, guild, "announce")
    path = f"/applications/{bot.application_id}/guilds/{guild.id}/commands/{command['id']}/permissions"
    async with platform.open_window(tom, general_path(guild)) as window:
        settings = await open_settings(window, "Apps")
        await settings.get_by_role("button", name="Commands of crier").click()
        await settings.get_by_role("button", name="Permissions of /announce").click()
        everyone = settings.get_by_label("Permission of @everyone")
        assert await everyone.is_enabled()
        # Another manager forbids the command to everyone.
        permission_entry = {"id": str(guild.id), "type": CommandPermissionType.ROLE, "permission": False}
        (await nora.put(path, json={"permissions": [permission_entry]})).ok()
        await settings.get_by_text("You cannot use this command yourself.").wait_for()
        assert await everyone.is_disabled()
        assert await everyone.locator("option:checked").text_content() == "Not allowed"


async def test_an_app_is_removed_and_another_manager_sees_it(platform: ChatPlatform) -> None:
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    await guild.allow_permissions(tom, Permissions.MANAGE_GUILD)
    bot = await platform.world.bot(guild, name="crier")
    async with (
        platform.open_window(nora, general_path(guild)) as nora_window,
        platform.open_window(tom, general_path(guild)) as tom_window,
    ):
        settings, tom_settings = await open_settings(nora_window, "Apps"), await open_settings(tom_window, "Apps")
        await settings.get_by_text("Bot: @crier").wait_for()
        await tom_settings.get_by_role("button", name="Commands of crier").click()
        await tom_settings.get_by_text("This app has no commands in this guild.").wait_for()
        # Without “Manage roles”, the permissions of commands are shown, but not changed.
        await tom_settings.get_by_role("button", name="Permissions of All commands").click()
        await tom_settings.get_by_text("You need the permission “Manage roles”.").wait_for()
        assert await tom_settings.get_by_label("Permission of @everyone").is_disabled()

        await settings.get_by_role("button", name="Remove crier").click()
        confirmation_dialog = nora_window.page.get_by_role("dialog", name="Remove crier?")
        await confirmation_dialog.get_by_text("Its bot leaves the guild").wait_for()
        await confirmation_dialog.get_by_role("button", name="Remove app").click()
        await settings.get_by_text("There are no apps in this guild yet.").wait_for()
        await tom_settings.get_by_text("crier was removed by someone else.").wait_for()
        await tom_settings.get_by_text("There are no apps in this guild yet.").wait_for()
        assert (await nora.get(f"/guilds/{guild.id}/members/{bot.id}")).status == 404
        audit_entry = await guild.last_audit_entry(AuditLogAction.INTEGRATION_DELETE)
        assert audit_entry["target_id"] == str(bot.application_id)


async def test_apps_explain_missing_permissions(platform: ChatPlatform) -> None:
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    await guild.allow_permissions(tom, Permissions.KICK_MEMBERS)
    async with platform.open_window(tom, general_path(guild)) as window:
        settings = await open_settings(window, "Apps")
        await settings.get_by_text("You cannot see the apps. You need the permission “Manage guild”.").wait_for()

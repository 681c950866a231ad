"""The roles in the guild settings of the chat client, in a real browser."""

from typing import Any

from hubbub.protocol.enums import AuditLogAction, RoleConnectionMetadataType
from hubbub.protocol.permissions import Permissions
from tests.server.talk.uploads import PNG
from tests.web.chat import ChatPlatform, general_path
from tests.web.settings import accessibility_problems, open_settings, save_changes
from tests.world import Actor, Guild


async def role_names(guild: Guild) -> list[str]:
    """Return the names of the roles of a guild, the highest first, without @everyone."""
    roles = (await guild.owner.get(f"/guilds/{guild.id}/roles")).ok()
    # Of two roles at one position, the older one is above.
    return [role["name"] for role in sorted(roles, key=lambda role: (-role["position"], int(role["id"])))][:-1]


async def get_role(guild: Guild, name: str) -> Any:
    roles = (await guild.owner.get(f"/guilds/{guild.id}/roles")).ok()
    return next(role for role in roles if role["name"] == name)


async def shown_names(settings: Any) -> list[str]:
    """Return the names in the list of roles, from top to bottom."""
    titles = settings.get_by_role("list", name="Roles").locator(".settings-entry-title")
    return [text.strip() for text in await titles.all_text_contents()]


async def test_a_role_is_created_edited_and_deleted_and_another_manager_sees_it(platform: ChatPlatform) -> None:
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    await guild.allow_permissions(tom, Permissions.MANAGE_ROLES)
    async with (
        platform.open_window(nora, general_path(guild)) as nora_window,
        platform.open_window(tom, general_path(guild)) as tom_window,
    ):
        page = nora_window.page
        settings, tom_settings = await open_settings(nora_window, "Roles"), await open_settings(tom_window, "Roles")
        await settings.get_by_role("button", name="Create role").click()
        dialog = page.get_by_role("dialog", name="Create role")
        await dialog.get_by_label("Name", exact=True).fill("Crew")
        await dialog.get_by_role("button", name="Create").click()
        await settings.get_by_role("heading", name="Crew", exact=True).wait_for()
        await tom_settings.get_by_role("button", name="Edit Crew").click()
        await tom_settings.get_by_role("heading", name="Crew", exact=True).wait_for()

        # A rejected name is reported at its field, even while another tab is shown.
        nora_window.expected_errors = ("Failed to load resource",)
        await settings.get_by_label("Name", exact=True).fill(" ")
        await settings.get_by_role("tab", name="Permissions").click()
        await save_changes(settings, expects_success=False)
        await settings.get_by_role("tabpanel", name="Appearance").get_by_role("alert").wait_for()

        await settings.get_by_label("Name", exact=True).fill("Sailors")
        await settings.get_by_label("Color", exact=True).select_option(label="One color")
        await settings.get_by_label("Role color").fill("#336699")
        await settings.get_by_label("Show members separately").check()
        await settings.get_by_label("Allow everyone to mention this role").check()
        await settings.get_by_role("tab", name="Permissions").click()
        await settings.get_by_label("Search permissions").fill("kick")
        assert await settings.get_by_label("Send messages", exact=True).is_hidden()
        await settings.get_by_label("Kick members").check()
        await save_changes(settings)
        role = await get_role(guild, "Sailors")
        assert role["colors"] == {"primary_color": 0x336699, "secondary_color": None, "tertiary_color": None}
        assert (role["hoist"], role["mentionable"]) == (True, True)
        assert int(role["permissions"]) & Permissions.KICK_MEMBERS
        # The page of the other manager shows the new values.
        await tom_settings.get_by_role("heading", name="Sailors", exact=True).wait_for()
        assert await tom_settings.get_by_label("Name", exact=True).input_value() == "Sailors"

        await settings.get_by_role("tab", name="Appearance").click()
        await settings.get_by_role("button", name="Delete role").click()
        confirmation_dialog = page.get_by_role("dialog", name="Delete Sailors?")
        await confirmation_dialog.get_by_role("button", name="Delete role").click()
        await page.get_by_text("Sailors was deleted.").wait_for()
        assert await shown_names(settings) == ["allowed", "@everyone"]
        await tom_settings.get_by_text("Sailors was deleted by someone else.").wait_for()
        assert await shown_names(tom_settings) == ["allowed", "@everyone"]


async def test_gradients_and_icons_need_features_of_the_guild(platform: ChatPlatform) -> None:
    nora = await platform.world.user("nora")
    guild = await platform.world.guild(nora)
    await guild.role("Crew")
    async with platform.open_window(nora, general_path(guild)) as window:
        settings = await open_settings(window, "Roles")
        await settings.get_by_role("button", name="Edit Crew").click()
        await settings.get_by_text("Gradients and the holographic style are not available in this guild.").wait_for()
        await settings.get_by_text("Role icons are not available in this guild.").wait_for()
        gradient = settings.get_by_label("Color", exact=True).locator("option", has_text="Gradient")
        assert await gradient.is_disabled()
        assert await settings.get_by_role("button", name="Upload icon").is_disabled()
    await platform.world.grant_to_guild(guild, "ENHANCED_ROLE_COLORS", "ROLE_ICONS")
    async with platform.open_window(nora, general_path(guild)) as window:
        settings = await open_settings(window, "Roles")
        await settings.get_by_role("button", name="Edit Crew").click()
        await settings.get_by_label("Color", exact=True).select_option(label="Gradient of two colors")
        await settings.get_by_label("First color").fill("#112233")
        await settings.get_by_label("Second color").fill("#445566")
        await settings.locator("input[type=file]").set_input_files(
            {"name": "icon.png", "mimeType": "image/png", "buffer": PNG}
        )
        await settings.get_by_label("Emoji", exact=True).fill("⚓")
        await save_changes(settings)
        role = await get_role(guild, "Crew")
        assert role["colors"] == {"primary_color": 0x112233, "secondary_color": 0x445566, "tertiary_color": None}
        assert (role["icon"] is not None, role["unicode_emoji"]) == (True, "⚓")
        await settings.get_by_label("Color", exact=True).select_option(label="Holographic")
        await settings.get_by_role("button", name="Remove icon").click()
        await save_changes(settings)
        role = await get_role(guild, "Crew")
        assert role["colors"]["tertiary_color"] is not None
        assert role["icon"] is None


async def test_roles_are_ordered_by_keyboard_and_by_drag(platform: ChatPlatform) -> None:
    nora = await platform.world.user("nora")
    guild = await platform.world.guild(nora)
    for name in ("Third", "Second", "First"):
        await guild.role(name)
    assert await role_names(guild) == ["Third", "Second", "First"]
    async with platform.open_window(nora, general_path(guild)) as window:
        page = window.page
        settings = await open_settings(window, "Roles")
        await settings.get_by_role("button", name="Move First").focus()
        await page.keyboard.press("ArrowUp")
        await page.keyboard.press("ArrowUp")
        assert await shown_names(settings) == ["First", "Third", "Second", "@everyone"]
        assert await page.evaluate("document.activeElement.ariaLabel") == "Move First"
        await settings.get_by_text("First: 1 of 3.").wait_for()
        assert await role_names(guild) == ["Third", "Second", "First"]

        handle_box = await settings.get_by_role("button", name="Move Second").bounding_box()
        target_box = await settings.get_by_role("button", name="Move Third").bounding_box()
        await page.mouse.move(handle_box["x"] + 5, handle_box["y"] + 5)
        await page.mouse.down()
        await page.mouse.move(target_box["x"] + 5, target_box["y"], steps=5)
        await page.mouse.up()
        assert await shown_names(settings) == ["First", "Second", "Third", "@everyone"]
        await save_changes(settings)
        assert await role_names(guild) == ["First", "Second", "Third"]

        # Escape during a drag restores the order and does not close the settings.
        await page.mouse.move(handle_box["x"] + 5, handle_box["y"] + 5)
        await page.mouse.down()
        await page.mouse.move(target_box["x"] + 5, target_box["y"] - 60, steps=5)
        await page.keyboard.press("Escape")
        await page.mouse.up()
        assert await shown_names(settings) == ["First", "Second", "Third", "@everyone"]
        assert await settings.get_by_role("region", name="Unsaved changes").is_hidden()


async def give_role(guild: Guild, actor: Actor, name: str) -> None:
    """Give a member the role with this name."""
    await guild.add_role(actor, int((await get_role(guild, name))["id"]))


async def test_roles_above_the_highest_role_are_locked_with_a_reason(platform: ChatPlatform) -> None:
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    await guild.role("Captain")
    await guild.role("Mate", Permissions.MANAGE_ROLES)
    await guild.role("Crew")
    await guild.role("Guest")
    await give_role(guild, tom, "Mate")
    async with platform.open_window(tom, general_path(guild)) as window:
        page = window.page
        settings = await open_settings(window, "Roles")
        await settings.get_by_text("You can only change roles below your highest role.").wait_for()
        assert await settings.get_by_text("This role is not below your highest role.").count() == 2
        await settings.get_by_role("button", name="Move Crew").focus()
        await page.keyboard.press("ArrowUp")
        assert await shown_names(settings) == ["Captain", "Mate", "Crew", "Guest", "@everyone"]
        await page.keyboard.press("ArrowDown")
        await save_changes(settings)
        assert await role_names(guild) == ["Captain", "Mate", "Guest", "Crew"]

        await settings.get_by_role("button", name="View Captain").click()
        await settings.get_by_text("You can view this but not change it.").wait_for()
        assert await settings.get_by_label("Name", exact=True).is_disabled()
        assert await settings.get_by_role("button", name="Delete role").is_disabled()
        await settings.get_by_role("button", name="All roles").click()
        await window.wait_until("() => document.activeElement.ariaLabel === 'View Captain'")

        await settings.get_by_role("button", name="Edit Crew").click()
        await settings.get_by_role("tab", name="Permissions").click()
        ban = settings.get_by_label("Ban members")
        assert await ban.is_disabled()
        assert await settings.get_by_text("You can only change permissions that you have.").count() > 1
        await settings.get_by_label("Manage roles").check()
        await save_changes(settings)
        assert int((await get_role(guild, "Crew"))["permissions"]) == Permissions.MANAGE_ROLES

        # The page follows a change of the user's own permissions.
        mate = await get_role(guild, "Mate")
        (await nora.patch(f"/guilds/{guild.id}/roles/{mate['id']}", json={"permissions": "0"})).ok()
        await settings.get_by_text("You need the permission “Manage roles”.").first.wait_for()
        assert await settings.get_by_label("Manage roles").is_disabled()


async def test_members_of_a_role_are_added_and_removed(platform: ChatPlatform) -> None:
    nora, tom, mary = [await platform.world.user(name) for name in ("nora", "tom", "mary")]
    guild = await platform.world.guild(nora, tom, mary)
    crew_role_id = await guild.role("Crew")
    await guild.add_role(mary, crew_role_id)
    async with platform.open_window(nora, general_path(guild)) as window:
        page = window.page
        settings = await open_settings(window, "Roles")
        await settings.get_by_text("1 member").wait_for()
        await settings.get_by_role("button", name="Edit Crew").click()
        await settings.get_by_role("tab", name="Members").click()
        members = settings.get_by_role("list", name="Members with this role")
        await members.get_by_text("@mary").wait_for()
        await settings.get_by_role("button", name="Add members").click()
        dialog = page.get_by_role("dialog", name="Add members to Crew")
        await dialog.get_by_label("Search members").fill("to")
        await dialog.get_by_role("button", name="Add tom").click()
        await dialog.get_by_text("tom was added.").wait_for()
        await dialog.get_by_role("button", name="Done").click()
        await members.get_by_text("@tom").wait_for()
        assert (await guild.last_audit_entry(AuditLogAction.MEMBER_ROLE_UPDATE))["target_id"] == str(tom.id)
        await members.get_by_role("button", name="Remove mary from Crew").click()
        await members.get_by_text("@mary").wait_for(state="detached")
        assert (await nora.get(f"/guilds/{guild.id}/members/{mary.id}")).ok()["roles"] == []
        # The role is removed from tom over the API; the page follows.
        (await nora.delete(f"/guilds/{guild.id}/members/{tom.id}/roles/{crew_role_id}")).ok()
        await settings.get_by_text("No member has this role yet.").wait_for()


async def test_a_role_is_linked_to_accounts_and_members_take_it(platform: ChatPlatform) -> None:
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    bot = await platform.world.bot(guild)
    level = {"type": int(RoleConnectionMetadataType.INTEGER_GREATER_THAN_EQUAL), "key": "level", "name": "Level"}
    records = [level | {"description": "Level in the game"}]
    (await bot.put(f"/applications/{bot.application_id}/role-connections/metadata", json=records)).ok()
    role_id = await guild.role("Veterans")
    token = await platform.world.access_token(tom, bot.application_id, "role_connections.write")

    async def connect_account(value: str) -> None:
        path = f"/users/@me/applications/{bot.application_id}/role-connection"
        headers = {"Authorization": f"Bearer {token}"}
        (await platform.world.request("PUT", path, json={"metadata": {"level": value}}, headers=headers)).ok()

    await connect_account("3")
    async with (
        platform.open_window(nora, general_path(guild)) as nora_window,
        platform.open_window(tom, general_path(guild), width=390) as tom_window,
    ):
        settings = await open_settings(nora_window, "Roles")
        await settings.get_by_role("button", name="Edit Veterans").click()
        await settings.get_by_role("tab", name="Linked accounts").click()
        await settings.get_by_role("button", name="Add conditions").click()
        await settings.get_by_label("Condition 1", exact=True).select_option(label="Level: at least")
        # An invalid value is reported at the conditions.
        nora_window.expected_errors = ("Failed to load resource",)
        await settings.get_by_label("Value of condition 1").fill("many")
        await save_changes(settings, expects_success=False)
        await settings.get_by_role("tabpanel", name="Linked accounts").get_by_role("alert").wait_for()
        await settings.get_by_label("Value of condition 1").fill("5")
        assert await accessibility_problems(nora_window) == []
        await save_changes(settings)
        path = f"/guilds/{guild.id}/roles/{role_id}/connections/configuration"
        requirement = {"application_id": str(bot.application_id), "connection_metadata_field": "level", "value": "5"}
        assert (await nora.get(path)).ok() == [[requirement | {"connection_type": "application"}]]

        tom_window.expected_errors = ("Failed to load resource",)
        page = tom_window.page
        await page.get_by_role("button", name="Channels and conversations").click()
        await page.get_by_role("button", name="Menu of Guild").click()
        await page.get_by_role("menuitem", name="Linked roles").click()
        dialog = page.get_by_role("dialog", name="Linked roles")
        await dialog.get_by_text("Level: at least 5 (yours: 3)").wait_for()
        assert await accessibility_problems(tom_window) == []
        await dialog.get_by_role("button", name="Get role Veterans").click()
        await dialog.get_by_text("You do not meet the conditions yet.").wait_for()
        # A new value assigns the role, so the dialog offers to remove it when it is opened again.
        await connect_account("7")
        await page.keyboard.press("Escape")
        await page.get_by_role("button", name="Menu of Guild").click()
        await page.get_by_role("menuitem", name="Linked roles").click()
        await dialog.get_by_role("button", name="Remove role Veterans").click()
        await dialog.get_by_role("button", name="Get role Veterans").click()
        await dialog.get_by_text("You have this role.").wait_for()
        assert (await nora.get(f"/guilds/{guild.id}/members/{tom.id}")).ok()["roles"] == [str(role_id)]

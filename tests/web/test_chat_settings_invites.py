"""Invites in the guild settings of the chat client, in a real browser."""

from hubbub.protocol.enums import ChannelType
from hubbub.protocol.permissions import Permissions
from tests.server.places.invites import create_invite, create_targeted_invite
from tests.web.chat import ChatPlatform, general_path
from tests.web.settings import choose_in_picker, open_settings
from tests.world import NOW_MS


async def test_invites_are_listed_and_revoked(platform: ChatPlatform) -> None:
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    code = (await create_invite(tom, guild.general, max_uses=5, max_age=0))["code"]
    async with platform.open_window(nora, general_path(guild)) as window:
        settings = await open_settings(window, "Invites")
        invites = settings.get_by_role("list", name="Invites")
        await invites.get_by_text("#general · created by tom").wait_for()
        await invites.get_by_text("0 of 5 uses · never expires").wait_for()
        await invites.get_by_role("button", name=f"Revoke {code}").click()
        confirmation_dialog = window.page.get_by_role("dialog", name="Revoke this invite?")
        await confirmation_dialog.get_by_role("button", name="Revoke").click()
        await settings.get_by_text("There are no invites yet.").wait_for()
        assert (await nora.get(f"/invites/{code}")).status == 404
    # Tom created the invite, but only members who manage the guild see the list.
    await guild.allow_permissions(tom, Permissions.KICK_MEMBERS)
    async with platform.open_window(tom, general_path(guild)) as window:
        settings = await open_settings(window, "Invites")
        await settings.get_by_text("You cannot see the invites. You need the permission “Manage guild”.").wait_for()


async def test_an_invite_is_created_with_options_and_used_while_another_manager_looks(platform: ChatPlatform) -> None:
    nora, tom, mary = [await platform.world.user(name) for name in ("nora", "tom", "mary")]
    guild = await platform.world.guild(nora, tom)
    await guild.allow_permissions(tom, Permissions.MANAGE_GUILD | Permissions.MANAGE_CHANNELS)
    crew_role_id = await guild.role("Crew")
    await guild.channel("Harbor", type=ChannelType.GUILD_CATEGORY)
    async with (
        platform.open_window(nora, general_path(guild)) as nora_window,
        platform.open_window(tom, general_path(guild)) as tom_window,
    ):
        page = nora_window.page
        for window in (nora_window, tom_window):
            # The server's clock is stopped, so the browser's must agree for the time of expiry.
            await window.page.clock.set_fixed_time(NOW_MS / 1000)
        await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        settings, tom_settings = await open_settings(nora_window, "Invites"), await open_settings(tom_window, "Invites")
        await tom_settings.get_by_text("There are no invites yet.").wait_for()
        await settings.get_by_role("button", name="Create invite").click()
        dialog = page.get_by_role("dialog", name="Create invite")
        names = await dialog.get_by_label("Channel").locator("option").all_text_contents()
        assert sorted(names) == ["#general", "General (voice)"]
        await dialog.get_by_label("Expires after").select_option(label="1 day")
        await dialog.get_by_label("Uses").select_option(label="5")
        await dialog.get_by_label("Temporary membership").check()
        await choose_in_picker(dialog, "Roles", "Crew")
        await page.keyboard.press("Escape")
        # An invalid user ID is reported at its field.
        nora_window.expected_errors = ("Failed to load resource",)
        users = dialog.get_by_label("Only for these users")
        await users.fill("a stranger")
        await dialog.get_by_role("button", name="Create and copy link").click()
        await dialog.get_by_role("alert").filter(has_text="invalid user ID").wait_for()
        content = f"user_id\n{mary.id}\n".encode()
        await dialog.locator("input[type=file]").set_input_files(
            {"name": "users.csv", "mimeType": "text/csv", "buffer": content}
        )
        await nora_window.wait_until("id => document.querySelector('.window textarea').value === id", str(mary.id))
        await dialog.get_by_role("button", name="Create and copy link").click()
        await settings.get_by_text("Link copied.").wait_for()
        link = await page.evaluate("navigator.clipboard.readText()")
        code = link.rpartition("/")[2]
        for window_settings in (settings, tom_settings):
            await window_settings.get_by_text("0 of 5 uses · expires tomorrow").wait_for()
            await window_settings.get_by_text("Gives Crew").wait_for()
            await window_settings.get_by_text("Temporary: members without a role leave").wait_for()
        await nora_window.wait_until("label => document.activeElement.ariaLabel === label", f"Copy link of {code}")

        (await mary.post(f"/invites/{code}", json={})).ok()
        await tom_settings.get_by_text("1 of 5 uses").wait_for()
        assert (await nora.get(f"/guilds/{guild.id}/members/{mary.id}")).ok()["roles"] == [str(crew_role_id)]
        (await nora.delete(f"/invites/{code}")).ok()
        await tom_settings.get_by_text("There are no invites yet.").wait_for()


async def test_target_users_of_an_invite_are_replaced(platform: ChatPlatform) -> None:
    nora, tom, mary = [await platform.world.user(name) for name in ("nora", "tom", "mary")]
    guild = await platform.world.guild(nora, tom)
    code = await create_targeted_invite(nora, guild, mary)
    await guild.allow_permissions(tom, Permissions.VIEW_AUDIT_LOG)
    async with platform.open_window(nora, general_path(guild)) as window:
        settings = await open_settings(window, "Invites")
        await settings.get_by_role("button", name=f"Users of {code}").click()
        dialog = window.page.get_by_role("dialog", name=f"Users of {code}")
        await dialog.get_by_text("Only 1 user can use it.").wait_for()
        users = dialog.get_by_label("Only for these users")
        assert await users.input_value() == str(mary.id)
        # An empty list is reported at its field: it cannot be removed.
        window.expected_errors = ("Failed to load resource",)
        await users.fill("")
        await dialog.get_by_role("button", name="Save").click()
        await dialog.get_by_role("alert").wait_for()
        await users.fill(f"{mary.id}\n{tom.id}")
        await dialog.get_by_role("button", name="Save").click()
        await settings.get_by_text("Changes saved.").wait_for()
        text = (await nora.get(f"/invites/{code}/target-users")).body.decode()
        assert set(text.split()) == {"user_id", str(mary.id), str(tom.id)}
    # A member who sees the audit log sees the invites, but can neither revoke nor change them.
    async with platform.open_window(tom, general_path(guild)) as window:
        settings = await open_settings(window, "Invites")
        revoke_button = settings.get_by_role("button", name=f"Revoke {code}")
        assert await revoke_button.is_disabled()
        # The reason is also available by keyboard and touch, which show no tooltips.
        await revoke_button.focus()
        await window.page.keyboard.press("Enter")
        reason = "You need the permission “Manage channels” in this channel."
        await settings.get_by_role("alert").filter(has_text=reason).wait_for()
        await settings.get_by_role("button", name=f"Users of {code}").click()
        dialog = window.page.get_by_role("dialog", name=f"Users of {code}")
        await dialog.get_by_text("You need the permission “Manage guild”.").wait_for()
        assert await dialog.get_by_role("button", name="Save").is_disabled()


NO_CLIPBOARD = "Object.defineProperty(navigator, 'clipboard', {value: undefined})"
"""A script that removes the clipboard API, which browsers offer only on pages with HTTPS."""


async def test_a_link_is_copied_without_the_clipboard_api(platform: ChatPlatform) -> None:
    nora = await platform.world.user("nora")
    guild = await platform.world.guild(nora)
    code = (await create_invite(nora, guild.general))["code"]
    link = f"{platform.url}/invite/{code}"
    async with platform.open_window(nora, general_path(guild), init_script=NO_CLIPBOARD) as window:
        settings = await open_settings(window, "Invites")
        copy_button = settings.get_by_role("button", name=f"Copy link of {code}")
        await copy_button.click()
        await settings.get_by_text("Link copied.").wait_for()
        await window.wait_until("label => document.activeElement.ariaLabel === label", f"Copy link of {code}")
        # A browser that refuses to copy shows the link, selected.
        await window.page.evaluate("document.execCommand = () => false")
        await copy_button.click()
        dialog = window.page.get_by_role("dialog", name="Copy text")
        assert await dialog.get_by_label("Text").input_value() == link
        assert await window.page.evaluate("String(getSelection())") == link
        await window.page.keyboard.press("Escape")
        await window.page.keyboard.press("Escape")
        await window.composer.press("Control+v")
        assert await window.composer.input_value() == link

"""The safety screen of the guild settings in a real browser."""

from hubbub.protocol.enums import ExplicitContentFilter
from hubbub.protocol.permissions import Permissions
from tests.web.chat import ChatPlatform, general_path
from tests.web.settings import open_settings, save_changes

USE_SERVER_TIME = """
const difference = %d - Date.now();
const RealDate = Date;
Date = class extends RealDate {
  constructor(...values) { values.length ? super(...values) : super(RealDate.now() + difference); }
  static now() { return RealDate.now() + difference; }
};
"""
"""A script that sets the clock of the page. %d stands for the time of the server in milliseconds."""


async def test_safety_settings_are_changed_and_another_manager_sees_them(platform: ChatPlatform) -> None:
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    await guild.allow_permissions(tom, Permissions.MANAGE_GUILD)
    script = USE_SERVER_TIME % platform.world.clock.now_ms()
    async with (
        platform.open_window(nora, general_path(guild), init_script=script) as window,
        platform.open_window(tom, general_path(guild), init_script=script) as tom_window,
    ):
        settings = await open_settings(window, "Safety")
        tom_settings = await open_settings(tom_window, "Safety")
        await settings.get_by_role("button", name="Pause: Invites").click()
        dialog = window.page.get_by_role("dialog", name="Pause: invites")
        await dialog.get_by_label("For").select_option(label="6 hours")
        await dialog.get_by_role("button", name="Pause").click()
        await settings.get_by_text("New members cannot join until").wait_for()
        # Tom sees that invites are paused, and resumes them.
        await tom_settings.get_by_role("button", name="Resume: Invites").click()
        await settings.get_by_text("New members can join with an invite.").wait_for()
        assert (await nora.get(f"/guilds/{guild.id}")).ok()["incidents_data"] is None

        await settings.get_by_label("Check for explicit content").select_option(label="Media of all members")
        await save_changes(settings)
        await tom_window.wait_until(
            "level => document.querySelector('.settings-main select').value === String(level)",
            ExplicitContentFilter.ALL_MEMBERS.value,
        )
        # Nora owns the guild, but has no second factor herself.
        await settings.get_by_text("Turn on two-factor authentication for your own account first.").wait_for()
        await tom_settings.get_by_text("Only the owner can change this.").wait_for()
        assert await tom_settings.get_by_role("button", name="Require two-factor authentication").is_disabled()

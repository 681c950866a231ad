"""The stages screen of the guild settings in a real browser."""

from hubbub.protocol.enums import ChannelType
from hubbub.protocol.permissions import Permissions
from tests.web.chat import ChatPlatform, general_path
from tests.web.settings import open_settings


async def test_a_stage_is_started_changed_and_ended_and_another_member_sees_it(platform: ChatPlatform) -> None:
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    await guild.allow_permissions(tom, Permissions.MANAGE_CHANNELS | Permissions.MUTE_MEMBERS)
    async with (
        platform.open_window(nora, general_path(guild)) as window,
        platform.open_window(tom, general_path(guild)) as tom_window,
    ):
        page = window.page
        settings = await open_settings(window, "Stages")
        await settings.get_by_text("There are no stage channels.").wait_for()
        theater_channel_id = await guild.channel("theater", type=ChannelType.GUILD_STAGE_VOICE)
        await settings.get_by_role("button", name="Start stage: theater").click()
        dialog = page.get_by_role("dialog", name="Start theater?")
        await dialog.get_by_label("Topic").fill("Tides")
        await dialog.get_by_role("button", name="Start stage").click()
        stages = settings.get_by_role("list", name="Stages")
        await stages.get_by_text("Tides").wait_for()
        assert (await nora.get(f"/stage-instances/{theater_channel_id}")).ok()["topic"] == "Tides"

        # Tom sees the stage and why he cannot moderate it.
        tom_settings = await open_settings(tom_window, "Stages")
        tom_stages = tom_settings.get_by_role("list", name="Stages")
        await tom_stages.get_by_text("Tides").wait_for()
        await tom_stages.get_by_text("You need the permission “Move members” in this channel.").wait_for()
        assert await tom_stages.get_by_role("button", name="End stage: theater").is_disabled()

        await stages.get_by_role("button", name="Change topic: theater").click()
        dialog = page.get_by_role("dialog", name="Change topic")
        assert await dialog.get_by_label("Topic").input_value() == "Tides"
        await dialog.get_by_label("Topic").fill("Boats")
        await dialog.get_by_role("button", name="Save").click()
        await tom_stages.get_by_text("Boats").wait_for()
        await guild.allow_permissions(tom, Permissions.MOVE_MEMBERS)
        await tom_stages.get_by_role("button", name="End stage: theater").click()
        end_dialog = tom_window.page.get_by_role("dialog", name="End theater?")
        await end_dialog.get_by_role("button", name="End stage").click()
        await stages.get_by_text("Not live").wait_for()
        assert (await nora.get(f"/stage-instances/{theater_channel_id}")).status == 404

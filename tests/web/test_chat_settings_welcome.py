"""The welcome screen and the guide for new members in the guild settings, in a real browser."""

from hubbub.protocol.permissions import Permissions
from tests.web.chat import ChatPlatform, general_path
from tests.web.settings import choose_in_picker, open_settings, save_changes


async def test_welcome_screen_is_edited_by_two_managers(platform: ChatPlatform) -> None:
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    rules_channel_id = await guild.channel("rules")
    await guild.allow_permissions(tom, Permissions.MANAGE_GUILD | Permissions.VIEW_AUDIT_LOG)
    path = f"/guilds/{guild.id}/welcome-screen"
    async with (
        platform.open_window(nora, general_path(guild)) as window,
        platform.open_window(tom, general_path(guild)) as tom_window,
    ):
        window.expected_errors = ("Failed to load resource",)
        page = window.page
        settings = await open_settings(window, "Welcome screen")
        tom_settings = await open_settings(tom_window, "Welcome screen")
        await tom_settings.get_by_text("There are no recommended channels yet.").wait_for()
        await settings.get_by_label("Show the welcome screen").check()
        await settings.get_by_label("Description", exact=True).fill("Boats and tides")
        await settings.get_by_role("button", name="Add channel").click()
        records = settings.get_by_role("list", name="Recommended channels").get_by_role("listitem")
        await records.nth(0).get_by_label("Channel", exact=True).select_option(label="#rules")
        # The description of a channel is required: the API's error is shown at its field.
        await save_changes(settings, expects_success=False)
        field = records.nth(0).locator(".field").filter(has=page.get_by_label("Description of the channel"))
        await field.get_by_role("alert").filter(has_text="1").wait_for()
        await field.get_by_label("Description of the channel").fill("Read this first")
        await records.nth(0).get_by_role("button", name="Choose emoji").click()
        await page.get_by_role("dialog", name="Emoji").get_by_role("option").first.click()
        await settings.get_by_role("button", name="Add channel").click()
        await records.nth(1).get_by_label("Channel", exact=True).select_option(label="#general")
        await records.nth(1).get_by_label("Description of the channel").fill("Say hello")
        await save_changes(settings)
        stored_screen = (await nora.get(path)).ok()
        assert stored_screen["description"] == "Boats and tides"
        assert [entry["channel_id"] for entry in stored_screen["welcome_channels"]] == [
            str(rules_channel_id),
            str(guild.general),
        ]
        assert stored_screen["welcome_channels"][0]["emoji_name"] is not None
        assert "WELCOME_SCREEN_ENABLED" in (await nora.get(f"/guilds/{guild.id}")).ok()["features"]

        # Tom sees the channels, moves one by keyboard and removes the other one.
        tom_records = tom_settings.get_by_role("list", name="Recommended channels").get_by_role("listitem")
        await tom_records.nth(1).wait_for()
        assert await tom_settings.get_by_label("Show the welcome screen").is_checked()
        await tom_settings.get_by_role("button", name="Move #general", exact=True).press("ArrowUp")
        await tom_settings.get_by_text("#general: 1 of 2.").wait_for(state="attached")
        await tom_settings.get_by_role("button", name="Remove #rules", exact=True).click()
        await save_changes(tom_settings)
        await records.nth(1).wait_for(state="detached")
        assert await records.nth(0).get_by_label("Description of the channel").input_value() == "Say hello"
    [welcome_channel] = (await nora.get(path)).ok()["welcome_channels"]
    assert welcome_channel["channel_id"] == str(guild.general)


async def test_members_see_the_welcome_screen_only_while_it_is_on(platform: ChatPlatform) -> None:
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    await guild.allow_permissions(tom, Permissions.KICK_MEMBERS)
    async with platform.open_window(tom, general_path(guild)) as window:
        settings = await open_settings(window, "Welcome screen")
        await settings.get_by_text("The welcome screen is off. You need the permission “Manage guild”.").wait_for()
        body = {"enabled": True, "description": "Boats and tides"}
        (await nora.patch(f"/guilds/{guild.id}/welcome-screen", json=body)).ok()
        await settings.get_by_text("You can view this but not change it.").wait_for()
        assert await settings.get_by_label("Description", exact=True).is_disabled()
        assert await settings.get_by_role("button", name="Add channel").is_disabled()


async def test_member_guide_is_edited_by_two_managers(platform: ChatPlatform) -> None:
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    rules_channel_id = await guild.channel("rules")
    await guild.allow_permissions(tom, Permissions.MANAGE_GUILD | Permissions.VIEW_AUDIT_LOG)
    path = f"/guilds/{guild.id}/new-member-welcome"
    async with (
        platform.open_window(nora, general_path(guild)) as window,
        platform.open_window(tom, general_path(guild)) as tom_window,
    ):
        window.expected_errors = ("Failed to load resource",)
        page = window.page
        settings = await open_settings(window, "Member guide")
        tom_settings = await open_settings(tom_window, "Member guide")
        await tom_settings.get_by_label("Show the guide").wait_for()
        await settings.get_by_label("Show the guide").check()
        await settings.get_by_label("Greeting").fill("Welcome aboard")
        await choose_in_picker(page, "Signed by", "tom")
        await page.keyboard.press("Escape")
        await settings.get_by_role("button", name="Add step").click()
        steps = settings.get_by_role("list", name="First steps")
        await steps.get_by_label("Title").fill("Say hello")
        await steps.get_by_label("Step", exact=True).select_option(label="Write in the channel")
        # A step needs a channel.
        await save_changes(settings, expects_success=False)
        await steps.get_by_role("alert").first.wait_for()
        await steps.get_by_label("Channel").select_option(label="#general")
        await settings.get_by_role("button", name="Add resource").click()
        resources = settings.get_by_role("list", name="Resources")
        await resources.get_by_label("Title").fill("Rules")
        await resources.get_by_label("Channel").select_option(label="#rules")
        await resources.get_by_label("Description").fill("Read them once")
        await save_changes(settings)
        stored_guide = (await nora.get(path)).ok()
        assert stored_guide["welcome_message"] == {"author_ids": [str(tom.id)], "message": "Welcome aboard"}
        assert stored_guide["new_member_actions"] == [
            {"channel_id": str(guild.general), "action_type": 1, "title": "Say hello", "description": ""}
        ]
        assert stored_guide["resource_channels"] == [
            {"channel_id": str(rules_channel_id), "title": "Rules", "description": "Read them once"}
        ]
        # Tom sees the guide and removes the step.
        await tom_settings.get_by_role("button", name="Remove Say hello").click()
        await save_changes(tom_settings)
        await steps.get_by_text("Say hello").wait_for(state="detached")
    stored_guide = (await nora.get(path)).ok()
    assert (stored_guide["new_member_actions"], stored_guide["welcome_message"]["message"]) == ([], "Welcome aboard")

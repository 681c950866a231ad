"""The channels in the guild settings of the chat client, in a real browser."""

from typing import Any

from hubbub.protocol.enums import ChannelType, OverwriteType
from hubbub.protocol.flags import ChannelFlags
from hubbub.protocol.permissions import Permissions
from tests.web.chat import ChatPlatform, general_path
from tests.web.settings import choose_in_picker, open_settings, save_changes
from tests.web.test_chat_modules import modules_url
from tests.world import Guild

VIEW, SEND = Permissions.VIEW_CHANNEL, Permissions.SEND_MESSAGES


async def get_channel(guild: Guild, name: str) -> Any:
    channels = (await guild.owner.get(f"/guilds/{guild.id}/channels")).ok()
    return next(channel for channel in channels if channel["name"] == name)


async def shown_names(settings: Any) -> list[str]:
    """Return the names in the list of channels, from top to bottom."""
    buttons = settings.get_by_role("list", name="Channels").locator("[data-focus=edit]")
    names = [await button.get_attribute("aria-label") for button in await buttons.all()]
    return [name.split(" ", 1)[1] for name in names]


async def test_channels_of_all_types_are_created_and_another_member_sees_them(platform: ChatPlatform) -> None:
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    await platform.world.grant_to_guild(guild, "NEWS")
    crew_role_id = await guild.role("Crew")
    async with (
        platform.open_window(nora, general_path(guild)) as nora_window,
        platform.open_window(tom, general_path(guild)) as tom_window,
    ):
        page = nora_window.page
        settings = await open_settings(nora_window, "Channels")
        types = {
            "Category": ChannelType.GUILD_CATEGORY,
            "Text": ChannelType.GUILD_TEXT,
            "Voice": ChannelType.GUILD_VOICE,
            "Forum": ChannelType.GUILD_FORUM,
            "Media": ChannelType.GUILD_MEDIA,
            "Announcement": ChannelType.GUILD_ANNOUNCEMENT,
            "Stage": ChannelType.GUILD_STAGE_VOICE,
        }
        for label, channel_type in types.items():
            await settings.get_by_role("button", name="Create channel", exact=True).click()
            dialog = page.get_by_role("dialog", name="Create channel")
            await dialog.get_by_label("Name").fill(f"new-{label.lower()}")
            await dialog.get_by_label("Type").select_option(label=label)
            if channel_type != ChannelType.GUILD_CATEGORY:
                await dialog.get_by_label("Category").select_option(label="new-category")
            await dialog.get_by_role("button", name="Create").click()
            await settings.get_by_role("heading", name=f"new-{label.lower()}", exact=True).wait_for()
            await settings.get_by_role("button", name="All channels").click()
            assert (await get_channel(guild, f"new-{label.lower()}"))["type"] == channel_type
        await tom_window.page.get_by_role("link", name="new-text").wait_for()

        # A private channel: only the chosen role sees it.
        await settings.get_by_role("button", name="Create channel in new-category").click()
        await dialog.get_by_label("Name").fill("secret")
        await dialog.get_by_label("Private").check()
        await choose_in_picker(page, "Who can see it", "Crew")
        await page.keyboard.press("Escape")
        await dialog.get_by_role("button", name="Create").click()
        await settings.get_by_role("heading", name="secret", exact=True).wait_for()
        secret = await get_channel(guild, "secret")
        overwrites = {
            entry["id"]: (int(entry["allow"]), int(entry["deny"])) for entry in secret["permission_overwrites"]
        }
        assert overwrites == {str(guild.id): (0, VIEW), str(crew_role_id): (VIEW, 0)}
        await settings.get_by_role("button", name="All channels").click()
        await settings.get_by_text("Private").wait_for()
        assert await tom_window.page.get_by_role("link", name="secret").count() == 0


async def test_a_text_channel_is_edited_and_deleted_while_another_manager_looks(platform: ChatPlatform) -> None:
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    await guild.allow_permissions(tom, Permissions.MANAGE_CHANNELS)
    harbor_channel_id = await guild.channel("harbor", type=ChannelType.GUILD_CATEGORY)
    boats_channel_id = await guild.channel("boats")
    async with (
        platform.open_window(nora, general_path(guild)) as nora_window,
        platform.open_window(tom, general_path(guild)) as tom_window,
    ):
        page = nora_window.page
        settings = await open_settings(nora_window, "Channels")
        tom_settings = await open_settings(tom_window, "Channels")
        for dialog in (settings, tom_settings):
            await dialog.get_by_role("button", name="Edit boats").click()
            await dialog.get_by_role("heading", name="boats", exact=True).wait_for()
        await tom_settings.get_by_text("You need the permission “Manage roles” in this channel.").wait_for()

        nora_window.expected_errors = ("Failed to load resource",)
        await settings.get_by_label("Name", exact=True).fill(" ")
        await settings.get_by_role("tab", name="Permissions").click()
        await save_changes(settings, expects_success=False)
        await settings.get_by_role("tabpanel", name="Overview").get_by_role("alert").wait_for()

        await settings.get_by_label("Name", exact=True).fill("ships")
        await settings.get_by_label("Topic").fill("Large ones")
        await settings.get_by_label("Category").select_option(label="harbor")
        await settings.get_by_label("Slow mode", exact=True).select_option(label="30 seconds")
        await settings.get_by_label("Age-restricted").check()
        await settings.get_by_label("Close inactive threads after").select_option(label="3 days")
        await settings.get_by_label("Slow mode in new threads").select_option(label="5 seconds")
        await save_changes(settings)
        stored_channel = (await nora.get(f"/channels/{boats_channel_id}")).ok()
        expected = {
            "name": "ships",
            "topic": "Large ones",
            "parent_id": str(harbor_channel_id),
            "rate_limit_per_user": 30,
            "nsfw": True,
            "default_auto_archive_duration": 4320,
            "default_thread_rate_limit_per_user": 5,
        }
        assert {name: stored_channel[name] for name in expected} == expected
        await tom_settings.get_by_role("heading", name="ships", exact=True).wait_for()
        assert await tom_settings.get_by_label("Topic").input_value() == "Large ones"

        await settings.get_by_role("button", name="Delete channel").click()
        confirmation_dialog = page.get_by_role("dialog", name="Delete ships?")
        await confirmation_dialog.get_by_role("button", name="Delete channel").click()
        await page.get_by_text("ships was deleted.").wait_for()
        await tom_settings.get_by_text("ships was deleted by someone else.").wait_for()
        assert "ships" not in await shown_names(tom_settings)


async def test_voice_and_forum_channels_have_their_own_fields(platform: ChatPlatform) -> None:
    nora = await platform.world.user("nora")
    guild = await platform.world.guild(nora)
    lounge_id = await guild.channel("lounge", type=ChannelType.GUILD_VOICE)
    ideas_channel_id = await guild.channel("ideas", type=ChannelType.GUILD_FORUM)
    async with platform.open_window(nora, general_path(guild)) as window:
        page = window.page
        window.expected_errors = ("Failed to load resource",)
        settings = await open_settings(window, "Channels")
        await settings.get_by_role("button", name="Edit lounge").click()
        await settings.get_by_label("Bitrate").fill("96000")
        await settings.get_by_label("User limit").fill("100")
        await save_changes(settings, expects_success=False)
        await settings.get_by_role("alert").filter(has_text="99").wait_for()
        await settings.get_by_label("User limit").fill("12")
        await settings.get_by_label("Video quality").select_option(label="720p")
        await save_changes(settings)
        stored_channel = (await nora.get(f"/channels/{lounge_id}")).ok()
        assert (stored_channel["bitrate"], stored_channel["user_limit"], stored_channel["video_quality_mode"]) == (
            96_000,
            12,
            2,
        )

        await settings.get_by_role("button", name="All channels").click()
        await settings.get_by_role("button", name="Edit ideas").click()
        await settings.get_by_role("tab", name="Posts").click()
        for name in ("Question", "Answer"):
            await settings.get_by_role("button", name="Add tag").click()
            await settings.get_by_label("Tag name").last.fill(name)
        await settings.get_by_label("Moderators only").last.check()
        await settings.get_by_role("button", name="Emoji of").first.click()
        await page.get_by_role("searchbox", name="Search emoji").fill("rocket")
        await page.get_by_role("dialog", name="Emoji").get_by_role("option").first.click()
        await settings.get_by_role("button", name="Move Answer", exact=True).focus()
        await page.keyboard.press("ArrowUp")
        await settings.get_by_label("Require a tag").check()
        await settings.get_by_label("Sort posts by").select_option(label="Newest posts")
        await settings.get_by_label("Layout").select_option(label="Gallery")
        await settings.get_by_label("Filter by").select_option(label="All of the chosen tags")
        await settings.get_by_role("button", name="Choose default reaction").click()
        await page.get_by_role("dialog", name="Emoji").get_by_role("option").first.click()
        await save_changes(settings)
        stored_channel = (await nora.get(f"/channels/{ideas_channel_id}")).ok()
        assert [(tag["name"], tag["moderated"]) for tag in stored_channel["available_tags"]] == [
            ("Answer", True),
            ("Question", False),
        ]
        assert stored_channel["available_tags"][1]["emoji_name"] == "🚀"
        assert stored_channel["default_reaction_emoji"]["emoji_name"] is not None
        assert (
            stored_channel["default_sort_order"],
            stored_channel["default_forum_layout"],
            stored_channel["default_tag_setting"],
        ) == (
            1,
            2,
            "match_all",
        )
        assert stored_channel["flags"] & ChannelFlags.REQUIRE_TAG
        # A stored tag keeps its ID when it is renamed.
        await settings.get_by_label("Tag name").first.fill("Reply")
        await save_changes(settings)
        renamed_tags = (await nora.get(f"/channels/{ideas_channel_id}")).ok()["available_tags"]
        assert [tag["name"] for tag in renamed_tags] == ["Reply", "Question"]
        assert [tag["id"] for tag in renamed_tags] == [tag["id"] for tag in stored_channel["available_tags"]]


async def test_channels_are_ordered_and_moved_to_categories_by_keyboard_and_by_drag(platform: ChatPlatform) -> None:
    nora = await platform.world.user("nora")
    guild = await platform.world.guild(nora)
    await guild.channel("harbor", type=ChannelType.GUILD_CATEGORY)
    for name in ("boats", "tides"):
        await guild.channel(name)
    async with platform.open_window(nora, general_path(guild)) as window:
        page = window.page
        settings = await open_settings(window, "Channels")
        initial_names = await shown_names(settings)
        assert initial_names[:2] == ["boats", "tides"]
        category, other_names = initial_names[2], initial_names[3:]
        await settings.get_by_role("button", name="Move tides").focus()
        await page.keyboard.press("ArrowDown")
        assert await shown_names(settings) == ["boats", category, "tides", *other_names]
        await settings.get_by_text(f"in {category}.").wait_for()

        handle_box = await settings.get_by_role("button", name="Move boats").bounding_box()
        target_box = await settings.get_by_role("button", name="Move tides").bounding_box()
        await page.mouse.move(handle_box["x"] + 5, handle_box["y"] + 5)
        await page.mouse.down()
        await page.mouse.move(target_box["x"] + 5, target_box["y"] + target_box["height"], steps=8)
        await page.mouse.up()
        assert await shown_names(settings) == [category, "tides", "boats", *other_names]
        await settings.get_by_role("button", name="Move Voice Channels").focus()
        for _ in range(3):
            await page.keyboard.press("ArrowUp")
        assert (await shown_names(settings))[:2] == ["Voice Channels", "General"]
        await save_changes(settings)
        boats, tides, voice, parent = [
            await get_channel(guild, name) for name in ("boats", "tides", "Voice Channels", category)
        ]
        assert boats["parent_id"] == tides["parent_id"] == parent["id"]
        assert tides["position"] < boats["position"]
        assert voice["position"] < parent["position"]
        # The sidebar of the client has the same order.
        await window.wait_until("() => document.querySelector('.side-list').textContent.includes('tidesboats')")


MOVE_CATEGORY = """async ([folder, id, otherId, isAfter]) => {
  const { TreeMoves } = await import(`${folder}/settings/channels/tree.js`);
  const moves = new TreeMoves(id => ({ id, type: id.length === 1 ? 4 : 0 }));
  const tree = [[null, ["aa"]], ["b", ["bb"]], ["c", ["cc"]], ["d", ["dd"]]];
  return moves.place(tree, id, otherId, isAfter).map(([groupId]) => groupId ?? "").join("");
}"""
"""A JavaScript function that moves a category beside another group of a tree, and returns the order of the categories."""


async def test_a_category_moves_before_or_after_another_one(platform: ChatPlatform) -> None:
    nora = await platform.world.user("nora")
    guild = await platform.world.guild(nora)
    async with platform.open_window(nora, general_path(guild)) as window:
        orders = {
            (moved_id, other_id, is_after): await window.page.evaluate(
                MOVE_CATEGORY, [modules_url(), moved_id, other_id, is_after]
            )
            for moved_id, other_id in (("b", "c"), ("b", "d"), ("d", "c"), ("d", "b"), ("c", "dd"), ("c", "aa"))
            for is_after in (False, True)
        }
    assert orders == {
        ("b", "c", False): "bcd",
        ("b", "c", True): "cbd",
        ("b", "d", False): "cbd",
        ("b", "d", True): "cdb",
        ("d", "c", False): "bdc",
        ("d", "c", True): "bcd",
        ("d", "b", False): "dbc",
        ("d", "b", True): "bdc",
        ("c", "dd", False): "bcd",
        ("c", "dd", True): "bdc",
        ("c", "aa", False): "cbd",
        ("c", "aa", True): "cbd",
    }


async def test_permissions_are_denied_and_previewed_and_synced_with_the_category(platform: ChatPlatform) -> None:
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    harbor_channel_id = await guild.channel("harbor", type=ChannelType.GUILD_CATEGORY)
    crew_role_id = await guild.role("Crew")
    boats_channel_id = await guild.channel("boats", parent_id=str(harbor_channel_id))
    async with (
        platform.open_window(nora, general_path(guild)) as nora_window,
        platform.open_window(tom, general_path(guild)) as tom_window,
    ):
        page = nora_window.page
        settings = await open_settings(nora_window, "Channels")
        await settings.get_by_role("button", name="Edit boats").click()
        await settings.get_by_role("tab", name="Permissions").click()
        await settings.get_by_text("Same permissions as the category harbor.").wait_for()
        await settings.get_by_label("Private channel").check()
        await choose_in_picker(page, "Add role or member", "Crew")
        await settings.get_by_role("group", name="View channels").get_by_label("Allow").check()
        await settings.get_by_role("group", name="Send messages", exact=True).get_by_label("Deny").check()
        await choose_in_picker(page, "Add role or member", "tom")
        await settings.get_by_role("group", name="View channels").get_by_label("Allow").check()

        # The preview counts unsaved changes.
        await settings.get_by_role("tab", name="View as").click()
        await choose_in_picker(page, "View as", "@everyone")
        await settings.get_by_text("@everyone cannot see this channel.").wait_for()
        await choose_in_picker(page, "View as", "Crew")
        await settings.get_by_text("Crew can see this channel.").wait_for()
        row = settings.locator(".preview-row").filter(has_text="Send messages").first
        assert "Not allowed" in await row.text_content()
        await save_changes(settings)
        stored_overwrites = (await nora.get(f"/channels/{boats_channel_id}")).ok()["permission_overwrites"]
        assert {
            entry["id"]: (entry["type"], int(entry["allow"]), int(entry["deny"])) for entry in stored_overwrites
        } == {
            str(guild.id): (OverwriteType.ROLE, 0, VIEW),
            str(crew_role_id): (OverwriteType.ROLE, VIEW, SEND),
            str(tom.id): (OverwriteType.MEMBER, VIEW, 0),
        }
        await tom_window.page.get_by_role("link", name="boats").wait_for()

        # An overwrite is removed over the API; the page follows.
        (await nora.delete(f"/channels/{boats_channel_id}/permissions/{tom.id}")).ok()
        await settings.get_by_role("tab", name="Permissions").click()
        await settings.get_by_label("Permissions of").locator("option", has_text="tom").wait_for(state="detached")
        await tom_window.page.get_by_role("link", name="boats").wait_for(state="detached")
        await settings.get_by_role("button", name="Sync with category").click()
        await save_changes(settings)
        assert (await nora.get(f"/channels/{boats_channel_id}")).ok()["permission_overwrites"] == []
        await tom_window.page.get_by_role("link", name="boats").wait_for()


async def test_channels_explain_what_a_member_cannot_do(platform: ChatPlatform) -> None:
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    hidden_channel_id = await guild.channel("hidden")
    await guild.overwrite(hidden_channel_id, guild.id, deny=VIEW, target_type=OverwriteType.ROLE)
    await guild.allow_permissions(tom, Permissions.MANAGE_ROLES)
    async with platform.open_window(tom, general_path(guild)) as window:
        page = window.page
        settings = await open_settings(window, "Channels")
        await settings.get_by_text(
            "You cannot create or move channels. You need the permission “Manage channels”."
        ).wait_for()
        assert await settings.get_by_role("button", name="Create channel", exact=True).is_disabled()
        assert "hidden" not in await shown_names(settings)
        await settings.get_by_role("button", name="Edit general", exact=True).click()
        await settings.get_by_text("You need the permission “Manage channels” in this channel.").first.wait_for()
        assert await settings.get_by_label("Name", exact=True).is_disabled()
        await settings.get_by_role("tab", name="Permissions").click()
        manage = settings.get_by_role("group", name="Manage roles")
        assert await manage.get_by_label("Allow").is_disabled()
        await settings.get_by_text("Only administrators can change this.").wait_for()
        await settings.get_by_role("group", name="Add reactions").get_by_label("Deny").check()
        await save_changes(settings)
        stored_overwrites = (await nora.get(f"/channels/{guild.general}")).ok()["permission_overwrites"]
        assert [(entry["id"], int(entry["deny"])) for entry in stored_overwrites] == [
            (str(guild.id), Permissions.ADD_REACTIONS)
        ]
        # A role in the list shows what its members can do.
        await settings.get_by_role("button", name="All channels").click()
        await choose_in_picker(page, "View as", "@everyone")
        await settings.get_by_text("Can write").first.wait_for()

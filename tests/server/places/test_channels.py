"""Guild channels: creation, reads, updates, overwrites, order, deletion, validation and limits.

Two tests are about direct message channels and groups."""

import itertools
import json
from typing import Any

import pytest

from hubbub.protocol import changes, codec, errors
from hubbub.protocol.enums import AuditLogAction, ChannelType, MessageType, OverwriteType
from hubbub.protocol.errors import FormErrors
from hubbub.protocol.flags import ChannelFlags
from hubbub.protocol.ids import ChannelId, Snowflake
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import channel_overwrites
from hubbub.protocol.resources import channels as wire
from hubbub.server.core.config import Config
from hubbub.server.places import channels
from hubbub.server.places.channels import rules
from tests.media import data_uri, png
from tests.oauth import create_application
from tests.world import World, small_config

HIDING_OVERWRITE = {"allow": "0", "deny": str(Permissions.VIEW_CHANNEL)}


# Creating


async def test_creating_a_channel_publishes_an_event_and_an_audit_entry(world: World) -> None:
    guild = await world.guild()
    session = await (await world.bot(guild)).connect()

    response = await guild.owner.post(
        f"/guilds/{guild.id}/channels",
        json={"name": "Hello  World", "topic": "words"},
        headers={"X-Audit-Log-Reason": "why"},
    )

    assert response.status == 201
    created_channel = response.ok()
    assert (
        created_channel["name"],
        created_channel["type"],
        created_channel["topic"],
        created_channel["guild_id"],
    ) == (
        "hello-world",
        ChannelType.GUILD_TEXT,
        "words",
        str(guild.id),
    )
    assert (created_channel["parent_id"], created_channel["nsfw"], created_channel["rate_limit_per_user"]) == (
        None,
        False,
        0,
    )
    assert (created_channel["permission_overwrites"], created_channel["flags"], created_channel["application_id"]) == (
        [],
        0,
        None,
    )
    assert (created_channel["last_message_id"], created_channel["last_pin_timestamp"]) == (None, None)
    assert await session.next("CHANNEL_CREATE") == created_channel
    audit_entry = await guild.last_audit_entry(AuditLogAction.CHANNEL_CREATE)
    assert (audit_entry["target_id"], audit_entry["reason"]) == (created_channel["id"], "why")
    assert {"key": "name", "new_value": "hello-world"} in audit_entry["changes"]


@pytest.mark.parametrize(
    ("channel_type", "keys"),
    [
        (
            ChannelType.GUILD_TEXT,
            {"topic", "nsfw", "rate_limit_per_user", "last_message_id", "default_thread_rate_limit_per_user"},
        ),
        (ChannelType.GUILD_VOICE, {"bitrate", "user_limit", "rtc_region", "nsfw", "last_message_id"}),
        (ChannelType.GUILD_CATEGORY, set()),
        (ChannelType.GUILD_STAGE_VOICE, {"bitrate", "user_limit", "rtc_region", "topic"}),
        (
            ChannelType.GUILD_FORUM,
            {"topic", "available_tags", "default_reaction_emoji", "default_sort_order", "default_forum_layout"},
        ),
        (ChannelType.GUILD_MEDIA, {"topic", "available_tags", "default_reaction_emoji", "default_sort_order"}),
    ],
)
async def test_each_channel_type_has_the_keys_that_libraries_read(
    world: World, channel_type: int, keys: set[str]
) -> None:
    guild = await world.guild()
    created_channel = await guild.get_channel(await guild.channel("Somewhere", type=channel_type))
    assert created_channel["type"] == channel_type
    assert keys | {"id", "name", "position", "permission_overwrites", "parent_id", "flags", "guild_id"} <= set(
        created_channel
    )
    assert created_channel["name"] == (
        "Somewhere"
        if channel_type in (ChannelType.GUILD_VOICE, ChannelType.GUILD_CATEGORY, ChannelType.GUILD_STAGE_VOICE)
        else "somewhere"
    )


async def test_announcement_channels_require_the_news_feature(world: World) -> None:
    guild = await world.guild()
    path = f"/guilds/{guild.id}/channels"
    assert (await guild.owner.post(path, json={"name": "n", "type": ChannelType.GUILD_ANNOUNCEMENT})).errors(
        "type"
    ) == ["BASE_TYPE_CHOICES"]
    await world.grant_to_guild(guild, "NEWS")
    assert (await guild.owner.post(path, json={"name": "n", "type": ChannelType.GUILD_ANNOUNCEMENT})).status == 201


@pytest.mark.parametrize(
    ("body", "path", "error_code"),
    [
        ({"name": ""}, "name", "BASE_TYPE_BAD_LENGTH"),
        ({"name": "  "}, "name", "BASE_TYPE_BAD_LENGTH"),
        ({"name": "x" * 101}, "name", "BASE_TYPE_BAD_LENGTH"),
        ({}, "name", "BASE_TYPE_REQUIRED"),
        ({"name": "x", "type": ChannelType.DM}, "type", "BASE_TYPE_CHOICES"),
        ({"name": "x", "type": ChannelType.PUBLIC_THREAD}, "type", "BASE_TYPE_CHOICES"),
        ({"name": "x", "topic": "x" * 1025}, "topic", "BASE_TYPE_BAD_LENGTH"),
        ({"name": "x", "type": ChannelType.GUILD_VOICE, "user_limit": 100}, "user_limit", "NUMBER_TYPE_MAX"),
        ({"name": "x", "parent_id": "1"}, "parent_id", "CHANNEL_PARENT_INVALID_TYPE"),
        (
            {"name": "x", "permission_overwrites": [{"id": "1", "type": OverwriteType.ROLE}]},
            "permission_overwrites.0.id",
            None,
        ),
        (
            {
                "name": "x",
                "type": ChannelType.GUILD_FORUM,
                "available_tags": [{"name": "a", "emoji_id": "1", "emoji_name": "b"}],
            },
            None,
            None,
        ),
        ({"name": "x", "type": ChannelType.GUILD_FORUM, "default_reaction_emoji": {}}, "default_reaction_emoji", None),
    ],
)
async def test_an_invalid_channel_names_the_invalid_field(
    world: World, body: Any, path: str | None, error_code: str | None
) -> None:
    guild = await world.guild()
    response = await guild.owner.post(f"/guilds/{guild.id}/channels", json=body)
    response.rejected(400, 50035)
    if path is not None:
        codes = response.errors(path)
        assert error_code is None or codes == [error_code]


async def test_a_forum_has_a_longer_topic_and_keeps_its_tags(world: World) -> None:
    guild = await world.guild()
    forum_id = await guild.channel(
        "ideas",
        type=ChannelType.GUILD_FORUM,
        topic="x" * 4096,
        available_tags=[{"name": "bug", "moderated": True}, {"name": "wish", "emoji_name": "🌟"}],
        default_reaction_emoji={"emoji_name": "👍"},
        default_sort_order=1,
        default_tag_setting="match_all",
        flags=ChannelFlags.REQUIRE_TAG,
    )
    forum = await guild.get_channel(forum_id)
    assert [(tag["name"], tag["moderated"], tag["emoji_name"]) for tag in forum["available_tags"]] == [
        ("bug", True, None),
        ("wish", False, "🌟"),
    ]
    assert forum["default_reaction_emoji"] == {"emoji_id": None, "emoji_name": "👍"}
    assert (forum["default_sort_order"], forum["default_tag_setting"]) == (1, "match_all")
    assert forum["flags"] == ChannelFlags.REQUIRE_TAG

    existing_tag = forum["available_tags"][1]
    tags = [existing_tag, {"name": "new"}]
    edited_forum = (await guild.owner.patch(f"/channels/{forum_id}", json={"available_tags": tags})).ok()
    assert edited_forum["available_tags"][0] == existing_tag
    path = f"/channels/{forum_id}"
    (await guild.owner.patch(path, json={"available_tags": [{"name": "a"}, {"name": "a"}]})).rejected(400, 40061)
    too_many_tags = [{"name": str(number)} for number in range(21)]
    (await guild.owner.patch(path, json={"available_tags": too_many_tags})).rejected(400, 30048)


async def test_the_bitrate_limit_depends_on_guild_and_channel_type(world: World) -> None:
    guild = await world.guild()
    path = f"/guilds/{guild.id}/channels"
    (await guild.owner.post(path, json={"name": "v", "type": ChannelType.GUILD_VOICE, "bitrate": 96_001})).rejected(
        400, 30052
    )
    (
        await guild.owner.post(path, json={"name": "s", "type": ChannelType.GUILD_STAGE_VOICE, "bitrate": 64_001})
    ).rejected(400, 30052)
    await world.grant_to_guild(guild, "VIP_REGIONS")
    created_channel = (
        await guild.owner.post(
            path, json={"name": "v", "type": ChannelType.GUILD_VOICE, "bitrate": 384_000, "user_limit": 99}
        )
    ).ok()
    assert (created_channel["bitrate"], created_channel["user_limit"]) == (384_000, 99)


@pytest.mark.parametrize("body", [{}, {"permission_overwrites": None}, {"permission_overwrites": []}])
async def test_a_channel_without_own_overwrites_has_those_of_its_category(world: World, body: dict[str, Any]) -> None:
    guild = await world.guild()
    category_id = await guild.channel("Rooms", type=ChannelType.GUILD_CATEGORY)
    await guild.overwrite(category_id, guild.id, deny=Permissions.SEND_MESSAGES, target_type=OverwriteType.ROLE)

    channel_id = await guild.channel("a", parent_id=str(category_id), **body)

    synced_overwrite = {"id": str(guild.id), "type": OverwriteType.ROLE, "allow": "0"}
    assert (await guild.get_channel(channel_id))["permission_overwrites"] == [
        synced_overwrite | {"deny": str(Permissions.SEND_MESSAGES)}
    ]
    # The channel is synced: a later change of the category applies to it.
    await guild.overwrite(category_id, guild.id, deny=Permissions.ADD_REACTIONS, target_type=OverwriteType.ROLE)
    assert (await guild.get_channel(channel_id))["permission_overwrites"] == [
        synced_overwrite | {"deny": str(Permissions.ADD_REACTIONS)}
    ]


async def test_a_channel_with_own_overwrites_has_none_of_its_category(world: World) -> None:
    guild = await world.guild()
    category_id = await guild.channel("Rooms", type=ChannelType.GUILD_CATEGORY)
    await guild.overwrite(category_id, guild.id, deny=Permissions.SEND_MESSAGES, target_type=OverwriteType.ROLE)
    own_overwrite = {"id": str(guild.owner.id), "type": OverwriteType.MEMBER, "allow": "0", "deny": "0"}

    channel_id = await guild.channel("b", parent_id=str(category_id), permission_overwrites=[own_overwrite])

    assert (await guild.get_channel(channel_id))["permission_overwrites"] == [own_overwrite]


async def test_a_guild_has_at_most_500_channels_and_a_category_50(world: World) -> None:
    guild = await world.guild()
    category_id = await guild.channel("Full", type=ChannelType.GUILD_CATEGORY)

    def insert_channels(count: int, parent_id: int | None) -> Any:
        def step(call: Any) -> None:
            for _ in range(count):
                row = channels.ChannelRow(call.new_id(ChannelId), 0, guild.id, "x", parent_id=parent_id)
                channels.creation.insert(call.tx, row)

        return step

    await world.write(insert_channels(50, category_id))
    response = await guild.owner.post(f"/guilds/{guild.id}/channels", json={"name": "x", "parent_id": str(category_id)})
    assert response.errors("parent_id") == ["CHANNEL_PARENT_MAX_CHANNELS"]
    existing_count = len((await guild.owner.get(f"/guilds/{guild.id}/channels")).ok())
    await world.write(insert_channels(500 - existing_count, None))
    (await guild.owner.post(f"/guilds/{guild.id}/channels", json={"name": "x"})).rejected(400, 30013)


async def test_the_list_of_channels_contains_every_earlier_write(world: World) -> None:
    guild = await world.guild()
    path = f"/guilds/{guild.id}/channels"
    first_channel = (await guild.owner.post(path, json={"name": "first", "topic": "a"})).ok()
    channel_path = f"/channels/{first_channel['id']}"

    async def check_list() -> None:
        channels = (await guild.owner.get(path)).ok()
        assert channels
        # A single channel is read and encoded without the cache of the list.
        for channel in channels:
            assert channel == (await guild.owner.get(f"/channels/{channel['id']}")).ok()

    await check_list()
    (await guild.owner.patch(channel_path, json={"topic": "b"})).ok()
    await check_list()
    overwrite_path = f"{channel_path}/permissions/{guild.id}"
    for allowed_bits in ("1024", "2048"):
        (await guild.owner.put(overwrite_path, json={"type": 0, "allow": allowed_bits})).ok()
        await check_list()
    (await guild.owner.delete(overwrite_path)).ok()
    await check_list()
    message = (await guild.owner.post(f"{channel_path}/messages", json={"content": "hello"})).ok()
    await check_list()
    assert message["id"] in {channel.get("last_message_id") for channel in (await guild.owner.get(path)).ok()}
    (await guild.owner.delete(f"{channel_path}/messages/{message['id']}")).ok()
    await check_list()
    (await guild.owner.delete(channel_path)).ok()
    await check_list()


async def test_creating_a_channel_requires_manage_channels_and_held_permissions(world: World) -> None:
    guild = await world.guild()
    bob = await guild.member()
    path = f"/guilds/{guild.id}/channels"
    (await bob.post(path, json={"name": "x"})).rejected(403, 50013)
    await guild.allow_permissions(bob, Permissions.MANAGE_CHANNELS)
    (await bob.post(path, json={"name": "x"})).ok()

    def channel_allowing(permissions: int) -> Any:
        return {
            "name": "x",
            "permission_overwrites": [{"id": str(guild.id), "type": OverwriteType.ROLE, "allow": str(permissions)}],
        }

    (await bob.post(path, json=channel_allowing(Permissions.SEND_MESSAGES))).ok()
    (await bob.post(path, json=channel_allowing(Permissions.MANAGE_WEBHOOKS))).rejected(403, 50013)
    await guild.allow_permissions(bob, Permissions.MANAGE_ROLES)
    (await bob.post(path, json=channel_allowing(Permissions.MANAGE_ROLES))).rejected(403, 50013)
    (await guild.owner.post(path, json=channel_allowing(Permissions.MANAGE_ROLES))).ok()
    stranger = await world.user()
    (await stranger.post(path, json={"name": "x"})).rejected(403, 50001)


# Reading


async def test_hidden_and_unknown_channels_cannot_be_read(world: World) -> None:
    guild = await world.guild()
    bob = await guild.member()
    secret_channel_id = await guild.channel("secret")
    await guild.overwrite(secret_channel_id, guild.id, deny=Permissions.VIEW_CHANNEL, target_type=OverwriteType.ROLE)
    (await bob.get(f"/channels/{secret_channel_id}")).rejected(403, 50001)
    (await bob.get("/channels/1")).rejected(404, 10003)
    assert (await bob.get(f"/channels/{guild.general}")).ok()["name"] == "general"


@pytest.mark.dated(changes.CHANNEL_OBFUSCATION)
async def test_hidden_channels_are_not_listed_for_users_and_from_the_date_for_bots(world: World) -> None:
    guild = await world.guild()
    bot = await world.bot(guild)
    secret_channel_id = await guild.channel("secret")
    await guild.overwrite(secret_channel_id, guild.id, deny=Permissions.VIEW_CHANNEL, target_type=OverwriteType.ROLE)
    member = await guild.member()
    application = await world.bearer(member, (await create_application(world)).id, "guilds.channels.read")
    for is_before, reader in itertools.product((True, False), (bot, member, application)):
        world.clock.set(changes.CHANNEL_OBFUSCATION.at_ms - is_before)
        channel_ids = {int(channel["id"]) for channel in (await reader.get(f"/guilds/{guild.id}/channels")).ok()}
        assert (secret_channel_id in channel_ids) is (is_before and reader is bot)
        assert guild.general in channel_ids


@pytest.mark.dated(changes.CHANNEL_OBFUSCATION)
async def test_a_hidden_category_is_listed_for_users_with_a_visible_channel_in_it(world: World) -> None:
    member = await world.user()
    guild = await world.guild(await world.user(), member)
    bot = await world.bot(guild)
    category_id = await guild.channel(
        "Rooms",
        type=ChannelType.GUILD_CATEGORY,
        permission_overwrites=[{"id": str(guild.id), "type": OverwriteType.ROLE, **HIDING_OVERWRITE}],
    )
    visible_channel_id = await guild.channel("visible", parent_id=str(category_id))
    (await guild.owner.patch(f"/channels/{visible_channel_id}", json={"permission_overwrites": []})).ok()
    for is_before, reader in itertools.product((True, False), (bot, member)):
        world.clock.set(changes.CHANNEL_OBFUSCATION.at_ms - is_before)
        listed_channels = (await reader.get(f"/guilds/{guild.id}/channels")).ok()
        channel_ids = {int(channel["id"]) for channel in listed_channels}
        assert visible_channel_id in channel_ids
        # From the date on, a bot lists exactly the channels that it can get (decisions/0080).
        assert (category_id in channel_ids) is (is_before or reader is member)
        (await reader.get(f"/channels/{category_id}")).rejected(403, 50001)


async def test_an_obfuscated_channel_reveals_only_its_type_parent_and_position() -> None:
    row = channels.ChannelRow(
        5,
        0,
        9,
        "secret",
        topic="words",
        position=3,
        parent_id=4,
        nsfw=1,
        rate_limit_per_user=5,
        flags=ChannelFlags.IS_SPOILER_CHANNEL,
        last_message_id=8,
    )
    encoded_channel = json.loads(codec.encode(channels.views.obfuscated_channel(row)))
    assert encoded_channel == {
        "id": "5",
        "type": ChannelType.GUILD_TEXT,
        "flags": ChannelFlags.CHANNEL_OBFUSCATED,
        "guild_id": "9",
        "name": "___hidden___",
        "position": 3,
        "permission_overwrites": [{"id": "9", "type": OverwriteType.ROLE, "allow": "0", "deny": "1024"}],
        "parent_id": "4",
        "topic": None,
        "nsfw": False,
        "last_message_id": None,
        "last_pin_timestamp": None,
        "rate_limit_per_user": 0,
        "default_thread_rate_limit_per_user": 0,
    }


# Updating


async def test_an_update_publishes_an_event_only_if_something_changed(world: World) -> None:
    guild = await world.guild()
    session = await (await world.bot(guild)).connect()
    path = f"/channels/{guild.general}"
    edited_channel = (
        await guild.owner.patch(path, json={"name": "Big Hall", "topic": "t", "nsfw": True, "rate_limit_per_user": 5})
    ).ok()
    assert (
        edited_channel["name"],
        edited_channel["topic"],
        edited_channel["nsfw"],
        edited_channel["rate_limit_per_user"],
    ) == (
        "big-hall",
        "t",
        True,
        5,
    )
    assert await session.next("CHANNEL_UPDATE") == edited_channel
    audit_entry = await guild.last_audit_entry(AuditLogAction.CHANNEL_UPDATE)
    assert {"key": "name", "old_value": "general", "new_value": "big-hall"} in audit_entry["changes"]
    assert {"key": "topic", "new_value": "t"} in audit_entry["changes"]

    (await guild.owner.patch(path, json={"name": "big-hall"})).ok()
    await session.assert_not_received("CHANNEL_UPDATE")
    assert (await guild.owner.patch(path, json={"topic": None})).ok()["topic"] is None


async def test_updating_requires_manage_channels_and_overwrites_manage_roles(world: World) -> None:
    guild = await world.guild()
    bob = await guild.member()
    path = f"/channels/{guild.general}"
    (await bob.patch(path, json={"name": "x"})).rejected(403, 50013)
    await guild.allow_permissions(bob, Permissions.MANAGE_CHANNELS)
    (await bob.patch(path, json={"name": "x"})).ok()
    overwrites = [{"id": str(guild.id), "type": OverwriteType.ROLE, "deny": str(Permissions.SEND_MESSAGES)}]
    (await bob.patch(path, json={"permission_overwrites": overwrites})).rejected(403, 50013)
    await guild.allow_permissions(bob, Permissions.MANAGE_ROLES)
    (await bob.patch(path, json={"permission_overwrites": overwrites})).ok()
    assert (await guild.last_audit_entry(AuditLogAction.CHANNEL_OVERWRITE_CREATE))["options"] == {
        "id": str(guild.id),
        "type": "0",
        "role_name": "@everyone",
    }
    (await bob.patch(path, json={"permission_overwrites": []})).ok()
    assert (await guild.last_audit_entry(AuditLogAction.CHANNEL_OVERWRITE_DELETE))["options"]["id"] == str(guild.id)


async def test_text_and_announcement_channels_convert_with_the_news_feature(world: World) -> None:
    guild = await world.guild()
    path = f"/channels/{guild.general}"
    (await guild.owner.patch(path, json={"type": ChannelType.GUILD_ANNOUNCEMENT})).rejected(400, 50024)
    await world.grant_to_guild(guild, "NEWS")
    assert (await guild.owner.patch(path, json={"type": ChannelType.GUILD_ANNOUNCEMENT})).ok()[
        "type"
    ] == ChannelType.GUILD_ANNOUNCEMENT
    assert (await guild.owner.patch(path, json={"type": ChannelType.GUILD_TEXT})).ok()["type"] == ChannelType.GUILD_TEXT
    (await guild.owner.patch(path, json={"type": ChannelType.GUILD_VOICE})).rejected(400, 50024)


async def test_required_community_channels_cannot_be_converted_or_deleted(world: World) -> None:
    guild = await world.guild()
    required_channels = {"rules_channel_id": str(guild.general), "public_updates_channel_id": str(guild.general)}
    (await guild.owner.patch(f"/guilds/{guild.id}", json={"features": ["COMMUNITY"], **required_channels})).ok()
    (await guild.owner.patch(f"/channels/{guild.general}", json={"type": ChannelType.GUILD_ANNOUNCEMENT})).rejected(
        400, 50086
    )
    (await guild.owner.delete(f"/channels/{guild.general}")).rejected(400, 50074)


async def test_a_spoiler_channel_is_never_age_restricted(world: World) -> None:
    guild = await world.guild()
    path = f"/channels/{guild.general}"
    spoiler_flag, obfuscated_flag = ChannelFlags.IS_SPOILER_CHANNEL, ChannelFlags.CHANNEL_OBFUSCATED
    assert (await guild.owner.patch(path, json={"flags": spoiler_flag})).ok()["flags"] == spoiler_flag
    assert (await guild.owner.patch(path, json={"nsfw": True})).ok()["flags"] == 0
    assert (await guild.owner.patch(path, json={"flags": spoiler_flag | obfuscated_flag})).ok()["flags"] == 0


class TestRateLimits:
    """Tests with real rate limits."""

    @pytest.fixture
    def store_config(self) -> Config:
        """A configuration with real rate limits."""
        return small_config(rate_limits="real")

    async def test_name_and_topic_change_twice_in_ten_minutes(self, world: World) -> None:
        guild = await world.guild()
        other_channel_id = await guild.channel("other")
        path = f"/channels/{guild.general}"
        (await guild.owner.patch(path, json={"name": "a"})).ok()
        world.clock.advance(60_000)
        (await guild.owner.patch(path, json={"topic": "b"})).ok()
        response = await guild.owner.patch(path, json={"name": "c"})
        assert response.rejected(429, 20028)["retry_after"] == 540
        (await guild.owner.patch(path, json={"name": "a", "nsfw": True})).ok()
        (await guild.owner.patch(f"/channels/{other_channel_id}", json={"name": "c"})).ok()
        world.clock.advance(540_000)
        (await guild.owner.patch(path, json={"name": "c"})).ok()
        (await guild.owner.patch(path, json={"name": "d"})).rejected(429, 20028)


async def test_moving_into_a_category_requires_its_permission(world: World) -> None:
    guild = await world.guild()
    bob = await guild.member(Permissions.MANAGE_CHANNELS)
    category_id = await guild.channel("Rooms", type=ChannelType.GUILD_CATEGORY)
    await guild.overwrite(category_id, bob.id, deny=Permissions.MANAGE_CHANNELS)
    body = {"parent_id": str(category_id)}
    (await bob.patch(f"/channels/{guild.general}", json=body)).rejected(403, 50013)
    assert (await guild.owner.patch(f"/channels/{guild.general}", json=body)).ok()["parent_id"] == str(category_id)
    response = await guild.owner.patch(f"/channels/{category_id}", json=body)
    assert response.errors("parent_id") == ["CHANNEL_PARENT_INVALID_TYPE"]


# Overwrites


async def test_an_overwrite_is_created_updated_and_deleted(world: World) -> None:
    guild = await world.guild()
    role_id = await guild.role("mods")
    session = await (await world.bot(guild)).connect()
    path = f"/channels/{guild.general}/permissions/{role_id}"
    body = {"type": OverwriteType.ROLE, "allow": str(Permissions.MANAGE_MESSAGES), "deny": "0"}
    assert (await guild.owner.put(path, json=body)).status == 204
    event = await session.next("CHANNEL_UPDATE")
    assert event["permission_overwrites"] == [{"id": str(role_id), **body}]
    audit_entry = await guild.last_audit_entry(AuditLogAction.CHANNEL_OVERWRITE_CREATE)
    assert audit_entry["options"] == {"id": str(role_id), "type": "0", "role_name": "mods"}
    assert {"key": "allow", "new_value": str(Permissions.MANAGE_MESSAGES)} in audit_entry["changes"]

    (await guild.owner.put(path, json=body)).ok()
    await session.assert_not_received("CHANNEL_UPDATE")
    (await guild.owner.put(path, json={"type": OverwriteType.ROLE, "deny": 2048})).ok()
    assert (await session.next("CHANNEL_UPDATE"))["permission_overwrites"][0]["deny"] == "2048"
    assert {
        change["key"] for change in (await guild.last_audit_entry(AuditLogAction.CHANNEL_OVERWRITE_UPDATE))["changes"]
    } == {"allow", "deny"}

    assert (await guild.owner.delete(path)).status == 204
    assert (await session.next("CHANNEL_UPDATE"))["permission_overwrites"] == []
    assert (await guild.last_audit_entry(AuditLogAction.CHANNEL_OVERWRITE_DELETE))["target_id"] == str(guild.general)
    (await guild.owner.delete(path)).rejected(404, 10009)


async def test_overwrites_require_an_existing_target_and_held_permissions(world: World) -> None:
    guild = await world.guild()
    bob = await guild.member()
    path = f"/channels/{guild.general}/permissions"
    (await guild.owner.put(f"{path}/1", json={"type": OverwriteType.ROLE})).rejected(404, 10009)
    (await guild.owner.put(f"{path}/1", json={"type": OverwriteType.MEMBER})).rejected(404, 10009)
    (await guild.owner.put(f"{path}/{bob.id}", json={})).ok()
    assert (await guild.get_channel(guild.general))["permission_overwrites"][0]["type"] == OverwriteType.MEMBER
    (await bob.put(f"{path}/{bob.id}", json={"type": OverwriteType.MEMBER})).rejected(403, 50013)
    await guild.allow_permissions(bob, Permissions.MANAGE_ROLES)
    (
        await bob.put(f"{path}/{bob.id}", json={"type": OverwriteType.MEMBER, "deny": str(Permissions.SEND_MESSAGES)})
    ).ok()
    (
        await bob.put(
            f"{path}/{bob.id}", json={"type": OverwriteType.MEMBER, "allow": str(Permissions.MANAGE_WEBHOOKS)}
        )
    ).rejected(403, 50013)
    (
        await bob.put(f"{path}/{bob.id}", json={"type": OverwriteType.MEMBER, "allow": str(Permissions.MANAGE_ROLES)})
    ).rejected(403, 50013)
    await guild.overwrite(guild.general, bob.id, allow=Permissions.MANAGE_ROLES)
    (
        await bob.put(
            f"{path}/{guild.id}", json={"type": OverwriteType.ROLE, "allow": str(Permissions.MANAGE_WEBHOOKS)}
        )
    ).ok()


async def test_synced_channels_follow_the_overwrites_of_their_category(world: World) -> None:
    guild = await world.guild()
    category_id = await guild.channel("Rooms", type=ChannelType.GUILD_CATEGORY)
    synced_channel_id = await guild.channel("synced", parent_id=str(category_id))
    unsynced_channel_id = await guild.channel("apart", parent_id=str(category_id))
    await guild.overwrite(unsynced_channel_id, guild.owner.id, allow=Permissions.VIEW_CHANNEL)
    session = await (await world.bot(guild)).connect()
    await guild.overwrite(category_id, guild.id, deny=Permissions.SEND_MESSAGES, target_type=OverwriteType.ROLE)
    updated_channel_ids = {(await session.next("CHANNEL_UPDATE"))["id"], (await session.next("CHANNEL_UPDATE"))["id"]}
    assert updated_channel_ids == {str(category_id), str(synced_channel_id)}
    await session.assert_not_received("CHANNEL_UPDATE")
    assert (await guild.get_channel(synced_channel_id))["permission_overwrites"] == (
        await guild.get_channel(category_id)
    )["permission_overwrites"]
    assert [
        overwrite["id"] for overwrite in (await guild.get_channel(unsynced_channel_id))["permission_overwrites"]
    ] == [str(guild.owner.id)]


async def test_deleting_a_role_removes_its_overwrites(world: World) -> None:
    guild = await world.guild()
    role_id = await guild.role("mods")
    await guild.overwrite(guild.general, role_id, allow=Permissions.VIEW_CHANNEL, target_type=OverwriteType.ROLE)
    session = await (await world.bot(guild)).connect()
    (await guild.owner.delete(f"/guilds/{guild.id}/roles/{role_id}")).ok()
    assert (await session.next("CHANNEL_UPDATE"))["permission_overwrites"] == []


async def test_a_channel_has_at_most_a_thousand_overwrites() -> None:
    requests = [channel_overwrites.OverwriteRequest(id=Snowflake(number)) for number in range(1001)]
    with pytest.raises(errors.ApiError) as exception_info:
        rules.build_overwrites(None, 1, 1, requests, FormErrors())  # type: ignore[arg-type]
    assert exception_info.value.kind is errors.MAX_CHANNEL_OVERWRITES


# Ordering


async def test_positions_change_together(world: World) -> None:
    guild = await world.guild()
    first_channel_id, second_channel_id = await guild.channel("one"), await guild.channel("two")
    session = await (await world.bot(guild)).connect()
    body = [{"id": str(first_channel_id), "position": 7}, {"id": str(second_channel_id), "position": 6}]
    assert (await guild.owner.patch(f"/guilds/{guild.id}/channels", json=body)).status == 204
    moved_channels = [await session.next("CHANNEL_UPDATE"), await session.next("CHANNEL_UPDATE")]
    assert [(channel["id"], channel["position"]) for channel in moved_channels] == [
        (str(first_channel_id), 7),
        (str(second_channel_id), 6),
    ]
    assert (await guild.last_audit_entry(AuditLogAction.CHANNEL_UPDATE))["target_id"] == str(second_channel_id)
    (await guild.owner.patch(f"/guilds/{guild.id}/channels", json=body)).ok()
    await session.assert_not_received("CHANNEL_UPDATE")


async def test_moving_a_channel_requires_view_channel_and_reordering_does_not(world: World) -> None:
    guild = await world.guild()
    bob = await guild.member(Permissions.MANAGE_CHANNELS)
    category_id = await guild.channel("Rooms", type=ChannelType.GUILD_CATEGORY)
    secret_channel_id = await guild.channel("secret")
    await guild.overwrite(secret_channel_id, bob.id, deny=Permissions.VIEW_CHANNEL)
    path = f"/guilds/{guild.id}/channels"
    (await bob.patch(path, json=[{"id": str(secret_channel_id), "position": 9}])).ok()
    (await bob.patch(path, json=[{"id": str(secret_channel_id), "parent_id": str(category_id)}])).rejected(403, 50001)
    (await bob.patch(path, json=[{"id": str(guild.general), "parent_id": str(category_id)}])).ok()
    lock_body = [{"id": str(guild.general), "lock_permissions": True}]
    (await bob.patch(path, json=lock_body)).rejected(403, 50013)
    (await bob.patch(path, json=[{"id": "1", "position": 1}])).rejected(404, 10003)


async def test_only_one_channel_moves_at_a_time_and_may_sync_its_overwrites(world: World) -> None:
    guild = await world.guild()
    category_id = await guild.channel("Rooms", type=ChannelType.GUILD_CATEGORY)
    await guild.overwrite(category_id, guild.id, deny=Permissions.SEND_MESSAGES, target_type=OverwriteType.ROLE)
    first_channel_id, second_channel_id = await guild.channel("one"), await guild.channel("two")
    path = f"/guilds/{guild.id}/channels"
    both_moves = [
        {"id": str(channel_id), "parent_id": str(category_id)} for channel_id in (first_channel_id, second_channel_id)
    ]
    (await guild.owner.patch(path, json=both_moves)).rejected(400, 40009)
    (await guild.owner.patch(path, json=[{**both_moves[0], "lock_permissions": True}])).ok()
    assert (await guild.get_channel(first_channel_id))["permission_overwrites"] == (
        await guild.get_channel(category_id)
    )["permission_overwrites"]
    assert (await guild.get_channel(second_channel_id))["parent_id"] is None
    response = await guild.owner.patch(path, json=[{"id": str(second_channel_id), "parent_id": str(first_channel_id)}])
    assert response.errors("0.parent_id") == ["CHANNEL_PARENT_INVALID_TYPE"]


@pytest.mark.parametrize("bit", [Permissions.BAN_MEMBERS, Permissions.MANAGE_ROLES])
async def test_syncing_overwrites_requires_the_bits_that_change(world: World, bit: int) -> None:
    guild = await world.guild()
    bob = await guild.member(Permissions.MANAGE_CHANNELS | Permissions.MANAGE_ROLES)
    category_id = await guild.channel("Rooms", type=ChannelType.GUILD_CATEGORY)
    await guild.overwrite(category_id, guild.id, allow=bit, target_type=OverwriteType.ROLE)
    path = f"/guilds/{guild.id}/channels"
    channel_position = {"id": str(guild.general), "parent_id": str(category_id), "lock_permissions": True}
    (await bob.patch(path, json=[channel_position])).rejected(403, 50013)
    assert (await guild.get_channel(guild.general))["parent_id"] != str(category_id)
    await guild.overwrite(category_id, guild.id, allow=Permissions.SEND_MESSAGES, target_type=OverwriteType.ROLE)
    (await bob.patch(path, json=[channel_position])).ok()
    # A sync that removes an overwrite also changes the bits of the overwrite.
    await guild.overwrite(guild.general, bob.id, deny=bit)
    (await bob.patch(path, json=[channel_position])).rejected(403, 50013)
    assert len((await guild.get_channel(guild.general))["permission_overwrites"]) == 2


# Deleting


async def test_deleting_a_channel_publishes_an_event_and_an_audit_entry(world: World) -> None:
    guild = await world.guild()
    channel_id = await guild.channel("gone")
    session = await (await world.bot(guild)).connect()
    bob = await guild.member()
    (await bob.delete(f"/channels/{channel_id}")).rejected(403, 50013)
    response = await guild.owner.delete(f"/channels/{channel_id}")
    assert (response.status, response.ok()["id"]) == (200, str(channel_id))
    assert (await session.next("CHANNEL_DELETE"))["id"] == str(channel_id)
    assert {"key": "name", "old_value": "gone"} in (await guild.last_audit_entry(AuditLogAction.CHANNEL_DELETE))[
        "changes"
    ]
    (await guild.owner.get(f"/channels/{channel_id}")).rejected(404, 10003)


async def test_deleting_a_category_keeps_its_channels(world: World) -> None:
    guild = await world.guild()
    category_id = await guild.channel("Rooms", type=ChannelType.GUILD_CATEGORY)
    child_channel_id = await guild.channel("child", parent_id=str(category_id))
    session = await (await world.bot(guild)).connect()
    (await guild.owner.delete(f"/channels/{category_id}")).ok()
    assert (await session.next("CHANNEL_DELETE"))["id"] == str(category_id)
    event = await session.next("CHANNEL_UPDATE")
    assert (event["id"], event["parent_id"]) == (str(child_channel_id), None)


async def test_deleting_a_channel_clears_references_of_the_guild(world: World) -> None:
    guild = await world.guild()
    session = await (await world.bot(guild)).connect()
    (await guild.owner.patch(f"/guilds/{guild.id}", json={"system_channel_id": str(guild.general)})).ok()
    (await guild.owner.delete(f"/channels/{guild.general}")).ok()
    event = await session.next("GUILD_UPDATE", lambda guild: guild["system_channel_id"] is None)
    assert event["id"] == str(guild.id)


# Private channels


async def test_a_direct_message_channel_is_closed_for_one_user_only(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    await world.guild(alice, bob)
    direct_channel = (await alice.post("/users/@me/channels", json={"recipient_id": str(bob.id)})).ok()
    fetched_channel = (await alice.get(f"/channels/{direct_channel['id']}")).ok()
    assert (fetched_channel["type"], [user["id"] for user in fetched_channel["recipients"]]) == (
        ChannelType.DM,
        [str(bob.id)],
    )
    (await alice.patch(f"/channels/{direct_channel['id']}", json={"name": "x"})).rejected(400, 50003)
    session = await alice.connect()
    assert (await alice.delete(f"/channels/{direct_channel['id']}")).ok()["id"] == direct_channel["id"]
    assert (await session.next("CHANNEL_DELETE"))["id"] == direct_channel["id"]
    (await bob.get(f"/channels/{direct_channel['id']}")).ok()
    stranger = await world.user()
    (await stranger.get(f"/channels/{direct_channel['id']}")).rejected(403, 50001)


async def test_renaming_a_group_publishes_an_event_and_a_message(world: World) -> None:
    alice, bob, carol = await world.user(), await world.user(), await world.user()
    await world.guild(alice, bob, carol)
    recipients = [str(bob.id), str(carol.id)]
    group = (await alice.post("/users/@me/channels", json={"recipients": recipients})).ok()
    session = await bob.connect()
    edited_group = (await alice.patch(f"/channels/{group['id']}", json={"name": "Friends"})).ok()
    assert (edited_group["name"], {user["id"] for user in edited_group["recipients"]}) == ("Friends", set(recipients))
    event = await session.next("CHANNEL_UPDATE")
    assert (event["name"], {user["id"] for user in event["recipients"]}) == ("Friends", {str(alice.id), str(carol.id)})
    message = await session.next("MESSAGE_CREATE")
    assert (message["type"], message["content"]) == (MessageType.CHANNEL_NAME_CHANGE, "Friends")


# Validation and limits


async def test_emoji_of_forum_tags_and_reactions_must_exist(world: World) -> None:
    guild, other_guild = await world.guild(), await world.guild()
    image = {"name": "wave", "image": data_uri(png())}
    own_emoji_id, foreign_emoji_id = [
        (await emoji_guild.owner.post(f"/guilds/{emoji_guild.id}/emojis", json=image)).ok()["id"]
        for emoji_guild in (guild, other_guild)
    ]
    path = f"/guilds/{guild.id}/channels"

    async def assert_unknown_emoji(field: str, **body: Any) -> None:
        response = await guild.owner.post(path, json={"name": "forum", "type": ChannelType.GUILD_FORUM, **body})
        assert response.errors(field) == ["EMOJI_UNKNOWN"]

    await assert_unknown_emoji(
        "available_tags.0.emoji_id", available_tags=[{"name": "a", "emoji_id": foreign_emoji_id}]
    )
    await assert_unknown_emoji(
        "available_tags.1.emoji_name", available_tags=[{"name": "a"}, {"name": "b", "emoji_name": "words"}]
    )
    await assert_unknown_emoji("default_reaction_emoji.emoji_id", default_reaction_emoji={"emoji_id": "1"})
    await assert_unknown_emoji("default_reaction_emoji.emoji_name", default_reaction_emoji={"emoji_name": "x"})
    body = {
        "available_tags": [{"name": "a", "emoji_id": own_emoji_id}],
        "default_reaction_emoji": {"emoji_id": own_emoji_id},
    }
    forum = (await guild.owner.post(path, json={"name": "forum", "type": ChannelType.GUILD_FORUM, **body})).ok()
    assert forum["default_reaction_emoji"] == {"emoji_id": own_emoji_id, "emoji_name": None}
    (tag,) = forum["available_tags"]
    assert (tag["emoji_id"], tag["emoji_name"]) == (own_emoji_id, None)

    # A tag list is always sent whole, so an existing tag may keep a deleted emoji.
    (await guild.owner.delete(f"/guilds/{guild.id}/emojis/{own_emoji_id}")).ok()
    tags = [tag, {"name": "b", "emoji_name": "👍"}]
    changed_forum = (await guild.owner.patch(f"/channels/{forum['id']}", json={"available_tags": tags})).ok()
    assert [tag["emoji_id"] for tag in changed_forum["available_tags"]] == [own_emoji_id, None]
    reaction = {"default_reaction_emoji": {"emoji_id": foreign_emoji_id}}
    response = await guild.owner.patch(f"/channels/{forum['id']}", json=reaction)
    assert response.errors("default_reaction_emoji.emoji_id") == ["EMOJI_UNKNOWN"]


async def test_positions_fit_every_store(world: World) -> None:
    guild = await world.guild()
    path = f"/guilds/{guild.id}/channels"
    maximum = (1 << 31) - 1
    for position in (maximum + 1, (1 << 63) - 1):
        response = await guild.owner.post(path, json={"name": "far", "position": position})
        assert response.errors("position") == ["NUMBER_TYPE_MAX"]
        response = await guild.owner.patch(f"/channels/{guild.general}", json={"position": position})
        assert response.errors("position") == ["NUMBER_TYPE_MAX"]
        response = await guild.owner.patch(path, json=[{"id": str(guild.general), "position": position}])
        assert response.errors("0.position") == ["NUMBER_TYPE_MAX"]
    (await guild.owner.patch(f"/channels/{guild.general}", json={"position": maximum})).ok()
    # A new channel cannot get a higher position than the maximum.
    assert (await guild.owner.post(path, json={"name": "next"})).ok()["position"] == maximum


async def test_the_region_of_a_voice_channel_must_be_listed(world: World) -> None:
    guild = await world.guild()
    create_path = f"/guilds/{guild.id}/channels"
    regions = [region["id"] for region in (await guild.owner.get("/voice/regions")).ok()]
    response = await guild.owner.post(
        create_path, json={"name": "far", "type": ChannelType.GUILD_VOICE, "rtc_region": "mars"}
    )
    assert response.errors("rtc_region") == ["BASE_TYPE_CHOICES"]
    created_channel = (
        await guild.owner.post(
            create_path, json={"name": "near", "type": ChannelType.GUILD_VOICE, "rtc_region": regions[0]}
        )
    ).ok()
    path = f"/channels/{created_channel['id']}"
    assert (await guild.owner.patch(path, json={"rtc_region": "mars"})).errors("rtc_region") == ["BASE_TYPE_CHOICES"]
    assert (await guild.owner.get(path)).ok()["rtc_region"] == regions[0]
    assert (await guild.owner.patch(path, json={"rtc_region": None})).ok()["rtc_region"] is None


async def test_the_total_number_of_overwrites_in_a_guild_is_limited(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    guild = await world.guild()
    bob, carol = await world.user(), await world.user()
    monkeypatch.setattr(wire, "GUILD_OVERWRITES_MAX", 2)
    await guild.overwrite(guild.general, bob.id)
    await guild.overwrite(guild.general, carol.id)
    body = {"type": OverwriteType.MEMBER, "allow": "0", "deny": "0"}
    path = f"/channels/{guild.general}/permissions/{guild.owner.id}"
    (await guild.owner.put(path, json=body)).rejected(400, 30061)
    single_overwrite = [{"id": str(bob.id), **body}]
    path = f"/guilds/{guild.id}/channels"
    (await guild.owner.post(path, json={"name": "more", "permission_overwrites": single_overwrite})).rejected(
        400, 30061
    )
    assert "more" not in {channel["name"] for channel in (await guild.owner.get(path)).ok()}
    (await guild.owner.put(f"/channels/{guild.general}/permissions/{bob.id}", json=body | {"deny": "2048"})).ok()
    (await guild.owner.delete(f"/channels/{guild.general}/permissions/{carol.id}")).ok()
    (await guild.owner.post(path, json={"name": "more", "permission_overwrites": single_overwrite})).ok()

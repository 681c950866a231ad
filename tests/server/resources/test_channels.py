"""Guild channels: what they are, who may change them, and who hears of it."""

import itertools
import json
from typing import Any

import pytest

from hubbub.protocol import changes, errors, wire
from hubbub.protocol.errors import FormErrors
from hubbub.protocol.ids import ChannelId, Snowflake
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import channels as protocol
from hubbub.server.core.config import Config
from hubbub.server.resources import channels
from hubbub.server.resources.channels import rules
from tests.media import png, uri
from tests.oauth import application
from tests.world import Guild, World, small_config

TEXT, VOICE, CATEGORY, ANNOUNCEMENT, STAGE, FORUM, MEDIA = 0, 2, 4, 5, 13, 15, 16
HIDDEN = {"allow": "0", "deny": str(Permissions.VIEW_CHANNEL)}


async def set_features(world: World, guild: Guild, *features: str) -> None:
    """Give a guild features that nobody can write over HTTP."""
    text = json.dumps(features)
    await world.write(lambda call: call.tx.run("UPDATE guilds SET features = ? WHERE id = ?", text, guild.id))


async def get(guild: Guild, channel: int) -> Any:
    return (await guild.owner.get(f"/channels/{channel}")).ok()


# Making


async def test_a_new_channel_is_told_to_all_and_written_down(world: World) -> None:
    guild = await world.guild()
    session = await (await world.bot(guild)).connect()

    answer = await guild.owner.post(
        f"/guilds/{guild.id}/channels",
        json={"name": "Hello  World", "topic": "words"},
        headers={"X-Audit-Log-Reason": "why"},
    )

    assert answer.status == 201
    made = answer.ok()
    assert (made["name"], made["type"], made["topic"], made["guild_id"]) == ("hello-world", 0, "words", str(guild.id))
    assert (made["parent_id"], made["nsfw"], made["rate_limit_per_user"]) == (None, False, 0)
    assert (made["permission_overwrites"], made["flags"], made["application_id"]) == ([], 0, None)
    assert (made["last_message_id"], made["last_pin_timestamp"]) == (None, None)
    assert await session.next("CHANNEL_CREATE") == made
    entry = await guild.last_audit_entry(10)
    assert (entry["target_id"], entry["reason"]) == (made["id"], "why")
    assert {"key": "name", "new_value": "hello-world"} in entry["changes"]


@pytest.mark.parametrize(
    ("kind", "keys"),
    [
        (TEXT, {"topic", "nsfw", "rate_limit_per_user", "last_message_id", "default_thread_rate_limit_per_user"}),
        (VOICE, {"bitrate", "user_limit", "rtc_region", "nsfw", "last_message_id"}),
        (CATEGORY, set()),
        (STAGE, {"bitrate", "user_limit", "rtc_region", "topic"}),
        (FORUM, {"topic", "available_tags", "default_reaction_emoji", "default_sort_order", "default_forum_layout"}),
        (MEDIA, {"topic", "available_tags", "default_reaction_emoji", "default_sort_order"}),
    ],
)
async def test_each_type_has_the_keys_that_libraries_read(world: World, kind: int, keys: set[str]) -> None:
    guild = await world.guild()
    made = await get(guild, await guild.channel("Somewhere", type=kind))
    assert made["type"] == kind
    assert keys | {"id", "name", "position", "permission_overwrites", "parent_id", "flags", "guild_id"} <= set(made)
    assert made["name"] == ("Somewhere" if kind in (VOICE, CATEGORY, STAGE) else "somewhere")


async def test_announcement_channels_need_a_guild_with_news(world: World) -> None:
    guild = await world.guild()
    path = f"/guilds/{guild.id}/channels"
    assert (await guild.owner.post(path, json={"name": "n", "type": 5})).errors("type") == ["BASE_TYPE_CHOICES"]
    await set_features(world, guild, "NEWS")
    assert (await guild.owner.post(path, json={"name": "n", "type": 5})).status == 201


@pytest.mark.parametrize(
    ("body", "path", "constant"),
    [
        ({"name": ""}, "name", "BASE_TYPE_BAD_LENGTH"),
        ({"name": "  "}, "name", "BASE_TYPE_BAD_LENGTH"),
        ({"name": "x" * 101}, "name", "BASE_TYPE_BAD_LENGTH"),
        ({}, "name", "BASE_TYPE_REQUIRED"),
        ({"name": "x", "type": 1}, "type", "BASE_TYPE_CHOICES"),
        ({"name": "x", "type": 11}, "type", "BASE_TYPE_CHOICES"),
        ({"name": "x", "topic": "x" * 1025}, "topic", "BASE_TYPE_BAD_LENGTH"),
        ({"name": "x", "type": 2, "user_limit": 100}, "user_limit", "NUMBER_TYPE_MAX"),
        ({"name": "x", "parent_id": "1"}, "parent_id", "CHANNEL_PARENT_INVALID_TYPE"),
        ({"name": "x", "permission_overwrites": [{"id": "1", "type": 0}]}, "permission_overwrites.0.id", None),
        ({"name": "x", "type": 15, "available_tags": [{"name": "a", "emoji_id": "1", "emoji_name": "b"}]}, None, None),
        ({"name": "x", "type": 15, "default_reaction_emoji": {}}, "default_reaction_emoji", None),
    ],
)
async def test_a_bad_channel_is_refused_at_its_field(
    world: World, body: Any, path: str | None, constant: str | None
) -> None:
    guild = await world.guild()
    answer = await guild.owner.post(f"/guilds/{guild.id}/channels", json=body)
    answer.refused(400, 50035)
    if path is not None:
        found = answer.errors(path)
        assert constant is None or found == [constant]


async def test_a_forum_topic_is_longer_and_its_tags_are_kept(world: World) -> None:
    guild = await world.guild()
    forum = await guild.channel(
        "ideas",
        type=FORUM,
        topic="x" * 4096,
        available_tags=[{"name": "bug", "moderated": True}, {"name": "wish", "emoji_name": "🌟"}],
        default_reaction_emoji={"emoji_name": "👍"},
        default_sort_order=1,
        default_tag_setting="match_all",
        flags=1 << 4,
    )
    made = await get(guild, forum)
    assert [(tag["name"], tag["moderated"], tag["emoji_name"]) for tag in made["available_tags"]] == [
        ("bug", True, None),
        ("wish", False, "🌟"),
    ]
    assert made["default_reaction_emoji"] == {"emoji_id": None, "emoji_name": "👍"}
    assert (made["default_sort_order"], made["default_tag_setting"], made["flags"]) == (1, "match_all", 1 << 4)

    kept = made["available_tags"][1]
    tags = [kept, {"name": "new"}]
    edited = (await guild.owner.patch(f"/channels/{forum}", json={"available_tags": tags})).ok()
    assert edited["available_tags"][0] == kept
    path = f"/channels/{forum}"
    (await guild.owner.patch(path, json={"available_tags": [{"name": "a"}, {"name": "a"}]})).refused(400, 40061)
    many = [{"name": str(number)} for number in range(21)]
    (await guild.owner.patch(path, json={"available_tags": many})).refused(400, 30048)


async def test_a_bitrate_is_as_high_as_the_guild_and_the_type_allow(world: World) -> None:
    guild = await world.guild()
    path = f"/guilds/{guild.id}/channels"
    (await guild.owner.post(path, json={"name": "v", "type": VOICE, "bitrate": 96_001})).refused(400, 30052)
    (await guild.owner.post(path, json={"name": "s", "type": STAGE, "bitrate": 64_001})).refused(400, 30052)
    await set_features(world, guild, "VIP_REGIONS")
    made = (await guild.owner.post(path, json={"name": "v", "type": VOICE, "bitrate": 384_000, "user_limit": 99})).ok()
    assert (made["bitrate"], made["user_limit"]) == (384_000, 99)


async def test_a_channel_takes_its_categorys_overwrites_unless_it_has_its_own(world: World) -> None:
    guild = await world.guild()
    category = await guild.channel("Rooms", type=CATEGORY)
    await guild.overwrite(category, guild.id, deny=Permissions.SEND_MESSAGES, kind=0)
    inherited = await get(guild, await guild.channel("a", parent_id=str(category)))
    own = await get(guild, await guild.channel("b", parent_id=str(category), permission_overwrites=[]))
    assert inherited["permission_overwrites"] == [
        {"id": str(guild.id), "type": 0, "allow": "0", "deny": str(Permissions.SEND_MESSAGES)}
    ]
    assert own["permission_overwrites"] == []


async def test_a_guild_has_500_channels_and_a_category_50(world: World) -> None:
    guild = await world.guild()
    category = await guild.channel("Full", type=CATEGORY)

    def fill(number: int, parent: int | None) -> Any:
        def step(call: Any) -> None:
            for _ in range(number):
                row = channels.ChannelRow(call.new_id(ChannelId), 0, guild.id, "x", parent_id=parent)
                channels.insert(call.tx, row)

        return step

    await world.write(fill(50, category))
    answer = await guild.owner.post(f"/guilds/{guild.id}/channels", json={"name": "x", "parent_id": str(category)})
    assert answer.errors("parent_id") == ["CHANNEL_PARENT_MAX_CHANNELS"]
    have = len((await guild.owner.get(f"/guilds/{guild.id}/channels")).ok())
    await world.write(fill(500 - have, None))
    (await guild.owner.post(f"/guilds/{guild.id}/channels", json={"name": "x"})).refused(400, 30013)


async def test_only_who_manages_channels_makes_one_and_only_with_bits_they_hold(world: World) -> None:
    guild = await world.guild()
    bob = await guild.member()
    path = f"/guilds/{guild.id}/channels"
    (await bob.post(path, json={"name": "x"})).refused(403, 50013)
    await guild.allow(bob, Permissions.MANAGE_CHANNELS)
    (await bob.post(path, json={"name": "x"})).ok()

    def about(bits: int) -> Any:
        return {"name": "x", "permission_overwrites": [{"id": str(guild.id), "type": 0, "allow": str(bits)}]}

    (await bob.post(path, json=about(Permissions.SEND_MESSAGES))).ok()
    (await bob.post(path, json=about(Permissions.MANAGE_WEBHOOKS))).refused(403, 50013)
    await guild.allow(bob, Permissions.MANAGE_ROLES)
    (await bob.post(path, json=about(Permissions.MANAGE_ROLES))).refused(403, 50013)
    (await guild.owner.post(path, json=about(Permissions.MANAGE_ROLES))).ok()
    stranger = await world.user()
    (await stranger.post(path, json={"name": "x"})).refused(403, 50001)


# Reading


async def test_a_hidden_channel_cannot_be_read_and_an_unknown_one_is_unknown(world: World) -> None:
    guild = await world.guild()
    bob = await guild.member()
    secret = await guild.channel("secret")
    await guild.overwrite(secret, guild.id, deny=Permissions.VIEW_CHANNEL, kind=0)
    (await bob.get(f"/channels/{secret}")).refused(403, 50001)
    (await bob.get("/channels/1")).refused(404, 10003)
    assert (await bob.get(f"/channels/{guild.general}")).ok()["name"] == "general"


@pytest.mark.dated(changes.CHANNEL_OBFUSCATION)
async def test_hidden_channels_are_left_out_for_bots_from_the_date_on_and_for_people_always(world: World) -> None:
    guild = await world.guild()
    bot = await world.bot(guild)
    secret = await guild.channel("secret")
    await guild.overwrite(secret, guild.id, deny=Permissions.VIEW_CHANNEL, kind=0)
    someone = await guild.member()
    acting = await world.player(someone, (await application(world)).id, "guilds.channels.read")
    for before, reader in itertools.product((True, False), (bot, someone, acting)):
        world.clock.set(changes.CHANNEL_OBFUSCATION.at_ms - before)
        listed = {int(channel["id"]) for channel in (await reader.get(f"/guilds/{guild.id}/channels")).ok()}
        assert (secret in listed) is (before and reader is bot)
        assert guild.general in listed


async def test_a_category_shows_when_one_of_its_channels_does(world: World) -> None:
    guild = await world.guild()
    bot = await world.bot(guild)
    category = await guild.channel(
        "Rooms", type=CATEGORY, permission_overwrites=[{"id": str(guild.id), "type": 0, **HIDDEN}]
    )
    shown = await guild.channel("shown", parent_id=str(category), permission_overwrites=[])
    listed = {int(channel["id"]) for channel in (await bot.get(f"/guilds/{guild.id}/channels")).ok()}
    assert {category, shown} <= listed


async def test_the_obfuscated_form_tells_nothing_but_the_place() -> None:
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
        flags=1 << 21,
        last_message_id=8,
    )
    shown = json.loads(wire.encode(channels.hidden(row)))
    assert shown == {
        "id": "5",
        "type": 0,
        "flags": 1 << 17,
        "guild_id": "9",
        "name": "___hidden___",
        "position": 3,
        "permission_overwrites": [{"id": "9", "type": 0, "allow": "0", "deny": "1024"}],
        "parent_id": "4",
        "topic": None,
        "nsfw": False,
        "last_message_id": None,
        "last_pin_timestamp": None,
        "rate_limit_per_user": 0,
        "default_thread_rate_limit_per_user": 0,
    }


# Changing


async def test_an_edit_is_told_and_written_down_and_nothing_is_said_of_none(world: World) -> None:
    guild = await world.guild()
    session = await (await world.bot(guild)).connect()
    path = f"/channels/{guild.general}"
    edited = (
        await guild.owner.patch(path, json={"name": "Big Hall", "topic": "t", "nsfw": True, "rate_limit_per_user": 5})
    ).ok()
    assert (edited["name"], edited["topic"], edited["nsfw"], edited["rate_limit_per_user"]) == (
        "big-hall",
        "t",
        True,
        5,
    )
    assert await session.next("CHANNEL_UPDATE") == edited
    entry = await guild.last_audit_entry(11)
    assert {"key": "name", "old_value": "general", "new_value": "big-hall"} in entry["changes"]
    assert {"key": "topic", "new_value": "t"} in entry["changes"]

    (await guild.owner.patch(path, json={"name": "big-hall"})).ok()
    await session.none_of("CHANNEL_UPDATE")
    assert (await guild.owner.patch(path, json={"topic": None})).ok()["topic"] is None


async def test_an_edit_needs_the_permission_and_overwrites_need_another(world: World) -> None:
    guild = await world.guild()
    bob = await guild.member()
    path = f"/channels/{guild.general}"
    (await bob.patch(path, json={"name": "x"})).refused(403, 50013)
    await guild.allow(bob, Permissions.MANAGE_CHANNELS)
    (await bob.patch(path, json={"name": "x"})).ok()
    overwrites = [{"id": str(guild.id), "type": 0, "deny": str(Permissions.SEND_MESSAGES)}]
    (await bob.patch(path, json={"permission_overwrites": overwrites})).refused(403, 50013)
    await guild.allow(bob, Permissions.MANAGE_ROLES)
    (await bob.patch(path, json={"permission_overwrites": overwrites})).ok()
    assert (await guild.last_audit_entry(13))["options"] == {"id": str(guild.id), "type": "0", "role_name": "@everyone"}
    (await bob.patch(path, json={"permission_overwrites": []})).ok()
    assert (await guild.last_audit_entry(15))["options"]["id"] == str(guild.id)


async def test_a_channel_turns_between_text_and_announcement_where_there_is_news(world: World) -> None:
    guild = await world.guild()
    path = f"/channels/{guild.general}"
    (await guild.owner.patch(path, json={"type": 5})).refused(400, 50024)
    await set_features(world, guild, "NEWS")
    assert (await guild.owner.patch(path, json={"type": 5})).ok()["type"] == 5
    assert (await guild.owner.patch(path, json={"type": 0})).ok()["type"] == 0
    (await guild.owner.patch(path, json={"type": 2})).refused(400, 50024)


async def test_a_community_keeps_its_channels_as_they_are(world: World) -> None:
    guild = await world.guild()
    await set_features(world, guild, "COMMUNITY")
    sql = "UPDATE guilds SET rules_channel_id = ? WHERE id = ?"
    await world.write(lambda call: call.tx.run(sql, guild.general, guild.id))
    (await guild.owner.patch(f"/channels/{guild.general}", json={"type": 5})).refused(400, 50086)
    (await guild.owner.delete(f"/channels/{guild.general}")).refused(400, 50074)


async def test_a_spoiler_channel_is_never_age_restricted(world: World) -> None:
    guild = await world.guild()
    path = f"/channels/{guild.general}"
    assert (await guild.owner.patch(path, json={"flags": 1 << 21})).ok()["flags"] == 1 << 21
    assert (await guild.owner.patch(path, json={"nsfw": True})).ok()["flags"] == 0
    assert (await guild.owner.patch(path, json={"flags": 1 << 21 | 1 << 17})).ok()["flags"] == 0


class TestWhereLimitsCount:
    """With the rate limits of a real platform."""

    @pytest.fixture
    def store_config(self) -> Config:
        """A configuration whose limits count."""
        return small_config(rate_limits="real")

    async def test_a_name_changes_twice_in_ten_minutes(self, world: World) -> None:
        guild = await world.guild()
        other = await guild.channel("other")
        path = f"/channels/{guild.general}"
        (await guild.owner.patch(path, json={"name": "a"})).ok()
        world.clock.advance(60_000)
        (await guild.owner.patch(path, json={"topic": "b"})).ok()
        refusal = await guild.owner.patch(path, json={"name": "c"})
        assert refusal.refused(429, 20028)["retry_after"] == 540
        (await guild.owner.patch(path, json={"name": "a", "nsfw": True})).ok()
        (await guild.owner.patch(f"/channels/{other}", json={"name": "c"})).ok()
        world.clock.advance(540_000)
        (await guild.owner.patch(path, json={"name": "c"})).ok()
        (await guild.owner.patch(path, json={"name": "d"})).refused(429, 20028)


async def test_moving_into_a_category_asks_for_its_permission_too(world: World) -> None:
    guild = await world.guild()
    bob = await guild.member(Permissions.MANAGE_CHANNELS)
    category = await guild.channel("Rooms", type=CATEGORY)
    await guild.overwrite(category, bob.id, deny=Permissions.MANAGE_CHANNELS)
    body = {"parent_id": str(category)}
    (await bob.patch(f"/channels/{guild.general}", json=body)).refused(403, 50013)
    assert (await guild.owner.patch(f"/channels/{guild.general}", json=body)).ok()["parent_id"] == str(category)
    answer = await guild.owner.patch(f"/channels/{category}", json=body)
    assert answer.errors("parent_id") == ["CHANNEL_PARENT_INVALID_TYPE"]


# Overwrites


async def test_an_overwrite_is_made_changed_and_deleted(world: World) -> None:
    guild = await world.guild()
    role = await guild.role("mods")
    session = await (await world.bot(guild)).connect()
    path = f"/channels/{guild.general}/permissions/{role}"
    body = {"type": 0, "allow": str(Permissions.MANAGE_MESSAGES), "deny": "0"}
    assert (await guild.owner.put(path, json=body)).status == 204
    told = await session.next("CHANNEL_UPDATE")
    assert told["permission_overwrites"] == [{"id": str(role), **body}]
    entry = await guild.last_audit_entry(13)
    assert entry["options"] == {"id": str(role), "type": "0", "role_name": "mods"}
    assert {"key": "allow", "new_value": str(Permissions.MANAGE_MESSAGES)} in entry["changes"]

    (await guild.owner.put(path, json=body)).ok()
    await session.none_of("CHANNEL_UPDATE")
    (await guild.owner.put(path, json={"type": 0, "deny": 2048})).ok()
    assert (await session.next("CHANNEL_UPDATE"))["permission_overwrites"][0]["deny"] == "2048"
    assert {change["key"] for change in (await guild.last_audit_entry(14))["changes"]} == {"allow", "deny"}

    assert (await guild.owner.delete(path)).status == 204
    assert (await session.next("CHANNEL_UPDATE"))["permission_overwrites"] == []
    assert (await guild.last_audit_entry(15))["target_id"] == str(guild.general)
    (await guild.owner.delete(path)).refused(404, 10009)


async def test_overwrites_are_about_those_who_exist_and_bits_that_are_held(world: World) -> None:
    guild = await world.guild()
    bob = await guild.member()
    path = f"/channels/{guild.general}/permissions"
    (await guild.owner.put(f"{path}/1", json={"type": 0})).refused(404, 10009)
    (await guild.owner.put(f"{path}/1", json={"type": 1})).refused(404, 10009)
    (await guild.owner.put(f"{path}/{bob.id}", json={})).ok()
    assert (await get(guild, guild.general))["permission_overwrites"][0]["type"] == 1
    (await bob.put(f"{path}/{bob.id}", json={"type": 1})).refused(403, 50013)
    await guild.allow(bob, Permissions.MANAGE_ROLES)
    (await bob.put(f"{path}/{bob.id}", json={"type": 1, "deny": str(Permissions.SEND_MESSAGES)})).ok()
    (await bob.put(f"{path}/{bob.id}", json={"type": 1, "allow": str(Permissions.MANAGE_WEBHOOKS)})).refused(403, 50013)
    (await bob.put(f"{path}/{bob.id}", json={"type": 1, "allow": str(Permissions.MANAGE_ROLES)})).refused(403, 50013)
    await guild.overwrite(guild.general, bob.id, allow=Permissions.MANAGE_ROLES)
    (await bob.put(f"{path}/{guild.id}", json={"type": 0, "allow": str(Permissions.MANAGE_WEBHOOKS)})).ok()


async def test_children_that_are_synced_follow_their_category(world: World) -> None:
    guild = await world.guild()
    category = await guild.channel("Rooms", type=CATEGORY)
    synced = await guild.channel("synced", parent_id=str(category))
    apart = await guild.channel("apart", parent_id=str(category))
    await guild.overwrite(apart, guild.owner.id, allow=Permissions.VIEW_CHANNEL)
    session = await (await world.bot(guild)).connect()
    await guild.overwrite(category, guild.id, deny=Permissions.SEND_MESSAGES, kind=0)
    told = {(await session.next("CHANNEL_UPDATE"))["id"], (await session.next("CHANNEL_UPDATE"))["id"]}
    assert told == {str(category), str(synced)}
    await session.none_of("CHANNEL_UPDATE")
    assert (await get(guild, synced))["permission_overwrites"] == (await get(guild, category))["permission_overwrites"]
    assert [each["id"] for each in (await get(guild, apart))["permission_overwrites"]] == [str(guild.owner.id)]


async def test_a_deleted_role_leaves_the_channels(world: World) -> None:
    guild = await world.guild()
    role = await guild.role("mods")
    await guild.overwrite(guild.general, role, allow=Permissions.VIEW_CHANNEL, kind=0)
    session = await (await world.bot(guild)).connect()
    (await guild.owner.delete(f"/guilds/{guild.id}/roles/{role}")).ok()
    assert (await session.next("CHANNEL_UPDATE"))["permission_overwrites"] == []


async def test_a_channel_has_at_most_a_thousand_overwrites() -> None:
    wanted = [protocol.OverwriteRequest(id=Snowflake(number)) for number in range(1001)]
    with pytest.raises(errors.ApiError) as refusal:
        rules.overwrites_from(None, 1, 1, wanted, FormErrors())  # type: ignore[arg-type]
    assert refusal.value.kind is errors.MAX_CHANNEL_OVERWRITES


# Order


async def test_positions_change_together(world: World) -> None:
    guild = await world.guild()
    one, two = await guild.channel("one"), await guild.channel("two")
    session = await (await world.bot(guild)).connect()
    body = [{"id": str(one), "position": 7}, {"id": str(two), "position": 6}]
    assert (await guild.owner.patch(f"/guilds/{guild.id}/channels", json=body)).status == 204
    moved = [await session.next("CHANNEL_UPDATE"), await session.next("CHANNEL_UPDATE")]
    assert [(each["id"], each["position"]) for each in moved] == [(str(one), 7), (str(two), 6)]
    assert (await guild.last_audit_entry(11))["target_id"] == str(two)
    (await guild.owner.patch(f"/guilds/{guild.id}/channels", json=body)).ok()
    await session.none_of("CHANNEL_UPDATE")


async def test_positions_need_no_sight_of_the_channel_but_a_move_does(world: World) -> None:
    guild = await world.guild()
    bob = await guild.member(Permissions.MANAGE_CHANNELS)
    category = await guild.channel("Rooms", type=CATEGORY)
    secret = await guild.channel("secret")
    await guild.overwrite(secret, bob.id, deny=Permissions.VIEW_CHANNEL)
    path = f"/guilds/{guild.id}/channels"
    (await bob.patch(path, json=[{"id": str(secret), "position": 9}])).ok()
    (await bob.patch(path, json=[{"id": str(secret), "parent_id": str(category)}])).refused(403, 50001)
    (await bob.patch(path, json=[{"id": str(guild.general), "parent_id": str(category)}])).ok()
    locked = [{"id": str(guild.general), "lock_permissions": True}]
    (await bob.patch(path, json=locked)).refused(403, 50013)
    (await bob.patch(path, json=[{"id": "1", "position": 1}])).refused(404, 10003)


async def test_one_channel_moves_at_a_time_and_may_take_the_new_overwrites(world: World) -> None:
    guild = await world.guild()
    category = await guild.channel("Rooms", type=CATEGORY)
    await guild.overwrite(category, guild.id, deny=Permissions.SEND_MESSAGES, kind=0)
    one, two = await guild.channel("one"), await guild.channel("two")
    path = f"/guilds/{guild.id}/channels"
    both = [{"id": str(each), "parent_id": str(category)} for each in (one, two)]
    (await guild.owner.patch(path, json=both)).refused(400, 40009)
    (await guild.owner.patch(path, json=[{**both[0], "lock_permissions": True}])).ok()
    assert (await get(guild, one))["permission_overwrites"] == (await get(guild, category))["permission_overwrites"]
    assert (await get(guild, two))["parent_id"] is None
    answer = await guild.owner.patch(path, json=[{"id": str(two), "parent_id": str(one)}])
    assert answer.errors("0.parent_id") == ["CHANNEL_PARENT_INVALID_TYPE"]


# Deleting


async def test_a_deleted_channel_is_told_and_written_down(world: World) -> None:
    guild = await world.guild()
    channel = await guild.channel("gone")
    session = await (await world.bot(guild)).connect()
    bob = await guild.member()
    (await bob.delete(f"/channels/{channel}")).refused(403, 50013)
    answer = await guild.owner.delete(f"/channels/{channel}")
    assert (answer.status, answer.ok()["id"]) == (200, str(channel))
    assert (await session.next("CHANNEL_DELETE"))["id"] == str(channel)
    assert {"key": "name", "old_value": "gone"} in (await guild.last_audit_entry(12))["changes"]
    (await guild.owner.get(f"/channels/{channel}")).refused(404, 10003)


async def test_a_deleted_category_leaves_its_channels_behind(world: World) -> None:
    guild = await world.guild()
    category = await guild.channel("Rooms", type=CATEGORY)
    child = await guild.channel("child", parent_id=str(category))
    session = await (await world.bot(guild)).connect()
    (await guild.owner.delete(f"/channels/{category}")).ok()
    assert (await session.next("CHANNEL_DELETE"))["id"] == str(category)
    told = await session.next("CHANNEL_UPDATE")
    assert (told["id"], told["parent_id"]) == (str(child), None)


async def test_the_guild_forgets_a_deleted_channel(world: World) -> None:
    guild = await world.guild()
    session = await (await world.bot(guild)).connect()
    (await guild.owner.patch(f"/guilds/{guild.id}", json={"system_channel_id": str(guild.general)})).ok()
    (await guild.owner.delete(f"/channels/{guild.general}")).ok()
    told = await session.next("GUILD_UPDATE", lambda guild: guild["system_channel_id"] is None)
    assert told["id"] == str(guild.id)


# Private channels


async def test_a_direct_message_is_closed_for_who_closes_it(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    await world.guild(alice, bob)
    direct = (await alice.post("/users/@me/channels", json={"recipient_id": str(bob.id)})).ok()
    shown = (await alice.get(f"/channels/{direct['id']}")).ok()
    assert (shown["type"], [user["id"] for user in shown["recipients"]]) == (1, [str(bob.id)])
    (await alice.patch(f"/channels/{direct['id']}", json={"name": "x"})).refused(400, 50003)
    session = await alice.connect()
    assert (await alice.delete(f"/channels/{direct['id']}")).ok()["id"] == direct["id"]
    assert (await session.next("CHANNEL_DELETE"))["id"] == direct["id"]
    (await bob.get(f"/channels/{direct['id']}")).ok()
    stranger = await world.user()
    (await stranger.get(f"/channels/{direct['id']}")).refused(403, 50001)


async def test_a_group_takes_another_name(world: World) -> None:
    alice, bob, carol = await world.user(), await world.user(), await world.user()
    await world.guild(alice, bob, carol)
    people = [str(bob.id), str(carol.id)]
    group = (await alice.post("/users/@me/channels", json={"recipients": people})).ok()
    session = await bob.connect()
    edited = (await alice.patch(f"/channels/{group['id']}", json={"name": "Friends"})).ok()
    assert (edited["name"], {user["id"] for user in edited["recipients"]}) == ("Friends", set(people))
    told = await session.next("CHANNEL_UPDATE")
    assert (told["name"], {user["id"] for user in told["recipients"]}) == ("Friends", {str(alice.id), str(carol.id)})
    said = await session.next("MESSAGE_CREATE")
    assert (said["type"], said["content"]) == (4, "Friends")


async def test_emoji_of_forums_are_real(world: World) -> None:
    guild, other = await world.guild(), await world.guild()
    image = {"name": "wave", "image": uri(png())}
    own, foreign = [
        (await each.owner.post(f"/guilds/{each.id}/emojis", json=image)).ok()["id"] for each in (guild, other)
    ]
    path = f"/guilds/{guild.id}/channels"

    async def wrong(field: str, **body: Any) -> None:
        answer = await guild.owner.post(path, json={"name": "forum", "type": FORUM, **body})
        assert answer.errors(field) == ["EMOJI_UNKNOWN"]

    await wrong("available_tags.0.emoji_id", available_tags=[{"name": "a", "emoji_id": foreign}])
    await wrong("available_tags.1.emoji_name", available_tags=[{"name": "a"}, {"name": "b", "emoji_name": "words"}])
    await wrong("default_reaction_emoji.emoji_id", default_reaction_emoji={"emoji_id": "1"})
    await wrong("default_reaction_emoji.emoji_name", default_reaction_emoji={"emoji_name": "x"})
    body = {"available_tags": [{"name": "a", "emoji_id": own}], "default_reaction_emoji": {"emoji_id": own}}
    made = (await guild.owner.post(path, json={"name": "forum", "type": FORUM, **body})).ok()
    assert made["default_reaction_emoji"] == {"emoji_id": own, "emoji_name": None}
    (tag,) = made["available_tags"]
    assert (tag["emoji_id"], tag["emoji_name"]) == (own, None)

    # A list of tags is sent whole, so that what it had before may stay.
    (await guild.owner.delete(f"/guilds/{guild.id}/emojis/{own}")).ok()
    tags = [tag, {"name": "b", "emoji_name": "👍"}]
    changed = (await guild.owner.patch(f"/channels/{made['id']}", json={"available_tags": tags})).ok()
    assert [each["emoji_id"] for each in changed["available_tags"]] == [own, None]
    reaction = {"default_reaction_emoji": {"emoji_id": foreign}}
    answer = await guild.owner.patch(f"/channels/{made['id']}", json=reaction)
    assert answer.errors("default_reaction_emoji.emoji_id") == ["EMOJI_UNKNOWN"]


async def test_positions_fit_every_store(world: World) -> None:
    guild = await world.guild()
    there = f"/guilds/{guild.id}/channels"
    most = (1 << 31) - 1
    for far in (most + 1, (1 << 63) - 1):
        refused = await guild.owner.post(there, json={"name": "far", "position": far})
        assert refused.errors("position") == ["NUMBER_TYPE_MAX"]
        refused = await guild.owner.patch(f"/channels/{guild.general}", json={"position": far})
        assert refused.errors("position") == ["NUMBER_TYPE_MAX"]
        refused = await guild.owner.patch(there, json=[{"id": str(guild.general), "position": far}])
        assert refused.errors("0.position") == ["NUMBER_TYPE_MAX"]
    (await guild.owner.patch(f"/channels/{guild.general}", json={"position": most})).ok()
    # There is no place behind the last one.
    assert (await guild.owner.post(there, json={"name": "next"})).ok()["position"] == most


async def test_a_voice_channel_stands_in_a_region_that_is_listed(world: World) -> None:
    guild = await world.guild()
    there = f"/guilds/{guild.id}/channels"
    regions = [each["id"] for each in (await guild.owner.get("/voice/regions")).ok()]
    refused = await guild.owner.post(there, json={"name": "far", "type": VOICE, "rtc_region": "mars"})
    assert refused.errors("rtc_region") == ["BASE_TYPE_CHOICES"]
    made = (await guild.owner.post(there, json={"name": "near", "type": VOICE, "rtc_region": regions[0]})).ok()
    path = f"/channels/{made['id']}"
    assert (await guild.owner.patch(path, json={"rtc_region": "mars"})).errors("rtc_region") == ["BASE_TYPE_CHOICES"]
    assert (await guild.owner.get(path)).ok()["rtc_region"] == regions[0]
    assert (await guild.owner.patch(path, json={"rtc_region": None})).ok()["rtc_region"] is None


async def test_the_channels_of_a_guild_have_only_so_many_overwrites_together(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    guild = await world.guild()
    bob, carol = await world.user(), await world.user()
    monkeypatch.setattr(protocol, "GUILD_OVERWRITES_MAX", 2)
    await guild.overwrite(guild.general, bob.id)
    await guild.overwrite(guild.general, carol.id)
    body = {"type": 1, "allow": "0", "deny": "0"}
    path = f"/channels/{guild.general}/permissions/{guild.owner.id}"
    (await guild.owner.put(path, json=body)).refused(400, 30061)
    one = [{"id": str(bob.id), **body}]
    path = f"/guilds/{guild.id}/channels"
    (await guild.owner.post(path, json={"name": "more", "permission_overwrites": one})).refused(400, 30061)
    assert "more" not in {channel["name"] for channel in (await guild.owner.get(path)).ok()}
    (await guild.owner.put(f"/channels/{guild.general}/permissions/{bob.id}", json=body | {"deny": "2048"})).ok()
    (await guild.owner.delete(f"/channels/{guild.general}/permissions/{carol.id}")).ok()
    (await guild.owner.post(path, json={"name": "more", "permission_overwrites": one})).ok()

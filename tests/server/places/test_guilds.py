"""Guilds: creation, reads, updates, members who leave, deletion, gateway state, operator grants, and blocked names."""

from datetime import UTC, datetime
from typing import Any

import pytest

from hubbub.protocol import changes
from hubbub.protocol.enums import AuditLogAction, ChannelType, OverwriteType
from hubbub.protocol.errors import ApiError
from hubbub.protocol.permissions import Permissions
from hubbub.server.core.call import Call
from hubbub.server.core.config import AutoModerationConfig, Config
from hubbub.server.places import guild_state, guilds, members
from tests import media
from tests.world import World, small_config

PNG_DATA_URI = media.data_uri(media.png())
GIF_DATA_URI = media.data_uri(media.animated_image())


# Creating


async def test_a_user_creates_a_guild_with_default_channels(world: World) -> None:
    alice = await world.user("alice")

    response = await alice.post("/guilds", json={"name": "  Town Square "})

    assert response.status == 201
    guild = response.ok()
    assert guild["name"] == "Town Square"
    assert guild["owner_id"] == str(alice.id)
    assert [(role["id"], role["name"], role["position"]) for role in guild["roles"]] == [(guild["id"], "@everyone", 0)]
    assert guild["roles"][0]["permissions"] == str(Permissions.DEFAULT_EVERYONE)
    channels = {
        (channel["name"], channel["type"]): channel
        for channel in (await alice.get(f"/guilds/{guild['id']}/channels")).ok()
    }
    assert set(channels) == {
        ("Text Channels", ChannelType.GUILD_CATEGORY),
        ("Voice Channels", ChannelType.GUILD_CATEGORY),
        ("general", ChannelType.GUILD_TEXT),
        ("General", ChannelType.GUILD_VOICE),
    }
    assert (
        channels["general", ChannelType.GUILD_TEXT]["parent_id"]
        == channels["Text Channels", ChannelType.GUILD_CATEGORY]["id"]
    )
    assert (
        channels["General", ChannelType.GUILD_VOICE]["parent_id"]
        == channels["Voice Channels", ChannelType.GUILD_CATEGORY]["id"]
    )
    assert guild["system_channel_id"] == channels["general", ChannelType.GUILD_TEXT]["id"]


async def test_the_owner_receives_guild_create(world: World) -> None:
    alice = await world.user("alice")
    session = await alice.connect()

    guild = (await alice.post("/guilds", json={"name": "Town Square"})).ok()

    guild_create = await session.next("GUILD_CREATE")
    assert guild_create["id"] == guild["id"]
    assert "unavailable" not in guild_create
    assert guild_create["member_count"] == 1
    assert {channel["name"] for channel in guild_create["channels"]} >= {"general", "General"}


async def test_a_guild_is_created_with_the_given_roles_and_channels(world: World) -> None:
    alice = await world.user("alice")
    body = {
        "name": "Planned",
        "roles": [{"id": 0, "permissions": "1024"}, {"id": 7, "name": "mods", "permissions": "8", "color": 5}],
        "channels": [
            {"id": 1, "name": "stuff", "type": ChannelType.GUILD_CATEGORY},
            {
                "id": 2,
                "name": "staff",
                "parent_id": 1,
                "topic": "hush",
                "permission_overwrites": [
                    {"id": 0, "type": OverwriteType.ROLE, "deny": "1024"},
                    {"id": 7, "type": OverwriteType.ROLE, "allow": "1024"},
                ],
            },
            {"id": 3, "name": "away", "type": ChannelType.GUILD_VOICE},
        ],
        "system_channel_id": 2,
        "afk_channel_id": 3,
        "verification_level": 2,
        "afk_timeout": 60,
        "icon": PNG_DATA_URI,
    }

    guild = (await alice.post("/guilds", json=body)).ok()

    everyone, mods = guild["roles"]
    assert (everyone["permissions"], mods["name"], mods["permissions"], mods["color"]) == ("1024", "mods", "8", 5)
    channels = {channel["name"]: channel for channel in (await alice.get(f"/guilds/{guild['id']}/channels")).ok()}
    assert channels["staff"]["parent_id"] == channels["stuff"]["id"]
    assert channels["staff"]["topic"] == "hush"
    assert {
        (overwrite["id"], overwrite["allow"], overwrite["deny"])
        for overwrite in channels["staff"]["permission_overwrites"]
    } == {
        (guild["id"], "0", "1024"),
        (mods["id"], "1024", "0"),
    }
    assert guild["system_channel_id"] == channels["staff"]["id"]
    assert guild["afk_channel_id"] == channels["away"]["id"]
    assert (guild["verification_level"], guild["afk_timeout"]) == (2, 60)
    assert guild["icon"]


async def test_an_invalid_guild_names_the_invalid_field(world: World) -> None:
    alice = await world.user("alice")

    assert (await alice.post("/guilds", json={})).errors("name") == ["BASE_TYPE_REQUIRED"]
    assert (await alice.post("/guilds", json={"name": "x"})).errors("name") == ["BASE_TYPE_BAD_LENGTH"]
    assert (await alice.post("/guilds", json={"name": " x "})).errors("name") == ["BASE_TYPE_BAD_LENGTH"]
    forum = {"name": "xx", "channels": [{"name": "f", "type": ChannelType.GUILD_FORUM}]}
    assert (await alice.post("/guilds", json=forum)).errors("channels.0.type") == ["BASE_TYPE_CHOICES"]
    unknown_target = {
        "name": "xx",
        "channels": [{"name": "f", "permission_overwrites": [{"id": 5, "type": OverwriteType.ROLE}]}],
    }
    assert (await alice.post("/guilds", json=unknown_target)).errors("channels.0.permission_overwrites.0.id")


async def test_bots_cannot_create_guilds(world: World) -> None:
    bot = await world.bot()

    (await bot.post("/guilds", json={"name": "Bot town"})).rejected(403, 20001)


@pytest.mark.dated(changes.GUILD_CREATE_REMOVED_FOR_APPS)
async def test_bots_in_fewer_than_ten_guilds_create_guilds_before_the_date(world: World) -> None:
    world.clock.set(changes.GUILD_CREATE_REMOVED_FOR_APPS.at_ms - 1)
    bot = await world.bot()

    for _ in range(10):
        created_guild = (await bot.post("/guilds", json={"name": "Bot town"})).ok()
        assert created_guild["application_id"] == str(bot.application_id)
    (await bot.post("/guilds", json={"name": "Bot town"})).rejected(400, 30001)

    world.clock.set(changes.GUILD_CREATE_REMOVED_FOR_APPS.at_ms)
    (await bot.post("/guilds", json={"name": "Bot town"})).rejected(403, 20001)


async def test_a_user_is_in_at_most_a_hundred_guilds(world: World) -> None:
    alice = await world.user("alice")

    def create_guilds(call: Any) -> None:
        for _ in range(100):
            guilds.creation.create(call, owner_id=alice.id, name="One more")

    await world.write(create_guilds)

    (await alice.post("/guilds", json={"name": "Too many"})).rejected(400, 30001)


# Reading


async def test_only_members_can_read_a_guild(world: World) -> None:
    guild = await world.guild()
    stranger = await world.user()

    assert (await guild.owner.get(f"/guilds/{guild.id}")).ok()["id"] == str(guild.id)
    (await stranger.get(f"/guilds/{guild.id}")).rejected(403, 50001)
    (await stranger.get("/guilds/1")).rejected(404, 10004)
    assert (await stranger.get("/guilds/nonsense")).status == 400


async def test_counts_are_returned_on_request(world: World) -> None:
    bob = await world.user()
    guild = await world.guild(None, bob)
    await bob.connect()
    for _ in range(2):
        # More users are online than the guild has members.
        await (await world.user()).connect()

    guild_without_counts = (await guild.owner.get(f"/guilds/{guild.id}")).ok()
    guild_with_counts = (await guild.owner.get(f"/guilds/{guild.id}?with_counts=true")).ok()

    assert "approximate_member_count" not in guild_without_counts
    assert guild_with_counts["approximate_member_count"] == 2
    assert guild_with_counts["approximate_presence_count"] == 1
    assert (await bob.get("/users/@me/guilds?with_counts=1")).ok()[0]["approximate_presence_count"] == 1


async def test_a_preview_is_visible_to_members_or_if_the_guild_is_discoverable(world: World) -> None:
    guild = await world.guild()
    stranger = await world.user()

    assert (await guild.owner.get(f"/guilds/{guild.id}/preview")).ok()["approximate_member_count"] == 1
    (await stranger.get(f"/guilds/{guild.id}/preview")).rejected(404, 10004)
    await world.grant_to_guild(guild, "DISCOVERABLE")
    assert (await stranger.get(f"/guilds/{guild.id}/preview")).ok()["name"] == "Guild"
    (await stranger.get("/guilds/1/preview")).rejected(404, 10004)


async def test_current_user_guilds_are_paged_by_ascending_id(world: World) -> None:
    alice = await world.user("alice")
    guild_ids = [str((await world.guild(alice)).id) for _ in range(3)]

    async def list_ids(query: str = "") -> list[str]:
        return [guild["id"] for guild in (await alice.get(f"/users/@me/guilds{query}")).ok()]

    assert await list_ids() == guild_ids
    assert await list_ids("?limit=2") == guild_ids[:2]
    assert await list_ids(f"?after={guild_ids[0]}") == guild_ids[1:]
    assert await list_ids(f"?before={guild_ids[2]}&limit=1") == guild_ids[1:2]
    assert await list_ids(f"?before={guild_ids[1]}&after={guild_ids[0]}") == guild_ids[:1]
    assert (await alice.get("/users/@me/guilds?limit=201")).errors("limit") == ["NUMBER_TYPE_MAX"]
    assert (await alice.get("/users/@me/guilds?limit=0")).errors("limit") == ["NUMBER_TYPE_MIN"]


async def test_current_user_guilds_contain_the_users_permissions(world: World) -> None:
    bob = await world.user()
    guild = await world.guild(None, bob)
    (await guild.owner.patch(f"/guilds/{guild.id}/roles/{guild.id}", json={"permissions": "1024"})).ok()

    owner_view = (await guild.owner.get("/users/@me/guilds?with_counts=true")).ok()[0]
    member_view = (await bob.get("/users/@me/guilds")).ok()[0]

    assert (owner_view["owner"], owner_view["permissions"]) == (True, str(Permissions.ALL))
    assert (owner_view["approximate_member_count"], owner_view["approximate_presence_count"]) == (2, 0)
    assert (member_view["owner"], member_view["permissions"], member_view["banner"]) == (False, "1024", None)
    assert "approximate_member_count" not in member_view


async def test_an_application_with_the_scope_lists_the_guilds_of_a_user(world: World) -> None:
    guild = await world.guild()
    bot = await world.bot()

    async def list_guilds(*scopes: str) -> Any:
        token = await world.access_token(guild.owner, bot.application_id, *scopes)
        return await world.request("GET", "/users/@me/guilds", headers={"Authorization": f"Bearer {token}"})

    assert [listed_guild["id"] for listed_guild in (await list_guilds("guilds")).ok()] == [str(guild.id)]
    (await list_guilds("identify")).rejected(403, 50026)


# Updating


async def test_updating_a_guild_publishes_an_event_and_an_audit_entry(world: World) -> None:
    guild = await world.guild()
    bot = await world.bot(guild)
    session = await bot.connect()

    body = {"name": "Renamed", "description": "A place", "verification_level": 3, "preferred_locale": "de"}
    changed_guild = (
        await guild.owner.patch(f"/guilds/{guild.id}", json=body, headers={"X-Audit-Log-Reason": "spring"})
    ).ok()

    event = await session.next("GUILD_UPDATE")
    assert event == changed_guild == (await guild.owner.get(f"/guilds/{guild.id}")).ok()
    assert {key: event[key] for key in body} == body
    audit_entry = await guild.last_audit_entry(AuditLogAction.GUILD_UPDATE)
    assert (audit_entry["target_id"], audit_entry["user_id"], audit_entry["reason"]) == (
        str(guild.id),
        str(guild.owner.id),
        "spring",
    )
    assert {change["key"]: change.get("new_value") for change in audit_entry["changes"]} == body
    assert {"key": "name", "old_value": "Guild", "new_value": "Renamed"} in audit_entry["changes"]
    assert {"key": "description", "new_value": "A place"} in audit_entry["changes"]


async def test_an_update_without_changes_publishes_no_event(world: World) -> None:
    guild = await world.guild()
    bot = await world.bot(guild)
    session = await bot.connect()

    (await guild.owner.patch(f"/guilds/{guild.id}", json={"name": "Guild"})).ok()

    await session.assert_not_received("GUILD_UPDATE")
    log = (await guild.owner.get(f"/guilds/{guild.id}/audit-logs?action_type={AuditLogAction.GUILD_UPDATE:d}")).ok()
    assert log["audit_log_entries"] == []


async def test_updating_a_guild_requires_manage_guild(world: World) -> None:
    bob = await world.user()
    guild = await world.guild(None, bob)

    (await bob.patch(f"/guilds/{guild.id}", json={"name": "Mine"})).rejected(403, 50013)
    (await (await world.user()).patch(f"/guilds/{guild.id}", json={"name": "Mine"})).rejected(403, 50001)
    (await bob.patch("/guilds/1", json={"name": "Mine"})).rejected(404, 10004)


async def test_null_resets_a_field_to_its_default(world: World) -> None:
    guild = await world.guild()
    path = f"/guilds/{guild.id}"
    all_fields = {
        "description": "A place",
        "verification_level": 1,
        "default_message_notifications": 1,
        "explicit_content_filter": 2,
        "afk_timeout": 3600,
        "preferred_locale": "fr",
        "system_channel_flags": 3,
        "premium_progress_bar_enabled": True,
        "icon": PNG_DATA_URI,
    }
    changed_guild = (await guild.owner.patch(path, json=all_fields)).ok()
    fields_except_icon = {key: value for key, value in all_fields.items() if key != "icon"}
    assert {key: changed_guild[key] for key in fields_except_icon} == fields_except_icon
    assert len(changed_guild["icon"]) == 32

    cleared_guild = (await guild.owner.patch(path, json=dict.fromkeys((*all_fields, "system_channel_id")))).ok()

    assert cleared_guild["description"] is None
    assert cleared_guild["icon"] is None
    assert cleared_guild["system_channel_id"] is None
    assert (
        cleared_guild["verification_level"],
        cleared_guild["explicit_content_filter"],
        cleared_guild["afk_timeout"],
    ) == (0, 0, 300)
    assert (cleared_guild["preferred_locale"], cleared_guild["system_channel_flags"]) == ("en-US", 0)
    assert cleared_guild["premium_progress_bar_enabled"] is False


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"name": "x"}, "name"),
        ({"name": "x" * 101}, "name"),
        ({"name": "  x  "}, "name"),
        ({"description": "x" * 301}, "description"),
        ({"afk_timeout": 61}, "afk_timeout"),
        ({"verification_level": 5}, "verification_level"),
        ({"default_message_notifications": 2}, "default_message_notifications"),
        ({"explicit_content_filter": 3}, "explicit_content_filter"),
        ({"preferred_locale": "tlh"}, "preferred_locale"),
        ({"icon": "nonsense"}, "icon"),
        ({"owner_id": "nonsense"}, "owner_id"),
    ],
)
async def test_an_invalid_update_names_the_invalid_field(world: World, body: dict[str, Any], path: str) -> None:
    guild = await world.guild()

    assert (await guild.owner.patch(f"/guilds/{guild.id}", json=body)).errors(path)


async def test_referenced_channels_must_be_in_the_guild_and_of_the_right_type(world: World) -> None:
    guild = await world.guild()
    other_guild = await world.guild(guild.owner)
    path = f"/guilds/{guild.id}"
    voice_channel_id = guild.channels["General"]

    changed_guild = (
        await guild.owner.patch(
            path, json={"afk_channel_id": str(voice_channel_id), "rules_channel_id": str(guild.general)}
        )
    ).ok()

    assert (changed_guild["afk_channel_id"], changed_guild["rules_channel_id"]) == (
        str(voice_channel_id),
        str(guild.general),
    )
    (await guild.owner.patch(path, json={"afk_channel_id": str(other_guild.general)})).rejected(404, 10003)
    (await guild.owner.patch(path, json={"system_channel_id": "1"})).rejected(404, 10003)
    (await guild.owner.patch(path, json={"afk_channel_id": str(guild.general)})).rejected(400, 50024)
    (await guild.owner.patch(path, json={"system_channel_id": str(voice_channel_id)})).rejected(400, 50024)
    (await guild.owner.patch(path, json={"rules_channel_id": str(voice_channel_id)})).rejected(400, 50086)


async def test_features_are_changed_with_the_required_permission(world: World) -> None:
    bob = await world.user()
    guild = await world.guild(None, bob)
    await guild.allow_permissions(bob, Permissions.MANAGE_GUILD)
    await world.grant_to_guild(guild, "ROLE_ICONS")
    path = f"/guilds/{guild.id}"

    changed_guild = (await bob.patch(path, json={"features": ["INVITES_DISABLED", "VERIFIED", "NONSENSE"]})).ok()
    assert changed_guild["features"] == ["INVITES_DISABLED", "ROLE_ICONS"]
    (await bob.patch(path, json={"features": ["INVITES_DISABLED", "DISCOVERABLE"]})).rejected(403, 50013)
    assert (await guild.owner.patch(path, json={"features": ["DISCOVERABLE"]})).ok()["features"] == [
        "DISCOVERABLE",
        "ROLE_ICONS",
    ]
    # A request may repeat a feature that the member may not remove.
    updated_guild = (await bob.patch(path, json={"features": ["DISCOVERABLE", "RAID_ALERTS_DISABLED"]})).ok()
    assert updated_guild["features"] == ["DISCOVERABLE", "RAID_ALERTS_DISABLED", "ROLE_ICONS"]
    (await bob.patch(path, json={"features": []})).rejected(403, 50013)


async def test_a_community_requires_rules_and_updates_channels(world: World) -> None:
    guild = await world.guild()
    path = f"/guilds/{guild.id}"
    channels = {"rules_channel_id": str(guild.general), "public_updates_channel_id": str(guild.general)}

    response = await guild.owner.patch(path, json={"features": ["COMMUNITY"]})
    assert response.errors("rules_channel_id") == response.errors("public_updates_channel_id") == ["BASE_TYPE_REQUIRED"]
    assert (await guild.owner.patch(path, json={"features": ["COMMUNITY"], **channels})).ok()["features"] == [
        "COMMUNITY"
    ]
    assert (await guild.owner.patch(path, json={"rules_channel_id": None})).errors("rules_channel_id")


async def test_an_incomplete_community_can_be_edited(world: World) -> None:
    guild = await world.guild()
    path = f"/guilds/{guild.id}"
    await world.write(
        lambda call: call.tx.run("UPDATE guilds SET features = ? WHERE id = ?", '["COMMUNITY"]', guild.id)
    )

    # Only the fields of the request are validated.
    assert (await guild.owner.patch(path, json={"name": "Renamed"})).ok()["name"] == "Renamed"
    assert (await guild.owner.patch(path, json={"features": ["COMMUNITY", "INVITES_DISABLED"]})).ok()
    rules_channel = {"rules_channel_id": str(guild.general)}
    assert (await guild.owner.patch(path, json=rules_channel)).ok()["rules_channel_id"] == str(guild.general)
    assert (await guild.owner.patch(path, json={"rules_channel_id": None})).errors("rules_channel_id")
    assert (await guild.owner.patch(path, json={"features": []})).ok()["features"] == []
    assert (await guild.owner.patch(path, json={"features": ["COMMUNITY"]})).errors("public_updates_channel_id")


async def test_images_that_require_a_feature_are_rejected_without_it(world: World) -> None:
    guild = await world.guild()
    path = f"/guilds/{guild.id}"
    for body in (
        {"icon": GIF_DATA_URI},
        {"splash": PNG_DATA_URI},
        {"banner": PNG_DATA_URI},
        {"discovery_splash": PNG_DATA_URI},
        {"home_header": PNG_DATA_URI},
    ):
        (await guild.owner.patch(path, json=body)).rejected(403, 50101)

    await world.grant_to_guild(guild, "ANIMATED_ICON", "INVITE_SPLASH", "BANNER", "DISCOVERABLE")

    body = {"icon": GIF_DATA_URI, "splash": PNG_DATA_URI, "banner": PNG_DATA_URI, "discovery_splash": PNG_DATA_URI}
    changed_guild = (await guild.owner.patch(path, json=body)).ok()
    assert changed_guild["icon"].startswith("a_")
    assert all(changed_guild[field] for field in body)
    (await guild.owner.patch(path, json={"banner": GIF_DATA_URI})).rejected(403, 50101)


async def test_only_the_owner_transfers_a_guild_and_only_to_a_member(world: World) -> None:
    bob = await world.user()
    guild = await world.guild(None, bob)
    bot = await world.bot(guild, permissions=Permissions.ADMINISTRATOR)
    stranger = await world.user()
    path = f"/guilds/{guild.id}"
    session = await bot.connect()

    (await bot.patch(path, json={"owner_id": str(bob.id)})).rejected(403, 50013)
    (await guild.owner.patch(path, json={"owner_id": str(stranger.id)})).rejected(404, 10007)
    (await guild.owner.patch(path, json={"owner_id": str(bot.id)})).rejected(400, 50132)
    (await guild.owner.patch(path, json={"owner_id": str(bob.id)})).ok()

    assert (await session.next("GUILD_UPDATE"))["owner_id"] == str(bob.id)
    (await guild.owner.delete(path)).rejected(403, 50013)
    (await bob.delete(path)).ok()


# Leaving and deleting


async def test_a_member_can_leave_and_the_owner_cannot(world: World) -> None:
    bob = await world.user()
    guild = await world.guild(None, bob)
    bot = await world.bot(guild)
    bot_session, bob_session = await bot.connect(), await bob.connect()

    assert (await bob.delete(f"/users/@me/guilds/{guild.id}")).status == 204

    assert await bob_session.next("GUILD_DELETE") == {"id": str(guild.id)}
    member_remove = await bot_session.next("GUILD_MEMBER_REMOVE")
    assert (member_remove["guild_id"], member_remove["user"]["id"]) == (str(guild.id), str(bob.id))
    (await bob.get(f"/guilds/{guild.id}")).rejected(403, 50001)
    (await bob.delete(f"/users/@me/guilds/{guild.id}")).rejected(404, 10004)
    (await guild.owner.delete(f"/users/@me/guilds/{guild.id}")).rejected(400, 50055)
    assert (await guild.owner.get(f"/guilds/{guild.id}?with_counts=true")).ok()["approximate_member_count"] == 2


async def test_the_owner_deletes_a_guild(world: World) -> None:
    bob = await world.user()
    guild = await world.guild(None, bob)
    bot = await world.bot(guild, permissions=Permissions.ADMINISTRATOR)
    sessions = [await actor.connect() for actor in (guild.owner, bob, bot)]
    path = f"/guilds/{guild.id}"

    (await bob.delete(path)).rejected(403, 50013)
    assert (await guild.owner.delete(path)).status == 204

    for session in sessions:
        assert await session.next("GUILD_DELETE") == {"id": str(guild.id)}
    (await guild.owner.get(path)).rejected(404, 10004)
    assert (await bob.get("/users/@me/guilds")).ok() == []
    (await guild.owner.get(f"/channels/{guild.general}")).rejected(404, 10003)

    def count_rows(call: Any) -> list[int]:
        tables = ("roles", "members", "member_roles", "channels", "audit_log", "bans", "invites", "voice_states")
        return [call.tx.value(f"SELECT COUNT(*) FROM {table} WHERE guild_id = ?", guild.id) for table in tables]

    assert await world.write(count_rows) == [0] * 8


# Gateway state


async def test_the_gateway_state_contains_roles_channels_and_members(world: World) -> None:
    bob = await world.user()
    guild = await world.guild(None, bob)
    role_id = await guild.role("mods", Permissions.KICK_MEMBERS)
    await guild.add_role(bob, role_id)
    await guild.overwrite(guild.general, guild.id, deny=Permissions.VIEW_CHANNEL, target_type=OverwriteType.ROLE)

    state = await world.app.database.read(lambda tx: guild_state.views.read_guild_state(tx, guild.id))
    member_states = await world.app.database.read(
        lambda tx: guild_state.views.read_member_states(tx, guild.id, [bob.id, 1])
    )

    assert state is not None
    assert state.roles == {guild.id: Permissions.DEFAULT_EVERYONE, role_id: Permissions.KICK_MEMBERS}
    assert (state.owner_id, state.member_count) == (guild.owner.id, 2)
    assert state.channels[guild.general].overwrites == {guild.id: (0, Permissions.VIEW_CHANNEL)}
    assert b"___hidden___" in state.channels[guild.general].obfuscated_body
    assert b'"general"' in state.channels[guild.general].body
    assert member_states.keys() == {bob.id}
    assert member_states[bob.id].roles == (role_id,)
    assert datetime.fromisoformat(member_states[bob.id].joined_at) == datetime.fromtimestamp(
        world.clock.now_ms() / 1000, UTC
    )
    assert await world.app.database.read(lambda tx: guild_state.views.read_guild_state(tx, 1)) is None
    assert await world.app.database.read(lambda tx: guild_state.views.list_guild_ids(tx, bob.id)) == [guild.id]


# Operator grants


async def test_the_operator_grants_a_tier_and_features(world: World) -> None:
    guild = await world.guild()
    session = await guild.owner.connect()
    path = f"/guilds/{guild.id}/vanity-url"
    (await guild.owner.patch(path, json={"code": "town"})).rejected(403, 50101)

    await world.grant_to_guild(guild, "VANITY_URL", tier=3)

    guild_update = await session.next("GUILD_UPDATE")
    assert (guild_update["premium_tier"], guild_update["features"]) == (3, ["VANITY_URL"])
    audit_entry = (
        await guild.owner.get(f"/guilds/{guild.id}/audit-logs?action_type={AuditLogAction.GUILD_UPDATE:d}")
    ).ok()["audit_log_entries"][0]
    assert audit_entry["user_id"] is None
    assert {change["key"] for change in audit_entry["changes"]} == {"premium_tier", "features"}
    (await guild.owner.patch(path, json={"code": "town"})).ok()

    def remove_features(call: Call) -> None:
        row = guilds.find(call.tx, guild.id)
        assert row is not None
        guilds.maintenance.set_tier_and_features(call, row, features_to_remove=["VANITY_URL", "BANNER"])

    await session.next("GUILD_UPDATE")
    await world.write(remove_features)
    guild_update = await session.next("GUILD_UPDATE")
    assert (guild_update["premium_tier"], guild_update["features"], guild_update["vanity_url_code"]) == (3, [], None)
    (await guild.owner.get("/invites/town")).rejected(404, 10006)
    with pytest.raises(ApiError, match="50035"):
        await world.grant_to_guild(guild, "COMMUNITY")


async def test_a_pending_member_cannot_become_the_owner(world: World) -> None:
    guild = await world.guild()
    bob = await world.user()
    await world.write(
        lambda call: members.membership.add(call, guild.id, bob.id, is_pending=True), actor=guild.owner.id
    )
    path = f"/guilds/{guild.id}"
    (await guild.owner.patch(path, json={"owner_id": str(bob.id)})).rejected(400, 50131)
    await world.write(lambda call: members.membership.admit(call, guild.id, [bob.id]))
    assert (await guild.owner.patch(path, json={"owner_id": str(bob.id)})).ok()["owner_id"] == str(bob.id)


class TestRateLimits:
    """Tests with real rate limits."""

    @pytest.fixture
    def store_config(self) -> Config:
        """A configuration with real rate limits."""
        return small_config(rate_limits="real")

    async def test_a_guild_is_updated_at_most_five_times_in_five_seconds(self, world: World) -> None:
        guild = await world.guild()
        for number in range(5):
            (await guild.owner.patch(f"/guilds/{guild.id}", json={"name": f"Home {number}"})).ok()
        (await guild.owner.patch(f"/guilds/{guild.id}", json={"name": "Home"})).rejected(429, 20029)


class TestBlockedNames:
    """Tests with an operator's list of blocked terms."""

    @pytest.fixture
    def store_config(self) -> Config:
        """A configuration with blocked terms."""
        return small_config(auto_moderation=AutoModerationConfig(forbidden_in_names=("villain*", "evil plan")))

    async def test_names_descriptions_and_topics_must_not_contain_blocked_terms(self, world: World) -> None:
        guild = await world.guild()
        owner, path = guild.owner, f"/guilds/{guild.id}"
        stage_channel_id = await guild.channel("stage", type=ChannelType.GUILD_STAGE_VOICE)
        for response in (
            await owner.post("/guilds", json={"name": "Villainous"}),
            await owner.post("/guilds", json={"name": "Fine", "channels": [{"id": 1, "name": "villains"}]}),
            await owner.patch(path, json={"name": "VILLAINS"}),
            await owner.patch(path, json={"description": "our evil plan"}),
            await owner.post(f"{path}/channels", json={"name": "evil plan"}),
            await owner.patch(f"/channels/{guild.general}", json={"name": "the-evil-plan"}),
            await owner.post(
                "/stage-instances", json={"channel_id": str(stage_channel_id), "topic": "A villain speaks"}
            ),
        ):
            response.rejected(400, 20031)
        assert (await owner.get(path)).ok()["name"] == "Guild"
        (await owner.post("/stage-instances", json={"channel_id": str(stage_channel_id), "topic": "evil plans"})).ok()
        (await owner.patch(f"/stage-instances/{stage_channel_id}", json={"topic": "villain"})).rejected(400, 20031)
        (await owner.patch(path, json={"name": "Devil planet"})).ok()

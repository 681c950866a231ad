"""Invites: creation, roles, reads, acceptance, deletion, target users, events, and invites of groups."""

import asyncio
from typing import Any

import aiohttp
import pytest

from hubbub.protocol import changes, codec
from hubbub.protocol.enums import AuditLogAction, ChannelType, InviteTargetType, InviteType
from hubbub.protocol.flags import ApplicationFlags
from hubbub.protocol.intents import Intents
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import invites as invites_wire
from hubbub.server.core.call import Call
from tests.server.places.invites import create_invite, create_targeted_invite, csv_form, list_member_roles
from tests.server.places.scheduled_events import channel_event, create_event, external_event
from tests.world import PRIVILEGED_INTENT_FLAGS, WAIT_TIMEOUT_SECONDS, ApiResponse, Guild, World

PARTIAL_ROLE_KEYS = {"id", "name", "position", "color", "colors", "icon", "unicode_emoji"}


async def audit_changes(world: World, guild: Guild, action: int) -> list[dict[str, Any]]:
    """Return the changes of each audit log entry with this action type by key, oldest entry first."""

    def read(call: Call) -> list[Any]:
        return call.tx.all(
            "SELECT changes FROM audit_log WHERE guild_id = ? AND action_type = ? ORDER BY id", guild.id, int(action)
        )

    return [
        {change["key"]: change for change in codec.decode(row[0] or "[]", list[Any])} for row in await world.write(read)
    ]


# Creating


async def test_creating_an_invite_publishes_an_event_and_an_audit_entry(world: World) -> None:
    guild = await world.guild()
    bot = await world.bot(guild, permissions=Permissions.MANAGE_CHANNELS)
    session = await bot.connect(Intents.GUILDS | Intents.GUILD_INVITES)

    invite = await create_invite(bot, guild.general, max_age=3600, max_uses=5, temporary=True)

    assert invite["type"] == InviteType.GUILD
    assert len(invite["code"]) == 8
    assert invite["code"].isalnum()
    assert invite["guild"]["id"] == invite["guild_id"] == str(guild.id)
    assert invite["channel"] == {"id": str(guild.general), "type": ChannelType.GUILD_TEXT, "name": "general"}
    assert invite["inviter"]["id"] == str(bot.id)
    assert (invite["max_age"], invite["max_uses"], invite["uses"], invite["temporary"]) == (3600, 5, 0, True)
    assert invite["created_at"] == codec.timestamp(world.clock.now_ms())
    assert invite["expires_at"] == codec.timestamp(world.clock.now_ms() + 3_600_000)
    event = await session.next("INVITE_CREATE")
    assert (event["code"], event["channel_id"], event["guild_id"]) == (
        invite["code"],
        str(guild.general),
        str(guild.id),
    )
    assert (event["max_age"], event["max_uses"], event["uses"], event["temporary"]) == (3600, 5, 0, True)
    assert event["inviter"]["id"] == str(bot.id)
    assert event["expires_at"] == invite["expires_at"]
    (changes_by_key,) = await audit_changes(world, guild, AuditLogAction.INVITE_CREATE)
    assert changes_by_key["code"]["new_value"] == invite["code"]
    assert changes_by_key["channel_id"]["new_value"] == str(guild.general)
    assert changes_by_key["inviter_id"]["new_value"] == str(bot.id)


async def test_an_invite_lasts_a_day_by_default_and_forever_with_0(world: World) -> None:
    guild = await world.guild()
    invite = (await guild.owner.post(f"/channels/{guild.general}/invites", json={})).ok()
    assert (invite["max_age"], invite["max_uses"], invite["temporary"]) == (86_400, 0, False)
    permanent = await create_invite(guild.owner, guild.general, max_age=0)
    assert permanent["expires_at"] is None


async def test_invite_events_require_manage_channels(world: World) -> None:
    guild = await world.guild()
    other_bot = await world.bot(guild)
    session = await other_bot.connect(Intents.GUILDS | Intents.GUILD_INVITES)
    invite = await create_invite(guild.owner, guild.general)
    (await guild.owner.delete(f"/invites/{invite['code']}")).ok()
    await session.assert_not_received("INVITE_CREATE", "INVITE_DELETE")


@pytest.mark.parametrize(
    ("body", "path", "code"),
    [
        ({"max_age": -1}, "max_age", "NUMBER_TYPE_MIN"),
        ({"max_age": 604_801}, "max_age", "NUMBER_TYPE_MAX"),
        ({"max_uses": 101}, "max_uses", "NUMBER_TYPE_MAX"),
        ({"target_user_id": "1"}, "target_type", "BASE_TYPE_REQUIRED"),
        ({"target_type": 1}, "target_user_id", "BASE_TYPE_REQUIRED"),
        ({"target_type": 1, "target_user_id": "1"}, "target_user_id", "GUILD_INVITE_INVALID_TARGET_USER_ID"),
        ({"target_type": 2}, "target_application_id", "BASE_TYPE_REQUIRED"),
        ({"target_type": 2, "target_application_id": "1"}, "target_application_id", "GUILD_INVITE_INVALID_APPLICATION"),
        ({"target_type": 3}, "target_type", "BASE_TYPE_CHOICES"),
        ({"role_ids": "1,x"}, "role_ids", "NUMBER_TYPE_COERCE"),
    ],
)
async def test_an_invalid_invite_names_the_invalid_field(world: World, body: Any, path: str, code: str) -> None:
    guild = await world.guild()
    assert (await guild.owner.post(f"/channels/{guild.general}/invites", json=body)).errors(path) == [code]


async def test_invites_require_the_permission_and_a_suitable_channel(world: World) -> None:
    bob = await world.user("bob")
    guild = await world.guild(None, bob)
    await guild.overwrite(guild.general, bob.id, deny=Permissions.CREATE_INSTANT_INVITE)
    (await bob.post(f"/channels/{guild.general}/invites", json={})).rejected(403, 50013)
    (await guild.owner.post("/channels/1/invites", json={})).rejected(404, 10003)
    category_id = await guild.channel("Stuff", type=ChannelType.GUILD_CATEGORY)
    (await guild.owner.post(f"/channels/{category_id}/invites", json={})).rejected(400, 50024)
    stranger = await world.user("stranger")
    (await stranger.post(f"/channels/{guild.general}/invites", json={})).rejected(403, 50001)
    direct_channel = (await bob.post("/users/@me/channels", json={"recipient_id": str(stranger.id)})).ok()
    (await bob.post(f"/channels/{direct_channel['id']}/invites", json={})).rejected(400, 50003)


async def test_an_invite_can_target_an_activity_in_a_voice_channel(world: World) -> None:
    guild = await world.guild()
    voice_channel_id = await guild.channel("Lounge", type=ChannelType.GUILD_VOICE)
    app = await world.bot(guild, flags=PRIVILEGED_INTENT_FLAGS | ApplicationFlags.EMBEDDED)
    invite = await create_invite(
        guild.owner,
        voice_channel_id,
        target_type=InviteTargetType.EMBEDDED_APPLICATION,
        target_application_id=str(app.application_id),
    )
    assert invite["target_type"] == InviteTargetType.EMBEDDED_APPLICATION
    assert invite["target_application"]["id"] == str(app.application_id)


async def test_without_unique_an_equal_invite_is_returned_again(world: World) -> None:
    bob = await world.user("bob")
    guild = await world.guild(None, bob)
    path = f"/channels/{guild.general}/invites"
    first_code = (await bob.post(path, json={"max_age": 1000})).ok()["code"]
    assert (await bob.post(path, json={"max_age": 1000})).ok()["code"] == first_code
    assert (await bob.post(path, json={"max_age": 1000, "unique": True})).ok()["code"] != first_code
    assert (await bob.post(path, json={"max_age": 900})).ok()["code"] != first_code
    assert (await guild.owner.post(path, json={"max_age": 1000})).ok()["code"] != first_code
    # More than half of the lifetime of the first invite is over.
    world.clock.advance(600_000)
    assert (await bob.post(path, json={"max_age": 1000})).ok()["code"] != first_code


async def test_a_guild_has_at_most_1000_invites(world: World) -> None:
    guild = await world.guild()
    rows = [(f"code{number:04}", guild.id, guild.general, guild.owner.id, 1, 0, 0) for number in range(1000)]

    def insert_invites(call: Call) -> None:
        call.tx.run_many(
            "INSERT INTO invites (code, guild_id, channel_id, inviter_id, created_ms, max_age, max_uses) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)",
            rows,
        )

    await world.write(insert_invites)
    (await guild.owner.post(f"/channels/{guild.general}/invites", json={"unique": True})).rejected(400, 30016)
    (await guild.owner.delete("/invites/code0007")).ok()
    await create_invite(guild.owner, guild.general)


# Roles


async def test_an_invite_gives_its_roles_to_new_and_existing_members(world: World) -> None:
    alice, bob = await world.user("alice"), await world.user("bob")
    guild = await world.guild(None, alice)
    role_id = await guild.role("players")
    session = await bob.connect()

    created_invite = await create_invite(guild.owner, guild.general, role_ids=[str(role_id)])

    assert [set(partial_role) for partial_role in created_invite["roles"]] == [PARTIAL_ROLE_KEYS]
    invite = (await bob.get(f"/invites/{created_invite['code']}")).ok()
    assert invite["roles"][0]["name"] == "players"
    assert set(invite["roles"][0]) == PARTIAL_ROLE_KEYS
    (await bob.post(f"/invites/{created_invite['code']}")).ok()
    assert (await session.next("GUILD_CREATE"))["id"] == str(guild.id)
    assert await list_member_roles(bob, guild) == [str(role_id)]
    (await alice.post(f"/invites/{created_invite['code']}")).ok()
    assert await list_member_roles(alice, guild) == [str(role_id)]
    # Accepting an invite without effect does not count as a use.
    (await alice.post(f"/invites/{created_invite['code']}")).ok()
    assert (await guild.owner.get(f"/guilds/{guild.id}/invites")).ok()[0]["uses"] == 2


async def test_a_single_use_invite_gives_its_roles_to_one_member(world: World) -> None:
    alice, bob = await world.user("alice"), await world.user("bob")
    guild = await world.guild(None, alice, bob)
    invite = await create_invite(guild.owner, guild.general, role_ids=[str(await guild.role())], max_uses=1)
    (await alice.post(f"/invites/{invite['code']}")).ok()
    (await bob.post(f"/invites/{invite['code']}")).rejected(404, 10006)
    assert await list_member_roles(bob, guild) == []


async def test_roles_on_an_invite_require_manage_roles_and_a_higher_role(world: World) -> None:
    bob = await world.user("bob")
    guild = await world.guild(None, bob)
    low_role_id, high_role_id = await guild.role("low"), await guild.role("high")
    path = f"/channels/{guild.general}/invites"
    (await bob.post(path, json={"role_ids": [str(low_role_id)]})).rejected(403, 50013)
    manager_role_id = await guild.role("manager", Permissions.MANAGE_ROLES)
    await guild.add_role(bob, manager_role_id)
    role_positions = [
        {"id": str(low_role_id), "position": 1},
        {"id": str(manager_role_id), "position": 2},
        {"id": str(high_role_id), "position": 3},
    ]
    (await guild.owner.patch(f"/guilds/{guild.id}/roles", json=role_positions)).ok()
    (await bob.post(path, json={"role_ids": [str(high_role_id)]})).rejected(403, 50013)
    (await bob.post(path, json={"role_ids": ["1"]})).rejected(404, 10011)
    (await guild.owner.post(path, json={"role_ids": [str(guild.id)]})).rejected(400, 50028)
    assert (await bob.post(path, json={"role_ids": [str(low_role_id)]})).ok()["roles"][0]["id"] == str(low_role_id)
    form = await bob.post(path, data={"role_ids": f"{low_role_id}, {low_role_id}", "max_age": "60", "unique": "true"})
    assert [role["id"] for role in form.ok()["roles"]] == [str(low_role_id)]
    assert form.json["max_age"] == 60


async def test_a_deleted_role_is_neither_shown_nor_given(world: World) -> None:
    bob = await world.user("bob")
    guild = await world.guild()
    role_id = await guild.role()
    invite = await create_invite(guild.owner, guild.general, role_ids=[str(role_id)])
    (await guild.owner.delete(f"/guilds/{guild.id}/roles/{role_id}")).ok()
    assert "roles" not in (await bob.get(f"/invites/{invite['code']}")).ok()
    (await bob.post(f"/invites/{invite['code']}")).ok()
    assert await list_member_roles(bob, guild) == []


@pytest.mark.dated(
    changes.INVITE_TARGET_USERS, changes.INVITE_ROLES, changes.TARGET_USERS_HEADER, changes.INVITE_PARTIAL_ROLES
)
async def test_roles_and_target_users_of_invites_change_by_date(world: World) -> None:
    guild = await world.guild()
    bob = await world.user("bob")
    role_id = await guild.role()
    world.clock.set(changes.INVITE_TARGET_USERS.at_ms - 1)
    early_response = await guild.owner.post(
        f"/channels/{guild.general}/invites", data=csv_form(str(bob.id), role_ids=str(role_id), unique="true")
    )
    assert "roles" not in early_response.ok()
    (await guild.owner.get(f"/invites/{early_response.json['code']}/target-users")).rejected(404, 0)
    world.clock.set(changes.TARGET_USERS_HEADER.at_ms - 1)
    creation_response = await guild.owner.post(
        f"/channels/{guild.general}/invites", data=csv_form(f"header\n{bob.id}", role_ids=str(role_id))
    )
    assert "permissions" in creation_response.ok()["roles"][0]
    targets_path = f"/invites/{creation_response.json['code']}/target-users"
    assert (await guild.owner.get(targets_path)).body == f"header\n{bob.id}\n".encode()
    world.clock.set(changes.TARGET_USERS_HEADER.at_ms)
    assert (await guild.owner.get(targets_path)).body == f"user_id\n{bob.id}\n".encode()
    assert set((await bob.get(f"/invites/{creation_response.json['code']}")).ok()["roles"][0]) == PARTIAL_ROLE_KEYS


# Reading


async def test_an_invite_is_public_and_contains_counts_on_request(world: World) -> None:
    bob = await world.user("bob")
    guild = await world.guild(None, bob)
    await bob.connect()
    created_invite = await create_invite(guild.owner, guild.general)
    invite = (await world.request("GET", f"/invites/{created_invite['code']}?with_counts=true")).ok()
    assert invite["code"] == created_invite["code"]
    assert invite["guild"]["name"] == "Guild"
    assert (invite["approximate_member_count"], invite["approximate_presence_count"]) == (2, 1)
    assert "uses" not in invite
    assert "created_at" not in invite
    plain_invite = (await world.request("GET", f"/invites/{created_invite['code']}")).ok()
    assert "approximate_member_count" not in plain_invite
    (await world.request("GET", "/invites/nothing0")).rejected(404, 10006)


async def test_an_invite_shows_events_outside_other_channels(world: World) -> None:
    guild = await world.guild()
    lounge_id, cellar_channel_id = (
        guild.channels["General"],
        await guild.channel("cellar", type=ChannelType.GUILD_VOICE),
    )
    invite = await create_invite(guild.owner, lounge_id)
    bodies = (
        external_event(name="boats"),
        channel_event(lounge_id, name="songs"),
        channel_event(cellar_channel_id, name="secrets"),
    )
    events = [await create_event(guild.owner, guild, body) for body in bodies]

    async def find_event_name(event_id: str) -> Any | None:
        path = f"/invites/{invite['code']}?guild_scheduled_event_id={event_id}"
        return (await world.request("GET", path)).ok().get("guild_scheduled_event", {}).get("name")

    assert [await find_event_name(event["id"]) for event in events] == ["boats", "songs", None]
    (await guild.owner.delete(f"/guilds/{guild.id}/scheduled-events/{events[0]['id']}")).ok()
    assert [await find_event_name(event_id) for event_id in (events[0]["id"], "1")] == [None, None]
    assert "guild_scheduled_event" not in (await world.request("GET", f"/invites/{invite['code']}")).ok()


async def test_listing_invites_requires_manage_guild_or_view_audit_log(world: World) -> None:
    bob = await world.user("bob")
    guild = await world.guild(None, bob)
    other_channel_id = await guild.channel("other")
    first_invite = await create_invite(guild.owner, guild.general, role_ids=[str(await guild.role())])
    second_invite = await create_invite(guild.owner, other_channel_id)
    invites = (await guild.owner.get(f"/guilds/{guild.id}/invites")).ok()
    assert {invite["code"] for invite in invites} == {first_invite["code"], second_invite["code"]}
    assert all(invite["max_age"] == 86_400 for invite in invites)
    (channel_invite,) = (await guild.owner.get(f"/channels/{guild.general}/invites")).ok()
    assert channel_invite["code"] == first_invite["code"]
    assert set(channel_invite["roles"][0]) == PARTIAL_ROLE_KEYS
    assert channel_invite["uses"] == 0
    (await bob.get(f"/guilds/{guild.id}/invites")).rejected(403, 50013)
    (await bob.get(f"/channels/{guild.general}/invites")).rejected(403, 50013)
    await guild.allow_permissions(bob, Permissions.VIEW_AUDIT_LOG)
    invites = (await bob.get(f"/guilds/{guild.id}/invites")).ok()
    assert len(invites) == 2
    assert all("uses" not in invite and "max_age" not in invite for invite in invites)


# Accepting


async def test_accepting_an_invite_joins_the_guild_and_the_last_use_deletes_it(world: World) -> None:
    bob, carol = await world.user("bob"), await world.user("carol")
    guild = await world.guild()
    owner_session = await guild.owner.connect()
    invite = await create_invite(guild.owner, guild.general, max_uses=2)
    accepted_invite = (await bob.post(f"/invites/{invite['code']}")).ok()
    assert accepted_invite["guild_id"] == str(guild.id)
    assert (await owner_session.next("GUILD_MEMBER_ADD"))["user"]["id"] == str(bob.id)
    assert (await guild.owner.get(f"/channels/{guild.general}/invites")).ok()[0]["uses"] == 1
    (await bob.post(f"/invites/{invite['code']}", json={})).ok()
    assert (await guild.owner.get(f"/channels/{guild.general}/invites")).ok()[0]["uses"] == 1
    (await carol.post(f"/invites/{invite['code']}", json={"session_id": None})).ok()
    invite_delete = await owner_session.next("INVITE_DELETE")
    assert invite_delete == {"channel_id": str(guild.general), "code": invite["code"], "guild_id": str(guild.id)}
    (await world.request("GET", f"/invites/{invite['code']}")).rejected(404, 10006)
    assert await audit_changes(world, guild, AuditLogAction.INVITE_DELETE) == []


async def test_bots_cannot_accept_invites(world: World) -> None:
    guild = await world.guild()
    bot = await world.bot()
    invite = await create_invite(guild.owner, guild.general)
    (await bot.post(f"/invites/{invite['code']}")).rejected(403, 20001)


async def test_banned_users_cannot_accept_invites(world: World) -> None:
    bob = await world.user("bob")
    guild = await world.guild()
    invite = await create_invite(guild.owner, guild.general)
    (await guild.owner.put(f"/guilds/{guild.id}/bans/{bob.id}", json={})).ok()
    (await bob.post(f"/invites/{invite['code']}")).rejected(403, 40007)


async def test_disabled_invites_cannot_be_accepted_by_new_members(world: World) -> None:
    alice, bob = await world.user("alice"), await world.user("bob")
    guild = await world.guild(None, alice)
    invite = await create_invite(guild.owner, guild.general)
    (await guild.owner.patch(f"/guilds/{guild.id}", json={"features": ["INVITES_DISABLED"]})).ok()
    (await bob.post(f"/invites/{invite['code']}")).rejected(400, 40006)
    (await alice.post(f"/invites/{invite['code']}")).ok()
    (await guild.owner.patch(f"/guilds/{guild.id}", json={"features": []})).ok()
    (await bob.post(f"/invites/{invite['code']}")).ok()


async def test_a_user_in_100_guilds_cannot_accept_an_invite(world: World) -> None:
    bob = await world.user("bob")
    guild = await world.guild()
    invite = await create_invite(guild.owner, guild.general)

    def insert_memberships(call: Call) -> None:
        rows = [(number, bob.id, 0) for number in range(1, 101)]
        call.tx.run_many("INSERT INTO members (guild_id, user_id, joined_ms) VALUES (?, ?, ?)", rows)

    await world.write(insert_memberships)
    (await bob.post(f"/invites/{invite['code']}")).rejected(400, 30001)


async def test_a_temporary_member_leaves_with_the_last_session_unless_given_a_role(world: World) -> None:
    bob, carol = await world.user("bob"), await world.user("carol")
    guild = await world.guild()
    owner_session = await guild.owner.connect()
    invite = await create_invite(guild.owner, guild.general, temporary=True)
    for user in (bob, carol):
        (await user.post(f"/invites/{invite['code']}")).ok()
    await guild.allow_permissions(carol, 0)
    first_bob_session, second_bob_session = await bob.connect(), await bob.connect()
    carol_session = await carol.connect()
    await carol_session.close()
    await first_bob_session.close()
    await owner_session.assert_not_received("GUILD_MEMBER_REMOVE")
    await second_bob_session.close()
    assert (await owner_session.next("GUILD_MEMBER_REMOVE"))["user"]["id"] == str(bob.id)
    (await guild.owner.get(f"/guilds/{guild.id}/members/{carol.id}")).ok()


# Deleting


async def test_deleting_an_invite_requires_manage_channels_or_manage_guild(world: World) -> None:
    bob = await world.user("bob")
    guild = await world.guild(None, bob)
    owner_session = await guild.owner.connect()
    invite = await create_invite(bob, guild.general)
    (await bob.delete(f"/invites/{invite['code']}")).rejected(403, 50013)
    stranger = await world.user("stranger")
    (await stranger.delete(f"/invites/{invite['code']}")).rejected(403, 50013)
    await guild.overwrite(guild.general, bob.id, allow=Permissions.MANAGE_CHANNELS)
    deleted_invite = (await bob.delete(f"/invites/{invite['code']}", headers={"X-Audit-Log-Reason": "spent"})).ok()
    assert deleted_invite["code"] == invite["code"]
    assert (await owner_session.next("INVITE_DELETE"))["code"] == invite["code"]
    (changes_by_key,) = await audit_changes(world, guild, AuditLogAction.INVITE_DELETE)
    assert changes_by_key["code"]["old_value"] == invite["code"]
    assert changes_by_key["channel_id"]["old_value"] == str(guild.general)
    (await bob.delete(f"/invites/{invite['code']}")).rejected(404, 10006)
    second_invite = await create_invite(guild.owner, guild.general)
    await guild.overwrite(guild.general, bob.id)
    await guild.allow_permissions(bob, Permissions.MANAGE_GUILD)
    (await bob.delete(f"/invites/{second_invite['code']}")).ok()


async def test_an_invite_expires(world: World) -> None:
    bob = await world.user("bob")
    guild = await world.guild()
    owner_session = await guild.owner.connect()
    invite = await create_invite(guild.owner, guild.general, max_age=60)
    world.clock.advance(59_999)
    (await bob.get(f"/invites/{invite['code']}")).ok()
    world.clock.advance(1)
    (await bob.get(f"/invites/{invite['code']}")).rejected(404, 10006)
    (await bob.post(f"/invites/{invite['code']}")).rejected(404, 10006)
    assert (await guild.owner.get(f"/guilds/{guild.id}/invites")).ok() == []
    assert (await owner_session.next("INVITE_DELETE"))["code"] == invite["code"]


async def test_deleting_a_channel_deletes_its_invites(world: World) -> None:
    guild = await world.guild()
    owner_session = await guild.owner.connect()
    other_channel_id = await guild.channel("other")
    invite = await create_invite(guild.owner, other_channel_id)
    remaining_invite = await create_invite(guild.owner, guild.general)
    (await guild.owner.delete(f"/channels/{other_channel_id}")).ok()
    assert (await owner_session.next("INVITE_DELETE"))["code"] == invite["code"]
    await owner_session.next("CHANNEL_DELETE")
    (await guild.owner.get(f"/invites/{invite['code']}")).rejected(404, 10006)
    (await guild.owner.get(f"/invites/{remaining_invite['code']}")).ok()


async def test_deleting_a_guild_deletes_its_invites(world: World) -> None:
    guild = await world.guild()
    invite = await create_invite(guild.owner, guild.general)
    (await guild.owner.delete(f"/guilds/{guild.id}")).ok()
    (await guild.owner.get(f"/invites/{invite['code']}")).rejected(404, 10006)


# Target users


async def test_a_targeted_invite_is_hidden_from_other_users(world: World) -> None:
    alice, bob, carol = await world.user("alice"), await world.user("bob"), await world.user("carol")
    guild = await world.guild(None, alice)
    code = await create_targeted_invite(guild.owner, guild, bob)
    assert (await bob.get(f"/invites/{code}")).ok()["code"] == code
    (await guild.owner.get(f"/invites/{code}")).ok()
    (await world.request("GET", f"/invites/{code}")).rejected(404, 10006)
    for outsider in (alice, carol):
        for method, path in (("GET", ""), ("POST", ""), ("DELETE", ""), ("GET", "/target-users")):
            (await outsider.request(method, f"/invites/{code}{path}")).rejected(404, 10006)
    (await guild.owner.post(f"/invites/{code}")).rejected(404, 10006)
    (await bob.post(f"/invites/{code}")).ok()
    (await bob.get(f"/invites/{code}/target-users")).rejected(403, 50013)


async def test_target_users_are_returned_as_csv_with_a_completed_job(world: World) -> None:
    bob, carol, reader = await world.user("bob"), await world.user("carol"), await world.user("reader")
    guild = await world.guild(None, reader)
    await guild.allow_permissions(reader, Permissions.VIEW_AUDIT_LOG)
    text = f"{carol.id}\r\n\r\n{bob.id}\r\n{carol.id}\r\n"
    path = f"/channels/{guild.general}/invites"
    form = csv_form(text, payload_json='{"max_age": 120, "max_uses": 3}')
    invite = (await guild.owner.post(path, data=form)).ok()
    assert (invite["max_age"], invite["max_uses"]) == (120, 3)
    response = await reader.get(f"/invites/{invite['code']}/target-users")
    target_ids = sorted((bob.id, carol.id))
    assert response.body == f"user_id\n{target_ids[0]}\n{target_ids[1]}\n".encode()
    assert response.headers["Content-Type"].startswith("text/csv")
    job = (await reader.get(f"/invites/{invite['code']}/target-users/job-status")).ok()
    now_timestamp = codec.timestamp(world.clock.now_ms())
    assert job == {
        "status": 2,
        "total_users": 2,
        "processed_users": 2,
        "created_at": now_timestamp,
        "completed_at": now_timestamp,
        "error_message": None,
    }


async def test_an_invite_without_target_users_has_none_to_return(world: World) -> None:
    guild = await world.guild()
    code = (await create_invite(guild.owner, guild.general))["code"]
    (await guild.owner.get(f"/invites/{code}/target-users")).rejected(404, 10129)
    (await guild.owner.get(f"/invites/{code}/target-users/job-status")).rejected(404, 10124)
    (await guild.owner.get("/invites/nothing0/target-users")).rejected(404, 10006)
    (await guild.owner.get("/invites/nothing0/target-users/job-status")).rejected(404, 10006)


@pytest.mark.one_postgres_case
@pytest.mark.parametrize(
    ("content", "messages"),
    [
        ("user_id\n1\n2\n3\nfour\n5x", ["Line 5: invalid user ID four", "Line 6: invalid user ID 5x"]),
        ("1a\n2", ["Line 1: invalid user ID 1a"]),
        ("1\n2,3", ["Line 2: invalid user ID 2,3"]),
        ("user_id\n", ["This field is required"]),
        (b"\xff\xfe1", ["Must be a text file in UTF-8."]),
    ],
)
async def test_an_invalid_file_names_its_invalid_lines(world: World, content: str | bytes, messages: list[str]) -> None:
    guild = await world.guild()
    response = await guild.owner.post(f"/channels/{guild.general}/invites", data=csv_form(content))
    response.rejected(400, 50035)
    assert [error["message"] for error in response.json["errors"]["target_users_file"]["_errors"]] == messages
    assert (await guild.owner.get(f"/guilds/{guild.id}/invites")).ok() == []


async def test_target_users_are_replaced_by_the_inviter_and_by_managers(world: World) -> None:
    alice, bob, carol = await world.user("alice"), await world.user("bob"), await world.user("carol")
    guild = await world.guild(None, alice, carol)
    code = await create_targeted_invite(alice, guild, bob, carol)
    path = f"/invites/{code}/target-users"
    (await carol.put(path, data=csv_form(str(carol.id)))).rejected(403, 50013)
    empty_form = aiohttp.FormData(default_to_multipart=True)
    empty_form.add_field("another", "1")
    assert (await alice.put(path, data=empty_form)).errors("target_users_file") == ["BASE_TYPE_REQUIRED"]
    response: ApiResponse = await alice.put(path, data=csv_form(str(carol.id)))
    assert response.status == 204
    assert (await alice.get(path)).body == f"user_id\n{carol.id}\n".encode()
    (await bob.get(f"/invites/{code}")).rejected(404, 10006)
    (changes_by_key,) = await audit_changes(world, guild, AuditLogAction.INVITE_UPDATE)
    assert (changes_by_key["target_users_count"]["old_value"], changes_by_key["target_users_count"]["new_value"]) == (
        2,
        1,
    )
    await guild.allow_permissions(carol, Permissions.MANAGE_GUILD)
    assert (await carol.put(path, data=csv_form(str(bob.id)))).status == 204
    (await bob.post(f"/invites/{code}")).ok()


async def test_a_long_list_of_target_users_is_processed_in_batches(world: World) -> None:
    bob = await world.user("bob")
    guild = await world.guild()
    target_ids = [*range(1000, 3400), bob.id]
    invite = (
        await guild.owner.post(f"/channels/{guild.general}/invites", data=csv_form("\n".join(map(str, target_ids))))
    ).ok()
    status_path = f"/invites/{invite['code']}/target-users/job-status"
    async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
        while (job := (await guild.owner.get(status_path)).ok())["status"] == 1:
            assert (job["total_users"], job["completed_at"]) == (len(target_ids), None)
    assert (job["status"], job["processed_users"]) == (2, len(target_ids))
    assert (
        len((await guild.owner.get(f"/invites/{invite['code']}/target-users")).body.splitlines()) == len(target_ids) + 1
    )
    (await bob.post(f"/invites/{invite['code']}")).ok()


async def test_the_number_of_target_users_is_limited(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    guild = await world.guild()
    path = f"/channels/{guild.general}/invites"
    monkeypatch.setattr(invites_wire, "TARGET_USERS_MAX", 2)
    assert (await guild.owner.post(path, data=csv_form("1\n2\n3"))).errors("target_users_file")
    monkeypatch.setattr(invites_wire, "TARGET_USERS_FILE_BYTES_MAX", 3)
    assert (await guild.owner.post(path, data=csv_form("1\n22"))).errors("target_users_file")


# Groups


async def test_an_invite_of_a_group_adds_a_user_to_it(world: World) -> None:
    alice, bob, carol = await world.user("alice"), await world.user("bob"), await world.user("carol")
    await world.guild(alice, bob, carol)
    dave = await world.user("dave")
    group = (await alice.post("/users/@me/channels", json={"recipients": [str(bob.id), str(carol.id)]})).ok()
    path = f"/channels/{group['id']}/invites"
    assert (await alice.post(path, json={"max_age": 0})).errors("max_age") == ["NUMBER_TYPE_MIN"]
    group_invite = (await alice.post(path, json={"max_age": 60})).ok()
    assert group_invite["type"] == InviteType.GROUP_DM
    assert group_invite["channel"]["id"] == group["id"]
    assert "guild" not in group_invite
    assert {recipient["username"] for recipient in group_invite["channel"]["recipients"]} == {"alice", "bob", "carol"}
    invite = (await dave.get(f"/invites/{group_invite['code']}?with_counts=true")).ok()
    assert invite["approximate_member_count"] == 3
    (await dave.post(f"/invites/{group_invite['code']}")).ok()
    recipients = (await dave.get(f"/channels/{group['id']}")).ok()["recipients"]
    assert {int(recipient["id"]) for recipient in recipients} == {alice.id, bob.id, carol.id}
    (await dave.delete(f"/invites/{group_invite['code']}")).rejected(403, 50013)
    (await alice.delete(f"/invites/{group_invite['code']}")).ok()

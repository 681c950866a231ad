"""Members: reads, search, joins, updates, kicks, prunes, gateway requests, and join messages."""

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from hubbub.protocol import codec
from hubbub.protocol.enums import AuditLogAction, ChannelType, GatewayOpcode, MessageType
from hubbub.protocol.flags import MemberFlags
from hubbub.protocol.ids import Snowflake, UserId
from hubbub.protocol.intents import Intents
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources.gateway import RequestGuildMembers
from hubbub.server.core.call import Actor as Caller
from hubbub.server.core.call import Call
from hubbub.server.places import guilds, members
from hubbub.server.places.members.gateway.commands import request_guild_members
from tests import media
from tests.world import NOW_MS, Actor, Guild, World

DAY_MS = 86_400_000
PNG_DATA_URI = media.data_uri(media.png())


class StoredEntry(NamedTuple):
    """An audit log entry as it is stored, with its changes and options decoded."""

    action: int
    target_id: int | None
    """ID of the changed object; None for actions without one."""
    changes: list[Any]
    options: dict[str, Any]
    reason: str | None
    """Reason of the request; None without one."""


async def read_audit_log(world: World, guild: Guild) -> list[StoredEntry]:
    """Return the audit log, oldest entry first."""

    def read(call: Call) -> Any:
        return call.tx.all(
            "SELECT action_type, target_id, changes, options, reason FROM audit_log WHERE guild_id = ? ORDER BY id",
            guild.id,
        )

    return [
        StoredEntry(
            action,
            target,
            codec.decode(changes or "[]", list[Any]),
            codec.decode(options or "{}", dict[str, Any]),
            reason,
        )
        for action, target, changes, options, reason in await world.write(read)
    ]


async def last_stored_entry(world: World, guild: Guild, action: int) -> StoredEntry:
    """Return the newest audit log entry of an action."""
    audit_entries = [audit_entry for audit_entry in await read_audit_log(world, guild) if audit_entry.action == action]
    assert audit_entries, f"the audit log has no entry with the action {action}"
    return audit_entries[-1]


async def insert_voice_state(world: World, guild: Guild, actor: Actor, channel_id: int) -> None:
    """Insert a voice state of a member into the database, without a gateway session."""
    await world.write(
        lambda call: call.tx.run(
            "INSERT INTO voice_states (guild_id, user_id, channel_id, session_id, joined_ms) VALUES (?, ?, ?, ?, ?)",
            guild.id,
            actor.id,
            channel_id,
            "session",
            call.now_ms,
        )
    )


async def issue_token(world: World, bot: Actor, user: Actor, scopes: str = "guilds.join") -> str:
    """Issue an access token of a user to a bot's application."""
    return await world.access_token(user, bot.application_id, *scopes.split())


# Reading


async def test_a_member_view_contains_every_key_that_libraries_read(world: World) -> None:
    alice, bob = await world.user("alice"), await world.user("bob")
    guild = await world.guild(alice, bob)
    role_id = await guild.role("mods")
    await guild.add_role(bob, role_id)

    member = (await alice.get(f"/guilds/{guild.id}/members/{bob.id}")).ok()

    assert member["user"]["id"] == str(bob.id)
    assert member["user"]["username"] == "bob"
    assert member["roles"] == [str(role_id)]
    assert member["joined_at"] == codec.timestamp(NOW_MS)
    assert member["communication_disabled_until"] is None
    assert {
        key: member[key] for key in ("nick", "avatar", "banner", "premium_since", "pending", "mute", "deaf", "flags")
    } == {
        "nick": None,
        "avatar": None,
        "banner": None,
        "premium_since": None,
        "pending": False,
        "mute": False,
        "deaf": False,
        "flags": 0,
    }


async def test_non_members_are_unknown_and_cannot_view_members(world: World) -> None:
    alice, stranger = await world.user(), await world.user()
    guild = await world.guild(alice)

    (await alice.get(f"/guilds/{guild.id}/members/{stranger.id}")).rejected(404, 10007)
    (await stranger.get(f"/guilds/{guild.id}/members/{alice.id}")).rejected(403, 50001)
    (await alice.get(f"/guilds/1/members/{alice.id}")).rejected(404, 10004)


async def test_the_list_is_sorted_by_id_and_starts_after_the_cursor(world: World) -> None:
    users = sorted([await world.user() for _ in range(4)], key=lambda user: user.id)
    guild = await world.guild(users[2], users[0], users[1], users[3])
    bot = await world.bot(guild)

    page = (await bot.get(f"/guilds/{guild.id}/members?limit=2")).ok()
    second_page = (await bot.get(f"/guilds/{guild.id}/members?limit=1000&after={page[-1]['user']['id']}")).ok()

    assert [member["user"]["id"] for member in page] == [str(user.id) for user in users[:2]]
    assert [member["user"]["id"] for member in second_page] == [str(user.id) for user in users[2:]] + [str(bot.id)]
    assert len((await bot.get(f"/guilds/{guild.id}/members")).ok()) == 1
    (await bot.get(f"/guilds/{guild.id}/members?limit=1001")).rejected(400, 50035)


async def test_only_bots_without_the_members_intent_cannot_list_members(world: World) -> None:
    alice = await world.user()
    guild = await world.guild(alice)
    bot = await world.bot(guild, flags=0)

    (await bot.get(f"/guilds/{guild.id}/members")).rejected(403, 50001)
    assert len((await alice.get(f"/guilds/{guild.id}/members?limit=10")).ok()) == 2
    assert (await bot.get(f"/guilds/{guild.id}/members/search?query=bot")).status == 200


async def test_a_search_matches_username_nick_or_global_name_prefixes_in_any_case(world: World) -> None:
    alice, bob, carol = await world.user("alice"), await world.user("bob"), await world.user("carol")
    outsider = await world.user("carrie")
    guild = await world.guild(alice, bob, carol)
    (await alice.patch(f"/guilds/{guild.id}/members/{bob.id}", json={"nick": "Carbon"})).ok()
    (await alice.patch("/users/@me", json={"global_name": "CARla"})).ok()

    async def search_names(query: str, limit: int = 10) -> list[str]:
        response = await alice.get(f"/guilds/{guild.id}/members/search", params={"query": query, "limit": limit})
        return [member["user"]["username"] for member in response.ok()]

    assert await search_names("CAR") == ["alice", "bob", "carol"]
    assert await search_names("car", 2) == ["alice", "bob"]
    assert await search_names("aro") == []
    assert await search_names("c%") == []
    assert outsider.name not in await search_names("carr")
    (await alice.get(f"/guilds/{guild.id}/members/search")).rejected(400, 50035)


async def test_a_search_ignores_case_beyond_ascii(world: World) -> None:
    alice = await world.user("alice")
    guild = await world.guild(alice)
    (await alice.patch(f"/guilds/{guild.id}/members/@me", json={"nick": "Ångström"})).ok()

    found_members = (await alice.get(f"/guilds/{guild.id}/members/search", params={"query": "åNG"})).ok()

    assert [member["nick"] for member in found_members] == ["Ångström"]


async def test_an_access_token_with_the_scope_reads_its_own_member_with_permissions(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    guild = await world.guild(alice)
    bot = await world.bot(guild)
    token = await issue_token(world, bot, alice, "guilds.members.read")
    other_token = await issue_token(world, bot, bob, "guilds.members.read")
    path = f"/users/@me/guilds/{guild.id}/member"

    member = (await world.request("GET", path, headers={"Authorization": f"Bearer {token}"})).ok()

    assert member["user"]["id"] == str(alice.id)
    assert int(member["permissions"]) == Permissions.ALL
    (await world.request("GET", path, headers={"Authorization": f"Bearer {other_token}"})).rejected(404, 10004)


async def test_a_user_can_get_their_own_member_and_a_bot_cannot(world: World) -> None:
    guild = await world.guild()
    bot, stranger = await world.bot(guild), await world.user()
    path = f"/users/@me/guilds/{guild.id}/member"

    member = (await guild.owner.get(path)).ok()

    assert (member["user"]["id"], int(member["permissions"])) == (str(guild.owner.id), Permissions.ALL)
    (await stranger.get(path)).rejected(404, 10004)
    (await bot.get(path)).rejected(403, 20001)


# Joining


async def test_a_bot_adds_a_user_who_consented(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    guild = await world.guild(alice)
    bot = await world.bot(
        guild, permissions=Permissions.CREATE_INSTANT_INVITE | Permissions.MANAGE_NICKNAMES | Permissions.MANAGE_ROLES
    )
    low_role_id = await guild.role("low")
    token = await issue_token(world, bot, bob)
    session = await bot.connect()
    user_session = await bob.connect()

    body = {"access_token": token, "nick": "Bobby", "roles": [str(low_role_id)]}
    response = await bot.put(f"/guilds/{guild.id}/members/{bob.id}", json=body)

    assert response.status == 201
    assert response.json["nick"] == "Bobby"
    assert response.json["roles"] == [str(low_role_id)]
    member_add = await session.next("GUILD_MEMBER_ADD")
    assert (member_add["guild_id"], member_add["user"]["id"], member_add["pending"]) == (
        str(guild.id),
        str(bob.id),
        False,
    )
    guild_create = await user_session.next("GUILD_CREATE")
    assert guild_create["id"] == str(guild.id)
    assert "unavailable" not in guild_create
    assert guild_create["member_count"] == 3
    second_response = await bot.put(f"/guilds/{guild.id}/members/{bob.id}", json={"access_token": token})
    assert (second_response.status, second_response.body) == (204, b"")


async def test_adding_a_member_requires_the_users_consent(world: World) -> None:
    alice, bob, carol = await world.user(), await world.user(), await world.user()
    guild = await world.guild(alice)
    bot, other_bot = await world.bot(guild), await world.bot(guild)
    path = f"/guilds/{guild.id}/members/{bob.id}"

    (await bot.put(path, json={"access_token": "nonsense"})).rejected(401, 50025)
    (await bot.put(path, json={"access_token": await issue_token(world, bot, carol)})).rejected(401, 50025)
    (await bot.put(path, json={"access_token": await issue_token(world, other_bot, bob)})).rejected(401, 50025)
    (await bot.put(path, json={"access_token": bob.token})).rejected(401, 50025)
    (await bot.put(path, json={"access_token": await issue_token(world, bot, bob, "identify")})).rejected(403, 50026)
    (await bot.put(f"/guilds/{guild.id}/members/1", json={"access_token": "x"})).rejected(404, 10013)
    (await alice.put(path, json={"access_token": "x"})).rejected(403, 20002)


async def test_each_field_of_an_added_member_requires_its_permission(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    guild = await world.guild(alice)
    bot = await world.bot(guild)
    high_role_id = await guild.role("high")
    path, token = f"/guilds/{guild.id}/members/{bob.id}", await issue_token(world, bot, bob)

    for key, value in {
        "nick": "x",
        "mute": True,
        "deaf": True,
        "roles": [str(high_role_id)],
        "flags": MemberFlags.BYPASSES_VERIFICATION,
    }.items():
        (await bot.put(path, json={"access_token": token, key: value})).rejected(403, 50013)


async def test_a_banned_user_cannot_be_added(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    guild = await world.guild(alice)
    bot = await world.bot(guild)
    (await alice.put(f"/guilds/{guild.id}/bans/{bob.id}")).ok()

    response = await bot.put(
        f"/guilds/{guild.id}/members/{bob.id}", json={"access_token": await issue_token(world, bot, bob)}
    )

    response.rejected(403, 40007)


async def test_a_bot_installed_with_permissions_gets_a_managed_role_removed_with_it(world: World) -> None:
    alice = await world.user()
    guild = await world.guild(alice)
    bot = await world.bot()
    session = await alice.connect()

    await world.write(
        lambda call: members.membership.add(call, guild.id, bot.id, permissions=Permissions.KICK_MEMBERS),
        actor=alice.id,
    )

    role = (await session.next("GUILD_ROLE_CREATE"))["role"]
    assert (role["name"], role["managed"], role["tags"]) == (bot.name, True, {"bot_id": str(bot.id)})
    assert int(role["permissions"]) == Permissions.KICK_MEMBERS
    assert (await session.next("GUILD_MEMBER_ADD"))["roles"] == [role["id"]]
    assert (await last_stored_entry(world, guild, AuditLogAction.BOT_ADD)).target_id == bot.id
    (await alice.delete(f"/guilds/{guild.id}/members/{bot.id}")).ok()
    assert (await session.next("GUILD_ROLE_DELETE"))["role_id"] == role["id"]


async def test_the_managed_role_of_a_bot_that_an_operator_adds_is_published(world: World) -> None:
    alice = await world.user()
    guild = await world.guild(alice)
    bot = await world.bot()
    session = await alice.connect()

    # Actions of `hubbub admin` have no actor.
    await world.write(lambda call: members.membership.add(call, guild.id, bot.id, permissions=Permissions.KICK_MEMBERS))

    role = (await session.next("GUILD_ROLE_CREATE"))["role"]
    assert (await session.next("GUILD_MEMBER_ADD"))["roles"] == [role["id"]]
    assert await guild.audit_entries(AuditLogAction.ROLE_CREATE) == []


async def test_adding_a_member_twice_changes_nothing(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    guild = await world.guild(alice, bob)

    assert await world.write(lambda call: members.membership.add(call, guild.id, bob.id), actor=alice.id) is None

    assert (await world.write(lambda call: guilds.find(call.tx, guild.id))).member_count == 2


async def test_a_user_in_one_hundred_guilds_cannot_join_another(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    guild = await world.guild(alice)
    bot = await world.bot(guild)

    def insert_memberships(call: Call) -> None:
        for number in range(1, 101):
            call.tx.run("INSERT INTO members (guild_id, user_id, joined_ms) VALUES (?, ?, 1)", number, bob.id)

    await world.write(insert_memberships)

    body = {"access_token": await issue_token(world, bot, bob)}
    (await bot.put(f"/guilds/{guild.id}/members/{bob.id}", json=body)).rejected(400, 30001)


# Updating


async def test_setting_and_clearing_a_nick_is_audited_and_published(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    guild = await world.guild(alice, bob)
    bot = await world.bot(guild)
    session = await bot.connect()
    path = f"/guilds/{guild.id}/members/{bob.id}"

    renamed_member = (
        await alice.patch(path, json={"nick": "  Bob  by "}, headers={"X-Audit-Log-Reason": "why%20not"})
    ).ok()
    event = await session.next("GUILD_MEMBER_UPDATE")
    member_without_nick = (await alice.patch(path, json={"nick": ""})).ok()

    assert renamed_member["nick"] == event["nick"] == "Bob by"
    assert event["guild_id"] == str(guild.id)
    assert member_without_nick["nick"] is None
    audit_entries = [
        audit_entry
        for audit_entry in await read_audit_log(world, guild)
        if audit_entry.action == AuditLogAction.MEMBER_UPDATE
    ]
    assert (audit_entries[0].target_id, audit_entries[0].reason) == (bob.id, "why not")
    assert audit_entries[0].changes == [{"key": "nick", "new_value": "Bob by"}]
    assert audit_entries[1].changes == [{"key": "nick", "old_value": "Bob by"}]


async def test_an_update_without_changes_publishes_nothing(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    guild = await world.guild(alice, bob)
    session = await alice.connect()
    entry_count_before = len(await read_audit_log(world, guild))

    (await alice.patch(f"/guilds/{guild.id}/members/{bob.id}", json={"nick": None, "roles": []})).ok()

    await session.assert_not_received("GUILD_MEMBER_UPDATE", "GUILD_AUDIT_LOG_ENTRY_CREATE")
    assert len(await read_audit_log(world, guild)) == entry_count_before


@pytest.mark.parametrize(
    ("body", "permissions", "needs_voice"),
    [
        ({"nick": "x"}, Permissions.MANAGE_NICKNAMES, False),
        ({"roles": []}, Permissions.MANAGE_ROLES, False),
        ({"mute": True}, Permissions.MUTE_MEMBERS, True),
        ({"deaf": True}, Permissions.DEAFEN_MEMBERS, True),
        ({"channel_id": None}, Permissions.MOVE_MEMBERS, True),
        ({"communication_disabled_until": "2026-11-19T00:00:00Z"}, Permissions.MODERATE_MEMBERS, False),
        ({"flags": MemberFlags.BYPASSES_VERIFICATION}, Permissions.MANAGE_GUILD, False),
        ({"flags": MemberFlags.BYPASSES_VERIFICATION}, Permissions.MANAGE_ROLES, False),
        (
            {"flags": MemberFlags.BYPASSES_VERIFICATION},
            Permissions.MODERATE_MEMBERS | Permissions.KICK_MEMBERS | Permissions.BAN_MEMBERS,
            False,
        ),
    ],
)
async def test_each_field_requires_its_own_permission(
    world: World, body: dict[str, Any], permissions: int, needs_voice: bool
) -> None:
    alice, bob = await world.user(), await world.user()
    guild = await world.guild(alice, bob)
    bot = await world.bot(guild)
    path = f"/guilds/{guild.id}/members/{bob.id}"

    (await bot.patch(path, json=body)).rejected(403, 50013)
    await guild.allow_permissions(bot, permissions)
    response = await bot.patch(path, json=body)

    if needs_voice:
        # The permission is checked before the voice state.
        response.rejected(400, 40032)
    else:
        response.ok()


async def test_two_of_the_three_moderator_bits_do_not_change_flags(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    guild = await world.guild(alice, bob)
    bot = await world.bot(guild, permissions=Permissions.MODERATE_MEMBERS | Permissions.KICK_MEMBERS)

    (
        await bot.patch(f"/guilds/{guild.id}/members/{bob.id}", json={"flags": MemberFlags.BYPASSES_VERIFICATION})
    ).rejected(403, 50013)


async def test_only_the_bypass_flag_can_be_edited(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    guild = await world.guild(alice, bob)
    path = f"/guilds/{guild.id}/members/{bob.id}"

    assert (await alice.patch(path, json={"flags": 0xFF})).ok()["flags"] == MemberFlags.BYPASSES_VERIFICATION
    assert (await alice.patch(path, json={"flags": 0})).ok()["flags"] == 0


async def test_members_with_an_equal_or_higher_role_cannot_be_renamed_or_timed_out(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    guild = await world.guild(alice, bob)
    bot = await world.bot(guild, permissions=Permissions.MANAGE_NICKNAMES | Permissions.MODERATE_MEMBERS)
    end_timestamp = codec.timestamp(NOW_MS + DAY_MS)
    high_role_id = await guild.role("high")
    (await alice.patch(f"/guilds/{guild.id}/roles", json=[{"id": str(high_role_id), "position": 2}])).ok()
    await guild.add_role(bob, high_role_id)

    for member in (alice, bob, bot):
        if member is not bot:
            (await bot.patch(f"/guilds/{guild.id}/members/{member.id}", json={"nick": "x"})).rejected(403, 50013)
        body = {"communication_disabled_until": end_timestamp}
        (await bot.patch(f"/guilds/{guild.id}/members/{member.id}", json=body)).rejected(403, 50013)


async def test_a_timeout_and_a_mute_outlast_leaving_and_joining_again(world: World) -> None:
    guild = await world.guild()
    bob = await guild.member()
    path = f"/guilds/{guild.id}/members/{bob.id}"
    end_timestamp = codec.timestamp(NOW_MS + DAY_MS)
    (await guild.owner.patch(path, json={"communication_disabled_until": end_timestamp})).ok()

    def set_mute(call: Call, mute: int) -> None:
        member = members.find(call.tx, guild.id, bob.id)
        assert member is not None
        members.membership.update(call, member, member.row._replace(mute=mute))

    await world.write(lambda call: set_mute(call, 1), actor=guild.owner.id)
    code = (await guild.owner.post(f"/channels/{guild.general}/invites", json={})).ok()["code"]
    for departure_request in (bob.delete(f"/users/@me/guilds/{guild.id}"), guild.owner.delete(path)):
        (await departure_request).ok()
        (await bob.post(f"/invites/{code}", json={})).ok()
        member = (await guild.owner.get(path)).ok()
        assert (member["communication_disabled_until"], member["mute"], member["deaf"]) == (end_timestamp, True, False)
        (await bob.post(f"/channels/{guild.general}/messages", json={"content": "hi"})).rejected(403, 50013)
    (await guild.owner.patch(path, json={"communication_disabled_until": None})).ok()
    await world.write(lambda call: set_mute(call, 0), actor=guild.owner.id)
    (await bob.delete(f"/users/@me/guilds/{guild.id}")).ok()
    (await bob.post(f"/invites/{code}", json={})).ok()
    await guild.send_message(bob)


async def test_a_timeout_lasts_at_most_28_days(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    guild = await world.guild(alice, bob)
    path = f"/guilds/{guild.id}/members/{bob.id}"
    end_timestamp = codec.timestamp(NOW_MS + 28 * DAY_MS)

    member = (await alice.patch(path, json={"communication_disabled_until": end_timestamp})).ok()
    too_long = await alice.patch(
        path, json={"communication_disabled_until": codec.timestamp(NOW_MS + 28 * DAY_MS + 1000)}
    )

    assert member["communication_disabled_until"] == end_timestamp
    assert too_long.errors("communication_disabled_until")
    assert (await last_stored_entry(world, guild, AuditLogAction.MEMBER_UPDATE)).changes == [
        {"key": "communication_disabled_until", "new_value": end_timestamp}
    ]
    (await bob.patch(f"/guilds/{guild.id}/members/@me", json={"nick": "x"})).rejected(403, 50013)
    member_without_timeout = (
        await alice.patch(path, json={"communication_disabled_until": "2020-01-01T00:00:00Z"})
    ).ok()
    assert member_without_timeout["communication_disabled_until"] is None
    (await bob.patch(f"/guilds/{guild.id}/members/@me", json={"nick": "x"})).ok()


async def test_administrators_cannot_be_timed_out(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    guild = await world.guild(alice, bob)
    await guild.allow_permissions(bob, Permissions.ADMINISTRATOR)
    path = f"/guilds/{guild.id}/members/{bob.id}"

    body = {"communication_disabled_until": codec.timestamp(NOW_MS + DAY_MS)}
    (await alice.patch(path, json=body)).rejected(403, 50013)
    (await alice.patch(path, json={"communication_disabled_until": None})).ok()


async def test_a_role_list_replaces_roles_and_audits_added_and_removed(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    guild = await world.guild(alice, bob)
    red_role_id, blue_role_id = await guild.role("red"), await guild.role("blue")
    path = f"/guilds/{guild.id}/members/{bob.id}"
    session = await alice.connect()
    (await alice.patch(path, json={"roles": [str(red_role_id)]})).ok()

    member = (await alice.patch(path, json={"roles": [str(blue_role_id)]})).ok()

    assert member["roles"] == [str(blue_role_id)]
    await session.next("GUILD_MEMBER_UPDATE")
    assert (await session.next("GUILD_MEMBER_UPDATE"))["roles"] == [str(blue_role_id)]
    audit_entry = await last_stored_entry(world, guild, AuditLogAction.MEMBER_ROLE_UPDATE)
    assert audit_entry.target_id == bob.id
    assert audit_entry.changes == [
        {"key": "$add", "new_value": [{"id": str(blue_role_id), "name": "blue"}]},
        {"key": "$remove", "new_value": [{"id": str(red_role_id), "name": "red"}]},
    ]
    assert (await alice.patch(path, json={"roles": None})).ok()["roles"] == []


async def test_roles_are_added_and_removed_one_by_one(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    guild = await world.guild(alice, bob)
    bot = await world.bot(guild)
    session = await bot.connect()
    red_role_id = await guild.role("red")
    path = f"/guilds/{guild.id}/members/{bob.id}/roles/{red_role_id}"

    assert (await alice.put(path)).status == 204
    assert (await session.next("GUILD_MEMBER_UPDATE"))["roles"] == [str(red_role_id)]
    assert (await alice.put(path)).status == 204
    assert (await alice.delete(path)).status == 204
    assert (await session.next("GUILD_MEMBER_UPDATE"))["roles"] == []
    assert (await alice.delete(path)).status == 204
    await session.assert_not_received("GUILD_MEMBER_UPDATE")
    actions = [audit_entry.action for audit_entry in await read_audit_log(world, guild)]
    assert actions.count(AuditLogAction.MEMBER_ROLE_UPDATE) == 2


async def test_higher_managed_and_foreign_roles_cannot_be_assigned(world: World) -> None:
    alice, bob, stranger = await world.user(), await world.user(), await world.user()
    guild, other_guild = await world.guild(alice, bob), await world.guild(alice)
    bot = await world.bot(guild, permissions=Permissions.MANAGE_ROLES)
    managed_role_id = await guild.role("managed")
    await world.write(lambda call: call.tx.run("UPDATE roles SET managed = 1 WHERE id = ?", managed_role_id))
    foreign_role_id = await other_guild.role("foreign")
    top_role_id = await guild.role("top")
    (await alice.patch(f"/guilds/{guild.id}/roles", json=[{"id": str(top_role_id), "position": 3}])).ok()
    path = f"/guilds/{guild.id}/members"

    (await bot.put(f"{path}/{bob.id}/roles/{top_role_id}")).rejected(403, 50013)
    (await bot.put(f"{path}/{bob.id}/roles/{foreign_role_id}")).rejected(404, 10011)
    (await alice.put(f"{path}/{bob.id}/roles/{managed_role_id}")).rejected(400, 50028)
    (await alice.put(f"{path}/{bob.id}/roles/{guild.id}")).rejected(400, 50028)
    (await alice.put(f"{path}/{stranger.id}/roles/{top_role_id}")).rejected(404, 10007)
    (await bob.put(f"{path}/{bob.id}/roles/{top_role_id}")).rejected(403, 50013)
    (await alice.patch(f"{path}/{bob.id}", json={"roles": [str(foreign_role_id)]})).rejected(404, 10011)


async def test_mute_deafen_and_move_need_a_member_in_voice(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    guild = await world.guild(alice, bob)
    lounge_id, den_channel_id = (
        await guild.channel("lounge", type=ChannelType.GUILD_VOICE),
        await guild.channel("den", type=ChannelType.GUILD_VOICE),
    )
    path = f"/guilds/{guild.id}/members/{bob.id}"
    (await alice.patch(path, json={"mute": True})).rejected(400, 40032)
    (await alice.patch(path, json={"channel_id": str(lounge_id)})).rejected(400, 40032)
    await insert_voice_state(world, guild, bob, lounge_id)

    assert (await alice.patch(path, json={"mute": True, "deaf": True})).ok()["mute"] is True
    (await alice.patch(path, json={"channel_id": "1"})).rejected(404, 10003)
    (await alice.patch(path, json={"channel_id": str(guild.general)})).rejected(400, 50024)
    (await alice.patch(path, json={"channel_id": str(den_channel_id)})).ok()
    move_entry = await last_stored_entry(world, guild, AuditLogAction.MEMBER_MOVE)
    (await alice.patch(path, json={"channel_id": None})).ok()

    assert (await last_stored_entry(world, guild, AuditLogAction.MEMBER_UPDATE)).changes == [
        {"key": "mute", "old_value": False, "new_value": True},
        {"key": "deaf", "old_value": False, "new_value": True},
    ]
    assert move_entry.options == {"channel_id": str(den_channel_id), "count": "1"}
    assert (await last_stored_entry(world, guild, AuditLogAction.MEMBER_DISCONNECT)).options == {"count": "1"}


async def test_a_member_updates_their_own_profile(world: World) -> None:
    alice = await world.user()
    guild = await world.guild(alice)
    bot = await world.bot(guild)
    session = await bot.connect(Intents.GUILDS)
    path = f"/guilds/{guild.id}/members/@me"

    member = (
        await bot.patch(
            path, json={"nick": "Botty", "avatar": PNG_DATA_URI, "banner": PNG_DATA_URI, "bio": "I am a bot"}
        )
    ).ok()

    assert member["nick"] == "Botty"
    assert len(member["avatar"]) == len(member["banner"]) == 32
    assert int(member["permissions"]) == Permissions.DEFAULT_EVERYONE
    # spec/gateway.md#5: a session receives its own update without the members intent.
    assert (await session.next("GUILD_MEMBER_UPDATE"))["avatar"] == member["avatar"]
    cleared_member = (await bot.patch(path, json={"nick": None, "avatar": None, "banner": None, "bio": None})).ok()
    assert (cleared_member["nick"], cleared_member["avatar"], cleared_member["banner"]) == (None, None, None)
    assert (await bot.patch(path, json={"nick": "x" * 33})).errors("nick")
    assert (await bot.patch(path, json={"bio": "x" * 191})).errors("bio")
    assert (await bot.patch(path, json={"avatar": "nonsense"})).errors("avatar")


async def test_changing_your_own_nick_requires_change_nickname_on_both_routes(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    guild = await world.guild(alice, bob)
    assert (await bob.patch(f"/guilds/{guild.id}/members/@me/nick", json={"nick": "Bobby"})).ok() == {"nick": "Bobby"}
    everyone = int(Permissions.DEFAULT_EVERYONE & ~Permissions.CHANGE_NICKNAME)
    (await alice.patch(f"/guilds/{guild.id}/roles/{guild.id}", json={"permissions": str(everyone)})).ok()

    (await bob.patch(f"/guilds/{guild.id}/members/@me", json={"nick": "x"})).rejected(403, 50013)
    (await bob.patch(f"/guilds/{guild.id}/members/@me/nick", json={"nick": "x"})).rejected(403, 50013)
    (await bob.patch(f"/guilds/{guild.id}/members/@me", json={"bio": "x"})).ok()


async def test_a_new_display_name_is_published_in_every_guild_of_the_user(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    first_guild, second_guild = await world.guild(alice, bob), await world.guild(bob, alice)
    session = await alice.connect()

    (await bob.patch("/users/@me", json={"global_name": "Robert"})).ok()

    events = [await session.next("GUILD_MEMBER_UPDATE"), await session.next("GUILD_MEMBER_UPDATE")]
    assert {event["guild_id"] for event in events} == {str(first_guild.id), str(second_guild.id)}
    assert {event["user"]["global_name"] for event in events} == {"Robert"}


# Leaving


async def test_a_kick_notifies_the_guild_and_the_kicked_member(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    guild = await world.guild(alice, bob)
    bot = await world.bot(guild, permissions=Permissions.KICK_MEMBERS)
    session, bob_session = await alice.connect(), await bob.connect()

    headers = {"X-Audit-Log-Reason": "bye"}
    assert (await bot.delete(f"/guilds/{guild.id}/members/{bob.id}", headers=headers)).status == 204

    member_remove = await session.next("GUILD_MEMBER_REMOVE")
    assert (member_remove["guild_id"], member_remove["user"]["id"]) == (str(guild.id), str(bob.id))
    assert await bob_session.next("GUILD_DELETE") == {"id": str(guild.id)}
    await bob_session.assert_not_received("GUILD_MEMBER_REMOVE")
    audit_entry = await last_stored_entry(world, guild, AuditLogAction.MEMBER_KICK)
    assert audit_entry == StoredEntry(AuditLogAction.MEMBER_KICK, bob.id, [], {}, "bye")
    (await bob.get(f"/guilds/{guild.id}")).rejected(403, 50001)
    (await bot.delete(f"/guilds/{guild.id}/members/{bob.id}")).rejected(404, 10007)
    assert (await world.write(lambda call: guilds.find(call.tx, guild.id))).member_count == 2


async def test_the_owner_equal_and_higher_members_cannot_be_kicked(world: World) -> None:
    alice, bob, equal_member, higher_member = [await world.user() for _ in range(4)]
    guild = await world.guild(alice, bob, equal_member, higher_member)
    kick = {"permissions": str(Permissions.VIEW_CHANNEL | Permissions.KICK_MEMBERS)}
    (await alice.patch(f"/guilds/{guild.id}/roles/{guild.id}", json=kick)).ok()
    await guild.add_role(higher_member, await guild.role("high"))

    for user in (alice, bob, equal_member, higher_member):
        (await bob.delete(f"/guilds/{guild.id}/members/{user.id}")).rejected(403, 50013)
    (await alice.delete(f"/guilds/{guild.id}/members/{alice.id}")).rejected(403, 50013)
    assert (await higher_member.delete(f"/guilds/{guild.id}/members/{bob.id}")).status == 204


async def test_leaving_a_guild_notifies_both_sides(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    guild = await world.guild(alice, bob)
    session, bob_session = await alice.connect(), await bob.connect()

    assert (await bob.delete(f"/users/@me/guilds/{guild.id}")).status == 204

    assert (await session.next("GUILD_MEMBER_REMOVE"))["user"]["id"] == str(bob.id)
    assert (await bob_session.next("GUILD_DELETE"))["id"] == str(guild.id)


async def test_temporary_members_leave_with_their_last_session_unless_they_have_a_role(world: World) -> None:
    alice, bob, carol = await world.user(), await world.user(), await world.user()
    guild = await world.guild(alice)
    for guest in (bob, carol):
        await world.write(
            lambda call, guest=guest: members.membership.add(call, guild.id, guest.id, is_temporary=True), alice.id
        )
    await guild.add_role(carol, await guild.role())
    owner_session, first_session, second_session = await alice.connect(), await bob.connect(), await bob.connect()
    await (await carol.connect()).close()

    await first_session.close()
    await owner_session.assert_not_received("GUILD_MEMBER_REMOVE")
    await second_session.close()

    assert (await owner_session.next("GUILD_MEMBER_REMOVE"))["user"]["id"] == str(bob.id)
    (await alice.get(f"/guilds/{guild.id}/members/{carol.id}")).ok()


async def create_guild_with_inactive_members(world: World) -> tuple[Guild, dict[str, Actor], int]:
    """Create a guild whose members joined ten days ago, except "fresh", who joined yesterday.

    "chatty" sent a message two days ago and "quiet" nine days ago; "red" has a role. Return the guild, the users by
    name, and the role ID."""
    names = ("owner", "quiet", "chatty", "fresh", "red")
    users = {name: await world.user(name) for name in names}
    guild = await world.guild(users["owner"], *(users[name] for name in names[1:]))
    role_id = await guild.role("red")
    await guild.add_role(users["red"], role_id)

    def set_join_times(call: Call) -> None:
        call.tx.run("UPDATE members SET joined_ms = ?", NOW_MS - 10 * DAY_MS)
        call.tx.run("UPDATE members SET joined_ms = ? WHERE user_id = ?", NOW_MS - DAY_MS, users["fresh"].id)
        for name, days in (("chatty", 2), ("quiet", 9)):
            call.tx.run(
                "INSERT INTO messages (channel_id, id, author_id, type, flags, content) VALUES (?, ?, ?, 0, 0, 'hi')",
                guild.general,
                int(Snowflake.at(NOW_MS - days * DAY_MS)),
                users[name].id,
            )

    await world.write(set_join_times)
    return guild, users, role_id


async def test_a_prune_removes_inactive_members_without_roles(world: World) -> None:
    guild, users, role = await create_guild_with_inactive_members(world)
    owner, path = guild.owner, f"/guilds/{guild.id}/prune"
    session = await owner.connect()

    assert (await owner.get(path)).ok() == {"pruned": 1}
    assert (await owner.get(f"{path}?days=1&include_roles={role}")).ok() == {"pruned": 3}
    assert (await owner.get(f"{path}?days=30")).ok() == {"pruned": 0}
    assert (await owner.get(f"{path}?days=31")).errors("days")
    assert (await owner.get(f"{path}?include_roles=red")).errors("include_roles")
    assert (await owner.post(path)).ok() == {"pruned": 1}

    assert (await session.next("GUILD_MEMBER_REMOVE"))["user"]["id"] == str(users["quiet"].id)
    audit_entry = await last_stored_entry(world, guild, AuditLogAction.MEMBER_PRUNE)
    assert (audit_entry.target_id, audit_entry.options) == (None, {"delete_member_days": "7", "members_removed": "1"})
    body = {"days": 7, "include_roles": [str(role)], "compute_prune_count": False}
    assert (await owner.post(path, json=body)).ok() == {"pruned": None}
    assert (await session.next("GUILD_MEMBER_REMOVE"))["user"]["id"] == str(users["red"].id)


async def test_a_prune_requires_both_permissions_or_administrator_by_guild_feature(world: World) -> None:
    guild, _, role = await create_guild_with_inactive_members(world)
    bot = await world.bot(guild, permissions=Permissions.MANAGE_GUILD)
    path = f"/guilds/{guild.id}/prune"

    (await bot.get(path)).rejected(403, 50013)
    (await bot.post(path)).rejected(403, 50013)
    await guild.allow_permissions(bot, Permissions.KICK_MEMBERS)
    assert (await bot.get(path)).ok() == {"pruned": 1}
    (await guild.owner.patch(f"/guilds/{guild.id}/roles", json=[{"id": str(role), "position": 9}])).ok()
    (await bot.get(f"{path}?include_roles={role}")).rejected(403, 50013)
    features = '["PRUNE_REQUIRES_ADMIN"]'
    await world.write(lambda call: call.tx.run("UPDATE guilds SET features = ? WHERE id = ?", features, guild.id))
    (await bot.post(path)).rejected(403, 50013)
    assert (await guild.owner.get(path)).ok() == {"pruned": 1}


# Gateway


async def test_guild_create_of_a_small_guild_lists_members_by_intent(world: World) -> None:
    alice, bob, carol = await world.user(), await world.user(), await world.user()
    guild = await world.guild(alice, bob, carol)
    bot = await world.bot(guild)
    voice_channel_id = await guild.channel("lounge", type=ChannelType.GUILD_VOICE)
    await insert_voice_state(world, guild, carol, voice_channel_id)

    async def list_user_ids(intents: int) -> tuple[set[str], set[str]]:
        guild_create = (await bot.connect(intents)).guilds[str(guild.id)]
        return {member["user"]["id"] for member in guild_create["members"]}, {
            presence["user"]["id"] for presence in guild_create["presences"]
        }

    everyone = {str(actor.id) for actor in (alice, bob, carol, bot)}
    assert await list_user_ids(Intents.GUILDS) == ({str(bot.id), str(carol.id)}, set())
    assert await list_user_ids(Intents.GUILDS | Intents.GUILD_MEMBERS) == (everyone, set())
    await alice.connect()
    assert await list_user_ids(Intents.GUILDS | Intents.GUILD_PRESENCES) == (everyone, {str(alice.id), str(bot.id)})


async def test_guild_create_of_a_large_guild_lists_only_the_bot_and_online_or_renamed_members(world: World) -> None:
    alice, bob, carol = await world.user(), await world.user(), await world.user()
    guild = await world.guild(alice, bob, carol, *[await world.user() for _ in range(50)])
    bot = await world.bot(guild)
    (await alice.patch(f"/guilds/{guild.id}/members/{bob.id}", json={"nick": "Bobby"})).ok()
    await carol.connect()

    session = await bot.connect(Intents.GUILDS | Intents.GUILD_PRESENCES | Intents.GUILD_MEMBERS)

    guild_create = session.guilds[str(guild.id)]
    assert guild_create["large"] is True
    assert guild_create["member_count"] == 54
    assert {member["user"]["id"] for member in guild_create["members"]} == {
        str(actor.id) for actor in (bob, carol, bot)
    }


async def test_all_members_are_sent_in_chunks_of_one_thousand(world: World) -> None:
    alice = await world.user()
    guild = await world.guild(alice)
    bot = await world.bot(guild)

    def insert_members(call: Call) -> None:
        for number in range(1, 1100):
            call.tx.run("INSERT INTO users (id, username) VALUES (?, ?)", number, f"crowd{number}")
            call.tx.run("INSERT INTO members (guild_id, user_id, joined_ms) VALUES (?, ?, 1)", guild.id, number)
        call.tx.run("UPDATE guilds SET member_count = 1101 WHERE id = ?", guild.id)

    await world.write(insert_members)
    session = await bot.connect()

    await session.send(
        GatewayOpcode.REQUEST_GUILD_MEMBERS,
        {"guild_id": str(guild.id), "query": "", "limit": 0, "nonce": "n", "presences": True},
    )

    first_chunk, second_chunk = await session.next("GUILD_MEMBERS_CHUNK"), await session.next("GUILD_MEMBERS_CHUNK")
    assert [len(first_chunk["members"]), len(second_chunk["members"])] == [1000, 101]
    assert [(chunk["chunk_index"], chunk["chunk_count"], chunk["nonce"]) for chunk in (first_chunk, second_chunk)] == [
        (0, 2, "n"),
        (1, 2, "n"),
    ]
    assert [presence["user"]["id"] for presence in second_chunk["presences"]] == [str(bot.id)]


async def test_each_chunk_of_all_members_is_read_in_its_own_transaction(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    guild = await world.guild(alice, bob)
    count = 2500

    def insert_members(call: Call) -> None:
        numbers = range(1, count)
        call.tx.run_many("INSERT INTO users (id, username) VALUES (?, ?)", [(each, f"crowd{each}") for each in numbers])
        call.tx.run_many(
            "INSERT INTO members (guild_id, user_id, joined_ms) VALUES (?, ?, 1)",
            [(guild.id, each) for each in numbers],
        )

    def run(function: Callable[[Call], None]) -> Callable[[Call], Call]:
        def act(call: Call) -> Call:
            call = call.acting_as(Caller(user_id=UserId(bob.id), kind="user"))
            call.intents = Intents.GUILD_MEMBERS
            function(call)
            return call

        return act

    await world.write(insert_members)
    request = RequestGuildMembers(guild_id=str(guild.id), query="")
    result = await world.write(run(lambda call: request_guild_members(call, request)))
    assert not result.replies
    chunk_sizes = []
    while result.further_reads:
        [read] = result.further_reads
        result = await world.write(run(read))
        chunk_sizes += [len(chunk.members) for _, chunk in result.replies]
        assert len(result.replies) == 1
        if len(chunk_sizes) == 1:
            # A member of the second chunk leaves.
            await world.write(lambda call: call.tx.run("DELETE FROM members WHERE user_id = 1500"))
        if len(chunk_sizes) == 2:
            # The caller is removed, and receives no more members.
            await world.write(lambda call: call.tx.run("DELETE FROM members WHERE user_id = ?", bob.id))
            result = await world.write(run(result.further_reads[0]))
            assert not result.replies
            break
    assert chunk_sizes == [1000, 999]


async def test_members_are_requested_by_name_or_id(world: World) -> None:
    alice, bob = await world.user("alice"), await world.user("bob")
    guild = await world.guild(alice, bob)
    bot = await world.bot(guild)
    session = await bot.connect(Intents.GUILDS)

    async def request_members(**fields: Any) -> Any:
        await session.send(GatewayOpcode.REQUEST_GUILD_MEMBERS, {"guild_id": str(guild.id), **fields})
        return await session.next("GUILD_MEMBERS_CHUNK")

    name_chunk = await request_members(query="AL", limit=5, presences=True)
    assert [member["user"]["id"] for member in name_chunk["members"]] == [str(alice.id)]
    assert not {"not_found", "nonce", "presences"} & set(name_chunk)
    id_chunk = await request_members(user_ids=[str(bob.id), "7", "x"], nonce="y" * 33)
    assert [member["user"]["id"] for member in id_chunk["members"]] == [str(bob.id)]
    assert id_chunk["not_found"] == ["7", "x"]
    assert "nonce" not in id_chunk
    assert [member["user"]["id"] for member in (await request_members(user_ids=str(bob.id)))["members"]] == [
        str(bob.id)
    ]
    empty_chunk = await request_members(query="zzz", limit=1)
    assert (empty_chunk["members"], empty_chunk["chunk_index"], empty_chunk["chunk_count"]) == ([], 0, 1)
    # Without the members intent a request for every member returns only the bot itself.
    assert [member["user"]["id"] for member in (await request_members(query="", limit=0))["members"]] == [str(bot.id)]


async def test_invalid_member_requests_are_ignored(world: World) -> None:
    alice = await world.user("alice")
    guild, hidden_guild = await world.guild(alice), await world.guild()
    bot = await world.bot(guild)
    session = await bot.connect()

    for request in (
        {"guild_id": str(guild.id)},
        {"guild_id": str(guild.id), "query": "a", "limit": 1, "user_ids": ["1"]},
        {"guild_id": str(guild.id), "query": "a", "limit": 0},
        {"guild_id": [str(guild.id), str(hidden_guild.id)], "query": "a", "limit": 1},
        {"guild_id": str(hidden_guild.id), "query": "a", "limit": 1},
    ):
        await session.send(GatewayOpcode.REQUEST_GUILD_MEMBERS, request)
    await session.send(
        GatewayOpcode.REQUEST_GUILD_MEMBERS, {"guild_id": str(guild.id), "query": "a", "limit": 1, "nonce": "last"}
    )

    assert (await session.next("GUILD_MEMBERS_CHUNK"))["nonce"] == "last"


# Functions that other slices use


async def test_granting_roles_keeps_existing_roles(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    guild = await world.guild(alice, bob)
    red_role_id, blue_role_id = await guild.role("red"), await guild.role("blue")
    await guild.add_role(bob, red_role_id)

    await world.write(
        lambda call: members.membership.grant_roles(call, guild.id, bob.id, [blue_role_id]), actor=alice.id
    )

    assert (await alice.get(f"/guilds/{guild.id}/members/{bob.id}")).ok()["roles"] == [
        str(red_role_id),
        str(blue_role_id),
    ]


async def test_members_are_loaded_in_batches_of_any_size(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    guild = await world.guild(alice, bob)

    def load_views(call: Call) -> tuple[set[int], set[int]]:
        user_ids = [alice.id, *range(1, 1200), bob.id]
        return (
            set(members.views.find_views(call.tx, guild.id, user_ids)),
            set(members.views.find_partial_views(call.tx, guild.id, user_ids)),
        )

    assert await world.write(load_views) == ({alice.id, bob.id}, {alice.id, bob.id})


async def test_a_join_message_is_posted_in_the_system_channel(world: World) -> None:
    guild = await world.guild()
    bob = await world.user("bob")
    session = await (await world.bot(guild)).connect()
    path = f"/guilds/{guild.id}"
    await guild.owner.patch(path, json={"system_channel_flags": 0})

    async def join(user: Actor) -> None:
        invite = (await guild.owner.post(f"/channels/{guild.general}/invites", json={})).ok()
        (await user.post(f"/invites/{invite['code']}")).ok()

    await join(bob)

    assert (await session.next("GUILD_MEMBER_ADD"))["user"]["id"] == str(bob.id)
    welcome = await session.next("MESSAGE_CREATE")
    assert (welcome["type"], welcome["content"], welcome["author"]["id"]) == (
        MessageType.USER_JOIN,
        "",
        str(bob.id),
    )
    assert (welcome["channel_id"], welcome["member"]["roles"]) == (str(guild.general), [])
    assert [message["id"] for message in (await guild.owner.get(f"/channels/{guild.general}/messages")).ok()] == [
        welcome["id"]
    ]

    await guild.owner.patch(path, json={"system_channel_flags": 1})
    await join(await world.user("carol"))
    await guild.owner.patch(path, json={"system_channel_flags": 0, "system_channel_id": None})
    await join(await world.user("dave"))
    assert [message["id"] for message in (await guild.owner.get(f"/channels/{guild.general}/messages")).ok()] == [
        welcome["id"]
    ]

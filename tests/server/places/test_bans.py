"""Bans: permissions, message deletion, lists, unbans, bulk bans, and events."""

from typing import Any

import pytest

from hubbub.protocol.enums import AuditLogAction
from hubbub.protocol.intents import Intents
from hubbub.protocol.permissions import Permissions
from hubbub.server.core.call import Call
from hubbub.server.places.bans import UserBanned
from tests.world import Guild, World


async def audit_targets(world: World, guild: Guild, action: int) -> list[tuple[int, str | None]]:
    """Return target and reason of each audit log entry with this action type, oldest first."""

    def read(call: Call) -> Any:
        return call.tx.all(
            "SELECT target_id, reason FROM audit_log WHERE guild_id = ? AND action_type = ? ORDER BY id",
            guild.id,
            int(action),
        )

    targets: list[tuple[int, str | None]] = [tuple(row) for row in await world.write(read)]
    return targets


async def test_a_ban_removes_the_member_and_publishes_events(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    guild = await world.guild(alice, bob)
    bot = await world.bot(guild, permissions=Permissions.BAN_MEMBERS)
    signals = world.record_signals(UserBanned)
    session, bob_session = await bot.connect(), await bob.connect()
    path = f"/guilds/{guild.id}/bans/{bob.id}"

    response = await bot.put(path, json={"delete_message_seconds": 3600}, headers={"X-Audit-Log-Reason": "spam"})

    assert response.status == 204
    ban_add = await session.next("GUILD_BAN_ADD")
    assert (ban_add["guild_id"], ban_add["user"]["id"]) == (str(guild.id), str(bob.id))
    assert (await session.next("GUILD_MEMBER_REMOVE"))["user"]["id"] == str(bob.id)
    assert await bob_session.next("GUILD_DELETE") == {"id": str(guild.id)}
    assert await audit_targets(world, guild, AuditLogAction.MEMBER_BAN_ADD) == [(bob.id, "spam")]
    assert [(signal.user_id, signal.delete_message_seconds) for signal in signals] == [(bob.id, 3600)]
    ban = (await bot.get(path)).ok()
    assert (ban["user"]["id"], ban["reason"]) == (str(bob.id), "spam")


async def test_banning_twice_publishes_no_second_event(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    guild = await world.guild(alice, bob)
    signals = world.record_signals(UserBanned)
    path = f"/guilds/{guild.id}/bans/{bob.id}"
    (await alice.put(path, headers={"X-Audit-Log-Reason": "first"})).ok()
    session = await alice.connect()

    assert (await alice.put(path, json={"delete_message_days": 2})).status == 204

    await session.assert_not_received("GUILD_BAN_ADD")
    assert len(await audit_targets(world, guild, AuditLogAction.MEMBER_BAN_ADD)) == 1
    assert (await alice.get(path)).ok()["reason"] == "first"
    assert [signal.delete_message_seconds for signal in signals] == [0, 2 * 86_400]


async def test_a_user_who_is_not_a_member_can_be_banned(world: World) -> None:
    alice, stranger = await world.user(), await world.user()
    guild = await world.guild(alice)
    session = await alice.connect()

    assert (await alice.put(f"/guilds/{guild.id}/bans/{stranger.id}")).status == 204

    await session.next("GUILD_BAN_ADD")
    await session.assert_not_received("GUILD_MEMBER_REMOVE")
    (await alice.put(f"/guilds/{guild.id}/bans/1")).rejected(404, 10013)


async def test_the_owner_the_caller_and_members_whose_role_is_not_lower_cannot_be_banned(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    guild = await world.guild(alice, bob)
    bot = await world.bot(guild, permissions=Permissions.BAN_MEMBERS)
    high_role_id = await guild.role("high")
    (await alice.patch(f"/guilds/{guild.id}/roles", json=[{"id": str(high_role_id), "position": 2}])).ok()
    await guild.add_role(bob, high_role_id)

    for user in (alice, bob, bot):
        (await bot.put(f"/guilds/{guild.id}/bans/{user.id}")).rejected(403, 50013)
    (await alice.put(f"/guilds/{guild.id}/bans/{alice.id}")).rejected(403, 50013)
    assert (await alice.put(f"/guilds/{guild.id}/bans/{bob.id}")).status == 204


async def test_bans_require_the_permission(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    guild = await world.guild(alice, bob)
    path = f"/guilds/{guild.id}/bans"

    (await bob.get(path)).rejected(403, 50013)
    (await bob.get(f"{path}/{alice.id}")).rejected(403, 50013)
    (await bob.put(f"{path}/{alice.id}")).rejected(403, 50013)
    (await bob.delete(f"{path}/{alice.id}")).rejected(403, 50013)
    (await bob.post(f"/guilds/{guild.id}/bulk-ban", json={"user_ids": ["1"]})).rejected(403, 50013)


@pytest.mark.parametrize(
    "body", [{"delete_message_seconds": 604_801}, {"delete_message_seconds": -1}, {"delete_message_days": 8}]
)
async def test_a_ban_deletes_at_most_a_week_of_messages(world: World, body: dict[str, int]) -> None:
    alice, bob = await world.user(), await world.user()
    guild = await world.guild(alice, bob)

    assert (await alice.put(f"/guilds/{guild.id}/bans/{bob.id}", json=body)).errors(next(iter(body)))


async def test_bans_are_listed_by_ascending_user_id(world: World) -> None:
    alice = await world.user()
    guild = await world.guild(alice)
    strangers = sorted([await world.user() for _ in range(4)], key=lambda user: user.id)
    for user in reversed(strangers):
        (await alice.put(f"/guilds/{guild.id}/bans/{user.id}")).ok()

    async def list_indexes(query: str = "") -> list[int]:
        bans = (await alice.get(f"/guilds/{guild.id}/bans{query}")).ok()
        stranger_ids = [str(stranger.id) for stranger in strangers]
        return [stranger_ids.index(ban["user"]["id"]) for ban in bans]

    assert await list_indexes() == [0, 1, 2, 3]
    assert await list_indexes("?limit=2") == [0, 1]
    assert await list_indexes(f"?limit=2&after={strangers[0].id}") == [1, 2]
    assert await list_indexes(f"?limit=2&before={strangers[3].id}") == [1, 2]
    assert await list_indexes(f"?before={strangers[1].id}&after={strangers[2].id}") == [0]
    assert (await alice.get(f"/guilds/{guild.id}/bans?limit=1001")).errors("limit")


async def test_an_unban_removes_the_ban(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    guild = await world.guild(alice, bob)
    path = f"/guilds/{guild.id}/bans/{bob.id}"
    (await alice.put(path)).ok()
    session = await alice.connect()

    assert (await alice.delete(path, headers={"X-Audit-Log-Reason": "sorry"})).status == 204

    ban_remove = await session.next("GUILD_BAN_REMOVE")
    assert (ban_remove["guild_id"], ban_remove["user"]["id"]) == (str(guild.id), str(bob.id))
    assert await audit_targets(world, guild, AuditLogAction.MEMBER_BAN_REMOVE) == [(bob.id, "sorry")]
    (await alice.delete(path)).rejected(404, 10026)
    (await alice.get(path)).rejected(404, 10026)
    (await alice.get(f"/guilds/{guild.id}/bans/1")).rejected(404, 10026)


async def test_a_bulk_ban_returns_banned_and_failed_users(world: World) -> None:
    alice, bob, carol, stranger = [await world.user() for _ in range(4)]
    guild = await world.guild(alice, bob, carol)
    bot = await world.bot(guild, permissions=Permissions.BAN_MEMBERS | Permissions.MANAGE_GUILD)
    (await alice.put(f"/guilds/{guild.id}/bans/{carol.id}")).ok()
    signals = world.record_signals(UserBanned)
    session = await alice.connect()
    user_ids = [bob.id, stranger.id, bob.id, carol.id, alice.id, bot.id, 1]

    body = {"user_ids": [str(user_id) for user_id in user_ids], "delete_message_seconds": 60}
    response = (await bot.post(f"/guilds/{guild.id}/bulk-ban", json=body)).ok()

    assert response["banned_users"] == [str(bob.id), str(stranger.id)]
    assert response["failed_users"] == [str(carol.id), str(alice.id), str(bot.id), "1"]
    announced_ids = [(await session.next("GUILD_BAN_ADD"))["user"]["id"] for _ in range(2)]
    assert announced_ids == [str(bob.id), str(stranger.id)]
    assert (await session.next("GUILD_MEMBER_REMOVE"))["user"]["id"] == str(bob.id)
    assert [target_id for target_id, _ in await audit_targets(world, guild, AuditLogAction.MEMBER_BAN_ADD)] == [
        carol.id,
        bob.id,
        stranger.id,
    ]
    assert [(signal.user_id, signal.delete_message_seconds) for signal in signals] == [(bob.id, 60), (stranger.id, 60)]


async def test_a_bulk_ban_that_bans_no_user_or_lacks_a_permission_fails(world: World) -> None:
    alice = await world.user()
    guild = await world.guild(alice)
    path = f"/guilds/{guild.id}/bulk-ban"

    (await alice.post(path, json={"user_ids": [str(alice.id), "1"]})).rejected(400, 500000)
    assert (await alice.post(path, json={"user_ids": []})).errors("user_ids")
    assert (await alice.post(path, json={"user_ids": [str(number) for number in range(1, 202)]})).errors("user_ids")
    bot = await world.bot(guild, permissions=Permissions.BAN_MEMBERS)
    (await bot.post(path, json={"user_ids": ["1"]})).rejected(403, 50013)


async def test_ban_events_require_ban_members_or_view_audit_log(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    guild = await world.guild(alice, bob)
    moderator_bot = await world.bot(guild, permissions=Permissions.BAN_MEMBERS)
    auditor_bot = await world.bot(guild, permissions=Permissions.VIEW_AUDIT_LOG)
    other_bot = await world.bot(guild)
    sessions = [
        await bot.connect(Intents.GUILDS | Intents.GUILD_MODERATION) for bot in (moderator_bot, auditor_bot, other_bot)
    ]

    (await alice.put(f"/guilds/{guild.id}/bans/{bob.id}")).ok()

    await sessions[0].next("GUILD_BAN_ADD")
    await sessions[1].next("GUILD_BAN_ADD")
    await sessions[2].assert_not_received("GUILD_BAN_ADD")

"""Bans: who may ban whom, what goes with it, and who hears of it."""

from typing import Any

import pytest

from hubbub.protocol.intents import Intents
from hubbub.protocol.permissions import Permissions
from hubbub.server.core.call import Call
from hubbub.server.resources.bans import MemberBanned
from tests.world import Guild, World


async def audited(world: World, guild: Guild, action: int) -> list[tuple[int, str | None]]:
    """The targets and reasons of an action in the audit log, oldest first."""

    def read(call: Call) -> Any:
        return call.tx.all(
            "SELECT target_id, reason FROM audit_log WHERE guild_id = ? AND action_type = ? ORDER BY id",
            guild.id,
            action,
        )

    found: list[tuple[int, str | None]] = [tuple(row) for row in await world.write(read)]
    return found


def overhear(world: World) -> list[MemberBanned]:
    """What upper floors are told from now on."""
    told: list[MemberBanned] = []
    world.app.listeners.setdefault(MemberBanned, []).append(lambda call, fact: told.append(fact))
    return told


async def test_a_ban_removes_the_member_and_keeps_them_out(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    guild = await world.guild(alice, bob)
    bot = await world.bot(guild, permissions=Permissions.BAN_MEMBERS)
    told = overhear(world)
    session, banned = await bot.connect(), await bob.connect()
    path = f"/guilds/{guild.id}/bans/{bob.id}"

    answer = await bot.put(path, json={"delete_message_seconds": 3600}, headers={"X-Audit-Log-Reason": "spam"})

    assert answer.status == 204
    added = await session.next("GUILD_BAN_ADD")
    assert (added["guild_id"], added["user"]["id"]) == (str(guild.id), str(bob.id))
    assert (await session.next("GUILD_MEMBER_REMOVE"))["user"]["id"] == str(bob.id)
    assert await banned.next("GUILD_DELETE") == {"id": str(guild.id)}
    assert await audited(world, guild, 22) == [(bob.id, "spam")]
    assert [(fact.user_id, fact.delete_message_seconds) for fact in told] == [(bob.id, 3600)]
    shown = (await bot.get(path)).ok()
    assert (shown["user"]["id"], shown["reason"]) == (str(bob.id), "spam")


async def test_a_second_ban_is_accepted_and_not_told_again(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    guild = await world.guild(alice, bob)
    told = overhear(world)
    path = f"/guilds/{guild.id}/bans/{bob.id}"
    (await alice.put(path, headers={"X-Audit-Log-Reason": "first"})).ok()
    session = await alice.connect()

    assert (await alice.put(path, json={"delete_message_days": 2})).status == 204

    await session.none_of("GUILD_BAN_ADD")
    assert len(await audited(world, guild, 22)) == 1
    assert (await alice.get(path)).ok()["reason"] == "first"
    assert [fact.delete_message_seconds for fact in told] == [0, 2 * 86_400]


async def test_people_who_never_came_can_be_banned_but_must_exist(world: World) -> None:
    alice, stranger = await world.user(), await world.user()
    guild = await world.guild(alice)
    session = await alice.connect()

    assert (await alice.put(f"/guilds/{guild.id}/bans/{stranger.id}")).status == 204

    await session.next("GUILD_BAN_ADD")
    await session.none_of("GUILD_MEMBER_REMOVE")
    (await alice.put(f"/guilds/{guild.id}/bans/1")).refused(404, 10013)


async def test_nobody_bans_the_owner_themselves_or_those_who_stand_as_high(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    guild = await world.guild(alice, bob)
    bot = await world.bot(guild, permissions=Permissions.BAN_MEMBERS)
    high = await guild.role("high")
    (await alice.patch(f"/guilds/{guild.id}/roles", json=[{"id": str(high), "position": 2}])).ok()
    await guild.give(bob, high)

    for person in (alice, bob, bot):
        (await bot.put(f"/guilds/{guild.id}/bans/{person.id}")).refused(403, 50013)
    (await alice.put(f"/guilds/{guild.id}/bans/{alice.id}")).refused(403, 50013)
    assert (await alice.put(f"/guilds/{guild.id}/bans/{bob.id}")).status == 204


async def test_bans_need_the_permission(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    guild = await world.guild(alice, bob)
    path = f"/guilds/{guild.id}/bans"

    (await bob.get(path)).refused(403, 50013)
    (await bob.get(f"{path}/{alice.id}")).refused(403, 50013)
    (await bob.put(f"{path}/{alice.id}")).refused(403, 50013)
    (await bob.delete(f"{path}/{alice.id}")).refused(403, 50013)
    (await bob.post(f"/guilds/{guild.id}/bulk-ban", json={"user_ids": ["1"]})).refused(403, 50013)


@pytest.mark.parametrize(
    "body", [{"delete_message_seconds": 604_801}, {"delete_message_seconds": -1}, {"delete_message_days": 8}]
)
async def test_at_most_a_week_of_messages_goes_with_a_ban(world: World, body: dict[str, int]) -> None:
    alice, bob = await world.user(), await world.user()
    guild = await world.guild(alice, bob)

    assert (await alice.put(f"/guilds/{guild.id}/bans/{bob.id}", json=body)).errors(next(iter(body)))


async def test_the_list_goes_up_by_id_in_both_directions(world: World) -> None:
    alice = await world.user()
    guild = await world.guild(alice)
    strangers = sorted([await world.user() for _ in range(4)], key=lambda person: person.id)
    for person in reversed(strangers):
        (await alice.put(f"/guilds/{guild.id}/bans/{person.id}")).ok()

    async def listed(query: str = "") -> list[int]:
        found = (await alice.get(f"/guilds/{guild.id}/bans{query}")).ok()
        return [strangers.index(next(s for s in strangers if str(s.id) == each["user"]["id"])) for each in found]

    assert await listed() == [0, 1, 2, 3]
    assert await listed("?limit=2") == [0, 1]
    assert await listed(f"?limit=2&after={strangers[0].id}") == [1, 2]
    assert await listed(f"?limit=2&before={strangers[3].id}") == [1, 2]
    assert await listed(f"?before={strangers[1].id}&after={strangers[2].id}") == [0]
    assert (await alice.get(f"/guilds/{guild.id}/bans?limit=1001")).errors("limit")


async def test_an_unban_lets_them_back(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    guild = await world.guild(alice, bob)
    path = f"/guilds/{guild.id}/bans/{bob.id}"
    (await alice.put(path)).ok()
    session = await alice.connect()

    assert (await alice.delete(path, headers={"X-Audit-Log-Reason": "sorry"})).status == 204

    removed = await session.next("GUILD_BAN_REMOVE")
    assert (removed["guild_id"], removed["user"]["id"]) == (str(guild.id), str(bob.id))
    assert await audited(world, guild, 23) == [(bob.id, "sorry")]
    (await alice.delete(path)).refused(404, 10026)
    (await alice.get(path)).refused(404, 10026)
    (await alice.get(f"/guilds/{guild.id}/bans/1")).refused(404, 10026)


async def test_many_are_banned_at_once_and_the_rest_is_named(world: World) -> None:
    alice, bob, carol, stranger = [await world.user() for _ in range(4)]
    guild = await world.guild(alice, bob, carol)
    bot = await world.bot(guild, permissions=Permissions.BAN_MEMBERS | Permissions.MANAGE_GUILD)
    (await alice.put(f"/guilds/{guild.id}/bans/{carol.id}")).ok()
    told = overhear(world)
    session = await alice.connect()
    wanted = [bob.id, stranger.id, bob.id, carol.id, alice.id, bot.id, 1]

    body = {"user_ids": [str(user) for user in wanted], "delete_message_seconds": 60}
    answer = (await bot.post(f"/guilds/{guild.id}/bulk-ban", json=body)).ok()

    assert answer["banned_users"] == [str(bob.id), str(stranger.id)]
    assert answer["failed_users"] == [str(carol.id), str(alice.id), str(bot.id), "1"]
    heard = [(await session.next("GUILD_BAN_ADD"))["user"]["id"] for _ in range(2)]
    assert heard == [str(bob.id), str(stranger.id)]
    assert (await session.next("GUILD_MEMBER_REMOVE"))["user"]["id"] == str(bob.id)
    assert [target for target, _ in await audited(world, guild, 22)] == [carol.id, bob.id, stranger.id]
    assert [(fact.user_id, fact.delete_message_seconds) for fact in told] == [(bob.id, 60), (stranger.id, 60)]


async def test_a_bulk_ban_of_nobody_fails_as_a_whole(world: World) -> None:
    alice = await world.user()
    guild = await world.guild(alice)
    path = f"/guilds/{guild.id}/bulk-ban"

    (await alice.post(path, json={"user_ids": [str(alice.id), "1"]})).refused(400, 500000)
    assert (await alice.post(path, json={"user_ids": []})).errors("user_ids")
    assert (await alice.post(path, json={"user_ids": [str(n) for n in range(1, 202)]})).errors("user_ids")
    bot = await world.bot(guild, permissions=Permissions.BAN_MEMBERS)
    (await bot.post(path, json={"user_ids": ["1"]})).refused(403, 50013)


async def test_bans_are_heard_by_those_who_may_ban_or_read_the_log(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    guild = await world.guild(alice, bob)
    banner = await world.bot(guild, permissions=Permissions.BAN_MEMBERS)
    reader = await world.bot(guild, permissions=Permissions.VIEW_AUDIT_LOG)
    nobody = await world.bot(guild)
    sessions = [await each.connect(Intents.GUILDS | Intents.GUILD_MODERATION) for each in (banner, reader, nobody)]

    (await alice.put(f"/guilds/{guild.id}/bans/{bob.id}")).ok()

    await sessions[0].next("GUILD_BAN_ADD")
    await sessions[1].next("GUILD_BAN_ADD")
    await sessions[2].none_of("GUILD_BAN_ADD")

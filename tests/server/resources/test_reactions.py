"""Reactions: who may react with what, what is told of it, and who may take it away."""

from urllib.parse import quote

import pytest

from hubbub.protocol.permissions import Permissions
from hubbub.server.core.call import Call
from hubbub.server.resources.emojis import is_unicode
from tests.world import Actor, Guild, World

FIRE = "🔥"


def path(channel: int, message: object, emoji: str = "", who: object = "") -> str:
    """The address of reactions."""
    address = f"/channels/{channel}/messages/{message}/reactions"
    return "/".join([address, *([quote(emoji, safe=":")] if emoji else []), *([str(who)] if who else [])])


async def react(actor: Actor, channel: int, message: object, emoji: str = FIRE) -> None:
    """React, successfully."""
    assert (await actor.put(path(channel, message, emoji, "@me"))).status == 204


async def everyone(guild: Guild, permissions: int) -> None:
    """Set what everyone in a guild may do."""
    (await guild.owner.patch(f"/guilds/{guild.id}/roles/{guild.id}", json={"permissions": str(permissions)})).ok()


@pytest.mark.parametrize(
    "text",
    ["🔥", "❤", "❤️", "👍🏽", "👨‍👩‍👧‍👦", "🏳️‍🌈", "🇩🇪", "🇦", "1️⃣", "#⃣", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "©", "🫠", "🧑🏿‍❤️‍💋‍🧑🏻", "⬆️", "🪿", "🛜"],
)
def test_real_emoji_are_known(text: str) -> None:
    assert is_unicode(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a",
        "1",
        "#",
        "fire",
        "🔥🔥",
        "🔥a",
        "🔥\u200d",
        "\ufe0f",
        "\u200d🔥",
        "é",
        "中",
        "✎",
        "🇩🇪🇩",
        "🔥" + "\u200d🔥" * 40,
    ],
)
def test_what_is_no_emoji_is_not_known(text: str) -> None:
    assert not is_unicode(text)


async def test_a_reaction_is_kept_told_and_shown(world: World) -> None:
    alice, bob = await world.user("alice"), await world.user("bob")
    guild = await world.guild(alice, bob)
    bot = await world.bot(guild)
    said = await guild.say(alice)
    session = await bot.connect()

    await react(bob, guild.general, said["id"])

    told = await session.next("MESSAGE_REACTION_ADD")
    assert told["emoji"] == {"id": None, "name": FIRE}
    assert told["user_id"] == str(bob.id)
    assert told["message_author_id"] == str(alice.id)
    assert told["guild_id"] == str(guild.id)
    assert told["channel_id"] == str(guild.general)
    assert told["member"]["user"]["id"] == str(bob.id)
    assert told["burst"] is False
    assert told["type"] == 0
    assert "burst_colors" not in told

    url = f"/channels/{guild.general}/messages/{said['id']}"
    assert (await alice.get(url)).ok()["reactions"] == [
        {
            "emoji": {"id": None, "name": FIRE},
            "count": 1,
            "count_details": {"normal": 1, "burst": 0},
            "me": False,
            "me_burst": False,
            "burst_colors": [],
        }
    ]
    assert (await bob.get(url)).ok()["reactions"][0]["me"] is True

    await react(bob, guild.general, said["id"])
    await session.none_of("MESSAGE_REACTION_ADD")


async def test_two_spellings_of_an_emoji_are_one_reaction(world: World) -> None:
    alice, bob = await world.user("alice"), await world.user("bob")
    guild = await world.guild(alice, bob)
    said = await guild.say(alice)
    await react(alice, guild.general, said["id"], "❤️")
    await react(bob, guild.general, said["id"], "❤")

    [shown] = (await alice.get(f"/channels/{guild.general}/messages/{said['id']}")).ok()["reactions"]
    assert shown["count"] == 2
    assert len((await alice.get(path(guild.general, said["id"], "❤"))).ok()) == 2


async def test_what_is_no_emoji_or_no_message_is_unknown(world: World) -> None:
    guild = await world.guild()
    said = await guild.say(guild.owner)
    for emoji in ("fire", "party:123456789012345678", "a:party:1", "🔥🔥", "party:99999999999999999999"):
        for method, who in (("PUT", "@me"), ("DELETE", "@me"), ("GET", ""), ("DELETE", ""), ("DELETE", guild.owner.id)):
            answer = await guild.owner.request(method, path(guild.general, said["id"], emoji, who))
            answer.refused(404, 10014)
    (await guild.owner.put(path(guild.general, 1, FIRE, "@me"))).refused(404, 10008)
    (await guild.owner.put(path(1, said["id"], FIRE, "@me"))).refused(404, 10003)


async def test_only_the_first_to_use_an_emoji_needs_add_reactions(world: World) -> None:
    bob = await world.user("bob")
    guild = await world.guild(None, bob)
    said = await guild.say(guild.owner)
    await react(guild.owner, guild.general, said["id"])
    await everyone(guild, Permissions.VIEW_CHANNEL | Permissions.READ_MESSAGE_HISTORY)

    await react(bob, guild.general, said["id"])
    (await bob.put(path(guild.general, said["id"], "👍", "@me"))).refused(403, 50013)

    await everyone(guild, Permissions.VIEW_CHANNEL | Permissions.ADD_REACTIONS)
    (await bob.put(path(guild.general, said["id"], FIRE, "@me"))).refused(403, 50013)
    (await bob.get(path(guild.general, said["id"], FIRE))).refused(403, 50013)


async def test_who_is_timed_out_does_not_react_at_all(world: World) -> None:
    bob = await world.user("bob")
    guild = await world.guild(None, bob)
    said = await guild.say(guild.owner)
    await react(guild.owner, guild.general, said["id"])
    await world.write(
        lambda call: call.tx.run(
            "UPDATE members SET timed_out_until_ms = ? WHERE user_id = ?", call.now + 60_000, bob.id
        )
    )
    (await bob.put(path(guild.general, said["id"], FIRE, "@me"))).refused(403, 50013)


async def test_a_message_has_at_most_twenty_different_emoji(world: World) -> None:
    bob = await world.user("bob")
    guild = await world.guild(None, bob)
    said = await guild.say(guild.owner)
    for number in range(20):
        await react(guild.owner, guild.general, said["id"], chr(0x1F600 + number))
    (await guild.owner.put(path(guild.general, said["id"], FIRE, "@me"))).refused(400, 30010)
    await react(bob, guild.general, said["id"], chr(0x1F600))


async def test_those_who_reacted_are_listed_by_id(world: World) -> None:
    people = [await world.user() for _ in range(3)]
    guild = await world.guild(None, *people)
    said = await guild.say(guild.owner)
    for person in reversed(people):
        await react(person, guild.general, said["id"])
    ids = sorted(person.id for person in people)
    url = path(guild.general, said["id"], FIRE)

    async def listed(**params: object) -> list[int]:
        shown = (await people[0].get(url, params={key: str(value) for key, value in params.items()})).ok()
        return [int(user["id"]) for user in shown]

    assert await listed() == ids
    assert await listed(limit=2) == ids[:2]
    assert await listed(after=ids[0], limit=1) == ids[1:2]
    assert await listed(type=1) == []
    assert (await people[0].get(path(guild.general, said["id"], "👍"))).ok() == []
    assert (await people[0].get(url, params={"limit": "101"})).errors("limit")
    assert (await people[0].get(url, params={"limit": "0"})).errors("limit")


async def test_one_takes_ones_own_reaction_back(world: World) -> None:
    bob = await world.user("bob")
    guild = await world.guild(None, bob)
    bot = await world.bot(guild)
    said = await guild.say(guild.owner)
    await react(bob, guild.general, said["id"])
    session = await bot.connect()

    assert (await bob.delete(path(guild.general, said["id"], FIRE, "@me"))).status == 204

    told = await session.next("MESSAGE_REACTION_REMOVE")
    assert told == {
        "user_id": str(bob.id),
        "channel_id": str(guild.general),
        "message_id": said["id"],
        "guild_id": str(guild.id),
        "emoji": {"id": None, "name": FIRE},
        "burst": False,
        "type": 0,
    }
    assert "reactions" not in (await bob.get(f"/channels/{guild.general}/messages/{said['id']}")).ok()
    assert (await bob.delete(path(guild.general, said["id"], FIRE, "@me"))).status == 204
    await session.none_of("MESSAGE_REACTION_REMOVE")


async def test_a_moderator_takes_others_reactions_away(world: World) -> None:
    bob = await world.user("bob")
    guild = await world.guild(None, bob)
    bot = await world.bot(guild)
    said = await guild.say(guild.owner)
    for emoji in (FIRE, "👍", "👎"):
        await react(bob, guild.general, said["id"], emoji)
    for who in (bob.id, ""):
        (await bot.delete(path(guild.general, said["id"], FIRE, who))).refused(403, 50013)
    (await bot.delete(path(guild.general, said["id"]))).refused(403, 50013)
    await guild.allow(bot, Permissions.MANAGE_MESSAGES)
    session = await bot.connect()

    assert (await bot.delete(path(guild.general, said["id"], FIRE, bob.id))).status == 204
    assert (await session.next("MESSAGE_REACTION_REMOVE"))["user_id"] == str(bob.id)

    assert (await bot.delete(path(guild.general, said["id"], "👍"))).status == 204
    assert await session.next("MESSAGE_REACTION_REMOVE_EMOJI") == {
        "channel_id": str(guild.general),
        "message_id": said["id"],
        "guild_id": str(guild.id),
        "emoji": {"id": None, "name": "👍"},
    }

    assert (await bot.delete(path(guild.general, said["id"]))).status == 204
    assert await session.next("MESSAGE_REACTION_REMOVE_ALL") == {
        "channel_id": str(guild.general),
        "message_id": said["id"],
        "guild_id": str(guild.id),
    }
    assert (await bot.delete(path(guild.general, said["id"]))).status == 204
    assert (await bot.delete(path(guild.general, said["id"], FIRE))).status == 204
    await session.none_of("MESSAGE_REACTION_REMOVE_ALL", "MESSAGE_REACTION_REMOVE_EMOJI")


async def test_reactions_in_direct_messages_are_told_to_both(world: World) -> None:
    alice = await world.user("alice")
    guild = await world.guild(alice)
    bot = await world.bot(guild)
    channel = int((await bot.post("/users/@me/channels", json={"recipient_id": str(alice.id)})).ok()["id"])
    said = (await bot.post(f"/channels/{channel}/messages", json={"content": "hi"})).ok()
    session = await bot.connect()

    await react(alice, channel, said["id"])

    told = await session.next("MESSAGE_REACTION_ADD")
    assert told["user_id"] == str(alice.id)
    assert "guild_id" not in told
    assert "member" not in told
    (await bot.delete(path(channel, said["id"]))).refused(400, 50003)
    (await bot.delete(path(channel, said["id"], FIRE, alice.id))).refused(400, 50003)
    (await (await world.user()).put(path(channel, said["id"], FIRE, "@me"))).refused(403, 50001)


async def test_an_archived_thread_keeps_its_reactions_as_they_are(world: World) -> None:
    guild = await world.guild()
    body = {"name": "thread", "type": 11}
    thread = int((await guild.owner.post(f"/channels/{guild.general}/threads", json=body)).ok()["id"])
    said = await guild.say(guild.owner, channel=thread)
    await react(guild.owner, thread, said["id"])
    (await guild.owner.patch(f"/channels/{thread}", json={"archived": True})).ok()

    (await guild.owner.put(path(thread, said["id"], "👍", "@me"))).refused(400, 50083)
    (await guild.owner.delete(path(thread, said["id"], FIRE, "@me"))).refused(400, 50083)
    (await guild.owner.delete(path(thread, said["id"]))).refused(400, 50083)


async def test_reactions_go_with_their_message(world: World) -> None:
    guild = await world.guild()
    said = await guild.say(guild.owner)
    await react(guild.owner, guild.general, said["id"])
    assert (await guild.owner.delete(f"/channels/{guild.general}/messages/{said['id']}")).status == 204

    def left(call: Call) -> int:
        count: int = call.tx.value("SELECT COUNT(*) FROM reactions")
        return count

    assert await world.write(left) == 0


async def test_people_with_premium_react_in_bursts_counted_apart(world: World) -> None:
    bob, carol = await world.user(), await world.user()
    guild = await world.guild(None, bob, carol)
    said = await guild.say(bob)
    burst = path(guild.general, said["id"], FIRE, "@me") + "?type=1"
    (await bob.put(burst)).refused(403, 90002)
    (await (await world.bot(guild)).put(burst)).refused(403, 90002)
    assert (await bob.put(burst.replace("=1", "=2"))).errors("type") == ["BASE_TYPE_CHOICES"]

    await world.give_premium(bob)
    session = await (await world.bot(guild)).connect()
    (await bob.put(burst)).ok()
    told = await session.next("MESSAGE_REACTION_ADD")
    assert (told["burst"], told["type"], told["burst_colors"]) == (True, 1, [])
    await react(carol, guild.general, said["id"])

    (shown,) = (await bob.get(f"/channels/{guild.general}/messages/{said['id']}")).ok()["reactions"]
    assert (shown["count"], shown["count_details"]) == (2, {"normal": 1, "burst": 1})
    assert (shown["me"], shown["me_burst"]) == (False, True)
    for kind, person in ((0, carol), (1, bob)):
        listed = (await bob.get(path(guild.general, said["id"], FIRE) + f"?type={kind}")).ok()
        assert [user["id"] for user in listed] == [str(person.id)]
    (await bob.delete(path(guild.general, said["id"], FIRE, "@me"))).ok()
    gone = await session.next("MESSAGE_REACTION_REMOVE")
    assert (gone["burst"], gone["type"]) == (True, 1)


async def test_whom_an_author_blocks_does_not_react_to_their_messages(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    guild = await world.guild(alice, bob)
    bot = await world.bot(guild)
    said, own = await guild.say(alice), await guild.say(bob)
    await react(bob, guild.general, said["id"])
    for other in (bob, bot):
        assert (await alice.put(f"/users/@me/relationships/{other.id}", json={"type": 2})).status == 204

    for other in (bob, bot):
        (await other.put(path(guild.general, said["id"], "👍", "@me"))).refused(403, 90001)
    # What stands may go, and the block has one side.
    assert (await bob.delete(path(guild.general, said["id"], FIRE, "@me"))).status == 204
    await react(alice, guild.general, own["id"])

"""Reactions: accepted emoji, permissions, limits, events, lists, removal, and burst reactions."""

from urllib.parse import quote

import pytest

from hubbub.protocol.enums import ChannelType, ReactionType, RelationshipType
from hubbub.protocol.permissions import Permissions
from hubbub.server.core.call import Call
from hubbub.server.places.expressions.emojis import is_unicode_emoji
from tests.media import data_uri, png
from tests.server.identity.operators import create_operator
from tests.world import Actor, Guild, World

FIRE_EMOJI = "🔥"


def reactions_path(channel_id: int, message: object, emoji: str = "", user: object = "") -> str:
    """Return the path of the reactions to a message, optionally of one emoji and of one user."""
    base_path = f"/channels/{channel_id}/messages/{message}/reactions"
    return "/".join([base_path, *([quote(emoji, safe=":")] if emoji else []), *([str(user)] if user else [])])


async def react(actor: Actor, channel_id: int, message: object, emoji: str = FIRE_EMOJI) -> None:
    """Add a reaction and assert that the request succeeds."""
    assert (await actor.put(reactions_path(channel_id, message, emoji, "@me"))).status == 204


async def set_everyone_permissions(guild: Guild, permissions: int) -> None:
    """Set the permissions of the @everyone role."""
    (await guild.owner.patch(f"/guilds/{guild.id}/roles/{guild.id}", json={"permissions": str(permissions)})).ok()


@pytest.mark.parametrize(
    "text",
    ["🔥", "❤", "❤️", "👍🏽", "👨‍👩‍👧‍👦", "🏳️‍🌈", "🇩🇪", "🇦", "1️⃣", "#⃣", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "©", "🫠", "🧑🏿‍❤️‍💋‍🧑🏻", "⬆️", "🪿", "🛜"],
)
def test_unicode_emoji_are_recognized(text: str) -> None:
    assert is_unicode_emoji(text)


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
def test_other_text_is_not_an_emoji(text: str) -> None:
    assert not is_unicode_emoji(text)


async def test_a_reaction_is_stored_published_and_returned(world: World) -> None:
    alice, bob = await world.user("alice"), await world.user("bob")
    guild = await world.guild(alice, bob)
    bot = await world.bot(guild)
    message = await guild.send_message(alice)
    session = await bot.connect()

    await react(bob, guild.general, message["id"])

    event = await session.next("MESSAGE_REACTION_ADD")
    assert event["emoji"] == {"id": None, "name": FIRE_EMOJI}
    assert event["user_id"] == str(bob.id)
    assert event["message_author_id"] == str(alice.id)
    assert event["guild_id"] == str(guild.id)
    assert event["channel_id"] == str(guild.general)
    assert event["member"]["user"]["id"] == str(bob.id)
    assert event["burst"] is False
    assert event["type"] == ReactionType.NORMAL
    assert "burst_colors" not in event

    path = f"/channels/{guild.general}/messages/{message['id']}"
    assert (await alice.get(path)).ok()["reactions"] == [
        {
            "emoji": {"id": None, "name": FIRE_EMOJI},
            "count": 1,
            "count_details": {"normal": 1, "burst": 0},
            "me": False,
            "me_burst": False,
            "burst_colors": [],
        }
    ]
    assert (await bob.get(path)).ok()["reactions"][0]["me"] is True

    await react(bob, guild.general, message["id"])
    await session.assert_not_received("MESSAGE_REACTION_ADD")


async def test_two_spellings_of_an_emoji_are_one_reaction(world: World) -> None:
    alice, bob = await world.user("alice"), await world.user("bob")
    guild = await world.guild(alice, bob)
    message = await guild.send_message(alice)
    await react(alice, guild.general, message["id"], "❤️")
    await react(bob, guild.general, message["id"], "❤")

    [reaction] = (await alice.get(f"/channels/{guild.general}/messages/{message['id']}")).ok()["reactions"]
    assert reaction["count"] == 2
    assert len((await alice.get(reactions_path(guild.general, message["id"], "❤"))).ok()) == 2


async def test_unknown_emoji_messages_and_channels_are_rejected(world: World) -> None:
    guild = await world.guild()
    message = await guild.send_message(guild.owner)
    for emoji in ("fire", "party:123456789012345678", "a:party:1", "🔥🔥", "party:99999999999999999999"):
        for method, user in (
            ("PUT", "@me"),
            ("DELETE", "@me"),
            ("GET", ""),
            ("DELETE", ""),
            ("DELETE", guild.owner.id),
        ):
            response = await guild.owner.request(method, reactions_path(guild.general, message["id"], emoji, user))
            response.rejected(404, 10014)
    (await guild.owner.put(reactions_path(guild.general, 1, FIRE_EMOJI, "@me"))).rejected(404, 10008)
    (await guild.owner.put(reactions_path(1, message["id"], FIRE_EMOJI, "@me"))).rejected(404, 10003)


async def test_reacting_requires_read_message_history_and_for_a_new_emoji_add_reactions(world: World) -> None:
    bob = await world.user("bob")
    guild = await world.guild(None, bob)
    message = await guild.send_message(guild.owner)
    await react(guild.owner, guild.general, message["id"])
    await set_everyone_permissions(guild, Permissions.VIEW_CHANNEL | Permissions.READ_MESSAGE_HISTORY)

    await react(bob, guild.general, message["id"])
    (await bob.put(reactions_path(guild.general, message["id"], "👍", "@me"))).rejected(403, 50013)

    await set_everyone_permissions(guild, Permissions.VIEW_CHANNEL | Permissions.ADD_REACTIONS)
    (await bob.put(reactions_path(guild.general, message["id"], FIRE_EMOJI, "@me"))).rejected(403, 50013)
    (await bob.get(reactions_path(guild.general, message["id"], FIRE_EMOJI))).rejected(403, 50013)


async def test_a_timed_out_member_cannot_react(world: World) -> None:
    bob = await world.user("bob")
    guild = await world.guild(None, bob)
    message = await guild.send_message(guild.owner)
    await react(guild.owner, guild.general, message["id"])
    await world.write(
        lambda call: call.tx.run(
            "UPDATE members SET timed_out_until_ms = ? WHERE user_id = ?", call.now_ms + 60_000, bob.id
        )
    )
    (await bob.put(reactions_path(guild.general, message["id"], FIRE_EMOJI, "@me"))).rejected(403, 50013)


async def test_a_message_has_at_most_twenty_different_emoji(world: World) -> None:
    bob = await world.user("bob")
    guild = await world.guild(None, bob)
    message = await guild.send_message(guild.owner)
    for number in range(20):
        await react(guild.owner, guild.general, message["id"], chr(0x1F600 + number))
    (await guild.owner.put(reactions_path(guild.general, message["id"], FIRE_EMOJI, "@me"))).rejected(400, 30010)
    await react(bob, guild.general, message["id"], chr(0x1F600))


async def test_users_who_reacted_are_listed_by_id(world: World) -> None:
    users = [await world.user() for _ in range(3)]
    guild = await world.guild(None, *users)
    message = await guild.send_message(guild.owner)
    for user in reversed(users):
        await react(user, guild.general, message["id"])
    user_ids = sorted(user.id for user in users)
    path = reactions_path(guild.general, message["id"], FIRE_EMOJI)

    async def list_reactor_ids(**params: object) -> list[int]:
        reactors = (await users[0].get(path, params={key: str(value) for key, value in params.items()})).ok()
        return [int(reactor["id"]) for reactor in reactors]

    assert await list_reactor_ids() == user_ids
    assert await list_reactor_ids(limit=2) == user_ids[:2]
    assert await list_reactor_ids(after=user_ids[0], limit=1) == user_ids[1:2]
    assert await list_reactor_ids(type=ReactionType.BURST) == []
    assert (await users[0].get(reactions_path(guild.general, message["id"], "👍"))).ok() == []
    assert (await users[0].get(path, params={"limit": "101"})).errors("limit")
    assert (await users[0].get(path, params={"limit": "0"})).errors("limit")


async def test_a_user_removes_their_own_reaction(world: World) -> None:
    bob = await world.user("bob")
    guild = await world.guild(None, bob)
    bot = await world.bot(guild)
    message = await guild.send_message(guild.owner)
    await react(bob, guild.general, message["id"])
    session = await bot.connect()

    assert (await bob.delete(reactions_path(guild.general, message["id"], FIRE_EMOJI, "@me"))).status == 204

    event = await session.next("MESSAGE_REACTION_REMOVE")
    assert event == {
        "user_id": str(bob.id),
        "channel_id": str(guild.general),
        "message_id": message["id"],
        "guild_id": str(guild.id),
        "emoji": {"id": None, "name": FIRE_EMOJI},
        "burst": False,
        "type": ReactionType.NORMAL,
    }
    assert "reactions" not in (await bob.get(f"/channels/{guild.general}/messages/{message['id']}")).ok()
    assert (await bob.delete(reactions_path(guild.general, message["id"], FIRE_EMOJI, "@me"))).status == 204
    await session.assert_not_received("MESSAGE_REACTION_REMOVE")


async def test_a_moderator_removes_reactions_of_others(world: World) -> None:
    bob = await world.user("bob")
    guild = await world.guild(None, bob)
    bot = await world.bot(guild)
    message = await guild.send_message(guild.owner)
    for emoji in (FIRE_EMOJI, "👍", "👎"):
        await react(bob, guild.general, message["id"], emoji)
    for target in (bob.id, ""):
        (await bot.delete(reactions_path(guild.general, message["id"], FIRE_EMOJI, target))).rejected(403, 50013)
    (await bot.delete(reactions_path(guild.general, message["id"]))).rejected(403, 50013)
    await guild.allow_permissions(bot, Permissions.MANAGE_MESSAGES)
    session = await bot.connect()

    assert (await bot.delete(reactions_path(guild.general, message["id"], FIRE_EMOJI, bob.id))).status == 204
    assert (await session.next("MESSAGE_REACTION_REMOVE"))["user_id"] == str(bob.id)

    assert (await bot.delete(reactions_path(guild.general, message["id"], "👍"))).status == 204
    assert await session.next("MESSAGE_REACTION_REMOVE_EMOJI") == {
        "channel_id": str(guild.general),
        "message_id": message["id"],
        "guild_id": str(guild.id),
        "emoji": {"id": None, "name": "👍"},
    }

    assert (await bot.delete(reactions_path(guild.general, message["id"]))).status == 204
    assert await session.next("MESSAGE_REACTION_REMOVE_ALL") == {
        "channel_id": str(guild.general),
        "message_id": message["id"],
        "guild_id": str(guild.id),
    }
    assert (await bot.delete(reactions_path(guild.general, message["id"]))).status == 204
    assert (await bot.delete(reactions_path(guild.general, message["id"], FIRE_EMOJI))).status == 204
    await session.assert_not_received("MESSAGE_REACTION_REMOVE_ALL", "MESSAGE_REACTION_REMOVE_EMOJI")


async def test_reactions_in_direct_messages_reach_both_participants(world: World) -> None:
    alice = await world.user("alice")
    guild = await world.guild(alice)
    bot = await world.bot(guild)
    channel_id = int((await bot.post("/users/@me/channels", json={"recipient_id": str(alice.id)})).ok()["id"])
    message = (await bot.post(f"/channels/{channel_id}/messages", json={"content": "hi"})).ok()
    session = await bot.connect()

    await react(alice, channel_id, message["id"])

    event = await session.next("MESSAGE_REACTION_ADD")
    assert event["user_id"] == str(alice.id)
    assert "guild_id" not in event
    assert "member" not in event
    (await bot.delete(reactions_path(channel_id, message["id"]))).rejected(400, 50003)
    (await bot.delete(reactions_path(channel_id, message["id"], FIRE_EMOJI, alice.id))).rejected(400, 50003)
    (await (await world.user()).put(reactions_path(channel_id, message["id"], FIRE_EMOJI, "@me"))).rejected(403, 50001)


async def test_reactions_in_an_archived_thread_cannot_change(world: World) -> None:
    guild = await world.guild()
    body = {"name": "thread", "type": ChannelType.PUBLIC_THREAD}
    thread_id = int((await guild.owner.post(f"/channels/{guild.general}/threads", json=body)).ok()["id"])
    message = await guild.send_message(guild.owner, channel_id=thread_id)
    await react(guild.owner, thread_id, message["id"])
    (await guild.owner.patch(f"/channels/{thread_id}", json={"archived": True})).ok()

    (await guild.owner.put(reactions_path(thread_id, message["id"], "👍", "@me"))).rejected(400, 50083)
    (await guild.owner.delete(reactions_path(thread_id, message["id"], FIRE_EMOJI, "@me"))).rejected(400, 50083)
    (await guild.owner.delete(reactions_path(thread_id, message["id"]))).rejected(400, 50083)


async def test_reactions_are_deleted_with_their_message(world: World) -> None:
    guild = await world.guild()
    message = await guild.send_message(guild.owner)
    await react(guild.owner, guild.general, message["id"])
    assert (await guild.owner.delete(f"/channels/{guild.general}/messages/{message['id']}")).status == 204

    def count_rows(call: Call) -> int:
        count: int = call.tx.value("SELECT COUNT(*) FROM reactions")
        return count

    assert await world.write(count_rows) == 0


async def test_premium_users_add_burst_reactions_that_are_counted_separately(world: World) -> None:
    bob, carol = await world.user(), await world.user()
    guild = await world.guild(None, bob, carol)
    message = await guild.send_message(bob)
    path = reactions_path(guild.general, message["id"], FIRE_EMOJI, "@me")
    burst_path = f"{path}?type={ReactionType.BURST}"
    (await bob.put(burst_path)).rejected(403, 90002)
    (await (await world.bot(guild)).put(burst_path)).rejected(403, 90002)
    assert (await bob.put(f"{path}?type=2")).errors("type") == ["BASE_TYPE_CHOICES"]

    await world.give_premium(bob)
    session = await (await world.bot(guild)).connect()
    (await bob.put(burst_path)).ok()
    event = await session.next("MESSAGE_REACTION_ADD")
    assert (event["burst"], event["type"], event["burst_colors"]) == (True, ReactionType.BURST, [])
    await react(carol, guild.general, message["id"])

    (reaction,) = (await bob.get(f"/channels/{guild.general}/messages/{message['id']}")).ok()["reactions"]
    assert (reaction["count"], reaction["count_details"]) == (2, {"normal": 1, "burst": 1})
    assert (reaction["me"], reaction["me_burst"]) == (False, True)
    for reaction_type, reactor in ((ReactionType.NORMAL, carol), (ReactionType.BURST, bob)):
        listed_users = (
            await bob.get(reactions_path(guild.general, message["id"], FIRE_EMOJI) + f"?type={reaction_type}")
        ).ok()
        assert [user["id"] for user in listed_users] == [str(reactor.id)]
    (await bob.delete(reactions_path(guild.general, message["id"], FIRE_EMOJI, "@me"))).ok()
    removed_event = await session.next("MESSAGE_REACTION_REMOVE")
    assert (removed_event["burst"], removed_event["type"]) == (True, ReactionType.BURST)


async def test_a_user_blocked_by_the_author_cannot_react(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    guild = await world.guild(alice, bob)
    bot = await world.bot(guild)
    message, bob_message = await guild.send_message(alice), await guild.send_message(bob)
    await react(bob, guild.general, message["id"])
    for blocked_actor in (bob, bot):
        assert (
            await alice.put(f"/users/@me/relationships/{blocked_actor.id}", json={"type": RelationshipType.BLOCKED})
        ).status == 204

    for blocked_actor in (bob, bot):
        (await blocked_actor.put(reactions_path(guild.general, message["id"], "👍", "@me"))).rejected(403, 90001)
    # An earlier reaction can still be removed, and the block does not affect the blocker.
    assert (await bob.delete(reactions_path(guild.general, message["id"], FIRE_EMOJI, "@me"))).status == 204
    await react(alice, guild.general, bob_message["id"])


async def test_emoji_of_a_suspended_guild_are_unknown(world: World) -> None:
    operator, guild = await create_operator(world, "ann"), await world.guild()
    emoji_guild = await world.guild(guild.owner)
    body = {"name": "wave", "image": data_uri(png())}
    emoji = (await guild.owner.post(f"/guilds/{emoji_guild.id}/emojis", json=body)).ok()
    message = await guild.send_message(guild.owner)
    path = reactions_path(guild.general, message["id"], f"wave:{emoji['id']}", "@me")
    (await guild.owner.put(path)).ok()
    (await operator.post(f"/admin/guilds/{emoji_guild.id}/suspend", json={"reason": "spam"})).ok()

    (await guild.owner.put(path)).ok()
    second_message = await guild.send_message(guild.owner)
    path = reactions_path(guild.general, second_message["id"], f"wave:{emoji['id']}", "@me")
    (await guild.owner.put(path)).rejected(404, 10014)

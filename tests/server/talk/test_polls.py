"""Polls: voting, results, voter lists, expiry, limits and content visibility."""

from base64 import b64encode
from typing import Any

import pytest

from hubbub.protocol import codec
from hubbub.protocol.enums import ChannelType, MessageType
from hubbub.protocol.intents import Intents
from hubbub.protocol.permissions import Permissions
from hubbub.server.transports.cdn import default_avatar
from tests.world import NOW_MS, Actor, Guild, World

HOUR_MS = 3_600_000


async def create_poll(actor: Actor, channel_id: int, *answers: str, **poll_fields: Any) -> Any:
    """Create a poll and return its message."""
    poll: dict[str, Any] = {
        "question": {"text": "Which?"},
        "answers": [{"poll_media": {"text": text}} for text in answers or ("this", "that", "other")],
        **poll_fields,
    }
    return (await actor.post(f"/channels/{channel_id}/messages", json={"poll": poll})).ok()


def poll_path(channel_id: int, message: Any, subpath: str) -> str:
    return f"/channels/{channel_id}/polls/{message['id']}/{subpath}"


async def cast_votes(actor: Actor, channel_id: int, message: Any, *answer_ids: Any) -> None:
    """Replace the votes of a user and assert that the request succeeds."""
    response = await actor.put(poll_path(channel_id, message, "answers/@me"), json={"answer_ids": list(answer_ids)})
    assert response.status == 204, response.body


async def fetch_results(actor: Actor, channel_id: int, message: Any) -> Any:
    """Return the poll results in a response to the user."""
    return (await actor.get(f"/channels/{channel_id}/messages/{message['id']}")).ok()["poll"]["results"]


async def fetch_counts(actor: Actor, channel_id: int, message: Any) -> dict[int, tuple[int, bool]]:
    """Return for each answer its votes and whether the user voted for it."""
    answer_counts = (await fetch_results(actor, channel_id, message))["answer_counts"]
    return {answer_count["id"]: (answer_count["count"], answer_count["me_voted"]) for answer_count in answer_counts}


async def create_guild_with_poll(world: World) -> tuple[Guild, Actor, Actor, Any]:
    """Create a guild with two members and a poll by the owner; return the guild, the members and the poll's message."""
    bob, carol = await world.user(), await world.user()
    guild = await world.guild(None, bob, carol)
    return guild, bob, carol, await create_poll(guild.owner, guild.general)


async def test_votes_are_counted_and_each_user_sees_their_own(world: World) -> None:
    guild, bob, carol, poll = await create_guild_with_poll(world)
    await cast_votes(bob, guild.general, poll, 1)
    await cast_votes(carol, guild.general, poll, "1")
    await cast_votes(guild.owner, guild.general, poll, 3)

    assert await fetch_counts(bob, guild.general, poll) == {1: (2, True), 3: (1, False)}
    assert await fetch_counts(guild.owner, guild.general, poll) == {1: (2, False), 3: (1, True)}
    assert not (await fetch_results(bob, guild.general, poll))["is_finalized"]
    listed_messages = (await bob.get(f"/channels/{guild.general}/messages")).ok()
    assert listed_messages[0]["poll"]["results"]["answer_counts"][0] == {"id": 1, "count": 2, "me_voted": True}
    reply_body = {"content": "hm", "message_reference": {"message_id": poll["id"]}}
    reply = (await bob.post(f"/channels/{guild.general}/messages", json=reply_body)).ok()
    assert [
        answer_count["count"] for answer_count in reply["referenced_message"]["poll"]["results"]["answer_counts"]
    ] == [2, 1]


async def test_changing_a_vote_publishes_a_removal_and_an_addition(world: World) -> None:
    guild, bob, _, poll = await create_guild_with_poll(world)
    bot = await world.bot(guild)
    session = await bot.connect(Intents.GUILDS | Intents.GUILD_MESSAGE_POLLS)
    session_without_intent = await bot.connect(Intents.GUILDS | Intents.GUILD_MESSAGES)
    await cast_votes(bob, guild.general, poll, 1)
    vote_event = {
        "user_id": str(bob.id),
        "channel_id": str(guild.general),
        "message_id": poll["id"],
        "answer_id": 1,
        "guild_id": str(guild.id),
    }
    assert await session.next("MESSAGE_POLL_VOTE_ADD") == vote_event
    await cast_votes(bob, guild.general, poll, 1)
    await session.assert_not_received("MESSAGE_POLL_VOTE_ADD", "MESSAGE_POLL_VOTE_REMOVE")

    await cast_votes(bob, guild.general, poll, 2)

    assert await session.next("MESSAGE_POLL_VOTE_REMOVE") == vote_event
    assert (await session.next("MESSAGE_POLL_VOTE_ADD"))["answer_id"] == 2
    assert await fetch_counts(bob, guild.general, poll) == {2: (1, True)}
    await cast_votes(bob, guild.general, poll)
    assert (await session.next("MESSAGE_POLL_VOTE_REMOVE"))["answer_id"] == 2
    assert await fetch_counts(bob, guild.general, poll) == {}
    await session_without_intent.assert_not_received("MESSAGE_POLL_VOTE_ADD", "MESSAGE_POLL_VOTE_REMOVE")


async def test_multiselect_polls_accept_several_answers(world: World) -> None:
    guild, bob, _, single_select_poll = await create_guild_with_poll(world)
    multiselect_poll = await create_poll(guild.owner, guild.general, allow_multiselect=True)
    path = poll_path(guild.general, single_select_poll, "answers/@me")
    assert (await bob.put(path, json={"answer_ids": [1, 2]})).errors("answer_ids") == ["BASE_TYPE_BAD_LENGTH"]

    await cast_votes(bob, guild.general, multiselect_poll, 1, 3)
    assert await fetch_counts(bob, guild.general, multiselect_poll) == {1: (1, True), 3: (1, True)}
    await cast_votes(bob, guild.general, multiselect_poll, 3, 2)
    assert await fetch_counts(bob, guild.general, multiselect_poll) == {2: (1, True), 3: (1, True)}


async def test_a_vote_requires_an_existing_answer_of_a_poll(world: World) -> None:
    guild, bob, _, poll = await create_guild_with_poll(world)
    message = await guild.send_message(guild.owner)
    path = poll_path(guild.general, poll, "answers/@me")
    assert (await bob.put(path, json={"answer_ids": [1, 9]})).errors("answer_ids.1") == ["BASE_TYPE_CHOICES"]
    assert (await bob.put(path, json={"answer_ids": ["x"]})).errors("answer_ids.0") == ["NUMBER_TYPE_COERCE"]
    assert (await bob.put(path, json={})).errors("answer_ids") == ["BASE_TYPE_REQUIRED"]
    assert (await bob.put(path, json={"answer_ids": [1] * 11})).errors("answer_ids") == ["BASE_TYPE_BAD_LENGTH"]
    (await bob.put(poll_path(guild.general, message, "answers/@me"), json={"answer_ids": [1]})).rejected(400, 520000)
    (await bob.put(f"/channels/{guild.general}/polls/1/answers/@me", json={"answer_ids": []})).rejected(404, 10008)


async def test_voting_requires_a_user_who_can_read_the_channel_and_is_not_timed_out(world: World) -> None:
    guild, bob, carol, poll = await create_guild_with_poll(world)
    bot = await world.bot(guild, permissions=Permissions.ADMINISTRATOR)
    path = poll_path(guild.general, poll, "answers/@me")
    (await bot.put(path, json={"answer_ids": [1]})).rejected(403, 20001)
    (await (await world.user()).put(path, json={"answer_ids": [1]})).rejected(403, 50001)
    await guild.overwrite(guild.general, carol.id, deny=Permissions.READ_MESSAGE_HISTORY)
    (await carol.put(path, json={"answer_ids": [1]})).rejected(403, 50013)
    timeout = {"communication_disabled_until": "2026-11-19T00:00:00+00:00"}
    (await guild.owner.patch(f"/guilds/{guild.id}/members/{bob.id}", json=timeout)).ok()
    (await bob.put(path, json={"answer_ids": [1]})).rejected(403, 50013)


async def test_voters_of_an_answer_are_listed_by_id(world: World) -> None:
    guild, bob, carol, poll = await create_guild_with_poll(world)
    bot = await world.bot(guild)
    for voter in (carol, bob, guild.owner):
        await cast_votes(voter, guild.general, poll, 2)
    path = poll_path(guild.general, poll, "answers/2")

    async def list_voter_ids(query: str = "") -> list[int]:
        return [int(user["id"]) for user in (await bot.get(f"{path}?{query}")).ok()["users"]]

    voter_ids = sorted(voter.id for voter in (carol, bob, guild.owner))
    assert await list_voter_ids() == voter_ids
    assert await list_voter_ids("limit=2") == voter_ids[:2]
    assert await list_voter_ids(f"after={voter_ids[0]}&limit=1") == voter_ids[1:2]
    assert (await bot.get(poll_path(guild.general, poll, "answers/1"))).ok() == {"users": []}
    assert (await bot.get(f"{path}?limit=101")).errors("limit") == ["NUMBER_TYPE_MAX"]
    assert (await bot.get(poll_path(guild.general, poll, "answers/9"))).errors("answer_id") == ["BASE_TYPE_CHOICES"]
    message = await guild.send_message(bob)
    (await bot.get(poll_path(guild.general, message, "answers/1"))).rejected(404, 10008)
    (await (await world.user()).get(path)).rejected(403, 50001)
    await guild.overwrite(guild.general, bot.id, deny=Permissions.READ_MESSAGE_HISTORY)
    (await bot.get(path)).rejected(403, 50013)


def result_fields(message: Any) -> dict[str, str]:
    """Return the embed fields of a poll result message: values by name."""
    (embed,) = message["embeds"]
    assert embed["type"] == "poll_result"
    return {field["name"]: field["value"] for field in embed["fields"]}


async def test_a_poll_expires_and_posts_its_result(world: World) -> None:
    guild, bob, carol, _ = await create_guild_with_poll(world)
    poll = await create_poll(bob, guild.general, "this", "that", duration=2)
    bot = await world.bot(guild)
    await cast_votes(carol, guild.general, poll, 2)
    session = await bot.connect()
    await world.clock.run_for(2 * HOUR_MS - 1)
    await session.assert_not_received("MESSAGE_UPDATE")

    await world.clock.run_for(1)

    ended_event = await session.next("MESSAGE_UPDATE")
    assert ended_event["poll"]["results"] == {
        "is_finalized": True,
        "answer_counts": [{"id": 2, "count": 1, "me_voted": False}],
    }
    assert ended_event["poll"]["expiry"] == poll["poll"]["expiry"]
    result_message = await session.next("MESSAGE_CREATE")
    assert (result_message["type"], result_message["author"]["id"], result_message["content"]) == (
        MessageType.POLL_RESULT,
        str(bob.id),
        "",
    )
    assert result_message["message_reference"]["message_id"] == poll["id"]
    assert result_fields(result_message) == {
        "poll_question_text": "Which?",
        "victor_answer_votes": "1",
        "total_votes": "1",
        "victor_answer_id": "2",
        "victor_answer_text": "that",
    }
    path = poll_path(guild.general, poll, "answers/@me")
    (await carol.put(path, json={"answer_ids": [1]})).rejected(400, 520001)
    assert await fetch_counts(carol, guild.general, poll) == {2: (1, True)}
    (await bob.post(poll_path(guild.general, poll, "expire"))).rejected(400, 520001)


async def test_the_author_ends_a_poll_early(world: World) -> None:
    guild, bob, carol, _ = await create_guild_with_poll(world)
    bot = await world.bot(guild)
    poll = await create_poll(bot, guild.general, "this", "that", duration=2)
    for voter, answer in ((bob, 1), (carol, 2)):
        await cast_votes(voter, guild.general, poll, answer)
    session = await bot.connect()
    (await bob.post(poll_path(guild.general, poll, "expire"))).rejected(403, 50005)
    world.clock.advance(1000)

    ended_message = (await bot.post(poll_path(guild.general, poll, "expire"))).ok()

    assert ended_message["poll"]["results"]["is_finalized"]
    assert ended_message["poll"]["expiry"] == codec.timestamp(NOW_MS + 1000)
    assert (await session.next("MESSAGE_UPDATE"))["poll"]["results"]["is_finalized"]
    posted_result_fields = result_fields(await session.next("MESSAGE_CREATE"))
    assert posted_result_fields == {"poll_question_text": "Which?", "victor_answer_votes": "1", "total_votes": "2"}
    await world.clock.run_for(3 * HOUR_MS)
    await session.assert_not_received("MESSAGE_UPDATE", "MESSAGE_CREATE")


async def test_ending_requires_a_poll_in_a_visible_channel(world: World) -> None:
    guild, bob, _, poll = await create_guild_with_poll(world)
    message = await guild.send_message(bob)
    (await bob.post(poll_path(guild.general, message, "expire"))).rejected(400, 520006)
    (await bob.post(f"/channels/{guild.general}/polls/1/expire")).rejected(404, 10008)
    (await (await world.user()).post(poll_path(guild.general, poll, "expire"))).rejected(403, 50001)


async def test_a_poll_without_votes_has_no_winner(world: World) -> None:
    guild, _, _, poll = await create_guild_with_poll(world)
    (await guild.owner.post(poll_path(guild.general, poll, "expire"))).ok()

    newest = (await guild.owner.get(f"/channels/{guild.general}/messages?limit=1")).ok()[0]
    assert result_fields(newest) == {"poll_question_text": "Which?", "victor_answer_votes": "0", "total_votes": "0"}


async def test_the_result_contains_the_winners_emoji(world: World) -> None:
    guild, bob, _, _ = await create_guild_with_poll(world)
    answers = [{"poll_media": {"text": "party", "emoji": {"name": "🎉"}}}]
    body = {"poll": {"question": {"text": "What?"}, "answers": answers}}
    poll = (await bob.post(f"/channels/{guild.general}/messages", json=body)).ok()
    await cast_votes(bob, guild.general, poll, 1)
    (await bob.post(poll_path(guild.general, poll, "expire"))).ok()

    newest = (await bob.get(f"/channels/{guild.general}/messages?limit=1")).ok()[0]
    posted_result_fields = result_fields(newest)
    assert (posted_result_fields["victor_answer_emoji_name"], posted_result_fields["victor_answer_emoji_animated"]) == (
        "🎉",
        "false",
    )


async def test_answers_accept_emoji_that_the_author_can_use(world: World) -> None:
    bob = await world.user()
    guild = await world.guild(None, bob)
    image = "data:image/png;base64," + b64encode(default_avatar(0)).decode()
    emoji = (await guild.owner.post(f"/guilds/{guild.id}/emojis", json={"name": "party", "image": image})).ok()

    async def post_poll(emoji_reference: Any) -> Any:
        answers = [{"poll_media": {"text": "a", "emoji": emoji_reference}}]
        body = {"poll": {"question": {"text": "What?"}, "answers": answers}}
        return await bob.post(f"/channels/{guild.general}/messages", json=body)

    media = (await post_poll({"id": emoji["id"]})).ok()["poll"]["answers"][0]["poll_media"]
    assert media["emoji"] == {"id": emoji["id"], "name": "party"}
    (await post_poll({"id": "5"})).rejected(400, 520004)
    (await post_poll({"name": "party"})).rejected(400, 520004)


async def test_polls_work_in_direct_messages(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    channel_id = int((await alice.post("/users/@me/channels", json={"recipient_id": str(bob.id)})).ok()["id"])
    poll = await create_poll(alice, channel_id)
    session = await bob.connect()
    await cast_votes(bob, channel_id, poll, 1)
    event = await session.next("MESSAGE_POLL_VOTE_ADD")
    assert event["answer_id"] == 1
    assert "guild_id" not in event
    await world.clock.run_for(24 * HOUR_MS)
    assert (await session.next("MESSAGE_UPDATE"))["poll"]["results"]["is_finalized"]
    assert (await session.next("MESSAGE_CREATE"))["type"] == MessageType.POLL_RESULT


async def test_votes_are_deleted_with_their_message(world: World) -> None:
    guild, bob, _, poll = await create_guild_with_poll(world)
    await cast_votes(bob, guild.general, poll, 1)
    session = await (await world.bot(guild)).connect()
    (await guild.owner.delete(f"/channels/{guild.general}/messages/{poll['id']}")).ok()

    def count_rows(call: Any) -> int:
        return int(call.tx.value("SELECT COUNT(*) FROM poll_votes") + call.tx.value("SELECT COUNT(*) FROM poll_counts"))

    assert await world.write(count_rows) == 0
    await world.clock.run_for(25 * HOUR_MS)
    await session.assert_not_received("MESSAGE_UPDATE", "MESSAGE_CREATE")


async def test_a_poll_expires_in_an_archived_thread_without_unarchiving_it(world: World) -> None:
    guild, bob, _, _ = await create_guild_with_poll(world)
    path = f"/channels/{guild.general}/threads"
    thread = (
        await guild.owner.post(
            path, json={"name": "talk", "type": ChannelType.PUBLIC_THREAD, "auto_archive_duration": 60}
        )
    ).ok()
    poll = await create_poll(guild.owner, int(thread["id"]), duration=2)
    await world.clock.run_for(90 * 60_000)
    (await bob.put(poll_path(int(thread["id"]), poll, "answers/@me"), json={"answer_ids": [1]})).rejected(400, 50083)
    await world.clock.run_for(HOUR_MS)

    assert (await bob.get(f"/channels/{thread['id']}")).ok()["thread_metadata"]["archived"]
    assert (await fetch_results(bob, int(thread["id"]), poll))["is_finalized"]


@pytest.mark.one_postgres_case
@pytest.mark.parametrize(
    ("poll", "path", "code"),
    [
        ({"question": {"text": "?" * 301}}, "poll.question.text", "BASE_TYPE_BAD_LENGTH"),
        ({"answers": []}, "poll.answers", "BASE_TYPE_BAD_LENGTH"),
        ({"answers": [{"poll_media": {"text": "a"}}] * 11}, "poll.answers", "BASE_TYPE_BAD_LENGTH"),
        ({"answers": [{"poll_media": {"text": "a" * 56}}]}, "poll.answers.0.poll_media.text", "BASE_TYPE_BAD_LENGTH"),
        ({"duration": 769}, "poll.duration", "NUMBER_TYPE_MAX"),
        ({"duration": 0}, "poll.duration", "NUMBER_TYPE_MIN"),
        ({"layout_type": 2}, "poll.layout_type", "BASE_TYPE_CHOICES"),
    ],
)
async def test_polls_have_limits(world: World, poll: dict[str, Any], path: str, code: str) -> None:
    guild = await world.guild()
    body = {"question": {"text": "Which?"}, "answers": [{"poll_media": {"text": "a"}}], **poll}
    response = await guild.owner.post(f"/channels/{guild.general}/messages", json={"poll": body})
    assert response.errors(path) == [code]


async def test_bots_without_the_content_intent_do_not_see_polls(world: World) -> None:
    guild, bob, _, poll = await create_guild_with_poll(world)
    bot = await world.bot(guild, flags=0)
    await cast_votes(bob, guild.general, poll, 1)
    assert "poll" not in (await bot.get(f"/channels/{guild.general}/messages/{poll['id']}")).ok()

"""Messages: creation, mentions, replies, forwards, contents, reads, edits, deletion, crossposts and private channels.

The tests check responses and events. The last tests are about functions for other slices, threads and limits."""

from typing import Any

import msgspec
import pytest

from hubbub.protocol import changes, errors
from hubbub.protocol.enums import (
    AuditLogAction,
    ButtonStyle,
    ChannelType,
    ComponentType,
    MessageReferenceType,
    MessageType,
    OverwriteType,
)
from hubbub.protocol.flags import MessageFlags
from hubbub.protocol.ids import GuildId, Snowflake, UserId
from hubbub.protocol.intents import Intents
from hubbub.protocol.permissions import Permissions
from hubbub.server.core.jobs import Job
from hubbub.server.core.postgres import PostgresDatabase
from hubbub.server.places.standing import access
from hubbub.server.talk import messages
from hubbub.server.talk.messages import actions, rules
from hubbub.server.talk.messages.files import jobs
from tests.world import NOW_MS, Actor, Guild, World

INTENTS_WITHOUT_CONTENT = Intents.GUILDS | Intents.GUILD_MESSAGES | Intents.DIRECT_MESSAGES

COMPONENTS_V2 = MessageFlags.IS_COMPONENTS_V2
TEXT_DISPLAY = {"type": ComponentType.TEXT_DISPLAY, "content": "hello"}


def button(custom_id: str = "a", **fields: Any) -> dict[str, Any]:
    """Return a primary button."""
    return {"type": ComponentType.BUTTON, "style": ButtonStyle.PRIMARY, "label": "ok", "custom_id": custom_id, **fields}


def action_row(*children: dict[str, Any]) -> dict[str, Any]:
    return {"type": ComponentType.ACTION_ROW, "components": list(children)}


async def deny_everyone(guild: Guild, permissions: int) -> None:
    """Deny permissions to everyone in the general channel."""
    await guild.overwrite(guild.general, guild.id, deny=permissions, target_type=OverwriteType.ROLE)


async def set_slowmode(world: World, channel_id: int, seconds: int) -> None:
    await world.write(
        lambda call: call.tx.run("UPDATE channels SET rate_limit_per_user = ? WHERE id = ?", seconds, channel_id)
    )


async def set_channel_type(world: World, channel_id: int, channel_type: ChannelType) -> None:
    """Change the type of a channel in the database, without the rules of the API."""
    await world.write(
        lambda call: call.tx.run("UPDATE channels SET type = ? WHERE id = ?", int(channel_type), channel_id)
    )


async def create_dm(world: World, *participants: Actor) -> int:
    """Insert a direct message channel between two users into the database, and return its ID."""

    def insert_channel(call: Any) -> int:
        channel = int(call.new_id(Snowflake))
        call.tx.run("INSERT INTO channels (id, type) VALUES (?, ?)", channel, int(ChannelType.DM))
        for participant in participants:
            call.tx.run("INSERT INTO recipients (channel_id, user_id) VALUES (?, ?)", channel, participant.id)
        return channel

    channel: int = await world.write(insert_channel)
    return channel


# Creating


async def test_creating_a_message_returns_it_and_notifies_channel_viewers(world: World) -> None:
    alice, bob = await world.user("alice"), await world.user("bob")
    guild = await world.guild(alice, bob)
    bot = await world.bot(guild)
    session = await bot.connect()

    message = (await bob.post(f"/channels/{guild.general}/messages", json={"content": " hi\n", "nonce": 7})).ok()

    assert message["content"] == "hi"
    assert message["author"]["username"] == "bob"
    assert message["nonce"] == 7
    for key in ("embeds", "attachments", "components", "mentions", "mention_roles"):
        assert message[key] == []
    assert (message["type"], message["flags"], message["pinned"], message["tts"]) == (
        MessageType.DEFAULT,
        0,
        False,
        False,
    )
    assert message["edited_timestamp"] is None
    assert "poll" not in message
    assert "referenced_message" not in message
    event = await session.next("MESSAGE_CREATE")
    assert event["guild_id"] == str(guild.id)
    assert event["channel_type"] == ChannelType.GUILD_TEXT
    assert event["member"]["roles"] == []
    assert "user" not in event["member"]
    assert {key: event[key] for key in message} == message


@pytest.mark.parametrize("store_config", ["postgres"], indirect=True)
async def test_creating_a_further_message_takes_two_round_trips_to_the_database_server(world: World) -> None:
    alice, bob = await world.user("alice"), await world.user("bob")
    guild = await world.guild(alice, bob)
    database = world.app.database
    assert isinstance(database, PostgresDatabase)
    round_trip_counts = []
    for _ in range(5):
        round_trips_before = database.round_trips
        (await bob.post(f"/channels/{guild.general}/messages", json={"content": "hi"})).ok()
        round_trip_counts.append(database.round_trips - round_trips_before)

    # Jobs may run at the same time.
    assert round_trip_counts[0] >= 3
    assert min(round_trip_counts) == 2


async def test_a_bot_without_the_content_intent_sees_only_its_own_content_and_its_mentions(world: World) -> None:
    guild = await world.guild()
    bot = await world.bot(guild, flags=0)
    session = await bot.connect(INTENTS_WITHOUT_CONTENT)

    await guild.send_message(guild.owner, 'a secret with "quotes"')
    event = await session.next("MESSAGE_CREATE")
    assert event["content"] == ""
    assert (await bot.get(f"/channels/{event['channel_id']}/messages/{event['id']}")).ok()["content"] == ""

    for content in (f"<@{bot.id}> hello", f"<@!{bot.id}> hello"):
        await guild.send_message(guild.owner, content)
        event = await session.next("MESSAGE_CREATE")
        assert event["content"] == content
        assert (await bot.get(f"/channels/{event['channel_id']}/messages/{event['id']}")).ok()["content"] == content

    await guild.send_message(guild.owner, "look", embeds=[{"title": "t"}])
    event = await session.next("MESSAGE_CREATE")
    assert (event["content"], event["embeds"]) == ("", [])

    await guild.send_message(bot, "my own")
    assert (await session.next("MESSAGE_CREATE"))["content"] == "my own"
    assert [message["content"] for message in (await bot.get(f"/channels/{guild.general}/messages?limit=2")).ok()] == [
        "my own",
        "",
    ]


def list_contents(message: Any) -> tuple[str, list[str]]:
    """Return the content of a message, and the contents of the messages it references or forwards."""
    nested_contents: list[str] = []
    referenced_message = message.get("referenced_message")
    for message_part in (message, *([referenced_message] if referenced_message else [])):
        nested_contents += [] if message_part is message else [message_part["content"]]
        nested_contents += [snapshot["message"]["content"] for snapshot in message_part.get("message_snapshots", ())]
    return message["content"], nested_contents


async def test_replying_does_not_reveal_the_content_of_a_message(world: World) -> None:
    guild = await world.guild()
    bot = await world.bot(guild, flags=0)
    bot_with_intent = await world.bot(guild)
    bot_session = await bot.connect(INTENTS_WITHOUT_CONTENT)
    session_with_intent = await bot_with_intent.connect()
    secret = await guild.send_message(guild.owner, "secret", embeds=[{"title": "t"}])
    path = f"/channels/{guild.general}/messages"
    reference = {"message_reference": {"message_id": secret["id"]}}

    reply_message = (await bot.post(path, json={"content": "reply", "nonce": "n", **reference})).ok()
    assert list_contents(reply_message) == ("reply", [""])
    assert reply_message["nonce"] == "n"
    assert reply_message["referenced_message"]["embeds"] == []
    sessions = bot_session, session_with_intent
    events = [
        await session.next("MESSAGE_CREATE", lambda event: event["id"] == reply_message["id"]) for session in sessions
    ]
    assert [list_contents(event) for event in events] == [("reply", [""]), ("reply", ["secret"])]

    edited_message = (await bot.patch(f"{path}/{reply_message['id']}", json={"content": "edited reply"})).ok()
    assert list_contents(edited_message) == ("edited reply", [""])
    events = [
        await session.next("MESSAGE_UPDATE", lambda event: event["id"] == reply_message["id"]) for session in sessions
    ]
    assert [list_contents(event) for event in events] == [("edited reply", [""]), ("edited reply", ["secret"])]


async def test_content_visibility_is_decided_for_each_nested_message(world: World) -> None:
    bob = await world.user()
    guild = await world.guild(None, bob)
    bot, other_bot = await world.bot(guild, flags=0), await world.bot(guild, flags=0)
    sessions = [await receiver.connect(INTENTS_WITHOUT_CONTENT) for receiver in (bot, other_bot)]
    path = f"/channels/{guild.general}/messages"

    async def visible_contents(message: Any) -> list[tuple[str, list[str]]]:
        visible_texts = []
        for actor, session in zip((bot, other_bot), sessions, strict=True):
            event_contents = list_contents(
                await session.next("MESSAGE_CREATE", lambda event: event["id"] == message["id"])
            )
            assert list_contents((await actor.get(f"{path}/{message['id']}")).ok()) == event_contents
            visible_texts.append(event_contents)
        return visible_texts

    def reply_body(replied_message: Any, content: str) -> dict[str, Any]:
        return {
            "content": content,
            "message_reference": {"message_id": replied_message["id"]},
            "allowed_mentions": {"parse": ["users"]},
        }

    def forward_body(source: Any, content: str = "") -> dict[str, Any]:
        reference = {"type": MessageReferenceType.FORWARD, "message_id": source["id"], "channel_id": str(guild.general)}
        return {"content": content, "message_reference": reference}

    secret = await guild.send_message(guild.owner, "secret")
    mentioning_message = await guild.send_message(guild.owner, f"<@{other_bot.id}> psst")

    mention = f"<@{bot.id}> look"
    assert await visible_contents((await bob.post(path, json=reply_body(secret, mention))).ok()) == [
        (mention, [""]),
        ("", [""]),
    ]
    expected = [(mention, [""]), ("", [mentioning_message["content"]])]
    assert await visible_contents((await bob.post(path, json=reply_body(mentioning_message, mention))).ok()) == expected
    assert (
        await visible_contents((await bob.post(path, json=forward_body(mentioning_message, mention))).ok()) == expected
    )
    assert await visible_contents((await bob.post(path, json=forward_body(secret, mention))).ok()) == [
        (mention, [""]),
        ("", [""]),
    ]
    # A reply to a forward contains three messages.
    forwarded_message = (await bob.post(path, json=forward_body(mentioning_message, f"<@{bot.id}> see"))).ok()
    reply_to_forward = (await bob.post(path, json=reply_body(forwarded_message, "aha"))).ok()
    assert await visible_contents(reply_to_forward) == [
        ("", [f"<@{bot.id}> see", ""]),
        ("", ["", mentioning_message["content"]]),
    ]


async def test_an_empty_message_is_rejected(world: World) -> None:
    guild = await world.guild()
    path = f"/channels/{guild.general}/messages"
    empty_bodies: list[dict[str, Any]] = [
        {},
        {"content": ""},
        {"content": " \n "},
        {"content": None},
        {"embeds": []},
        {"flags": MessageFlags.SUPPRESS_EMBEDS},
    ]
    for body in empty_bodies:
        (await guild.owner.post(path, json=body)).rejected(400, 50006)


async def test_the_lengths_and_the_stickers_of_a_message_are_validated(world: World) -> None:
    guild = await world.guild()
    path = f"/channels/{guild.general}/messages"

    assert (await guild.owner.post(path, json={"content": "x" * 2001})).errors("content") == ["BASE_TYPE_MAX_LENGTH"]
    assert (await guild.owner.post(path, json={"content": "x", "nonce": "x" * 26})).errors("nonce") == [
        "NONCE_TYPE_TOO_LONG"
    ]
    (await guild.owner.post(path, json={"content": "x", "sticker_ids": ["1"]})).rejected(400, 50081)


async def test_null_characters_are_removed_from_content(world: World) -> None:
    guild = await world.guild()

    assert (await guild.send_message(guild.owner, "a\x00b"))["content"] == "ab"


async def test_percent_signs_in_names_and_contents_are_kept_in_a_history(world: World) -> None:
    guild = await world.guild()
    (await guild.owner.patch("/users/@me", json={"global_name": "100 %d %b %%"})).ok()
    await guild.send_message(guild.owner, "50 %s")

    messages = (await guild.owner.get(f"/channels/{guild.general}/messages")).ok()

    assert (messages[0]["content"], messages[0]["author"]["global_name"]) == ("50 %s", "100 %d %b %%")


async def test_sending_without_access_is_rejected_with_the_reason(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    guild = await world.guild(alice, bob)
    stranger = await world.user()
    path = f"/channels/{guild.general}/messages"
    (await stranger.post(path, json={"content": "hi"})).rejected(403, 50001)
    (await bob.post("/channels/1/messages", json={"content": "hi"})).rejected(404, 10003)
    forum_id = await guild.channel("forum")
    await set_channel_type(world, forum_id, ChannelType.GUILD_FORUM)
    (await bob.post(f"/channels/{forum_id}/messages", json={"content": "hi"})).rejected(400, 40058)
    category_id = await guild.channel("category", type=ChannelType.GUILD_CATEGORY)
    (await bob.post(f"/channels/{category_id}/messages", json={"content": "hi"})).rejected(400, 50008)
    (await bob.get(f"/channels/{category_id}/messages")).rejected(400, 50008)
    await deny_everyone(guild, Permissions.SEND_MESSAGES)
    (await bob.post(path, json={"content": "hi"})).rejected(403, 50013)
    (await alice.post(path, json={"content": "hi"})).ok()


@pytest.mark.parametrize(("level", "wait_ms"), [(1, None), (2, 300_000), (3, 600_000)])
async def test_the_verification_level_restricts_members_without_a_role(
    world: World, level: int, wait_ms: int | None
) -> None:
    alice, bob = await world.user(), await world.user()
    guild = await world.guild(alice, bob)
    await world.write(lambda call: call.tx.run("UPDATE guilds SET verification_level = ?", level))
    await world.write(lambda call: call.tx.run("UPDATE users SET verified = 0"))
    path = f"/channels/{guild.general}/messages"
    (await bob.post(path, json={"content": "hi"})).rejected(403, 50009)
    (await alice.post(path, json={"content": "the owner may"})).ok()
    await world.write(lambda call: call.tx.run("UPDATE users SET verified = 1"))
    if wait_ms is not None:
        (await bob.post(path, json={"content": "hi"})).rejected(403, 50009)
        world.clock.advance(wait_ms)
    (await bob.post(path, json={"content": "hi"})).ok()
    await world.write(lambda call: call.tx.run("UPDATE users SET verified = 0"))
    await guild.allow_permissions(bob, 0)
    (await bob.post(path, json={"content": "a role suffices"})).ok()


async def test_slowmode_applies_to_members_except_the_owner_and_bots(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    guild = await world.guild(alice, bob)
    bot = await world.bot(guild)
    await set_slowmode(world, guild.general, 10)
    for author in (alice, bot):
        await guild.send_message(author)
        await guild.send_message(author)
    await guild.send_message(bob)
    world.clock.advance(4_000)
    error = (await bob.post(f"/channels/{guild.general}/messages", json={"content": "hi"})).rejected(429, 20016)
    assert error["retry_after"] == 6.0
    world.clock.advance(6_000)
    await guild.send_message(bob)


async def test_slowmode_counts_a_message_of_a_process_whose_clock_is_ahead(world: World) -> None:
    bob = await world.user()
    guild = await world.guild(None, bob)
    await set_slowmode(world, guild.general, 10)
    await guild.send_message(bob)
    world.clock.set(world.clock.now_ms() - 2_000)
    response = await bob.post(f"/channels/{guild.general}/messages", json={"content": "again"})
    assert response.rejected(429, 20016)["retry_after"] == 10
    # The clock was set back by more than the interval.
    world.clock.set(world.clock.now_ms() - 10_000)
    await guild.send_message(bob)


@pytest.mark.dated(changes.PERMISSION_SPLITS)
async def test_only_bypass_slowmode_exempts_from_slowmode_since_the_split(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    guild = await world.guild(alice, bob)
    await set_slowmode(world, guild.general, 60)
    await guild.allow_permissions(bob, Permissions.MANAGE_MESSAGES)
    await guild.send_message(bob)
    (await bob.post(f"/channels/{guild.general}/messages", json={"content": "hi"})).rejected(429, 20016)
    await guild.allow_permissions(bob, Permissions.BYPASS_SLOWMODE)
    await guild.send_message(bob)
    await world.write(
        lambda call: call.tx.run(
            "UPDATE roles SET permissions = 0 WHERE permissions = ?", int(Permissions.BYPASS_SLOWMODE)
        )
    )
    world.clock.set(changes.PERMISSION_SPLITS.at_ms - 1)
    await guild.send_message(bob)
    await guild.send_message(bob)


async def test_a_repeated_nonce_returns_the_earlier_message_for_five_minutes(world: World) -> None:
    guild = await world.guild()
    bot = await world.bot(guild)
    session = await bot.connect()
    body: dict[str, Any] = {"nonce": "n1", "enforce_nonce": True}
    first_message = await guild.send_message(bot, "one", **body)
    repeated_message = await guild.send_message(bot, "two", **body)
    assert repeated_message == first_message
    await session.next("MESSAGE_CREATE")
    await session.assert_not_received("MESSAGE_CREATE")
    assert (await guild.send_message(bot, "three", nonce="n1"))["id"] != first_message["id"]
    world.clock.advance(300_000)
    later_message = await guild.send_message(bot, "four", **body)
    assert later_message["id"] != first_message["id"]
    (await bot.delete(f"/channels/{guild.general}/messages/{later_message['id']}")).ok()
    assert (await guild.send_message(bot, "five", **body))["content"] == "five"


async def test_tts_is_dropped_without_the_permission(world: World) -> None:
    bob = await world.user()
    guild = await world.guild(None, bob)
    assert (await guild.send_message(bob, "hi", tts=True))["tts"] is False
    assert (await guild.send_message(guild.owner, "hi", tts=True))["tts"] is True


# Mentions


async def test_mentions_are_parsed_from_the_content(world: World) -> None:
    bob, carol = await world.user(), await world.user()
    guild = await world.guild(None, bob, carol)
    secret_role_id, public_role_id = await guild.role("secret"), await guild.role("public", mentionable=True)
    await deny_everyone(guild, Permissions.MENTION_EVERYONE)
    bot = await world.bot(guild)
    session = await bot.connect()

    content = f"<@{carol.id}> <@!{carol.id}> <@1> <@&{secret_role_id}> <@&{public_role_id}> @everyone"
    message = await guild.send_message(bob, content)
    assert [user["id"] for user in message["mentions"]] == [str(carol.id)]
    assert message["mention_roles"] == [str(public_role_id)]
    assert message["mention_everyone"] is False
    event = await session.next("MESSAGE_CREATE")
    assert event["mentions"][0]["member"]["roles"] == []
    message = await guild.send_message(guild.owner, content + " @here")
    assert message["mention_roles"] == [str(secret_role_id), str(public_role_id)]
    assert message["mention_everyone"] is True


async def test_allowed_mentions_limit_mentions(world: World) -> None:
    bob, carol = await world.user(), await world.user()
    guild = await world.guild(None, bob, carol)
    content = f"<@{bob.id}> <@{carol.id}> @everyone"

    async def mentioned_by(**allowed: Any) -> tuple[list[str], bool]:
        message = await guild.send_message(guild.owner, content, allowed_mentions=allowed)
        return [user["id"] for user in message["mentions"]], message["mention_everyone"]

    both_user_ids = [str(bob.id), str(carol.id)]
    assert await mentioned_by() == ([], False)
    assert await mentioned_by(parse=[]) == ([], False)
    assert await mentioned_by(parse=["users"]) == (both_user_ids, False)
    assert await mentioned_by(users=[str(carol.id), "5"]) == ([str(carol.id)], False)
    assert await mentioned_by(parse=["everyone"], users=[str(bob.id)]) == ([str(bob.id)], True)
    rejected_response = await guild.owner.post(
        f"/channels/{guild.general}/messages",
        json={"content": "x", "allowed_mentions": {"parse": ["users"], "users": ["1"]}},
    )
    assert rejected_response.errors("allowed_mentions") == ["MESSAGE_ALLOWED_MENTIONS_PARSE_EXCLUSIVE"]


# Replies and forwards


async def test_a_reply_contains_the_referenced_message_and_mentions_its_author(world: World) -> None:
    bob = await world.user()
    guild = await world.guild(None, bob)
    first_message = await guild.send_message(bob, "question")
    reference = {"message_id": first_message["id"]}
    reply = await guild.send_message(guild.owner, "answer", message_reference=reference)
    assert reply["type"] == MessageType.REPLY
    assert reply["message_reference"]["message_id"] == first_message["id"]
    assert reply["referenced_message"]["content"] == "question"
    assert [user["id"] for user in reply["mentions"]] == [str(bob.id)]
    reply_without_ping = await guild.send_message(
        guild.owner, "answer", message_reference=reference, allowed_mentions={"parse": ["users"]}
    )
    assert reply_without_ping["mentions"] == []
    reply_with_ping = await guild.send_message(
        guild.owner, "answer", message_reference=reference, allowed_mentions={"replied_user": True}
    )
    assert len(reply_with_ping["mentions"]) == 1

    (await bob.delete(f"/channels/{guild.general}/messages/{first_message['id']}")).ok()
    fetched_reply = (await bob.get(f"/channels/{guild.general}/messages/{reply['id']}")).ok()
    assert fetched_reply["referenced_message"] is None


async def test_a_reply_requires_a_readable_user_message_of_the_channel(world: World) -> None:
    bob = await world.user()
    guild = await world.guild(None, bob)
    other_channel_id = await guild.channel("other")
    path = f"/channels/{guild.general}/messages"
    body = {"content": "x", "message_reference": {"message_id": "1"}}
    assert (await bob.post(path, json=body)).errors("message_reference") == ["REPLIES_UNKNOWN_MESSAGE"]
    # With `fail_if_not_exists` set to false the message is created, but not as a reply.
    body["message_reference"]["fail_if_not_exists"] = False  # type: ignore[index]
    message = (await bob.post(path, json=body)).ok()
    assert message["type"] == MessageType.DEFAULT
    assert "message_reference" not in message
    other_message = await guild.send_message(guild.owner, "x", channel_id=other_channel_id)
    other_body = {
        "content": "x",
        "message_reference": {"message_id": other_message["id"], "channel_id": str(other_channel_id)},
    }
    assert (await bob.post(path, json=other_body)).errors("message_reference") == [
        "REPLIES_CANNOT_REFERENCE_OTHER_CHANNEL"
    ]

    def post_join_message(call: Any) -> Any:
        channel = get_channel(call, guild.general)
        return messages.system_messages.create_system_message(call, channel, MessageType.USER_JOIN, bob.id)

    join_message = await world.write(post_join_message)
    join_body = {"content": "x", "message_reference": {"message_id": str(int(join_message.id))}}
    assert (await bob.post(path, json=join_body)).errors("message_reference") == [
        "REPLIES_CANNOT_REPLY_TO_SYSTEM_MESSAGE"
    ]
    await deny_everyone(guild, Permissions.READ_MESSAGE_HISTORY)
    (await bob.post(path, json=join_body)).rejected(403, 160002)


async def test_a_forward_contains_a_copy_that_remains_after_the_message_is_deleted(world: World) -> None:
    bob = await world.user()
    guild = await world.guild(None, bob)
    other_channel_id = await guild.channel("other")
    source = await guild.send_message(guild.owner, f"news <@{bob.id}>", embeds=[{"title": "t"}])
    reference = {"type": MessageReferenceType.FORWARD, "message_id": source["id"], "channel_id": str(guild.general)}
    path = f"/channels/{other_channel_id}/messages"
    forwarded_message = (await bob.post(path, json={"message_reference": reference})).ok()
    assert forwarded_message["type"] == MessageType.DEFAULT
    assert forwarded_message["content"] == ""
    assert forwarded_message["flags"] == MessageFlags.HAS_SNAPSHOT
    assert forwarded_message["mentions"] == []
    assert "referenced_message" not in forwarded_message
    copy = forwarded_message["message_snapshots"][0]["message"]
    assert (copy["content"], copy["embeds"][0]["title"]) == (source["content"], "t")
    assert "author" not in copy
    (await guild.owner.delete(f"/channels/{guild.general}/messages/{source['id']}")).ok()
    forward_reference = {
        "type": MessageReferenceType.FORWARD,
        "message_id": forwarded_message["id"],
        "channel_id": str(other_channel_id),
    }
    second_forward = (await bob.post(path, json={"message_reference": forward_reference})).ok()
    assert second_forward["message_snapshots"][0]["message"]["content"] == source["content"]
    (await bob.post(path, json={"message_reference": reference})).rejected(404, 10008)
    await deny_everyone(guild, Permissions.VIEW_CHANNEL)
    (await bob.post(path, json={"message_reference": reference})).rejected(403, 50001)


async def test_forwarding_requires_permission_to_read_the_message(world: World) -> None:
    bob = await world.user()
    guild = await world.guild(None, bob)
    other_channel_id, voice_channel_id = (
        await guild.channel("other"),
        await guild.channel("voice", type=ChannelType.GUILD_VOICE),
    )
    path = f"/channels/{other_channel_id}/messages"
    for channel, denied_permissions in (
        (guild.general, Permissions.READ_MESSAGE_HISTORY),
        (voice_channel_id, Permissions.CONNECT),
    ):
        source = await guild.send_message(guild.owner, "before your time", channel)
        body = {
            "message_reference": {
                "type": MessageReferenceType.FORWARD,
                "message_id": source["id"],
                "channel_id": str(channel),
            }
        }
        (await bob.post(path, json=body)).ok()
        await guild.overwrite(channel, guild.id, deny=denied_permissions, target_type=OverwriteType.ROLE)
        (await bob.get(f"/channels/{channel}/messages/{source['id']}")).rejected(403, 50013)
        (await bob.post(path, json=body)).rejected(403, 50013)
        (await guild.owner.post(path, json=body)).ok()


@pytest.mark.dated(changes.FORWARD_READABLE_CONTENT)
async def test_an_app_forwards_only_content_it_can_read(world: World) -> None:
    guild = await world.guild()
    bot = await world.bot(guild, flags=0)
    source = await guild.send_message(guild.owner, "private words")
    mentioning_message = await guild.send_message(guild.owner, f"<@{bot.id}> words for you")

    def body(message: Any) -> dict[str, Any]:
        return {
            "message_reference": {
                "type": MessageReferenceType.FORWARD,
                "message_id": message["id"],
                "channel_id": str(guild.general),
            }
        }

    path = f"/channels/{guild.general}/messages"
    error = (await bot.post(path, json=body(source))).rejected(400, 160014)
    assert error["message"] == "You cannot forward a message whose content you cannot read"
    assert (await bot.post(path, json=body(mentioning_message))).ok()["message_snapshots"][0]["message"]["content"]
    forwarded_message = await guild.send_message(guild.owner, f"<@{bot.id}> see", **body(source))
    (await bot.post(path, json=body(forwarded_message))).rejected(400, 160014)
    world.clock.set(changes.FORWARD_READABLE_CONTENT.at_ms - 1)
    (await bot.post(path, json=body(source))).ok()


async def test_a_poll_cannot_be_forwarded(world: World) -> None:
    guild = await world.guild()
    path = f"/channels/{guild.general}/messages"
    poll = {"question": {"text": "?"}, "answers": [{"poll_media": {"text": "a"}}]}
    message = (await guild.owner.post(path, json={"poll": poll})).ok()
    reference = {"type": MessageReferenceType.FORWARD, "message_id": message["id"], "channel_id": str(guild.general)}

    (await guild.owner.post(path, json={"message_reference": reference})).rejected(400, 50068)


# Embeds, components, polls


async def test_embeds_are_trimmed_and_stored(world: World) -> None:
    guild = await world.guild()
    embed = {
        "type": "video",
        "title": " t ",
        "description": "d",
        "color": 255,
        "timestamp": "2026-01-02T03:04:05Z",
        "provider": {"name": "no"},
        "footer": {"text": "f"},
        "author": {"name": "a", "url": "https://example.org"},
        "image": {"url": "https://example.org/a.png", "width": 5},
        "fields": [{"name": " n", "value": "v", "inline": True}],
    }
    stored_embed = (await guild.send_message(guild.owner, "", embeds=[embed]))["embeds"][0]
    assert (stored_embed["type"], stored_embed["title"], stored_embed["color"]) == ("rich", "t", 255)
    assert stored_embed["timestamp"] == "2026-01-02T03:04:05.000000+00:00"
    assert stored_embed["fields"] == [{"name": "n", "value": "v", "inline": True}]
    assert stored_embed["image"] == {"url": "https://example.org/a.png"}
    assert "provider" not in stored_embed


@pytest.mark.parametrize(
    ("embeds", "path", "code"),
    [
        ([{"title": "x" * 257}], "embeds.0.title", "BASE_TYPE_MAX_LENGTH"),
        ([{"fields": [{"name": "a", "value": "b"}] * 26}], "embeds.0.fields", "BASE_TYPE_BAD_LENGTH"),
        ([{"fields": [{"name": " ", "value": "b"}]}], "embeds.0.fields.0.name", "BASE_TYPE_REQUIRED"),
        ([{"description": "x" * 4096}, {"description": "x" * 1905}], "embeds", "MAX_EMBED_SIZE_EXCEEDED"),
        ([{"color": 3}], "embeds.0.description", "BASE_TYPE_REQUIRED"),
        ([{"title": "t", "url": "ftp://a.b"}], "embeds.0.url", "URL_TYPE_INVALID_SCHEME"),
        ([{"title": "t", "image": {"url": "nonsense"}}], "embeds.0.image.url", "URL_TYPE_INVALID_URL"),
    ],
)
async def test_invalid_embeds_are_rejected_with_the_field_path(
    world: World, embeds: list[Any], path: str, code: str
) -> None:
    guild = await world.guild()
    rejected_response = await guild.owner.post(f"/channels/{guild.general}/messages", json={"embeds": embeds})
    assert rejected_response.errors(path) == [code]


async def test_embeds_without_the_permission_are_dropped_for_users_and_rejected_for_bots(world: World) -> None:
    bob = await world.user()
    guild = await world.guild(None, bob)
    bot = await world.bot(guild)
    await deny_everyone(guild, Permissions.EMBED_LINKS)
    body = {"content": "x", "embeds": [{"title": "t"}]}
    assert (await bob.post(f"/channels/{guild.general}/messages", json=body)).ok()["embeds"] == []
    (await bot.post(f"/channels/{guild.general}/messages", json=body)).rejected(403, 50013)


async def test_components_are_numbered_and_stored(world: World) -> None:
    guild = await world.guild()
    bot = await world.bot(guild)
    message = await guild.send_message(bot, "x", components=[action_row(button("a", id=2), button("b"))])
    assert message["components"][0]["id"] == 1
    assert [component["id"] for component in message["components"][0]["components"]] == [2, 3]
    v2_message = (
        await bot.post(
            f"/channels/{guild.general}/messages",
            json={
                "flags": COMPONENTS_V2,
                "components": [
                    {"type": ComponentType.CONTAINER, "components": [{**TEXT_DISPLAY, "content": f"<@{bot.id}>"}]}
                ],
            },
        )
    ).ok()
    assert v2_message["flags"] == COMPONENTS_V2
    assert [user["id"] for user in v2_message["mentions"]] == [str(bot.id)]


@pytest.mark.one_postgres_case
@pytest.mark.parametrize(
    ("body", "path", "code"),
    [
        ({"components": [action_row(button())] * 6}, "components", "BASE_TYPE_BAD_LENGTH"),
        ({"components": [TEXT_DISPLAY]}, "components.0.type", "COMPONENT_TYPE_INVALID"),
        (
            {"components": [action_row(button("a"), button("a"))]},
            "components.0.components.1.custom_id",
            "COMPONENT_CUSTOM_ID_DUPLICATED",
        ),
        (
            {"components": [action_row({"type": ComponentType.USER_SELECT, "custom_id": "s"}, button())]},
            "components.0.components",
            "COMPONENT_LAYOUT_WIDTH_EXCEEDED",
        ),
        (
            {"components": [action_row({"type": ComponentType.BUTTON, "style": ButtonStyle.PRIMARY, "label": "x"})]},
            "components.0.components.0.custom_id",
            "BUTTON_COMPONENT_CUSTOM_ID_REQUIRED",
        ),
        (
            {"components": [action_row({"type": ComponentType.BUTTON, "style": []})]},
            "components.0.components.0.style",
            "BASE_TYPE_CHOICES",
        ),
        (
            {"content": "x", "flags": COMPONENTS_V2, "components": [TEXT_DISPLAY]},
            "content",
            "MESSAGE_CANNOT_USE_LEGACY_FIELDS_WITH_COMPONENTS_V2",
        ),
        (
            {
                "flags": COMPONENTS_V2,
                "components": [
                    {"type": ComponentType.CONTAINER, "components": [TEXT_DISPLAY] * 30},
                    *[TEXT_DISPLAY] * 10,
                ],
            },
            "components",
            "BASE_TYPE_BAD_LENGTH",
        ),
    ],
)
async def test_invalid_components_are_rejected_with_the_field_path(
    world: World, body: dict[str, Any], path: str, code: str
) -> None:
    guild = await world.guild()
    assert (await guild.owner.post(f"/channels/{guild.general}/messages", json=body)).errors(path) == [code]


async def test_a_poll_has_an_expiry_requires_a_permission_and_cannot_be_edited(world: World) -> None:
    bob = await world.user()
    guild = await world.guild(None, bob)
    path = f"/channels/{guild.general}/messages"
    poll = {
        "question": {"text": "Which?"},
        "answers": [{"poll_media": {"text": "this"}}, {"poll_media": {"text": "that", "emoji": {"name": "🎉"}}}],
        "duration": 2,
    }
    message = (await bob.post(path, json={"poll": poll})).ok()
    assert message["poll"]["question"] == {"text": "Which?"}
    assert message["poll"]["answers"][1]["answer_id"] == 2
    assert message["poll"]["results"] == {"is_finalized": False, "answer_counts": []}
    assert message["poll"]["expiry"] == "2026-11-18T13:06:40.000000+00:00"
    (await bob.patch(f"{path}/{message['id']}", json={"content": "x"})).rejected(400, 520003)
    poll["answers"] = [{"poll_media": {"text": "a", "emoji": {"id": "5"}}}]
    (await bob.post(path, json={"poll": poll})).rejected(400, 520004)
    await deny_everyone(guild, Permissions.SEND_POLLS)
    (await bob.post(path, json={"poll": poll})).rejected(403, 50013)


# Reading


async def test_history_is_paged_newest_first(world: World) -> None:
    bob = await world.user()
    guild = await world.guild(None, bob)
    channel_id = await guild.channel("pages")
    message_ids = [
        (await guild.send_message(guild.owner, str(number), channel_id=channel_id))["id"] for number in range(7)
    ]

    async def page_contents(query: str) -> list[int]:
        return [int(message["content"]) for message in (await bob.get(f"/channels/{channel_id}/messages?{query}")).ok()]

    assert await page_contents("") == [6, 5, 4, 3, 2, 1, 0]
    assert await page_contents("limit=2") == [6, 5]
    assert await page_contents(f"before={message_ids[3]}&limit=2") == [2, 1]
    assert await page_contents(f"after={message_ids[3]}&limit=2") == [5, 4]
    assert await page_contents("after=0&limit=2") == [1, 0]
    assert await page_contents(f"around={message_ids[3]}&limit=3") == [4, 3, 2]
    assert await page_contents(f"around={message_ids[3]}&limit=1") == [3]
    assert await page_contents(f"around={message_ids[3]}&before={message_ids[1]}&limit=3") == [4, 3, 2]
    (await bob.get(f"/channels/{channel_id}/messages?limit=101")).rejected(400, 50035)
    (await bob.get(f"/channels/{channel_id}/messages/1")).rejected(404, 10008)


async def test_without_read_message_history_no_messages_are_returned(world: World) -> None:
    bob = await world.user()
    guild = await world.guild(None, bob)
    message = await guild.send_message(guild.owner)
    await deny_everyone(guild, Permissions.READ_MESSAGE_HISTORY)
    assert (await bob.get(f"/channels/{guild.general}/messages")).ok() == []
    (await bob.get(f"/channels/{guild.general}/messages/{message['id']}")).rejected(403, 50013)


async def test_reading_the_messages_of_a_voice_channel_requires_connect(world: World) -> None:
    bob = await world.user()
    guild = await world.guild(None, bob)
    voice_channel_id = await guild.channel("voice", type=ChannelType.GUILD_VOICE)
    assert (await bob.get(f"/channels/{voice_channel_id}/messages")).ok() == []
    await guild.overwrite(voice_channel_id, guild.id, deny=Permissions.CONNECT, target_type=OverwriteType.ROLE)
    (await bob.get(f"/channels/{voice_channel_id}/messages")).rejected(403, 50013)


# Editing


async def test_an_edit_by_the_author_is_published_and_cannot_empty_the_message(world: World) -> None:
    bob = await world.user()
    guild = await world.guild(None, bob)
    bot = await world.bot(guild)
    session = await bot.connect()
    message = await guild.send_message(bob, "one", embeds=[{"title": "t"}])
    path = f"/channels/{guild.general}/messages/{message['id']}"
    world.clock.advance(1000)
    edited_message = (await bob.patch(path, json={"content": f"two <@{bot.id}>"})).ok()
    assert edited_message["content"].startswith("two")
    assert edited_message["edited_timestamp"] is not None
    assert edited_message["embeds"][0]["title"] == "t"
    event = await session.next("MESSAGE_UPDATE")
    assert event["content"] == edited_message["content"]
    assert event["member"]["roles"] == []
    assert event["mentions"][0]["member"]
    assert (event["guild_id"], event["channel_type"]) == (str(guild.id), ChannelType.GUILD_TEXT)
    (await bob.patch(path, json={"content": None})).ok()
    (await bob.patch(path, json={"embeds": []})).rejected(400, 50006)
    assert (await bob.patch(path, json={"content": "x", "embeds": None})).ok()["embeds"] == []


async def test_moderators_can_only_suppress_embeds_of_other_users_messages(world: World) -> None:
    bob, carol = await world.user(), await world.user()
    guild = await world.guild(None, bob, carol)
    message = await guild.send_message(bob, "x", embeds=[{"title": "t"}])
    path = f"/channels/{guild.general}/messages/{message['id']}"
    (await carol.patch(path, json={"content": "y"})).rejected(403, 50005)
    (await carol.patch(path, json={"flags": MessageFlags.SUPPRESS_EMBEDS})).rejected(403, 50013)
    (await guild.owner.patch(path, json={"flags": MessageFlags.SUPPRESS_EMBEDS, "content": "y"})).rejected(403, 50005)
    suppressed_message = (await guild.owner.patch(path, json={"flags": MessageFlags.SUPPRESS_EMBEDS})).ok()
    assert (suppressed_message["flags"], suppressed_message["embeds"], suppressed_message["edited_timestamp"]) == (
        MessageFlags.SUPPRESS_EMBEDS,
        [],
        None,
    )
    restored_message = (await bob.patch(path, json={"flags": 0})).ok()
    assert (restored_message["flags"], len(restored_message["embeds"])) == (0, 1)


async def test_components_v2_can_be_enabled_but_not_disabled(world: World) -> None:
    guild = await world.guild()
    bot = await world.bot(guild)
    message = await guild.send_message(bot, "words")
    path = f"/channels/{guild.general}/messages/{message['id']}"
    rejected_response = await bot.patch(path, json={"flags": COMPONENTS_V2, "components": [TEXT_DISPLAY]})
    assert rejected_response.errors("content") == ["MESSAGE_CANNOT_USE_LEGACY_FIELDS_WITH_COMPONENTS_V2"]
    assert (await bot.patch(path, json={"flags": COMPONENTS_V2, "content": None, "components": [TEXT_DISPLAY]})).ok()[
        "flags"
    ] == COMPONENTS_V2
    assert (await bot.patch(path, json={"flags": 0})).ok()["flags"] == COMPONENTS_V2


async def test_system_messages_cannot_be_edited_and_some_cannot_be_deleted(world: World) -> None:
    bob = await world.user()
    guild = await world.guild(None, bob)

    async def create_system_message(message_type: MessageType) -> str:
        """Create a system message and return its path."""
        message = await world.write(
            lambda call: messages.system_messages.create_system_message(
                call, get_channel(call, guild.general), message_type, bob.id, content="name"
            )
        )
        return f"/channels/{guild.general}/messages/{int(message.id)}"

    join_message_path = await create_system_message(MessageType.USER_JOIN)
    (await bob.patch(join_message_path, json={"content": "x"})).rejected(403, 50021)
    (await bob.delete(join_message_path)).ok()
    for message_type in (
        MessageType.RECIPIENT_ADD,
        MessageType.CHANNEL_NAME_CHANGE,
        MessageType.THREAD_STARTER_MESSAGE,
    ):
        (await guild.owner.delete(await create_system_message(message_type))).rejected(403, 50021)


# Deleting


async def test_a_deletion_is_published_and_audited_if_a_user_deletes_messages_of_others(world: World) -> None:
    bob = await world.user()
    guild = await world.guild(None, bob)
    bot = await world.bot(guild, permissions=Permissions.MANAGE_MESSAGES)
    session = await bot.connect()
    sent_messages = [await guild.send_message(bob, str(number)) for number in range(5)]

    def path(number: int) -> str:
        return f"/channels/{guild.general}/messages/{sent_messages[number]['id']}"

    (await bob.delete(path(0))).ok()
    assert await session.next("MESSAGE_DELETE") == {
        "id": sent_messages[0]["id"],
        "channel_id": str(guild.general),
        "guild_id": str(guild.id),
    }
    (await bot.delete(path(1))).ok()
    (await guild.owner.delete(path(2))).ok()
    (await guild.owner.delete(path(3))).ok()
    (await guild.owner.delete(path(3))).rejected(404, 10008)
    # Deletions by one user within five minutes share an entry. Bots' deletions are not audited.
    entries = await guild.audit_entries(AuditLogAction.MESSAGE_DELETE)
    assert [(entry["target_id"], entry["options"]) for entry in entries] == [
        (str(bob.id), {"channel_id": str(guild.general), "count": "2"})
    ]
    world.clock.advance(300_001)
    (await guild.owner.delete(path(4))).ok()
    assert len(await guild.audit_entries(AuditLogAction.MESSAGE_DELETE)) == 2
    owner_message = await guild.send_message(guild.owner)
    (await bob.delete(f"/channels/{guild.general}/messages/{owner_message['id']}")).rejected(403, 50013)


async def test_bulk_delete_requires_valid_messages_and_publishes_one_event(world: World) -> None:
    bob = await world.user()
    guild = await world.guild(None, bob)
    bot = await world.bot(guild)
    session = await bot.connect()
    path = f"/channels/{guild.general}/messages"
    old_message = await guild.send_message(bob, "old")
    world.clock.advance(14 * 86_400_000 + 1)
    message_ids = [(await guild.send_message(bob, str(number)))["id"] for number in range(3)]
    (await bob.post(f"{path}/bulk-delete", json={"messages": message_ids})).rejected(403, 50013)
    (await guild.owner.post(f"{path}/bulk-delete", json={"messages": [message_ids[0], message_ids[0]]})).rejected(
        400, 50016
    )
    too_many = [str(int(message_ids[0]) + number) for number in range(101)]
    (await guild.owner.post(f"{path}/bulk-delete", json={"messages": too_many})).rejected(400, 50016)
    (await guild.owner.post(f"{path}/bulk-delete", json={"messages": [*message_ids, old_message["id"]]})).rejected(
        400, 50034
    )
    unknown_id = str(int(message_ids[2]) + 1)
    (await guild.owner.post(f"{path}/bulk-delete", json={"messages": [*message_ids[:2], unknown_id]})).ok()
    assert (await session.next("MESSAGE_DELETE_BULK"))["ids"] == message_ids[:2]
    assert [message["id"] for message in (await bob.get(path)).ok()] == [message_ids[2], old_message["id"]]
    entry = await guild.last_audit_entry(AuditLogAction.MESSAGE_BULK_DELETE)
    assert (entry["target_id"], entry["options"]) == (str(guild.general), {"count": "2"})


async def test_a_ban_deletes_the_latest_messages_of_the_banned_user(world: World) -> None:
    bob = await world.user()
    guild = await world.guild(None, bob)
    other_channel_id = await guild.channel("other")
    bot = await world.bot(guild)
    early_message = await guild.send_message(bob, "early")
    world.clock.advance(3_600_000)
    late_message = await guild.send_message(bob, "late")
    await guild.send_message(bob, "late", channel_id=other_channel_id)
    retained_message = await guild.send_message(guild.owner, "retained")
    session = await bot.connect()
    (await guild.owner.put(f"/guilds/{guild.id}/bans/{bob.id}", json={"delete_message_seconds": 60})).ok()
    events = [await session.next("MESSAGE_DELETE_BULK"), await session.next("MESSAGE_DELETE_BULK")]
    assert {event["channel_id"] for event in events} == {str(guild.general), str(other_channel_id)}
    assert late_message["id"] in {message for event in events for message in event["ids"]}
    remaining_ids = [message["id"] for message in (await guild.owner.get(f"/channels/{guild.general}/messages")).ok()]
    assert remaining_ids == [retained_message["id"], early_message["id"]]


# Announcements and private channels


async def test_an_announcement_is_published_once(world: World) -> None:
    bob = await world.user()
    guild = await world.guild(None, bob)
    message = await guild.send_message(bob, "news")
    path = f"/channels/{guild.general}/messages/{message['id']}/crosspost"
    (await bob.post(path)).rejected(400, 50024)
    await set_channel_type(world, guild.general, ChannelType.GUILD_ANNOUNCEMENT)
    assert (await bob.post(path)).ok()["flags"] == MessageFlags.CROSSPOSTED
    (await bob.post(path)).rejected(400, 40033)
    other_message = await guild.send_message(guild.owner, "news")
    (await bob.post(f"/channels/{guild.general}/messages/{other_message['id']}/crosspost")).rejected(403, 50013)


async def test_a_direct_message_is_delivered_with_its_content(world: World) -> None:
    bob = await world.user()
    guild = await world.guild(None, bob)
    bot = await world.bot(guild, flags=0)
    session = await bot.connect(INTENTS_WITHOUT_CONTENT)
    channel_id = await create_dm(world, bot, bob)
    message = (await bob.post(f"/channels/{channel_id}/messages", json={"content": "psst @everyone"})).ok()
    assert message["mention_everyone"] is False
    event = await session.next("MESSAGE_CREATE")
    assert event["content"] == "psst @everyone"
    assert "guild_id" not in event
    assert "member" not in event
    reply = (await bot.post(f"/channels/{channel_id}/messages", json={"content": "yes"})).ok()
    (await bob.delete(f"/channels/{channel_id}/messages/{reply['id']}")).rejected(400, 50003)
    (await guild.owner.get(f"/channels/{channel_id}/messages")).rejected(403, 50001)


async def test_a_bot_cannot_message_strangers_or_bots(world: World) -> None:
    guild = await world.guild()
    bot, other_bot, stranger = await world.bot(guild), await world.bot(guild), await world.user()
    channel_id = await create_dm(world, bot, stranger)
    (await bot.post(f"/channels/{channel_id}/messages", json={"content": "hi"})).rejected(403, 50278)
    channel_id = await create_dm(world, bot, other_bot)
    (await bot.post(f"/channels/{channel_id}/messages", json={"content": "hi"})).rejected(403, 50007)


# Functions that other slices use


def get_channel(call: Any, channel_id: int) -> Any:
    """Return a channel, which must exist, as the functions of the messages slice expect it."""
    channel = access.find_channel(call.tx, channel_id)
    assert channel is not None
    return channel


async def test_flag_and_pin_changes_are_published_as_updates(world: World) -> None:
    guild = await world.guild()
    bot = await world.bot(guild)
    message = await guild.send_message(guild.owner)
    session = await bot.connect()

    def update_message(call: Any) -> None:
        channel = get_channel(call, guild.general)
        messages.changes.set_flags(call, channel, int(message["id"]), flags_to_set=MessageFlags.SUPPRESS_NOTIFICATIONS)
        messages.changes.set_pinned(call, messages.history.get(call.tx, guild.general, int(message["id"])), call.now_ms)

    await world.write(update_message, actor=guild.owner.id)
    assert (await session.next("MESSAGE_UPDATE"))["flags"] == MessageFlags.SUPPRESS_NOTIFICATIONS
    assert (await session.next("MESSAGE_UPDATE"))["pinned"] is True


async def test_messages_of_an_author_are_deleted_in_one_guild_only(world: World) -> None:
    bob = await world.user()
    guild, other_guild = await world.guild(None, bob), await world.guild(None, bob)
    await guild.send_message(bob)
    retained_message = await other_guild.send_message(bob)
    await world.write(
        lambda call: actions.delete_by_author_since(call, GuildId(guild.id), UserId(bob.id), NOW_MS - 1),
        actor=guild.owner.id,
    )
    assert (await bob.get(f"/channels/{guild.general}/messages")).ok() == []
    assert [message["id"] for message in (await bob.get(f"/channels/{other_guild.general}/messages")).ok()] == [
        retained_message["id"]
    ]


# Archived channels, rate limits, deletion jobs and encoding


async def test_members_cannot_change_messages_of_archived_or_locked_threads(world: World) -> None:
    bob = await world.user()
    guild = await world.guild(None, bob)
    message = await guild.send_message(bob)
    path = f"/channels/{guild.general}/messages"
    # The rule reads only the columns `archived` and `locked`, so a text channel can replace the thread.
    await world.write(lambda call: call.tx.run("UPDATE channels SET archived = 1 WHERE id = ?", guild.general))
    (await bob.patch(f"{path}/{message['id']}", json={"content": "x"})).rejected(400, 50083)
    (await bob.delete(f"{path}/{message['id']}")).rejected(400, 50083)
    await world.write(
        lambda call: call.tx.run("UPDATE channels SET archived = 0, locked = 1 WHERE id = ?", guild.general)
    )
    (await bob.patch(f"{path}/{message['id']}", json={"content": "x"})).rejected(400, 160005)
    (await bob.post(path, json={"content": "x"})).rejected(400, 160005)
    (await guild.owner.post(path, json={"content": "x"})).ok()


async def test_forwards_have_a_separate_rate_limit(world: World) -> None:
    guild = await world.guild()
    source = await guild.send_message(guild.owner)
    reference = {"type": MessageReferenceType.FORWARD, "message_id": source["id"], "channel_id": str(guild.general)}

    def check_limit(call: Any) -> None:
        call.config = msgspec.structs.replace(call.config, rate_limits="real")
        rules.require_forward_quota(call)

    for _ in range(5):
        await world.write(check_limit, actor=guild.owner.id)
        await guild.send_message(guild.owner, "", message_reference=reference)
    with pytest.raises(errors.ApiError) as error:
        await world.write(check_limit, actor=guild.owner.id)
    assert error.value.status == 429
    assert error.value.extra["retry_after"] == 10.0
    world.clock.advance(10_000)
    await world.write(check_limit, actor=guild.owner.id)


async def test_messages_of_a_deleted_channel_are_deleted(world: World) -> None:
    guild = await world.guild()
    channel_id = await guild.channel("short-lived")
    await guild.send_message(guild.owner, "x", channel_id=channel_id)
    (await guild.owner.delete(f"/channels/{channel_id}")).ok()

    def run_deletion_job(call: Any) -> int:
        payload = f'{{"channel_id":{channel_id}}}'
        job = Job(id=1, kind="", key="", due_ms=0, payload=payload, attempts=0, first_tried_ms=None)
        jobs.delete_channel_messages(call, job)
        return int(call.tx.value("SELECT COUNT(*) FROM messages WHERE channel_id = ?", channel_id))

    assert await world.write(run_deletion_job) == 0


async def test_a_page_of_plain_messages_matches_single_message_encoding(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    guild = await world.guild(alice, bob)
    for actor, content in (
        (alice, 'quotes " and \\ and \x01'),
        (bob, "ünïcödé 🎉"),
        (alice, "plain"),
        (bob, f"<@{alice.id}>"),
    ):
        await guild.send_message(actor, content)

    page = (await alice.get(f"/channels/{guild.general}/messages")).ok()

    single_messages = [
        (await alice.get(f"/channels/{guild.general}/messages/{message['id']}")).ok() for message in page
    ]
    assert page == single_messages


@pytest.mark.one_postgres_case
@pytest.mark.parametrize("nonce", [True, 1.5, [], {}])
async def test_a_nonce_of_an_invalid_type_has_its_own_error_code(world: World, nonce: object) -> None:
    guild = await world.guild()

    response = await guild.owner.post(f"/channels/{guild.general}/messages", json={"content": "x", "nonce": nonce})

    assert response.errors("nonce") == ["NONCE_TYPE_INVALID_TYPE"]

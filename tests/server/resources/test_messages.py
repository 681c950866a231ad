"""Messages: saying, reading, changing and removing them, over HTTP and as events."""

from typing import Any

import msgspec
import pytest

from hubbub.protocol import changes, errors
from hubbub.protocol.flags import MessageFlags
from hubbub.protocol.ids import GuildId, Snowflake, UserId
from hubbub.protocol.intents import Intents
from hubbub.protocol.permissions import Permissions
from hubbub.server.core.jobs import Job
from hubbub.server.resources import messages
from hubbub.server.resources.messages import jobs, rules
from tests.world import NOW_MS, Actor, Guild, World

NO_CONTENT = Intents.GUILDS | Intents.GUILD_MESSAGES | Intents.DIRECT_MESSAGES

V2 = MessageFlags.IS_COMPONENTS_V2
TEXT = {"type": 10, "content": "hello"}


def button(custom_id: str = "a", **more: Any) -> dict[str, Any]:
    """A plain button."""
    return {"type": 2, "style": 1, "label": "ok", "custom_id": custom_id, **more}


def row(*children: dict[str, Any]) -> dict[str, Any]:
    """An action row."""
    return {"type": 1, "components": list(children)}


async def denied(guild: Guild, bits: int) -> None:
    """Take permissions from everybody in the general channel."""
    await guild.overwrite(guild.general, guild.id, deny=bits, kind=0)


async def set_slowmode(world: World, channel: int, seconds: int) -> None:
    """Slow a channel down."""
    await world.write(
        lambda call: call.tx.run("UPDATE channels SET rate_limit_per_user = ? WHERE id = ?", seconds, channel)
    )


async def set_type(world: World, channel: int, kind: int) -> None:
    """Make a channel another kind of channel."""
    await world.write(lambda call: call.tx.run("UPDATE channels SET type = ? WHERE id = ?", kind, channel))


async def private_channel(world: World, *people: Actor) -> int:
    """A direct message channel between two."""

    def make(call: Any) -> int:
        channel = int(call.new_id(Snowflake))
        call.tx.run("INSERT INTO channels (id, type) VALUES (?, 1)", channel)
        for person in people:
            call.tx.run("INSERT INTO recipients (channel_id, user_id) VALUES (?, ?)", channel, person.id)
        return channel

    made: int = await world.write(make)
    return made


# Saying


async def test_a_message_is_answered_and_told_to_who_can_see_the_channel(world: World) -> None:
    alice, bob = await world.user("alice"), await world.user("bob")
    guild = await world.guild(alice, bob)
    bot = await world.bot(guild)
    session = await bot.connect()

    said = (await bob.post(f"/channels/{guild.general}/messages", json={"content": " hi\n", "nonce": 7})).ok()

    assert said["content"] == "hi"
    assert said["author"]["username"] == "bob"
    assert said["nonce"] == 7
    for key in ("embeds", "attachments", "components", "mentions", "mention_roles"):
        assert said[key] == []
    assert (said["type"], said["flags"], said["pinned"], said["tts"]) == (0, 0, False, False)
    assert said["edited_timestamp"] is None
    assert "poll" not in said
    assert "referenced_message" not in said
    told = await session.next("MESSAGE_CREATE")
    assert told["guild_id"] == str(guild.id)
    assert told["channel_type"] == 0
    assert told["member"]["roles"] == []
    assert "user" not in told["member"]
    assert {key: told[key] for key in said} == said


async def test_a_bot_without_the_content_intent_hears_only_what_concerns_it(world: World) -> None:
    guild = await world.guild()
    bot = await world.bot(guild, flags=0)
    session = await bot.connect(NO_CONTENT)

    await guild.say(guild.owner, 'a secret with "quotes"')
    told = await session.next("MESSAGE_CREATE")
    assert told["content"] == ""
    assert (await bot.get(f"/channels/{told['channel_id']}/messages/{told['id']}")).ok()["content"] == ""

    for content in (f"<@{bot.id}> hello", f"<@!{bot.id}> hello"):
        await guild.say(guild.owner, content)
        told = await session.next("MESSAGE_CREATE")
        assert told["content"] == content
        assert (await bot.get(f"/channels/{told['channel_id']}/messages/{told['id']}")).ok()["content"] == content

    await guild.say(guild.owner, "look", embeds=[{"title": "t"}])
    told = await session.next("MESSAGE_CREATE")
    assert (told["content"], told["embeds"]) == ("", [])

    await guild.say(bot, "my own")
    assert (await session.next("MESSAGE_CREATE"))["content"] == "my own"
    assert [each["content"] for each in (await bot.get(f"/channels/{guild.general}/messages?limit=2")).ok()] == [
        "my own",
        "",
    ]


def insides(message: Any) -> tuple[str, list[str]]:
    """What a message says, and what those say that it answers or carries."""
    found: list[str] = []
    answered = message.get("referenced_message")
    for each in (message, *([answered] if answered else [])):
        found += [] if each is message else [each["content"]]
        found += [carried["message"]["content"] for carried in each.get("message_snapshots", ())]
    return message["content"], found


async def test_a_bot_reads_nothing_by_replying_to_it(world: World) -> None:
    guild = await world.guild()
    bot = await world.bot(guild, flags=0)
    reader = await world.bot(guild)
    narrow, wide = await bot.connect(NO_CONTENT), await reader.connect()
    secret = await guild.say(guild.owner, "secret", embeds=[{"title": "t"}])
    path = f"/channels/{guild.general}/messages"
    reply = {"message_reference": {"message_id": secret["id"]}}

    said = (await bot.post(path, json={"content": "mine", "nonce": "n", **reply})).ok()
    assert insides(said) == ("mine", [""])
    assert said["nonce"] == "n"
    assert said["referenced_message"]["embeds"] == []
    theirs = narrow, wide
    told = [await each.next("MESSAGE_CREATE", lambda d: d["id"] == said["id"]) for each in theirs]
    assert [insides(each) for each in told] == [("mine", [""]), ("mine", ["secret"])]

    changed = (await bot.patch(f"{path}/{said['id']}", json={"content": "still mine"})).ok()
    assert insides(changed) == ("still mine", [""])
    told = [await each.next("MESSAGE_UPDATE", lambda d: d["id"] == said["id"]) for each in theirs]
    assert [insides(each) for each in told] == [("still mine", [""]), ("still mine", ["secret"])]


async def test_parts_of_a_message_are_read_each_for_itself(world: World) -> None:
    bob = await world.user()
    guild = await world.guild(None, bob)
    bot, other = await world.bot(guild, flags=0), await world.bot(guild, flags=0)
    sessions = [await each.connect(NO_CONTENT) for each in (bot, other)]
    path = f"/channels/{guild.general}/messages"

    async def heard(answer: Any) -> list[tuple[str, list[str]]]:
        found = []
        for actor, session in zip((bot, other), sessions, strict=True):
            told = insides(await session.next("MESSAGE_CREATE", lambda d: d["id"] == answer["id"]))
            assert insides((await actor.get(f"{path}/{answer['id']}")).ok()) == told
            found.append(told)
        return found

    def reply(to: Any, content: str) -> dict[str, Any]:
        return {
            "content": content,
            "message_reference": {"message_id": to["id"]},
            "allowed_mentions": {"parse": ["users"]},
        }

    def forward(of: Any, content: str = "") -> dict[str, Any]:
        reference = {"type": 1, "message_id": of["id"], "channel_id": str(guild.general)}
        return {"content": content, "message_reference": reference}

    secret = await guild.say(guild.owner, "secret")
    named = await guild.say(guild.owner, f"<@{other.id}> psst")

    mention = f"<@{bot.id}> look"
    assert await heard((await bob.post(path, json=reply(secret, mention))).ok()) == [(mention, [""]), ("", [""])]
    crossed = [(mention, [""]), ("", [named["content"]])]
    assert await heard((await bob.post(path, json=reply(named, mention))).ok()) == crossed
    assert await heard((await bob.post(path, json=forward(named, mention))).ok()) == crossed
    assert await heard((await bob.post(path, json=forward(secret, mention))).ok()) == [(mention, [""]), ("", [""])]
    # A reply to a forward holds three messages.
    carrying = (await bob.post(path, json=forward(named, f"<@{bot.id}> see"))).ok()
    answered = (await bob.post(path, json=reply(carrying, "aha"))).ok()
    assert await heard(answered) == [("", [f"<@{bot.id}> see", ""]), ("", ["", named["content"]])]


async def test_an_empty_message_is_refused(world: World) -> None:
    guild = await world.guild()
    path = f"/channels/{guild.general}/messages"
    empty: list[dict[str, Any]] = [
        {},
        {"content": ""},
        {"content": " \n "},
        {"content": None},
        {"embeds": []},
        {"flags": 4},
    ]
    for body in empty:
        (await guild.owner.post(path, json=body)).refused(400, 50006)
    assert (await guild.owner.post(path, json={"content": "x" * 2001})).errors("content") == ["BASE_TYPE_MAX_LENGTH"]
    assert (await guild.owner.post(path, json={"content": "x", "nonce": "x" * 26})).errors("nonce") == [
        "NONCE_TYPE_TOO_LONG"
    ]
    (await guild.owner.post(path, json={"content": "x", "sticker_ids": ["1"]})).refused(400, 50081)
    assert (await guild.say(guild.owner, "a\x00b"))["content"] == "ab"


async def test_who_may_not_speak_is_told_why(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    guild = await world.guild(alice, bob)
    stranger = await world.user()
    path = f"/channels/{guild.general}/messages"
    (await stranger.post(path, json={"content": "hi"})).refused(403, 50001)
    (await bob.post("/channels/1/messages", json={"content": "hi"})).refused(404, 10003)
    forum = await guild.channel("forum")
    await set_type(world, forum, 15)
    (await bob.post(f"/channels/{forum}/messages", json={"content": "hi"})).refused(400, 40058)
    category = await guild.channel("category", type=4)
    (await bob.post(f"/channels/{category}/messages", json={"content": "hi"})).refused(400, 50008)
    (await bob.get(f"/channels/{category}/messages")).refused(400, 50008)
    await denied(guild, Permissions.SEND_MESSAGES)
    (await bob.post(path, json={"content": "hi"})).refused(403, 50013)
    (await alice.post(path, json={"content": "hi"})).ok()


@pytest.mark.parametrize(("level", "wait_ms"), [(1, None), (2, 300_000), (3, 600_000)])
async def test_the_verification_level_holds_back_people_without_a_role(
    world: World, level: int, wait_ms: int | None
) -> None:
    alice, bob = await world.user(), await world.user()
    guild = await world.guild(alice, bob)
    await world.write(lambda call: call.tx.run("UPDATE guilds SET verification_level = ?", level))
    await world.write(lambda call: call.tx.run("UPDATE users SET verified = 0"))
    path = f"/channels/{guild.general}/messages"
    (await bob.post(path, json={"content": "hi"})).refused(403, 50009)
    (await alice.post(path, json={"content": "the owner may"})).ok()
    await world.write(lambda call: call.tx.run("UPDATE users SET verified = 1"))
    if wait_ms is not None:
        (await bob.post(path, json={"content": "hi"})).refused(403, 50009)
        world.clock.advance(wait_ms)
    (await bob.post(path, json={"content": "hi"})).ok()
    await world.write(lambda call: call.tx.run("UPDATE users SET verified = 0"))
    await guild.allow(bob, 0)
    (await bob.post(path, json={"content": "a role suffices"})).ok()


async def test_slowmode_makes_people_wait_and_bots_not(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    guild = await world.guild(alice, bob)
    bot = await world.bot(guild)
    await set_slowmode(world, guild.general, 10)
    for speaker in (alice, bot):
        await guild.say(speaker)
        await guild.say(speaker)
    await guild.say(bob)
    world.clock.advance(4_000)
    refused = (await bob.post(f"/channels/{guild.general}/messages", json={"content": "hi"})).refused(429, 20016)
    assert refused["retry_after"] == 6.0
    world.clock.advance(6_000)
    await guild.say(bob)


@pytest.mark.dated(changes.PERMISSION_SPLITS)
async def test_only_bypass_slowmode_frees_from_slowmode_since_the_split(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    guild = await world.guild(alice, bob)
    await set_slowmode(world, guild.general, 60)
    await guild.allow(bob, Permissions.MANAGE_MESSAGES)
    await guild.say(bob)
    (await bob.post(f"/channels/{guild.general}/messages", json={"content": "hi"})).refused(429, 20016)
    await guild.allow(bob, Permissions.BYPASS_SLOWMODE)
    await guild.say(bob)
    await world.write(lambda call: call.tx.run("UPDATE roles SET permissions = 0 WHERE permissions = ?", 1 << 52))
    world.clock.set(changes.PERMISSION_SPLITS.at_ms - 1)
    await guild.say(bob)
    await guild.say(bob)


async def test_a_repeated_nonce_gives_the_earlier_message_back_for_five_minutes(world: World) -> None:
    guild = await world.guild()
    bot = await world.bot(guild)
    session = await bot.connect()
    body: dict[str, Any] = {"nonce": "n1", "enforce_nonce": True}
    first = await guild.say(bot, "one", **body)
    again = await guild.say(bot, "two", **body)
    assert again == first
    await session.next("MESSAGE_CREATE")
    await session.none_of("MESSAGE_CREATE")
    assert (await guild.say(bot, "three", nonce="n1"))["id"] != first["id"]
    world.clock.advance(300_000)
    later = await guild.say(bot, "four", **body)
    assert later["id"] != first["id"]
    (await bot.delete(f"/channels/{guild.general}/messages/{later['id']}")).ok()
    assert (await guild.say(bot, "five", **body))["content"] == "five"


async def test_speaking_aloud_needs_its_permission_and_is_silently_dropped_without(world: World) -> None:
    bob = await world.user()
    guild = await world.guild(None, bob)
    assert (await guild.say(bob, "hi", tts=True))["tts"] is False
    assert (await guild.say(guild.owner, "hi", tts=True))["tts"] is True


# Mentions


async def test_mentions_are_read_from_the_content(world: World) -> None:
    bob, carol = await world.user(), await world.user()
    guild = await world.guild(None, bob, carol)
    secret, public = await guild.role("secret"), await guild.role("public", mentionable=True)
    await denied(guild, Permissions.MENTION_EVERYONE)
    bot = await world.bot(guild)
    session = await bot.connect()

    content = f"<@{carol.id}> <@!{carol.id}> <@1> <@&{secret}> <@&{public}> @everyone"
    said = await guild.say(bob, content)
    assert [each["id"] for each in said["mentions"]] == [str(carol.id)]
    assert said["mention_roles"] == [str(public)]
    assert said["mention_everyone"] is False
    told = await session.next("MESSAGE_CREATE")
    assert told["mentions"][0]["member"]["roles"] == []
    said = await guild.say(guild.owner, content + " @here")
    assert said["mention_roles"] == [str(secret), str(public)]
    assert said["mention_everyone"] is True


async def test_allowed_mentions_hold_back(world: World) -> None:
    bob, carol = await world.user(), await world.user()
    guild = await world.guild(None, bob, carol)
    content = f"<@{bob.id}> <@{carol.id}> @everyone"

    async def mentioned(**allowed: Any) -> tuple[list[str], bool]:
        said = await guild.say(guild.owner, content, allowed_mentions=allowed)
        return [each["id"] for each in said["mentions"]], said["mention_everyone"]

    both = [str(bob.id), str(carol.id)]
    assert await mentioned() == ([], False)
    assert await mentioned(parse=[]) == ([], False)
    assert await mentioned(parse=["users"]) == (both, False)
    assert await mentioned(users=[str(carol.id), "5"]) == ([str(carol.id)], False)
    assert await mentioned(parse=["everyone"], users=[str(bob.id)]) == ([str(bob.id)], True)
    refused = await guild.owner.post(
        f"/channels/{guild.general}/messages",
        json={"content": "x", "allowed_mentions": {"parse": ["users"], "users": ["1"]}},
    )
    assert refused.errors("allowed_mentions") == ["MESSAGE_ALLOWED_MENTIONS_PARSE_EXCLUSIVE"]


# Replies and forwards


async def test_a_reply_shows_and_notifies_the_one_it_answers(world: World) -> None:
    bob = await world.user()
    guild = await world.guild(None, bob)
    first = await guild.say(bob, "question")
    reference = {"message_id": first["id"]}
    said = await guild.say(guild.owner, "answer", message_reference=reference)
    assert said["type"] == 19
    assert said["message_reference"]["message_id"] == first["id"]
    assert said["referenced_message"]["content"] == "question"
    assert [each["id"] for each in said["mentions"]] == [str(bob.id)]
    quiet = await guild.say(guild.owner, "answer", message_reference=reference, allowed_mentions={"parse": ["users"]})
    assert quiet["mentions"] == []
    loud = await guild.say(guild.owner, "answer", message_reference=reference, allowed_mentions={"replied_user": True})
    assert len(loud["mentions"]) == 1

    (await bob.delete(f"/channels/{guild.general}/messages/{first['id']}")).ok()
    read = (await bob.get(f"/channels/{guild.general}/messages/{said['id']}")).ok()
    assert read["referenced_message"] is None


async def test_a_reply_to_what_is_not_there_is_refused_unless_told_otherwise(world: World) -> None:
    bob = await world.user()
    guild = await world.guild(None, bob)
    other = await guild.channel("other")
    path = f"/channels/{guild.general}/messages"
    gone = {"content": "x", "message_reference": {"message_id": "1"}}
    assert (await bob.post(path, json=gone)).errors("message_reference") == ["REPLIES_UNKNOWN_MESSAGE"]
    gone["message_reference"]["fail_if_not_exists"] = False  # type: ignore[index]
    plain = (await bob.post(path, json=gone)).ok()
    assert plain["type"] == 0
    assert "message_reference" not in plain
    elsewhere = await guild.say(guild.owner, "x", channel=other)
    body = {"content": "x", "message_reference": {"message_id": elsewhere["id"], "channel_id": str(other)}}
    assert (await bob.post(path, json=body)).errors("message_reference") == ["REPLIES_CANNOT_REFERENCE_OTHER_CHANNEL"]

    def speak(call: Any) -> Any:
        channel = call_channel(call, guild.general)
        return messages.system(call, channel, 7, bob.id)

    joined = await world.write(speak)
    body = {"content": "x", "message_reference": {"message_id": str(int(joined.id))}}
    assert (await bob.post(path, json=body)).errors("message_reference") == ["REPLIES_CANNOT_REPLY_TO_SYSTEM_MESSAGE"]
    await denied(guild, Permissions.READ_MESSAGE_HISTORY)
    (await bob.post(path, json=body)).refused(403, 160002)


async def test_a_forward_carries_a_copy_that_stays(world: World) -> None:
    bob = await world.user()
    guild = await world.guild(None, bob)
    other = await guild.channel("other")
    source = await guild.say(guild.owner, f"news <@{bob.id}>", embeds=[{"title": "t"}])
    reference = {"type": 1, "message_id": source["id"], "channel_id": str(guild.general)}
    path = f"/channels/{other}/messages"
    forwarded = (await bob.post(path, json={"message_reference": reference})).ok()
    assert forwarded["type"] == 0
    assert forwarded["content"] == ""
    assert forwarded["flags"] == MessageFlags.HAS_SNAPSHOT
    assert forwarded["mentions"] == []
    assert "referenced_message" not in forwarded
    copy = forwarded["message_snapshots"][0]["message"]
    assert (copy["content"], copy["embeds"][0]["title"]) == (source["content"], "t")
    assert "author" not in copy
    (await guild.owner.delete(f"/channels/{guild.general}/messages/{source['id']}")).ok()
    again = {"type": 1, "message_id": forwarded["id"], "channel_id": str(other)}
    twice = (await bob.post(path, json={"message_reference": again})).ok()
    assert twice["message_snapshots"][0]["message"]["content"] == source["content"]
    (await bob.post(path, json={"message_reference": reference})).refused(404, 10008)
    await denied(guild, Permissions.VIEW_CHANNEL)
    (await bob.post(path, json={"message_reference": reference})).refused(403, 50001)


async def test_a_forward_is_made_where_the_message_could_be_read(world: World) -> None:
    bob = await world.user()
    guild = await world.guild(None, bob)
    other, voice = await guild.channel("other"), await guild.channel("voice", type=2)
    path = f"/channels/{other}/messages"
    for channel, bits in ((guild.general, Permissions.READ_MESSAGE_HISTORY), (voice, Permissions.CONNECT)):
        source = await guild.say(guild.owner, "before your time", channel)
        body = {"message_reference": {"type": 1, "message_id": source["id"], "channel_id": str(channel)}}
        (await bob.post(path, json=body)).ok()
        await guild.overwrite(channel, guild.id, deny=bits, kind=0)
        (await bob.get(f"/channels/{channel}/messages/{source['id']}")).refused(403, 50013)
        (await bob.post(path, json=body)).refused(403, 50013)
        (await guild.owner.post(path, json=body)).ok()


@pytest.mark.dated(changes.FORWARD_READABLE_CONTENT)
async def test_an_app_forwards_only_what_it_can_read(world: World) -> None:
    guild = await world.guild()
    bot = await world.bot(guild, flags=0)
    source = await guild.say(guild.owner, "private words")
    mine = await guild.say(guild.owner, f"<@{bot.id}> words for you")

    def body(message: Any) -> dict[str, Any]:
        return {"message_reference": {"type": 1, "message_id": message["id"], "channel_id": str(guild.general)}}

    path = f"/channels/{guild.general}/messages"
    refused = (await bot.post(path, json=body(source))).refused(400, 160014)
    assert refused["message"] == "You cannot forward a message whose content you cannot read"
    assert (await bot.post(path, json=body(mine))).ok()["message_snapshots"][0]["message"]["content"]
    carried = await guild.say(guild.owner, f"<@{bot.id}> see", **body(source))
    (await bot.post(path, json=body(carried))).refused(400, 160014)
    world.clock.set(changes.FORWARD_READABLE_CONTENT.at_ms - 1)
    (await bot.post(path, json=body(source))).ok()
    poll = {"question": {"text": "?"}, "answers": [{"poll_media": {"text": "a"}}]}
    asked = (await guild.owner.post(path, json={"poll": poll})).ok()
    (await guild.owner.post(path, json=body(asked))).refused(400, 50068)


# Embeds, components, polls


async def test_embeds_are_trimmed_and_kept(world: World) -> None:
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
    shown = (await guild.say(guild.owner, "", embeds=[embed]))["embeds"][0]
    assert (shown["type"], shown["title"], shown["color"]) == ("rich", "t", 255)
    assert shown["timestamp"] == "2026-01-02T03:04:05.000000+00:00"
    assert shown["fields"] == [{"name": "n", "value": "v", "inline": True}]
    assert shown["image"] == {"url": "https://example.org/a.png"}
    assert "provider" not in shown


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
async def test_bad_embeds_are_refused_by_name(world: World, embeds: list[Any], path: str, code: str) -> None:
    guild = await world.guild()
    refused = await guild.owner.post(f"/channels/{guild.general}/messages", json={"embeds": embeds})
    assert refused.errors(path) == [code]


async def test_embeds_without_the_permission_are_dropped_for_people_and_refused_to_bots(world: World) -> None:
    bob = await world.user()
    guild = await world.guild(None, bob)
    bot = await world.bot(guild)
    await denied(guild, Permissions.EMBED_LINKS)
    body = {"content": "x", "embeds": [{"title": "t"}]}
    assert (await bob.post(f"/channels/{guild.general}/messages", json=body)).ok()["embeds"] == []
    (await bot.post(f"/channels/{guild.general}/messages", json=body)).refused(403, 50013)


async def test_components_are_numbered_and_kept(world: World) -> None:
    guild = await world.guild()
    bot = await world.bot(guild)
    said = await guild.say(bot, "x", components=[row(button("a", id=2), button("b"))])
    assert said["components"][0]["id"] == 1
    assert [each["id"] for each in said["components"][0]["components"]] == [2, 3]
    v2 = (
        await bot.post(
            f"/channels/{guild.general}/messages",
            json={"flags": V2, "components": [{"type": 17, "components": [{**TEXT, "content": f"<@{bot.id}>"}]}]},
        )
    ).ok()
    assert v2["flags"] == V2
    assert [each["id"] for each in v2["mentions"]] == [str(bot.id)]


@pytest.mark.parametrize(
    ("body", "path", "code"),
    [
        ({"components": [row(button())] * 6}, "components", "BASE_TYPE_BAD_LENGTH"),
        ({"components": [TEXT]}, "components.0.type", "COMPONENT_TYPE_INVALID"),
        (
            {"components": [row(button("a"), button("a"))]},
            "components.0.components.1.custom_id",
            "COMPONENT_CUSTOM_ID_DUPLICATED",
        ),
        (
            {"components": [row({"type": 5, "custom_id": "s"}, button())]},
            "components.0.components",
            "COMPONENT_LAYOUT_WIDTH_EXCEEDED",
        ),
        (
            {"components": [row({"type": 2, "style": 1, "label": "x"})]},
            "components.0.components.0.custom_id",
            "BUTTON_COMPONENT_CUSTOM_ID_REQUIRED",
        ),
        ({"components": [row({"type": 2, "style": []})]}, "components.0.components.0.style", "BASE_TYPE_CHOICES"),
        (
            {"content": "x", "flags": V2, "components": [TEXT]},
            "content",
            "MESSAGE_CANNOT_USE_LEGACY_FIELDS_WITH_COMPONENTS_V2",
        ),
        (
            {"flags": V2, "components": [{"type": 17, "components": [TEXT] * 30}, *[TEXT] * 10]},
            "components",
            "BASE_TYPE_BAD_LENGTH",
        ),
    ],
)
async def test_bad_components_are_refused_by_name(world: World, body: dict[str, Any], path: str, code: str) -> None:
    guild = await world.guild()
    assert (await guild.owner.post(f"/channels/{guild.general}/messages", json=body)).errors(path) == [code]


async def test_a_poll_is_shown_with_its_end_and_cannot_be_edited(world: World) -> None:
    bob = await world.user()
    guild = await world.guild(None, bob)
    path = f"/channels/{guild.general}/messages"
    poll = {
        "question": {"text": "Which?"},
        "answers": [{"poll_media": {"text": "this"}}, {"poll_media": {"text": "that", "emoji": {"name": "🎉"}}}],
        "duration": 2,
    }
    asked = (await bob.post(path, json={"poll": poll})).ok()
    assert asked["poll"]["question"] == {"text": "Which?"}
    assert asked["poll"]["answers"][1]["answer_id"] == 2
    assert asked["poll"]["results"] == {"is_finalized": False, "answer_counts": []}
    assert asked["poll"]["expiry"] == "2026-11-18T13:06:40.000000+00:00"
    (await bob.patch(f"{path}/{asked['id']}", json={"content": "x"})).refused(400, 520003)
    poll["answers"] = [{"poll_media": {"text": "a", "emoji": {"id": "5"}}}]
    (await bob.post(path, json={"poll": poll})).refused(400, 520004)
    await denied(guild, Permissions.SEND_POLLS)
    (await bob.post(path, json={"poll": poll})).refused(403, 50013)


# Reading


async def test_history_is_paged_newest_first(world: World) -> None:
    bob = await world.user()
    guild = await world.guild(None, bob)
    channel = await guild.channel("pages")
    ids = [(await guild.say(guild.owner, str(number), channel=channel))["id"] for number in range(7)]

    async def page(query: str) -> list[int]:
        return [int(each["content"]) for each in (await bob.get(f"/channels/{channel}/messages?{query}")).ok()]

    assert await page("") == [6, 5, 4, 3, 2, 1, 0]
    assert await page("limit=2") == [6, 5]
    assert await page(f"before={ids[3]}&limit=2") == [2, 1]
    assert await page(f"after={ids[3]}&limit=2") == [5, 4]
    assert await page("after=0&limit=2") == [1, 0]
    assert await page(f"around={ids[3]}&limit=3") == [4, 3, 2]
    assert await page(f"around={ids[3]}&limit=1") == [3]
    assert await page(f"around={ids[3]}&before={ids[1]}&limit=3") == [4, 3, 2]
    (await bob.get(f"/channels/{channel}/messages?limit=101")).refused(400, 50035)
    (await bob.get(f"/channels/{channel}/messages/1")).refused(404, 10008)


async def test_without_history_there_is_nothing_to_read(world: World) -> None:
    bob = await world.user()
    guild = await world.guild(None, bob)
    said = await guild.say(guild.owner)
    await denied(guild, Permissions.READ_MESSAGE_HISTORY)
    assert (await bob.get(f"/channels/{guild.general}/messages")).ok() == []
    (await bob.get(f"/channels/{guild.general}/messages/{said['id']}")).refused(403, 50013)
    voice = await guild.channel("voice", type=2)
    assert (await bob.get(f"/channels/{voice}/messages")).ok() == []
    await guild.overwrite(voice, guild.id, deny=Permissions.CONNECT, kind=0)
    (await bob.get(f"/channels/{voice}/messages")).refused(403, 50013)


# Changing


async def test_an_author_edits_and_everybody_hears(world: World) -> None:
    bob = await world.user()
    guild = await world.guild(None, bob)
    bot = await world.bot(guild)
    session = await bot.connect()
    said = await guild.say(bob, "one", embeds=[{"title": "t"}])
    path = f"/channels/{guild.general}/messages/{said['id']}"
    world.clock.advance(1000)
    edited = (await bob.patch(path, json={"content": f"two <@{bot.id}>"})).ok()
    assert edited["content"].startswith("two")
    assert edited["edited_timestamp"] is not None
    assert edited["embeds"][0]["title"] == "t"
    told = await session.next("MESSAGE_UPDATE")
    assert told["content"] == edited["content"]
    assert told["member"]["roles"] == []
    assert told["mentions"][0]["member"]
    assert (told["guild_id"], told["channel_type"]) == (str(guild.id), 0)
    (await bob.patch(path, json={"content": None})).ok()
    (await bob.patch(path, json={"embeds": []})).refused(400, 50006)
    assert (await bob.patch(path, json={"content": "x", "embeds": None})).ok()["embeds"] == []


async def test_others_may_only_suppress_embeds(world: World) -> None:
    bob, carol = await world.user(), await world.user()
    guild = await world.guild(None, bob, carol)
    said = await guild.say(bob, "x", embeds=[{"title": "t"}])
    path = f"/channels/{guild.general}/messages/{said['id']}"
    (await carol.patch(path, json={"content": "y"})).refused(403, 50005)
    (await carol.patch(path, json={"flags": 4})).refused(403, 50013)
    (await guild.owner.patch(path, json={"flags": 4, "content": "y"})).refused(403, 50005)
    hidden = (await guild.owner.patch(path, json={"flags": 4})).ok()
    assert (hidden["flags"], hidden["embeds"], hidden["edited_timestamp"]) == (4, [], None)
    shown = (await bob.patch(path, json={"flags": 0})).ok()
    assert (shown["flags"], len(shown["embeds"])) == (0, 1)


async def test_components_v2_can_be_turned_on_but_not_off(world: World) -> None:
    guild = await world.guild()
    bot = await world.bot(guild)
    said = await guild.say(bot, "words")
    path = f"/channels/{guild.general}/messages/{said['id']}"
    refused = await bot.patch(path, json={"flags": V2, "components": [TEXT]})
    assert refused.errors("content") == ["MESSAGE_CANNOT_USE_LEGACY_FIELDS_WITH_COMPONENTS_V2"]
    assert (await bot.patch(path, json={"flags": V2, "content": None, "components": [TEXT]})).ok()["flags"] == V2
    assert (await bot.patch(path, json={"flags": 0})).ok()["flags"] == V2


async def test_a_system_message_cannot_be_edited_and_some_not_deleted(world: World) -> None:
    bob = await world.user()
    guild = await world.guild(None, bob)

    async def system(kind: int) -> str:
        made = await world.write(
            lambda call: messages.system(call, call_channel(call, guild.general), kind, bob.id, content="name")
        )
        return f"/channels/{guild.general}/messages/{int(made.id)}"

    joined = await system(7)
    (await bob.patch(joined, json={"content": "x"})).refused(403, 50021)
    (await bob.delete(joined)).ok()
    for kind in (1, 4, 21):
        (await guild.owner.delete(await system(kind))).refused(403, 50021)


# Removing


async def test_deleting_tells_and_logs_only_a_person_who_removes_anothers(world: World) -> None:
    bob = await world.user()
    guild = await world.guild(None, bob)
    bot = await world.bot(guild, permissions=Permissions.MANAGE_MESSAGES)
    session = await bot.connect()
    said = [await guild.say(bob, str(number)) for number in range(5)]

    def path(number: int) -> str:
        return f"/channels/{guild.general}/messages/{said[number]['id']}"

    (await bob.delete(path(0))).ok()
    assert await session.next("MESSAGE_DELETE") == {
        "id": said[0]["id"],
        "channel_id": str(guild.general),
        "guild_id": str(guild.id),
    }
    (await bot.delete(path(1))).ok()
    (await guild.owner.delete(path(2))).ok()
    (await guild.owner.delete(path(3))).ok()
    (await guild.owner.delete(path(3))).refused(404, 10008)
    entries = (await guild.owner.get(f"/guilds/{guild.id}/audit-logs?action_type=72")).ok()["audit_log_entries"]
    assert [(entry["target_id"], entry["options"]) for entry in entries] == [
        (str(bob.id), {"channel_id": str(guild.general), "count": "2"})
    ]
    world.clock.advance(300_001)
    (await guild.owner.delete(path(4))).ok()
    entries = (await guild.owner.get(f"/guilds/{guild.id}/audit-logs?action_type=72")).ok()["audit_log_entries"]
    assert len(entries) == 2
    mine = await guild.say(guild.owner)
    (await bob.delete(f"/channels/{guild.general}/messages/{mine['id']}")).refused(403, 50013)


async def test_bulk_delete_removes_together(world: World) -> None:
    bob = await world.user()
    guild = await world.guild(None, bob)
    bot = await world.bot(guild)
    session = await bot.connect()
    path = f"/channels/{guild.general}/messages"
    old = await guild.say(bob, "old")
    world.clock.advance(14 * 86_400_000 + 1)
    ids = [(await guild.say(bob, str(number)))["id"] for number in range(3)]
    (await bob.post(f"{path}/bulk-delete", json={"messages": ids})).refused(403, 50013)
    (await guild.owner.post(f"{path}/bulk-delete", json={"messages": [ids[0], ids[0]]})).refused(400, 50016)
    many = [str(int(ids[0]) + number) for number in range(101)]
    (await guild.owner.post(f"{path}/bulk-delete", json={"messages": many})).refused(400, 50016)
    (await guild.owner.post(f"{path}/bulk-delete", json={"messages": [*ids, old["id"]]})).refused(400, 50034)
    unknown = str(int(ids[2]) + 1)
    (await guild.owner.post(f"{path}/bulk-delete", json={"messages": [*ids[:2], unknown]})).ok()
    assert (await session.next("MESSAGE_DELETE_BULK"))["ids"] == ids[:2]
    assert [each["id"] for each in (await bob.get(path)).ok()] == [ids[2], old["id"]]
    entry = (await guild.owner.get(f"/guilds/{guild.id}/audit-logs?action_type=73")).ok()["audit_log_entries"][0]
    assert (entry["target_id"], entry["options"]) == (str(guild.general), {"count": "2"})


async def test_a_ban_takes_the_latest_messages_with_it(world: World) -> None:
    bob = await world.user()
    guild = await world.guild(None, bob)
    other = await guild.channel("other")
    bot = await world.bot(guild)
    early = await guild.say(bob, "early")
    world.clock.advance(3_600_000)
    late = await guild.say(bob, "late")
    await guild.say(bob, "late", channel=other)
    kept = await guild.say(guild.owner, "kept")
    session = await bot.connect()
    (await guild.owner.put(f"/guilds/{guild.id}/bans/{bob.id}", json={"delete_message_seconds": 60})).ok()
    gone = [await session.next("MESSAGE_DELETE_BULK"), await session.next("MESSAGE_DELETE_BULK")]
    assert {each["channel_id"] for each in gone} == {str(guild.general), str(other)}
    assert late["id"] in {message for each in gone for message in each["ids"]}
    left = [each["id"] for each in (await guild.owner.get(f"/channels/{guild.general}/messages")).ok()]
    assert left == [kept["id"], early["id"]]


# Announcements and private channels


async def test_an_announcement_is_published_once(world: World) -> None:
    bob = await world.user()
    guild = await world.guild(None, bob)
    said = await guild.say(bob, "news")
    path = f"/channels/{guild.general}/messages/{said['id']}/crosspost"
    (await bob.post(path)).refused(400, 50024)
    await set_type(world, guild.general, 5)
    assert (await bob.post(path)).ok()["flags"] == MessageFlags.CROSSPOSTED
    (await bob.post(path)).refused(400, 40033)
    other = await guild.say(guild.owner, "news")
    (await bob.post(f"/channels/{guild.general}/messages/{other['id']}/crosspost")).refused(403, 50013)


async def test_a_direct_message_reaches_both_with_its_content(world: World) -> None:
    bob = await world.user()
    guild = await world.guild(None, bob)
    bot = await world.bot(guild, flags=0)
    session = await bot.connect(NO_CONTENT)
    channel = await private_channel(world, bot, bob)
    said = (await bob.post(f"/channels/{channel}/messages", json={"content": "psst @everyone"})).ok()
    assert said["mention_everyone"] is False
    told = await session.next("MESSAGE_CREATE")
    assert told["content"] == "psst @everyone"
    assert "guild_id" not in told
    assert "member" not in told
    answer = (await bot.post(f"/channels/{channel}/messages", json={"content": "yes"})).ok()
    (await bob.delete(f"/channels/{channel}/messages/{answer['id']}")).refused(400, 50003)
    (await guild.owner.get(f"/channels/{channel}/messages")).refused(403, 50001)


async def test_a_bot_cannot_write_to_strangers_or_bots(world: World) -> None:
    guild = await world.guild()
    bot, other, stranger = await world.bot(guild), await world.bot(guild), await world.user()
    channel = await private_channel(world, bot, stranger)
    (await bot.post(f"/channels/{channel}/messages", json={"content": "hi"})).refused(403, 50278)
    channel = await private_channel(world, bot, other)
    (await bot.post(f"/channels/{channel}/messages", json={"content": "hi"})).refused(403, 50007)


# What other slices ask for


def call_channel(call: Any, channel_id: int) -> Any:
    """A channel as access knows it."""
    from hubbub.server.core import access

    found = access.find_channel(call.tx, channel_id)
    assert found is not None
    return found


async def test_flags_and_pins_are_told_as_updates(world: World) -> None:
    guild = await world.guild()
    bot = await world.bot(guild)
    said = await guild.say(guild.owner)
    session = await bot.connect()

    def change(call: Any) -> None:
        channel = call_channel(call, guild.general)
        messages.set_flags(call, channel, int(said["id"]), on=MessageFlags.SUPPRESS_NOTIFICATIONS)
        messages.set_pinned(call, messages.get(call.tx, guild.general, int(said["id"])), call.now)

    await world.write(change, actor=guild.owner.id)
    assert (await session.next("MESSAGE_UPDATE"))["flags"] == MessageFlags.SUPPRESS_NOTIFICATIONS
    assert (await session.next("MESSAGE_UPDATE"))["pinned"] is True


async def test_messages_of_a_guild_are_found_by_their_author(world: World) -> None:
    bob = await world.user()
    guild, other = await world.guild(None, bob), await world.guild(None, bob)
    await guild.say(bob)
    kept = await other.say(bob)
    await world.write(
        lambda call: messages.delete_of_user_since(call, GuildId(guild.id), UserId(bob.id), NOW_MS - 1),
        actor=guild.owner.id,
    )
    assert (await bob.get(f"/channels/{guild.general}/messages")).ok() == []
    assert [each["id"] for each in (await bob.get(f"/channels/{other.general}/messages")).ok()] == [kept["id"]]


async def test_a_closed_thread_keeps_its_messages_as_they_are(world: World) -> None:
    bob = await world.user()
    guild = await world.guild(None, bob)
    said = await guild.say(bob)
    path = f"/channels/{guild.general}/messages"
    await world.write(lambda call: call.tx.run("UPDATE channels SET archived = 1 WHERE id = ?", guild.general))
    (await bob.patch(f"{path}/{said['id']}", json={"content": "x"})).refused(400, 50083)
    (await bob.delete(f"{path}/{said['id']}")).refused(400, 50083)
    await world.write(
        lambda call: call.tx.run("UPDATE channels SET archived = 0, locked = 1 WHERE id = ?", guild.general)
    )
    (await bob.patch(f"{path}/{said['id']}", json={"content": "x"})).refused(400, 160005)
    (await bob.post(path, json={"content": "x"})).refused(400, 160005)
    (await guild.owner.post(path, json={"content": "x"})).ok()


async def test_forwards_have_a_limit_of_their_own(world: World) -> None:
    guild = await world.guild()
    source = await guild.say(guild.owner)
    reference = {"type": 1, "message_id": source["id"], "channel_id": str(guild.general)}

    def left(call: Any) -> None:
        call.config = msgspec.structs.replace(call.config, rate_limits="real")
        rules.require_forwards_left(call)

    for _ in range(5):
        await world.write(left, actor=guild.owner.id)
        await guild.say(guild.owner, "", message_reference=reference)
    with pytest.raises(errors.ApiError) as refused:
        await world.write(left, actor=guild.owner.id)
    assert refused.value.status == 429
    assert refused.value.extra["retry_after"] == 10.0
    world.clock.advance(10_000)
    await world.write(left, actor=guild.owner.id)


async def test_what_was_said_in_a_deleted_channel_is_forgotten(world: World) -> None:
    guild = await world.guild()
    channel = await guild.channel("short-lived")
    await guild.say(guild.owner, "x", channel=channel)
    (await guild.owner.delete(f"/channels/{channel}")).ok()

    def forget(call: Any) -> int:
        payload = f'{{"channel_id":{channel}}}'
        job = Job(id=1, kind="", key="", due_ms=0, payload=payload, attempts=0, first_tried_ms=None)
        jobs.forget_channel(call, job)
        return int(call.tx.value("SELECT COUNT(*) FROM messages WHERE channel_id = ?", channel))

    assert await world.write(forget) == 0


async def test_a_page_of_plain_messages_is_encoded_as_each_message_would_be(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    guild = await world.guild(alice, bob)
    for actor, words in (
        (alice, 'quotes " and \\ and \x01'),
        (bob, "ünïcödé 🎉"),
        (alice, "plain"),
        (bob, f"<@{alice.id}>"),
    ):
        await guild.say(actor, words)

    page = (await alice.get(f"/channels/{guild.general}/messages")).ok()

    singles = [(await alice.get(f"/channels/{guild.general}/messages/{each['id']}")).ok() for each in page]
    assert page == singles


@pytest.mark.parametrize("nonce", [True, 1.5, [], {}])
async def test_a_nonce_of_another_kind_is_refused_by_its_own_name(world: World, nonce: object) -> None:
    guild = await world.guild()

    answer = await guild.owner.post(f"/channels/{guild.general}/messages", json={"content": "x", "nonce": nonce})

    assert answer.errors("nonce") == ["NONCE_TYPE_INVALID_TYPE"]

"""Stages: who opens and closes them, who speaks on them, and when they close by themselves."""

from typing import Any

import pytest

from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources.stage_instances import STAGE_IDLE_MS, STAGE_MODERATOR
from hubbub.server.resources import members
from tests.world import Actor, Guild, Session, World

STAGE = 13


async def join(session: Session, guild: Guild, channel: int | None) -> Any:
    """Connect or leave, and answer one's own state."""
    where = None if channel is None else str(channel)
    body = {"guild_id": str(guild.id), "channel_id": where, "self_mute": False, "self_deaf": False}
    await session.send(4, body)
    return await session.next("VOICE_STATE_UPDATE", lambda state: state["user_id"] == str(session.actor.id))


async def opened(actor: Actor, channel: int, **body: Any) -> Any:
    """A stage that is live."""
    return (await actor.post("/stage-instances", json={"channel_id": str(channel), "topic": "hello", **body})).ok()


@pytest.fixture
async def guild(world: World) -> Guild:
    guild = await world.guild()
    await guild.channel("stage", type=STAGE)
    return guild


@pytest.fixture
def stage(guild: Guild) -> int:
    return guild.channels["stage"]


# Opening, changing, closing


async def test_a_stage_opens_changes_and_closes(world: World, guild: Guild, stage: int) -> None:
    bot = await world.bot(guild, permissions=STAGE_MODERATOR)
    session = await guild.owner.connect()
    made = await opened(bot, stage, topic="chess", privacy_level=2)
    assert made == {
        "id": made["id"],
        "guild_id": str(guild.id),
        "channel_id": str(stage),
        "topic": "chess",
        "privacy_level": 2,
        "discoverable_disabled": True,
        "guild_scheduled_event_id": None,
    }
    assert await session.next("STAGE_INSTANCE_CREATE") == made
    entry = await guild.last_audit_entry(83)
    assert (entry["target_id"], entry["options"]) == (made["id"], {"channel_id": str(stage)})
    assert {"key": "topic", "new_value": "chess"} in entry["changes"]
    assert (await bot.get(f"/stage-instances/{stage}")).ok() == made
    fresh = await bot.connect()
    assert fresh.guilds[str(guild.id)]["stage_instances"] == [made]

    changed = (await bot.patch(f"/stage-instances/{stage}", json={"topic": "go"})).ok()
    assert changed == made | {"topic": "go"}
    assert await session.next("STAGE_INSTANCE_UPDATE") == changed
    assert (await guild.last_audit_entry(84))["changes"] == [{"key": "topic", "old_value": "chess", "new_value": "go"}]
    (await bot.patch(f"/stage-instances/{stage}", json={"topic": "go"})).ok()
    await session.none_of("STAGE_INSTANCE_UPDATE")

    assert (await bot.delete(f"/stage-instances/{stage}", headers={"X-Audit-Log-Reason": "over"})).status == 204
    assert await session.next("STAGE_INSTANCE_DELETE") == changed
    assert (await guild.last_audit_entry(85))["reason"] == "over"
    for method in (bot.get, bot.delete):
        (await method(f"/stage-instances/{stage}")).refused(404, 10067)
    (await bot.patch(f"/stage-instances/{stage}", json={})).refused(404, 10067)


async def test_a_stage_is_open_once(guild: Guild, stage: int) -> None:
    await opened(guild.owner, stage)
    body = {"channel_id": str(stage), "topic": "again"}
    (await guild.owner.post("/stage-instances", json=body)).refused(400, 150006)


async def test_only_moderators_open_change_and_close(world: World, guild: Guild, stage: int) -> None:
    bot = await world.bot(guild, permissions=STAGE_MODERATOR & ~Permissions.MOVE_MEMBERS)
    body = {"channel_id": str(stage), "topic": "mine"}
    (await bot.post("/stage-instances", json=body)).refused(403, 50013)
    await opened(guild.owner, stage)
    (await bot.get(f"/stage-instances/{stage}")).ok()
    (await bot.patch(f"/stage-instances/{stage}", json={"topic": "x"})).refused(403, 50013)
    (await bot.delete(f"/stage-instances/{stage}")).refused(403, 50013)
    await guild.overwrite(stage, bot.id, deny=Permissions.VIEW_CHANNEL)
    (await bot.get(f"/stage-instances/{stage}")).refused(403, 50001)
    stranger = await world.user()
    (await stranger.get(f"/stage-instances/{stage}")).refused(403, 50001)
    (await stranger.post("/stage-instances", json=body)).refused(403, 50001)
    (await guild.owner.get("/stage-instances/1")).refused(404, 10003)


async def test_a_notification_needs_mention_everyone(world: World, guild: Guild, stage: int) -> None:
    bot = await world.bot(guild, permissions=STAGE_MODERATOR)
    await guild.overwrite(stage, bot.id, deny=Permissions.MENTION_EVERYONE)
    body = {"channel_id": str(stage), "topic": "all", "send_start_notification": True}
    (await bot.post("/stage-instances", json=body)).refused(403, 50013)
    (await guild.owner.post("/stage-instances", json=body)).ok()


async def test_a_stage_needs_a_stage_channel_and_a_topic(guild: Guild, stage: int) -> None:
    body = {"channel_id": str(guild.general), "topic": "x"}
    (await guild.owner.post("/stage-instances", json=body)).refused(400, 50024)
    for topic in ("", "x" * 121):
        answer = await guild.owner.post("/stage-instances", json={"channel_id": str(stage), "topic": topic})
        assert answer.errors("topic") == ["BASE_TYPE_BAD_LENGTH"]
    answer = await guild.owner.post("/stage-instances", json={"channel_id": str(stage), "privacy_level": 7})
    assert answer.errors("topic") == ["BASE_TYPE_REQUIRED"]
    assert answer.errors("privacy_level")


async def test_who_does_not_see_the_stage_hears_nothing_until_they_do(world: World, guild: Guild, stage: int) -> None:
    bot = await world.bot(guild)
    await guild.overwrite(stage, bot.id, deny=Permissions.VIEW_CHANNEL)
    session = await bot.connect()
    made = await opened(guild.owner, stage)
    await session.none_of("STAGE_INSTANCE_CREATE")
    fresh = await bot.connect()
    assert fresh.guilds[str(guild.id)]["stage_instances"] == []
    await guild.overwrite(stage, bot.id, allow=Permissions.VIEW_CHANNEL)
    assert await session.next("STAGE_INSTANCE_CREATE") == made


async def test_a_deleted_channel_takes_its_stage_with_it(world: World, guild: Guild, stage: int) -> None:
    session = await guild.owner.connect()
    made = await opened(guild.owner, stage)
    (await guild.owner.delete(f"/channels/{stage}")).ok()
    assert await session.next("STAGE_INSTANCE_DELETE") == made
    await session.next("CHANNEL_DELETE")


# By itself


async def test_a_stage_closes_when_its_last_speaker_has_been_gone_for_a_while(
    world: World, guild: Guild, stage: int
) -> None:
    session = await guild.owner.connect()
    made = await opened(guild.owner, stage)
    assert (await join(session, guild, stage))["suppress"] is False
    world.clock.advance(10 * STAGE_IDLE_MS)
    (await guild.owner.get(f"/stage-instances/{stage}")).ok()
    await join(session, guild, None)
    world.clock.advance(STAGE_IDLE_MS - 1)
    await session.none_of("STAGE_INSTANCE_DELETE")
    world.clock.advance(1)
    assert await session.next("STAGE_INSTANCE_DELETE") == made
    (await guild.owner.get(f"/stage-instances/{stage}")).refused(404, 10067)


async def test_a_speaker_who_comes_back_in_time_keeps_the_stage_open(world: World, guild: Guild, stage: int) -> None:
    session = await guild.owner.connect()
    await opened(guild.owner, stage)
    world.clock.advance(STAGE_IDLE_MS - 1)
    await join(session, guild, stage)
    world.clock.advance(STAGE_IDLE_MS)
    await session.none_of("STAGE_INSTANCE_DELETE")
    (await guild.owner.get(f"/stage-instances/{stage}")).ok()


# Who speaks


@pytest.fixture
async def bob(world: World, guild: Guild) -> Actor:
    from hubbub.server.resources import members

    bob = await world.user("bob")
    await world.write(lambda call: members.add(call, guild.id, bob.id), actor=guild.owner.id)
    return bob


async def own_state(actor: Actor, guild: Guild) -> Any:
    """One's own voice state."""
    return (await actor.get(f"/guilds/{guild.id}/voice-states/@me")).ok()


async def test_one_raises_a_hand_and_lowers_it(world: World, guild: Guild, stage: int, bob: Actor) -> None:
    session = await bob.connect()
    assert (await join(session, guild, stage))["suppress"] is True
    path = f"/guilds/{guild.id}/voice-states/@me"
    body = {"channel_id": str(stage), "request_to_speak_timestamp": "2030-01-01T00:00:00+00:00"}
    assert (await bob.patch(path, json=body)).status == 204
    raised = await session.next("VOICE_STATE_UPDATE")
    assert raised["request_to_speak_timestamp"] == "2030-01-01T00:00:00.000000+00:00"
    assert await own_state(bob, guild) == raised
    (await bob.patch(path, json={"request_to_speak_timestamp": None})).ok()
    assert (await session.next("VOICE_STATE_UPDATE"))["request_to_speak_timestamp"] is None
    await guild.overwrite(stage, bob.id, deny=Permissions.REQUEST_TO_SPEAK)
    (await bob.patch(path, json=body)).refused(403, 50013)
    assert (await bob.patch(path, json={"suppress": 3})).errors("suppress")


async def test_to_speak_one_must_be_able_to_mute_to_listen_nothing(
    world: World, guild: Guild, stage: int, bob: Actor
) -> None:
    session = await bob.connect()
    await join(session, guild, stage)
    path = f"/guilds/{guild.id}/voice-states/@me"
    (await bob.patch(path, json={"suppress": False})).refused(403, 50013)
    await guild.overwrite(stage, bob.id, allow=Permissions.MUTE_MEMBERS)
    (await bob.patch(path, json={"suppress": False})).ok()
    assert (await session.next("VOICE_STATE_UPDATE"))["suppress"] is False
    await guild.overwrite(stage, bob.id)
    (await bob.patch(path, json={"suppress": True})).ok()
    assert (await session.next("VOICE_STATE_UPDATE"))["suppress"] is True


async def test_moderators_let_others_speak_and_send_them_back(
    world: World, guild: Guild, stage: int, bob: Actor
) -> None:
    session = await bob.connect()
    await join(session, guild, stage)
    path = f"/guilds/{guild.id}/voice-states/{bob.id}"
    body = {"channel_id": str(stage), "suppress": False}
    (await guild.owner.patch(path, json=body)).ok()
    invited = await session.next("VOICE_STATE_UPDATE")
    assert invited["suppress"] is False
    assert invited["request_to_speak_timestamp"] is not None
    entry = await guild.last_audit_entry(24)
    assert (entry["target_id"], entry["changes"]) == (
        str(bob.id),
        [{"key": "suppress", "old_value": True, "new_value": False}],
    )
    (await guild.owner.patch(path, json=body)).ok()
    await session.none_of("VOICE_STATE_UPDATE")
    (await guild.owner.patch(path, json={"suppress": True})).ok()
    silenced = await session.next("VOICE_STATE_UPDATE")
    assert (silenced["suppress"], silenced["request_to_speak_timestamp"]) == (True, None)
    moderator = await world.bot(guild)
    (await moderator.patch(path, json=body)).refused(403, 50013)


async def test_a_bot_that_may_speak_is_not_asked(world: World, guild: Guild, stage: int) -> None:
    bot = await world.bot(guild)
    session = await bot.connect()
    await join(session, guild, stage)
    (await guild.owner.patch(f"/guilds/{guild.id}/voice-states/{bot.id}", json={"suppress": False})).ok()
    state = await session.next("VOICE_STATE_UPDATE")
    assert (state["suppress"], state["request_to_speak_timestamp"]) == (False, None)


async def test_voice_states_change_on_the_stage_one_is_on_only(
    world: World, guild: Guild, stage: int, bob: Actor
) -> None:
    lounge = await guild.channel("Lounge", type=2)
    session = await bob.connect()
    own, others = f"/guilds/{guild.id}/voice-states/@me", f"/guilds/{guild.id}/voice-states/{bob.id}"
    (await bob.patch(own, json={"suppress": True})).refused(404, 10065)
    (await guild.owner.patch(others, json={"suppress": True})).refused(404, 10065)
    await join(session, guild, lounge)
    (await bob.patch(own, json={"suppress": True})).refused(400, 50024)
    (await bob.patch(own, json={"channel_id": str(stage), "suppress": True})).refused(404, 10065)
    (await guild.owner.patch(others, json={"suppress": True})).refused(400, 50024)
    stranger = await world.user()
    (await stranger.patch(own, json={})).refused(403, 50001)
    (await stranger.patch(others, json={})).refused(403, 50001)


# Regions


async def test_there_is_one_voice_region(world: World, guild: Guild) -> None:
    regions = (await guild.owner.get("/voice/regions")).ok()
    assert [region["id"] for region in regions if region["optimal"]] == ["local"]
    assert (await guild.owner.get(f"/guilds/{guild.id}/regions")).ok() == regions
    (await (await world.user()).get(f"/guilds/{guild.id}/regions")).refused(403, 50001)
    assert (await world.request("GET", "/voice/regions")).status == 401


# What its chat shows


async def chat(guild: Guild, stage: int) -> list[tuple[int, str, str]]:
    """The messages of a stage's chat, the oldest first: type, who and what."""
    found = (await guild.owner.get(f"/channels/{stage}/messages")).ok()
    return [(each["type"], each["author"]["id"], each["content"]) for each in reversed(found)]


async def test_a_stages_chat_shows_what_happens_on_it(world: World, guild: Guild, stage: int) -> None:
    bob = await world.user("bob")
    await world.write(lambda call: members.add(call, guild.id, bob.id), actor=guild.owner.id)
    owner, bobs = str(guild.owner.id), await bob.connect()
    await opened(guild.owner, stage, topic="chess")
    (await guild.owner.patch(f"/stage-instances/{stage}", json={"topic": "go"})).ok()
    (await guild.owner.patch(f"/stage-instances/{stage}", json={"privacy_level": 2})).ok()
    assert (await join(bobs, guild, stage))["suppress"] is True
    bot = await world.bot(guild)
    session = await bot.connect()
    assert (await join(session, guild, stage))["suppress"] is True
    path = f"/guilds/{guild.id}/voice-states/{bot.id}"
    (await guild.owner.patch(path, json={"channel_id": str(stage), "suppress": False})).ok()
    (await guild.owner.delete(f"/stage-instances/{stage}")).ok()

    assert await chat(guild, stage) == [
        (27, owner, "chess"),
        (31, owner, "go"),
        (29, str(bot.id), ""),
        (28, owner, "go"),
    ]


async def test_a_stage_that_closes_by_itself_says_so_for_its_opener(world: World, guild: Guild, stage: int) -> None:
    session = await guild.owner.connect()
    await opened(guild.owner, stage)
    world.clock.advance(STAGE_IDLE_MS)
    await session.next("STAGE_INSTANCE_DELETE")

    assert (await chat(guild, stage))[-1] == (28, str(guild.owner.id), "hello")


async def test_a_stage_may_be_announced_to_everyone(world: World, guild: Guild, stage: int) -> None:
    for notify in (False, True):
        await opened(guild.owner, stage, send_start_notification=notify)
        (start,) = [
            each for each in (await guild.owner.get(f"/channels/{stage}/messages?limit=1")).ok() if each["type"] == 27
        ]
        assert start["mention_everyone"] is notify
        (await guild.owner.delete(f"/stage-instances/{stage}")).ok()


async def test_a_deleted_stage_takes_its_chat_along(guild: Guild, stage: int) -> None:
    await opened(guild.owner, stage)
    session = await guild.owner.connect()
    (await guild.owner.delete(f"/channels/{stage}")).ok()
    await session.next("STAGE_INSTANCE_DELETE")
    await session.none_of("MESSAGE_CREATE")

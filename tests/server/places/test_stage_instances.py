"""Stage instances: creation, deletion, automatic closing, speakers, voice regions, and system messages."""

from typing import Any

import pytest

from hubbub.protocol.enums import AuditLogAction, ChannelType, MessageType
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources.stage_instances import STAGE_IDLE_MS, STAGE_MODERATOR_PERMISSIONS
from hubbub.server.places import members
from tests.world import Actor, Guild, World


async def create_stage(actor: Actor, channel_id: int, **body: Any) -> Any:
    """Create a stage instance and return it; the topic is "hello" by default."""
    return (await actor.post("/stage-instances", json={"channel_id": str(channel_id), "topic": "hello", **body})).ok()


@pytest.fixture
async def guild(world: World) -> Guild:
    """A guild with a stage channel."""
    guild = await world.guild()
    await guild.channel("stage", type=ChannelType.GUILD_STAGE_VOICE)
    return guild


@pytest.fixture
def stage_channel_id(guild: Guild) -> int:
    return guild.channels["stage"]


# Creating, updating, deleting


async def test_a_stage_is_created_updated_and_deleted(world: World, guild: Guild, stage_channel_id: int) -> None:
    bot = await world.bot(guild, permissions=STAGE_MODERATOR_PERMISSIONS)
    session = await guild.owner.connect()
    stage = await create_stage(bot, stage_channel_id, topic="chess", privacy_level=2)
    assert stage == {
        "id": stage["id"],
        "guild_id": str(guild.id),
        "channel_id": str(stage_channel_id),
        "topic": "chess",
        "privacy_level": 2,
        "discoverable_disabled": True,
        "guild_scheduled_event_id": None,
    }
    assert await session.next("STAGE_INSTANCE_CREATE") == stage
    audit_entry = await guild.last_audit_entry(AuditLogAction.STAGE_INSTANCE_CREATE)
    assert (audit_entry["target_id"], audit_entry["options"]) == (stage["id"], {"channel_id": str(stage_channel_id)})
    assert {"key": "topic", "new_value": "chess"} in audit_entry["changes"]
    assert (await bot.get(f"/stage-instances/{stage_channel_id}")).ok() == stage
    bot_session = await bot.connect()
    assert bot_session.guilds[str(guild.id)]["stage_instances"] == [stage]

    changed_stage = (await bot.patch(f"/stage-instances/{stage_channel_id}", json={"topic": "go"})).ok()
    assert changed_stage == stage | {"topic": "go"}
    assert await session.next("STAGE_INSTANCE_UPDATE") == changed_stage
    assert (await guild.last_audit_entry(AuditLogAction.STAGE_INSTANCE_UPDATE))["changes"] == [
        {"key": "topic", "old_value": "chess", "new_value": "go"}
    ]
    (await bot.patch(f"/stage-instances/{stage_channel_id}", json={"topic": "go"})).ok()
    await session.assert_not_received("STAGE_INSTANCE_UPDATE")

    assert (
        await bot.delete(f"/stage-instances/{stage_channel_id}", headers={"X-Audit-Log-Reason": "over"})
    ).status == 204
    assert await session.next("STAGE_INSTANCE_DELETE") == changed_stage
    assert (await guild.last_audit_entry(AuditLogAction.STAGE_INSTANCE_DELETE))["reason"] == "over"
    for method in (bot.get, bot.delete):
        (await method(f"/stage-instances/{stage_channel_id}")).rejected(404, 10067)
    (await bot.patch(f"/stage-instances/{stage_channel_id}", json={})).rejected(404, 10067)


async def test_a_channel_has_at_most_one_stage(guild: Guild, stage_channel_id: int) -> None:
    await create_stage(guild.owner, stage_channel_id)
    body = {"channel_id": str(stage_channel_id), "topic": "again"}
    (await guild.owner.post("/stage-instances", json=body)).rejected(400, 150006)


async def test_only_moderators_change_stages(world: World, guild: Guild, stage_channel_id: int) -> None:
    bot = await world.bot(guild, permissions=STAGE_MODERATOR_PERMISSIONS & ~Permissions.MOVE_MEMBERS)
    body = {"channel_id": str(stage_channel_id), "topic": "mine"}
    (await bot.post("/stage-instances", json=body)).rejected(403, 50013)
    await create_stage(guild.owner, stage_channel_id)
    (await bot.get(f"/stage-instances/{stage_channel_id}")).ok()
    (await bot.patch(f"/stage-instances/{stage_channel_id}", json={"topic": "x"})).rejected(403, 50013)
    (await bot.delete(f"/stage-instances/{stage_channel_id}")).rejected(403, 50013)
    await guild.overwrite(stage_channel_id, bot.id, deny=Permissions.VIEW_CHANNEL)
    (await bot.get(f"/stage-instances/{stage_channel_id}")).rejected(403, 50001)
    stranger = await world.user()
    (await stranger.get(f"/stage-instances/{stage_channel_id}")).rejected(403, 50001)
    (await stranger.post("/stage-instances", json=body)).rejected(403, 50001)
    (await guild.owner.get("/stage-instances/1")).rejected(404, 10003)


async def test_a_start_notification_requires_mention_everyone(
    world: World, guild: Guild, stage_channel_id: int
) -> None:
    bot = await world.bot(guild, permissions=STAGE_MODERATOR_PERMISSIONS)
    await guild.overwrite(stage_channel_id, bot.id, deny=Permissions.MENTION_EVERYONE)
    body = {"channel_id": str(stage_channel_id), "topic": "all", "send_start_notification": True}
    (await bot.post("/stage-instances", json=body)).rejected(403, 50013)
    (await guild.owner.post("/stage-instances", json=body)).ok()


async def test_a_stage_requires_a_stage_channel_and_a_topic(guild: Guild, stage_channel_id: int) -> None:
    body = {"channel_id": str(guild.general), "topic": "x"}
    (await guild.owner.post("/stage-instances", json=body)).rejected(400, 50024)
    for topic in ("", "x" * 121):
        response = await guild.owner.post(
            "/stage-instances", json={"channel_id": str(stage_channel_id), "topic": topic}
        )
        assert response.errors("topic") == ["BASE_TYPE_BAD_LENGTH"]
    response = await guild.owner.post(
        "/stage-instances", json={"channel_id": str(stage_channel_id), "privacy_level": 7}
    )
    assert response.errors("topic") == ["BASE_TYPE_REQUIRED"]
    assert response.errors("privacy_level")


async def test_members_who_cannot_view_the_channel_receive_no_stage_events(
    world: World, guild: Guild, stage_channel_id: int
) -> None:
    bot = await world.bot(guild)
    await guild.overwrite(stage_channel_id, bot.id, deny=Permissions.VIEW_CHANNEL)
    session = await bot.connect()
    stage = await create_stage(guild.owner, stage_channel_id)
    await session.assert_not_received("STAGE_INSTANCE_CREATE")
    bot_session = await bot.connect()
    assert bot_session.guilds[str(guild.id)]["stage_instances"] == []
    await guild.overwrite(stage_channel_id, bot.id, allow=Permissions.VIEW_CHANNEL)
    assert await session.next("STAGE_INSTANCE_CREATE") == stage


async def test_deleting_a_channel_deletes_its_stage(world: World, guild: Guild, stage_channel_id: int) -> None:
    session = await guild.owner.connect()
    stage = await create_stage(guild.owner, stage_channel_id)
    (await guild.owner.delete(f"/channels/{stage_channel_id}")).ok()
    assert await session.next("STAGE_INSTANCE_DELETE") == stage
    await session.next("CHANNEL_DELETE")


# Automatic closing


async def test_a_stage_closes_after_its_last_speaker_left(world: World, guild: Guild, stage_channel_id: int) -> None:
    session = await guild.owner.connect()
    stage = await create_stage(guild.owner, stage_channel_id)
    assert (await session.join_voice(guild, stage_channel_id))["suppress"] is False
    world.clock.advance(10 * STAGE_IDLE_MS)
    (await guild.owner.get(f"/stage-instances/{stage_channel_id}")).ok()
    await session.join_voice(guild, None)
    world.clock.advance(STAGE_IDLE_MS - 1)
    await session.assert_not_received("STAGE_INSTANCE_DELETE")
    world.clock.advance(1)
    assert await session.next("STAGE_INSTANCE_DELETE") == stage
    (await guild.owner.get(f"/stage-instances/{stage_channel_id}")).rejected(404, 10067)


async def test_a_speaker_who_joins_in_time_keeps_the_stage_open(
    world: World, guild: Guild, stage_channel_id: int
) -> None:
    session = await guild.owner.connect()
    await create_stage(guild.owner, stage_channel_id)
    world.clock.advance(STAGE_IDLE_MS - 1)
    await session.join_voice(guild, stage_channel_id)
    world.clock.advance(STAGE_IDLE_MS)
    await session.assert_not_received("STAGE_INSTANCE_DELETE")
    (await guild.owner.get(f"/stage-instances/{stage_channel_id}")).ok()


# Speakers


@pytest.fixture
async def bob(world: World, guild: Guild) -> Actor:
    """A member with only the permissions of @everyone."""
    bob = await world.user("bob")
    await world.write(lambda call: members.membership.add(call, guild.id, bob.id), actor=guild.owner.id)
    return bob


async def get_own_state(actor: Actor, guild: Guild) -> Any:
    """Return the actor's own voice state."""
    return (await actor.get(f"/guilds/{guild.id}/voice-states/@me")).ok()


async def test_a_member_requests_to_speak_and_cancels_the_request(
    world: World, guild: Guild, stage_channel_id: int, bob: Actor
) -> None:
    session = await bob.connect()
    assert (await session.join_voice(guild, stage_channel_id))["suppress"] is True
    path = f"/guilds/{guild.id}/voice-states/@me"
    body = {"channel_id": str(stage_channel_id), "request_to_speak_timestamp": "2030-01-01T00:00:00+00:00"}
    assert (await bob.patch(path, json=body)).status == 204
    state_update = await session.next("VOICE_STATE_UPDATE")
    assert state_update["request_to_speak_timestamp"] == "2030-01-01T00:00:00.000000+00:00"
    assert await get_own_state(bob, guild) == state_update
    (await bob.patch(path, json={"request_to_speak_timestamp": None})).ok()
    assert (await session.next("VOICE_STATE_UPDATE"))["request_to_speak_timestamp"] is None
    await guild.overwrite(stage_channel_id, bob.id, deny=Permissions.REQUEST_TO_SPEAK)
    (await bob.patch(path, json=body)).rejected(403, 50013)
    assert (await bob.patch(path, json={"suppress": 3})).errors("suppress")


async def test_unsuppressing_yourself_requires_mute_members(
    world: World, guild: Guild, stage_channel_id: int, bob: Actor
) -> None:
    session = await bob.connect()
    await session.join_voice(guild, stage_channel_id)
    path = f"/guilds/{guild.id}/voice-states/@me"
    (await bob.patch(path, json={"suppress": False})).rejected(403, 50013)
    await guild.overwrite(stage_channel_id, bob.id, allow=Permissions.MUTE_MEMBERS)
    (await bob.patch(path, json={"suppress": False})).ok()
    assert (await session.next("VOICE_STATE_UPDATE"))["suppress"] is False
    await guild.overwrite(stage_channel_id, bob.id)
    (await bob.patch(path, json={"suppress": True})).ok()
    assert (await session.next("VOICE_STATE_UPDATE"))["suppress"] is True


async def test_moderators_invite_speakers_and_suppress_them_again(
    world: World, guild: Guild, stage_channel_id: int, bob: Actor
) -> None:
    session = await bob.connect()
    await session.join_voice(guild, stage_channel_id)
    path = f"/guilds/{guild.id}/voice-states/{bob.id}"
    body = {"channel_id": str(stage_channel_id), "suppress": False}
    (await guild.owner.patch(path, json=body)).ok()
    invite_update = await session.next("VOICE_STATE_UPDATE")
    assert invite_update["suppress"] is False
    assert invite_update["request_to_speak_timestamp"] is not None
    audit_entry = await guild.last_audit_entry(AuditLogAction.MEMBER_UPDATE)
    assert (audit_entry["target_id"], audit_entry["changes"]) == (
        str(bob.id),
        [{"key": "suppress", "old_value": True, "new_value": False}],
    )
    (await guild.owner.patch(path, json=body)).ok()
    await session.assert_not_received("VOICE_STATE_UPDATE")
    (await guild.owner.patch(path, json={"suppress": True})).ok()
    state_update = await session.next("VOICE_STATE_UPDATE")
    assert (state_update["suppress"], state_update["request_to_speak_timestamp"]) == (True, None)
    other_bot = await world.bot(guild)
    (await other_bot.patch(path, json=body)).rejected(403, 50013)


async def test_a_bot_becomes_a_speaker_without_an_invitation(world: World, guild: Guild, stage_channel_id: int) -> None:
    bot = await world.bot(guild)
    session = await bot.connect()
    await session.join_voice(guild, stage_channel_id)
    (await guild.owner.patch(f"/guilds/{guild.id}/voice-states/{bot.id}", json={"suppress": False})).ok()
    state = await session.next("VOICE_STATE_UPDATE")
    assert (state["suppress"], state["request_to_speak_timestamp"]) == (False, None)


async def test_a_voice_state_changes_only_in_the_members_stage_channel(
    world: World, guild: Guild, stage_channel_id: int, bob: Actor
) -> None:
    lounge_id = await guild.channel("Lounge", type=ChannelType.GUILD_VOICE)
    session = await bob.connect()
    own_path, member_path = f"/guilds/{guild.id}/voice-states/@me", f"/guilds/{guild.id}/voice-states/{bob.id}"
    (await bob.patch(own_path, json={"suppress": True})).rejected(404, 10065)
    (await guild.owner.patch(member_path, json={"suppress": True})).rejected(404, 10065)
    await session.join_voice(guild, lounge_id)
    (await bob.patch(own_path, json={"suppress": True})).rejected(400, 50024)
    (await bob.patch(own_path, json={"channel_id": str(stage_channel_id), "suppress": True})).rejected(404, 10065)
    (await guild.owner.patch(member_path, json={"suppress": True})).rejected(400, 50024)
    stranger = await world.user()
    (await stranger.patch(own_path, json={})).rejected(403, 50001)
    (await stranger.patch(member_path, json={})).rejected(403, 50001)


# Regions


async def test_there_is_one_voice_region(world: World, guild: Guild) -> None:
    regions = (await guild.owner.get("/voice/regions")).ok()
    assert [region["id"] for region in regions if region["optimal"]] == ["local"]
    assert (await guild.owner.get(f"/guilds/{guild.id}/regions")).ok() == regions
    (await (await world.user()).get(f"/guilds/{guild.id}/regions")).rejected(403, 50001)
    assert (await world.request("GET", "/voice/regions")).status == 401


# System messages


async def list_chat_messages(guild: Guild, stage_channel_id: int) -> list[tuple[int, str, str]]:
    """Return the messages of a stage channel, oldest first: type, author ID and content."""
    messages = (await guild.owner.get(f"/channels/{stage_channel_id}/messages")).ok()
    return [(message["type"], message["author"]["id"], message["content"]) for message in reversed(messages)]


async def test_stage_changes_post_system_messages(world: World, guild: Guild, stage_channel_id: int) -> None:
    bob = await world.user("bob")
    await world.write(lambda call: members.membership.add(call, guild.id, bob.id), actor=guild.owner.id)
    owner_id, bob_session = str(guild.owner.id), await bob.connect()
    await create_stage(guild.owner, stage_channel_id, topic="chess")
    (await guild.owner.patch(f"/stage-instances/{stage_channel_id}", json={"topic": "go"})).ok()
    (await guild.owner.patch(f"/stage-instances/{stage_channel_id}", json={"privacy_level": 2})).ok()
    assert (await bob_session.join_voice(guild, stage_channel_id))["suppress"] is True
    bot = await world.bot(guild)
    session = await bot.connect()
    assert (await session.join_voice(guild, stage_channel_id))["suppress"] is True
    path = f"/guilds/{guild.id}/voice-states/{bot.id}"
    (await guild.owner.patch(path, json={"channel_id": str(stage_channel_id), "suppress": False})).ok()
    (await guild.owner.delete(f"/stage-instances/{stage_channel_id}")).ok()

    assert await list_chat_messages(guild, stage_channel_id) == [
        (MessageType.STAGE_START, owner_id, "chess"),
        (MessageType.STAGE_TOPIC, owner_id, "go"),
        (MessageType.STAGE_SPEAKER, str(bot.id), ""),
        (MessageType.STAGE_END, owner_id, "go"),
    ]


async def test_an_automatic_close_posts_a_message_by_the_user_who_created_the_stage(
    world: World, guild: Guild, stage_channel_id: int
) -> None:
    session = await guild.owner.connect()
    await create_stage(guild.owner, stage_channel_id)
    world.clock.advance(STAGE_IDLE_MS)
    await session.next("STAGE_INSTANCE_DELETE")

    assert (await list_chat_messages(guild, stage_channel_id))[-1] == (
        MessageType.STAGE_END,
        str(guild.owner.id),
        "hello",
    )


async def test_a_stage_start_can_notify_everyone(world: World, guild: Guild, stage_channel_id: int) -> None:
    for is_notified in (False, True):
        await create_stage(guild.owner, stage_channel_id, send_start_notification=is_notified)
        (start_message,) = [
            message
            for message in (await guild.owner.get(f"/channels/{stage_channel_id}/messages?limit=1")).ok()
            if message["type"] == MessageType.STAGE_START
        ]
        assert start_message["mention_everyone"] is is_notified
        (await guild.owner.delete(f"/stage-instances/{stage_channel_id}")).ok()


async def test_deleting_a_stage_channel_posts_no_message(guild: Guild, stage_channel_id: int) -> None:
    await create_stage(guild.owner, stage_channel_id)
    session = await guild.owner.connect()
    (await guild.owner.delete(f"/channels/{stage_channel_id}")).ok()
    await session.next("STAGE_INSTANCE_DELETE")
    await session.assert_not_received("MESSAGE_CREATE")

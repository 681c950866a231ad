"""READY with the later events applied equals a fresh READY, after any sequence of actions."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from hubbub.protocol import changes, codec
from hubbub.protocol.enums import (
    ChannelType,
    EventEntityType,
    EventPrivacyLevel,
    EventStatus,
    GatewayOpcode,
    OverwriteType,
    RecurrenceFrequency,
)
from hubbub.protocol.intents import Capabilities
from hubbub.protocol.permissions import Permissions
from hubbub.server.places import members
from tests import media
from tests.journeys.client_state import ClientState, find_differences
from tests.world import Actor, ApiResponse, Guild, Session, World

STEPS_MAX = 25

Choose = Callable[[int], int]
"""A function that returns a number below its argument."""

Action = Callable[["Scenario", Choose], Awaitable[Any]]


@dataclass
class Scenario:
    """A guild, its watchers, and the objects that the actions have created."""

    world: World
    guild: Guild
    carol: Actor
    carol_session: Session
    watchers: list[tuple[Actor, dict[str, Any], Session]]
    """Actors with their additional Identify fields and their sessions."""
    channel_ids: list[int]
    role_ids: list[int]
    thread_ids: list[int] = field(default_factory=list)
    message_keys: list[tuple[int, int]] = field(default_factory=list)
    """Channel ID and message ID of each message."""
    removed_members: list[Actor] = field(default_factory=list)
    private_channel_ids: list[int] = field(default_factory=list)

    @property
    def owner(self) -> Actor:
        """The owner, who performs most actions."""
        return self.guild.owner

    @property
    def other_users(self) -> list[Actor]:
        """All users except the owner."""
        return [self.carol, *(actor for actor, _, _ in self.watchers)]

    @property
    def watching_user(self) -> Actor:
        """The only watcher that is not a bot."""
        return next(actor for actor, _, _ in self.watchers if not actor.is_bot)

    async def check(self) -> None:
        """Check that every watcher's state equals that of a fresh session."""
        for actor, identify, session in self.watchers:
            await session.wait_delivered()
            fresh_session = await actor.connect(**identify)
            updated_state, fresh_state = ClientState(session.dispatches), ClientState(fresh_session.dispatches)
            fresh_state.unknown_last_message_channels = updated_state.unknown_last_message_channels
            await fresh_session.close()
            differences = find_differences(updated_state.snapshot(), fresh_state.snapshot())
            assert not differences, "\n".join([f"the state of {actor.name} differs from a fresh one:", *differences])


def record_created_id(response: ApiResponse, ids: list[int]) -> None:
    """Store the ID of a created object; an error response stores nothing."""
    if response.status < 300:
        ids.append(int(response.json["id"]))


def choose_one(choose: Choose, candidates: list[Any]) -> Any:
    """Return one of the candidates, or None if there are none."""
    return candidates[choose(len(candidates))] if candidates else None


VIEW_CHANNEL, MANAGE_THREADS = Permissions.VIEW_CHANNEL, Permissions.MANAGE_THREADS
ROLE_PERMISSIONS = (
    0,
    VIEW_CHANNEL,
    VIEW_CHANNEL | MANAGE_THREADS,
    Permissions.ADMINISTRATOR,
    Permissions.MENTION_EVERYONE,
)
CHANNEL_TYPES = (
    ChannelType.GUILD_TEXT,
    ChannelType.GUILD_TEXT,
    ChannelType.GUILD_VOICE,
    ChannelType.GUILD_CATEGORY,
    ChannelType.GUILD_STAGE_VOICE,
    ChannelType.GUILD_FORUM,
)
"""Types of created channels; a text channel is twice as likely as the others."""
THREAD_TYPES = (ChannelType.PUBLIC_THREAD, ChannelType.PRIVATE_THREAD)
ENTITY_TYPES = (EventEntityType.STAGE_INSTANCE, EventEntityType.VOICE, EventEntityType.EXTERNAL)


async def create_channel(scenario: Scenario, choose: Choose) -> None:
    """Create a channel of one of `CHANNEL_TYPES`, sometimes hidden or with a parent."""
    body: dict[str, Any] = {"name": f"channel-{choose(9)}", "type": CHANNEL_TYPES[choose(6)]}
    if choose(3) == 0:
        overwrite = {"id": str(scenario.guild.id), "type": OverwriteType.ROLE, "allow": "0", "deny": str(VIEW_CHANNEL)}
        body["permission_overwrites"] = [overwrite]
    if choose(3) == 0 and body["type"] != ChannelType.GUILD_CATEGORY:
        body["parent_id"] = str(choose_one(choose, scenario.channel_ids))
    record_created_id(
        await scenario.owner.post(f"/guilds/{scenario.guild.id}/channels", json=body), scenario.channel_ids
    )


async def edit_channel(scenario: Scenario, choose: Choose) -> None:
    """Change one property of a channel."""
    body = (
        {"name": f"renamed-{choose(9)}"},
        {"topic": f"about {choose(9)}"},
        {"position": choose(4)},
        {"parent_id": str(choose_one(choose, scenario.channel_ids))},
        {"parent_id": None},
        {"nsfw": bool(choose(2))},
    )[choose(6)]
    await scenario.owner.patch(f"/channels/{choose_one(choose, scenario.channel_ids)}", json=body)


async def delete_channel(scenario: Scenario, choose: Choose) -> None:
    """Delete a channel with its threads."""
    channel_id = choose_one(choose, scenario.channel_ids)
    if channel_id is not None and channel_id != scenario.guild.general:
        await scenario.owner.delete(f"/channels/{channel_id}")
        scenario.channel_ids.remove(channel_id)


async def put_overwrite(scenario: Scenario, choose: Choose) -> None:
    """Set the overwrite of a role or member in a channel."""
    if choose(2):
        overwrite_type, target_id = OverwriteType.ROLE, choose_one(choose, [scenario.guild.id, *scenario.role_ids])
    else:
        overwrite_type, target_id = OverwriteType.MEMBER, choose_one(choose, scenario.other_users).id
    allow, deny = ((VIEW_CHANNEL, 0), (0, VIEW_CHANNEL), (0, 0), (MANAGE_THREADS, 0))[choose(4)]
    body = {"type": overwrite_type, "allow": str(allow), "deny": str(deny)}
    path = f"/channels/{choose_one(choose, scenario.channel_ids)}/permissions/{target_id}"
    await scenario.owner.put(path, json=body)


async def delete_overwrite(scenario: Scenario, choose: Choose) -> None:
    target_ids = [scenario.guild.id, *scenario.role_ids, *(actor.id for actor in scenario.other_users)]
    target_id = choose_one(choose, target_ids)
    await scenario.owner.delete(f"/channels/{choose_one(choose, scenario.channel_ids)}/permissions/{target_id}")


async def create_role(scenario: Scenario, choose: Choose) -> None:
    """Create a role with some permissions."""
    body = {"name": f"role-{choose(9)}", "permissions": str(ROLE_PERMISSIONS[choose(5)]), "hoist": bool(choose(2))}
    record_created_id(await scenario.owner.post(f"/guilds/{scenario.guild.id}/roles", json=body), scenario.role_ids)


async def edit_role(scenario: Scenario, choose: Choose) -> None:
    """Change the permissions of a role or of @everyone; a role is renamed too."""
    role_id = choose_one(choose, [scenario.guild.id, *scenario.role_ids])
    body: dict[str, Any] = {"permissions": str(ROLE_PERMISSIONS[choose(3)])}
    if role_id != scenario.guild.id:
        body["name"] = f"renamed-{choose(9)}"
    await scenario.owner.patch(f"/guilds/{scenario.guild.id}/roles/{role_id}", json=body)


async def move_role(scenario: Scenario, choose: Choose) -> None:
    if (role_id := choose_one(choose, scenario.role_ids)) is not None:
        body = [{"id": str(role_id), "position": 1 + choose(4)}]
        await scenario.owner.patch(f"/guilds/{scenario.guild.id}/roles", json=body)


async def delete_role(scenario: Scenario, choose: Choose) -> None:
    if (role_id := choose_one(choose, scenario.role_ids)) is not None:
        await scenario.owner.delete(f"/guilds/{scenario.guild.id}/roles/{role_id}")
        scenario.role_ids.remove(role_id)


async def add_role(scenario: Scenario, choose: Choose) -> None:
    """Assign a role to a member."""
    if (role_id := choose_one(choose, scenario.role_ids)) is not None:
        await scenario.owner.put(
            f"/guilds/{scenario.guild.id}/members/{choose_one(choose, scenario.other_users).id}/roles/{role_id}"
        )


async def remove_role(scenario: Scenario, choose: Choose) -> None:
    """Remove a role from a member."""
    if (role_id := choose_one(choose, scenario.role_ids)) is not None:
        await scenario.owner.delete(
            f"/guilds/{scenario.guild.id}/members/{choose_one(choose, scenario.other_users).id}/roles/{role_id}"
        )


async def edit_member(scenario: Scenario, choose: Choose) -> None:
    """Change a member's nickname, roles or mute."""
    body = (
        {"nick": f"nick-{choose(9)}"},
        {"nick": None},
        {"roles": [str(role) for role in scenario.role_ids[: choose(3)]]},
        {"mute": bool(choose(2))},
    )[choose(4)]
    await scenario.owner.patch(
        f"/guilds/{scenario.guild.id}/members/{choose_one(choose, scenario.other_users).id}", json=body
    )


async def remove_member(scenario: Scenario, choose: Choose) -> None:
    """Kick or ban a member."""
    actor = choose_one(choose, scenario.other_users)
    if actor not in scenario.removed_members:
        path = f"/guilds/{scenario.guild.id}/members/{actor.id}"
        response = await (
            scenario.owner.put(path.replace("members", "bans"), json={}) if choose(2) else scenario.owner.delete(path)
        )
        response.ok()
        scenario.removed_members.append(actor)


async def add_removed_member(scenario: Scenario, choose: Choose) -> None:
    """Unban a removed member if necessary, and add the member again."""
    if (actor := choose_one(choose, scenario.removed_members)) is not None:
        await scenario.owner.delete(f"/guilds/{scenario.guild.id}/bans/{actor.id}")
        await scenario.world.write(
            lambda call: members.membership.add(call, scenario.guild.id, actor.id), actor=scenario.owner.id
        )
        scenario.removed_members.remove(actor)
        for watcher, _, session in scenario.watchers:
            if watcher is actor:
                await session.next("GUILD_CREATE")


async def edit_guild(scenario: Scenario, choose: Choose) -> None:
    """Change one of the guild's own fields."""
    body = ({"name": f"Guild {choose(9)}"}, {"verification_level": choose(3)}, {"system_channel_id": None})[choose(3)]
    (await scenario.owner.patch(f"/guilds/{scenario.guild.id}", json=body)).ok()


async def change_expressions(scenario: Scenario, choose: Choose) -> None:
    """Create or delete an emoji, or create, update or delete a soundboard sound."""
    emojis_path, sounds_path = f"/guilds/{scenario.guild.id}/emojis", f"/guilds/{scenario.guild.id}/soundboard-sounds"
    stored_emojis = (await scenario.owner.get(emojis_path)).ok()
    stored_sounds = (await scenario.owner.get(sounds_path)).ok()["items"]
    action = choose(4)
    if action == 0:
        roles = [str(role) for role in scenario.role_ids[: choose(2)]]
        body: dict[str, Any] = {"name": f"emoji_{choose(9)}", "image": media.data_uri(media.png()), "roles": roles}
        await scenario.owner.post(emojis_path, json=body)
    elif action == 1:
        body = {"name": f"sound {choose(9)}", "sound": media.data_uri(media.ogg(), "audio/ogg")}
        if (emoji := choose_one(choose, stored_emojis)) is not None:
            body["emoji_id"] = emoji["id"]
        await scenario.owner.post(sounds_path, json=body)
    elif action == 2 and stored_emojis:
        await scenario.owner.delete(f"{emojis_path}/{choose_one(choose, stored_emojis)['id']}")
    elif stored_sounds:
        path = f"{sounds_path}/{choose_one(choose, stored_sounds)['sound_id']}"
        await (scenario.owner.patch(path, json={"volume": choose(2)}) if choose(2) else scenario.owner.delete(path))


async def rename_self(scenario: Scenario, choose: Choose) -> None:
    """Change the global name of Carol or the watching user."""
    user = (scenario.carol, scenario.watching_user)[choose(2)]
    await user.patch("/users/@me", json={"global_name": f"Name {choose(9)}"})


async def create_thread(scenario: Scenario, choose: Choose) -> None:
    """Create a thread from a message, a public or private thread, or a forum post."""
    if choose(3) == 0 and scenario.message_keys:
        channel_id, message_id = choose_one(choose, scenario.message_keys)
        response = await scenario.owner.post(
            f"/channels/{channel_id}/messages/{message_id}/threads", json={"name": f"at {choose(9)}"}
        )
    else:
        body = {"name": f"thread {choose(9)}", "type": THREAD_TYPES[choose(2)], "message": {"content": "post"}}
        response = await scenario.owner.post(f"/channels/{choose_one(choose, scenario.channel_ids)}/threads", json=body)
    record_created_id(response, scenario.thread_ids)


async def edit_thread(scenario: Scenario, choose: Choose) -> None:
    """Archive, unarchive, lock or rename a thread."""
    if (thread_id := choose_one(choose, scenario.thread_ids)) is not None:
        body = ({"archived": True}, {"archived": False}, {"locked": bool(choose(2))}, {"name": f"renamed {choose(9)}"})[
            choose(4)
        ]
        await scenario.owner.patch(f"/channels/{thread_id}", json=body)


async def delete_thread(scenario: Scenario, choose: Choose) -> None:
    if (thread_id := choose_one(choose, scenario.thread_ids)) is not None:
        await scenario.owner.delete(f"/channels/{thread_id}")
        scenario.thread_ids.remove(thread_id)


async def add_to_thread(scenario: Scenario, choose: Choose) -> None:
    """Add a member to a thread."""
    if (thread_id := choose_one(choose, scenario.thread_ids)) is not None:
        await scenario.owner.put(f"/channels/{thread_id}/thread-members/{choose_one(choose, scenario.other_users).id}")


async def remove_from_thread(scenario: Scenario, choose: Choose) -> None:
    """Remove a member from a thread."""
    if (thread_id := choose_one(choose, scenario.thread_ids)) is not None:
        await scenario.owner.delete(
            f"/channels/{thread_id}/thread-members/{choose_one(choose, scenario.other_users).id}"
        )


async def send_message(scenario: Scenario, choose: Choose) -> None:
    """Send a message in a channel or thread, as the owner or Carol."""
    channel_id = choose_one(choose, [*scenario.channel_ids, *scenario.thread_ids])
    author = (scenario.owner, scenario.carol)[choose(2)]
    response = await author.post(f"/channels/{channel_id}/messages", json={"content": "hello"})
    if response.status < 300:
        scenario.message_keys.append((channel_id, int(response.json["id"])))


async def toggle_pin(scenario: Scenario, choose: Choose) -> None:
    """Pin or unpin a message."""
    if scenario.message_keys:
        channel_id, message_id = choose_one(choose, scenario.message_keys)
        await scenario.owner.request(("PUT", "DELETE")[choose(2)], f"/channels/{channel_id}/messages/pins/{message_id}")


async def delete_message(scenario: Scenario, choose: Choose) -> None:
    if scenario.message_keys:
        channel_id, message_id = choose_one(choose, scenario.message_keys)
        await scenario.owner.delete(f"/channels/{channel_id}/messages/{message_id}")


async def join_or_leave_voice(scenario: Scenario, choose: Choose) -> None:
    """Join or leave a voice channel as Carol."""
    channel_id = None if choose(3) == 0 else str(choose_one(choose, scenario.channel_ids))
    voice_state = {
        "guild_id": str(scenario.guild.id),
        "channel_id": channel_id,
        "self_mute": bool(choose(2)),
        "self_deaf": False,
    }
    await scenario.carol_session.send(GatewayOpcode.VOICE_STATE_UPDATE, voice_state)
    await scenario.carol_session.wait_processed()


async def move_in_voice(scenario: Scenario, choose: Choose) -> None:
    """Move or disconnect Carol in voice."""
    channel_id = None if choose(3) == 0 else str(choose_one(choose, scenario.channel_ids))
    await scenario.owner.patch(
        f"/guilds/{scenario.guild.id}/members/{scenario.carol.id}", json={"channel_id": channel_id}
    )


async def set_presence(scenario: Scenario, choose: Choose) -> None:
    """Set Carol's status."""
    status = ("online", "dnd", "invisible")[choose(3)]
    await scenario.carol_session.set_presence(status)


async def use_private_channel(scenario: Scenario, choose: Choose) -> None:
    """Open a private channel between Carol and the watching user, and send a message in one or close it."""
    users = [scenario.carol, scenario.watching_user]
    sender, recipient = users if choose(2) else reversed(users)
    record_created_id(
        await sender.post("/users/@me/channels", json={"recipient_id": str(recipient.id)}), scenario.private_channel_ids
    )
    channel_id = choose_one(choose, scenario.private_channel_ids)
    if choose(3):
        await sender.post(f"/channels/{channel_id}/messages", json={"content": "psst"})
    else:
        await sender.delete(f"/channels/{channel_id}")


async def change_stage_instance(scenario: Scenario, choose: Choose) -> None:
    """Start, update or end a stage instance."""
    channel_id = choose_one(choose, scenario.channel_ids)
    if choose(2):
        await scenario.owner.post(
            "/stage-instances", json={"channel_id": str(channel_id), "topic": f"topic {choose(9)}"}
        )
    elif choose(2):
        await scenario.owner.patch(f"/stage-instances/{channel_id}", json={"topic": f"other {choose(9)}"})
    else:
        await scenario.owner.delete(f"/stage-instances/{channel_id}")


async def change_scheduled_event(scenario: Scenario, choose: Choose) -> None:
    """Create, start, complete, rename, move or delete a scheduled event, or add an exception to it."""
    events_path = f"/guilds/{scenario.guild.id}/scheduled-events"
    events = (await scenario.owner.get(events_path)).ok()
    channel_id, starts_ms = str(choose_one(choose, scenario.channel_ids)), scenario.world.clock.now_ms() + 3_600_000
    if choose(2) or not events:
        times = {
            "scheduled_start_time": codec.timestamp(starts_ms),
            "scheduled_end_time": codec.timestamp(starts_ms + 1),
        }
        location = ({"channel_id": channel_id}, {"channel_id": channel_id}, {"entity_metadata": {"location": "here"}})
        entity_index = choose(3)
        recurrence_rule = (
            {"start": codec.timestamp(starts_ms), "frequency": RecurrenceFrequency.DAILY} if choose(2) else None
        )
        body = {
            "name": f"event {choose(9)}",
            "privacy_level": EventPrivacyLevel.GUILD_ONLY,
            "entity_type": ENTITY_TYPES[entity_index],
            "recurrence_rule": recurrence_rule,
        }
        await scenario.owner.post(events_path, json={**body, **times, **location[entity_index]})
        return
    event = choose_one(choose, events)
    if event["recurrence_rule"] is not None and choose(2):
        body = {"original_scheduled_start_time": event["scheduled_start_time"], "is_canceled": bool(choose(2))}
        await scenario.owner.post(f"{events_path}/{event['id']}/exceptions", json=body)
    elif choose(4):
        edits = (
            {"name": f"renamed {choose(9)}"},
            {"status": EventStatus.ACTIVE},
            {"status": EventStatus.COMPLETED},
            {"channel_id": channel_id},
        )
        await scenario.owner.patch(f"{events_path}/{event['id']}", json=edits[choose(4)])
    else:
        await scenario.owner.delete(f"{events_path}/{event['id']}")


async def check_watchers(scenario: Scenario, choose: Choose) -> None:
    await scenario.check()


ACTIONS: tuple[Action, ...] = (
    create_channel,
    edit_channel,
    delete_channel,
    put_overwrite,
    put_overwrite,
    delete_overwrite,
    create_role,
    edit_role,
    move_role,
    delete_role,
    add_role,
    add_role,
    remove_role,
    edit_member,
    remove_member,
    add_removed_member,
    edit_guild,
    change_expressions,
    rename_self,
    create_thread,
    create_thread,
    edit_thread,
    delete_thread,
    add_to_thread,
    remove_from_thread,
    send_message,
    toggle_pin,
    delete_message,
    join_or_leave_voice,
    move_in_voice,
    set_presence,
    use_private_channel,
    change_stage_instance,
    change_scheduled_event,
    change_scheduled_event,
    check_watchers,
)

STEP = st.tuples(st.sampled_from(ACTIONS), st.integers(0, 2**24 - 1))


def make_chooser(number: int) -> Choose:
    """Return a function that derives its choices from one number, so that a failing example can be repeated."""

    def choose(below: int) -> int:
        nonlocal number
        number, choice = divmod(number, below)
        return choice

    return choose


async def create_scenario(world: World) -> Scenario:
    """Create a guild watched by an administrator bot, a bot without permissions, a bot with a capability, and a user."""
    owner, carol, user = await world.user(), await world.user(), await world.user()
    guild = await world.guild(owner, carol, user)
    administrator_bot = await world.bot(guild, name="administrator", permissions=Permissions.ADMINISTRATOR)
    plain_bot = await world.bot(guild, name="plain")
    capability_bot = await world.bot(guild, name="capability")
    user.name = "user"
    identify = {"capabilities": Capabilities.CHANNEL_OBFUSCATION}
    watchers: list[tuple[Actor, dict[str, Any], Session]] = [
        (administrator_bot, {}, await administrator_bot.connect()),
        (plain_bot, {}, await plain_bot.connect()),
        (capability_bot, identify, await capability_bot.connect(**identify)),
        (user, {}, await user.connect()),
    ]
    channel_ids = [
        guild.general,
        await guild.channel("text"),
        await guild.channel("voice", type=ChannelType.GUILD_VOICE),
        await guild.channel("stage", type=ChannelType.GUILD_STAGE_VOICE),
    ]
    role_ids = [await guild.role("first", VIEW_CHANNEL)]
    return Scenario(world, guild, carol, await carol.connect(), watchers, channel_ids, role_ids)


# Hypothesis warns if other code uses the global random generator while an example is drawn. The examples here depend only
# on drawn values.
@pytest.mark.filterwarnings("ignore:Do not use the `random` module inside strategies")
@pytest.mark.parametrize("day", ["before obfuscation", "after"])
@given(steps=st.lists(STEP, min_size=12, max_size=STEPS_MAX))
@settings(
    max_examples=25,
    suppress_health_check=list(HealthCheck),
    # An example takes several seconds, so a failing one is reported without shrinking.
    phases=[Phase.explicit, Phase.generate],
    database=None,
)
async def test_ready_and_the_events_since_equal_a_fresh_ready(
    world: World, day: str, steps: list[tuple[Action, int]]
) -> None:
    if day == "before obfuscation" and changes.CHANNEL_OBFUSCATION.is_active(world.clock.now_ms()):
        world.clock.set(world.clock.now_ms() - 5 * 24 * 3600 * 1000)
    scenario = await create_scenario(world)
    try:
        for action, number in steps:
            await action(scenario, make_chooser(number))
        await scenario.check()
    finally:
        for session in [scenario.carol_session, *(session for _, _, session in scenario.watchers)]:
            await session.close()
            world.sessions.remove(session)

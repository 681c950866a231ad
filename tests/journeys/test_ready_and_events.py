"""READY plus the events since equals a fresh READY, whatever happens in between (DESIGN.md 6)."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from hubbub.protocol import changes, codec
from hubbub.protocol.permissions import Permissions
from hubbub.server.places import members
from tests import media
from tests.journeys.client_state import ClientState, differences
from tests.world import Actor, ApiResponse, Guild, Session, World

STEPS = 25

Choose = Callable[[int], int]
"""Returns a number below its argument."""

Action = Callable[["Story", Choose], Awaitable[Any]]


@dataclass
class Story:
    """A guild, its watchers, and the objects that the owner has created."""

    world: World
    guild: Guild
    carol: Actor
    voice: Session
    watchers: list[tuple[Actor, dict[str, Any], Session]]
    channels: list[int]
    roles: list[int]
    threads: list[int] = field(default_factory=list)
    messages: list[tuple[int, int]] = field(default_factory=list)
    away: list[Actor] = field(default_factory=list)
    private: list[int] = field(default_factory=list)

    @property
    def owner(self) -> Actor:
        """The owner, who performs most actions."""
        return self.guild.owner

    @property
    def people(self) -> list[Actor]:
        """All users except the owner."""
        return [self.carol, *(actor for actor, _, _ in self.watchers)]

    async def check(self) -> None:
        """Check that every watcher's state equals that of a fresh session."""
        for actor, identify, session in self.watchers:
            await session.settle()
            again = await actor.connect(**identify)
            remembered, fresh = ClientState(session.dispatches), ClientState(again.dispatches)
            fresh.unknown_last_message = remembered.unknown_last_message
            await again.close()
            found = differences(remembered.snapshot(), fresh.snapshot())
            assert not found, "\n".join([f"{actor.name} does not know it all:", *found])


def made(answer: ApiResponse, among: list[int]) -> None:
    """Store the id of a created object; a refusal stores nothing."""
    if answer.status < 300:
        among.append(int(answer.json["id"]))


def one(choose: Choose, among: list[Any]) -> Any:
    """Return one of several, or None."""
    return among[choose(len(among))] if among else None


VIEW, THREADS = Permissions.VIEW_CHANNEL, Permissions.MANAGE_THREADS
BITS = (0, VIEW, VIEW | THREADS, Permissions.ADMINISTRATOR, Permissions.MENTION_EVERYONE)


async def create_channel(story: Story, choose: Choose) -> None:
    """Create a text, voice, category or forum channel, sometimes hidden or inside a category."""
    body: dict[str, Any] = {"name": f"channel-{choose(9)}", "type": (0, 0, 2, 4, 13, 15)[choose(6)]}
    if choose(3) == 0:
        body["permission_overwrites"] = [{"id": str(story.guild.id), "type": 0, "allow": "0", "deny": str(VIEW)}]
    if choose(3) == 0 and body["type"] != 4:
        body["parent_id"] = str(one(choose, story.channels))
    made(await story.owner.post(f"/guilds/{story.guild.id}/channels", json=body), story.channels)


async def edit_channel(story: Story, choose: Choose) -> None:
    """Change a channel's name, topic, position or category."""
    body = (
        {"name": f"renamed-{choose(9)}"},
        {"topic": f"about {choose(9)}"},
        {"position": choose(4)},
        {"parent_id": str(one(choose, story.channels))},
        {"parent_id": None},
        {"nsfw": bool(choose(2))},
    )[choose(6)]
    await story.owner.patch(f"/channels/{one(choose, story.channels)}", json=body)


async def delete_channel(story: Story, choose: Choose) -> None:
    """Delete a channel with its threads."""
    channel = one(choose, story.channels)
    if channel is not None and channel != story.guild.general:
        await story.owner.delete(f"/channels/{channel}")
        story.channels.remove(channel)


async def put_overwrite(story: Story, choose: Choose) -> None:
    """Set an overwrite that allows or denies a role or member to view a channel."""
    if choose(2):
        kind, target = 0, one(choose, [story.guild.id, *story.roles])
    else:
        kind, target = 1, one(choose, story.people).id
    allow, deny = ((VIEW, 0), (0, VIEW), (0, 0), (THREADS, 0))[choose(4)]
    body = {"type": kind, "allow": str(allow), "deny": str(deny)}
    await story.owner.put(f"/channels/{one(choose, story.channels)}/permissions/{target}", json=body)


async def delete_overwrite(story: Story, choose: Choose) -> None:
    """Delete an overwrite."""
    target = one(choose, [story.guild.id, *story.roles, *(actor.id for actor in story.people)])
    await story.owner.delete(f"/channels/{one(choose, story.channels)}/permissions/{target}")


async def create_role(story: Story, choose: Choose) -> None:
    """Create a role with some permissions."""
    body = {"name": f"role-{choose(9)}", "permissions": str(BITS[choose(5)]), "hoist": bool(choose(2))}
    made(await story.owner.post(f"/guilds/{story.guild.id}/roles", json=body), story.roles)


async def edit_role(story: Story, choose: Choose) -> None:
    """Change a role's permissions, @everyone included."""
    role = one(choose, [story.guild.id, *story.roles])
    body: dict[str, Any] = {"permissions": str(BITS[choose(3)])}
    if role != story.guild.id:
        body["name"] = f"renamed-{choose(9)}"
    await story.owner.patch(f"/guilds/{story.guild.id}/roles/{role}", json=body)


async def move_role(story: Story, choose: Choose) -> None:
    """Move a role."""
    if (role := one(choose, story.roles)) is not None:
        body = [{"id": str(role), "position": 1 + choose(4)}]
        await story.owner.patch(f"/guilds/{story.guild.id}/roles", json=body)


async def delete_role(story: Story, choose: Choose) -> None:
    """Delete a role."""
    if (role := one(choose, story.roles)) is not None:
        await story.owner.delete(f"/guilds/{story.guild.id}/roles/{role}")
        story.roles.remove(role)


async def give_role(story: Story, choose: Choose) -> None:
    """Assign a role to a member."""
    if (role := one(choose, story.roles)) is not None:
        await story.owner.put(f"/guilds/{story.guild.id}/members/{one(choose, story.people).id}/roles/{role}")


async def take_role(story: Story, choose: Choose) -> None:
    """Remove a role from a member."""
    if (role := one(choose, story.roles)) is not None:
        await story.owner.delete(f"/guilds/{story.guild.id}/members/{one(choose, story.people).id}/roles/{role}")


async def edit_member(story: Story, choose: Choose) -> None:
    """Change a member's nickname, roles or mute."""
    body = (
        {"nick": f"nick-{choose(9)}"},
        {"nick": None},
        {"roles": [str(role) for role in story.roles[: choose(3)]]},
        {"mute": bool(choose(2))},
    )[choose(4)]
    await story.owner.patch(f"/guilds/{story.guild.id}/members/{one(choose, story.people).id}", json=body)


async def remove_member(story: Story, choose: Choose) -> None:
    """Kick or ban a member."""
    actor = one(choose, story.people)
    if actor not in story.away:
        path = f"/guilds/{story.guild.id}/members/{actor.id}"
        answer = await (
            story.owner.put(path.replace("members", "bans"), json={}) if choose(2) else story.owner.delete(path)
        )
        answer.ok()
        story.away.append(actor)


async def return_member(story: Story, choose: Choose) -> None:
    """Bring a member back, unbanned if necessary."""
    if (actor := one(choose, story.away)) is not None:
        await story.owner.delete(f"/guilds/{story.guild.id}/bans/{actor.id}")
        await story.world.write(lambda call: members.add(call, story.guild.id, actor.id), actor=story.owner.id)
        story.away.remove(actor)
        for watcher, _, session in story.watchers:
            if watcher is actor:
                await session.next("GUILD_CREATE")


async def edit_guild(story: Story, choose: Choose) -> None:
    """Change the guild's own fields."""
    body = ({"name": f"Guild {choose(9)}"}, {"verification_level": choose(3)}, {"system_channel_id": None})[choose(3)]
    (await story.owner.patch(f"/guilds/{story.guild.id}", json=body)).ok()


async def express(story: Story, choose: Choose) -> None:
    """Create or delete an emoji, perhaps limited to a role, or a sound, perhaps with an emoji."""
    emojis, sounds = f"/guilds/{story.guild.id}/emojis", f"/guilds/{story.guild.id}/soundboard-sounds"
    known = (await story.owner.get(emojis)).ok()
    events = (await story.owner.get(sounds)).ok()["items"]
    action = choose(4)
    if action == 0:
        roles = [str(role) for role in story.roles[: choose(2)]]
        body: dict[str, Any] = {"name": f"emoji_{choose(9)}", "image": media.data_uri(media.png()), "roles": roles}
        await story.owner.post(emojis, json=body)
    elif action == 1:
        body = {"name": f"sound {choose(9)}", "sound": media.data_uri(media.ogg(), "audio/ogg")}
        if (shown := one(choose, known)) is not None:
            body["emoji_id"] = shown["id"]
        await story.owner.post(sounds, json=body)
    elif action == 2 and known:
        await story.owner.delete(f"{emojis}/{one(choose, known)['id']}")
    elif events:
        path = f"{sounds}/{one(choose, events)['sound_id']}"
        await (story.owner.patch(path, json={"volume": choose(2)}) if choose(2) else story.owner.delete(path))


async def rename_oneself(story: Story, choose: Choose) -> None:
    """Change a user's own profile."""
    await story.people[choose(2) * 3].patch("/users/@me", json={"global_name": f"Name {choose(9)}"})


async def create_thread(story: Story, choose: Choose) -> None:
    """Create a thread: public, private, or from a message."""
    if choose(3) == 0 and story.messages:
        channel, message = one(choose, story.messages)
        answer = await story.owner.post(
            f"/channels/{channel}/messages/{message}/threads", json={"name": f"at {choose(9)}"}
        )
    else:
        body = {"name": f"thread {choose(9)}", "type": 11 + choose(2), "message": {"content": "post"}}
        answer = await story.owner.post(f"/channels/{one(choose, story.channels)}/threads", json=body)
    made(answer, story.threads)


async def edit_thread(story: Story, choose: Choose) -> None:
    """Archive, unarchive, lock or rename a thread."""
    if (thread := one(choose, story.threads)) is not None:
        body = ({"archived": True}, {"archived": False}, {"locked": bool(choose(2))}, {"name": f"renamed {choose(9)}"})[
            choose(4)
        ]
        await story.owner.patch(f"/channels/{thread}", json=body)


async def delete_thread(story: Story, choose: Choose) -> None:
    """Delete a thread."""
    if (thread := one(choose, story.threads)) is not None:
        await story.owner.delete(f"/channels/{thread}")
        story.threads.remove(thread)


async def add_to_thread(story: Story, choose: Choose) -> None:
    """Add a member to a thread."""
    if (thread := one(choose, story.threads)) is not None:
        await story.owner.put(f"/channels/{thread}/thread-members/{one(choose, story.people).id}")


async def remove_from_thread(story: Story, choose: Choose) -> None:
    """Remove a member from a thread."""
    if (thread := one(choose, story.threads)) is not None:
        await story.owner.delete(f"/channels/{thread}/thread-members/{one(choose, story.people).id}")


async def say(story: Story, choose: Choose) -> None:
    """Send a message in a channel or thread, as the owner or Carol."""
    channel = one(choose, [*story.channels, *story.threads])
    speaker = (story.owner, story.carol)[choose(2)]
    answer = await speaker.post(f"/channels/{channel}/messages", json={"content": "word"})
    if answer.status < 300:
        story.messages.append((channel, int(answer.json["id"])))


async def pin(story: Story, choose: Choose) -> None:
    """Pin or unpin a message."""
    if story.messages:
        channel, message = one(choose, story.messages)
        await story.owner.request(("PUT", "DELETE")[choose(2)], f"/channels/{channel}/messages/pins/{message}")


async def delete_message(story: Story, choose: Choose) -> None:
    """Delete a message."""
    if story.messages:
        channel, message = one(choose, story.messages)
        await story.owner.delete(f"/channels/{channel}/messages/{message}")


async def speak(story: Story, choose: Choose) -> None:
    """Join or leave a voice channel as Carol."""
    channel = None if choose(3) == 0 else str(one(choose, story.channels))
    voice_state = {
        "guild_id": str(story.guild.id),
        "channel_id": channel,
        "self_mute": bool(choose(2)),
        "self_deaf": False,
    }
    await story.voice.send(4, voice_state)
    await story.voice.wait_processed()


async def move_in_voice(story: Story, choose: Choose) -> None:
    """Move or disconnect Carol in voice."""
    channel = None if choose(3) == 0 else str(one(choose, story.channels))
    await story.owner.patch(f"/guilds/{story.guild.id}/members/{story.carol.id}", json={"channel_id": channel})


async def show_presence(story: Story, choose: Choose) -> None:
    """Set Carol's status."""
    status = ("online", "dnd", "invisible")[choose(3)]
    await story.voice.send(3, {"since": None, "activities": [], "status": status, "afk": False})
    await story.voice.wait_processed()


async def converse(story: Story, choose: Choose) -> None:
    """Open, use or close private channels between Carol and the watching user."""
    person = story.watchers[-1][0]
    first, second = (story.carol, person) if choose(2) else (person, story.carol)
    made(await first.post("/users/@me/channels", json={"recipient_id": str(second.id)}), story.private)
    channel = one(choose, story.private)
    if choose(3):
        await first.post(f"/channels/{channel}/messages", json={"content": "psst"})
    else:
        await first.delete(f"/channels/{channel}")


async def stage(story: Story, choose: Choose) -> None:
    """Start, update or end a stage instance."""
    channel = one(choose, story.channels)
    if choose(2):
        await story.owner.post("/stage-instances", json={"channel_id": str(channel), "topic": f"topic {choose(9)}"})
    elif choose(2):
        await story.owner.patch(f"/stage-instances/{channel}", json={"topic": f"other {choose(9)}"})
    else:
        await story.owner.delete(f"/stage-instances/{channel}")


async def plan(story: Story, choose: Choose) -> None:
    """Create, start, update, move or delete a scheduled event, sometimes with an exception."""
    url = f"/guilds/{story.guild.id}/scheduled-events"
    known = (await story.owner.get(url)).ok()
    channel, begins = str(one(choose, story.channels)), story.world.clock.now_ms() + 3_600_000
    if choose(2) or not known:
        times = {"scheduled_start_time": codec.timestamp(begins), "scheduled_end_time": codec.timestamp(begins + 1)}
        location = ({"channel_id": channel}, {"channel_id": channel}, {"entity_metadata": {"location": "here"}})
        kind = choose(3)
        rule = {"start": codec.timestamp(begins), "frequency": 3} if choose(2) else None
        body = {"name": f"plan {choose(9)}", "privacy_level": 2, "entity_type": kind + 1, "recurrence_rule": rule}
        await story.owner.post(url, json={**body, **times, **location[kind]})
        return
    event = one(choose, known)
    if event["recurrence_rule"] is not None and choose(2):
        body = {"original_scheduled_start_time": event["scheduled_start_time"], "is_canceled": bool(choose(2))}
        await story.owner.post(f"{url}/{event['id']}/exceptions", json=body)
    elif choose(4):
        edits = ({"name": f"renamed {choose(9)}"}, {"status": 2}, {"status": 3}, {"channel_id": channel})
        await story.owner.patch(f"{url}/{event['id']}", json=edits[choose(4)])
    else:
        await story.owner.delete(f"{url}/{event['id']}")


async def check(story: Story, choose: Choose) -> None:
    """Check every watcher."""
    await story.check()


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
    give_role,
    give_role,
    take_role,
    edit_member,
    remove_member,
    return_member,
    edit_guild,
    express,
    rename_oneself,
    create_thread,
    create_thread,
    edit_thread,
    delete_thread,
    add_to_thread,
    remove_from_thread,
    say,
    pin,
    delete_message,
    speak,
    move_in_voice,
    show_presence,
    converse,
    stage,
    plan,
    plan,
    check,
)

step = st.tuples(st.sampled_from(ACTIONS), st.integers(0, 2**24 - 1))


def chooser(number: int) -> Choose:
    """Derive choices from one number, so that a failing story can be shrunk."""

    def choose(below: int) -> int:
        nonlocal number
        number, chosen = divmod(number, below)
        return chosen

    return choose


async def begin(world: World) -> Story:
    """Create a guild watched by a privileged bot, a restricted bot, a bot with all intents, and a user."""
    owner, carol, person = await world.user(), await world.user(), await world.user()
    guild = await world.guild(owner, carol, person)
    privileged = await world.bot(guild, name="mighty", permissions=Permissions.ADMINISTRATOR)
    restricted = await world.bot(guild, name="humble")
    early = await world.bot(guild, name="early")
    person.name = "person"
    watchers = [
        (privileged, {}, await privileged.connect()),
        (restricted, {}, await restricted.connect()),
        (early, {"capabilities": 1 << 15}, await early.connect(capabilities=1 << 15)),
        (person, {}, await person.connect()),
    ]
    channels = [guild.general, await guild.channel("hall"), await guild.channel("voice", type=2)]
    channels.append(await guild.channel("stage", type=13))
    return Story(world, guild, carol, await carol.connect(), watchers, channels, [await guild.role("first", VIEW)])


# Store threads use random numbers while a story is generated; when sessions connect must not depend on them.
@pytest.mark.filterwarnings("ignore:Do not use the `random` module inside strategies")
@pytest.mark.parametrize("day", ["before obfuscation", "after"])
@given(steps=st.lists(step, min_size=12, max_size=STEPS))
@settings(
    max_examples=25,
    suppress_health_check=list(HealthCheck),
    # A story takes a while, so a failing one is reported without shrinking.
    phases=[Phase.explicit, Phase.generate],
    database=None,
)
async def test_ready_and_the_events_since_equal_a_fresh_ready(
    world: World, day: str, steps: list[tuple[Action, int]]
) -> None:
    if day == "before obfuscation" and changes.CHANNEL_OBFUSCATION.is_active(world.clock.now_ms()):
        world.clock.set(world.clock.now_ms() - 5 * 24 * 3600 * 1000)
    story = await begin(world)
    try:
        for action, number in steps:
            await action(story, chooser(number))
        await story.check()
    finally:
        for session in [story.voice, *(session for _, _, session in story.watchers)]:
            await session.close()
            world.sessions.remove(session)

"""Events that arrive after those of a later commit, because a process was paused or cut off: clients end with the last state."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import pytest

from hubbub.protocol.enums import RecurrenceFrequency
from hubbub.server.core.event_dispatch import Dispatch
from tests import media
from tests.chaos.history import check_client_state
from tests.server.places.scheduled_events import HOUR_MS, create_event, external_event, timestamp
from tests.server.places.test_soundboard import create_sound
from tests.server.talk.private_channels import create_group
from tests.world import NOW_MS, World


@dataclass
class LatePublications:
    """The events of commits that are published later, like those of a process that is paused after its commits."""

    world: World
    _held_dispatches: list[Dispatch] = field(default_factory=list)

    async def hold(self, change: Callable[[], Awaitable[object]]) -> None:
        """Make a change whose events are not published yet."""
        database = self.world.app.database
        publish = database.on_commit
        database.on_commit = self._held_dispatches.extend
        await change()
        database.on_commit = publish

    def publish(self) -> None:
        """Publish all events that were held."""
        self.world.app.publish(self._held_dispatches)
        self._held_dispatches.clear()


async def test_a_late_event_does_not_restore_an_earlier_state(world: World) -> None:
    alice, bob = await world.user("alice"), await world.user("bob")
    guild = await world.guild(alice, bob)
    role_id, deleted_role_id = await guild.role("role"), await guild.role("deleted")
    message = await guild.send_message(alice, "value 0")
    session = await bob.connect()
    changes = [
        (alice, f"/guilds/{guild.id}", "name"),
        (alice, f"/guilds/{guild.id}/roles/{role_id}", "name"),
        (alice, f"/channels/{guild.general}", "topic"),
        (alice, f"/channels/{guild.general}/messages/{message['id']}", "content"),
        (alice, f"/guilds/{guild.id}/members/{bob.id}", "nick"),
        (bob, "/users/@me", "global_name"),
    ]
    late = LatePublications(world)
    created_ids: list[str] = []

    async def change_first() -> None:
        for actor, path, key in changes:
            (await actor.patch(path, json={key: "value 1"})).ok()
        (await alice.patch(f"/guilds/{guild.id}/roles/{deleted_role_id}", json={"name": "value 1"})).ok()
        created_ids.append((await guild.send_message(alice, "value 1"))["id"])

    await late.hold(change_first)
    for actor, path, key in changes:
        (await actor.patch(path, json={key: "value 2"})).ok()
    (await alice.delete(f"/guilds/{guild.id}/roles/{deleted_role_id}")).ok()
    created_path = f"/channels/{guild.general}/messages/{created_ids[0]}"
    (await alice.patch(created_path, json={"content": "value 2"})).ok()
    late.publish()

    await session.wait_delivered()
    contents = {
        frame["d"]["id"]: frame["d"]["content"]
        for frame in session.dispatches
        if frame["t"] in ("MESSAGE_CREATE", "MESSAGE_UPDATE")
    }
    assert contents == {message["id"]: "value 2", created_ids[0]: "value 2"}
    assert [frame["t"] for frame in session.dispatches].count("MESSAGE_CREATE") == 1
    fresh_session = await bob.connect()
    assert check_client_state(session.dispatches, fresh_session.dispatches) == []


async def test_a_late_event_does_not_undo_a_later_event_of_another_kind(world: World) -> None:
    alice, bob, carol, dave = [await world.user(name) for name in ("alice", "bob", "carol", "dave")]
    guild = await world.guild(alice, bob, carol, dave)
    message = await guild.send_message(alice)
    channel_path, thread_id = f"/channels/{guild.general}", await bob.create_thread(guild.general)
    (await alice.put(f"{channel_path}/messages/pins/{message['id']}")).ok()
    role_id = await guild.role("deleted")
    private_channel = (await bob.post("/users/@me/channels", json={"recipient_id": str(carol.id)})).ok()
    rule = {"start": timestamp(NOW_MS + HOUR_MS), "frequency": RecurrenceFrequency.DAILY, "interval": 1}
    events = [await create_event(alice, guild, external_event(recurrence_rule=rule)) for _ in range(2)]
    event_paths = [f"/guilds/{guild.id}/scheduled-events/{event['id']}" for event in events]
    exception_body = {"original_scheduled_start_time": rule["start"], "scheduled_start_time": timestamp(NOW_MS + 1)}
    emoji_body = {"name": "horn", "image": media.data_uri(media.png(), "image/png")}
    emoji = (await alice.post(f"/guilds/{guild.id}/emojis", json=emoji_body)).ok()
    sound = await create_sound(alice, guild)
    group_path = f"/channels/{(await create_group(alice, bob, dave))['id']}"
    session = await bob.connect()
    late = LatePublications(world)

    async def change_first() -> None:
        (await alice.patch(channel_path, json={"topic": "late"})).ok()
        (await bob.patch(f"/channels/{thread_id}", json={"name": "late"})).ok()
        (await alice.put(f"/guilds/{guild.id}/members/{bob.id}/roles/{role_id}")).ok()
        (await bob.delete(f"/channels/{private_channel['id']}")).ok()
        (await alice.patch(event_paths[0], json={"name": "late"})).ok()
        (await alice.post(f"{event_paths[1]}/exceptions", json=exception_body)).ok()
        sound_path = f"/guilds/{guild.id}/soundboard-sounds/{sound['sound_id']}"
        (await alice.patch(sound_path, json={"emoji_id": emoji["id"]})).ok()
        (await alice.patch(group_path, json={"name": "late"})).ok()

    await late.hold(change_first)
    (await alice.delete(f"{channel_path}/messages/pins/{message['id']}")).ok()
    (await carol.put(f"/channels/{thread_id}/thread-members/@me")).ok()
    (await alice.delete(f"/guilds/{guild.id}/roles/{role_id}")).ok()
    (await bob.post("/users/@me/channels", json={"recipient_id": str(carol.id)})).ok()
    (await alice.post(f"{event_paths[0]}/exceptions", json=exception_body)).ok()
    (
        await alice.patch(event_paths[1], json={"recurrence_rule": rule | {"start": timestamp(NOW_MS + 2 * HOUR_MS)}})
    ).ok()
    (await alice.delete(f"/guilds/{guild.id}/emojis/{emoji['id']}")).ok()
    (await alice.put(f"{group_path}/recipients/{carol.id}", json={})).ok()
    late.publish()
    # Late messages are not repeated, so the last message of a channel is known from the next message on.
    (await alice.post(f"{group_path}/messages", json={"content": "next"})).ok()

    await session.wait_delivered()
    fresh_session = await bob.connect()
    assert check_client_state(session.dispatches, fresh_session.dispatches) == []


@pytest.mark.one_postgres_case
async def test_sessions_start_again_if_a_late_event_is_about_a_member_who_left(world: World) -> None:
    alice, bob, carol = [await world.user(name) for name in ("alice", "bob", "carol")]
    guild = await world.guild(alice, bob, carol)
    session = await bob.connect()
    late = LatePublications(world)
    await late.hold(lambda: alice.patch(f"/guilds/{guild.id}/members/{carol.id}", json={"nick": "late"}))
    (await alice.delete(f"/guilds/{guild.id}/members/{carol.id}")).ok()
    late.publish()
    assert world.app.gateway is not None
    assert world.app.gateway.sessions.find(session.ready["session_id"]) is None


@pytest.mark.one_postgres_case
async def test_late_events_about_other_objects_repeat_nothing(world: World) -> None:
    alice, bob = await world.user("alice"), await world.user("bob")
    guild = await world.guild(alice, bob)
    role_ids = [await guild.role("first"), await guild.role("second")]
    session = await bob.connect()
    late = LatePublications(world)
    await late.hold(lambda: alice.patch(f"/guilds/{guild.id}/roles/{role_ids[0]}", json={"name": "late"}))
    (await alice.patch(f"/guilds/{guild.id}/roles/{role_ids[1]}", json={"name": "other"})).ok()
    (await alice.patch(f"/channels/{guild.general}", json={"topic": "other"})).ok()
    late.publish()
    await session.wait_delivered()
    names = [frame["t"] for frame in session.dispatches if frame["t"].endswith("_UPDATE")]
    assert sorted(names) == ["CHANNEL_UPDATE", "GUILD_ROLE_UPDATE", "GUILD_ROLE_UPDATE"]

"""Events that arrive after those of a later commit, because a process was paused or cut off: clients end with the last state."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import pytest

from hubbub.server.core.event_dispatch import Dispatch
from tests.chaos.history import check_client_state
from tests.world import World


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

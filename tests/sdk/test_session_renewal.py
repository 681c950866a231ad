"""After a session that could not be resumed, the game gets callbacks for friends and lobbies that changed meanwhile."""

import asyncio
import itertools
from collections.abc import Awaitable, Callable

import pytest

from hubbub.protocol.control.faults import GatewayFault
from hubbub.sdk import ClientStatus, RelationshipType, StatusType
from tests.sdk.players import (
    Player,
    befriend_players,
    create_game,
    create_player,
    gateway_of,
    joinable_activity,
    visible_activity,
)
from tests.world import World
from tests.world import befriend as befriend_on_platform

EVENTS = (
    "user_updated",
    "relationship_created",
    "relationship_deleted",
    "relationship_groups_updated",
    "lobby_created",
    "lobby_updated",
    "lobby_deleted",
    "lobby_member_added",
    "lobby_member_updated",
    "lobby_member_removed",
    "activity_invite_updated",
)
_activity_numbers = itertools.count()


async def record_callbacks_after_session_loss(
    world: World, mary: Player, make_changes: Callable[[], Awaitable[object]]
) -> dict[str, list[tuple[object, ...]]]:
    """Return the callbacks of Mary's game for changes made while her session is lost."""
    recorders, status_events = (
        {event: mary.record_event(event) for event in EVENTS},
        mary.record_event("status_changed"),
    )

    async def wait_before_reconnect(_: float) -> None:
        assert mary.client.get_status() is ClientStatus.RECONNECTING
        await make_changes()

    gateway_of(mary.client).sleep = wait_before_reconnect
    assert world.app.gateway is not None
    world.app.gateway.apply_fault(GatewayFault(effect="invalid_session", user_id=mary.id))
    await status_events.next(lambda status, *_: status is ClientStatus.READY)
    return {event: recorder.calls for event, recorder in recorders.items() if recorder.calls}


async def create_three_players(world: World) -> tuple[Player, Player, Player]:
    application = await create_game(world)
    mary, zoe, rob = [await create_player(world, application, name) for name in ("mary", "zoe", "rob")]
    await befriend_players(mary, zoe)
    await wait_processed(mary, zoe)
    return mary, zoe, rob


async def wait_processed(mary: Player, zoe: Player) -> None:
    """Wait until Mary's game has received everything that Zoe did so far."""
    updated_events, state = mary.record_event("user_updated"), f"Puddle {next(_activity_numbers)}"
    await zoe.client.update_rich_presence(joinable_activity(state=state))
    await updated_events.next(
        lambda _: (activity := visible_activity(mary, zoe)) is not None and activity.state == state
    )


def visible_activity_state(viewer: Player, other: Player) -> str | None:
    activity = visible_activity(viewer, other)
    return activity and activity.state


def visible_status(viewer: Player, other: Player) -> StatusType:
    user = viewer.client.get_user(other.id)
    assert user is not None
    return user.status


async def close_clients(*players: Player) -> None:
    for player in players:
        await player.client.close()


async def test_friends_added_and_removed_meanwhile_are_reported(world: World) -> None:
    mary, zoe, rob = await create_three_players(world)
    relationship_events, handle = mary.record_event("relationship_created"), mary.client.get_relationship_handle(zoe.id)
    await befriend_on_platform(mary.user, zoe.user)
    await relationship_events.next(lambda *_: handle.platform_relationship_type is RelationshipType.FRIEND)
    await wait_processed(mary, zoe)

    async def make_changes() -> None:
        (await mary.user.delete(f"/users/@me/relationships/{zoe.id}")).ok()
        await rob.client.send_game_friend_request_by_id(mary.id)

    callbacks = await record_callbacks_after_session_loss(world, mary, make_changes)

    assert callbacks["relationship_deleted"] == [(zoe.id, True)]
    assert callbacks["relationship_created"] == [(rob.id, False)]
    assert callbacks["relationship_groups_updated"] == [(zoe.id,), (rob.id,)]
    relationship_type = mary.client.get_relationship_handle(rob.id).game_relationship_type
    assert relationship_type is RelationshipType.PENDING_INCOMING
    await close_clients(mary, zoe, rob)


async def test_a_friends_new_activity_and_name_are_reported(world: World) -> None:
    mary, zoe, rob = await create_three_players(world)
    await befriend_players(rob, zoe)
    updated_events = rob.record_event("user_updated")

    async def make_changes() -> None:
        await zoe.client.set_online_status(StatusType.IDLE)
        await zoe.client.update_rich_presence(joinable_activity())
        # Rob is also a friend of Zoe. When Rob has received the updates, the server has processed them.
        await updated_events.next(
            lambda _: (
                visible_status(rob, zoe) is StatusType.IDLE
                and visible_activity_state(rob, zoe) == joinable_activity().state
            )
        )
        (await zoe.user.patch("/users/@me", json={"global_name": "Zoe the Wise"})).ok()

    callbacks = await record_callbacks_after_session_loss(world, mary, make_changes)

    user = mary.client.get_user(zoe.id)
    assert user is not None
    assert (user.display_name, user.status) == ("Zoe the Wise", StatusType.IDLE)
    assert visible_activity_state(mary, zoe) == joinable_activity().state
    assert callbacks == {"user_updated": [(zoe.id,)], "relationship_groups_updated": [(zoe.id,)]}
    await close_clients(mary, zoe, rob)


async def test_a_friend_going_offline_invalidates_their_invite(world: World) -> None:
    mary, zoe, rob = await create_three_players(world)
    invited_events = mary.record_event("activity_invite_created")
    await zoe.client.send_activity_invite(mary.id, "come and jump")
    invite = await invited_events.next()

    await befriend_players(rob, zoe)
    updated_events = rob.record_event("user_updated")

    async def make_changes() -> None:
        await zoe.client.disconnect()
        await updated_events.next(lambda _: visible_status(rob, zoe) is StatusType.OFFLINE)

    callbacks = await record_callbacks_after_session_loss(world, mary, make_changes)

    (update,) = callbacks.pop("activity_invite_updated")
    assert (update[0].message_id, update[0].is_valid) == (invite.message_id, False)  # type: ignore[attr-defined]
    assert callbacks == {"user_updated": [(zoe.id,)], "relationship_groups_updated": [(zoe.id,)]}
    await close_clients(mary, zoe, rob)


async def test_lobby_and_member_changes_are_reported(world: World) -> None:
    mary, zoe, rob = await create_three_players(world)
    first_lobby_id, second_lobby_id = [await mary.client.create_or_join_lobby(secret) for secret in ("pond", "puddle")]
    joined_events = mary.record_event("lobby_member_added")
    for secret in ("pond", "puddle"):
        await zoe.client.create_or_join_lobby(secret)
        await joined_events.next()
    await wait_processed(mary, zoe)

    async def make_changes() -> None:
        await zoe.client.leave_lobby(first_lobby_id)
        await rob.client.create_or_join_lobby_with_metadata("pond", {"depth": "3"}, {})
        await zoe.client.create_or_join_lobby_with_metadata("puddle", {}, {"hat": "red"})

    callbacks = await record_callbacks_after_session_loss(world, mary, make_changes)

    assert callbacks["lobby_updated"] == [(first_lobby_id,)]
    assert callbacks["lobby_member_removed"] == [(first_lobby_id, zoe.id)]
    assert callbacks["lobby_member_added"] == [(first_lobby_id, rob.id)]
    assert callbacks["lobby_member_updated"] == [(second_lobby_id, zoe.id)]
    assert not callbacks.keys() & {"lobby_created", "lobby_deleted", "relationship_created", "relationship_deleted"}
    await close_clients(mary, zoe, rob)


@pytest.mark.parametrize("store_config", ["sqlite"], indirect=True)
async def test_no_changes_cause_no_callbacks(world: World) -> None:
    mary, zoe, rob = await create_three_players(world)
    await mary.client.create_or_join_lobby("pond")
    await wait_processed(mary, zoe)

    async def make_no_changes() -> None:
        await asyncio.sleep(0)

    assert await record_callbacks_after_session_loss(world, mary, make_no_changes) == {}
    await close_clients(mary, zoe, rob)

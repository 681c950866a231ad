"""Presence and activities of friends, through the SDK."""

import asyncio

import pytest

from hubbub.sdk import (
    ActivityButton,
    ActivityTypes,
    ErrorType,
    RelationshipGroupType,
    SdkError,
    StatusType,
)
from hubbub.sdk.presence import Presence
from tests.sdk.players import create_friends, create_game, create_player, joinable_activity, visible_activity
from tests.world import World


async def test_a_friend_sees_the_activity(world: World) -> None:
    mary, zoe = await create_friends(world)
    changed_events, regrouped_events = zoe.record_event("user_updated"), zoe.record_event("relationship_groups_updated")

    activity = joinable_activity(type=ActivityTypes.COMPETING)
    activity.add_button(ActivityButton(label="Site", url="https://puddle.example"))
    await mary.client.update_rich_presence(activity)

    await changed_events.next(lambda user_id: user_id == mary.id and visible_activity(zoe, mary) is not None)
    shown_activity = visible_activity(zoe, mary)
    assert shown_activity is not None
    assert (shown_activity.name, shown_activity.type, shown_activity.state, shown_activity.details) == (
        "Puddle",
        ActivityTypes.COMPETING,
        "In a puddle",
        "Jumping",
    )
    assert shown_activity.application_id == mary.client.get_application_id()
    assert shown_activity.party is not None
    assert (shown_activity.party.id, shown_activity.party.current_size, shown_activity.party.max_size) == (
        "party-1",
        1,
        4,
    )
    assert shown_activity.secrets is None
    assert [button.label for button in shown_activity.get_buttons()] == ["Site"]
    assert await regrouped_events.next() == mary.id
    group = zoe.client.get_relationships_by_group(RelationshipGroupType.ONLINE_PLAYING_GAME)
    assert [relationship.id for relationship in group] == [mary.id]

    mary.client.clear_rich_presence()
    await changed_events.next(lambda user_id: user_id == mary.id and visible_activity(zoe, mary) is None)
    group = zoe.client.get_relationships_by_group(RelationshipGroupType.ONLINE_ELSEWHERE)
    assert [relationship.id for relationship in group] == [mary.id]
    await mary.client.close()
    await zoe.client.close()


async def test_a_friend_sees_the_online_status(world: World) -> None:
    mary, zoe = await create_friends(world)
    changed_events = zoe.record_event("user_updated")
    user = zoe.client.get_user(mary.id)
    assert user is not None

    await mary.client.set_online_status(StatusType.DND)
    await changed_events.next(lambda user_id: user_id == mary.id and user.status is StatusType.DND)

    await mary.client.disconnect()
    await changed_events.next(lambda user_id: user_id == mary.id and user.status is StatusType.OFFLINE)
    assert [
        relationship.id for relationship in zoe.client.get_relationships_by_group(RelationshipGroupType.OFFLINE)
    ] == [mary.id]
    with pytest.raises(SdkError) as caught:
        await zoe.client.set_online_status(StatusType.STREAMING)
    assert caught.value.result.type is ErrorType.VALIDATION_ERROR
    await mary.client.close()
    await zoe.client.close()


async def test_players_see_their_own_status_and_activity(world: World) -> None:
    mary = await create_player(world, await create_game(world), "mary")
    me, changed_events = mary.client.get_current_user_v2(), mary.record_event("user_updated")
    assert me is not None
    assert (me.status, me.game_activity) == (StatusType.ONLINE, None)

    await mary.client.set_online_status(StatusType.DND)
    assert (await changed_events.next(), me.status) == (mary.id, StatusType.DND)
    await mary.client.update_rich_presence(joinable_activity())
    assert await changed_events.next() == mary.id
    activity = visible_activity(mary, mary)
    assert activity is not None
    assert (activity.state, activity.party) == ("In a puddle", joinable_activity().party)
    # Repeating an activity causes no event, and an activity without a name gets the name of the application.
    await mary.client.update_rich_presence(joinable_activity(name=""))
    renamed_activity = visible_activity(mary, mary)
    assert renamed_activity is not None
    assert renamed_activity.name == "Puddle"
    mary.client.clear_rich_presence()
    await changed_events.next(lambda _: me.game_activity is None)
    assert len(changed_events.calls) == 3

    await mary.client.disconnect()
    assert me.status is StatusType.OFFLINE
    await mary.client.connect()
    assert me.status is StatusType.DND
    await mary.client.close()


async def test_a_new_session_receives_current_activities(world: World) -> None:
    mary, zoe = await create_friends(world)
    changed_events = zoe.record_event("user_updated")
    await mary.client.update_rich_presence(joinable_activity())
    await changed_events.next(lambda user_id: user_id == mary.id and visible_activity(zoe, mary) is not None)

    await zoe.client.disconnect()
    await zoe.client.connect()

    activity = visible_activity(zoe, mary)
    assert activity is not None
    assert activity.state == "In a puddle"
    await mary.client.close()
    await zoe.client.close()


async def test_an_invalid_activity_is_rejected_before_sending(world: World) -> None:
    mary = await create_player(world, await create_game(world))

    with pytest.raises(SdkError) as caught:
        await mary.client.update_rich_presence(joinable_activity(state="x"))

    assert caught.value.result.type is ErrorType.VALIDATION_ERROR
    assert "state" in caught.value.result.error
    await mary.client.close()


async def test_rapid_presence_updates_send_only_the_latest(world: World) -> None:
    mary = await create_player(world, await create_game(world))
    presence = mary.client._parts[Presence]
    waits: list[float] = []
    sent_payloads: list[object] = []
    wait_released = asyncio.Event()

    async def wait(seconds: float) -> None:
        waits.append(seconds)
        await wait_released.wait()

    async def send(opcode: int, data: object) -> None:
        sent_payloads.append(data)

    presence.sleep, presence._gateway.send = wait, send
    updates = [mary.client.update_rich_presence(joinable_activity(details=f"jump {number}")) for number in range(5)]
    await asyncio.gather(*updates)
    later_updates = [
        mary.client.update_rich_presence(joinable_activity(details=f"splash {number}")) for number in range(10)
    ]
    while not waits:
        await asyncio.sleep(0)
    wait_released.set()
    await asyncio.gather(*later_updates)

    assert len(waits) == 1
    assert 0 < waits[0] <= 20
    assert len(sent_payloads) <= 6
    assert "splash 9" in str(sent_payloads[-1])
    await mary.client.close()

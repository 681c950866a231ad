"""Friends in the game and on the platform, friend requests, and blocks, through the SDK."""

import pytest

from hubbub.sdk import ErrorType, RelationshipGroupType, RelationshipType, SdkError
from tests.sdk.players import Player, create_game, create_player, create_two_players
from tests.world import World

NONE, FRIEND, BLOCKED = RelationshipType.NONE, RelationshipType.FRIEND, RelationshipType.BLOCKED
INCOMING, OUTGOING = RelationshipType.PENDING_INCOMING, RelationshipType.PENDING_OUTGOING


def relationship_types(player: Player, other: Player) -> tuple[RelationshipType, RelationshipType]:
    """Return one player's relationship to another: on the platform, and in the game."""
    handle = player.client.get_relationship_handle(other.id)
    return handle.platform_relationship_type, handle.game_relationship_type


@pytest.mark.parametrize("kind", ["game", "platform"])
async def test_a_request_is_sent_accepted_and_ended(world: World, kind: str) -> None:
    mary, zoe = await create_two_players(world)
    created_events, deleted_events = zoe.record_event("relationship_created"), mary.record_event("relationship_deleted")
    accepted_events = mary.record_event("relationship_created")
    is_platform = kind == "platform"

    await getattr(mary.client, f"send_{kind}_friend_request_by_id")(zoe.id)
    assert await created_events.next() == (mary.id, is_platform)
    assert relationship_types(zoe, mary) == ((INCOMING, NONE) if is_platform else (NONE, INCOMING))
    assert await accepted_events.next() == (zoe.id, is_platform)
    assert relationship_types(mary, zoe) == ((OUTGOING, NONE) if is_platform else (NONE, OUTGOING))

    await getattr(zoe.client, f"accept_{kind}_friend_request")(mary.id)
    assert await accepted_events.next() == (zoe.id, is_platform)
    friend_types = (FRIEND, NONE) if is_platform else (NONE, FRIEND)
    assert relationship_types(mary, zoe) == friend_types

    await created_events.next()
    await zoe.client.remove_platform_and_game_friend(mary.id)
    assert await deleted_events.next() == (zoe.id, is_platform)
    assert relationship_types(mary, zoe) == (NONE, NONE)
    await mary.client.close()
    await zoe.client.close()


async def test_a_request_by_name_can_be_rejected_and_canceled(world: World) -> None:
    mary, zoe = await create_two_players(world)
    created_events, deleted_events, ended_events = (
        zoe.record_event("relationship_created"),
        mary.record_event("relationship_deleted"),
        zoe.record_event("relationship_deleted"),
    )
    sent_events = mary.record_event("relationship_created")

    await mary.client.send_game_friend_request("zoe")
    await created_events.next()
    await sent_events.next()
    await zoe.client.reject_game_friend_request(mary.id)
    assert await deleted_events.next() == (zoe.id, False)

    await mary.client.send_platform_friend_request("zoe")
    await sent_events.next()
    await created_events.next()
    await ended_events.next()
    await mary.client.cancel_platform_friend_request(zoe.id)
    assert await ended_events.next() == (mary.id, True)

    # The other combinations: the sender cancels a game request, the recipient rejects a platform request.
    await mary.client.send_game_friend_request_by_id(zoe.id)
    await sent_events.next(lambda user_id, platform: not platform)
    await created_events.next(lambda user_id, platform: not platform)
    await mary.client.cancel_game_friend_request(zoe.id)
    await ended_events.next(lambda user_id, platform: (user_id, platform) == (mary.id, False))
    assert relationship_types(zoe, mary) == (NONE, NONE)
    await mary.client.send_platform_friend_request_by_id(zoe.id)
    await sent_events.next(lambda user_id, platform: platform)
    await created_events.next(lambda user_id, platform: platform)
    rejected_events = mary.record_event("relationship_deleted")
    await zoe.client.reject_platform_friend_request(mary.id)
    assert await rejected_events.next() == (zoe.id, True)
    assert relationship_types(mary, zoe) == (NONE, NONE)
    await mary.client.close()
    await zoe.client.close()


async def test_a_blocked_user_cannot_send_friend_requests(world: World) -> None:
    mary, zoe = await create_two_players(world)
    created_events, deleted_events = (
        mary.record_event("relationship_created"),
        mary.record_event("relationship_deleted"),
    )

    await mary.client.block_user(zoe.id)
    assert await created_events.next() == (zoe.id, True)
    assert relationship_types(mary, zoe) == (BLOCKED, NONE)
    with pytest.raises(SdkError) as caught:
        await zoe.client.send_platform_friend_request_by_id(mary.id)
    assert caught.value.result.type is ErrorType.HTTP_ERROR

    await mary.client.unblock_user(zoe.id)
    assert await deleted_events.next() == (zoe.id, True)
    assert relationship_types(mary, zoe) == (NONE, NONE)
    await mary.client.close()
    await zoe.client.close()


@pytest.mark.one_postgres_case
@pytest.mark.parametrize(
    "operation",
    [
        "accept_platform_friend_request",
        "accept_game_friend_request",
        "reject_platform_friend_request",
        "reject_game_friend_request",
        "cancel_platform_friend_request",
        "cancel_game_friend_request",
        "remove_platform_and_game_friend",
        "remove_game_friend",
        "unblock_user",
    ],
)
async def test_impossible_requests_are_rejected_before_sending(world: World, operation: str) -> None:
    mary = await create_player(world, await create_game(world))

    with pytest.raises(SdkError) as caught:
        await getattr(mary.client, operation)(5)

    result = caught.value.result
    assert (result.type, result.error_code, result.response_body) == (ErrorType.VALIDATION_ERROR, 0, "")
    await mary.client.close()


async def test_a_rejected_request_returns_the_error_code(world: World) -> None:
    mary = await create_player(world, await create_game(world))

    with pytest.raises(SdkError) as caught:
        await mary.client.send_platform_friend_request("unknown-username")

    assert caught.value.result.error_code == 80004
    assert '"code":80004' in caught.value.result.response_body.replace(" ", "")
    await mary.client.close()


async def test_friends_are_searchable_and_grouped_after_connecting(world: World) -> None:
    mary, zoe = await create_two_players(world)
    created_events, accepted_events = (
        zoe.record_event("relationship_created"),
        mary.record_event("relationship_created"),
    )
    await mary.client.send_game_friend_request("zoe")
    await created_events.next()
    await zoe.client.accept_game_friend_request(mary.id)
    await accepted_events.next(lambda *_: relationship_types(mary, zoe)[1] is FRIEND)

    assert [user.username for user in mary.client.search_friends_by_username("ZO")] == ["zoe"]
    assert [user.username for user in mary.client.search_friends_by_username("zoa")] == ["zoe"]
    assert mary.client.search_friends_by_username("unknown") == []
    # One letter in three of a query may differ, so a query of fewer than three letters must match exactly.
    for query in ("x", "xy", "xyz", "toa"):
        assert mary.client.search_friends_by_username(query) == []
    assert [relationship.id for relationship in mary.client.get_relationships()] == [zoe.id]
    grouped_ids = [
        relationship.id
        for group in RelationshipGroupType
        for relationship in mary.client.get_relationships_by_group(group)
    ]
    assert grouped_ids == [zoe.id]
    # A group can be given as a number.
    ids_by_group_number = [
        relationship.id for group in range(3) for relationship in mary.client.get_relationships_by_group(group)
    ]  # type: ignore[arg-type]
    assert ids_by_group_number == [zoe.id]

    await mary.client.disconnect()
    await mary.client.connect()
    assert relationship_types(mary, zoe) == (NONE, FRIEND)
    user = mary.client.get_user(zoe.id)
    assert user is not None
    assert user.username == "zoe"
    await mary.client.close()
    await zoe.client.close()

"""Games of one publisher share a friends list, and their events name the application of the sending game."""

import pytest

from hubbub.protocol.ids import ApplicationId
from hubbub.sdk import AuthorizationTokenType, ErrorType, RelationshipGroupType, SdkError
from hubbub.server.core.call import Call
from hubbub.server.identity import applications, identities
from tests import oauth
from tests.sdk.players import (
    SCOPES,
    Player,
    befriend_players,
    create_game,
    joinable_activity,
    new_client,
    visible_activity,
)
from tests.world import World

BEARER = AuthorizationTokenType.BEARER


async def create_family(world: World, *names: str) -> tuple[oauth.Client, list[oauth.Client]]:
    """Create a publisher and its games, and return both."""
    publisher = await create_game(world, name="Rain House")
    games = [await create_game(world, owner=publisher.owner, name=name) for name in names]

    def join_family(call: Call) -> None:
        rows = [applications.find(call.tx, ApplicationId(application.id)) for application in (publisher, *games)]
        for row in rows[1:]:
            identities.join_family(call, row, rows[0])

    await world.write(join_family)
    return publisher, games


async def create_game_player(world: World, publisher: oauth.Client, child_game: oauth.Client, name: str) -> Player:
    """Create a user who authorized the publisher, exchange the token for a token of a game, and connect."""
    user = await world.user(name)
    tokens = await publisher.request_tokens(user, SCOPES)
    client = new_client(world)
    await client.update_token(
        BEARER, (await client.exchange_child_token(tokens["access_token"], child_game.id)).access_token
    )
    await client.connect()
    return Player(user, client, tokens)


async def test_a_player_of_a_sibling_game_sees_the_activity_and_is_invited(world: World) -> None:
    publisher, (puddle, pond) = await create_family(world, "Puddle", "Pond")
    mary, zoe = (
        await create_game_player(world, publisher, puddle, "mary"),
        await create_game_player(world, publisher, pond, "zoe"),
    )
    await befriend_players(mary, zoe)
    changed_events, invited_events = zoe.record_event("user_updated"), zoe.record_event("activity_invite_created")

    await mary.client.update_rich_presence(joinable_activity())
    await changed_events.next(lambda user_id: user_id == mary.id and visible_activity(zoe, mary) is not None)
    activity = visible_activity(zoe, mary)
    assert activity is not None
    assert (activity.application_id, activity.parent_application_id) == (puddle.id, publisher.id)
    group = zoe.client.get_relationships_by_group(RelationshipGroupType.ONLINE_PLAYING_GAME)
    assert [relationship.id for relationship in group] == [mary.id]

    await mary.client.send_activity_invite(zoe.id, "come over")
    invite = await invited_events.next()
    assert (invite.application_id, invite.parent_application_id) == (puddle.id, publisher.id)
    assert await zoe.client.accept_activity_invite(invite) == "let-me-in"
    with pytest.raises(SdkError) as caught:
        # A join request can only ask for the game that the requester plays.
        await zoe.client.send_activity_join_request(mary.id)
    assert caught.value.result.type is ErrorType.VALIDATION_ERROR
    await mary.client.close()
    await zoe.client.close()


async def test_a_message_from_a_sibling_game_names_its_application(world: World) -> None:
    publisher, (puddle, pond) = await create_family(world, "Puddle", "Pond")
    mary, zoe = (
        await create_game_player(world, publisher, puddle, "mary"),
        await create_game_player(world, publisher, pond, "zoe"),
    )
    await befriend_players(mary, zoe)
    created_events = zoe.record_event("message_created")

    sent_id = await mary.client.send_user_message(zoe.id, "hello from the puddle")

    await created_events.next(lambda message_id: message_id == sent_id)
    message = zoe.client.get_message_handle(sent_id)
    assert message is not None
    assert (message.application_id, message.sent_from_game) == (puddle.id, True)
    await mary.client.close()
    await zoe.client.close()


async def test_the_publishers_own_token_cannot_open_a_session(world: World) -> None:
    publisher, _ = await create_family(world, "Puddle")
    client = new_client(world)
    await client.update_token(BEARER, (await publisher.request_tokens(await world.user(), SCOPES))["access_token"])

    with pytest.raises(SdkError) as caught:
        await client.connect()

    assert caught.value.result.type is ErrorType.AUTHORIZATION_FAILED
    await client.close()

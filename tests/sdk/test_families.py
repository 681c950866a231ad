"""Games of one publisher share a friends list and know each other's applications."""

import pytest

from hubbub.protocol.ids import ApplicationId
from hubbub.sdk import AuthorizationTokenType, ErrorType, RelationshipGroupType, SdkError
from hubbub.server.core.call import Call
from hubbub.server.identity import applications, identities
from tests import oauth
from tests.sdk.players import SCOPES, Player, game, new_client
from tests.sdk.test_presence import activity_of, befriend, joinable_activity
from tests.world import World

BEARER = AuthorizationTokenType.BEARER


async def family(world: World, *names: str) -> tuple[oauth.Client, list[oauth.Client]]:
    """Create a publisher application with its games."""
    head = await game(world, name="Rain House")
    games = [await game(world, owner=head.owner, name=name) for name in names]

    def adopt(call: Call) -> None:
        rows = [applications.find(call.tx, ApplicationId(each.id)) for each in (head, *games)]
        for row in rows[1:]:
            identities.join_family(call, row, rows[0])

    await world.write(adopt)
    return head, games


async def player_of(world: World, head: oauth.Client, child: oauth.Client, name: str) -> Player:
    """Create a player of one of the games."""
    person = await world.user(name)
    tokens = await head.request_tokens(person, SCOPES)
    client = new_client(world)
    await client.update_token(
        BEARER, (await client.exchange_child_token(tokens["access_token"], child.id)).access_token
    )
    await client.connect()
    return Player(person, client, tokens)


async def test_a_player_of_a_sibling_game_sees_the_activity_and_is_invited(world: World) -> None:
    head, (puddle, pond) = await family(world, "Puddle", "Pond")
    mary, zoe = await player_of(world, head, puddle, "mary"), await player_of(world, head, pond, "zoe")
    await befriend(mary, zoe)
    changed, invited = zoe.record_event("user_updated"), zoe.record_event("activity_invite_created")

    await mary.client.update_rich_presence(joinable_activity())
    await changed.next(lambda user_id: user_id == mary.id and activity_of(zoe, mary) is not None)
    seen = activity_of(zoe, mary)
    assert seen is not None
    assert (seen.application_id, seen.parent_application_id) == (puddle.id, head.id)
    group = zoe.client.get_relationships_by_group(RelationshipGroupType.ONLINE_PLAYING_GAME)
    assert [each.id for each in group] == [mary.id]

    await mary.client.send_activity_invite(zoe.id, "come over")
    invite = await invited.next()
    assert (invite.application_id, invite.parent_application_id) == (puddle.id, head.id)
    assert await zoe.client.accept_activity_invite(invite) == "let-me-in"
    with pytest.raises(SdkError) as caught:
        # A join request can only ask for the game that the requester plays.
        await zoe.client.send_activity_join_request(mary.id)
    assert caught.value.result.type is ErrorType.VALIDATION_ERROR
    await mary.client.close()
    await zoe.client.close()


async def test_a_message_from_a_sibling_game_names_its_application(world: World) -> None:
    head, (puddle, pond) = await family(world, "Puddle", "Pond")
    mary, zoe = await player_of(world, head, puddle, "mary"), await player_of(world, head, pond, "zoe")
    await befriend(mary, zoe)
    created = zoe.record_event("message_created")

    sent = await mary.client.send_user_message(zoe.id, "hello from the puddle")

    await created.next(lambda which: which == sent)
    message = zoe.client.get_message_handle(sent)
    assert message is not None
    assert (message.application_id, message.sent_from_game) == (puddle.id, True)
    await mary.client.close()
    await zoe.client.close()


async def test_the_publishers_own_token_cannot_open_a_session(world: World) -> None:
    head, _ = await family(world, "Puddle")
    client = new_client(world)
    await client.update_token(BEARER, (await head.request_tokens(await world.user(), SCOPES))["access_token"])

    with pytest.raises(SdkError) as caught:
        await client.connect()

    assert caught.value.result.type is ErrorType.AUTHORIZATION_FAILED
    await client.close()

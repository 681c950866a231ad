"""Messages between players who are not friends: relayed while both play, and never stored (spec/sdk.md#11.3).

One test is about messages in groups.
"""

import asyncio

import pytest

from hubbub.sdk import AuthorizationTokenType, Client, ErrorType, HttpStatusCode, SdkError
from tests import oauth
from tests.sdk.players import CallbackRecorder, create_game, create_player, new_client, request_provisional_token
from tests.world import WAIT_TIMEOUT_SECONDS, World

BEARER = AuthorizationTokenType.BEARER


async def create_provisional_player(world: World, application: oauth.Client, name: str) -> tuple[Client, int]:
    client = new_client(world)
    await client.update_token(BEARER, (await request_provisional_token(application, name)).ok()["access_token"])
    await client.connect()
    me = client.get_current_user_v2()
    assert me is not None
    return client, me.id


async def send_until_rejected(client: Client, user_id: int) -> None:
    """Send messages until one is rejected; the platform may need a moment to notice that the recipient disconnected."""
    while await client.send_user_message(user_id, "are you there?"):
        pass


async def test_messages_between_strangers_are_not_stored(world: World) -> None:
    application = await create_game(world)
    mary, zoe = await create_player(world, application, "mary"), await create_player(world, application, "zoe")
    created_events, updated_events, deleted_events = (
        zoe.record_event(f"message_{kind}") for kind in ("created", "updated", "deleted")
    )
    own_created_events = mary.record_event("message_created")

    message_id = await mary.client.send_user_message_with_metadata(zoe.id, "hello", {"mood": "wet"})

    assert await created_events.next() == message_id
    assert await own_created_events.next() == message_id
    for reader, other in ((zoe, mary), (mary, zoe)):
        message = reader.client.get_message_handle(message_id)
        assert message is not None
        assert (message.author_id, message.content, message.metadata) == (mary.id, "hello", {"mood": "wet"})
        # The conversation is identified by the other player; it has no channel of its own.
        assert (message.channel_id, message.recipient_id, message.channel) == (other.id, other.id, None)
        assert reader.client.get_channel_handle(other.id) is None
        assert not reader.client.can_open_message_in_platform(message_id)
        assert message.disclosure_type is None

    await mary.client.edit_user_message(zoe.id, message_id, "hello again")
    assert await updated_events.next() == message_id
    message = zoe.client.get_message_handle(message_id)
    assert message is not None
    assert (message.content, message.metadata) == ("hello again", {"mood": "wet"})
    with pytest.raises(SdkError) as caught:
        await zoe.client.get_user_messages_with_limit(mary.id, 50)
    assert caught.value.result.status is HttpStatusCode.NOT_FOUND
    assert await zoe.client.get_user_message_summaries() == []

    await mary.client.delete_user_message(zoe.id, message_id)
    assert await deleted_events.next() == (message_id, mary.id)
    assert zoe.client.get_message_handle(message_id) is None
    await mary.client.close()
    await zoe.client.close()


async def test_provisional_players_can_message_while_both_are_connected(world: World) -> None:
    application = await create_game(world)
    sender, _ = await create_provisional_player(world, application, "hero-1")
    recipient, recipient_id = await create_provisional_player(world, application, "hero-2")
    creation_recorder, update_recorder = CallbackRecorder(), CallbackRecorder()
    recipient.set_message_created_callback(creation_recorder)
    recipient.set_message_updated_callback(update_recorder)

    message_id = await sender.send_user_message(recipient_id, "psst")
    assert await creation_recorder.next() == message_id
    sender_id = (await sender.fetch_current_user(BEARER, sender._core.token)).id
    assert application.bot is not None
    path = f"/partner-sdk/dms/{sender_id}/{recipient_id}/messages/{message_id}/moderation-metadata"
    assert (await application.bot.put(path, json={"verdict": "harmless"})).status == 204
    assert await update_recorder.next() == message_id
    message = recipient.get_message_handle(message_id)
    assert message is not None
    assert (message.content, message.moderation_metadata) == ("psst", {"verdict": "harmless"})

    await recipient.disconnect()
    with pytest.raises(SdkError) as caught:
        await asyncio.wait_for(send_until_rejected(sender, recipient_id), WAIT_TIMEOUT_SECONDS)
    result = caught.value.result
    # 50278: the players have no mutual guild either.
    assert (result.type, result.error_code, result.status) == (ErrorType.HTTP_ERROR, 50278, HttpStatusCode.FORBIDDEN)
    await sender.close()
    await recipient.close()


async def test_a_group_message_is_not_a_message_to_one_recipient(world: World) -> None:
    application = await create_game(world)
    mary, zoe = await create_player(world, application, "mary"), await create_player(world, application, "zoe")
    rob = await world.user("rob")
    await world.guild(mary.user, zoe.user, rob)
    created_events = mary.record_event("message_created")
    private_id = await zoe.client.send_user_message(mary.id, "for mary alone")
    await created_events.next(lambda message_id: message_id == private_id)
    body = {"recipients": [str(zoe.id), str(rob.id)]}
    group_id = (await mary.user.post("/users/@me/channels", json=body)).ok()["id"]

    posted_id = (await zoe.user.post(f"/channels/{group_id}/messages", json={"content": "for all"})).ok()["id"]

    await created_events.next(lambda message_id: message_id == int(posted_id))
    message = mary.client.get_message_handle(int(posted_id))
    assert message is not None
    assert (message.recipient_id, message.recipient, message.channel_id) == (0, None, int(group_id))
    assert [message.id for message in await mary.client.get_user_messages_with_limit(zoe.id, 1)] == [private_id]
    await mary.client.close()
    await zoe.client.close()

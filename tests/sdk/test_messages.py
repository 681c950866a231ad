"""Direct messages between players, through the SDK."""

from typing import Any

import pytest

from hubbub.protocol.operation import Operation
from hubbub.protocol.resources.user_messages import LIST_USER_MESSAGES
from hubbub.sdk import ChannelType, DisclosureTypes, ErrorType, SdkError
from tests.sdk.players import create_friends, create_game, create_player
from tests.world import World


async def test_friends_send_edit_and_delete_messages(world: World) -> None:
    mary, zoe = await create_friends(world)
    created_events, updated_events, deleted_events = (
        zoe.record_event(f"message_{kind}") for kind in ("created", "updated", "deleted")
    )

    sent_id = await mary.client.send_user_message_with_metadata(zoe.id, "hello", {"mood": "wet"})

    await created_events.next(lambda message_id: message_id == sent_id)
    message = zoe.client.get_message_handle(sent_id)
    assert message is not None
    # The recipient is the other user of the conversation, also for received messages.
    assert (message.author_id, message.recipient_id, message.content) == (mary.id, mary.id, "hello")
    assert message.recipient == message.author
    assert (message.metadata, message.sent_from_game) == ({"mood": "wet"}, True)
    assert message.application_id == mary.client.get_application_id()
    assert message.lobby is None
    assert message.channel is not None
    assert message.channel.type is ChannelType.DM
    assert zoe.client.can_open_message_in_platform(sent_id)

    await mary.client.edit_user_message(zoe.id, sent_id, "hello again")
    assert await updated_events.next() == sent_id
    assert message.content == "hello again"
    assert message.edited_timestamp == world.clock.now_ms()

    await mary.client.delete_user_message(zoe.id, sent_id)
    assert await deleted_events.next() == (sent_id, message.channel_id)
    assert zoe.client.get_message_handle(sent_id) is None
    await mary.client.close()
    await zoe.client.close()


async def test_a_disclosure_notice_is_inserted_before_the_first_message(world: World) -> None:
    mary, zoe = await create_friends(world)
    created_events = zoe.record_event("message_created")

    sent_ids = [await mary.client.send_user_message(zoe.id, f"line {number}") for number in range(2)]
    await created_events.next(lambda message_id: message_id == sent_ids[1])

    notices = []
    for (message_id,) in created_events.calls:
        message = zoe.client.get_message_handle(message_id)
        assert message is not None
        if message.disclosure_type is not None:
            notices.append(message)
    assert [notice.disclosure_type for notice in notices] == [DisclosureTypes.MESSAGE_DATA_VISIBLE_ON_PLATFORM]
    assert notices[0].content
    assert created_events.calls[0] == (notices[0].id,)
    await mary.client.close()
    await zoe.client.close()


async def test_history_is_served_from_the_cache_when_complete(world: World) -> None:
    mary, zoe = await create_friends(world)
    old_ids = [await mary.client.send_user_message(zoe.id, f"old {number}") for number in range(3)]
    created_events = zoe.record_event("message_created")
    await zoe.client.disconnect()
    await zoe.client.connect()
    requested_operations: list[Operation[Any, Any]] = []
    send_request = zoe.client._core.request

    async def record_request(operation: Operation[Any, Any], **options: Any) -> bytes:
        requested_operations.append(operation)
        return await send_request(operation, **options)

    zoe.client._core.request = record_request  # type: ignore[method-assign]

    def count_fetches() -> int:
        return requested_operations.count(LIST_USER_MESSAGES)

    new_ids = [await mary.client.send_user_message(zoe.id, f"new {number}") for number in range(2)]
    await created_events.next(lambda message_id: message_id == new_ids[-1])

    assert [message.id for message in await zoe.client.get_user_messages_with_limit(mary.id, 2)] == new_ids[::-1]
    assert count_fetches() == 0
    assert [message.id for message in await zoe.client.get_user_messages_with_limit(mary.id, 4)] == [
        *new_ids[::-1],
        *old_ids[:0:-1],
    ]
    assert count_fetches() == 1
    assert len(await zoe.client.get_user_messages_with_limit(mary.id, 4)) == 4
    assert count_fetches() == 1
    all_ids = [message.id for message in await zoe.client.get_user_messages_with_limit(mary.id, 0)]
    assert (all_ids, count_fetches()) == ([*new_ids[::-1], *old_ids[::-1]], 2)
    assert len(await zoe.client.get_user_messages_with_limit(mary.id, 100)) == 5
    assert count_fetches() == 2
    await mary.client.close()
    await zoe.client.close()


async def test_a_summary_has_the_conversation_partner_and_the_last_message(world: World) -> None:
    mary, zoe = await create_friends(world)
    message_id = await mary.client.send_user_message(zoe.id, "hello")

    [summary] = await zoe.client.get_user_message_summaries()

    assert (summary.user_id, summary.last_message_id) == (mary.id, message_id)
    await mary.client.close()
    await zoe.client.close()


async def test_moderation_metadata_reaches_the_recipient(world: World) -> None:
    application = await create_game(world)
    mary, zoe = await create_friends(world, application)
    created_events, updated_events = zoe.record_event("message_created"), zoe.record_event("message_updated")
    sent_id = await mary.client.send_user_message(zoe.id, "hello")
    await created_events.next(lambda message_id: message_id == sent_id)
    message = zoe.client.get_message_handle(sent_id)
    assert message is not None
    assert application.bot is not None

    path = f"/partner-sdk/dms/{mary.id}/{zoe.id}/messages/{sent_id}/moderation-metadata"
    assert (await application.bot.put(path, json={"verdict": "splashy"})).status == 204

    assert await updated_events.next() == sent_id
    assert message.moderation_metadata == {"verdict": "splashy"}
    await mary.client.close()
    await zoe.client.close()


@pytest.mark.parametrize(("content", "metadata"), [("", {}), ("x" * 2001, {}), ("x", {str(n): "" for n in range(26)})])
async def test_invalid_messages_are_rejected_before_sending(
    world: World, content: str, metadata: dict[str, str]
) -> None:
    mary = await create_player(world, await create_game(world))

    with pytest.raises(SdkError) as caught:
        await mary.client.send_user_message_with_metadata(5, content, metadata)

    assert caught.value.result.type is ErrorType.VALIDATION_ERROR
    await mary.client.close()

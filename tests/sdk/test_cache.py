"""The client's cache: repeated and late events, a full history, flags, and spam requests."""

from hubbub.protocol.resources.relationships import AddedRelationship
from hubbub.protocol.resources.user_messages import DispatchedUserMessage
from hubbub.protocol.resources.users import User
from hubbub.sdk.cache import HISTORY_MESSAGES_MAX, Cache, MessageHistory
from hubbub.sdk.enums import RelationshipType
from hubbub.sdk.tolerant_models import convert

ZOE = {"id": "2", "username": "zoe"}
ZOE_ID = 2


def create_cache() -> Cache:
    """Create the cache of user 1, which contains Zoe."""
    cache = Cache()
    cache.current_user_id = 1
    cache.update_user(convert(ZOE, User))
    return cache


def message_payload(message_id: int, **fields: object) -> DispatchedUserMessage:
    payload = {"id": message_id, "channel_id": "9", "author": ZOE, "content": str(message_id), **fields}
    return convert(payload, DispatchedUserMessage)


def add_history(cache: Cache, *ids: int) -> MessageHistory:
    """Record a page of history fetched over HTTP."""
    history = cache.histories[ZOE_ID] = MessageHistory()
    history.messages.extend(
        cache.shared_message(message_payload(message_id), other_user_id=ZOE_ID) for message_id in ids
    )
    return history


def message_ids(history: MessageHistory) -> list[int]:
    return [message.id for message in history.messages]


def test_an_event_that_arrives_after_the_response_is_not_duplicated() -> None:
    cache = create_cache()
    history = add_history(cache, 7, 5)

    cache.add_direct_message(message_payload(5))
    cache.add_direct_message(message_payload(7))
    cache.add_direct_message(message_payload(9))

    assert message_ids(history) == [9, 7, 5]
    assert cache.find_recent_message(5) is not None


def test_a_late_event_is_inserted_in_order() -> None:
    cache = create_cache()
    history = add_history(cache, 9, 5)

    cache.add_direct_message(message_payload(7))
    cache.add_direct_message(message_payload(3))

    assert message_ids(history) == [9, 7, 5, 3]


def test_a_full_history_drops_its_oldest_message() -> None:
    cache = create_cache()
    history = add_history(cache, *range(2 * HISTORY_MESSAGES_MAX, 0, -2))

    cache.add_direct_message(message_payload(1))
    cache.add_direct_message(message_payload(2 * HISTORY_MESSAGES_MAX - 1))

    assert len(history.messages) == HISTORY_MESSAGES_MAX
    assert message_ids(history)[:3] == [
        2 * HISTORY_MESSAGES_MAX,
        2 * HISTORY_MESSAGES_MAX - 1,
        2 * HISTORY_MESSAGES_MAX - 2,
    ]
    assert message_ids(history)[-1] == 4


def test_zero_clears_flags_and_absent_flags_stay() -> None:
    cache = create_cache()
    message = cache.add_direct_message(message_payload(7, flags=4))

    message.update(convert({"id": "7", "content": "seven"}, DispatchedUserMessage))
    assert (message.flags, message.content) == (4, "seven")

    message.update(convert({"id": "7", "flags": 0}, DispatchedUserMessage))
    assert (message.flags, message.content) == (0, "seven")


def test_an_accepted_request_is_no_longer_spam() -> None:
    cache = create_cache()
    request = {"id": "2", "type": RelationshipType.PENDING_INCOMING, "user": ZOE, "is_spam_request": True}
    cache.update_relationship(convert(request, AddedRelationship))
    relationship = cache.update_relationship(convert({"id": "2", "nickname": "Zo"}, AddedRelationship))
    assert relationship.is_spam

    friend = {"id": "2", "type": RelationshipType.FRIEND, "user": ZOE}
    cache.update_relationship(convert(friend, AddedRelationship))

    assert not relationship.is_spam

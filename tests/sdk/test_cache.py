"""The client's cache reaches the same state whatever the source and order of its updates."""

from hubbub.sdk.cache import HISTORY_MESSAGES_MAX, Cache, MessageHistory
from hubbub.sdk.enums import RelationshipType
from hubbub.sdk.payloads import MessagePayload, RelationshipPayload, UserPayload

ZOE = UserPayload(id=2, username="zoe")


def marys() -> Cache:
    """Create a cache for Mary's client."""
    cache = Cache()
    cache.current_user_id = 1
    cache.update_user(ZOE)
    return cache


def message_payload(id: int, **more: object) -> MessagePayload:
    return MessagePayload(id=id, channel_id=9, author=ZOE, content=str(id), **more)  # type: ignore[arg-type]


def fetched(cache: Cache, *ids: int) -> MessageHistory:
    """Record a page of history fetched over HTTP."""
    history = cache.histories[ZOE.id] = MessageHistory()
    history.messages.extend(cache.shared_message(message_payload(each), other_user_id=ZOE.id) for each in ids)
    return history


def ids(history: MessageHistory) -> list[int]:
    return [each.payload.id for each in history.messages]


def test_an_event_that_arrives_after_the_response_is_not_duplicated() -> None:
    cache = marys()
    history = fetched(cache, 7, 5)

    cache.add_message(message_payload(5))
    cache.add_message(message_payload(7))
    cache.add_message(message_payload(9))

    assert ids(history) == [9, 7, 5]
    assert cache.find_recent_message(5) is not None


def test_a_late_event_is_inserted_in_order() -> None:
    cache = marys()
    history = fetched(cache, 9, 5)

    cache.add_message(message_payload(7))
    cache.add_message(message_payload(3))

    assert ids(history) == [9, 7, 5, 3]


def test_a_full_history_drops_its_oldest_message() -> None:
    cache = marys()
    history = fetched(cache, *range(2 * HISTORY_MESSAGES_MAX, 0, -2))

    cache.add_message(message_payload(1))
    cache.add_message(message_payload(2 * HISTORY_MESSAGES_MAX - 1))

    assert len(history.messages) == HISTORY_MESSAGES_MAX
    assert ids(history)[:3] == [2 * HISTORY_MESSAGES_MAX, 2 * HISTORY_MESSAGES_MAX - 1, 2 * HISTORY_MESSAGES_MAX - 2]
    assert ids(history)[-1] == 4


def test_zero_clears_flags_and_absent_flags_stay() -> None:
    cache = marys()
    message = cache.add_message(message_payload(7, flags=4))

    cache.update_message(message, MessagePayload(id=7, content="seven"))
    assert (message.payload.flags, message.payload.content) == (4, "seven")

    cache.update_message(message, MessagePayload(id=7, flags=0))
    assert (message.payload.flags, message.payload.content) == (0, "seven")


def test_an_accepted_request_is_no_longer_spam() -> None:
    cache = marys()
    cache.update_relationship(
        RelationshipPayload(id=2, type=RelationshipType.PENDING_INCOMING, user=ZOE, is_spam_request=True)
    )
    relation = cache.update_relationship(RelationshipPayload(id=2, nickname="Zo"))
    assert relation.spam

    cache.update_relationship(RelationshipPayload(id=2, type=RelationshipType.FRIEND, user=ZOE))

    assert not relation.spam

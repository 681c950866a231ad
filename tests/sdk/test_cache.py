"""The client's cache reaches the same state whatever the source and order of its updates."""

from hubbub.sdk.cache import HISTORY_MESSAGES, Cache, History
from hubbub.sdk.enums import RelationshipType
from hubbub.sdk.payloads import MessagePayload, RelationshipPayload, UserPayload

ZOE = UserPayload(id=2, username="zoe")


def marys() -> Cache:
    """Create a cache for Mary's client."""
    cache = Cache()
    cache.me = 1
    cache.note_user(ZOE)
    return cache


def message_payload(id: int, **more: object) -> MessagePayload:
    return MessagePayload(id=id, channel_id=9, author=ZOE, content=str(id), **more)  # type: ignore[arg-type]


def fetched(cache: Cache, *ids: int) -> History:
    """Record a page of history fetched over HTTP."""
    history = cache.histories[ZOE.id] = History()
    history.messages.extend(cache.hold(message_payload(each), other=ZOE.id) for each in ids)
    return history


def ids(history: History) -> list[int]:
    return [each.payload.id for each in history.messages]


def test_an_event_that_arrives_after_the_response_is_not_duplicated() -> None:
    cache = marys()
    history = fetched(cache, 7, 5)

    cache.keep(message_payload(5))
    cache.keep(message_payload(7))
    cache.keep(message_payload(9))

    assert ids(history) == [9, 7, 5]
    assert cache.recent(5) is not None


def test_a_late_event_is_inserted_in_order() -> None:
    cache = marys()
    history = fetched(cache, 9, 5)

    cache.keep(message_payload(7))
    cache.keep(message_payload(3))

    assert ids(history) == [9, 7, 5, 3]


def test_a_full_history_drops_its_oldest_message() -> None:
    cache = marys()
    history = fetched(cache, *range(2 * HISTORY_MESSAGES, 0, -2))

    cache.keep(message_payload(1))
    cache.keep(message_payload(2 * HISTORY_MESSAGES - 1))

    assert len(history.messages) == HISTORY_MESSAGES
    assert ids(history)[:3] == [2 * HISTORY_MESSAGES, 2 * HISTORY_MESSAGES - 1, 2 * HISTORY_MESSAGES - 2]
    assert ids(history)[-1] == 4


def test_zero_clears_flags_and_absent_flags_stay() -> None:
    cache = marys()
    message = cache.keep(message_payload(7, flags=4))

    cache.change(message, MessagePayload(id=7, content="seven"))
    assert (message.payload.flags, message.payload.content) == (4, "seven")

    cache.change(message, MessagePayload(id=7, flags=0))
    assert (message.payload.flags, message.payload.content) == (0, "seven")


def test_an_accepted_request_is_no_longer_spam() -> None:
    cache = marys()
    cache.note_relationship(
        RelationshipPayload(id=2, type=RelationshipType.PENDING_INCOMING, user=ZOE, is_spam_request=True)
    )
    relation = cache.note_relationship(RelationshipPayload(id=2, nickname="Zo"))
    assert relation.spam

    cache.note_relationship(RelationshipPayload(id=2, type=RelationshipType.FRIEND, user=ZOE))

    assert not relation.spam

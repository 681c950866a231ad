"""What the client knows without asking: the same whatever way it was told, and in whatever order."""

from hubbub.sdk.cache import HISTORY_MESSAGES, Cache, History
from hubbub.sdk.enums import RelationshipType
from hubbub.sdk.payloads import MessagePayload, RelationshipPayload, UserPayload

ZOE = UserPayload(id=2, username="zoe")


def marys() -> Cache:
    """What a client of mary's knows."""
    cache = Cache()
    cache.me = 1
    cache.note_user(ZOE)
    return cache


def said(id: int, **more: object) -> MessagePayload:
    return MessagePayload(id=id, channel_id=9, author=ZOE, content=str(id), **more)  # type: ignore[arg-type]


def fetched(cache: Cache, *ids: int) -> History:
    """An answer of the platform, as the history that it makes."""
    history = cache.histories[ZOE.id] = History()
    history.messages.extend(cache.hold(said(each), other=ZOE.id) for each in ids)
    return history


def ids(history: History) -> list[int]:
    return [each.payload.id for each in history.messages]


def test_an_event_that_an_answer_overtook_stands_in_the_history_once() -> None:
    cache = marys()
    history = fetched(cache, 7, 5)

    cache.keep(said(5))
    cache.keep(said(7))
    cache.keep(said(9))

    assert ids(history) == [9, 7, 5]
    assert cache.recent(5) is not None


def test_an_event_that_comes_late_stands_in_its_place() -> None:
    cache = marys()
    history = fetched(cache, 9, 5)

    cache.keep(said(7))
    cache.keep(said(3))

    assert ids(history) == [9, 7, 5, 3]


def test_a_history_that_is_full_loses_its_oldest() -> None:
    cache = marys()
    history = fetched(cache, *range(2 * HISTORY_MESSAGES, 0, -2))

    cache.keep(said(1))
    cache.keep(said(2 * HISTORY_MESSAGES - 1))

    assert len(history.messages) == HISTORY_MESSAGES
    assert ids(history)[:3] == [2 * HISTORY_MESSAGES, 2 * HISTORY_MESSAGES - 1, 2 * HISTORY_MESSAGES - 2]
    assert ids(history)[-1] == 4


def test_a_flag_that_was_taken_away_is_gone_and_one_that_is_not_told_stays() -> None:
    cache = marys()
    message = cache.keep(said(7, flags=4))

    cache.change(message, MessagePayload(id=7, content="seven"))
    assert (message.payload.flags, message.payload.content) == (4, "seven")

    cache.change(message, MessagePayload(id=7, flags=0))
    assert (message.payload.flags, message.payload.content) == (0, "seven")


def test_a_request_that_was_accepted_is_no_spam() -> None:
    cache = marys()
    cache.note_relationship(
        RelationshipPayload(id=2, type=RelationshipType.PENDING_INCOMING, user=ZOE, is_spam_request=True)
    )
    relation = cache.note_relationship(RelationshipPayload(id=2, nickname="Zo"))
    assert relation.spam

    cache.note_relationship(RelationshipPayload(id=2, type=RelationshipType.FRIEND, user=ZOE))

    assert not relation.spam

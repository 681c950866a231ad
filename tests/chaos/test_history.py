"""The checks of histories accept correct histories and find each kind of violation, on histories written by hand."""

from typing import Any

import pytest

from hubbub.protocol.enums import ChannelType
from tests.chaos.history import (
    Outcome,
    Read,
    RightChange,
    RightUse,
    Send,
    Stream,
    Use,
    check_client_state,
    check_messages,
    check_nonces,
    check_rights,
    check_stream,
    check_uses,
)

ACKNOWLEDGED, FAILED, UNKNOWN = Outcome.ACKNOWLEDGED, Outcome.FAILED, Outcome.UNKNOWN


def send(
    started: float, ended: float, content: str, id: int = 0, nonce: str = "", outcome: Outcome | None = None
) -> Send:
    """Return a send, by default acknowledged if it has an ID and unknown otherwise."""
    outcome = outcome or (ACKNOWLEDGED if id else UNKNOWN)
    return Send(
        started=started, ended=ended, outcome=outcome, channel_id="c", content=content, message_id=id, nonce=nonce
    )


def read(started: float, ended: float, *messages: tuple[int, str]) -> Read:
    return Read(started=started, ended=ended, outcome=ACKNOWLEDGED, channel_id="c", messages=messages)


VALID_MESSAGES = {
    "one after the other": ([send(0, 1, "a", 1), send(2, 3, "b", 2)], [read(4, 5, (1, "a"), (2, "b"))]),
    "concurrent sends in any order": ([send(0, 5, "a", 2), send(1, 4, "b", 1)], [read(6, 7, (1, "b"), (2, "a"))]),
    "a concurrent read without the message": ([send(0, 5, "a", 1)], [read(1, 2), read(6, 7, (1, "a"))]),
    "an unknown send that took effect": ([send(0, 1, "a")], [read(2, 3, (1, "a"))]),
    "an unknown send that took effect late": ([send(0, 1, "a")], [read(2, 3), read(9, 10, (1, "a"))]),
    "an unknown send without effect": ([send(0, 1, "a")], [read(2, 3)]),
    "a failed send": ([send(0, 1, "a", outcome=FAILED)], [read(2, 3)]),
    "a repetition with the same nonce": (
        [send(0, 1, "a", nonce="n"), send(1, 2, "b", 7), send(3, 4, "a", 5, nonce="n")],
        [read(5, 6, (5, "a"), (7, "b"))],
    ),
    "no operations": ([], []),
}


@pytest.mark.parametrize("name", VALID_MESSAGES)
def test_correct_histories_of_messages_have_no_violation(name: str) -> None:
    sends, reads = VALID_MESSAGES[name]
    assert check_messages(sends, reads) == []


INVALID_MESSAGES = {
    "lost": ([send(0, 1, "a", 1)], [read(2, 3)], "'a' was acknowledged and is lost"),
    "stored with another ID": ([send(0, 1, "a", 1)], [read(2, 3, (2, "a"))], "'a' was acknowledged and is lost"),
    "stored twice": ([send(0, 1, "a", 1)], [read(2, 3, (1, "a"), (2, "a"))], "'a' appears 2 times"),
    "unknown and stored twice": ([send(0, 1, "a")], [read(2, 3, (1, "a"), (2, "a"))], "'a' appears 2 times"),
    "not sent": ([], [read(2, 3, (1, "x"))], "'x' appears, but no client sent it before"),
    "sent later": ([send(5, 6, "a", 1)], [read(2, 3, (1, "a"))], "'a' appears, but no client sent it before"),
    "failed with an effect": ([send(0, 1, "a", outcome=FAILED)], [read(2, 3, (1, "a"))], "or its send failed"),
    "one ID for two messages": ([send(0, 1, "a", 1), send(0, 1, "b", 1)], [], "ID 1 acknowledged for ['a', 'b']"),
    "two IDs for one attempt": ([send(0, 1, "a", 1), send(0, 1, "a", 2)], [], "'a' acknowledged with IDs [1, 2]"),
    "ID lower than that of an earlier message": (
        [send(0, 1, "a", 9), send(2, 3, "b", 5)],
        [],
        "'b' was sent after 'a' was acknowledged, but its ID 5 is lower than 9",
    ),
    "unknown send with a lower ID than an earlier message": (
        [send(0, 1, "a", 9), send(2, 3, "b")],
        [read(4, 5, (5, "b"), (9, "a"))],
        "its ID 5 is lower than 9",
    ),
    "unordered response": (
        [send(0, 1, "a", 1), send(0, 1, "b", 2)],
        [read(2, 3, (2, "b"), (1, "a"))],
        "a read returned the IDs [2, 1]",
    ),
    "a read that goes back": (
        [send(0, 9, "a", 1)],
        [read(1, 2, (1, "a")), read(3, 4)],
        "a later read lacks ['a'], which an earlier read returned",
    ),
    "reads that disagree": (
        [send(0, 9, "a", 1), send(0, 9, "b", 2)],
        [read(1, 5, (1, "a")), read(1, 5, (2, "b"))],
        "two reads saw different messages; the larger one lacks ['a']",
    ),
}


@pytest.mark.parametrize("name", INVALID_MESSAGES)
def test_violations_in_histories_of_messages_are_found(name: str) -> None:
    sends, reads, expected = INVALID_MESSAGES[name]
    violations = check_messages(sends, reads)
    assert any(expected in violation for violation in violations), violations
    assert all(violation.startswith("channel c: ") for violation in violations)


def test_ids_may_be_ahead_by_a_stated_time() -> None:
    sends = [send(0, 1, "a", 9), send(2, 3, "b", 5), send(7, 8, "c", 8)]
    assert check_messages(sends[:2], [], id_lead_seconds=5) == []
    (violation,) = check_messages(sends, [], id_lead_seconds=5)
    assert "'c' was sent after 'a' was acknowledged" in violation


def test_channels_are_independent() -> None:
    other = Send(started=2, ended=3, outcome=ACKNOWLEDGED, channel_id="d", content="b", message_id=1)
    assert check_messages([send(0, 1, "a", 9), other], [read(4, 5, (9, "a"))]) == []


def test_sends_with_one_nonce_create_one_message() -> None:
    attempts = [send(0, 1, "a", nonce="n"), send(1, 2, "a", 5, nonce="n"), send(1, 3, "a", 5, nonce="n")]
    assert check_nonces(attempts, [read(4, 5, (5, "a"))]) == []
    assert check_nonces([attempts[0]], [read(4, 5)]) == []

    assert check_nonces(attempts, [read(4, 5, (5, "a"), (6, "a"))]) == ["nonce n has 2 messages and 1 acknowledged IDs"]
    assert check_nonces(attempts, [read(4, 5)]) == ["nonce n has 0 messages and 1 acknowledged IDs"]
    assert check_nonces([attempts[1], send(1, 2, "a", 6, nonce="n")], [read(4, 5, (5, "a"), (6, "a"))]) == [
        "nonce n was acknowledged with the IDs [5, 6]",
        # Two messages, two IDs: each part of the promise is checked.
        "nonce n has 2 messages and 2 acknowledged IDs",
    ]


def use(user_id: str, outcome: Outcome) -> Use:
    return Use(started=0, ended=1, outcome=outcome, key="invite", user_id=user_id)


def test_limited_operations_succeed_up_to_their_limit() -> None:
    uses = [use("1", ACKNOWLEDGED), use("2", UNKNOWN), use("3", FAILED)]
    for final in ({"1"}, {"1", "2"}):
        assert check_uses(uses, {"invite": 2}, {"invite": final}) == []

    assert check_uses(uses, {"invite": 2}, {"invite": set()}) == [
        "invite: the acknowledged uses of ['1'] have no effect"
    ]
    assert check_uses(uses, {"invite": 2}, {"invite": {"1", "3"}}) == [
        "invite: ['3'] used it without an acknowledged or unknown use"
    ]
    assert check_uses(uses, {"invite": 1}, {"invite": {"1", "2"}}) == ["invite: 2 effects and 1 acknowledged uses of 1"]
    acknowledged_uses = [use("1", ACKNOWLEDGED), use("2", ACKNOWLEDGED)]
    assert "invite: 1 effects and 2 acknowledged uses of 1" in check_uses(
        acknowledged_uses, {"invite": 1}, {"invite": {"1"}}
    )


def change(started: float, ended: float, *, is_granted: bool, outcome: Outcome = ACKNOWLEDGED) -> RightChange:
    return RightChange(started=started, ended=ended, outcome=outcome, key="view", is_granted=is_granted)


def right_use(started: float, ended: float, outcome: Outcome = ACKNOWLEDGED) -> RightUse:
    return RightUse(started=started, ended=ended, outcome=outcome, key="view", description="'x'")


REMOVAL = change(10, 11, is_granted=False)
VIOLATION = ["view was removed before 'x' started, which succeeded"]


def test_uses_of_a_right_before_and_during_its_removal_are_allowed() -> None:
    uses = [
        right_use(8, 9),
        right_use(9, 20),
        right_use(10.5, 20),
        right_use(12, 13, FAILED),
        right_use(12, 13, UNKNOWN),
    ]
    assert check_rights([REMOVAL], uses) == []


def test_a_use_that_starts_after_the_acknowledged_removal_is_a_violation() -> None:
    assert check_rights([REMOVAL], [right_use(12, 13)]) == VIOLATION
    assert check_rights([REMOVAL], [right_use(12, 13)], bound_seconds=2) == []
    assert check_rights([REMOVAL], [right_use(14, 15)], bound_seconds=2) == VIOLATION


def test_a_removal_that_failed_or_has_an_unknown_outcome_forbids_nothing() -> None:
    for outcome in (FAILED, UNKNOWN):
        assert check_rights([change(10, 11, is_granted=False, outcome=outcome)], [right_use(12, 13)]) == []


def test_a_use_after_a_later_grant_is_allowed() -> None:
    for outcome in (ACKNOWLEDGED, UNKNOWN):
        assert check_rights([REMOVAL, change(12, 13, is_granted=True, outcome=outcome)], [right_use(14, 15)]) == []
    # The grant may take effect during the use, or after the removal that it overlaps.
    assert check_rights([REMOVAL, change(14, 20, is_granted=True)], [right_use(13, 15)]) == []
    assert check_rights([change(9, 10.5, is_granted=True), REMOVAL], [right_use(14, 15)]) == []


def test_a_grant_that_failed_or_was_removed_again_allows_nothing() -> None:
    earlier, later = change(5, 6, is_granted=True), change(16, 17, is_granted=True)
    failed_change = change(12, 13, is_granted=True, outcome=FAILED)
    assert check_rights([earlier, REMOVAL, failed_change, later], [right_use(14, 15)]) == VIOLATION
    second_removal = change(14, 15, is_granted=False)
    assert check_rights([REMOVAL, change(12, 13, is_granted=True), second_removal], [right_use(16, 17)]) == VIOLATION


def stream(*messages: tuple[int, str], is_open: bool = True, numbers: tuple[int, ...] | None = None) -> Stream:
    numbers = tuple(range(1, len(messages) + 2)) if numbers is None else numbers
    return Stream(
        started=1.5,
        is_open=is_open,
        sequence_numbers=numbers,
        messages=tuple(("c", id, content) for id, content in messages),
    )


def test_a_session_receives_every_acknowledged_message_once() -> None:
    sends = [send(0, 1, "before", 1), send(2, 3, "a", 2), send(3, 4, "b"), send(4, 5, "c", outcome=FAILED)]
    assert check_stream(stream((2, "a")), sends) == []
    assert check_stream(stream((2, "a"), (3, "b")), sends) == []
    assert check_stream(stream(is_open=False), sends) == []

    assert check_stream(stream(), sends) == ["'a' was acknowledged and not delivered"]
    assert check_stream(stream((2, "a"), (2, "a")), sends) == ["'a' was delivered 2 times"]
    assert check_stream(stream((2, "a"), (4, "c")), sends) == ["'c' was delivered, but not sent"]
    for numbers in ((1, 3), (1, 2, 2), (2, 3)):
        assert check_stream(stream((2, "a"), numbers=numbers), sends) == [
            "the sequence numbers have gaps or repetitions"
        ]


def test_a_session_need_not_receive_a_message_whose_first_send_began_before_it() -> None:
    sends = [send(0, 1, "a", 1), send(2, 3, "a", 1)]
    assert check_stream(stream(), sends) == []
    assert check_stream(stream((1, "a")), sends) == []


def frame(name: str, **data: Any) -> dict[str, Any]:
    return {"t": name, "d": data}


def private_channel(last_message_id: str) -> dict[str, Any]:
    return {"id": "7", "type": ChannelType.DM, "last_message_id": last_message_id, "recipients": []}


def ready(last_message_id: str) -> dict[str, Any]:
    return frame("READY", user={"id": "1"}, private_channels=[private_channel(last_message_id)])


def test_events_after_the_last_ready_must_give_the_state_of_a_fresh_ready() -> None:
    message = frame("MESSAGE_CREATE", id="9", channel_id="7")
    assert check_client_state([ready("8"), message], [ready("9")]) == []
    # A session that started again is judged by its last READY only.
    assert check_client_state([ready("3"), ready("8"), message], [ready("9")]) == []

    (difference,) = check_client_state([ready("8")], [ready("9")])
    assert "last_message_id" in difference
    assert check_client_state([ready("8"), message, ready("8")], [ready("9")])

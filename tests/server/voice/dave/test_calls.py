"""Calls of real client implementations: who is in hears everybody, who left hears nobody."""

import pytest

from hubbub.server.transports.voice.dave import DaveOpcode
from tests.server.voice.dave.call import KINDS, Call, require_heard


@pytest.fixture(params=KINDS)
def call(request: pytest.FixtureRequest) -> Call:
    """A call of clients of one kind, or of both."""
    return Call(request.param)


def test_two_hear_each_other(call: Call) -> None:
    call.join(1, 2)
    call.wait(10)

    call.require_all_hear_all()


def test_a_third_joins(call: Call) -> None:
    call.join(1, 2)
    call.wait(10)
    call.join(3)
    call.wait(10)

    call.require_all_hear_all()


def test_who_left_opens_no_later_frame(call: Call) -> None:
    call.join(1, 2, 3)
    call.wait(10)
    gone = call.leave(2)
    call.wait(10)

    call.require_all_hear_all()
    for client in call.clients.values():
        sealed = client.seal(b"not for the one who left")
        assert gone.open(client.user_id, sealed) is None


def test_two_join_in_one_batch(call: Call) -> None:
    call.join(1, 2)
    call.wait(10)
    call.sent.clear()
    call.join(3, 4, 5)
    call.wait(10)

    call.require_all_hear_all()
    if not call.trouble:
        # 3 came while nothing was open; 4 and 5 waited for the next batch.
        assert call.ops(1).count(DaveOpcode.PROPOSALS) == 2


def test_one_leaves_and_comes_back_in_one_commit(call: Call) -> None:
    call.join(1, 2, 3)
    call.wait(10)
    call.sent.clear()
    call.leave(3)
    call.join(3)
    call.wait(10)

    call.require_all_hear_all()


def test_nine_come_at_once(call: Call) -> None:
    call.join(*range(1, 10))
    call.wait(10)

    call.require_all_hear_all()
    if not call.trouble:
        # Four found the group, the others are added to it in one commit: each message makes every holder commit.
        assert call.commits <= 4 + 3 + 2 + 4 * 3


def test_the_last_one_begins_anew_and_is_heard_by_the_next(call: Call) -> None:
    call.join(1, 2)
    call.wait(10)
    call.sent.clear()
    call.leave(2)
    call.wait(10)

    assert call.ops(1) == [DaveOpcode.PREPARE_EPOCH, DaveOpcode.PREPARE_TRANSITION]
    assert not call.group.is_encrypted(1)

    call.join(3)
    call.wait(10)

    call.require_all_hear_all()


def test_who_waits_is_in_a_group_of_its_own_when_all_members_leave(call: Call) -> None:
    call.join(1, 2)
    call.wait(10)
    call.join(3, 4)
    call.leave(1)
    call.leave(2)
    call.wait(10)

    call.require_all_hear_all()


def test_a_frame_says_the_same_code_to_all() -> None:
    call = Call()
    call.join(1, 2, 3)
    call.wait(10)

    codes = {client.session.voice_privacy_code for client in call.clients.values()}  # type: ignore[attr-defined]

    assert len(codes) == 1
    (code,) = codes
    assert len(code) == 30


def test_frames_pass_between_the_two_implementations() -> None:
    call = Call("mixed")
    call.join(1, 2)
    call.wait(10)

    require_heard(call.clients[1], call.clients[2])
    require_heard(call.clients[2], call.clients[1])

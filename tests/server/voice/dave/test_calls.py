"""DAVE calls between real client implementations: members decrypt each other's frames, former members do not."""

import pytest

from hubbub.server.transports.voice.dave import DaveOpcode
from tests.server.voice.dave.simulated_call import CLIENT_TYPES, SimulatedCall, assert_decrypts


@pytest.fixture(params=CLIENT_TYPES)
def call(request: pytest.FixtureRequest) -> SimulatedCall:
    """A call with clients of one implementation, or of both."""
    return SimulatedCall(request.param)


def test_two_clients_decrypt_each_other(call: SimulatedCall) -> None:
    call.join(1, 2)
    call.advance_time(10)

    call.assert_all_decrypt()


def test_a_third_client_is_added(call: SimulatedCall) -> None:
    call.join(1, 2)
    call.advance_time(10)
    call.join(3)
    call.advance_time(10)

    call.assert_all_decrypt()


def test_a_former_member_decrypts_no_later_frame(call: SimulatedCall) -> None:
    call.join(1, 2, 3)
    call.advance_time(10)
    former = call.leave(2)
    call.advance_time(10)

    call.assert_all_decrypt()
    for client in call.clients.values():
        encrypted_frame = client.encrypt(b"not for former members")
        assert former.decrypt(client.user_id, encrypted_frame) is None


def test_two_clients_are_added_in_one_batch(call: SimulatedCall) -> None:
    call.join(1, 2)
    call.advance_time(10)
    call.sent_messages.clear()
    call.join(3, 4, 5)
    call.advance_time(10)

    call.assert_all_decrypt()
    if not call.has_rejected_commits:
        # User 3 joined while no proposals were pending; users 4 and 5 waited for the next batch.
        assert call.opcodes_sent_to(1).count(DaveOpcode.PROPOSALS) == 2


def test_a_client_that_leaves_and_joins_again_decrypts(call: SimulatedCall) -> None:
    call.join(1, 2, 3)
    call.advance_time(10)
    call.leave(3)
    call.join(3)
    call.advance_time(10)

    call.assert_all_decrypt()


def test_nine_clients_join_at_the_same_time(call: SimulatedCall) -> None:
    call.join(*range(1, 10))
    call.advance_time(10)

    call.assert_all_decrypt()
    if not call.has_rejected_commits:
        # The second, third and fourth founder make 2, 3 and 4 clients commit. The other users are added in batches of
        # proposals; each batch makes the four members commit, and at most three batches are allowed here.
        assert call.commit_count <= 2 + 3 + 4 + 4 * 3


def test_the_last_client_restarts_and_is_joined_by_the_next(call: SimulatedCall) -> None:
    call.join(1, 2)
    call.advance_time(10)
    call.sent_messages.clear()
    call.leave(2)
    call.advance_time(10)

    assert call.opcodes_sent_to(1) == [DaveOpcode.PREPARE_EPOCH, DaveOpcode.PREPARE_TRANSITION]
    assert not call.group.is_encrypted(1)

    call.join(3)
    call.advance_time(10)

    call.assert_all_decrypt()


def test_waiting_clients_create_a_group_when_all_members_leave(call: SimulatedCall) -> None:
    call.join(1, 2)
    call.advance_time(10)
    call.join(3, 4)
    call.leave(1)
    call.leave(2)
    call.advance_time(10)

    call.assert_all_decrypt()


def test_all_members_see_the_same_privacy_code() -> None:
    call = SimulatedCall()
    call.join(1, 2, 3)
    call.advance_time(10)

    codes = {client.session.voice_privacy_code for client in call.clients.values()}  # type: ignore[attr-defined]

    assert len(codes) == 1
    (code,) = codes
    assert len(code) == 30


def test_the_two_implementations_decrypt_each_other() -> None:
    call = SimulatedCall("mixed")
    call.join(1, 2)
    call.advance_time(10)

    assert_decrypts(call.clients[1], call.clients[2])
    assert_decrypts(call.clients[2], call.clients[1])

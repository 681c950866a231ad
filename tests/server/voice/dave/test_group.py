"""The state machine of a DAVE group: proposal batches, transitions, recovery from failures, and unencrypted clients."""

import random
from collections import deque

import pytest

from hubbub.server.transports.voice.dave import (
    DaveGroup,
    DaveOpcode,
    ExecuteTransition,
    ExternalSender,
    OutgoingMessage,
    Payload,
    PrepareEpoch,
    PrepareTransition,
    codec,
)
from tests.server.voice.dave import key_packages
from tests.server.voice.dave.simulated_call import CHANNEL_ID, CLIENT_TYPES, SimulatedCall


def count_proposals(payload: Payload) -> int:
    """Return the number of proposals, or of references to revoke, in the payload of a PROPOSALS message."""
    assert isinstance(payload, bytes)
    reader = codec.ByteReader(codec.ByteReader(payload[1:]).vec())
    count = 0
    while reader.has_more:
        count += 1
        if payload[0]:  # The entry is a reference to revoke, not a new proposal.
            reader.vec()
            continue
        assert (reader.u16(), reader.u16(), reader.vec()) == (1, 1, codec.u64(CHANNEL_ID))
        reader.u64(), reader.u8(), reader.u32(), reader.vec(), reader.u8()
        if reader.u16() == 3:
            reader.u32()
        else:
            reader.u16(), reader.u16(), reader.vec(), codec.read_leaf(reader), reader.vec(), reader.vec()
        reader.vec()
    return count


def create_group_before_first_commit(*user_ids: int) -> tuple[DaveGroup, list[OutgoingMessage]]:
    """Create a group of users that waits for its first commit; return it and the messages it sent."""
    group = DaveGroup(CHANNEL_ID, ExternalSender())
    sent_messages: list[OutgoingMessage] = []
    for user_id in user_ids:
        sent_messages += group.add_participant(user_id, 0)
        sent_messages += group.handle_message(
            user_id, DaveOpcode.KEY_PACKAGE, key_packages.make_key_package(user_id).encode(), 0
        )
    return group, sent_messages


def test_a_connection_receives_the_external_sender_once() -> None:
    call = SimulatedCall()
    call.join(1, 2)
    call.deliver_all()
    call.leave(2)
    call.deliver_all()
    call.join(2)
    call.deliver_all()

    assert call.opcodes_sent_to(1)[0] == DaveOpcode.EXTERNAL_SENDER
    assert call.opcodes_sent_to(1).count(DaveOpcode.EXTERNAL_SENDER) == 1
    # User 2 receives the external sender once for each of two connections.
    assert call.opcodes_sent_to(2).count(DaveOpcode.EXTERNAL_SENDER) == 2


def test_the_external_sender_has_the_encoding_that_clients_expect() -> None:
    package = ExternalSender().package

    assert len(package) == 71
    assert package.endswith(b"\x00\x01\x01\x00")


def test_a_user_who_joins_twice_is_treated_as_new() -> None:
    call = SimulatedCall()
    call.join(1, 2, 3)
    call.deliver_all()
    call.join(3)
    call.deliver_all()

    call.assert_all_decrypt()


def test_leaving_before_the_first_commit_revokes_and_resends_all_proposals() -> None:
    group, _ = create_group_before_first_commit(1, 2, 3)

    sent_messages = group.remove_participant(2, 1)

    assert [(message.to, message.op) for message in sent_messages] == [
        ((1,), DaveOpcode.PROPOSALS),
        ((1,), DaveOpcode.PROPOSALS),
        ((3,), DaveOpcode.PROPOSALS),
        ((3,), DaveOpcode.PROPOSALS),
    ]
    assert [message.payload[:1] for message in sent_messages if isinstance(message.payload, bytes)] == [
        b"\1",
        b"\0",
        b"\1",
        b"\0",
    ]
    assert [count_proposals(message.payload) for message in sent_messages] == [2, 1, 2, 1]


@pytest.mark.parametrize("implementation", CLIENT_TYPES)
def test_a_group_is_created_after_a_user_left_before_the_first_commit(implementation: str) -> None:
    call = SimulatedCall(implementation)
    call.join(1, 2, 3)
    undelivered_commits = [call.deliver_until(DaveOpcode.COMMIT_WELCOME) for _ in range(3)]
    call.leave(2)
    for user_id, commit in undelivered_commits:
        call.receive_from(user_id, DaveOpcode.COMMIT_WELCOME, commit)
    assert not call.group.is_encrypted(1)
    call.advance_time(10)

    call.assert_all_decrypt()


def test_at_most_four_users_create_a_group() -> None:
    _, sent_messages = create_group_before_first_commit(*range(1, 9))

    assert (
        max(user_id for message in sent_messages if message.op == DaveOpcode.PROPOSALS for user_id in message.to) == 4
    )


def test_one_batch_of_proposals_is_sent_per_epoch() -> None:
    call = SimulatedCall()
    call.join(1, 2, 3)
    call.deliver_all()
    call.join(4)
    _, commit = call.deliver_until(DaveOpcode.COMMIT_WELCOME, sender_id=1)
    call.sent_messages.clear()

    call.leave(3)
    call.join(5, 6)
    for user_id in (5, 6):
        call.receive_from(user_id, *call.to_group[user_id].popleft())
    assert DaveOpcode.PROPOSALS not in {message.op for message in call.sent_messages}

    call.receive_from(1, DaveOpcode.COMMIT_WELCOME, commit)
    call.deliver_all()
    batches = [message for message in call.sent_messages if message.op == DaveOpcode.PROPOSALS]
    assert [count_proposals(message.payload) for message in batches] == [3]
    # Only members receive proposals, not the added and removed users.
    assert set(batches[0].to) == {1, 2, 4}
    call.assert_all_decrypt()


def test_the_next_batch_waits_for_members_at_most_half_a_second() -> None:
    call = SimulatedCall()
    call.join(1, 2)
    call.deliver_all()
    call.join(3, 4)
    _, commit = call.deliver_until(DaveOpcode.COMMIT_WELCOME, sender_id=1)
    call.sent_messages.clear()
    call.receive_from(1, DaveOpcode.COMMIT_WELCOME, commit)

    assert call.opcodes_sent_to(1) == [DaveOpcode.ANNOUNCE_COMMIT]
    call.queue_messages(call.group.tick(call.now + 0.4))
    assert call.opcodes_sent_to(1) == [DaveOpcode.ANNOUNCE_COMMIT]
    call.queue_messages(call.group.tick(call.now + 0.5))
    assert call.opcodes_sent_to(1) == [DaveOpcode.ANNOUNCE_COMMIT, DaveOpcode.PROPOSALS]
    call.deliver_all()
    call.assert_all_decrypt()


def test_a_transition_is_executed_when_all_members_are_ready() -> None:
    call = SimulatedCall()
    call.join(1, 2)
    call.deliver_all()

    (execute_message,) = [message for message in call.sent_messages if message.op == DaveOpcode.EXECUTE_TRANSITION]
    assert set(execute_message.to) == {1, 2}
    assert execute_message.payload == ExecuteTransition(1)
    assert call.group.deadline is None


def test_a_transition_is_executed_after_two_seconds_without_all_members() -> None:
    call = SimulatedCall()
    call.join(1, 2)
    committer, commit = call.deliver_until(DaveOpcode.COMMIT_WELCOME)
    call.receive_from(committer, DaveOpcode.COMMIT_WELCOME, commit)
    assert not call.group.is_encrypted(1)
    call.receive_from(1, DaveOpcode.TRANSITION_READY, {"transition_id": 1})
    assert call.group.is_encrypted(1)
    assert not call.group.is_encrypted(2)

    assert call.group.tick(call.now + 1.9) == []
    assert call.group.tick(call.now + 2) == [
        OutgoingMessage((1, 2), DaveOpcode.EXECUTE_TRANSITION, ExecuteTransition(1))
    ]
    assert call.group.is_encrypted(2)


def test_transition_ids_are_never_zero() -> None:
    call = SimulatedCall()
    call.group._last_transition_id = 0xFFFE
    call.join(1, 2)
    call.deliver_all()
    call.join(3)
    call.deliver_all()

    execute_payloads = [
        message.payload for message in call.sent_messages if message.op == DaveOpcode.EXECUTE_TRANSITION
    ]
    assert execute_payloads == [ExecuteTransition(0xFFFF), ExecuteTransition(1)]
    call.assert_all_decrypt()


@pytest.mark.parametrize("implementation", CLIENT_TYPES)
def test_a_client_that_rejects_a_commit_is_removed_and_added_again(implementation: str) -> None:
    call = SimulatedCall(implementation)
    call.join(1, 2, 3)
    call.deliver_all()
    call.join(4)
    _, commit = call.deliver_until(DaveOpcode.COMMIT_WELCOME, sender_id=1)
    call.receive_from(1, DaveOpcode.COMMIT_WELCOME, commit)
    # The commit is corrupted on its way to user 2.
    op, payload = call.to_client[2].pop()
    assert op == DaveOpcode.ANNOUNCE_COMMIT
    assert isinstance(payload, bytes)
    call.to_client[2].append((op, payload[:-40] + bytes(40)))
    call.sent_messages.clear()
    call.advance_time(10)

    assert call.clients[2].rejected_count
    if implementation == "davey":
        (batch,) = [message for message in call.sent_messages if message.op == DaveOpcode.PROPOSALS]
        assert set(batch.to) == {1, 3, 4}
        assert count_proposals(batch.payload) == 2
        assert DaveOpcode.PREPARE_EPOCH not in call.opcodes_sent_to(1)
    call.assert_all_decrypt()


def test_an_outdated_welcome_is_not_sent() -> None:
    call = SimulatedCall()
    call.join(1, 2)
    call.deliver_all()
    call.join(3)
    _, commit = call.deliver_until(DaveOpcode.COMMIT_WELCOME, sender_id=1)
    # User 3 restarted its session meanwhile and no longer has the keys of the welcome.
    client = call.clients[3]
    call.to_group[3].extend(client.handle_message(DaveOpcode.PREPARE_EPOCH, PrepareEpoch(1), {1, 2, 3}))
    call.receive_from(3, *call.to_group[3].popleft())
    call.receive_from(1, DaveOpcode.COMMIT_WELCOME, commit)
    assert DaveOpcode.WELCOME not in call.opcodes_sent_to(3)
    assert not call.group.is_encrypted(3)
    call.deliver_all()

    assert client.rejected_count == 0
    call.assert_all_decrypt()


def test_a_founder_that_reports_a_failure_is_restarted() -> None:
    call = SimulatedCall()
    call.join(1, 2)
    committer, _commit = call.deliver_until(DaveOpcode.COMMIT_WELCOME)
    # The server does not know the state of user 2, and a wrong guess would end its connection.
    call.receive_from(2, DaveOpcode.INVALID_COMMIT_WELCOME, {"transition_id": 0})

    assert committer == 1
    assert call.sent_messages[-1] == OutgoingMessage((2,), DaveOpcode.PREPARE_EPOCH, PrepareEpoch(1))
    call.deliver_all()
    call.assert_all_decrypt()


def test_all_clients_restart_without_a_commit_with_increasing_timeouts() -> None:
    group, _ = create_group_before_first_commit(1, 2)

    assert group.deadline == 3
    assert group.tick(2.9) == []
    assert group.tick(3) == [OutgoingMessage((1, 2), DaveOpcode.PREPARE_EPOCH, PrepareEpoch(1))]
    for user_id in (1, 2):
        group.handle_message(user_id, DaveOpcode.KEY_PACKAGE, key_packages.make_key_package(user_id).encode(), 3)
    assert group.deadline == 9


@pytest.mark.parametrize("implementation", CLIENT_TYPES)
def test_a_group_with_lost_commits_restarts(implementation: str) -> None:
    call = SimulatedCall(implementation)
    call.join(1, 2, 3)
    call.advance_time(10)
    call.join(4)
    for user_id in (1, 2, 3):
        call.deliver_until(DaveOpcode.COMMIT_WELCOME, sender_id=user_id)
    call.deliver_all()
    assert not call.group.is_encrypted(4)

    call.advance_time(30)

    assert DaveOpcode.PREPARE_EPOCH in call.opcodes_sent_to(1)
    call.assert_all_decrypt()


def test_the_last_client_in_a_call_has_no_group() -> None:
    call = SimulatedCall()
    call.join(1, 2, 3)
    call.deliver_all()
    call.leave(3)
    call.sent_messages.clear()
    call.leave(1)

    assert call.sent_messages == [
        OutgoingMessage((2,), DaveOpcode.PREPARE_EPOCH, PrepareEpoch(1)),
        OutgoingMessage((2,), DaveOpcode.PREPARE_TRANSITION, PrepareTransition(1, 0)),
    ]
    call.deliver_all()
    call.leave(2)
    assert call.group.deadline is None
    call.join(1, 2)
    call.deliver_all()
    call.assert_all_decrypt()


@pytest.mark.parametrize("seed", range(6))
def test_corrupted_messages_do_not_break_a_call(seed: int) -> None:
    """Clients fail at random commits and welcomes; no client receives a message that ends its connection."""
    call = run_corrupted_call(seed)

    call.assert_all_decrypt()


def run_corrupted_call(seed: int) -> SimulatedCall:
    """Run a call in which random commits and welcomes are corrupted, and users join and leave."""
    call = SimulatedCall(seed=seed)
    rng = random.Random(seed)
    call.join(1, 2, 3, 4)
    for _ in range(8):
        for _ in range(rng.randint(5, 60)):
            for queue in call.to_client.values():
                if queue and queue[-1][0] in (DaveOpcode.ANNOUNCE_COMMIT, DaveOpcode.WELCOME) and rng.random() < 0.1:
                    op, payload = queue.pop()
                    assert isinstance(payload, bytes)
                    queue.append((op, payload[:-30] + bytes(30)))
            call.deliver_one()
        user_id = rng.randint(4, 6)
        if user_id in call.clients:
            call.leave(user_id)
        else:
            call.join(user_id)
        # The clock does not advance, so no deadline passes; only the key package limit is reset.
        for participant in call.group._participants.values():
            participant.last_package_at = call.now - 100
    call.advance_time(60)
    return call


def test_a_call_that_requires_encryption_rejects_clients_without_it() -> None:
    group = DaveGroup(CHANNEL_ID, ExternalSender())

    assert group.version_for(1) == 1
    assert group.version_for(7) == 1
    with pytest.raises(ValueError, match="clients without"):
        group.add_participant(1, 0, version=0)
    assert not group.allows_unencrypted(0)


def test_a_client_without_encryption_disables_it_until_it_leaves() -> None:
    call = SimulatedCall(allows_plain_clients=True)
    call.join(1, 2, 3)
    call.deliver_all()
    assert not call.group.allows_unencrypted(call.now)
    call.sent_messages.clear()

    assert call.group.version_for(0) == 0
    call.to_client[9] = deque()
    call.queue_messages(call.group.add_participant(9, call.now, version=0))
    assert call.group.version_for(1) == 0
    assert call.group.allows_unencrypted(call.now)
    assert not call.group.is_encrypted(1)
    assert [message.payload for message in call.sent_messages] == [PrepareTransition(0, 2)]
    assert set(call.sent_messages[0].to) == {1, 2, 3}
    call.deliver_all()
    assert call.sent_messages[-1].payload == ExecuteTransition(2)
    assert {client.version for client in call.clients.values()} == {0}  # type: ignore[attr-defined]

    call.sent_messages.clear()
    call.queue_messages(call.group.remove_participant(9, call.now))
    assert call.sent_messages == [OutgoingMessage((1, 2, 3), DaveOpcode.PREPARE_EPOCH, PrepareEpoch(1))]
    assert call.group.version_for(1) == 1
    assert call.group.allows_unencrypted(call.now)
    call.deliver_all()
    call.assert_all_decrypt()
    assert {client.version for client in call.clients.values()} == {1}  # type: ignore[attr-defined]
    assert not call.group.allows_unencrypted(call.now)


def test_a_downgrade_that_is_no_longer_needed_is_not_executed() -> None:
    call = SimulatedCall(allows_plain_clients=True)
    call.join(1, 2)
    call.deliver_all()
    call.to_client[9] = deque()
    call.queue_messages(call.group.add_participant(9, call.now, version=0))
    call.queue_messages(call.group.remove_participant(9, call.now))
    call.deliver_all()

    assert ExecuteTransition(2) not in [message.payload for message in call.sent_messages]
    call.assert_all_decrypt()


def test_an_upgraded_call_sends_the_external_sender() -> None:
    group = DaveGroup(CHANNEL_ID, sender := ExternalSender(), allows_plain_clients=True)
    assert group.add_participant(9, 0, version=0) == []
    assert group.add_participant(1, 0) == []
    assert group.handle_message(1, DaveOpcode.KEY_PACKAGE, key_packages.make_key_package(1).encode(), 0) == []

    assert group.remove_participant(9, 5) == [
        OutgoingMessage((1,), DaveOpcode.PREPARE_EPOCH, PrepareEpoch(1)),
        OutgoingMessage((1,), DaveOpcode.EXTERNAL_SENDER, sender.package),
    ]
    # A client that sends no key package in time must identify again.
    group.tick(10)
    assert group.overdue == {1}


def test_plain_frames_are_rejected_after_a_timeout_even_without_a_group() -> None:
    group = DaveGroup(CHANNEL_ID, ExternalSender(), allows_plain_clients=True)
    group.add_participant(9, 0, version=0)
    group.add_participant(1, 0)
    group.remove_participant(9, 5)

    assert group.allows_unencrypted(14.9)
    assert not group.allows_unencrypted(15)

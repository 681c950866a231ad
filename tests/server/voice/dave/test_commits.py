"""COMMIT_WELCOME: validation of commits, and the choice of one commit for each epoch."""

import dataclasses
from collections.abc import Callable

import pytest

from hubbub.server.transports.voice.dave import DaveOpcode, codec
from tests.server.voice.dave import key_packages
from tests.server.voice.dave.simulated_call import SimulatedCall, assert_decrypts

Change = Callable[[codec.Commit, codec.Welcome], bytes]


def test_the_first_commit_wins() -> None:
    call = SimulatedCall()
    call.join(1, 2, 3)
    call.deliver_all()

    announcements = [message for message in call.sent_messages if message.op == DaveOpcode.ANNOUNCE_COMMIT]
    welcomed_ids = [message.to for message in call.sent_messages if message.op == DaveOpcode.WELCOME]
    assert announcements[0].to == (1,)
    assert (2,) in welcomed_ids
    assert call.commit_count > len(announcements)
    call.assert_all_decrypt()


def undelivered_commit(call: SimulatedCall) -> bytes:
    """Prepare a call, and return a commit of user 1 that removes user 3 and adds user 5 and that the server has not received."""
    call.join(1, 2, 3)
    call.deliver_all()
    call.join(4)
    _, encoded_commit = call.deliver_until(DaveOpcode.COMMIT_WELCOME, sender_id=1)
    call.leave(3)
    call.join(5)
    call.receive_from(5, *call.to_group[5].popleft())
    call.receive_from(1, DaveOpcode.COMMIT_WELCOME, encoded_commit)
    _, encoded_commit = call.deliver_until(DaveOpcode.COMMIT_WELCOME, sender_id=1)
    return encoded_commit


def with_fields(**changes: object) -> Change:
    """Return a change that replaces fields of the commit."""
    return lambda commit, welcome: dataclasses.replace(commit, **changes).encode() + welcome.encode()


def with_leaf_fields(**changes: object) -> Change:
    """Return a change that replaces fields of the leaf in the commit's path."""

    def apply(commit: codec.Commit, welcome: codec.Welcome) -> bytes:
        assert commit.path_leaf is not None
        leaf = dataclasses.replace(commit.path_leaf, **changes)
        return dataclasses.replace(commit, path_leaf=leaf).encode() + welcome.encode()

    return apply


def with_welcome_entries(
    change_entries: Callable[[tuple[codec.EncryptedGroupSecrets, ...]], tuple[codec.EncryptedGroupSecrets, ...]],
) -> Change:
    """Return a change that replaces the entries of the welcome."""
    return lambda commit, welcome: (
        commit.encode() + dataclasses.replace(welcome, secrets=change_entries(welcome.secrets)).encode()
    )


def with_inline_proposal(commit: codec.Commit, welcome: codec.Welcome) -> bytes:
    """Return the commit with an inline proposal added, followed by the welcome."""
    encoded_references = b"".join(b"\x02" + codec.vec(reference) for reference in commit.references)
    removal = b"\x01" + b"\x00\x03" + codec.u32(1)
    encoded_commit = commit.encode()
    assert codec.vec(encoded_references) in encoded_commit
    return (
        encoded_commit.replace(codec.vec(encoded_references), codec.vec(removal + encoded_references))
        + welcome.encode()
    )


INVALID_COMMITS: dict[str, tuple[str, Change]] = {
    "another group": ("commit: another group", with_fields(group_id=bytes(8))),
    "an old epoch": ("commit: another epoch", with_fields(epoch=0)),
    "a later epoch": ("commit: another epoch", with_fields(epoch=2**64 - 1)),
    "another leaf": ("commit: leaf index of another member", with_fields(leaf_index=1)),
    "no leaf": ("commit: leaf index of another member", with_fields(leaf_index=2**32 - 1)),
    "no references": ("commit: not the pending proposals", with_fields(references=())),
    "an extra reference": (
        "commit: not the pending proposals",
        lambda commit, welcome: with_fields(references=(*commit.references, bytes(32)))(commit, welcome),
    ),
    "a reference twice": (
        "commit: not the pending proposals",
        lambda commit, welcome: with_fields(references=commit.references[:1] * len(commit.references))(commit, welcome),
    ),
    "a reference missing": (
        "commit: not the pending proposals",
        lambda commit, welcome: with_fields(references=commit.references[1:])(commit, welcome),
    ),
    "an inline proposal": ("malformed", with_inline_proposal),
    "no path": ("commit: no path", with_fields(path_leaf=None, path=())),
    "a leaf of another member": ("commit: another member's leaf", with_leaf_fields(identity=codec.u64(2))),
    "another signature key": (
        "commit: another member's leaf",
        with_leaf_fields(signature_key=key_packages.public_key_bytes()),
    ),
    "an invalid key": ("commit: no new key", with_leaf_fields(encryption_key=b"\x04" + bytes(64))),
    "an unsigned leaf": (
        "commit: signature of the leaf",
        with_leaf_fields(encryption_key=key_packages.public_key_bytes()),
    ),
    "no welcome": ("commit: welcome does not match the added members", lambda commit, _: commit.encode()),
    "an empty welcome": ("commit: welcome does not match the added members", with_welcome_entries(lambda _: ())),
    "an extra welcome": (
        "commit: welcome does not match the added members",
        with_welcome_entries(lambda secrets: (*secrets, codec.EncryptedGroupSecrets(bytes(32), b"", b""))),
    ),
    "a welcome twice": (
        "commit: welcome does not match the added members",
        with_welcome_entries(lambda secrets: secrets * 2),
    ),
    "a welcome for an unknown key": (
        "commit: welcome does not match the added members",
        with_welcome_entries(lambda _: (codec.EncryptedGroupSecrets(bytes(32), b"", b""),)),
    ),
    "trailing bytes": ("malformed", lambda commit, welcome: commit.encode() + welcome.encode() + b"\x00"),
    "empty": ("malformed", lambda _commit, _welcome: b""),
    "too long": ("commit: too long", lambda commit, _: commit.encode() + bytes(100_000)),
}


@pytest.fixture(scope="module")
def pending_commit() -> tuple[SimulatedCall, bytes]:
    """A call, and a commit that was not delivered. Rejected commits change nothing, so all cases share the call."""
    call = SimulatedCall()
    return call, undelivered_commit(call)


@pytest.mark.parametrize("case", INVALID_COMMITS)
def test_an_invalid_commit_is_rejected(pending_commit: tuple[SimulatedCall, bytes], case: str) -> None:
    call, encoded_commit = pending_commit
    commit, _, welcome = codec.read_commit_and_welcome(encoded_commit)
    assert welcome is not None
    assert len(commit.references) == 2
    reason, apply = INVALID_COMMITS[case]
    rejections_before = call.group.rejections[reason]

    assert call.receive_from(1, DaveOpcode.COMMIT_WELCOME, apply(commit, welcome)) == []

    assert call.group.rejections[reason] == rejections_before + 1


def test_a_commit_sent_by_another_user_is_rejected(pending_commit: tuple[SimulatedCall, bytes]) -> None:
    call, encoded_commit = pending_commit

    assert call.receive_from(2, DaveOpcode.COMMIT_WELCOME, encoded_commit) == []
    assert call.receive_from(5, DaveOpcode.COMMIT_WELCOME, encoded_commit) == []
    assert call.receive_from(3, DaveOpcode.COMMIT_WELCOME, encoded_commit) == []


def test_a_valid_commit_is_accepted_after_invalid_ones() -> None:
    call = SimulatedCall()
    encoded_commit = undelivered_commit(call)
    commit, _, welcome = codec.read_commit_and_welcome(encoded_commit)
    assert welcome is not None
    for _, apply in INVALID_COMMITS.values():
        call.receive_from(1, DaveOpcode.COMMIT_WELCOME, apply(commit, welcome))

    call.receive_from(1, DaveOpcode.COMMIT_WELCOME, encoded_commit)
    call.deliver_all()

    call.assert_all_decrypt()


def test_an_empty_commit_before_the_group_exists_is_rejected() -> None:
    call = SimulatedCall("libdave")
    call.join(1, 2)
    committer, encoded_commit = call.deliver_until(DaveOpcode.COMMIT_WELCOME)
    commit, _, _ = codec.read_commit_and_welcome(encoded_commit)
    call.receive_from(committer, DaveOpcode.COMMIT_WELCOME, dataclasses.replace(commit, references=()).encode())

    # libdave itself sends an empty commit when the only proposal is revoked.
    call.leave(2)
    call.deliver_all()
    assert not call.group.is_encrypted(1)

    call.join(3)
    call.advance_time(10)
    call.assert_all_decrypt()


def test_each_new_member_receives_its_own_welcome() -> None:
    call = SimulatedCall()
    call.join(1, 2, 3)
    call.deliver_all()

    for message in call.sent_messages:
        if message.op == DaveOpcode.WELCOME:
            assert isinstance(message.payload, bytes)
            reader = codec.ByteReader(message.payload[4:])
            entries = codec.ByteReader(reader.vec())
            # The welcome has one entry, which consists of three vectors.
            entries.vec(), entries.vec(), entries.vec()
            entries.end()


def test_members_with_invalid_commits_are_no_longer_trusted() -> None:
    call = SimulatedCall()
    call.join(1, 2, 3)
    call.deliver_all()
    call.join(4)
    committer, encoded_commit = call.deliver_until(DaveOpcode.COMMIT_WELCOME, sender_id=1)
    commit, _, welcome = codec.read_commit_and_welcome(encoded_commit)
    assert welcome is not None
    # The server cannot verify the confirmation tag, but clients can.
    call.receive_from(committer, DaveOpcode.COMMIT_WELCOME, with_fields(confirmation_tag=bytes(32))(commit, welcome))
    call.advance_time(8)

    assert call.clients[2].rejected_count
    assert call.clients[3].rejected_count
    call.assert_all_decrypt()

    call.join(5)
    _, encoded_commit = call.deliver_until(DaveOpcode.COMMIT_WELCOME, sender_id=1)
    assert call.receive_from(1, DaveOpcode.COMMIT_WELCOME, encoded_commit) == []
    assert call.group.rejections["commit: earlier commits failed"]
    call.deliver_all()
    call.assert_all_decrypt()
    assert_decrypts(call.clients[5], call.clients[1])

"""Op 28: which commits become the one of their epoch."""

import dataclasses
from collections.abc import Callable

import pytest

from hubbub.server.transports.voice.dave import DaveOpcode, codec
from tests.server.voice.dave import forge
from tests.server.voice.dave.call import Call, require_heard

Bend = Callable[[codec.Commit, codec.Welcome], bytes]


def test_the_first_commit_wins_and_the_others_are_dropped() -> None:
    call = Call()
    call.join(1, 2, 3)
    call.settle()

    announced = [sending for sending in call.sent if sending.op == DaveOpcode.ANNOUNCE_COMMIT]
    welcomed = [sending.to for sending in call.sent if sending.op == DaveOpcode.WELCOME]
    assert announced[0].to == (1,)
    assert (2,) in welcomed
    assert call.commits > len(announced)
    call.require_all_hear_all()


def opened(call: Call) -> bytes:
    """A commit of 1 that removes 3 and adds 5, just before the server has it."""
    call.join(1, 2, 3)
    call.settle()
    call.join(4)
    _, data = call.until(DaveOpcode.COMMIT_WELCOME, by=1)
    call.leave(3)
    call.join(5)
    call.receive(5, *call.up[5].popleft())
    call.receive(1, DaveOpcode.COMMIT_WELCOME, data)
    _, data = call.until(DaveOpcode.COMMIT_WELCOME, by=1)
    return data


def change(**changes: object) -> Bend:
    """The commit with other fields, and its welcome."""
    return lambda commit, welcome: dataclasses.replace(commit, **changes).encode() + welcome.encode()


def on_leaf(**changes: object) -> Bend:
    """The commit with other fields in the leaf of its path."""

    def bend(commit: codec.Commit, welcome: codec.Welcome) -> bytes:
        assert commit.path_leaf is not None
        leaf = dataclasses.replace(commit.path_leaf, **changes)
        return dataclasses.replace(commit, path_leaf=leaf).encode() + welcome.encode()

    return bend


def on_welcome(
    change: Callable[[tuple[tuple[bytes, bytes, bytes], ...]], tuple[tuple[bytes, bytes, bytes], ...]],
) -> Bend:
    """The commit with other entries in its welcome."""
    return lambda commit, welcome: (
        commit.encode() + dataclasses.replace(welcome, secrets=change(welcome.secrets)).encode()
    )


def inline(commit: codec.Commit, welcome: codec.Welcome) -> bytes:
    """The commit with a proposal of its own instead of the first reference."""
    by_reference = b"".join(b"\x02" + codec.vec(reference) for reference in commit.references)
    removing = b"\x01" + b"\x00\x03" + codec.u32(1)
    whole = commit.encode()
    assert codec.vec(by_reference) in whole
    return whole.replace(codec.vec(by_reference), codec.vec(removing + by_reference)) + welcome.encode()


BENT: dict[str, tuple[str, Bend]] = {
    "another group": ("commit: another group", change(group_id=bytes(8))),
    "an old epoch": ("commit: another epoch", change(epoch=0)),
    "a later epoch": ("commit: another epoch", change(epoch=2**64 - 1)),
    "another leaf": ("commit: leaf index of another member", change(leaf_index=1)),
    "no leaf": ("commit: leaf index of another member", change(leaf_index=2**32 - 1)),
    "no references": ("commit: not the pending proposals", change(references=())),
    "an extra reference": (
        "commit: not the pending proposals",
        lambda commit, welcome: change(references=(*commit.references, bytes(32)))(commit, welcome),
    ),
    "a reference twice": (
        "commit: not the pending proposals",
        lambda commit, welcome: change(references=commit.references[:1] * len(commit.references))(commit, welcome),
    ),
    "a reference missing": (
        "commit: not the pending proposals",
        lambda commit, welcome: change(references=commit.references[1:])(commit, welcome),
    ),
    "an inline proposal": ("malformed", inline),
    "no path": ("commit: no path", change(path_leaf=None, path=())),
    "a leaf of somebody else": ("commit: another member's leaf", on_leaf(identity=codec.u64(2))),
    "another signature key": ("commit: another member's leaf", on_leaf(signature_key=forge.point())),
    "a key that is none": ("commit: no new key", on_leaf(encryption_key=b"\x04" + bytes(64))),
    "a leaf not signed": ("commit: signature of the leaf", on_leaf(encryption_key=forge.point())),
    "no welcome": ("commit: welcome does not match the added members", lambda commit, _: commit.encode()),
    "an empty welcome": ("commit: welcome does not match the added members", on_welcome(lambda _: ())),
    "a welcome too many": (
        "commit: welcome does not match the added members",
        on_welcome(lambda secrets: (*secrets, (bytes(32), b"", b""))),
    ),
    "a welcome twice": ("commit: welcome does not match the added members", on_welcome(lambda secrets: secrets * 2)),
    "a welcome for nobody": (
        "commit: welcome does not match the added members",
        on_welcome(lambda _: ((bytes(32), b"", b""),)),
    ),
    "trailing bytes": ("malformed", lambda commit, welcome: commit.encode() + welcome.encode() + b"\x00"),
    "nothing": ("malformed", lambda _commit, _welcome: b""),
    "too much": ("commit: too long", lambda commit, _: commit.encode() + bytes(100_000)),
}


@pytest.fixture(scope="module")
def waiting() -> tuple[Call, bytes]:
    """A call whose commit is on the way. What is refused changes nothing, so that one call does for all."""
    call = Call()
    return call, opened(call)


@pytest.mark.parametrize("case", BENT)
def test_a_bent_commit_is_refused(waiting: tuple[Call, bytes], case: str) -> None:
    call, data = waiting
    commit, _, welcome = codec.read_commit_and_welcome(data)
    assert welcome is not None
    assert len(commit.references) == 2
    reason, bend = BENT[case]
    before = call.group.rejections[reason]

    assert call.receive(1, DaveOpcode.COMMIT_WELCOME, bend(commit, welcome)) == []

    assert call.group.rejections[reason] == before + 1


def test_a_commit_of_others_is_refused(waiting: tuple[Call, bytes]) -> None:
    call, data = waiting

    assert call.receive(2, DaveOpcode.COMMIT_WELCOME, data) == []
    assert call.receive(5, DaveOpcode.COMMIT_WELCOME, data) == []
    assert call.receive(3, DaveOpcode.COMMIT_WELCOME, data) == []


def test_after_all_that_the_commit_is_taken_and_the_call_goes_on() -> None:
    call = Call()
    data = opened(call)
    commit, _, welcome = codec.read_commit_and_welcome(data)
    assert welcome is not None
    for _, bend in BENT.values():
        call.receive(1, DaveOpcode.COMMIT_WELCOME, bend(commit, welcome))

    call.receive(1, DaveOpcode.COMMIT_WELCOME, data)
    call.settle()

    call.require_all_hear_all()


def test_an_empty_commit_before_there_is_a_group_is_refused() -> None:
    call = Call("libdave")
    call.join(1, 2)
    committer, data = call.until(DaveOpcode.COMMIT_WELCOME)
    commit, _, _ = codec.read_commit_and_welcome(data)
    call.receive(committer, DaveOpcode.COMMIT_WELCOME, dataclasses.replace(commit, references=()).encode())

    # libdave itself makes one when the only proposal is taken back.
    call.leave(2)
    call.settle()
    assert not call.group.is_encrypted(1)

    call.join(3)
    call.wait(10)
    call.require_all_hear_all()


def test_each_newcomer_is_welcomed_alone() -> None:
    call = Call()
    call.join(1, 2, 3)
    call.settle()

    for sending in call.sent:
        if sending.op == DaveOpcode.WELCOME:
            assert isinstance(sending.payload, bytes)
            reader = codec.ByteReader(sending.payload[4:])
            entries = codec.ByteReader(reader.vec())
            entries.vec(), entries.vec(), entries.vec()
            entries.end()


def test_members_whose_commits_nobody_can_follow_no_longer_decide() -> None:
    call = Call()
    call.join(1, 2, 3)
    call.settle()
    call.join(4)
    committer, data = call.until(DaveOpcode.COMMIT_WELCOME, by=1)
    commit, _, welcome = codec.read_commit_and_welcome(data)
    assert welcome is not None
    # We cannot see that the tag is wrong; everybody else does.
    call.receive(committer, DaveOpcode.COMMIT_WELCOME, change(confirmation_tag=bytes(32))(commit, welcome))
    call.wait(8)

    assert call.clients[2].invalid
    assert call.clients[3].invalid
    call.require_all_hear_all()

    call.join(5)
    _, data = call.until(DaveOpcode.COMMIT_WELCOME, by=1)
    assert call.receive(1, DaveOpcode.COMMIT_WELCOME, data) == []
    assert call.group.rejections["commit: earlier commits failed"]
    call.settle()
    call.require_all_hear_all()
    require_heard(call.clients[5], call.clients[1])

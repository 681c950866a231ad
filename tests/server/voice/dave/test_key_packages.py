"""KEY_PACKAGE: validation, rate limit and deadline of key packages. Also arbitrary messages of clients."""

import dataclasses
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hubbub.server.transports.voice.dave import DaveGroup, DaveOpcode, ExternalSender, codec
from tests.server.voice.dave import key_packages
from tests.server.voice.dave.simulated_call import CHANNEL_ID

ANN_ID, BEN_ID = 1, 2


@pytest.fixture
def group() -> DaveGroup:
    """A group in which Ann has sent a key package and Ben has not."""
    group = DaveGroup(CHANNEL_ID, ExternalSender())
    group.add_participant(ANN_ID, 0)
    group.handle_message(ANN_ID, DaveOpcode.KEY_PACKAGE, key_packages.make_key_package(ANN_ID).encode(), 0)
    group.add_participant(BEN_ID, 0)
    return group


def test_a_key_package_is_proposed_to_other_members_only(group: DaveGroup) -> None:
    package = key_packages.make_key_package(BEN_ID).encode()

    message_to_ann, message_to_ben = group.handle_message(BEN_ID, DaveOpcode.KEY_PACKAGE, package, 0)

    assert (message_to_ann.to, message_to_ann.op) == ((ANN_ID,), DaveOpcode.PROPOSALS)
    assert (message_to_ben.to, message_to_ben.op) == ((BEN_ID,), DaveOpcode.PROPOSALS)
    assert isinstance(message_to_ann.payload, bytes)
    assert isinstance(message_to_ben.payload, bytes)
    assert package in message_to_ann.payload
    assert package not in message_to_ben.payload
    assert not group.rejections


def test_a_key_package_may_be_wrapped_as_a_message(group: DaveGroup) -> None:
    wrapped_package = b"\x00\x01\x00\x05" + key_packages.make_key_package(BEN_ID).encode()

    assert len(group.handle_message(BEN_ID, DaveOpcode.KEY_PACKAGE, wrapped_package, 0)) == 2


INVALID_PACKAGES: dict[str, Callable[[], bytes]] = {
    "key package: identity of another user": lambda: key_packages.make_key_package(ANN_ID).encode(),
    "key package: leaf of a commit": lambda: key_packages.make_key_package(BEN_ID, source=3).encode(),
    "key package: lifetime": lambda: key_packages.make_key_package(BEN_ID, lifetime=(0, 2**40)).encode(),
    "key package: signature of the leaf": lambda: key_packages.make_key_package(
        BEN_ID, leaf_signature=b"\x30\x00"
    ).encode(),
    "key package: signature": lambda: key_packages.make_key_package(BEN_ID, signature=b"").encode(),
    "key package: invalid key": lambda: key_packages.make_key_package(BEN_ID, init_key=b"\x04" + bytes(64)).encode(),
    "key package: duplicate key": lambda: key_packages.make_key_package(
        BEN_ID, init_key=(key := key_packages.public_key_bytes()), encryption_key=key
    ).encode(),
    "key package: extensions": lambda: key_packages.make_key_package(BEN_ID, extensions=b"\x00\x0a\x00").encode(),
    "key package: capabilities": lambda: key_packages.make_key_package(
        BEN_ID, capabilities=dataclasses.replace(key_packages.VALID_CAPABILITIES, suites=(1,))
    ).encode(),
    "key package: too long": lambda: key_packages.make_key_package(BEN_ID, extensions=bytes(1024)).encode(),
    "malformed": lambda: key_packages.make_key_package(BEN_ID).encode() + b"\x00",
}


@pytest.mark.parametrize("reason", INVALID_PACKAGES)
def test_an_invalid_key_package_is_rejected_and_the_next_one_accepted(group: DaveGroup, reason: str) -> None:
    assert group.handle_message(BEN_ID, DaveOpcode.KEY_PACKAGE, INVALID_PACKAGES[reason](), 0) == []
    assert group.rejections == {reason: 1}
    assert (
        len(group.handle_message(BEN_ID, DaveOpcode.KEY_PACKAGE, key_packages.make_key_package(BEN_ID).encode(), 0))
        == 2
    )


CORRUPTIONS = {
    "another version": lambda data: b"\x00\x02" + data[2:],
    "another suite": lambda data: data[:2] + b"\x00\x01" + data[4:],
    "another credential": lambda data: data.replace(
        b"\x00\x01\x08" + codec.u64(BEN_ID), b"\x00\x02\x08" + codec.u64(BEN_ID)
    ),
    "truncated": lambda data: data[:-1],
    "empty": lambda _data: b"",
}


@pytest.mark.parametrize("corrupt", CORRUPTIONS.values(), ids=CORRUPTIONS)
def test_a_malformed_key_package_is_rejected(group: DaveGroup, corrupt: Callable[[bytes], bytes]) -> None:
    assert (
        group.handle_message(BEN_ID, DaveOpcode.KEY_PACKAGE, corrupt(key_packages.make_key_package(BEN_ID).encode()), 0)
        == []
    )
    assert group.rejections == {"malformed": 1}


@pytest.mark.parametrize("name", ["init_key", "encryption_key"])
def test_keys_of_another_member_are_rejected(group: DaveGroup, name: str) -> None:
    carl = key_packages.make_key_package(3)
    group.add_participant(3, 0)
    group.handle_message(3, DaveOpcode.KEY_PACKAGE, carl.encode(), 0)

    # A key package does not prove ownership of these keys, and no client can commit an Add with a duplicate key.
    stolen = key_packages.make_key_package(BEN_ID, **{name: carl.leaf.encryption_key})

    assert group.handle_message(BEN_ID, DaveOpcode.KEY_PACKAGE, stolen.encode(), 0) == []
    assert group.rejections == {"key package: key of another member": 1}


def test_key_packages_are_rate_limited(group: DaveGroup) -> None:
    for _ in range(10):
        group.handle_message(BEN_ID, DaveOpcode.KEY_PACKAGE, b"", 0)
    package = key_packages.make_key_package(BEN_ID).encode()

    assert group.handle_message(BEN_ID, DaveOpcode.KEY_PACKAGE, package, 1.9) == []
    assert group.rejections == {"malformed": 10, "key package: too many": 1}
    assert len(group.handle_message(BEN_ID, DaveOpcode.KEY_PACKAGE, package, 2.1)) == 2


def test_a_user_without_a_key_package_for_five_seconds_is_overdue(group: DaveGroup) -> None:
    assert group.deadline == 5
    group.tick(4.9)
    assert group.overdue == frozenset()

    group.tick(5)

    assert group.overdue == {BEN_ID}
    assert group.deadline is None
    group.handle_message(BEN_ID, DaveOpcode.KEY_PACKAGE, key_packages.make_key_package(BEN_ID).encode(), 6)
    assert group.overdue == frozenset()


@given(
    st.integers(0, 40),
    st.one_of(
        st.binary(max_size=600),
        st.dictionaries(
            st.sampled_from(["transition_id", "x"]), st.none() | st.booleans() | st.integers() | st.text(max_size=3)
        ),
    ),
)
def test_no_client_message_raises_an_exception(op: int, payload: bytes | dict[str, object]) -> None:
    group = DaveGroup(CHANNEL_ID, ExternalSender())
    group.add_participant(BEN_ID, 0)

    assert group.handle_message(BEN_ID, op, payload, 0) == []
    assert group.handle_message(99, op, payload, 0) == []
    assert group.handle_message(BEN_ID, op, None, 0) == []  # type: ignore[arg-type]

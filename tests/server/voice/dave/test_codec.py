"""The MLS codec: encoded messages decode unchanged, and invalid data raises only `Malformed`."""

from collections.abc import Callable

import davey
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hubbub.server.transports.voice.dave import codec
from hubbub.server.transports.voice.dave.codec import ByteReader, Malformed, vec
from tests.server.voice.dave.simulated_call import CHANNEL_ID

SHORT = st.binary(max_size=80)
NUMBERS = st.lists(st.integers(0, 0xFFFF), max_size=4).map(tuple)
U64 = st.integers(0, 2**64 - 1)

CAPABILITIES = st.builds(codec.LeafCapabilities, NUMBERS, NUMBERS, NUMBERS, NUMBERS, NUMBERS)
NEW_LEAVES = st.builds(
    codec.LeafNode, SHORT, SHORT, SHORT, CAPABILITIES, st.just(1), st.tuples(U64, U64), st.just(b""), SHORT, SHORT
)
PATH_LEAVES = st.builds(
    codec.LeafNode, SHORT, SHORT, SHORT, CAPABILITIES, st.just(3), st.just((0, 0)), SHORT, SHORT, SHORT
)
KEY_PACKAGES = st.builds(codec.KeyPackage, SHORT, NEW_LEAVES, SHORT, SHORT)
PATHS = st.lists(st.builds(codec.PathNode, SHORT, st.lists(st.tuples(SHORT, SHORT), max_size=3).map(tuple)), max_size=3)
WELCOMES = st.builds(codec.Welcome, st.lists(st.tuples(SHORT, SHORT, SHORT), max_size=3).map(tuple), SHORT)


@st.composite
def commits(draw: st.DrawFn) -> codec.Commit:
    """Generate commits with and without a path."""
    leaf = draw(st.none() | PATH_LEAVES)
    return codec.Commit(
        draw(SHORT),
        draw(U64),
        draw(st.integers(0, 2**32 - 1)),
        draw(SHORT),
        tuple(draw(st.lists(SHORT, max_size=4))),
        leaf,
        tuple(draw(PATHS)) if leaf is not None else (),
        draw(SHORT),
        draw(SHORT),
        draw(SHORT),
    )


@pytest.mark.parametrize(
    ("length", "prefix"),
    [(0, "00"), (63, "3f"), (64, "4040"), (16_383, "7fff"), (16_384, "80004000"), (70_000, "80011170")],
)
def test_a_length_is_encoded_in_its_shortest_form(length: int, prefix: str) -> None:
    data = bytes(length)

    assert vec(data) == bytes.fromhex(prefix) + data
    assert ByteReader(vec(data)).vec() == data


@pytest.mark.parametrize("data", ["4000", "403f" + "00" * 63, "80003fff", "c0", "ff", "", "01", "4040", "8000"])
def test_other_encodings_of_a_length_are_rejected(data: str) -> None:
    with pytest.raises(Malformed):
        ByteReader(bytes.fromhex(data) + (bytes(16_383) if data == "80003fff" else b"")).vec()


@given(KEY_PACKAGES)
def test_a_key_package_survives_a_round_trip(package: codec.KeyPackage) -> None:
    assert codec.read_key_package(package.encode()) == package
    assert codec.read_key_package(b"\x00\x01\x00\x05" + package.encode()) == package


@given(commits(), st.none() | WELCOMES)
def test_a_commit_with_its_welcome_survives_a_round_trip(commit: codec.Commit, welcome: codec.Welcome | None) -> None:
    data = commit.encode() + (welcome.encode() if welcome is not None else b"")

    assert codec.read_commit_and_welcome(data) == (commit, commit.encode(), welcome)


@pytest.mark.parametrize("read", [codec.read_key_package, codec.read_commit_and_welcome])
@given(data=st.binary(max_size=400))
@example(data=b"")
def test_any_bytes_are_decoded_or_malformed(read: Callable[[bytes], object], data: bytes) -> None:
    try:
        read(data)
    except Malformed:
        pass


@given(KEY_PACKAGES, st.data())
def test_a_corrupted_key_package_is_decoded_or_malformed(package: codec.KeyPackage, data: st.DataObject) -> None:
    corrupted_bytes = _corrupt(package.encode(), data)
    try:
        # The encoding is canonical.
        assert codec.read_key_package(corrupted_bytes).encode() in (corrupted_bytes, corrupted_bytes[4:])
    except Malformed:
        pass


@given(commits(), WELCOMES, st.data())
def test_a_corrupted_commit_is_decoded_or_malformed(
    commit: codec.Commit, welcome: codec.Welcome, data: st.DataObject
) -> None:
    corrupted_bytes = _corrupt(commit.encode() + welcome.encode(), data)
    try:
        read_commit, message, read_welcome = codec.read_commit_and_welcome(corrupted_bytes)
    except Malformed:
        return
    assert read_commit.encode() == message
    assert message + (read_welcome.encode() if read_welcome is not None else b"") == corrupted_bytes


def _corrupt(original: bytes, data: st.DataObject) -> bytes:
    position = data.draw(st.integers(0, len(original) - 1))
    return original[:position] + data.draw(st.binary(max_size=3)) + original[position + data.draw(st.integers(0, 3)) :]


def test_a_key_package_of_a_client_is_decoded_completely() -> None:
    data = davey.DaveSession(1, 42, CHANNEL_ID).get_serialized_key_package()

    package = codec.read_key_package(data)

    assert package.encode() == data
    assert package.leaf.identity == codec.u64(42)
    for length in range(len(data)):
        with pytest.raises(Malformed):
            codec.read_key_package(data[:length])

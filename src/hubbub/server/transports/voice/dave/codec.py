"""Encoding and decoding of the MLS structures (RFC 9420) that a voice server needs.

Decoding raises only `Malformed`. Encoding a decoded structure gives the same bytes, without the MLSMessage wrapper of a
key package.
"""

from dataclasses import dataclass
from typing import Final, NamedTuple

MLS_10: Final = 1
"""The protocol version MLS 1.0."""
SUITE: Final = 2
"""DHKEM P-256, AES-128-GCM, SHA-256, ECDSA P-256: the only cipher suite of DAVE version 1."""

# Values of the enumerations of RFC 9420: WireFormat, CredentialType, SenderType, ContentType, ProposalOrRefType and
# LeafNodeSource.
PUBLIC_MESSAGE: Final = 1
KEY_PACKAGE: Final = 5
BASIC: Final = 1
MEMBER: Final = 1
EXTERNAL: Final = 2
PROPOSAL: Final = 2
COMMIT: Final = 3
BY_REFERENCE: Final = 2
FROM_KEY_PACKAGE: Final = 1
FROM_COMMIT: Final = 3

_MESSAGE_WRAPPER = b"\x00\x01\x00\x05"
"""The first bytes of an MLSMessage with a key package: version and wire format."""
_VEC_BYTES_LIMIT = 1 << 30
"""Exclusive upper bound of the size of a vector, in bytes."""


class Malformed(ValueError):
    """Raised when bytes cannot be decoded."""


def u16(value: int) -> bytes:
    """Encode a number as two bytes, big endian."""
    return value.to_bytes(2, "big")


def u32(value: int) -> bytes:
    """Encode a number as four bytes, big endian."""
    return value.to_bytes(4, "big")


def u64(value: int) -> bytes:
    """Encode a number as eight bytes, big endian."""
    return value.to_bytes(8, "big")


def vec(data: bytes) -> bytes:
    """Encode a vector: its length in the shortest of three forms, then the bytes (RFC 9420, 2.1.2).

    Raise ValueError if the data is too long.
    """
    length = len(data)
    if length < 1 << 6:
        return bytes((length,)) + data
    if length < 1 << 14:
        return (length | 1 << 14).to_bytes(2, "big") + data
    if length < _VEC_BYTES_LIMIT:
        return (length | 2 << 30).to_bytes(4, "big") + data
    raise ValueError("too long for a vector")


class ByteReader:
    """Decodes structures from bytes in sequence."""

    __slots__ = ("_data", "_position")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._position = 0

    def take(self, count: int) -> bytes:
        """Return exactly the next `count` bytes."""
        end = self._position + count
        if end > len(self._data):
            raise Malformed("too short")
        taken_bytes = self._data[self._position : end]
        self._position = end
        return taken_bytes

    def u8(self) -> int:
        """Decode one byte."""
        return self.take(1)[0]

    def u16(self) -> int:
        """Decode two bytes, big endian."""
        return int.from_bytes(self.take(2), "big")

    def u32(self) -> int:
        """Decode four bytes, big endian."""
        return int.from_bytes(self.take(4), "big")

    def u64(self) -> int:
        """Decode eight bytes, big endian."""
        return int.from_bytes(self.take(8), "big")

    def vec(self) -> bytes:
        """Decode the content of a vector, whose length must have its shortest form."""
        first_byte = self.u8()
        form = first_byte >> 6
        if form == 0:
            return self.take(first_byte)
        if form == 3:
            raise Malformed("invalid length prefix")
        extra_byte_count = (1 << form) - 1
        length = int.from_bytes(bytes((first_byte & 0x3F,)) + self.take(extra_byte_count), "big")
        if length < (1 << 6 if form == 1 else 1 << 14):
            raise Malformed("length is not in its shortest form")
        return self.take(length)

    def u16s(self) -> tuple[int, ...]:
        """Decode a vector of two-byte numbers."""
        encoded_numbers = self.vec()
        if len(encoded_numbers) % 2:
            raise Malformed("odd length of a vector of two-byte numbers")
        return tuple(
            int.from_bytes(encoded_numbers[offset : offset + 2], "big") for offset in range(0, len(encoded_numbers), 2)
        )

    def expect(self, value: int, expected: int, name: str) -> None:
        """Raise `Malformed` unless a value is the expected one."""
        if value != expected:
            raise Malformed(f"{name} is {value}, not {expected}")

    @property
    def has_more(self) -> bool:
        """Whether undecoded bytes are left."""
        return self._position < len(self._data)

    def end(self) -> None:
        """Raise `Malformed` if undecoded bytes are left."""
        if self.has_more:
            raise Malformed("trailing bytes")

    @property
    def position(self) -> int:
        """The number of decoded bytes."""
        return self._position


@dataclass(frozen=True, slots=True)
class LeafCapabilities:
    """The capabilities that a client declares."""

    versions: tuple[int, ...]
    suites: tuple[int, ...]
    extensions: tuple[int, ...]
    proposals: tuple[int, ...]
    credentials: tuple[int, ...]

    def encode(self) -> bytes:
        """Encode the capabilities as in a leaf node."""
        return b"".join(
            vec(b"".join(map(u16, numbers)))
            for numbers in (self.versions, self.suites, self.extensions, self.proposals, self.credentials)
        )


@dataclass(frozen=True, slots=True)
class LeafNode:
    """The leaf node of a group member."""

    encryption_key: bytes
    signature_key: bytes
    identity: bytes
    """The user ID as eight bytes."""
    capabilities: LeafCapabilities
    source: int
    """`FROM_KEY_PACKAGE` or `FROM_COMMIT`."""
    lifetime: tuple[int, int]
    """Start and end of the validity in Unix seconds; both 0 in the leaf of a commit."""
    parent_hash: bytes
    """Parent hash of the leaf of a commit; empty in the leaf of a key package."""
    extensions: bytes
    signature: bytes

    def unsigned(self) -> bytes:
        """Encode everything before the signature."""
        if self.source == FROM_KEY_PACKAGE:
            origin = u64(self.lifetime[0]) + u64(self.lifetime[1])
        else:
            origin = vec(self.parent_hash)
        return b"".join(
            (
                vec(self.encryption_key),
                vec(self.signature_key),
                u16(BASIC),
                vec(self.identity),
                self.capabilities.encode(),
                bytes((self.source,)),
                origin,
                vec(self.extensions),
            )
        )

    def encode(self) -> bytes:
        """Encode the whole leaf node."""
        return self.unsigned() + vec(self.signature)


@dataclass(frozen=True, slots=True)
class KeyPackage:
    """A key package, with which a client can be added to a group."""

    init_key: bytes
    leaf: LeafNode
    extensions: bytes
    signature: bytes

    def unsigned(self) -> bytes:
        """Encode everything before the signature (KeyPackageTBS)."""
        return u16(MLS_10) + u16(SUITE) + vec(self.init_key) + self.leaf.encode() + vec(self.extensions)

    def encode(self) -> bytes:
        """Encode the key package, without the MLSMessage wrapper."""
        return self.unsigned() + vec(self.signature)


@dataclass(frozen=True, slots=True)
class PathNode:
    """A new key for an ancestor of the committer's leaf, encrypted for the members below it."""

    encryption_key: bytes
    ciphertexts: tuple[tuple[bytes, bytes], ...]
    """KEM output and ciphertext, one pair per recipient."""

    def encode(self) -> bytes:
        """Encode the node as in an update path."""
        return vec(self.encryption_key) + vec(
            b"".join(vec(kem_output) + vec(ciphertext) for kem_output, ciphertext in self.ciphertexts)
        )


@dataclass(frozen=True, slots=True)
class Commit:
    """A member's commit, which applies proposals and starts the next epoch."""

    group_id: bytes
    epoch: int
    leaf_index: int
    authenticated_data: bytes
    references: tuple[bytes, ...]
    """References of the applied proposals."""
    path_leaf: LeafNode | None
    """The committer's new leaf; None for a commit without a path."""
    path: tuple[PathNode, ...]
    signature: bytes
    confirmation_tag: bytes
    membership_tag: bytes

    def encode(self) -> bytes:
        """Encode the commit as an MLSMessage."""
        encoded_fields = [
            u16(MLS_10),
            u16(PUBLIC_MESSAGE),
            vec(self.group_id),
            u64(self.epoch),
            bytes((MEMBER,)),
            u32(self.leaf_index),
            vec(self.authenticated_data),
            bytes((COMMIT,)),
            vec(b"".join(bytes((BY_REFERENCE,)) + vec(reference) for reference in self.references)),
        ]
        if self.path_leaf is None:
            encoded_fields.append(b"\x00")
        else:
            encoded_fields += [b"\x01", self.path_leaf.encode(), vec(b"".join(node.encode() for node in self.path))]
        encoded_fields += [vec(self.signature), vec(self.confirmation_tag), vec(self.membership_tag)]
        return b"".join(encoded_fields)


class EncryptedGroupSecrets(NamedTuple):
    """The secrets of a group, encrypted for one new member."""

    key_package_ref: bytes
    """Reference of the new member's key package."""
    kem_output: bytes
    ciphertext: bytes


@dataclass(frozen=True, slots=True)
class Welcome:
    """A Welcome, with which added members join the group."""

    secrets: tuple[EncryptedGroupSecrets, ...]
    """One entry per new member."""
    group_info: bytes
    """The encrypted GroupInfo."""

    def encode(self) -> bytes:
        """Encode the Welcome, without the MLSMessage wrapper."""
        encoded_secrets = b"".join(
            vec(reference) + vec(kem_output) + vec(ciphertext) for reference, kem_output, ciphertext in self.secrets
        )
        return u16(SUITE) + vec(encoded_secrets) + vec(self.group_info)

    def only(self, key_package_ref: bytes) -> "Welcome":
        """Return a copy with only the entry of the new member with this key package."""
        secrets = tuple(
            member_secrets for member_secrets in self.secrets if member_secrets.key_package_ref == key_package_ref
        )
        return Welcome(secrets, self.group_info)


def read_key_package(data: bytes) -> KeyPackage:
    """Decode a key package, with or without the MLSMessage wrapper."""
    # The DAVE white paper wraps key packages; libdave and davey do not. Without the wrapper the version is followed by
    # the cipher suite, which is never 5.
    reader = ByteReader(data[4:] if data.startswith(_MESSAGE_WRAPPER) else data)
    reader.expect(reader.u16(), MLS_10, "version")
    reader.expect(reader.u16(), SUITE, "suite")
    init_key = reader.vec()
    leaf = read_leaf(reader)
    package = KeyPackage(init_key, leaf, reader.vec(), reader.vec())
    reader.end()
    return package


def read_leaf(reader: ByteReader) -> LeafNode:
    """Decode a leaf node of a key package or of a commit's path."""
    encryption_key = reader.vec()
    signature_key = reader.vec()
    reader.expect(reader.u16(), BASIC, "credential")
    identity = reader.vec()
    capabilities = LeafCapabilities(reader.u16s(), reader.u16s(), reader.u16s(), reader.u16s(), reader.u16s())
    source = reader.u8()
    lifetime, parent_hash = (0, 0), b""
    if source == FROM_KEY_PACKAGE:
        lifetime = (reader.u64(), reader.u64())
    elif source == FROM_COMMIT:
        parent_hash = reader.vec()
    else:
        raise Malformed("unknown leaf node source")
    return LeafNode(
        encryption_key,
        signature_key,
        identity,
        capabilities,
        source,
        lifetime,
        parent_hash,
        reader.vec(),
        reader.vec(),
    )


def read_commit_and_welcome(data: bytes) -> tuple[Commit, bytes, Welcome | None]:
    """Decode a commit and the optional Welcome after it; return the commit, its bytes, and the Welcome or None."""
    reader = ByteReader(data)
    commit = _read_commit(reader)
    commit_bytes = data[: reader.position]
    welcome = _read_welcome(reader) if reader.has_more else None
    reader.end()
    return commit, commit_bytes, welcome


def _read_commit(reader: ByteReader) -> Commit:
    reader.expect(reader.u16(), MLS_10, "version")
    reader.expect(reader.u16(), PUBLIC_MESSAGE, "wire format")
    group_id = reader.vec()
    epoch = reader.u64()
    reader.expect(reader.u8(), MEMBER, "sender")
    leaf_index = reader.u32()
    authenticated_data = reader.vec()
    reader.expect(reader.u8(), COMMIT, "content")
    references = _read_references(ByteReader(reader.vec()))
    path_leaf: LeafNode | None = None
    path: tuple[PathNode, ...] = ()
    has_path = reader.u8()
    if has_path == 1:
        path_leaf = read_leaf(reader)
        path = _read_path(ByteReader(reader.vec()))
    elif has_path:
        raise Malformed("invalid presence flag of the path")
    return Commit(
        group_id,
        epoch,
        leaf_index,
        authenticated_data,
        references,
        path_leaf,
        path,
        reader.vec(),
        reader.vec(),
        reader.vec(),
    )


def _read_references(reader: ByteReader) -> tuple[bytes, ...]:
    references = []
    while reader.has_more:
        # DAVE: only the server makes proposals, so a commit must not contain a proposal by value.
        reader.expect(reader.u8(), BY_REFERENCE, "proposal type")
        references.append(reader.vec())
    return tuple(references)


def _read_path(reader: ByteReader) -> tuple[PathNode, ...]:
    nodes = []
    while reader.has_more:
        encryption_key = reader.vec()
        ciphertext_reader = ByteReader(reader.vec())
        ciphertexts = []
        while ciphertext_reader.has_more:
            ciphertexts.append((ciphertext_reader.vec(), ciphertext_reader.vec()))
        nodes.append(PathNode(encryption_key, tuple(ciphertexts)))
    return tuple(nodes)


def _read_welcome(reader: ByteReader) -> Welcome:
    reader.expect(reader.u16(), SUITE, "suite")
    secrets_reader = ByteReader(reader.vec())
    secrets = []
    while secrets_reader.has_more:
        secrets.append(EncryptedGroupSecrets(secrets_reader.vec(), secrets_reader.vec(), secrets_reader.vec()))
    return Welcome(tuple(secrets), reader.vec())

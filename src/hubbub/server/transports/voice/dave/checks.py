"""Validation of clients' key packages and commits, before other clients receive them.

Clients disconnect, or worse, when they cannot apply a proposal, so an invalid message of one member must not reach the
others. The server cannot perform checks that need the group's secrets (the tags of a commit) or the whole tree (the
signature of a commit); members perform them and report failures with INVALID_COMMIT_WELCOME.
"""

from collections.abc import Collection, Mapping

from hubbub.server.transports.voice.dave import codec
from hubbub.server.transports.voice.dave.codec import u32, u64, vec
from hubbub.server.transports.voice.dave.keys import compute_reference, parse_public_key, verify
from hubbub.server.transports.voice.dave.proposals import Proposal, ValidatedKeyPackage

KEY_PACKAGE_BYTES_MAX = 1024
"""Size limit in bytes of a key package; key packages of known libraries have at most 400."""

COMMIT_BASE_BYTES_MAX = 8_192
"""Size limit in bytes of a commit with its Welcome, without the part per member."""
COMMIT_BYTES_PER_MEMBER = 1_024
"""Additional bytes of the size limit of a commit, per participant of the call and per pending proposal."""

_UNLIMITED_LIFETIME = (0, (1 << 64) - 1)
"""The only lifetime (not before, not after) that DAVE allows in a key package."""


class RejectedMessage(Exception):
    """Raised to reject a client's message; the call continues."""


def validate_key_package(data: bytes, user_id: int) -> ValidatedKeyPackage:
    """Return the validated key package of this user; raise `RejectedMessage` with the reason if it is invalid.

    Raise `codec.Malformed` if it cannot be decoded.
    """
    if len(data) > KEY_PACKAGE_BYTES_MAX:
        raise RejectedMessage("key package: too long")
    package = codec.read_key_package(data)
    leaf = package.leaf
    if leaf.identity != u64(user_id):
        raise RejectedMessage("key package: identity of another user")
    if leaf.source != codec.FROM_KEY_PACKAGE:
        raise RejectedMessage("key package: leaf of a commit")
    if leaf.lifetime != _UNLIMITED_LIFETIME:
        raise RejectedMessage("key package: lifetime")
    if leaf.extensions or package.extensions:
        raise RejectedMessage("key package: extensions")
    capabilities = leaf.capabilities
    if (
        codec.MLS_10 not in capabilities.versions
        or codec.SUITE not in capabilities.suites
        or codec.BASIC not in capabilities.credentials
    ):
        raise RejectedMessage("key package: capabilities")
    # Encryption to an invalid point is impossible, and RFC 9420 (10.1) requires two different keys.
    if parse_public_key(package.init_key) is None or parse_public_key(leaf.encryption_key) is None:
        raise RejectedMessage("key package: invalid key")
    if package.init_key == leaf.encryption_key:
        raise RejectedMessage("key package: duplicate key")
    key = parse_public_key(leaf.signature_key)
    if key is None:
        raise RejectedMessage("key package: invalid key")
    if not verify(key, "LeafNodeTBS", leaf.unsigned(), leaf.signature):
        raise RejectedMessage("key package: signature of the leaf")
    if not verify(key, "KeyPackageTBS", package.unsigned(), package.signature):
        raise RejectedMessage("key package: signature")
    encoded_package = package.encode()
    return ValidatedKeyPackage(
        user_id, package, encoded_package, compute_reference("KeyPackage Reference", encoded_package)
    )


def require_unique_keys(key_package: ValidatedKeyPackage, taken_keys: Collection[bytes]) -> None:
    """Reject a key package with a key in `taken_keys`: RFC 9420 (7.3) forbids keys of other members in a commit."""
    leaf = key_package.package.leaf
    if {key_package.package.init_key, leaf.encryption_key, leaf.signature_key} & set(taken_keys):
        raise RejectedMessage("key package: key of another member")


def require_valid_commit(
    commit: codec.Commit,
    welcome: codec.Welcome | None,
    *,
    group_id: bytes,
    epoch: int,
    leaf_index: int,
    leaf: codec.LeafNode,
    proposals: Mapping[bytes, Proposal],
) -> None:
    """Reject a commit unless it is by the member at `leaf_index` and consists of exactly the pending proposals.

    `leaf` is the committer's current leaf; `proposals` are the pending proposals by reference.
    """
    if commit.group_id != group_id:
        raise RejectedMessage("commit: another group")
    if commit.epoch != epoch:
        raise RejectedMessage("commit: another epoch")
    if commit.leaf_index != leaf_index:
        raise RejectedMessage("commit: leaf index of another member")
    if not proposals or len(commit.references) != len(proposals) or set(commit.references) != proposals.keys():
        raise RejectedMessage("commit: not the pending proposals")
    added_refs = [proposal.key_package.ref for proposal in proposals.values() if proposal.key_package is not None]
    # RFC 9420, 12.4: only a commit that consists of Adds may omit the path.
    if commit.path_leaf is None and len(added_refs) < len(proposals):
        raise RejectedMessage("commit: no path")
    if commit.path_leaf is not None:
        _require_path_leaf(commit.path_leaf, leaf, group_id, leaf_index)
    welcomed_refs = [secrets.key_package_ref for secrets in welcome.secrets] if welcome is not None else []
    if sorted(welcomed_refs) != sorted(added_refs):
        raise RejectedMessage("commit: welcome does not match the added members")


def _require_path_leaf(new_leaf: codec.LeafNode, old_leaf: codec.LeafNode, group_id: bytes, leaf_index: int) -> None:
    if (
        new_leaf.source != codec.FROM_COMMIT
        or new_leaf.identity != old_leaf.identity
        or new_leaf.signature_key != old_leaf.signature_key
    ):
        raise RejectedMessage("commit: another member's leaf")
    if new_leaf.encryption_key == old_leaf.encryption_key or parse_public_key(new_leaf.encryption_key) is None:
        raise RejectedMessage("commit: no new key")
    key = parse_public_key(new_leaf.signature_key)
    if key is None or not verify(
        key, "LeafNodeTBS", new_leaf.unsigned() + vec(group_id) + u32(leaf_index), new_leaf.signature
    ):
        raise RejectedMessage("commit: signature of the leaf")

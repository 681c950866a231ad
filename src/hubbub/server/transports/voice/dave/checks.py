"""What is asked of the bytes that clients send, before anybody else sees them.

Clients end their connection, or worse, over a proposal they cannot apply, so what one member sends must not reach the others
unless it fits. What needs the group's secrets (the tags of a commit) or the whole tree (its signature) cannot be checked here;
members check it and answer op 31.
"""

from collections.abc import Collection, Mapping

from hubbub.server.transports.voice.dave import codec
from hubbub.server.transports.voice.dave.codec import u32, u64, vec
from hubbub.server.transports.voice.dave.keys import find_point, reference, verify
from hubbub.server.transports.voice.dave.proposals import Arrival, Proposal

KEY_PACKAGE_MOST = 1024
"""Bytes of a key package; those of the known libraries have at most 400."""

COMMIT_BASE = 8_192
COMMIT_PER_MEMBER = 1_024
"""Bytes of a commit with its welcome: so many, and so many more per member and newcomer."""

_ALWAYS = (0, (1 << 64) - 1)


class Refused(Exception):
    """What a client sent is not taken; the call goes on."""


def read_arrival(data: bytes, user_id: int) -> Arrival:
    """The key package of this user, or why it is not one."""
    if len(data) > KEY_PACKAGE_MOST:
        raise Refused("key package: too long")
    package = codec.read_key_package(data)
    leaf = package.leaf
    if leaf.identity != u64(user_id):
        raise Refused("key package: somebody else's")
    if leaf.source != codec.FROM_KEY_PACKAGE:
        raise Refused("key package: leaf of a commit")
    if leaf.lifetime != _ALWAYS:
        raise Refused("key package: lifetime")
    if leaf.extensions or package.extensions:
        raise Refused("key package: extensions")
    can = leaf.capabilities
    if codec.MLS_10 not in can.versions or codec.SUITE not in can.suites or codec.BASIC not in can.credentials:
        raise Refused("key package: capabilities")
    # Nobody could seal anything for a key that is no point, and RFC 9420 (10.1) wants two different ones.
    if find_point(package.init_key) is None or find_point(leaf.encryption_key) is None:
        raise Refused("key package: no key")
    if package.init_key == leaf.encryption_key:
        raise Refused("key package: one key twice")
    key = find_point(leaf.signature_key)
    if key is None:
        raise Refused("key package: no key")
    if not verify(key, "LeafNodeTBS", leaf.unsigned(), leaf.signature):
        raise Refused("key package: signature of the leaf")
    if not verify(key, "KeyPackageTBS", package.unsigned(), package.signature):
        raise Refused("key package: signature")
    bare = package.encode()
    return Arrival(user_id, package, bare, reference("KeyPackage Reference", bare))


def require_own_keys(arrival: Arrival, taken: Collection[bytes]) -> None:
    """Refuses keys that another member has: RFC 9420 (7.3) forbids them, so no client could commit the Add."""
    leaf = arrival.package.leaf
    if {arrival.package.init_key, leaf.encryption_key, leaf.signature_key} & set(taken):
        raise Refused("key package: a key of somebody else")


def require_commit(
    commit: codec.Commit,
    welcome: codec.Welcome | None,
    *,
    group_id: bytes,
    epoch: int,
    leaf_index: int,
    leaf: codec.LeafNode,
    proposals: Mapping[bytes, Proposal],
) -> None:
    """Refuses a commit that is not exactly the open proposals, by the member at this leaf."""
    if commit.group_id != group_id:
        raise Refused("commit: another group")
    if commit.epoch != epoch:
        raise Refused("commit: another epoch")
    if commit.leaf_index != leaf_index:
        raise Refused("commit: somebody else's leaf")
    if not proposals or len(commit.references) != len(proposals) or set(commit.references) != proposals.keys():
        raise Refused("commit: not the open proposals")
    added = [proposal.arrival.ref for proposal in proposals.values() if proposal.arrival is not None]
    # RFC 9420, 12.4: only a commit of nothing but Adds may come without a path.
    if commit.path_leaf is None and len(added) < len(proposals):
        raise Refused("commit: no path")
    if commit.path_leaf is not None:
        _require_path_leaf(commit.path_leaf, leaf, group_id, leaf_index)
    welcomed = [secret[0] for secret in welcome.secrets] if welcome is not None else []
    if sorted(welcomed) != sorted(added):
        raise Refused("commit: not the welcome of those added")


def _require_path_leaf(new: codec.LeafNode, old: codec.LeafNode, group_id: bytes, leaf_index: int) -> None:
    if new.source != codec.FROM_COMMIT or new.identity != old.identity or new.signature_key != old.signature_key:
        raise Refused("commit: another member's leaf")
    if new.encryption_key == old.encryption_key or find_point(new.encryption_key) is None:
        raise Refused("commit: no new key")
    key = find_point(new.signature_key)
    if key is None or not verify(key, "LeafNodeTBS", new.unsigned() + vec(group_id) + u32(leaf_index), new.signature):
        raise Refused("commit: signature of the leaf")

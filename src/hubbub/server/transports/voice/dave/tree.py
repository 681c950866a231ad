"""The leaves of an MLS group, as far as its commits determine them."""

from collections.abc import Iterator, Mapping

from hubbub.server.transports.voice.dave.codec import Commit, LeafNode
from hubbub.server.transports.voice.dave.proposals import Proposal


class Tree:
    """The leaves of a group at an epoch."""

    __slots__ = ("epoch", "_leaves")

    def __init__(self, founder_leaf: LeafNode) -> None:
        """Create the tree of a group at epoch 0, which has only the founder's leaf."""
        self.epoch = 0
        self._leaves: list[LeafNode | None] = [founder_leaf]

    def __iter__(self) -> Iterator[tuple[int, LeafNode]]:
        """Iterate over index and leaf of each member."""
        return ((index, leaf) for index, leaf in enumerate(self._leaves) if leaf is not None)

    def leaf(self, index: int) -> LeafNode:
        """Return the leaf of a member."""
        leaf = self._leaves[index]
        assert leaf is not None
        return leaf

    def apply(self, commit: Commit, proposals: Mapping[bytes, Proposal]) -> dict[bytes, int]:
        """Apply a commit, which starts the next epoch; return the new leaf indexes by key package reference."""
        self.epoch += 1
        if commit.path_leaf is not None:
            self._leaves[commit.leaf_index] = commit.path_leaf
        # RFC 9420, 12.3 and 7.7: first the Removes, then the tree is truncated, then the Adds in the order of the
        # commit, each at the leftmost free leaf.
        for proposal in proposals.values():
            if proposal.key_package is None:
                self._leaves[proposal.leaf_index] = None
        while self._leaves and self._leaves[-1] is None:
            self._leaves.pop()
        leaf_indexes: dict[bytes, int] = {}
        for ref in commit.references:
            key_package = proposals[ref].key_package
            if key_package is not None:
                leaf_indexes[key_package.ref] = self._insert_leaf(key_package.package.leaf)
        return leaf_indexes

    def _insert_leaf(self, leaf: LeafNode) -> int:
        """Put a leaf at the leftmost free index and return the index."""
        try:
            index = self._leaves.index(None)
        except ValueError:
            self._leaves.append(leaf)
            return len(self._leaves) - 1
        self._leaves[index] = leaf
        return index

"""Who sits where in an MLS group, as far as that follows from its commits."""

from collections.abc import Iterator, Mapping

from hubbub.server.transports.voice.dave.codec import Commit, LeafNode
from hubbub.server.transports.voice.dave.proposals import Proposal


class Tree:
    """The leaves of a group at an epoch."""

    __slots__ = ("epoch", "_leaves")

    def __init__(self, founder: LeafNode) -> None:
        self.epoch = 0
        self._leaves: list[LeafNode | None] = [founder]

    def __iter__(self) -> Iterator[tuple[int, LeafNode]]:
        """Index and leaf of each member."""
        return ((index, leaf) for index, leaf in enumerate(self._leaves) if leaf is not None)

    def leaf(self, index: int) -> LeafNode:
        """The leaf of a member."""
        leaf = self._leaves[index]
        assert leaf is not None
        return leaf

    def apply(self, commit: Commit, proposals: Mapping[bytes, Proposal]) -> dict[bytes, int]:
        """Goes on to the next epoch; says where each key package, by its reference, was put."""
        self.epoch += 1
        if commit.path_leaf is not None:
            self._leaves[commit.leaf_index] = commit.path_leaf
        # RFC 9420, 12.3 and 7.7: first the Removes, then the tree is cut, then the Adds in the order of the commit, each to the
        # leftmost free leaf.
        for proposal in proposals.values():
            if proposal.arrival is None:
                self._leaves[proposal.leaf_index] = None
        while self._leaves and self._leaves[-1] is None:
            self._leaves.pop()
        placed: dict[bytes, int] = {}
        for ref in commit.references:
            arrival = proposals[ref].arrival
            if arrival is not None:
                placed[arrival.ref] = self._seat(arrival.package.leaf)
        return placed

    def _seat(self, leaf: LeafNode) -> int:
        try:
            index = self._leaves.index(None)
        except ValueError:
            self._leaves.append(leaf)
            return len(self._leaves) - 1
        self._leaves[index] = leaf
        return index

"""Creation of a group: waiting clients are proposed to each other, and one of them commits."""

from collections.abc import Iterator

from hubbub.server.transports.voice.dave import proposals
from hubbub.server.transports.voice.dave.keys import ExternalSender
from hubbub.server.transports.voice.dave.messages import DaveOpcode, OutgoingMessage, outgoing
from hubbub.server.transports.voice.dave.proposals import Proposal, ValidatedKeyPackage


class InitialGroup:
    """The founders of a group that does not exist yet. Each of them holds the Add proposals of all others."""

    def __init__(self, sender: ExternalSender, group_id: bytes) -> None:
        self._sender = sender
        self._group_id = group_id
        self._adds: dict[int, Proposal] = {}

    def __len__(self) -> int:
        """Return the number of founders."""
        return len(self._adds)

    def __iter__(self) -> Iterator[int]:
        """Iterate over the user IDs of the founders."""
        return iter(self._adds)

    def __contains__(self, user_id: int) -> bool:
        """Return whether a user is a founder."""
        return user_id in self._adds

    def clear(self) -> None:
        """Remove all founders."""
        self._adds = {}

    def propose(self, arrival: ValidatedKeyPackage) -> list[OutgoingMessage]:
        """Add a founder, and propose it to the others and the others to it."""
        proposal = self._add(arrival)
        sendings: list[OutgoingMessage] = []
        if self._adds:
            # A client must not receive its own Add: davey treats that as an error.
            sendings = [
                outgoing(self._adds, DaveOpcode.PROPOSALS, proposals.append([proposal])),
                outgoing([arrival.user_id], DaveOpcode.PROPOSALS, proposals.append(self._adds.values())),
            ]
        self._adds[arrival.user_id] = proposal
        return sendings

    def remove(self, user_id: int) -> list[OutgoingMessage]:
        """Remove a founder.

        All Adds are revoked and proposed again: davey cannot build a Welcome from a partly revoked set.
        """
        old = self._adds
        arrivals = [proposal.key_package for each, proposal in old.items() if each != user_id]
        self._adds = {arrival.user_id: self._add(arrival) for arrival in arrivals if arrival is not None}
        sendings: list[OutgoingMessage] = []
        for each in self._adds:
            held = [proposal for other, proposal in old.items() if other != each]
            sendings.append(outgoing([each], DaveOpcode.PROPOSALS, proposals.revoke(held)))
            renewed = self.proposals_for(each)
            if renewed:
                sendings.append(outgoing([each], DaveOpcode.PROPOSALS, proposals.append(renewed.values())))
        return sendings

    def proposals_for(self, user_id: int) -> dict[bytes, Proposal]:
        """Return the proposals that this founder may commit, by reference."""
        return {proposal.ref: proposal for each, proposal in self._adds.items() if each != user_id}

    def _add(self, arrival: ValidatedKeyPackage) -> Proposal:
        return proposals.add(self._sender, self._group_id, 0, arrival)

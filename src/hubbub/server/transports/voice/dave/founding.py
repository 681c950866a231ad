"""The time before there is a group: those who wait are proposed to each other, and one of them will commit."""

from collections.abc import Iterator

from hubbub.server.transports.voice.dave import proposals
from hubbub.server.transports.voice.dave.keys import ExternalSender
from hubbub.server.transports.voice.dave.messages import Op, Sending, sending
from hubbub.server.transports.voice.dave.proposals import Arrival, Proposal


class Founding:
    """The founders of a group. Each of them holds the Adds of all others."""

    def __init__(self, sender: ExternalSender, group_id: bytes) -> None:
        self._sender = sender
        self._group_id = group_id
        self._adds: dict[int, Proposal] = {}

    def __len__(self) -> int:
        """How many they are."""
        return len(self._adds)

    def __iter__(self) -> Iterator[int]:
        """Who they are."""
        return iter(self._adds)

    def __contains__(self, user_id: int) -> bool:
        """Whether this is one of them."""
        return user_id in self._adds

    def clear(self) -> None:
        """There are none any more."""
        self._adds = {}

    def propose(self, arrival: Arrival) -> list[Sending]:
        """Takes in another founder."""
        proposal = self._add(arrival)
        sendings: list[Sending] = []
        if self._adds:
            # Nobody is sent their own Add: for davey that is an error.
            sendings = [
                sending(self._adds, Op.PROPOSALS, proposals.append([proposal])),
                sending([arrival.user_id], Op.PROPOSALS, proposals.append(self._adds.values())),
            ]
        self._adds[arrival.user_id] = proposal
        return sendings

    def withdraw(self, user_id: int) -> list[Sending]:
        """Lets a founder go. All Adds are taken back and made anew: of what is left of them davey makes no welcome."""
        old = self._adds
        arrivals = [proposal.arrival for each, proposal in old.items() if each != user_id]
        self._adds = {arrival.user_id: self._add(arrival) for arrival in arrivals if arrival is not None}
        sendings: list[Sending] = []
        for each in self._adds:
            held = [proposal for other, proposal in old.items() if other != each]
            sendings.append(sending([each], Op.PROPOSALS, proposals.revoke(held)))
            fresh = self.besides(each)
            if fresh:
                sendings.append(sending([each], Op.PROPOSALS, proposals.append(fresh.values())))
        return sendings

    def besides(self, user_id: int) -> dict[bytes, Proposal]:
        """What this founder may commit, by reference."""
        return {proposal.ref: proposal for each, proposal in self._adds.items() if each != user_id}

    def _add(self, arrival: Arrival) -> Proposal:
        return proposals.add(self._sender, self._group_id, 0, arrival)

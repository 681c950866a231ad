"""Creation of a group: waiting clients are proposed to each other, and one of them commits."""

from collections.abc import Iterator

from hubbub.server.transports.voice.dave import proposals
from hubbub.server.transports.voice.dave.keys import ExternalSender
from hubbub.server.transports.voice.dave.messages import DaveOpcode, OutgoingMessage, build_message
from hubbub.server.transports.voice.dave.proposals import Proposal, ValidatedKeyPackage


class InitialGroup:
    """The founders of a group that does not exist yet. Each of them holds the Add proposals of all others."""

    def __init__(self, sender: ExternalSender, group_id: bytes) -> None:
        self._sender = sender
        self._group_id = group_id
        self._adds_by_user_id: dict[int, Proposal] = {}
        """The Add proposal of each founder by user ID."""

    def __len__(self) -> int:
        """Return the number of founders."""
        return len(self._adds_by_user_id)

    def __iter__(self) -> Iterator[int]:
        """Iterate over the user IDs of the founders."""
        return iter(self._adds_by_user_id)

    def __contains__(self, user_id: int) -> bool:
        """Return whether a user is a founder."""
        return user_id in self._adds_by_user_id

    def clear(self) -> None:
        """Remove all founders."""
        self._adds_by_user_id = {}

    def propose(self, key_package: ValidatedKeyPackage) -> list[OutgoingMessage]:
        """Add a founder, and propose it to the others and the others to it."""
        proposal = self._create_add(key_package)
        messages: list[OutgoingMessage] = []
        if self._adds_by_user_id:
            # A client must not receive its own Add: davey treats that as an error.
            messages = [
                build_message(self._adds_by_user_id, DaveOpcode.PROPOSALS, proposals.encode_append([proposal])),
                build_message(
                    [key_package.user_id], DaveOpcode.PROPOSALS, proposals.encode_append(self._adds_by_user_id.values())
                ),
            ]
        self._adds_by_user_id[key_package.user_id] = proposal
        return messages

    def remove(self, user_id: int) -> list[OutgoingMessage]:
        """Remove a founder.

        All Adds are revoked and proposed again: davey cannot build a Welcome from a partly revoked set.
        """
        old_adds = self._adds_by_user_id
        key_packages = [proposal.key_package for founder_id, proposal in old_adds.items() if founder_id != user_id]
        self._adds_by_user_id = {
            key_package.user_id: self._create_add(key_package)
            for key_package in key_packages
            if key_package is not None
        }
        messages: list[OutgoingMessage] = []
        for founder_id in self._adds_by_user_id:
            old_proposals = [proposal for other_id, proposal in old_adds.items() if other_id != founder_id]
            messages.append(build_message([founder_id], DaveOpcode.PROPOSALS, proposals.encode_revoke(old_proposals)))
            new_proposals = self.proposals_for(founder_id)
            if new_proposals:
                messages.append(
                    build_message([founder_id], DaveOpcode.PROPOSALS, proposals.encode_append(new_proposals.values()))
                )
        return messages

    def proposals_for(self, user_id: int) -> dict[bytes, Proposal]:
        """Return the proposals that this founder may commit, by reference."""
        return {
            proposal.ref: proposal for founder_id, proposal in self._adds_by_user_id.items() if founder_id != user_id
        }

    def _create_add(self, key_package: ValidatedKeyPackage) -> Proposal:
        return proposals.sign_add(self._sender, self._group_id, 0, key_package)

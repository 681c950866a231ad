"""Rock, paper, scissors for any number of players, with commitments so that no player can cheat.

Every player first sends the hash of their throw, and reveals the throw itself once all hashes have arrived.
"""

import hashlib
import secrets
from collections.abc import Iterable

BEATS = {"rock": "scissors", "scissors": "paper", "paper": "rock"}
"""The throw that each throw beats."""


def commit_to(throw: str) -> tuple[str, str]:
    """Return the commitment to a throw, and the text that reveals it later."""
    opening = f"{throw} {secrets.token_hex(8)}"
    return hashlib.sha256(opening.encode()).hexdigest(), opening


class Round:
    """One round: the commitments and the revealed throws."""

    def __init__(self) -> None:
        self.commitments: dict[int, str] = {}
        """Hashes of the throws, by player."""
        self.throws: dict[int, str] = {}
        """Revealed throws, by player."""

    def record_commitment(self, player: int, commitment: str) -> None:
        """Record a player's commitment; only the first one counts."""
        self.commitments.setdefault(player, commitment)

    def record_reveal(self, player: int, opening: str) -> None:
        """Record a revealed throw; it is ignored if it is invalid or does not match the player's commitment."""
        throw = opening.split(" ")[0]
        if throw in BEATS and hashlib.sha256(opening.encode()).hexdigest() == self.commitments.get(player):
            self.throws[player] = throw

    def has_all_commitments(self, players: Iterable[int]) -> bool:
        """Return whether at least two players have committed to a throw, and all of `players` have."""
        return len(self.commitments) > 1 and set(players) <= set(self.commitments)

    def is_over(self) -> bool:
        """Return whether all players who committed, at least two, have revealed their throws."""
        return len(self.throws) > 1 and set(self.throws) == set(self.commitments)

    def winners(self) -> list[int]:
        """Return the winners; empty if all throws were equal, or if all three kinds were thrown."""
        different_throws = set(self.throws.values())
        winning_throws = [throw for throw in different_throws if BEATS[throw] in different_throws]
        return [player for player, throw in self.throws.items() if [throw] == winning_throws]

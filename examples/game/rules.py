"""Rock, paper, scissors for any number of players, none of whom can peek.

Everybody first says the hash of their throw, and shows the throw itself once all hashes are there.
"""

import hashlib
import secrets
from collections.abc import Iterable

BEATS = {"rock": "scissors", "scissors": "paper", "paper": "rock"}


def seal(throw: str) -> tuple[str, str]:
    """What is said first, and what shows it later."""
    opening = f"{throw} {secrets.token_hex(8)}"
    return hashlib.sha256(opening.encode()).hexdigest(), opening


class Round:
    """One round: who has thrown, and what."""

    def __init__(self) -> None:
        self.sealed: dict[int, str] = {}
        self.throws: dict[int, str] = {}

    def sealed_by(self, player: int, seal: str) -> None:
        """Somebody has thrown; the first throw counts."""
        self.sealed.setdefault(player, seal)

    def opened_by(self, player: int, opening: str) -> None:
        """Somebody shows their throw; one that is not what they sealed is none."""
        throw = opening.split(" ")[0]
        if throw in BEATS and hashlib.sha256(opening.encode()).hexdigest() == self.sealed.get(player):
            self.throws[player] = throw

    def all_thrown(self, players: Iterable[int]) -> bool:
        """Whether nobody can wait for the others' throws any more."""
        return len(self.sealed) > 1 and set(players) <= set(self.sealed)

    def is_over(self) -> bool:
        """Whether everybody who threw has shown it."""
        return len(self.throws) > 1 and set(self.throws) == set(self.sealed)

    def winners(self) -> list[int]:
        """Who won; nobody where all threw the same, or all three were thrown."""
        thrown = set(self.throws.values())
        winning = [throw for throw in thrown if BEATS[throw] in thrown]
        return [player for player, throw in self.throws.items() if [throw] == winning]

"""Rock, paper, scissors for any number of players, with commitments so that no player can cheat.

Every player first sends the hash of their throw, and reveals the throw itself once all hashes have arrived.
"""

import hashlib
import secrets
from collections.abc import Iterable

BEATS = {"rock": "scissors", "scissors": "paper", "paper": "rock"}


def seal(throw: str) -> tuple[str, str]:
    """Return the commitment to a throw, and the text that reveals it later."""
    opening = f"{throw} {secrets.token_hex(8)}"
    return hashlib.sha256(opening.encode()).hexdigest(), opening


class Round:
    """One round: the commitments and the revealed throws."""

    def __init__(self) -> None:
        self.sealed: dict[int, str] = {}
        self.throws: dict[int, str] = {}

    def sealed_by(self, player: int, seal: str) -> None:
        """Record a player's commitment; only the first one counts."""
        self.sealed.setdefault(player, seal)

    def opened_by(self, player: int, opening: str) -> None:
        """Record a revealed throw; ignored if it does not match the player's commitment."""
        throw = opening.split(" ")[0]
        if throw in BEATS and hashlib.sha256(opening.encode()).hexdigest() == self.sealed.get(player):
            self.throws[player] = throw

    def all_thrown(self, players: Iterable[int]) -> bool:
        """Return whether all players have committed to a throw."""
        return len(self.sealed) > 1 and set(players) <= set(self.sealed)

    def is_over(self) -> bool:
        """Return whether all players who committed have revealed their throws."""
        return len(self.throws) > 1 and set(self.throws) == set(self.sealed)

    def winners(self) -> list[int]:
        """Return the winners; empty if all throws were equal, or if all three kinds were thrown."""
        thrown = set(self.throws.values())
        winning = [throw for throw in thrown if BEATS[throw] in thrown]
        return [player for player, throw in self.throws.items() if [throw] == winning]

"""Search, suspension, deletion and transfer of guilds by operators, for the slice `guild_administration`."""

from hubbub.server.places.guilds.actions import delete, suspend, unsuspend
from hubbub.server.places.guilds.rules import require_owner_candidate
from hubbub.server.places.guilds.signals import GuildSuspended
from hubbub.server.places.guilds.store import SuspensionRow, find_suspension, search

__all__ = [
    "GuildSuspended",
    "SuspensionRow",
    "delete",
    "find_suspension",
    "require_owner_candidate",
    "search",
    "suspend",
    "unsuspend",
]

"""Ports of the applications slice: the check before a deletion, and the numbers of guilds and users that a bot reaches."""

from hubbub.server.core.call import Call
from hubbub.server.core.ports import port


@port
def check_deletion(call: Call, application_id: int) -> None:
    """Raise an error if an application may not be deleted yet."""


@port
def count_guilds(call: Call, bot_id: int) -> int:
    """Return the number of guilds a bot is in."""


@port
def count_reachable_users(call: Call, bot_id: int) -> int:
    """Return the number of distinct users in a bot's guilds."""

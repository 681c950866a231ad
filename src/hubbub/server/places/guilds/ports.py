"""Ports of the guilds slice."""

from collections.abc import Sequence

from hubbub.server.core.call import Call
from hubbub.server.core.ports import port


@port
def check_names(call: Call, names: Sequence[str]) -> None:
    """Raise if the caller may not give these names to a guild, a channel or a stage."""


@port
def remove_member(call: Call, guild_id: int, user_id: int) -> bool:
    """Remove a member from a guild; return False if the user was not a member."""

"""Ports of the guilds slice: name checks, membership, the channels of a new guild, and deletion of a guild's rows."""

from collections.abc import Sequence

from hubbub.server.core.call import Call
from hubbub.server.core.ports import multi_port, port
from hubbub.server.places.guilds.store import NewChannel, NewOverwrite


@port
def check_names(call: Call, names: Sequence[str]) -> None:
    """Raise if the caller may not use one of `names` as the name or description of a guild, a channel or a stage."""


@port
def remove_member(call: Call, guild_id: int, user_id: int) -> bool:
    """Remove a member from a guild; return False if the user was not a member."""


@port
def insert_channels(
    call: Call, guild_id: int, channels: Sequence[NewChannel], overwrites: Sequence[NewOverwrite]
) -> None:
    """Insert the initial channels of a new guild and their overwrites."""


@port
def insert_owner(call: Call, guild_id: int, user_id: int) -> None:
    """Insert the owner of a new guild as its first member. The member count already includes the owner."""


@multi_port
def delete_guild_contents(call: Call, guild_id: int) -> None:
    """Delete the rows of a guild that remain after the listeners of `signals.GuildDeleting` ran."""

"""Signals that the roles slice sends inside the transaction."""

import msgspec

from hubbub.protocol.ids import GuildId, RoleId


class RoleDeleted(msgspec.Struct, frozen=True):
    """A role was deleted. Listeners delete the data that refers to it, for example permission overwrites."""

    guild_id: GuildId
    role_id: RoleId

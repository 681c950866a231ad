"""Signals that the roles slice raises inside the transaction."""

import msgspec

from hubbub.protocol.ids import GuildId, RoleId


class RoleDeleted(msgspec.Struct, frozen=True):
    """Raised after a role was deleted; listeners delete what refers to it, for example permission overwrites."""

    guild_id: GuildId
    role_id: RoleId

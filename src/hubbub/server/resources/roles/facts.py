"""What the roles slice tells upper floors, inside the transaction."""

import msgspec

from hubbub.protocol.ids import GuildId, RoleId


class RoleDeleted(msgspec.Struct, frozen=True):
    """A role is gone: overwrites and invites that name it go too."""

    guild_id: GuildId
    role_id: RoleId

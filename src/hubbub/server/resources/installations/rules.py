"""Where a person may install applications, and with what permissions."""

from hubbub.protocol import errors
from hubbub.protocol.ids import GuildId
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources.oauth2 import GrantableGuild
from hubbub.server.core import access
from hubbub.server.core.call import Call
from hubbub.server.resources import guilds, members, roles, users
from hubbub.server.resources.oauth2 import GuildsAsked, InstallationAsked


def offer_guilds(call: Call, asked: GuildsAsked) -> None:
    """The guilds that the caller may install applications in."""
    rows = list(guilds.find_many(call.tx, guilds.ids_of_user(call.tx, call.user_id)).values())
    held = roles.permissions_of(call.tx, call.user_id, [(row.id, row.owner_id) for row in rows])
    asked.guilds = [
        GrantableGuild(
            id=GuildId(row.id),
            name=row.name,
            icon=row.icon,
            mfa_level=row.mfa_level,
            permissions=Permissions(held[row.id]),
        )
        for row in sorted(rows, key=lambda row: (row.name.lower(), row.id))
        if held[row.id] & (Permissions.MANAGE_GUILD | Permissions.ADMINISTRATOR)
    ]


def require_installable(call: Call, asked: InstallationAsked) -> None:
    """Raise unless the caller may bring this application here; the permissions become what they can give."""
    access.require_guild(call, asked.guild_id, Permissions.MANAGE_GUILD)
    standing = access.guild(call, asked.guild_id)
    if not standing.can(Permissions.ADMINISTRATOR):
        # Nobody gives what they do not have, or a bot would be a way to it.
        asked.permissions &= standing.allowed
    if standing.mfa_level and asked.permissions & Permissions.ELEVATED:
        owner = users.find(call.tx, asked.application.owner_id)
        if owner is None or not owner.mfa_enabled:
            raise errors.TWO_FACTOR_REQUIRED()
    bot_id = asked.application.bot_id
    if "bot" in asked.scopes and bot_id is not None and not guilds.is_member(call.tx, asked.guild_id, bot_id):
        members.require_can_join(call, asked.guild_id, bot_id)

"""Rules for the guilds in which a user may install applications, and for the permissions that the user can grant."""

from hubbub.protocol import errors
from hubbub.protocol.enums import Scope
from hubbub.protocol.ids import GuildId
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources.oauth2 import GrantableGuild
from hubbub.server.core.call import Call
from hubbub.server.identity import users
from hubbub.server.identity.oauth2.installations import InstallationRequest
from hubbub.server.places import guilds, members, roles
from hubbub.server.places.standing import access


def list_guilds_to_install_in(call: Call) -> list[GrantableGuild]:
    """Return the guilds in which the caller has MANAGE_GUILD and so may install applications, by name."""
    rows = list(guilds.find_many(call.tx, guilds.membership.list_user_guild_ids(call.tx, call.user_id)).values())
    permissions = roles.find_permissions(call.tx, call.user_id, [(row.id, row.owner_id) for row in rows])
    return [
        GrantableGuild(
            id=GuildId(row.id),
            name=row.name,
            icon=row.icon,
            mfa_level=row.mfa_level,
            permissions=Permissions(permissions[row.id]),
        )
        for row in sorted(rows, key=lambda row: (row.name.lower(), row.id))
        if permissions[row.id] & (Permissions.MANAGE_GUILD | Permissions.ADMINISTRATOR)
    ]


def require_grantable_permissions(call: Call, request: InstallationRequest) -> int:
    """Return the bits of the requested permissions that the caller can grant.

    Raise an error unless the caller may install the application in the guild."""
    access.require_guild(call, request.guild_id, Permissions.MANAGE_GUILD)
    standing = access.get_guild_standing(call, request.guild_id)
    permissions = request.permissions
    if not standing.can(Permissions.ADMINISTRATOR):
        # A caller cannot grant permissions they lack; otherwise a bot would allow privilege escalation.
        permissions &= standing.allowed
    # spec/webhooks-and-interactions.md#8.4: the owner of the application needs two-factor authentication, not the caller.
    if standing.mfa_level and permissions & Permissions.ELEVATED:
        owner = users.find(call.tx, request.application.owner_id)
        if owner is None or not owner.mfa_enabled:
            raise errors.TWO_FACTOR_REQUIRED()
    bot_id = request.application.bot_id
    if (
        Scope.BOT in request.scopes
        and bot_id is not None
        and not guilds.membership.is_member(call.tx, request.guild_id, bot_id)
    ):
        members.membership.require_can_join(call, request.guild_id, bot_id)
    return permissions

"""Rules for using emojis, for the roles they are limited to, and for managing application emojis."""

from collections.abc import Iterable

from msgspec import UnsetType

from hubbub.protocol import changes, codec, errors
from hubbub.protocol.enums import TeamRole
from hubbub.protocol.ids import ApplicationId, EmojiId, GuildId, RoleId
from hubbub.protocol.permissions import Permissions
from hubbub.server.core.call import Call
from hubbub.server.core.denials import Denial, PermissionDenied
from hubbub.server.core.store import Tx
from hubbub.server.identity import applications
from hubbub.server.places import roles
from hubbub.server.places.expressions.kinds import EMOJIS
from hubbub.server.places.expressions.store import EmojiRow
from hubbub.server.places.standing import ChannelAccess, access


def require_usable_emoji(call: Call, channel_access: ChannelAccess, emoji_id: int) -> EmojiRow:
    """Return the emoji if the caller may use it in the channel.

    Raise UNKNOWN_EMOJI for an unknown emoji, an emoji of another application, or an emoji of a guild that is suspended or
    that the caller is not in. Raise MISSING_PERMISSIONS if the caller may not use the emoji. An application can use its own
    emojis everywhere. A guild emoji may be limited to roles; an emoji of another guild requires USE_EXTERNAL_EMOJIS."""
    row = EMOJIS.table.find(call.tx, emoji_id)
    if row is None:
        raise errors.UNKNOWN_EMOJI()
    if row.guild_id is None:
        if not call.actor.is_bot or call.actor.application_id != row.application_id:
            raise errors.UNKNOWN_EMOJI()
        return row
    if channel_access.guild is not None and channel_access.guild.guild_id == row.guild_id:
        member_role_ids: Iterable[int] = channel_access.guild.permissions_by_role
    else:
        # The standing is None for a user who is not a member, and in a suspended guild.
        standing = access.find_guild_standing(call.tx, call.now_ms, row.guild_id, call.user_id)
        if standing is None:
            raise errors.UNKNOWN_EMOJI()
        channel_access.require(Permissions.USE_EXTERNAL_EMOJIS)
        member_role_ids = standing.permissions_by_role
    allowed_role_ids = row.role_ids
    if allowed_role_ids and not set(member_role_ids) & set(allowed_role_ids):
        raise PermissionDenied(Denial(reason="{caller} has none of the roles to which the emoji is limited."))
    return row


def resolve_roles_json(tx: Tx, guild_id: GuildId, requested_ids: list[RoleId | None] | None | UnsetType) -> str:
    """Return the role IDs of a request body (`requested_ids`) as a JSON list, without duplicates.

    Raise UNKNOWN_ROLE for an ID that is not a role of the guild. The ID of @everyone is left out; an empty list means that
    all members may use the emoji."""
    role_ids = sorted({role_id for role_id in requested_ids or () if role_id is not None and int(role_id) != guild_id})
    if len(roles.find_many(tx, guild_id, role_ids)) < len(role_ids):
        raise errors.UNKNOWN_ROLE()
    return codec.encode(role_ids).decode()


def require_application_manager(call: Call, application_id: int, role: TeamRole = TeamRole.DEVELOPER) -> None:
    """Require a caller who manages the application, with `role` in its team unless the caller is its owner.

    Before application emojis were introduced, raise 404."""
    if not changes.APPLICATION_EMOJIS.is_active(call.now_ms):
        raise errors.NOT_FOUND()
    applications.access.require_manager(call, application_id, role)


def require_application_emoji(call: Call, application_id: ApplicationId, emoji_id: EmojiId) -> EmojiRow:
    """Return an emoji of an application that the caller manages, or raise an error."""
    require_application_manager(call, application_id)
    row = EMOJIS.table.find(call.tx, emoji_id)
    if row is None or row.application_id != application_id:
        raise errors.UNKNOWN_EMOJI()
    return row

"""Rules for using emojis, and for the roles they are limited to."""

from collections.abc import Iterable

from msgspec import UnsetType

from hubbub.protocol import changes, codec, errors
from hubbub.protocol.enums import GuildFeature
from hubbub.protocol.ids import GuildId, RoleId
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import emojis as wire
from hubbub.server.core.call import Call
from hubbub.server.core.store import Tx
from hubbub.server.identity import applications
from hubbub.server.places import expressions, roles
from hubbub.server.places.emojis import store
from hubbub.server.places.emojis.store import EmojiRow
from hubbub.server.places.standing import ChannelAccess, access


def require_use(call: Call, channel_access: ChannelAccess, emoji_id: int) -> EmojiRow:
    """Return the emoji if the caller may use it in this channel.

    Raises UNKNOWN_EMOJI if the caller cannot know it, MISSING_PERMISSIONS if they may not use it. An application can
    use its own emojis everywhere. A guild emoji may be limited to roles; one of another guild requires
    USE_EXTERNAL_EMOJIS."""
    row = store.find(call.tx, emoji_id)
    if row is None:
        raise errors.UNKNOWN_EMOJI()
    if row.guild_id is None:
        if not call.actor.is_bot or call.actor.application_id != row.application_id:
            raise errors.UNKNOWN_EMOJI()
        return row
    if channel_access.guild is not None and channel_access.guild.guild_id == row.guild_id:
        member_roles: Iterable[int] = channel_access.guild.roles
    else:
        if not store.is_member(call.tx, row.guild_id, call.user_id):
            raise errors.UNKNOWN_EMOJI()
        channel_access.require(Permissions.USE_EXTERNAL_EMOJIS)
        member_roles = access.guild(call, row.guild_id).roles
    allowed_roles = row.role_ids
    if allowed_roles and not set(member_roles) & set(allowed_roles):
        raise errors.MISSING_PERMISSIONS()
    return row


def require_slot(tx: Tx, guild_id: GuildId, *, animated: bool) -> None:
    """Reject an emoji if the guild has no free slot."""
    limit = expressions.slots(
        tx, guild_id, wire.EMOJIS_MAX_BY_TIER, GuildFeature.MORE_EMOJI, wire.MORE_EMOJI_EMOJIS_MAX
    )
    if store.count_of_guild(tx, guild_id, animated=animated) >= limit:
        raise errors.MAX_ANIMATED_EMOJIS() if animated else errors.MAX_EMOJIS()


def require_roles(tx: Tx, guild_id: GuildId, wanted: list[RoleId | None] | None | UnsetType) -> str:
    """Return the stored form of the roles in a request body.

    Raises UNKNOWN_ROLE for a role of another guild. @everyone means no limitation, like an empty list."""
    ids = sorted({role for role in wanted or () if role is not None and int(role) != guild_id})
    if len(roles.find_many(tx, guild_id, ids)) < len(ids):
        raise errors.UNKNOWN_ROLE()
    return codec.encode(ids).decode()


def require_application(call: Call, application_id: int) -> None:
    """Require a caller who manages the application. Before application emojis were introduced, raise 404."""
    if not changes.APPLICATION_EMOJIS.is_active(call.now):
        raise errors.NOT_FOUND()
    applications.require_manager(call, application_id)

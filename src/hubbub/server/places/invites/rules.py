"""Rules for viewing, creating, accepting and revoking invites, and for their target users."""

from typing import Final

from msgspec import UNSET

from hubbub.protocol import codec, errors
from hubbub.protocol.enums import THREAD_TYPES, ChannelType, GuildFeature, InviteTargetType
from hubbub.protocol.flags import ApplicationFlags
from hubbub.protocol.ids import RoleId, parse_wide
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import invites as wire
from hubbub.protocol.resources.guilds import IncidentsData
from hubbub.server.core.call import Call
from hubbub.server.core.denials import Denial, PermissionDenied
from hubbub.server.identity import applications
from hubbub.server.places import guilds, vanity_urls, voice_states
from hubbub.server.places.invites import store
from hubbub.server.places.invites.store import InviteRow
from hubbub.server.places.standing import ChannelAccess, ChannelRef, access

_TYPES_WITHOUT_INVITES: Final = THREAD_TYPES | {ChannelType.GUILD_CATEGORY}
_TARGET_TYPES: Final = (InviteTargetType.STREAM, InviteTargetType.EMBEDDED_APPLICATION)
"""Target types that a client can request."""


def require_channel_type(channel: ChannelRef) -> None:
    """Raise unless the channel can have invites; DMs, categories and threads cannot."""
    if channel.type == ChannelType.DM:
        raise errors.CANNOT_EXECUTE_ON_DM()
    if channel.type in _TYPES_WITHOUT_INVITES:
        raise errors.WRONG_CHANNEL_TYPE()


def parse_role_ids(body: wire.CreateChannelInvite) -> list[RoleId]:
    """Return the distinct role IDs of a request body, in ascending order. The body has a list or a comma-separated text.

    Raise a form error if the text is invalid."""
    requested_ids = body.role_ids or []
    if isinstance(requested_ids, str):
        try:
            requested_ids = [
                parse_wide(RoleId, role_id_text.strip())
                for role_id_text in requested_ids.split(",")
                if role_id_text.strip()
            ]
        except ValueError as error:
            raise errors.invalid("role_ids", "NUMBER_TYPE_COERCE", str(error)) from None
        if len(requested_ids) > wire.INVITE_ROLES_MAX:
            raise errors.invalid("role_ids", *errors.bad_length(0, wire.INVITE_ROLES_MAX))
    return sorted(set(requested_ids))


def require_valid_target(call: Call, channel: ChannelRef, body: wire.CreateChannelInvite) -> None:
    """Raise a form error if the invite's target is invalid. An invite without a target is valid.

    A target is a user who streams in the channel or, for a voice or stage channel, an embedded application."""
    target_type = body.target_type or None
    form = errors.FormErrors()
    if target_type is None:
        if body.target_user_id or body.target_application_id:
            form.add("target_type", *errors.required())
    elif target_type not in _TARGET_TYPES:
        form.add("target_type", *errors.choices([int(allowed_type) for allowed_type in _TARGET_TYPES]))
    elif target_type == InviteTargetType.STREAM:
        voice_state = voice_states.find(call.tx, channel.guild_id or 0, body.target_user_id or 0)
        if not body.target_user_id:
            form.add("target_user_id", *errors.required())
        elif voice_state is None or voice_state.channel_id != channel.id or not voice_state.self_stream:
            form.add("target_user_id", "GUILD_INVITE_INVALID_TARGET_USER_ID", "Invalid target user.")
    elif not body.target_application_id:
        form.add("target_application_id", *errors.required())
    else:
        application = applications.find(call.tx, body.target_application_id)
        if application is None or not application.flags & ApplicationFlags.EMBEDDED or not channel.is_voice:
            form.add("target_application_id", "GUILD_INVITE_INVALID_APPLICATION", "Invalid target application.")
    form.raise_if_any()


def require_group_expiry(body: wire.CreateChannelInvite) -> None:
    """Raise if `max_age` of an invite to a group is 0, because such an invite must expire."""
    if body.max_age is not UNSET and body.max_age is not None and body.max_age < 1:
        raise errors.invalid("max_age", *errors.number_min(1))


def find_invite(call: Call, code: str) -> InviteRow | None:
    """Return the invite of a code, or None.

    A vanity code yields a synthetic invite that does not expire."""
    row = store.find(call.tx, code)
    vanity_url = vanity_urls.find(call.tx, code) if row is None else None
    if vanity_url is None:
        return row
    channel_id = store.find_vanity_channel(call.tx, vanity_url.guild_id)
    if channel_id is None:
        return None
    return InviteRow(
        code=vanity_url.code,
        guild_id=vanity_url.guild_id,
        channel_id=channel_id,
        inviter_id=None,
        created_ms=0,
        expires_ms=None,
        max_age=0,
        max_uses=0,
        uses=vanity_url.uses,
    )


def find_channel_access(call: Call, row: InviteRow) -> ChannelAccess | None:
    """Return the caller's access to the invite's channel.

    Return None for a group invite, a suspended guild, a deleted channel, an anonymous caller, or a caller who is not a
    member of the guild."""
    actor = call.actor_or_none
    if actor is None or row.guild_id is None:
        return None
    standing = access.find_guild_standing(call.tx, call.now_ms, row.guild_id, actor.user_id)
    channel = access.find_channel(call.tx, row.channel_id)
    if standing is None or channel is None:
        return None
    permissions = access.permissions_in(call.tx, standing, channel.id)
    return access.build_channel_standing(call.tx, standing, channel, permissions)


def has_guild_permission(channel_access: ChannelAccess | None, bits: int) -> bool:
    """Return whether the caller has any of the permissions `bits` in the guild."""
    return channel_access is not None and channel_access.guild is not None and bool(channel_access.guild.allowed & bits)


def can_manage(channel_access: ChannelAccess | None) -> bool:
    """Return whether the caller may revoke the channel's invites."""
    return has_guild_permission(channel_access, Permissions.MANAGE_GUILD) or (
        channel_access is not None and channel_access.can(Permissions.MANAGE_CHANNELS)
    )


def can_read_targets(call: Call, row: InviteRow, channel_access: ChannelAccess | None) -> bool:
    """Return whether the caller may read an invite's target users.

    The caller must be a member of the guild, and the inviter or a member with MANAGE_GUILD or VIEW_AUDIT_LOG."""
    if channel_access is None:
        return False
    return row.inviter_id == call.user_id or has_guild_permission(
        channel_access, Permissions.MANAGE_GUILD | Permissions.VIEW_AUDIT_LOG
    )


def can_change_targets(call: Call, row: InviteRow, channel_access: ChannelAccess | None) -> bool:
    """Return whether the caller may change an invite's target users.

    The caller must be a member of the guild, and the inviter or a member with MANAGE_GUILD."""
    return channel_access is not None and (
        row.inviter_id == call.user_id or has_guild_permission(channel_access, Permissions.MANAGE_GUILD)
    )


def require_target_reader(call: Call, row: InviteRow, channel_access: ChannelAccess | None) -> None:
    """Raise unless the caller may read an invite's target users."""
    if not can_read_targets(call, row, channel_access):
        raise PermissionDenied(_build_target_denial(row, Permissions.VIEW_AUDIT_LOG, Permissions.MANAGE_GUILD))
    if row.inviter_id != call.user_id and not has_guild_permission(channel_access, Permissions.VIEW_AUDIT_LOG):
        access.require_guild(call, row.guild_id or 0, Permissions.MANAGE_GUILD)


def require_target_changer(call: Call, row: InviteRow, channel_access: ChannelAccess | None) -> None:
    """Raise unless the caller may change an invite's target users."""
    if not can_change_targets(call, row, channel_access):
        raise PermissionDenied(_build_target_denial(row, Permissions.MANAGE_GUILD))
    if row.inviter_id != call.user_id:
        access.require_guild(call, row.guild_id or 0, Permissions.MANAGE_GUILD)


def _build_target_denial(row: InviteRow, *sufficient_permissions: int) -> Denial:
    return Denial(
        guild_id=row.guild_id,
        missing_permissions=sufficient_permissions,
        action="use the target users of another inviter",
    )


def require_visible(call: Call, row: InviteRow) -> ChannelAccess | None:
    """Raise UNKNOWN_INVITE unless the caller may see the invite; return the caller's access to its channel, or None.

    An invite with target users is visible to these users and to members who may read its target users or revoke it
    (spec/http.md#3.6)."""
    channel_access = find_channel_access(call, row)
    if row.targets is None:
        return channel_access
    actor = call.actor_or_none
    if actor is not None and (
        store.is_target(call.tx, row.code, actor.user_id)
        or can_read_targets(call, row, channel_access)
        or can_manage(channel_access)
    ):
        return channel_access
    raise errors.UNKNOWN_INVITE()


def require_manager(call: Call, row: InviteRow, channel_access: ChannelAccess | None) -> None:
    """Raise unless the caller may revoke the invite.

    An invite to a group can be revoked by its inviter and by the owner of the group."""
    if row.guild_id is None:
        channel = access.find_channel(call.tx, row.channel_id)
        if call.user_id not in (row.inviter_id, channel and channel.owner_id):
            raise PermissionDenied(Denial(reason="{caller} neither created the invite nor owns the group."))
    elif not can_manage(channel_access):
        raise PermissionDenied(
            Denial(
                guild_id=row.guild_id,
                channel_id=row.channel_id,
                missing_permissions=(Permissions.MANAGE_CHANNELS, Permissions.MANAGE_GUILD),
            )
        )
    elif channel_access is not None and channel_access.can(Permissions.MANAGE_CHANNELS):
        access.require_channel(call, row.channel_id, Permissions.MANAGE_CHANNELS)
    else:
        access.require_guild(call, row.guild_id, Permissions.MANAGE_GUILD)


def require_invites_enabled(call: Call, guild_id: int) -> None:
    """Raise while invites to the guild are paused or disabled, or if the guild does not exist."""
    row = guilds.find(call.tx, guild_id)
    if row is None:
        raise errors.UNKNOWN_INVITE()
    incidents = None if row.incidents is None else codec.decode(row.incidents, IncidentsData)
    disabled_until = None if incidents is None else incidents.invites_disabled_until
    # Both texts have the fixed format of `codec.timestamp`, so comparing them compares the times.
    is_paused = disabled_until is not None and disabled_until > codec.timestamp(call.now_ms)
    if is_paused or GuildFeature.INVITES_DISABLED in row.feature_names:
        raise errors.FEATURE_DISABLED(message="Invites to this server are paused")

"""Rules for joining guilds, and for listing, changing and pruning members."""

from collections.abc import Collection, Iterable
from typing import Final

from hubbub.protocol import changes, errors
from hubbub.protocol.enums import GuildFeature
from hubbub.protocol.flags import ApplicationFlags, MemberFlags
from hubbub.protocol.ids import RoleId, parse_wide
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import members as wire
from hubbub.protocol.resources.guilds import MEMBERS_MAX
from hubbub.server.core.call import Call
from hubbub.server.core.clock import DAY_MS
from hubbub.server.core.denials import Denial, PermissionDenied
from hubbub.server.identity import applications, users
from hubbub.server.places import guilds, roles
from hubbub.server.places.members import store
from hubbub.server.places.roles import RoleRow
from hubbub.server.places.standing import GuildAccess, access

_MEMBERS_INTENT_FLAGS: Final = ApplicationFlags.GATEWAY_GUILD_MEMBERS | ApplicationFlags.GATEWAY_GUILD_MEMBERS_LIMITED
"""Flags of applications that may use the privileged intent GUILD_MEMBERS; one is enough."""
_MODERATION_PERMISSIONS: Final = Permissions.MODERATE_MEMBERS | Permissions.KICK_MEMBERS | Permissions.BAN_MEMBERS


def require_can_list(call: Call) -> None:
    """Raise unless the caller may list all members; bots need the members intent (spec/http.md#3.5).

    Users may list all members, because their client shows the list (decisions/0014)."""
    if call.actor.is_bot and not call.actor.application_flags & _MEMBERS_INTENT_FLAGS:
        raise errors.MISSING_ACCESS()


def require_can_join(call: Call, guild_id: int, user_id: int) -> None:
    """Raise unless a user who is not in the guild may join it."""
    user = users.find(call.tx, user_id)
    if user is None:
        raise errors.UNKNOWN_USER()
    if store.is_banned(call.tx, guild_id, user_id):
        raise errors.USER_BANNED()
    if not user.bot and guilds.membership.count_user_guilds(call.tx, user_id) >= guilds.membership.guilds_max(
        call, user_id
    ):
        raise errors.MAX_GUILDS()
    guild = guilds.find(call.tx, guild_id)
    if guild is None:
        raise errors.UNKNOWN_GUILD()
    access.require_unsuspended(call, guild_id, guild.suspension_reason)
    if guild.member_count >= MEMBERS_MAX:
        raise errors.MAX_MEMBERS()


def must_pass_verification(call: Call, guild_id: int, flags: int) -> bool:
    """Return whether a user who joins with the member flags `flags` must complete the guild's membership form first."""
    guild = guilds.find(call.tx, guild_id)
    if guild is None or flags & MemberFlags.BYPASSES_VERIFICATION:
        return False
    return GuildFeature.MEMBER_VERIFICATION_GATE_ENABLED in guild.feature_names


def has_onboarding(call: Call, guild_id: int) -> bool:
    """Return whether users who join the guild go through onboarding."""
    guild = guilds.find(call.tx, guild_id)
    return guild is not None and GuildFeature.GUILD_ONBOARDING in guild.feature_names


def require_consent(call: Call, user_id: int, token: str) -> None:
    """Raise unless `token` is an access token by which the user lets the calling application add them to guilds."""
    actor = applications.access.find_actor(call, token)
    if actor is None:
        raise errors.INVALID_OAUTH2_ACCESS_TOKEN()
    if actor.kind != "bearer" or actor.user_id != user_id or actor.application_id != call.actor.application_id:
        raise errors.INVALID_OAUTH2_ACCESS_TOKEN()
    if "guilds.join" not in actor.scopes:
        raise errors.MISSING_OAUTH2_SCOPE()


def require_outranks(standing: GuildAccess, target_standing: GuildAccess) -> None:
    """Raise unless the caller (`standing`) outranks the member with `target_standing`."""
    if not standing.outranks(target_standing):
        raise PermissionDenied(Denial(guild_id=standing.guild_id, user_id=target_standing.user_id))


def require_can_change_own_nick(standing: GuildAccess, flags: int) -> None:
    """Raise unless the caller, who has the member flags `flags`, may change their own nickname, as for
    PATCH /guilds/{guild_id}/members/@me.

    A member that AutoMod quarantined for their username needs CHANGE_NICKNAME only in the permissions of their roles,
    because the quarantine suspends the effective permission."""
    quarantine_flag = flags & MemberFlags.AUTOMOD_QUARANTINED_USERNAME
    if not quarantine_flag or not standing.permissions & Permissions.CHANGE_NICKNAME:
        standing.require(Permissions.CHANGE_NICKNAME)


def require_can_change_nick(call: Call, standing: GuildAccess, target_standing: GuildAccess) -> None:
    """Raise unless the caller (`standing`) may change the nickname of the member with `target_standing`,
    as for PATCH /guilds/{guild_id}/members/{user_id}.

    A member's own nickname needs CHANGE_NICKNAME or MANAGE_NICKNAMES."""
    if target_standing.user_id == standing.user_id:
        if not standing.can(Permissions.CHANGE_NICKNAME):
            standing.require(Permissions.MANAGE_NICKNAMES)
        return
    access.require_guild(call, standing.guild_id, Permissions.MANAGE_NICKNAMES)
    require_outranks(standing, target_standing)


def require_assignable_roles(
    call: Call,
    standing: GuildAccess,
    role_ids: Iterable[int],
    *,
    target_id: int | None = None,
    held_role_ids: Collection[int] = (),
) -> list[RoleRow]:
    """Return the roles `role_ids`; raise unless the caller may add and remove them (spec/http.md#2.3).

    `target_id` is the ID of the member, or None for the members who will join with an invite. `held_role_ids` are the
    roles that the member has."""
    distinct_ids = list(dict.fromkeys(role_ids))
    if not distinct_ids:
        return []
    access.require_guild(call, standing.guild_id, Permissions.MANAGE_ROLES)
    rows_by_id = roles.find_many(call.tx, standing.guild_id, distinct_ids)
    if len(rows_by_id) < len(distinct_ids):
        raise errors.UNKNOWN_ROLE()
    rows = list(rows_by_id.values())
    protected_row = next((row for row in rows if not standing.outranks_role(row.rank)), None)
    if protected_row is not None:
        given_action = "give to new members" if target_id is None else "give to {user}"
        raise PermissionDenied(
            Denial(
                guild_id=standing.guild_id,
                role_id=protected_row.id,
                user_id=target_id,
                action="remove from {user}" if protected_row.id in held_role_ids else given_action,
            )
        )
    if any(row.managed or row.is_everyone for row in rows):
        raise errors.INVALID_ROLE()
    return rows


def require_can_time_out(call: Call, standing: GuildAccess, target_standing: GuildAccess, until_ms: int) -> None:
    """Raise unless the caller (`standing`) may time out the member with `target_standing` until `until_ms`.

    `until_ms` is in Unix milliseconds; 0 ends a timeout."""
    access.require_guild(call, standing.guild_id, Permissions.MODERATE_MEMBERS)
    require_outranks(standing, target_standing)
    # spec/http.md#2.3: the owner and administrators cannot be timed out; ending an earlier timeout is allowed.
    if until_ms and target_standing.permissions & Permissions.ADMINISTRATOR:
        raise PermissionDenied(
            Denial(
                guild_id=standing.guild_id,
                user_id=target_standing.user_id,
                reason="{user} is an administrator, and administrators cannot be timed out.",
            )
        )
    if until_ms > call.now_ms + wire.TIMEOUT_DAYS_MAX * DAY_MS:
        raise errors.invalid(
            "communication_disabled_until",
            "MEMBER_TIMEOUT_TOO_LONG",
            f"Must be at most {wire.TIMEOUT_DAYS_MAX} days in the future.",
        )


def require_can_edit_flags(call: Call, standing: GuildAccess) -> None:
    """Raise unless the caller may change a member's flags.

    MANAGE_GUILD, MANAGE_ROLES, or all three moderation permissions are needed (spec/http.md#3.5)."""
    if not changes.MEMBER_FLAGS_PERMISSIONS.is_active(call.now_ms):
        # spec/dated-changes.md#3: the earlier rule is unknown; MODERATE_MEMBERS is assumed (decisions/0035).
        standing.require(Permissions.MODERATE_MEMBERS)
        return
    sufficient_permissions = (Permissions.MANAGE_GUILD, Permissions.MANAGE_ROLES, _MODERATION_PERMISSIONS)
    if not any(standing.can(permissions) for permissions in sufficient_permissions):
        missing_permissions = tuple(permissions & ~standing.allowed for permissions in sufficient_permissions)
        raise PermissionDenied(Denial(guild_id=standing.guild_id, missing_permissions=missing_permissions))


def edited_flags(current_flags: int, requested_flags: int) -> int:
    """Return the flags after an edit; bits that are not editable stay unchanged."""
    return current_flags & ~MemberFlags.EDITABLE | requested_flags & MemberFlags.EDITABLE


def require_voice_channel(call: Call, guild_id: int, channel_id: int) -> None:
    """Raise unless the channel is a voice channel of the guild, and the caller may connect and move members there."""
    channel = access.find_channel(call.tx, channel_id)
    if channel is None or channel.guild_id != guild_id:
        raise errors.UNKNOWN_CHANNEL()
    access.require_channel(call, channel_id, Permissions.CONNECT | Permissions.MOVE_MEMBERS)
    if not channel.is_voice:
        raise errors.WRONG_CHANNEL_TYPE()


def require_can_prune(call: Call, standing: GuildAccess, included_role_ids: Iterable[int]) -> None:
    """Raise unless the caller may prune members; `included_role_ids` are the IDs of roles that pruned members may have.

    MANAGE_GUILD is needed since the dated change, and ADMINISTRATOR with the feature PRUNE_REQUIRES_ADMIN."""
    if changes.PRUNE_PERMISSIONS.is_active(call.now_ms):
        access.require_guild(call, standing.guild_id, Permissions.MANAGE_GUILD)
    guild = guilds.find(call.tx, standing.guild_id)
    if guild is not None and GuildFeature.PRUNE_REQUIRES_ADMIN in guild.feature_names:
        standing.require(Permissions.ADMINISTRATOR)
    rows_by_id = roles.find_many(call.tx, standing.guild_id, included_role_ids)
    for row in rows_by_id.values():
        if not standing.outranks_role(row.rank):
            raise PermissionDenied(Denial(guild_id=standing.guild_id, role_id=row.id, action="prune"))


def parse_included_role_ids(text: str) -> list[RoleId]:
    """Parse the role IDs of `include_roles`, separated by commas; raise a form error if they are invalid or too many."""
    id_texts = [id_text.strip() for id_text in text.split(",") if id_text.strip()]
    if len(id_texts) > wire.PRUNE_ROLES_MAX:
        raise errors.invalid("include_roles", *errors.max_length(wire.PRUNE_ROLES_MAX))
    try:
        return [parse_wide(RoleId, id_text) for id_text in id_texts]
    except ValueError as error:
        raise errors.invalid("include_roles", "NUMBER_TYPE_COERCE", str(error)) from None

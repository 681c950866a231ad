"""Permission checks: load a caller's standing once per call and compute their permissions.

`get_guild_standing` and `get_channel_standing` return the standing or raise; `require_guild` and `require_channel`
also require permission bits.

A caller who is not a member of a guild gets MISSING_ACCESS, or UNKNOWN_GUILD if the guild does not exist
(spec/http.md#1.3). For a channel that the caller cannot see the error is MISSING_ACCESS, and UNKNOWN_CHANNEL if the channel
does not exist.
"""

from collections.abc import Iterable, Mapping

from hubbub.protocol import errors
from hubbub.protocol.enums import ChannelType
from hubbub.protocol.flags import MemberFlags
from hubbub.protocol.ids import GuildId, RoleId, UserId
from hubbub.protocol.permissions import (
    Permissions,
    base_permissions,
    can_see_thread,
    channel_permissions,
    effective_permissions,
    thread_permissions,
)
from hubbub.server.core.call import Call
from hubbub.server.core.store import Tx
from hubbub.server.places.standing import store
from hubbub.server.places.standing.models import ChannelAccess, ChannelRef, GuildAccess
from hubbub.server.places.standing.store import Grants, GuildMembership, HeldRole, find_channel

__all__ = [
    "get_caller_and_other_standing",
    "get_channel_standing",
    "build_channel_standing",
    "find_channel",
    "find_guild_standing",
    "find_channel_standing",
    "get_guild_standing",
    "is_restricted",
    "permissions_in",
    "require_channel",
    "require_guild",
    "require_unsuspended",
    "find_standing_and_role_ids",
    "filter_visible",
    "visible_channels",
]


def find_guild_standing(tx: Tx, now_ms: int, guild_id: int, user_id: int) -> GuildAccess | None:
    """Return a user's standing in a guild, or None if it does not exist or is suspended, or they are not a member.

    `now_ms` (Unix milliseconds) decides whether a timeout is over."""
    membership = store.find_membership(tx, guild_id, user_id)
    if membership is None or not membership.is_member:
        return None
    return _build_guild_standing(now_ms, guild_id, user_id, membership, store.list_roles(tx, guild_id, user_id))


def _build_guild_standing(
    now_ms: int, guild_id: int, user_id: int, membership: GuildMembership, roles: list[HeldRole]
) -> GuildAccess:
    permissions_by_role = {role.id: role.permissions for role in roles}
    return GuildAccess(
        guild_id=GuildId(guild_id),
        user_id=UserId(user_id),
        owner_id=UserId(membership.owner_id),
        mfa_level=membership.mfa_level,
        permissions_by_role=permissions_by_role,
        ranks=[(role.position, role.id) for role in roles],
        permissions=base_permissions(membership.owner_id == user_id, 0, permissions_by_role.values()),
        is_restricted=membership.timed_out_until_ms > now_ms or is_restricted(membership.pending, membership.flags),
    )


def is_restricted(pending: int, flags: int) -> bool:
    """Return whether a member is limited to the permissions of a timed-out member: pending, or quarantined."""
    return bool(pending or flags & MemberFlags.AUTOMOD_QUARANTINED)


def get_guild_standing(call: Call, guild_id: int) -> GuildAccess:
    """Return the caller's standing in a guild. Raise unless they are a member and the guild is not suspended."""
    standing: GuildAccess | None = call.standing_cache.get(("guild", guild_id))
    if standing is not None:
        return standing
    membership = store.find_membership(call.tx, guild_id, call.user_id)
    if membership is None:
        raise errors.UNKNOWN_GUILD()
    if not membership.is_member:
        raise _missing_access_error(call, guild_id)
    roles = store.list_roles(call.tx, guild_id, call.user_id)
    standing = call.standing_cache["guild", guild_id] = _build_guild_standing(
        call.now_ms, guild_id, call.user_id, membership, roles
    )
    return standing


def _missing_access_error(call: Call, guild_id: int) -> errors.ApiError:
    """Return the error for a caller who has no access to a guild; members of a suspended guild see the reason."""
    reason = store.find_suspension_reason(call.tx, guild_id, call.user_id)
    if reason is None:
        return errors.MISSING_ACCESS()
    return errors.MISSING_ACCESS(message=f"The operators of this server suspended this guild. Reason: {reason}")


def require_unsuspended(call: Call, guild_id: int, suspension_reason: str | None) -> None:
    """Reject a request for a suspended guild that needs no membership, such as a join or the message of a webhook."""
    if suspension_reason is not None:
        actor = call.actor_or_none
        if actor is not None and store.find_suspension_reason(call.tx, guild_id, actor.user_id) is not None:
            raise _missing_access_error(call, guild_id)
        raise errors.MISSING_ACCESS(message="The operators of this server suspended this guild.")


def require_guild(call: Call, guild_id: int, bits: int = 0) -> GuildAccess:
    """Return the caller's standing in a guild. Raise unless they have all permissions in `bits`.

    Raise TWO_FACTOR_REQUIRED if the guild requires a second factor for these permissions and the caller has none."""
    standing = get_guild_standing(call, guild_id)
    standing.require(bits)
    _require_second_factor(call, standing, bits)
    return standing


def get_channel_standing(call: Call, channel_id: int) -> ChannelAccess:
    """Return the caller's standing in a channel. Raise unless they can see it."""
    channel_access: ChannelAccess | None = call.standing_cache.get(("channel", channel_id))
    if channel_access is not None:
        return channel_access
    store.prefetch_grants(call.tx, channel_id, call.user_id)
    channel_and_membership = store.find_channel_and_membership(call.tx, channel_id, call.user_id)
    if channel_and_membership is None:
        raise errors.UNKNOWN_CHANNEL()
    channel, membership = channel_and_membership
    if channel.guild_id is None:
        channel_access = _build_private_standing(call, channel)
    else:
        channel_access = _build_visible_standing(
            call, channel, membership, store.read_grants(call.tx, channel.id, call.user_id)
        )
    call.standing_cache["channel", channel_id] = channel_access
    return channel_access


def _build_visible_standing(
    call: Call, channel: ChannelRef, membership: GuildMembership, grants: Grants
) -> ChannelAccess:
    """Build the caller's standing in a channel. Raise if they cannot see the channel."""
    assert channel.guild_id is not None
    if not membership.is_member:
        raise _missing_access_error(call, channel.guild_id)
    standing: GuildAccess | None = call.standing_cache.get(("guild", channel.guild_id))
    if standing is None:
        standing = call.standing_cache["guild", channel.guild_id] = _build_guild_standing(
            call.now_ms, channel.guild_id, call.user_id, membership, grants.roles
        )
    channel_access = _apply_channel_overwrites(call.tx, standing, channel, grants)
    if not channel_access.allowed & Permissions.VIEW_CHANNEL:
        raise errors.MISSING_ACCESS()
    return channel_access


def _apply_channel_overwrites(tx: Tx, standing: GuildAccess, channel: ChannelRef, grants: Grants) -> ChannelAccess:
    """Build a member's standing in a channel from their standing in the guild and the overwrites in `grants`."""
    return build_channel_standing(tx, standing, channel, apply_overwrites(standing, grants.overwrites))


def get_caller_and_other_standing(
    call: Call, channel: ChannelRef, membership: GuildMembership, other_id: int
) -> tuple[ChannelAccess, ChannelAccess | None]:
    """Return the standings of the caller and of another user in a channel that was read with the caller's membership.

    Raise if the caller cannot see the channel. The other user may be unable to see the channel; their standing is None if
    they are not in its guild, and in a private channel."""
    if channel.guild_id is None:
        channel_access, other_access = _build_private_standing(call, channel), None
    else:
        guild_id = channel.guild_id
        grants = store.read_grants_with_member(call.tx, channel, call.user_id, other_id)
        channel_access, other_access = _build_visible_standing(call, channel, membership, grants), None
        if grants.other_member is not None:
            # @everyone, the role with the guild's ID, is listed once among the caller's roles.
            other_roles = [*grants.other_roles, *(role for role in grants.roles if role.id == guild_id)]
            other_membership = GuildMembership(
                membership.owner_id, membership.mfa_level, other_id, *grants.other_member
            )
            other_standing = _build_guild_standing(call.now_ms, guild_id, other_id, other_membership, other_roles)
            other_access = _apply_channel_overwrites(call.tx, other_standing, channel, grants)
    call.standing_cache["channel", channel.id] = channel_access
    return channel_access, other_access


def find_channel_standing(
    tx: Tx, now_ms: int, channel_id: int, user_id: int
) -> tuple[ChannelRef, ChannelAccess | None] | None:
    """Return a channel and a user's standing in it, whether or not they can see it; None if it does not exist.

    The standing is None if the user is not in the channel's guild, and for private channels."""
    store.prefetch_grants(tx, channel_id, user_id)
    channel_and_membership = store.find_channel_and_membership(tx, channel_id, user_id)
    if channel_and_membership is None:
        return None
    channel, membership = channel_and_membership
    if channel.guild_id is None or not membership.is_member:
        return channel, None
    return channel, _build_standing_from_grants(
        tx, now_ms, channel, user_id, membership, store.read_grants(tx, channel.id, user_id)
    )


def find_standing_and_role_ids(
    tx: Tx, now_ms: int, channel: ChannelRef, membership: GuildMembership, user_id: int, other_id: int
) -> tuple[ChannelAccess, tuple[RoleId, ...]]:
    """Return a member's standing in a channel that was read with their membership, and the role IDs of another member.

    The role IDs are in ascending order, without @everyone."""
    assert channel.guild_id is not None
    grants = store.read_grants_with_other_roles(tx, channel, user_id, other_id)
    other_role_ids = sorted(RoleId(role.id) for role in grants.other_roles)
    return _build_standing_from_grants(tx, now_ms, channel, user_id, membership, grants), tuple(other_role_ids)


def _build_standing_from_grants(
    tx: Tx, now_ms: int, channel: ChannelRef, user_id: int, membership: GuildMembership, grants: Grants
) -> ChannelAccess:
    """Build a member's standing in a channel, whether or not they can see it."""
    assert channel.guild_id is not None
    standing = _build_guild_standing(now_ms, channel.guild_id, user_id, membership, grants.roles)
    return _apply_channel_overwrites(tx, standing, channel, grants)


def require_channel(call: Call, channel_id: int, bits: int = 0) -> ChannelAccess:
    """Return the caller's standing in a channel. Raise unless they have all permissions in `bits`.

    Raise TWO_FACTOR_REQUIRED if the guild requires a second factor for these permissions and the caller has none."""
    channel_access = get_channel_standing(call, channel_id)
    if channel_access.guild is None and not channel_access.can(bits):
        # spec/http.md#1.9: no user can have these permissions in a private channel, so the channel type is the error.
        raise errors.CANNOT_EXECUTE_ON_DM()
    channel_access.require(bits)
    if channel_access.guild is not None:
        _require_second_factor(call, channel_access.guild, bits)
    return channel_access


def build_channel_standing(tx: Tx, standing: GuildAccess, channel: ChannelRef, bits: int) -> ChannelAccess:
    """Return a member's standing in a channel. `bits` are their permissions after the channel's overwrites.

    Without VIEW_CHANNEL `allowed` is 0."""
    if channel.is_thread:
        if channel.is_private_thread and not can_see_thread(
            bits, is_private=True, is_member=store.is_thread_member(tx, channel.id, standing.user_id)
        ):
            bits &= ~Permissions.VIEW_CHANNEL
        bits = thread_permissions(bits)
    return ChannelAccess(
        channel=channel,
        guild=standing,
        permissions=bits,
        allowed=effective_permissions(bits, is_timed_out=standing.is_restricted, is_voice=channel.is_voice),
    )


def permissions_in(tx: Tx, standing: GuildAccess, channel_id: int) -> int:
    """Return a member's computed permission bits in a guild channel (not a thread)."""
    if standing.permissions & Permissions.ADMINISTRATOR:
        return Permissions.ALL
    return apply_overwrites(standing, store.find_overwrites(tx, channel_id))


def apply_overwrites(standing: GuildAccess, overwrites: dict[int, tuple[int, int]]) -> int:
    """Return a member's permission bits under a channel's overwrites (role or user ID to allow and deny)."""
    if not overwrites or standing.permissions & Permissions.ADMINISTRATOR:
        return standing.permissions
    return channel_permissions(
        standing.permissions,
        overwrites.get(standing.guild_id),
        [
            overwrites[role_id]
            for role_id in standing.permissions_by_role
            if role_id in overwrites and role_id != standing.guild_id
        ],
        overwrites.get(standing.user_id),
    )


def visible_channels(tx: Tx, standing: GuildAccess, *, with_parents: bool = True) -> dict[int, int]:
    """Return the guild channels (without threads) that a member can see: permission bits by channel ID.

    With `with_parents`, a category without VIEW_CHANNEL is visible if any of its children is (decisions/0080)."""
    overwrites_by_channel = store.find_overwrites_of_guild(tx, standing.guild_id)
    channels = store.list_channels(tx, standing.guild_id)
    return filter_visible(standing, channels, overwrites_by_channel, with_parents=with_parents)


def filter_visible(
    standing: GuildAccess,
    channels: Iterable[tuple[int, int, int | None]],
    overwrites_by_channel: Mapping[int, dict[int, tuple[int, int]]],
    *,
    with_parents: bool,
) -> dict[int, int]:
    """Return the channels that a member can see, like `visible_channels`, from rows that were read already.

    `channels` are ID, type and parent ID of all channels of the guild without threads."""
    bits_without_overwrites = apply_overwrites(standing, {})
    visible_permissions: dict[int, int] = {}
    hidden_category_permissions: dict[int, int] = {}
    parent_ids: set[int] = set()
    for channel_id, channel_type, parent_id in channels:
        overwrites = overwrites_by_channel.get(channel_id)
        bits = apply_overwrites(standing, overwrites) if overwrites else bits_without_overwrites
        if bits & _VIEW_CHANNEL:
            visible_permissions[channel_id] = bits
            if parent_id is not None:
                parent_ids.add(parent_id)
        elif with_parents and channel_type == ChannelType.GUILD_CATEGORY:
            hidden_category_permissions[channel_id] = bits
    return visible_permissions | {
        channel_id: bits for channel_id, bits in hidden_category_permissions.items() if channel_id in parent_ids
    }


_VIEW_CHANNEL = int(Permissions.VIEW_CHANNEL)


def _build_private_standing(call: Call, channel: ChannelRef) -> ChannelAccess:
    """Return the caller's standing in a private channel, in which every recipient has the same permissions.

    Raise MISSING_ACCESS if the caller is not a recipient."""
    if not store.is_recipient(call.tx, channel.id, call.user_id):
        raise errors.MISSING_ACCESS()
    return ChannelAccess(
        channel=channel, guild=None, permissions=_PRIVATE_CHANNEL_PERMISSIONS, allowed=_PRIVATE_CHANNEL_PERMISSIONS
    )


_PRIVATE_CHANNEL_PERMISSIONS = Permissions.TEXT & ~(
    Permissions.MANAGE_MESSAGES
    | Permissions.MANAGE_CHANNELS
    | Permissions.MANAGE_ROLES
    | Permissions.MANAGE_THREADS
    | Permissions.MANAGE_WEBHOOKS
    | Permissions.MENTION_EVERYONE
)
"""All permissions of text channels, except for moderation, webhooks and @everyone, which private channels do not have."""


def _require_second_factor(call: Call, standing: GuildAccess, bits: int) -> None:
    """Raise if the guild requires two-factor authentication for the permissions `bits`, and the caller does not have it.

    A guild with mfa_level 1 requires it for elevated permissions. For a bot its owner must have it."""
    if standing.mfa_level == 0 or not bits & Permissions.ELEVATED:
        return
    if not store.has_second_factor(call.tx, call.user_id):
        raise errors.TWO_FACTOR_REQUIRED()

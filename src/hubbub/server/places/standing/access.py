"""Permission checks: load a caller's standing once per call and compute their permissions.

`guild` and `channel` return the standing or raise; `require_guild` and `require_channel` also require permission bits.
A caller outside the guild gets MISSING_ACCESS if the guild exists and UNKNOWN_GUILD if it does not (spec/http.md#1.3). A
channel that the caller cannot see is MISSING_ACCESS, one that does not exist UNKNOWN_CHANNEL.
"""

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
from hubbub.server.places.standing.store import Grants, Membership, channel_ref, find_channel

__all__ = [
    "ChannelAccess",
    "ChannelRef",
    "GuildAccess",
    "Membership",
    "apply_overwrites",
    "caller_and_other",
    "channel",
    "channel_ref",
    "channel_standing",
    "find_channel",
    "find_member",
    "find_standing",
    "guild",
    "is_restricted",
    "permissions_in",
    "require_channel",
    "require_guild",
    "role_ids",
    "standing_and_roles",
    "visible_channels",
]


def find_member(tx: Tx, now: int, guild_id: int, user_id: int) -> GuildAccess | None:
    """Return a user's standing in a guild, or None if the guild does not exist or they are not a member."""
    row = store.membership(tx, guild_id, user_id)
    if row is None or row[2] is None:
        return None
    return _build_standing(now, guild_id, user_id, row, store.roles(tx, guild_id, user_id))


def _build_standing(now: int, guild_id: int, user_id: int, row: Membership, rows: list[tuple[int, ...]]) -> GuildAccess:
    owner_id, mfa_level, _, pending, flags, timed_out_until_ms = row
    roles = {role: bits for role, bits, _ in rows}
    return GuildAccess(
        guild_id=GuildId(guild_id),
        user_id=UserId(user_id),
        owner_id=UserId(owner_id),
        mfa_level=mfa_level,
        roles=roles,
        ranks=[(position, role) for role, _, position in rows],
        permissions=base_permissions(owner_id == user_id, 0, roles.values()),
        restricted=timed_out_until_ms > now or is_restricted(pending, flags),
    )


def is_restricted(pending: int, flags: int) -> bool:
    """Return whether a member is limited to the permissions of a timed-out member: pending, or quarantined."""
    return bool(pending or flags & MemberFlags.AUTOMOD_QUARANTINED)


def guild(call: Call, guild_id: int) -> GuildAccess:
    """Return the caller's standing in a guild that they are a member of."""
    known: GuildAccess | None = call.access.get(("guild", guild_id))
    if known is not None:
        return known
    row = store.membership(call.tx, guild_id, call.user_id)
    if row is None:
        raise errors.UNKNOWN_GUILD()
    if row[2] is None:
        raise errors.MISSING_ACCESS()
    roles = store.roles(call.tx, guild_id, call.user_id)
    known = call.access["guild", guild_id] = _build_standing(call.now, guild_id, call.user_id, row, roles)
    return known


def require_guild(call: Call, guild_id: int, bits: int = 0) -> GuildAccess:
    """Return the caller's standing in a guild. Raise unless they have all of these bits."""
    access = guild(call, guild_id)
    access.require(bits)
    _require_second_factor(call, access, bits)
    return access


def channel(call: Call, channel_id: int) -> ChannelAccess:
    """Return the caller's standing in a channel that they can see."""
    known: ChannelAccess | None = call.access.get(("channel", channel_id))
    if known is not None:
        return known
    found = store.channel_and_membership(call.tx, channel_id, call.user_id)
    if found is None:
        raise errors.UNKNOWN_CHANNEL()
    ref, membership = found
    if ref.guild_id is None:
        known = _private_channel_access(call, ref)
    else:
        known = _visible_access(call, ref, membership, store.grants(call.tx, ref, call.user_id))
    call.access["channel", channel_id] = known
    return known


def _visible_access(call: Call, ref: ChannelRef, membership: Membership, grants: Grants) -> ChannelAccess:
    """Build the caller's standing from the rows of `store.grants`. Raise if they cannot see the channel."""
    assert ref.guild_id is not None
    if membership[2] is None:
        raise errors.MISSING_ACCESS()
    standing: GuildAccess | None = call.access.get(("guild", ref.guild_id))
    if standing is None:
        standing = call.access["guild", ref.guild_id] = _build_standing(
            call.now, ref.guild_id, call.user_id, membership, _roles(grants)
        )
    known = _overwritten_access(call.tx, standing, ref, grants)
    if not known.allowed & Permissions.VIEW_CHANNEL:
        raise errors.MISSING_ACCESS()
    return known


def _roles(grants: Grants) -> list[tuple[int, ...]]:
    return [grant[1:] for grant in grants if grant[0] == store.ROLE]


def _overwritten_access(tx: Tx, standing: GuildAccess, ref: ChannelRef, grants: Grants) -> ChannelAccess:
    """Build a member's standing in a channel from the overwrites among the rows of `store.grants`."""
    overwrites = {grant[1]: (grant[2], grant[3]) for grant in grants if grant[0] == store.OVERWRITE}
    return channel_standing(tx, standing, ref, apply_overwrites(standing, overwrites))


def caller_and_other(
    call: Call, ref: ChannelRef, membership: Membership, other_id: int
) -> tuple[ChannelAccess, ChannelAccess | None]:
    """Return the caller's standing in a channel that was read with their membership, and that of another user.

    The other user may be unable to see the channel; their standing is None if they are not in its guild."""
    if ref.guild_id is None:
        known, other = _private_channel_access(call, ref), None
    else:
        guild_id = ref.guild_id
        grants = store.grants_with_member(call.tx, ref, call.user_id, other_id)
        known, other = _visible_access(call, ref, membership, grants), None
        found = next((grant for grant in grants if grant[0] == store.OTHER_MEMBER), None)
        if found is not None:
            # @everyone, the role with the guild's ID, is listed once among the caller's roles.
            roles = [
                grant[1:]
                for grant in grants
                if grant[0] == store.OTHER_ROLE or (grant[1] == guild_id and grant[0] == store.ROLE)
            ]
            other_standing = _build_standing(
                call.now, guild_id, other_id, (*membership[:2], other_id, *found[1:]), roles
            )
            other = _overwritten_access(call.tx, other_standing, ref, grants)
    call.access["channel", ref.id] = known
    return known, other


def find_standing(tx: Tx, now: int, channel_id: int, user_id: int) -> tuple[ChannelRef, ChannelAccess | None] | None:
    """Return a channel and a user's standing in it, visible or not; no standing if they are not in its guild."""
    found = store.channel_and_membership(tx, channel_id, user_id)
    if found is None:
        return None
    ref, membership = found
    if ref.guild_id is None or membership[2] is None:
        return ref, None
    return ref, _access_from_grants(tx, now, ref, user_id, membership, store.grants(tx, ref, user_id))


def standing_and_roles(
    tx: Tx, now: int, ref: ChannelRef, membership: Membership, user_id: int, other_id: int
) -> tuple[ChannelAccess, tuple[RoleId, ...]]:
    """Return a member's standing in a channel that was read with their membership, and another member's roles by ID."""
    assert ref.guild_id is not None
    grants = store.grants_with_roles_of(tx, ref, user_id, other_id)
    roles = sorted(RoleId(grant[1]) for grant in grants if grant[0] == store.OTHER_ROLE)
    return _access_from_grants(tx, now, ref, user_id, membership, grants), tuple(roles)


def _access_from_grants(
    tx: Tx, now: int, ref: ChannelRef, user_id: int, membership: Membership, grants: Grants
) -> ChannelAccess:
    """Build a member's standing from the rows of `store.grants`."""
    assert ref.guild_id is not None
    standing = _build_standing(now, ref.guild_id, user_id, membership, _roles(grants))
    return _overwritten_access(tx, standing, ref, grants)


def require_channel(call: Call, channel_id: int, bits: int = 0) -> ChannelAccess:
    """Return the caller's standing in a channel. Raise unless they have all of these bits."""
    access = channel(call, channel_id)
    if access.guild is None and not access.can(bits):
        # spec/http.md#1.9: no user can have these permissions in a private channel, so the channel type is the error.
        raise errors.CANNOT_EXECUTE_ON_DM()
    access.require(bits)
    if access.guild is not None:
        _require_second_factor(call, access.guild, bits)
    return access


def channel_standing(tx: Tx, standing: GuildAccess, ref: ChannelRef, bits: int) -> ChannelAccess:
    """Return a member's standing in a channel from their computed bits; without VIEW_CHANNEL `allowed` is 0."""
    if ref.is_thread:
        if ref.is_private_thread and not can_see_thread(
            bits, is_private=True, is_member=store.is_thread_member(tx, ref.id, standing.user_id)
        ):
            bits &= ~Permissions.VIEW_CHANNEL
        bits = thread_permissions(bits)
    return ChannelAccess(
        channel=ref,
        guild=standing,
        permissions=bits,
        allowed=effective_permissions(bits, is_timed_out=standing.restricted, is_voice=ref.is_voice),
    )


def permissions_in(tx: Tx, standing: GuildAccess, channel_id: int) -> int:
    """Return a member's computed permission bits in a guild channel (not a thread)."""
    if standing.permissions & Permissions.ADMINISTRATOR:
        return Permissions.ALL
    return apply_overwrites(standing, store.overwrites(tx, channel_id))


def apply_overwrites(standing: GuildAccess, overwrites: dict[int, tuple[int, int]]) -> int:
    """Return a member's permission bits under a channel's overwrites (role or user ID to allow and deny)."""
    if not overwrites or standing.permissions & Permissions.ADMINISTRATOR:
        return standing.permissions
    return channel_permissions(
        standing.permissions,
        overwrites.get(standing.guild_id),
        [overwrites[role] for role in standing.roles if role in overwrites and role != standing.guild_id],
        overwrites.get(standing.user_id),
    )


def visible_channels(tx: Tx, standing: GuildAccess) -> dict[int, int]:
    """Return the guild channels (without threads) that a member can see, with their bits in each.

    A category is visible if any of its children is."""
    overwrites = store.overwrites_of_guild(tx, standing.guild_id)
    visible: dict[int, int] = {}
    hidden: dict[int, int] = {}
    parents: set[int] = set()
    for channel_id, kind, parent_id in store.channels_of_guild(tx, standing.guild_id):
        bits = apply_overwrites(standing, overwrites.get(channel_id, {}))
        if bits & Permissions.VIEW_CHANNEL:
            visible[channel_id] = bits
            if parent_id is not None:
                parents.add(parent_id)
        elif kind == ChannelType.GUILD_CATEGORY:
            hidden[channel_id] = bits
    return visible | {channel_id: bits for channel_id, bits in hidden.items() if channel_id in parents}


def _private_channel_access(call: Call, ref: ChannelRef) -> ChannelAccess:
    """Return the caller's standing in a direct or group message channel: every recipient has the same permissions."""
    if not store.is_recipient(call.tx, ref.id, call.user_id):
        raise errors.MISSING_ACCESS()
    return ChannelAccess(
        channel=ref, guild=None, permissions=_PRIVATE_CHANNEL_PERMISSIONS, allowed=_PRIVATE_CHANNEL_PERMISSIONS
    )


# Private channels have no moderators: all text channel permissions except those over other users' messages and members.
_PRIVATE_CHANNEL_PERMISSIONS = Permissions.TEXT & ~(
    Permissions.MANAGE_MESSAGES
    | Permissions.MANAGE_CHANNELS
    | Permissions.MANAGE_ROLES
    | Permissions.MANAGE_THREADS
    | Permissions.MANAGE_WEBHOOKS
    | Permissions.MENTION_EVERYONE
)


def _require_second_factor(call: Call, access: GuildAccess, bits: int) -> None:
    """In a guild with mfa_level 1, require two-factor from the user, or the bot's owner, for elevated permissions."""
    if access.mfa_level == 0 or not bits & Permissions.ELEVATED:
        return
    if not store.has_second_factor(call.tx, call.user_id):
        raise errors.TWO_FACTOR_REQUIRED()


def role_ids(standing: GuildAccess) -> list[RoleId]:
    """Return a member's roles without @everyone, lowest ID first."""
    return sorted(RoleId(role) for role in standing.roles if role != standing.guild_id)

"""Permission checks: load a caller's standing once per call and compute their permissions.

`guild` and `channel` return the standing or raise; `require_guild` and `require_channel` also require permission bits.
A caller outside the guild gets MISSING_ACCESS if the guild exists and UNKNOWN_GUILD if it does not (spec/http.md#1.3). A
channel that the caller cannot see is MISSING_ACCESS, one that does not exist UNKNOWN_CHANNEL.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from hubbub.protocol import errors
from hubbub.protocol.enums import ChannelType
from hubbub.protocol.flags import MemberFlags
from hubbub.protocol.ids import ChannelId, GuildId, RoleId, UserId
from hubbub.protocol.permissions import (
    Permissions,
    Rank,
    base_permissions,
    can_act_on,
    can_see_thread,
    channel_permissions,
    effective_permissions,
    highest_role,
    thread_permissions,
)
from hubbub.server.core.call import Call
from hubbub.server.core.store import Tx

THREAD_TYPES = frozenset({ChannelType.ANNOUNCEMENT_THREAD, ChannelType.PUBLIC_THREAD, ChannelType.PRIVATE_THREAD})
VOICE_TYPES = frozenset({ChannelType.GUILD_VOICE, ChannelType.GUILD_STAGE_VOICE})


class GuildAccess(msgspec.Struct, kw_only=True):
    """A member's standing in a guild."""

    guild_id: GuildId
    user_id: UserId
    owner_id: UserId
    mfa_level: int
    roles: dict[int, int]
    """The member's roles with their permission bits; @everyone under the guild's id."""
    ranks: Sequence[Rank]
    """Position and id of each of the member's roles."""
    permissions: int
    """The member's permission bits in the guild, ignoring a timeout."""
    restricted: bool
    """Whether the member is timed out, pending or quarantined, and may only read."""

    @property
    def top_role(self) -> Rank:
        """Position and id of the member's highest role."""
        return highest_role(self.ranks)

    @property
    def is_owner(self) -> bool:
        """Whether the member owns the guild."""
        return self.owner_id == self.user_id

    @property
    def is_read_only(self) -> bool:
        """Whether a restriction applies; administrators are exempt (spec/http.md#2.2)."""
        return self.restricted and not self.permissions & Permissions.ADMINISTRATOR

    @property
    def allowed(self) -> int:
        """The member's effective permission bits in the guild, with restrictions applied."""
        return self.permissions & Permissions.TIMED_OUT if self.is_read_only else self.permissions

    def can(self, bits: int) -> bool:
        """Return whether the member has all of these bits in the guild."""
        return not bits & ~self.allowed

    def require(self, bits: int) -> None:
        """Raise MISSING_PERMISSIONS unless the member has all of these bits in the guild."""
        if bits & ~self.allowed:
            raise errors.MISSING_PERMISSIONS()

    def outranks(self, other: "GuildAccess") -> bool:
        """Return whether the role hierarchy allows the member to act on another member."""
        return can_act_on(self.top_role, other.top_role, actor_owns=self.is_owner, target_owns=other.is_owner)

    def outranks_role(self, role: Rank) -> bool:
        """Return whether a role of this rank is below the member's highest role."""
        return self.is_owner or can_act_on(self.top_role, role)


class ChannelRef(NamedTuple):
    """The columns of a channel that permission checks need; the channels slice has the whole row."""

    id: ChannelId
    guild_id: GuildId | None
    type: int
    parent_id: ChannelId | None
    owner_id: UserId | None
    name: str | None
    nsfw: int
    rate_limit_per_user: int
    flags: int
    archived: int
    locked: int
    invitable: int | None
    linked_lobby: str | None = None
    """The lobby linked to the channel, as JSON; usually None."""

    @property
    def is_thread(self) -> bool:
        """Whether it is a thread of any type."""
        return self.type in THREAD_TYPES

    @property
    def is_private_thread(self) -> bool:
        """Whether only its members and moderators can see it."""
        return self.type == ChannelType.PRIVATE_THREAD

    @property
    def is_voice(self) -> bool:
        """Whether it is a voice or stage channel."""
        return self.type in VOICE_TYPES

    @property
    def overwrites_channel_id(self) -> ChannelId:
        """The channel whose overwrites apply: a thread's parent, otherwise the channel itself."""
        return self.parent_id if self.is_thread and self.parent_id is not None else self.id


_REF_COLUMNS = (
    "id, guild_id, type, parent_id, owner_id, name, nsfw, rate_limit_per_user, flags, archived, locked, invitable, "
    "linked_lobby"
)


class ChannelAccess(msgspec.Struct, kw_only=True):
    """A user's standing in a channel."""

    channel: ChannelRef
    guild: GuildAccess | None
    """The member's standing in the guild; None in direct and group messages."""
    permissions: int
    """The computed permission bits, as shown in `app_permissions`."""
    allowed: int
    """The bits to check against: the computed bits without those removed by a timeout or implied denials."""

    @property
    def guild_id(self) -> GuildId:
        """The channel's guild. Raises CANNOT_EXECUTE_ON_DM if there is none."""
        if self.guild is None:
            raise errors.CANNOT_EXECUTE_ON_DM()
        return self.guild.guild_id

    def can(self, bits: int) -> bool:
        """Return whether the user has all of these bits in the channel."""
        return not bits & ~self.allowed

    def require(self, bits: int) -> None:
        """Raise MISSING_PERMISSIONS unless the user has all of these bits in the channel."""
        if bits & ~self.allowed:
            raise errors.MISSING_PERMISSIONS()


def find_member(tx: Tx, now: int, guild_id: int, user_id: int) -> GuildAccess | None:
    """Return a user's standing in a guild, or None if the guild does not exist or they are not a member."""
    row = tx.one(
        "SELECT g.owner_id, g.mfa_level, m.user_id, m.pending, m.flags, m.timed_out_until_ms FROM guilds g "
        "LEFT JOIN members m ON m.guild_id = g.id AND m.user_id = ? WHERE g.id = ?",
        user_id,
        guild_id,
    )
    if row is None or row[2] is None:
        return None
    return _load_standing(tx, now, guild_id, user_id, row)


_ROLES = (
    "SELECT r.id, r.permissions, r.position FROM member_roles mr JOIN roles r ON r.id = mr.role_id "
    "WHERE mr.guild_id = ? AND mr.user_id = ? UNION ALL SELECT id, permissions, position FROM roles WHERE id = ?"
)
"""Selects a member's roles, including @everyone."""


def _load_standing(tx: Tx, now: int, guild_id: int, user_id: int, row: tuple[int, ...]) -> GuildAccess:
    return _build_standing(now, guild_id, user_id, row, tx.all(_ROLES, guild_id, user_id, guild_id))


Membership = tuple[Any, ...]
"""The guild's `owner_id` and `mfa_level`, then the member's `user_id` (None if not a member), `pending`, `flags` and
`timed_out_until_ms`."""


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
    row = call.tx.one(
        "SELECT g.owner_id, g.mfa_level, m.user_id, m.pending, m.flags, m.timed_out_until_ms FROM guilds g "
        "LEFT JOIN members m ON m.guild_id = g.id AND m.user_id = ? WHERE g.id = ?",
        call.user_id,
        guild_id,
    )
    if row is None:
        raise errors.UNKNOWN_GUILD()
    if row[2] is None:
        raise errors.MISSING_ACCESS()
    known = call.access["guild", guild_id] = _load_standing(call.tx, call.now, guild_id, call.user_id, row)
    return known


def require_guild(call: Call, guild_id: int, bits: int = 0) -> GuildAccess:
    """Return the caller's standing in a guild. Raise unless they have all of these bits."""
    access = guild(call, guild_id)
    access.require(bits)
    _require_second_factor(call, access, bits)
    return access


def find_channel(tx: Tx, channel_id: int) -> ChannelRef | None:
    """Return a channel, or None, without a permission check."""
    row = tx.one(f"SELECT {_REF_COLUMNS} FROM channels WHERE id = ?", channel_id)
    return None if row is None else channel_ref(row)


def channel_ref(row: Sequence[Any]) -> ChannelRef:
    """Build a channel reference from its columns."""
    # The store returns plain integers; payloads take their ids from here, so they need their id types.
    found, guild_id, kind, parent_id, owner_id, *rest = row
    return ChannelRef(
        ChannelId(found),
        None if guild_id is None else GuildId(guild_id),
        kind,
        None if parent_id is None else ChannelId(parent_id),
        None if owner_id is None else UserId(owner_id),
        *rest,
    )


# These run for every message, and the cost of a statement outweighs the cost of its rows. So there is one statement for
# the channel, its guild and the membership, and one for the member's roles and the channel's overwrites.
_CHANNEL_AND_MEMBERSHIP = (
    f"SELECT {', '.join(f'c.{name}' for name in ChannelRef._fields)}, "
    "g.owner_id, g.mfa_level, m.user_id, m.pending, m.flags, m.timed_out_until_ms FROM channels c "
    "LEFT JOIN guilds g ON g.id = c.guild_id LEFT JOIN members m ON m.guild_id = c.guild_id AND m.user_id = ? "
    "WHERE c.id = ?"
)
_ROLES_AND_OVERWRITES = (
    "SELECT 0, r.id, r.permissions, r.position FROM member_roles mr JOIN roles r ON r.id = mr.role_id "
    "WHERE mr.guild_id = ? AND mr.user_id = ? UNION ALL SELECT 0, id, permissions, position FROM roles WHERE id = ? "
    "UNION ALL SELECT 1, target_id, allow, deny FROM overwrites WHERE channel_id = ?"
)


def channel(call: Call, channel_id: int) -> ChannelAccess:
    """Return the caller's standing in a channel that they can see."""
    known: ChannelAccess | None = call.access.get(("channel", channel_id))
    if known is not None:
        return known
    row = call.tx.one(_CHANNEL_AND_MEMBERSHIP, call.user_id, channel_id)
    if row is None:
        raise errors.UNKNOWN_CHANNEL()
    ref = channel_ref(row[:-6])
    if ref.guild_id is None:
        known = _private_channel_access(call, ref)
    else:
        grants = call.tx.all(_ROLES_AND_OVERWRITES, ref.guild_id, call.user_id, ref.guild_id, ref.overwrites_channel_id)
        known = _visible_access(call, ref, row[-6:], grants)
    call.access["channel", channel_id] = known
    return known


def _visible_access(
    call: Call, ref: ChannelRef, membership: Membership, grants: list[tuple[int, ...]]
) -> ChannelAccess:
    """Build the caller's standing from the rows of `_ROLES_AND_OVERWRITES`. Raise if they cannot see the channel."""
    assert ref.guild_id is not None
    if membership[2] is None:
        raise errors.MISSING_ACCESS()
    standing: GuildAccess | None = call.access.get(("guild", ref.guild_id))
    if standing is None:
        roles = [grant[1:] for grant in grants if not grant[0]]
        standing = call.access["guild", ref.guild_id] = _build_standing(
            call.now, ref.guild_id, call.user_id, membership, roles
        )
    known = _overwritten_access(call.tx, standing, ref, grants)
    if not known.allowed & Permissions.VIEW_CHANNEL:
        raise errors.MISSING_ACCESS()
    return known


def _overwritten_access(tx: Tx, standing: GuildAccess, ref: ChannelRef, grants: list[tuple[int, ...]]) -> ChannelAccess:
    """Build a member's standing in a channel from the overwrites among the rows of `_ROLES_AND_OVERWRITES`."""
    bits = apply_overwrites(standing, {grant[1]: (grant[2], grant[3]) for grant in grants if grant[0] == 1})
    return channel_standing(tx, standing, ref, bits)


_WITH_OTHER_MEMBER = (
    f"{_ROLES_AND_OVERWRITES} UNION ALL SELECT 2, pending, flags, timed_out_until_ms FROM members "
    "WHERE guild_id = ? AND user_id = ? "
    "UNION ALL SELECT 3, r.id, r.permissions, r.position FROM member_roles mr JOIN roles r ON r.id = mr.role_id "
    "WHERE mr.guild_id = ? AND mr.user_id = ?"
)


def caller_and_other(
    call: Call, ref: ChannelRef, membership: Membership, other_id: int
) -> tuple[ChannelAccess, ChannelAccess | None]:
    """Return the caller's standing in a channel that was read with their membership, and that of another user.

    The other user may be unable to see the channel; their standing is None if they are not in its guild."""
    if ref.guild_id is None:
        known, other = _private_channel_access(call, ref), None
    else:
        guild_id = ref.guild_id
        grants = call.tx.all(
            _WITH_OTHER_MEMBER,
            guild_id,
            call.user_id,
            guild_id,
            ref.overwrites_channel_id,
            guild_id,
            other_id,
            guild_id,
            other_id,
        )
        known, other = _visible_access(call, ref, membership, grants), None
        found = next((grant for grant in grants if grant[0] == 2), None)
        if found is not None:
            # @everyone, the role with the guild's id, is listed once among the caller's roles.
            roles = [grant[1:] for grant in grants if grant[0] == 3 or (grant[1] == guild_id and not grant[0])]
            other_standing = _build_standing(
                call.now, guild_id, other_id, (*membership[:2], other_id, *found[1:]), roles
            )
            other = _overwritten_access(call.tx, other_standing, ref, grants)
    call.access["channel", ref.id] = known
    return known, other


def find_standing(tx: Tx, now: int, channel_id: int, user_id: int) -> tuple[ChannelRef, ChannelAccess | None] | None:
    """Return a channel and a user's standing in it, visible or not; no standing if they are not in its guild."""
    row = tx.one(_CHANNEL_AND_MEMBERSHIP, user_id, channel_id)
    if row is None:
        return None
    ref, membership = channel_ref(row[:-6]), row[-6:]
    if ref.guild_id is None or membership[2] is None:
        return ref, None
    grants = tx.all(_ROLES_AND_OVERWRITES, ref.guild_id, user_id, ref.guild_id, ref.overwrites_channel_id)
    return ref, _access_from_grants(tx, now, ref, user_id, membership, grants)


_WITH_ROLES_OF = (
    f"{_ROLES_AND_OVERWRITES} UNION ALL SELECT 3, role_id, 0, 0 FROM member_roles WHERE guild_id = ? AND user_id = ?"
)


def standing_and_roles(
    tx: Tx, now: int, ref: ChannelRef, membership: Membership, user_id: int, other_id: int
) -> tuple[ChannelAccess, tuple[RoleId, ...]]:
    """Return a member's standing in a channel that was read with their membership, and another member's roles by id."""
    guild_id = ref.guild_id
    assert guild_id is not None
    grants = tx.all(_WITH_ROLES_OF, guild_id, user_id, guild_id, ref.overwrites_channel_id, guild_id, other_id)
    roles = sorted(RoleId(grant[1]) for grant in grants if grant[0] == 3)
    return _access_from_grants(tx, now, ref, user_id, membership, grants), tuple(roles)


def _access_from_grants(
    tx: Tx, now: int, ref: ChannelRef, user_id: int, membership: Membership, grants: list[tuple[int, ...]]
) -> ChannelAccess:
    """Build a member's standing from the rows of `_ROLES_AND_OVERWRITES`."""
    assert ref.guild_id is not None
    standing = _build_standing(now, ref.guild_id, user_id, membership, [grant[1:] for grant in grants if not grant[0]])
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
            bits, private=True, joined=_joined(tx, ref.id, standing.user_id)
        ):
            bits &= ~Permissions.VIEW_CHANNEL
        bits = thread_permissions(bits)
    return ChannelAccess(
        channel=ref,
        guild=standing,
        permissions=bits,
        allowed=effective_permissions(bits, timed_out=standing.restricted, voice=ref.is_voice),
    )


def permissions_in(tx: Tx, standing: GuildAccess, channel_id: int) -> int:
    """Return a member's computed permission bits in a guild channel (not a thread)."""
    if standing.permissions & Permissions.ADMINISTRATOR:
        return Permissions.ALL
    rows = tx.all("SELECT target_id, allow, deny FROM overwrites WHERE channel_id = ?", channel_id)
    return apply_overwrites(standing, {target: (allow, deny) for target, allow, deny in rows})


def apply_overwrites(standing: GuildAccess, overwrites: dict[int, tuple[int, int]]) -> int:
    """Return a member's permission bits under a channel's overwrites (role or user id to allow and deny)."""
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
    overwrites: dict[int, dict[int, tuple[int, int]]] = {}
    for channel_id, target, allow, deny in tx.all(
        "SELECT o.channel_id, o.target_id, o.allow, o.deny FROM overwrites o JOIN channels c ON c.id = o.channel_id "
        "WHERE c.guild_id = ?",
        standing.guild_id,
    ):
        overwrites.setdefault(channel_id, {})[target] = (allow, deny)
    visible: dict[int, int] = {}
    hidden: dict[int, int] = {}
    parents: set[int] = set()
    for channel_id, kind, parent_id in tx.all(
        "SELECT id, type, parent_id FROM channels WHERE guild_id = ? AND type NOT IN (10, 11, 12)", standing.guild_id
    ):
        bits = apply_overwrites(standing, overwrites.get(channel_id, {}))
        if bits & Permissions.VIEW_CHANNEL:
            visible[channel_id] = bits
            if parent_id is not None:
                parents.add(parent_id)
        elif kind == ChannelType.GUILD_CATEGORY:
            hidden[channel_id] = bits
    return visible | {channel_id: bits for channel_id, bits in hidden.items() if channel_id in parents}


def _joined(tx: Tx, thread_id: int, user_id: int) -> bool:
    return tx.value("SELECT 1 FROM thread_members WHERE thread_id = ? AND user_id = ?", thread_id, user_id) is not None


def _private_channel_access(call: Call, ref: ChannelRef) -> ChannelAccess:
    """Return the caller's standing in a direct or group message channel: every recipient has the same permissions."""
    if call.tx.value("SELECT 1 FROM recipients WHERE channel_id = ? AND user_id = ?", ref.id, call.user_id) is None:
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
    row = call.tx.one(
        "SELECT u.mfa_enabled FROM users u WHERE u.id = COALESCE((SELECT owner_id FROM applications WHERE bot_id = ?), ?)",
        call.user_id,
        call.user_id,
    )
    if row is None or not row[0]:
        raise errors.TWO_FACTOR_REQUIRED()


def role_ids(standing: GuildAccess) -> list[RoleId]:
    """Return a member's roles without @everyone, lowest id first."""
    return sorted(RoleId(role) for role in standing.roles if role != standing.guild_id)

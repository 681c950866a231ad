"""May this caller do this here? Loads the inputs of the permission arithmetic once per call, and asks it.

`guild` and `channel` return or raise; `require_guild` and `require_channel` also demand permission bits. A caller outside
the guild gets MISSING_ACCESS where the guild exists and UNKNOWN_GUILD where it does not (http.md 1.3); a channel that the
caller cannot see is MISSING_ACCESS, one that does not exist UNKNOWN_CHANNEL.
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
    effective,
    highest,
    thread_permissions,
)
from hubbub.server.core.call import Call
from hubbub.server.core.store import Tx

THREADS = frozenset({ChannelType.ANNOUNCEMENT_THREAD, ChannelType.PUBLIC_THREAD, ChannelType.PRIVATE_THREAD})
VOICES = frozenset({ChannelType.GUILD_VOICE, ChannelType.GUILD_STAGE_VOICE})


class GuildAccess(msgspec.Struct, kw_only=True):
    """A member's standing in a guild."""

    guild_id: GuildId
    user_id: UserId
    owner_id: UserId
    mfa_level: int
    roles: dict[int, int]
    """The member's roles and their bits; @everyone under the guild's id."""
    ranks: Sequence[Rank]
    """The positions and ids of their roles."""
    permissions: int
    """Their bits in the guild, before a timeout."""
    restricted: bool
    """Timed out, pending or quarantined: only reading is left."""

    @property
    def top(self) -> Rank:
        """The position and id of their highest role."""
        return highest(self.ranks)

    @property
    def owns(self) -> bool:
        """Whether they own the guild."""
        return self.owner_id == self.user_id

    @property
    def only_reads(self) -> bool:
        """Whether a restriction holds for them: administrators are exempt (http.md 2.2)."""
        return self.restricted and not self.permissions & Permissions.ADMINISTRATOR

    @property
    def allowed(self) -> int:
        """Their bits in the guild, for checking."""
        return self.permissions & Permissions.TIMED_OUT if self.only_reads else self.permissions

    def can(self, bits: int) -> bool:
        """Whether they hold all of these bits in the guild."""
        return not bits & ~self.allowed

    def require(self, bits: int) -> None:
        """Raise MISSING_PERMISSIONS unless they hold all of these bits in the guild."""
        if bits & ~self.allowed:
            raise errors.MISSING_PERMISSIONS()

    def outranks(self, other: "GuildAccess") -> bool:
        """Whether the hierarchy lets them act on another member."""
        return can_act_on(self.top, other.top, actor_owns=self.owns, target_owns=other.owns)

    def above(self, role: Rank) -> bool:
        """Whether a role of this rank stands below their highest."""
        return self.owns or can_act_on(self.top, role)


class ChannelRef(NamedTuple):
    """A channel as far as access goes; the slice that owns channels has the whole row."""

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
    """The lobby of a game that shares what is said here, as JSON; nearly always None."""

    @property
    def is_thread(self) -> bool:
        """Whether it is a thread of any kind."""
        return self.type in THREADS

    @property
    def is_private_thread(self) -> bool:
        """Whether only its members (and moderators) see it."""
        return self.type == ChannelType.PRIVATE_THREAD

    @property
    def is_voice(self) -> bool:
        """Whether people can connect to it."""
        return self.type in VOICES

    @property
    def ruling_id(self) -> ChannelId:
        """The channel whose overwrites hold here: a thread's parent, or itself."""
        return self.parent_id if self.is_thread and self.parent_id is not None else self.id


_REF = "id, guild_id, type, parent_id, owner_id, name, nsfw, rate_limit_per_user, flags, archived, locked, invitable, linked_lobby"


class ChannelAccess(msgspec.Struct, kw_only=True):
    """A caller's standing in a channel they can see."""

    channel: ChannelRef
    guild: GuildAccess | None
    """None in direct and group messages."""
    permissions: int
    """Their computed bits here, as `app_permissions` and the like show them."""
    allowed: int
    """The bits to check against: less a timeout's and the implied denials."""

    @property
    def guild_id(self) -> GuildId:
        """The channel's guild; raises where there is none."""
        if self.guild is None:
            raise errors.CANNOT_EXECUTE_ON_DM()
        return self.guild.guild_id

    def can(self, bits: int) -> bool:
        """Whether they hold all of these bits here."""
        return not bits & ~self.allowed

    def require(self, bits: int) -> None:
        """Raise MISSING_PERMISSIONS unless they hold all of these bits here."""
        if bits & ~self.allowed:
            raise errors.MISSING_PERMISSIONS()


def find_member(tx: Tx, now: int, guild_id: int, user_id: int) -> GuildAccess | None:
    """Any user's standing in a guild; None when the guild does not exist or they are not in it."""
    row = tx.one(
        "SELECT g.owner_id, g.mfa_level, m.user_id, m.pending, m.flags, m.timed_out_until_ms FROM guilds g "
        "LEFT JOIN members m ON m.guild_id = g.id AND m.user_id = ? WHERE g.id = ?",
        user_id,
        guild_id,
    )
    if row is None or row[2] is None:
        return None
    return _standing(tx, now, guild_id, user_id, row)


_ROLES = (
    "SELECT r.id, r.permissions, r.position FROM member_roles mr JOIN roles r ON r.id = mr.role_id "
    "WHERE mr.guild_id = ? AND mr.user_id = ? UNION ALL SELECT id, permissions, position FROM roles WHERE id = ?"
)
"""A member's roles, @everyone among them."""


def _standing(tx: Tx, now: int, guild_id: int, user_id: int, row: tuple[int, ...]) -> GuildAccess:
    return _stand(now, guild_id, user_id, row, tx.all(_ROLES, guild_id, user_id, guild_id))


Membership = tuple[Any, ...]
"""Of a guild `owner_id` and `mfa_level`, of a member `user_id` (None of one who is none), `pending`, `flags` and
`timed_out_until_ms`."""


def _stand(now: int, guild_id: int, user_id: int, row: Membership, rows: list[tuple[int, ...]]) -> GuildAccess:
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
    """Whether a member may do no more than somebody who is timed out: pending, or quarantined."""
    return bool(pending or flags & MemberFlags.AUTOMOD_QUARANTINED)


def guild(call: Call, guild_id: int) -> GuildAccess:
    """The caller's standing in a guild they are in."""
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
    known = call.access["guild", guild_id] = _standing(call.tx, call.now, guild_id, call.user_id, row)
    return known


def require_guild(call: Call, guild_id: int, bits: int = 0) -> GuildAccess:
    """The caller's standing in a guild, holding all of these bits."""
    access = guild(call, guild_id)
    access.require(bits)
    _require_second_factor(call, access, bits)
    return access


def find_channel(tx: Tx, channel_id: int) -> ChannelRef | None:
    """A channel, whoever may see it."""
    row = tx.one(f"SELECT {_REF} FROM channels WHERE id = ?", channel_id)
    return None if row is None else channel_ref(row)


def channel_ref(row: Sequence[Any]) -> ChannelRef:
    """A channel by its columns."""
    # A store gives plain numbers; payloads take their ids from here, so they must be what they say they are.
    found, guild_id, kind, parent_id, owner_id, *rest = row
    return ChannelRef(
        ChannelId(found),
        None if guild_id is None else GuildId(guild_id),
        kind,
        None if parent_id is None else ChannelId(parent_id),
        None if owner_id is None else UserId(owner_id),
        *rest,
    )


# Every message asks for these, and a statement costs more than what it returns: so one for the channel, its guild and the
# membership, and one for the member's roles and the overwrites that rule the channel.
_PLACE = (
    f"SELECT {', '.join(f'c.{name}' for name in ChannelRef._fields)}, "
    "g.owner_id, g.mfa_level, m.user_id, m.pending, m.flags, m.timed_out_until_ms FROM channels c "
    "LEFT JOIN guilds g ON g.id = c.guild_id LEFT JOIN members m ON m.guild_id = c.guild_id AND m.user_id = ? "
    "WHERE c.id = ?"
)
_POWERS = (
    "SELECT 0, r.id, r.permissions, r.position FROM member_roles mr JOIN roles r ON r.id = mr.role_id "
    "WHERE mr.guild_id = ? AND mr.user_id = ? UNION ALL SELECT 0, id, permissions, position FROM roles WHERE id = ? "
    "UNION ALL SELECT 1, target_id, allow, deny FROM overwrites WHERE channel_id = ?"
)


def channel(call: Call, channel_id: int) -> ChannelAccess:
    """The caller's standing in a channel they can see."""
    known: ChannelAccess | None = call.access.get(("channel", channel_id))
    if known is not None:
        return known
    row = call.tx.one(_PLACE, call.user_id, channel_id)
    if row is None:
        raise errors.UNKNOWN_CHANNEL()
    ref = channel_ref(row[:-6])
    if ref.guild_id is None:
        known = _in_conversation(call, ref)
    else:
        powers = call.tx.all(_POWERS, ref.guild_id, call.user_id, ref.guild_id, ref.ruling_id)
        known = _enter(call, ref, row[-6:], powers)
    call.access["channel", channel_id] = known
    return known


def _enter(call: Call, ref: ChannelRef, membership: Membership, powers: list[tuple[int, ...]]) -> ChannelAccess:
    """The caller's standing by the rows of `_POWERS`; raises where they are not in the guild, or do not see the channel."""
    assert ref.guild_id is not None
    if membership[2] is None:
        raise errors.MISSING_ACCESS()
    standing: GuildAccess | None = call.access.get(("guild", ref.guild_id))
    if standing is None:
        roles = [power[1:] for power in powers if not power[0]]
        standing = call.access["guild", ref.guild_id] = _stand(call.now, ref.guild_id, call.user_id, membership, roles)
    known = _ruled(call.tx, standing, ref, powers)
    if not known.allowed & Permissions.VIEW_CHANNEL:
        raise errors.MISSING_ACCESS()
    return known


def _ruled(tx: Tx, standing: GuildAccess, ref: ChannelRef, powers: list[tuple[int, ...]]) -> ChannelAccess:
    """A member's standing in a channel by the overwrites among the rows of `_POWERS`."""
    bits = apply_overwrites(standing, {power[1]: (power[2], power[3]) for power in powers if power[0] == 1})
    return stand_in(tx, standing, ref, bits)


_TOGETHER = (
    f"{_POWERS} UNION ALL SELECT 2, pending, flags, timed_out_until_ms FROM members WHERE guild_id = ? AND user_id = ? "
    "UNION ALL SELECT 3, r.id, r.permissions, r.position FROM member_roles mr JOIN roles r ON r.id = mr.role_id "
    "WHERE mr.guild_id = ? AND mr.user_id = ?"
)


def together(
    call: Call, ref: ChannelRef, membership: Membership, other_id: int
) -> tuple[ChannelAccess, ChannelAccess | None]:
    """The caller's standing in a channel that was read with their membership, and that of somebody else, whether they see the
    channel or not: None when they are not in its guild."""
    if ref.guild_id is None:
        known, other = _in_conversation(call, ref), None
    else:
        guild_id = ref.guild_id
        powers = call.tx.all(
            _TOGETHER, guild_id, call.user_id, guild_id, ref.ruling_id, guild_id, other_id, guild_id, other_id
        )
        known, other = _enter(call, ref, membership, powers), None
        found = next((power for power in powers if power[0] == 2), None)
        if found is not None:
            # Everybody has the role that has the guild's own id.
            roles = [power[1:] for power in powers if power[0] == 3 or (power[1] == guild_id and not power[0])]
            beside = _stand(call.now, guild_id, other_id, (*membership[:2], other_id, *found[1:]), roles)
            other = _ruled(call.tx, beside, ref, powers)
    call.access["channel", ref.id] = known
    return known, other


def find_standing(tx: Tx, now: int, channel_id: int, user_id: int) -> tuple[ChannelRef, ChannelAccess | None] | None:
    """A channel and anybody's standing in it, whether they see it or not; no standing where they are not in its guild."""
    row = tx.one(_PLACE, user_id, channel_id)
    if row is None:
        return None
    ref, membership = channel_ref(row[:-6]), row[-6:]
    if ref.guild_id is None or membership[2] is None:
        return ref, None
    powers = tx.all(_POWERS, ref.guild_id, user_id, ref.guild_id, ref.ruling_id)
    return ref, _with_powers(tx, now, ref, user_id, membership, powers)


_WITH_ROLES_OF = f"{_POWERS} UNION ALL SELECT 3, role_id, 0, 0 FROM member_roles WHERE guild_id = ? AND user_id = ?"


def standing_and_roles(
    tx: Tx, now: int, ref: ChannelRef, membership: Membership, user_id: int, other_id: int
) -> tuple[ChannelAccess, tuple[RoleId, ...]]:
    """A member's standing in a channel that was read with their membership, and the roles of another member, lowest id first."""
    guild_id = ref.guild_id
    assert guild_id is not None
    powers = tx.all(_WITH_ROLES_OF, guild_id, user_id, guild_id, ref.ruling_id, guild_id, other_id)
    roles = sorted(RoleId(power[1]) for power in powers if power[0] == 3)
    return _with_powers(tx, now, ref, user_id, membership, powers), tuple(roles)


def _with_powers(
    tx: Tx, now: int, ref: ChannelRef, user_id: int, membership: Membership, powers: list[tuple[int, ...]]
) -> ChannelAccess:
    """A member's standing by the rows of `_POWERS`."""
    assert ref.guild_id is not None
    standing = _stand(now, ref.guild_id, user_id, membership, [power[1:] for power in powers if not power[0]])
    return _ruled(tx, standing, ref, powers)


def require_channel(call: Call, channel_id: int, bits: int = 0) -> ChannelAccess:
    """The caller's standing in a channel, holding all of these bits."""
    access = channel(call, channel_id)
    if access.guild is None and not access.can(bits):
        # http.md 1.9: nobody holds these in a conversation, so it is the channel that does not fit.
        raise errors.CANNOT_EXECUTE_ON_DM()
    access.require(bits)
    if access.guild is not None:
        _require_second_factor(call, access.guild, bits)
    return access


def stand_in(tx: Tx, standing: GuildAccess, ref: ChannelRef, bits: int) -> ChannelAccess:
    """A member's standing in a channel whose ruling permissions are known; without VIEW_CHANNEL `allowed` is 0."""
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
        allowed=effective(bits, timed_out=standing.restricted, voice=ref.is_voice),
    )


def permissions_in(tx: Tx, standing: GuildAccess, channel_id: int) -> int:
    """A member's computed bits in a guild channel (not a thread)."""
    if standing.permissions & Permissions.ADMINISTRATOR:
        return Permissions.ALL
    rows = tx.all("SELECT target_id, allow, deny FROM overwrites WHERE channel_id = ?", channel_id)
    return apply_overwrites(standing, {target: (allow, deny) for target, allow, deny in rows})


def apply_overwrites(standing: GuildAccess, overwrites: dict[int, tuple[int, int]]) -> int:
    """A member's computed bits under a channel's overwrites (role or user id to allow and deny)."""
    if not overwrites or standing.permissions & Permissions.ADMINISTRATOR:
        return standing.permissions
    return channel_permissions(
        standing.permissions,
        overwrites.get(standing.guild_id),
        [overwrites[role] for role in standing.roles if role in overwrites and role != standing.guild_id],
        overwrites.get(standing.user_id),
    )


def visible_channels(tx: Tx, standing: GuildAccess) -> dict[int, int]:
    """Every guild channel (no threads) that a member may see, with their bits there. A category shows when any child does."""
    overwrites: dict[int, dict[int, tuple[int, int]]] = {}
    for channel_id, target, allow, deny in tx.all(
        "SELECT o.channel_id, o.target_id, o.allow, o.deny FROM overwrites o JOIN channels c ON c.id = o.channel_id "
        "WHERE c.guild_id = ?",
        standing.guild_id,
    ):
        overwrites.setdefault(channel_id, {})[target] = (allow, deny)
    seen: dict[int, int] = {}
    hidden: dict[int, int] = {}
    parents: set[int] = set()
    for channel_id, kind, parent_id in tx.all(
        "SELECT id, type, parent_id FROM channels WHERE guild_id = ? AND type NOT IN (10, 11, 12)", standing.guild_id
    ):
        bits = apply_overwrites(standing, overwrites.get(channel_id, {}))
        if bits & Permissions.VIEW_CHANNEL:
            seen[channel_id] = bits
            if parent_id is not None:
                parents.add(parent_id)
        elif kind == ChannelType.GUILD_CATEGORY:
            hidden[channel_id] = bits
    return seen | {channel_id: bits for channel_id, bits in hidden.items() if channel_id in parents}


def _joined(tx: Tx, thread_id: int, user_id: int) -> bool:
    return tx.value("SELECT 1 FROM thread_members WHERE thread_id = ? AND user_id = ?", thread_id, user_id) is not None


def _in_conversation(call: Call, ref: ChannelRef) -> ChannelAccess:
    """Direct and group messages: whoever takes part may do all that is possible there."""
    if call.tx.value("SELECT 1 FROM recipients WHERE channel_id = ? AND user_id = ?", ref.id, call.user_id) is None:
        raise errors.MISSING_ACCESS()
    return ChannelAccess(channel=ref, guild=None, permissions=_CONVERSATION, allowed=_CONVERSATION)


# In a conversation nobody manages anybody: everything of a text channel except power over others' messages and members.
_CONVERSATION = Permissions.TEXT & ~(
    Permissions.MANAGE_MESSAGES
    | Permissions.MANAGE_CHANNELS
    | Permissions.MANAGE_ROLES
    | Permissions.MANAGE_THREADS
    | Permissions.MANAGE_WEBHOOKS
    | Permissions.MENTION_EVERYONE
)


def _require_second_factor(call: Call, access: GuildAccess, bits: int) -> None:
    """A guild with mfa_level 1 asks two-factor of the person, or of the bot's owner, for elevated permissions."""
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
    """A member's roles without @everyone, lowest id first."""
    return sorted(RoleId(role) for role in standing.roles if role != standing.guild_id)

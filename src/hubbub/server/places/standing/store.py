"""SQL for permission checks.

The statements run for every message, and the cost of a statement outweighs the cost of its rows. So there is one
statement for the channel, its guild and the membership, and one for the member's roles and the channel's overwrites.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from hubbub.protocol.ids import ChannelId, GuildId, UserId
from hubbub.server.core.query_cache import CachedQuery
from hubbub.server.core.store import Tx
from hubbub.server.places.standing.models import ChannelRef

READS: Final = {
    "guilds": "owner and two-factor level, joined with the membership",
    "members": "membership and restrictions of the caller",
    "member_roles": "roles of the caller",
    "roles": "permission bits of the caller's roles",
    "channels": "the channel of a request, joined with its guild and membership",
    "overwrites": "permission overwrites of a channel",
    "thread_members": "membership in private threads",
    "recipients": "membership in direct messages and groups",
    "users": "second factor of the caller or of the bot's owner",
    "applications": "owner of a bot, for the second factor",
}
"""Tables of other slices that this slice reads, with the reason."""


class GuildMembership(NamedTuple):
    """The columns of a guild and of a user's membership in it that permission checks need."""

    owner_id: int
    mfa_level: int
    user_id: int | None
    """User ID of the member; None if the user is not a member, if an operator suspended the guild, and for a private
    channel, which has no guild. The columns after it are then None; for a private channel, `owner_id` and `mfa_level` are
    None as well."""
    pending: int
    flags: int
    timed_out_until_ms: int

    @property
    def is_member(self) -> bool:
        """Whether the user is a member of the guild; False for every user while the guild is suspended."""
        return self.user_id is not None


class HeldRole(NamedTuple):
    """The columns of a member's role that permission checks need."""

    id: int
    permissions: int
    position: int


class OtherMember(NamedTuple):
    """The columns of another member that permission checks need."""

    pending: int
    flags: int
    timed_out_until_ms: int


class Grants(NamedTuple):
    """Roles and overwrites that decide permissions in a channel, and the membership and roles of another user if requested."""

    roles: list[HeldRole]
    """Roles of the member, including @everyone."""
    overwrites: dict[int, tuple[int, int]]
    """Allow and deny bits of the channel's overwrites, by role or user ID."""
    other_member: OtherMember | None
    """Membership of the other user; None if they are not a member, or if it was not requested."""
    other_roles: list[HeldRole]
    """Roles of the other user without @everyone."""


_ROLE_ROW: Final = 0
"""Row kind of a role, in the first column of `_SELECT_GRANTS`. The other columns are its ID, permissions and position."""
_OVERWRITE_ROW: Final = 1
"""Row kind of an overwrite, in the first column of `_SELECT_GRANTS`. The other columns are its target ID, allow and deny bits."""
_OTHER_MEMBER_ROW: Final = 2
"""Row kind of the other user, in the first column of `_SELECT_GRANTS_WITH_MEMBER`. The other columns are those of `OtherMember`."""
_OTHER_ROLE_ROW: Final = 3
"""Row kind of a role of the other user, in the first column. The other columns are its ID, permissions and position."""

_REF_COLUMNS = ", ".join(ChannelRef._fields)
_MEMBERSHIP_COLUMNS = "g.owner_id, g.mfa_level, m.user_id, m.pending, m.flags, m.timed_out_until_ms"
_SELECT_CHANNEL_AND_MEMBERSHIP: Final = CachedQuery(
    f"SELECT {', '.join(f'c.{name}' for name in ChannelRef._fields)}, {_MEMBERSHIP_COLUMNS} FROM channels c "
    "LEFT JOIN guilds g ON g.id = c.guild_id LEFT JOIN members m ON m.guild_id = c.guild_id AND m.user_id = ? "
    "AND g.suspension_reason IS NULL "
    "WHERE c.id = ?"
)
_SELECT_GRANTS = (
    "SELECT 0, r.id, r.permissions, r.position FROM member_roles mr JOIN roles r ON r.id = mr.role_id "
    "WHERE mr.guild_id = ? AND mr.user_id = ? UNION ALL SELECT 0, id, permissions, position FROM roles WHERE id = ? "
    "UNION ALL SELECT 1, target_id, allow, deny FROM overwrites WHERE channel_id = ?"
)
# This query needs only the channel ID, so that it can be sent before the channel is read. Types 10 to 12 are threads, which
# have the overwrites of their parent.
_SELECT_GRANTS_IN_CHANNEL: Final = CachedQuery(
    "SELECT 0, r.id, r.permissions, r.position FROM channels c JOIN member_roles mr ON mr.guild_id = c.guild_id "
    "JOIN roles r ON r.id = mr.role_id WHERE c.id = ? AND mr.user_id = ? "
    "UNION ALL SELECT 0, r.id, r.permissions, r.position FROM channels c JOIN roles r ON r.id = c.guild_id WHERE c.id = ? "
    "UNION ALL SELECT 1, o.target_id, o.allow, o.deny FROM channels c JOIN overwrites o "
    "ON o.channel_id = CASE WHEN c.type IN (10, 11, 12) THEN COALESCE(c.parent_id, c.id) ELSE c.id END WHERE c.id = ?"
)
_SELECT_GRANTS_WITH_MEMBER = (
    f"{_SELECT_GRANTS} UNION ALL SELECT 2, pending, flags, timed_out_until_ms FROM members WHERE guild_id = ? AND user_id = ? "
    "UNION ALL SELECT 3, r.id, r.permissions, r.position FROM member_roles mr JOIN roles r ON r.id = mr.role_id "
    "WHERE mr.guild_id = ? AND mr.user_id = ?"
)
_SELECT_GRANTS_WITH_OTHER_ROLES = (
    f"{_SELECT_GRANTS} UNION ALL SELECT 3, role_id, 0, 0 FROM member_roles WHERE guild_id = ? AND user_id = ?"
)


def find_membership(tx: Tx, guild_id: int, user_id: int) -> GuildMembership | None:
    """Return a user's membership in a guild, or None if the guild does not exist."""
    return tx.find(
        GuildMembership,
        f"SELECT {_MEMBERSHIP_COLUMNS} FROM guilds g LEFT JOIN members m ON m.guild_id = g.id AND m.user_id = ? "
        "AND g.suspension_reason IS NULL WHERE g.id = ?",
        user_id,
        guild_id,
    )


def find_suspension_reason(tx: Tx, guild_id: int, user_id: int) -> str | None:
    """Return the reason why a guild is suspended if the user is a member, otherwise None."""
    reason: str | None = tx.value(
        "SELECT g.suspension_reason FROM guilds g JOIN members m ON m.guild_id = g.id AND m.user_id = ? WHERE g.id = ?",
        user_id,
        guild_id,
    )
    return reason


def list_roles(tx: Tx, guild_id: int, user_id: int) -> list[HeldRole]:
    """Return a member's roles, including @everyone."""
    return tx.fetch(
        HeldRole,
        "SELECT r.id, r.permissions, r.position FROM member_roles mr JOIN roles r ON r.id = mr.role_id "
        "WHERE mr.guild_id = ? AND mr.user_id = ? UNION ALL SELECT id, permissions, position FROM roles WHERE id = ?",
        guild_id,
        user_id,
        guild_id,
    )


def find_channel(tx: Tx, channel_id: int) -> ChannelRef | None:
    """Return a channel, or None, without a permission check."""
    row = tx.one(f"SELECT {_REF_COLUMNS} FROM channels WHERE id = ?", channel_id)
    return None if row is None else channel_ref(row)


def channel_ref(row: Sequence[Any]) -> ChannelRef:
    """Build a channel reference from its columns, in the order of the fields of `ChannelRef`."""
    # The database returns plain integers, but payloads that take IDs from the reference need the ID types.
    channel_id, guild_id, channel_type, parent_id, owner_id, *remaining_columns = row
    return ChannelRef(
        ChannelId(channel_id),
        None if guild_id is None else GuildId(guild_id),
        channel_type,
        None if parent_id is None else ChannelId(parent_id),
        None if owner_id is None else UserId(owner_id),
        *remaining_columns,
    )


def find_channel_and_membership(tx: Tx, channel_id: int, user_id: int) -> tuple[ChannelRef, GuildMembership] | None:
    """Return a channel and a user's membership in its guild, or None if the channel does not exist."""
    row = tx.one(_SELECT_CHANNEL_AND_MEMBERSHIP, user_id, channel_id)
    if row is None:
        return None
    channel_column_count = len(ChannelRef._fields)
    return channel_ref(row[:channel_column_count]), GuildMembership(*row[channel_column_count:])


def prefetch_grants(tx: Tx, channel_id: int, user_id: int) -> None:
    """Prefetch the query of `read_grants`, so that it needs no round trip of its own."""
    tx.prefetch(_SELECT_GRANTS_IN_CHANNEL, channel_id, user_id, channel_id, channel_id)


def read_grants(tx: Tx, channel_id: int, user_id: int) -> Grants:
    """Return a member's roles and the overwrites of a channel."""
    return _group_grants(tx.all(_SELECT_GRANTS_IN_CHANNEL, channel_id, user_id, channel_id, channel_id))


def _group_grants(rows: Iterable[tuple[int, ...]]) -> Grants:
    grants = Grants([], {}, None, [])
    for row_kind, *columns in rows:
        if row_kind == _ROLE_ROW:
            grants.roles.append(HeldRole(*columns))
        elif row_kind == _OVERWRITE_ROW:
            target_id, allow, deny = columns
            grants.overwrites[target_id] = (allow, deny)
        elif row_kind == _OTHER_ROLE_ROW:
            grants.other_roles.append(HeldRole(*columns))
        else:
            grants = grants._replace(other_member=OtherMember(*columns))
    return grants


def read_grants_with_member(tx: Tx, channel: ChannelRef, user_id: int, other_id: int) -> Grants:
    """Return a member's roles, the overwrites of a channel, and another user's membership and roles."""
    guild_id = channel.guild_id
    rows = tx.all(
        _SELECT_GRANTS_WITH_MEMBER,
        guild_id,
        user_id,
        guild_id,
        channel.overwrites_channel_id,
        guild_id,
        other_id,
        guild_id,
        other_id,
    )
    return _group_grants(rows)


def read_grants_with_other_roles(tx: Tx, channel: ChannelRef, user_id: int, other_id: int) -> Grants:
    """Return a member's roles, the overwrites of a channel, and another member's roles.

    The permissions and positions of the other member's roles are not read and set to 0."""
    guild_id = channel.guild_id
    rows = tx.all(
        _SELECT_GRANTS_WITH_OTHER_ROLES, guild_id, user_id, guild_id, channel.overwrites_channel_id, guild_id, other_id
    )
    return _group_grants(rows)


def find_overwrites(tx: Tx, channel_id: int) -> dict[int, tuple[int, int]]:
    """Return allow and deny bits of a channel's overwrites by role or user ID."""
    rows = tx.all("SELECT target_id, allow, deny FROM overwrites WHERE channel_id = ?", channel_id)
    return {target_id: (allow, deny) for target_id, allow, deny in rows}


def find_overwrites_of_guild(tx: Tx, guild_id: int) -> dict[int, dict[int, tuple[int, int]]]:
    """Return the overwrites of every channel of a guild by channel ID."""
    overwrites_by_channel: dict[int, dict[int, tuple[int, int]]] = {}
    for channel_id, target_id, allow, deny in tx.all(
        "SELECT o.channel_id, o.target_id, o.allow, o.deny FROM overwrites o JOIN channels c ON c.id = o.channel_id "
        "WHERE c.guild_id = ?",
        guild_id,
    ):
        overwrites_by_channel.setdefault(channel_id, {})[target_id] = (allow, deny)
    return overwrites_by_channel


def list_channels(tx: Tx, guild_id: int) -> list[tuple[Any, ...]]:
    """Return ID, type and parent ID of a guild's channels, without threads (types 10, 11 and 12)."""
    return tx.all("SELECT id, type, parent_id FROM channels WHERE guild_id = ? AND type NOT IN (10, 11, 12)", guild_id)


def is_thread_member(tx: Tx, thread_id: int, user_id: int) -> bool:
    """Return whether a user joined a thread."""
    return tx.value("SELECT 1 FROM thread_members WHERE thread_id = ? AND user_id = ?", thread_id, user_id) is not None


def is_recipient(tx: Tx, channel_id: int, user_id: int) -> bool:
    """Return whether a user is a recipient of a direct message or group."""
    return tx.value("SELECT 1 FROM recipients WHERE channel_id = ? AND user_id = ?", channel_id, user_id) is not None


def has_second_factor(tx: Tx, user_id: int) -> bool:
    """Return whether a user, or for a bot its owner, has two-factor authentication."""
    return bool(
        tx.value(
            "SELECT u.mfa_enabled FROM users u "
            "WHERE u.id = COALESCE((SELECT owner_id FROM applications WHERE bot_id = ?), ?)",
            user_id,
            user_id,
        )
    )

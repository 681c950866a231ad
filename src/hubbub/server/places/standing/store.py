"""SQL for permission checks.

The statements run for every message, and the cost of a statement outweighs the cost of its rows. So there is one
statement for the channel, its guild and the membership, and one for the member's roles and the channel's overwrites.
"""

from collections.abc import Sequence
from typing import Any, Final

from hubbub.protocol.ids import ChannelId, GuildId, UserId
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

Membership = tuple[Any, ...]
"""The guild's `owner_id` and `mfa_level`, then the member's `user_id` (None if not a member), `pending`, `flags` and
`timed_out_until_ms`."""

ROLE: Final = 0
"""First column of a role in the rows of `list_grants`; then its ID, permissions and position."""
OVERWRITE: Final = 1
"""First column of an overwrite in the rows of `list_grants`; then its target, allow and deny bits."""
OTHER_MEMBER: Final = 2
"""First column of the other user in `list_grants_with_member`; then `pending`, `flags` and `timed_out_until_ms`."""
OTHER_ROLE: Final = 3
"""First column of a role of the other user; then its ID, permissions and position."""

Grants = list[tuple[int, ...]]
"""Roles and overwrites that decide permissions in a channel; the first column distinguishes them."""

_REF_COLUMNS = ", ".join(ChannelRef._fields)
_MEMBERSHIP_COLUMNS = "g.owner_id, g.mfa_level, m.user_id, m.pending, m.flags, m.timed_out_until_ms"
_SELECT_CHANNEL_AND_MEMBERSHIP = (
    f"SELECT {', '.join(f'c.{name}' for name in ChannelRef._fields)}, {_MEMBERSHIP_COLUMNS} FROM channels c "
    "LEFT JOIN guilds g ON g.id = c.guild_id LEFT JOIN members m ON m.guild_id = c.guild_id AND m.user_id = ? "
    "WHERE c.id = ?"
)
_SELECT_GRANTS = (
    "SELECT 0, r.id, r.permissions, r.position FROM member_roles mr JOIN roles r ON r.id = mr.role_id "
    "WHERE mr.guild_id = ? AND mr.user_id = ? UNION ALL SELECT 0, id, permissions, position FROM roles WHERE id = ? "
    "UNION ALL SELECT 1, target_id, allow, deny FROM overwrites WHERE channel_id = ?"
)
_SELECT_GRANTS_WITH_MEMBER = (
    f"{_SELECT_GRANTS} UNION ALL SELECT 2, pending, flags, timed_out_until_ms FROM members WHERE guild_id = ? AND user_id = ? "
    "UNION ALL SELECT 3, r.id, r.permissions, r.position FROM member_roles mr JOIN roles r ON r.id = mr.role_id "
    "WHERE mr.guild_id = ? AND mr.user_id = ?"
)
_SELECT_GRANTS_WITH_ROLES_OF = (
    f"{_SELECT_GRANTS} UNION ALL SELECT 3, role_id, 0, 0 FROM member_roles WHERE guild_id = ? AND user_id = ?"
)


def find_membership(tx: Tx, guild_id: int, user_id: int) -> Membership | None:
    """Return a guild and a user's membership in it, or None if the guild does not exist."""
    return tx.one(
        f"SELECT {_MEMBERSHIP_COLUMNS} FROM guilds g LEFT JOIN members m ON m.guild_id = g.id AND m.user_id = ? WHERE g.id = ?",
        user_id,
        guild_id,
    )


def list_roles(tx: Tx, guild_id: int, user_id: int) -> list[tuple[int, ...]]:
    """Return ID, permissions and position of a member's roles, including @everyone."""
    return tx.all(
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
    channel_id, guild_id, channel_type, parent_id, owner_id, *rest = row
    return ChannelRef(
        ChannelId(channel_id),
        None if guild_id is None else GuildId(guild_id),
        channel_type,
        None if parent_id is None else ChannelId(parent_id),
        None if owner_id is None else UserId(owner_id),
        *rest,
    )


def find_channel_and_membership(tx: Tx, channel_id: int, user_id: int) -> tuple[ChannelRef, Membership] | None:
    """Return a channel and a user's membership in its guild, or None if the channel does not exist."""
    row = tx.one(_SELECT_CHANNEL_AND_MEMBERSHIP, user_id, channel_id)
    return None if row is None else (channel_ref(row[:-6]), row[-6:])


def list_grants(tx: Tx, ref: ChannelRef, user_id: int) -> Grants:
    """Return a member's roles and the overwrites of a channel."""
    return tx.all(_SELECT_GRANTS, ref.guild_id, user_id, ref.guild_id, ref.overwrites_channel_id)


def list_grants_with_member(tx: Tx, ref: ChannelRef, user_id: int, other_id: int) -> Grants:
    """Return the rows of `list_grants` together with another user's membership and roles."""
    guild_id = ref.guild_id
    return tx.all(
        _SELECT_GRANTS_WITH_MEMBER,
        guild_id,
        user_id,
        guild_id,
        ref.overwrites_channel_id,
        guild_id,
        other_id,
        guild_id,
        other_id,
    )


def list_grants_with_roles_of(tx: Tx, ref: ChannelRef, user_id: int, other_id: int) -> Grants:
    """Return the rows of `list_grants` together with another member's roles, whose permissions and positions are set to 0."""
    guild_id = ref.guild_id
    return tx.all(
        _SELECT_GRANTS_WITH_ROLES_OF, guild_id, user_id, guild_id, ref.overwrites_channel_id, guild_id, other_id
    )


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

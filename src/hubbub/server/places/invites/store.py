"""SQL for the invites and invite_targets tables."""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import msgspec

from hubbub.protocol import codec
from hubbub.protocol.ids import RoleId
from hubbub.server.core.batches import batches
from hubbub.server.core.personal_data import GUILD_RECORD, OTHER_USER, Erasure, PersonalColumn
from hubbub.server.core.store import Tx, placeholders

TABLES: Final = (
    "invite_targets",
    "invites",
)
"""Tables that only this slice writes."""
PERSONAL_DATA: Final = (
    PersonalColumn(column="invite_targets.user_id", erasure=Erasure.DELETED, omission=GUILD_RECORD),
    PersonalColumn(
        column="invites.inviter_id",
        erasure=Erasure.CLEARED,
        reason="Members continue to use the invite.",
        export="invites",
    ),
    PersonalColumn(column="invites.target_user_id", erasure=Erasure.DELETED, omission=OTHER_USER),
)
"""Columns of these tables that contain IDs of users."""
READS: Final = {
    "channels": "the channel of a vanity invite",
    "guilds": "the vanity code of a guild",
}
"""Tables of other slices that this slice reads, with the reason."""


class TargetsProgress(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Progress of storing a target user list.

    Stored as JSON: add fields with a default, never rename."""

    total: int
    """Number of users in the list."""
    processed: int
    """Number of users that are already stored."""
    created_ms: int
    """Time of the upload in Unix milliseconds."""
    completed_ms: int | None = None
    """Time at which the last user was stored, in Unix milliseconds; None before."""
    header: str | None = None
    """First line of the uploaded file; None if it is empty or starts with a digit."""


class InviteRow(NamedTuple):
    """An invite: a row of the invites table, or the synthetic invite of a vanity code."""

    code: str
    guild_id: int | None
    """Guild ID; None for a group invite."""
    channel_id: int
    inviter_id: int | None
    """ID of the user who created the invite; None for a vanity code and for the invite of a widget."""
    created_ms: int
    """Creation time in Unix milliseconds; 0 for a vanity code."""
    expires_ms: int | None
    """Expiry in Unix milliseconds; None if the invite does not expire."""
    max_age: int
    """Lifetime in seconds; 0 if the invite does not expire."""
    max_uses: int
    """Maximum number of uses; 0 means no limit."""
    uses: int = 0
    temporary: int = 0
    flags: int = 0
    target_type: int | None = None
    target_user_id: int | None = None
    target_application_id: int | None = None
    role_ids: str = "[]"
    """JSON list of the IDs of the roles to grant."""
    targets: str | None = None
    """`TargetsProgress` as JSON; None if any user may accept the invite."""

    @property
    def granted_role_ids(self) -> list[RoleId]:
        """The IDs of the roles to grant; some may have been deleted."""
        return codec.decode(self.role_ids, list[RoleId])

    @property
    def targets_progress(self) -> TargetsProgress | None:
        """The progress of the target user list; None if any user may accept the invite."""
        return None if self.targets is None else codec.decode(self.targets, TargetsProgress)

    @property
    def is_vanity(self) -> bool:
        """Whether the invite is the synthetic invite of a vanity code, which has no row in the table."""
        return not self.created_ms

    def is_expired(self, now_ms: int) -> bool:
        """Return whether the invite has expired at `now_ms` (Unix milliseconds). Its row exists until the job deletes it."""
        return self.expires_ms is not None and self.expires_ms <= now_ms


COLUMNS = ", ".join(InviteRow._fields)


def find(tx: Tx, code: str) -> InviteRow | None:
    return tx.find(InviteRow, f"SELECT {COLUMNS} FROM invites WHERE code = ?", code)


def list_guild_invites(tx: Tx, guild_id: int, now_ms: int) -> list[InviteRow]:
    """Return a guild's unexpired invites, oldest first."""
    return tx.fetch(
        InviteRow,
        f"SELECT {COLUMNS} FROM invites WHERE guild_id = ? AND (expires_ms IS NULL OR expires_ms > ?) "
        "ORDER BY created_ms, code",
        guild_id,
        now_ms,
    )


def list_channel_invites(tx: Tx, channel_ids: Iterable[int], now_ms: int = 0) -> list[InviteRow]:
    """Return the invites to the given channels that are unexpired at `now_ms` (Unix milliseconds), or all if it is 0.

    The invites to one channel are sorted by creation time."""
    rows: list[InviteRow] = []
    for batch in batches(channel_ids):
        rows += tx.fetch(
            InviteRow,
            f"SELECT {COLUMNS} FROM invites WHERE channel_id IN ({placeholders(batch)}) "
            "AND (expires_ms IS NULL OR expires_ms > ?) ORDER BY created_ms, code",
            *batch,
            now_ms,
        )
    return rows


def count(tx: Tx, guild_id: int, now_ms: int) -> int:
    """Return the number of a guild's unexpired invites."""
    return int(
        tx.value(
            "SELECT COUNT(*) FROM invites WHERE guild_id = ? AND (expires_ms IS NULL OR expires_ms > ?)",
            guild_id,
            now_ms,
        )
    )


def find_reusable(tx: Tx, template: InviteRow, expires_after_ms: int) -> InviteRow | None:
    """Return the newest invite without target users that has the inviter, channel and settings of `template`, or None.

    It must expire after `expires_after_ms` (Unix milliseconds) or never. If its uses are limited, it must be unused."""
    return tx.find(
        InviteRow,
        f"SELECT {COLUMNS} FROM invites WHERE channel_id = ? AND inviter_id = ? AND max_age = ? AND max_uses = ? "
        "AND temporary = ? AND role_ids = ? AND COALESCE(target_type, 0) = ? AND COALESCE(target_user_id, 0) = ? "
        "AND COALESCE(target_application_id, 0) = ? AND targets IS NULL AND (max_uses = 0 OR uses = 0) "
        "AND (expires_ms IS NULL OR expires_ms > ?) ORDER BY created_ms DESC, code LIMIT 1",
        template.channel_id,
        template.inviter_id,
        template.max_age,
        template.max_uses,
        template.temporary,
        template.role_ids,
        template.target_type or 0,
        template.target_user_id or 0,
        template.target_application_id or 0,
        expires_after_ms,
    )


def insert(tx: Tx, row: InviteRow) -> bool:
    """Insert an invite; return False if its code is taken."""
    return bool(tx.run(f"INSERT INTO invites ({COLUMNS}) VALUES ({placeholders(row)}) ON CONFLICT DO NOTHING", *row))


def find_vanity_channel(tx: Tx, guild_id: int) -> int | None:
    """Return the ID of the channel that a vanity code leads to, or None if the guild has no suitable channel.

    It is the system channel, or else the first text (0) or announcement (5) channel."""
    channel_id: int | None = tx.value(
        "SELECT c.id FROM channels c JOIN guilds g ON g.id = c.guild_id WHERE c.guild_id = ? AND c.type IN (0, 5) "
        "ORDER BY CASE WHEN c.id = g.system_channel_id THEN 0 ELSE 1 END, c.position, c.id LIMIT 1",
        guild_id,
    )
    return channel_id


def increment_uses(tx: Tx, code: str) -> None:
    tx.run("UPDATE invites SET uses = uses + 1 WHERE code = ?", code)


def delete(tx: Tx, code: str) -> None:
    """Delete an invite and its target users."""
    tx.run("DELETE FROM invite_targets WHERE code = ?", code)
    tx.run("DELETE FROM invites WHERE code = ?", code)


def is_target(tx: Tx, code: str, user_id: int) -> bool:
    return tx.value("SELECT 1 FROM invite_targets WHERE code = ? AND user_id = ?", code, user_id) is not None


def list_target_ids(tx: Tx, code: str) -> list[int]:
    """Return the IDs of an invite's target users, in ascending order."""
    return [row[0] for row in tx.all("SELECT user_id FROM invite_targets WHERE code = ? ORDER BY user_id", code)]


def add_targets(tx: Tx, code: str, user_ids: Sequence[int]) -> None:
    """Add target users to an invite. Existing target users are ignored."""
    tx.run_many(
        "INSERT INTO invite_targets (code, user_id) VALUES (?, ?) ON CONFLICT DO NOTHING",
        [(code, user_id) for user_id in user_ids],
    )


def clear_targets(tx: Tx, code: str) -> None:
    tx.run("DELETE FROM invite_targets WHERE code = ?", code)


def set_targets_progress(tx: Tx, code: str, progress: TargetsProgress) -> None:
    tx.run("UPDATE invites SET targets = ? WHERE code = ?", codec.encode(progress).decode(), code)


def delete_guild_invites(tx: Tx, guild_id: int) -> None:
    """Delete all invites of a guild and their target users."""
    tx.run("DELETE FROM invite_targets WHERE code IN (SELECT code FROM invites WHERE guild_id = ?)", guild_id)
    tx.run("DELETE FROM invites WHERE guild_id = ?", guild_id)


def list_by_inviter(tx: Tx, user_id: int) -> list[InviteRow]:
    """Return the invites that a user created, oldest first."""
    return tx.fetch(InviteRow, f"SELECT {COLUMNS} FROM invites WHERE inviter_id = ? ORDER BY created_ms, code", user_id)


def list_by_target_user(tx: Tx, user_id: int) -> list[InviteRow]:
    """Return the invites to the stream of a user."""
    return tx.fetch(InviteRow, f"SELECT {COLUMNS} FROM invites WHERE target_user_id = ? ORDER BY code", user_id)


def clear_user(tx: Tx, user_id: int) -> None:
    """Remove a deleted user from the invites that they created, and from the lists of targets."""
    tx.run("UPDATE invites SET inviter_id = NULL WHERE inviter_id = ?", user_id)
    tx.run("DELETE FROM invite_targets WHERE user_id = ?", user_id)

"""SQL for the audit_log table."""

from typing import Any, Final, NamedTuple

import msgspec

from hubbub.protocol.enums import AuditLogAction
from hubbub.protocol.resources.audit_log import oldest_entry_id
from hubbub.server.core.personal_data import GUILD_RECORD, Erasure, PersonalColumn
from hubbub.server.core.store import Tx, placeholders

TABLES: Final = ("audit_log",)
"""Tables that only this slice writes."""
PERSONAL_DATA: Final = (
    PersonalColumn(
        column="audit_log.target_id", erasure=Erasure.KEPT, reason="Kept for 45 days.", omission=GUILD_RECORD
    ),
    PersonalColumn(column="audit_log.user_id", erasure=Erasure.KEPT, reason="Kept for 45 days.", omission=GUILD_RECORD),
)
"""Columns of these tables that contain IDs of users."""


class EntryRow(NamedTuple):
    """An audit log entry of a guild. The column `guild_id` is not part of the row."""

    id: int
    user_id: int | None
    """ID of the user who took the action; None if the platform took it."""
    target_id: int | None
    """ID of the affected object; None if the action has no target."""
    action_type: int
    """Value of an `AuditLogAction`."""
    changes: str | None
    """JSON list of `AuditLogChange`; None without changes."""
    options: str | None
    """JSON object with string values; None without options."""
    reason: str | None


COLUMNS = ", ".join(EntryRow._fields)


def list_page(
    tx: Tx,
    guild_id: int,
    now_ms: int,
    *,
    filters: dict[str, int],
    before: int | None,
    after: int | None,
    limit: int,
) -> list[EntryRow]:
    """Return a page of a guild's unexpired log entries, newest first, or oldest first if only `after` is set.

    `now_ms` is in Unix milliseconds. `filters` are required values by column name. `before` takes precedence over `after`
    (spec/http.md#1.10)."""
    is_ascending = after is not None and before is None
    conditions = ["guild_id = ?", "id >= ?"]
    parameters: list[Any] = [guild_id, oldest_entry_id(now_ms)]
    for column, value in filters.items():
        conditions.append(f"{column} = ?")
        parameters.append(value)
    if before is not None:
        conditions.append("id < ?")
        parameters.append(before)
    elif after is not None:
        conditions.append("id > ?")
        parameters.append(after)
    sort_order = "ASC" if is_ascending else "DESC"
    return tx.fetch(
        EntryRow,
        f"SELECT {COLUMNS} FROM audit_log WHERE {' AND '.join(conditions)} ORDER BY id {sort_order} LIMIT ?",
        *parameters,
        limit,
    )


def insert(tx: Tx, guild_id: int, row: EntryRow) -> None:
    tx.run(f"INSERT INTO audit_log (guild_id, {COLUMNS}) VALUES (?, {placeholders(row)})", guild_id, *row)


def delete_expired(tx: Tx, guild_id: int, oldest_id: int, *, limit: int) -> None:
    """Delete the oldest entries with a lower ID than `oldest_id`, at most `limit` of them."""
    tx.run(
        "DELETE FROM audit_log WHERE guild_id = ? AND id IN "
        "(SELECT id FROM audit_log WHERE guild_id = ? AND id < ? ORDER BY id LIMIT ?)",
        guild_id,
        guild_id,
        oldest_id,
        limit,
    )


def find_deletion_entry(
    tx: Tx, guild_id: int, actor_id: int, author_id: int, channel_id: int, since_id: int, reason: str | None
) -> tuple[int, int] | None:
    """Return the ID and count of the newest MESSAGE_DELETE entry for an author's messages in a channel, or None.

    The entry must have an ID of at least `since_id`, the user `actor_id` and the reason `reason`."""
    for entry_id, options, entry_reason in tx.all(
        "SELECT id, options, reason FROM audit_log WHERE guild_id = ? AND id >= ? AND action_type = ? AND user_id = ? "
        "AND target_id = ? ORDER BY id DESC",
        guild_id,
        since_id,
        int(AuditLogAction.MESSAGE_DELETE),
        actor_id,
        author_id,
    ):
        entry_options: dict[str, str] = msgspec.json.decode(options)
        if entry_options.get("channel_id") == str(int(channel_id)) and entry_reason == reason:
            return entry_id, int(entry_options["count"])
    return None


def set_deletion_count(tx: Tx, guild_id: int, entry_id: int, channel_id: int, count: int) -> None:
    """Replace the channel and the count of an audit log entry for deleted messages."""
    options = msgspec.json.encode({"channel_id": str(int(channel_id)), "count": str(count)}).decode()
    tx.run("UPDATE audit_log SET options = ? WHERE guild_id = ? AND id = ?", options, guild_id, entry_id)


def delete_guild_log(tx: Tx, guild_id: int) -> None:
    tx.run("DELETE FROM audit_log WHERE guild_id = ?", guild_id)

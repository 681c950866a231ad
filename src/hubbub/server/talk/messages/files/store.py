"""SQL for the uploaded files of messages and for storage quotas."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from hubbub.server.core.personal_data import OPERATOR_RECORD, Erasure, PersonalColumn
from hubbub.server.core.store import Tx, escape_pattern, placeholders

TABLES: Final = ("message_files", "storage_quotas")
"""Tables that only this slice writes."""
PERSONAL_DATA: Final = (
    PersonalColumn(column="message_files.owner_id", erasure=Erasure.WRITTEN, export="messages"),
    PersonalColumn(column="storage_quotas.owner_id", erasure=Erasure.DELETED, omission=OPERATOR_RECORD),
)
"""Columns of these tables that contain IDs of users."""


class FileRow(NamedTuple):
    """An uploaded file of a message."""

    id: int
    """ID of the attachment."""
    channel_id: int
    message_id: int
    guild_id: int | None
    owner_id: int
    """ID of the user, bot or webhook that uploaded the file."""
    size: int
    """Size in bytes."""
    filename: str


class Usage(NamedTuple):
    """Number and size of stored files."""

    file_count: int
    total_bytes: int


class OwnerUsage(NamedTuple):
    """Number and size of the stored files of a user, bot, webhook or guild."""

    owner_id: int
    file_count: int
    total_bytes: int


_COLUMNS: Final = ", ".join(FileRow._fields)


def insert(tx: Tx, rows: Sequence[FileRow]) -> None:
    """Insert files. A file that already has a row, because another message contains it, keeps that row."""
    for row in rows:
        tx.send(
            f"INSERT INTO message_files ({_COLUMNS}) VALUES ({placeholders(row)}) ON CONFLICT (id) DO NOTHING", *row
        )


def find(tx: Tx, file_id: int) -> FileRow | None:
    return tx.find(FileRow, f"SELECT {_COLUMNS} FROM message_files WHERE id = ?", file_id)


def list_ids(tx: Tx, channel_id: int, message_id: int) -> list[int]:
    rows = tx.all("SELECT id FROM message_files WHERE channel_id = ? AND message_id = ?", channel_id, message_id)
    return [row[0] for row in rows]


def delete(tx: Tx, file_ids: Sequence[int]) -> None:
    """Delete the rows of files."""
    tx.send(f"DELETE FROM message_files WHERE id IN ({placeholders(file_ids)})", *file_ids)


def list_largest(
    tx: Tx,
    *,
    guild_id: int | None,
    owner_id: int | None,
    name_part: str,
    before: tuple[int, int] | None,
    limit: int,
) -> list[FileRow]:
    """Return files by descending size; None for `guild_id` or `owner_id`, and an empty `name_part`, mean any.

    `before` is the size and the ID of the last file of the previous page."""
    where, parameters = "1 = 1", list[object]()
    for column, value in (("guild_id", guild_id), ("owner_id", owner_id)):
        if value is not None:
            where += f" AND {column} = ?"
            parameters.append(value)
    if name_part:
        where += " AND LOWER(filename) LIKE ? ESCAPE '\\'"
        parameters.append(f"%{escape_pattern(name_part.lower())}%")
    if before is not None:
        where += " AND (size < ? OR (size = ? AND id < ?))"
        parameters += [before[0], before[0], before[1]]
    return tx.fetch(
        FileRow,
        f"SELECT {_COLUMNS} FROM message_files WHERE {where} ORDER BY size DESC, id DESC LIMIT ?",
        *parameters,
        limit,
    )


# Usage


def read_total_usage(tx: Tx) -> Usage:
    """Return the number and size of all files."""
    return _usage(tx.one("SELECT COUNT(*), COALESCE(SUM(size), 0) FROM message_files"))


def read_owner_usage(tx: Tx, owner_id: int) -> Usage:
    """Return the number and size of the files that a user, bot or webhook uploaded."""
    return _usage(tx.one("SELECT COUNT(*), COALESCE(SUM(size), 0) FROM message_files WHERE owner_id = ?", owner_id))


def read_guild_usage(tx: Tx, guild_id: int) -> Usage:
    """Return the number and size of the files in a guild."""
    return _usage(tx.one("SELECT COUNT(*), COALESCE(SUM(size), 0) FROM message_files WHERE guild_id = ?", guild_id))


def list_largest_owners(tx: Tx, limit: int) -> list[OwnerUsage]:
    """Return the users, bots and webhooks with the largest sum of file sizes."""
    return _list_usages(tx, "owner_id", limit)


def list_largest_guilds(tx: Tx, limit: int) -> list[OwnerUsage]:
    """Return the guilds with the largest sum of file sizes."""
    return _list_usages(tx, "guild_id", limit)


def _list_usages(tx: Tx, column: str, limit: int) -> list[OwnerUsage]:
    rows = tx.all(
        f"SELECT {column}, COUNT(*), SUM(size) FROM message_files WHERE {column} IS NOT NULL "
        f"GROUP BY {column} ORDER BY SUM(size) DESC, {column} LIMIT ?",
        limit,
    )
    return [OwnerUsage(owner_id, file_count, int(total_bytes)) for owner_id, file_count, total_bytes in rows]


def _usage(row: tuple[int, int] | None) -> Usage:
    file_count, total_bytes = row or (0, 0)
    return Usage(file_count, int(total_bytes))


# Quotas


def find_quota(tx: Tx, owner_id: int) -> int | None:
    """Return the quota of an account or guild in bytes, or None if the default applies."""
    quota_bytes: int | None = tx.value("SELECT bytes FROM storage_quotas WHERE owner_id = ?", owner_id)
    return quota_bytes


def set_quota(tx: Tx, owner_id: int, quota_bytes: int | None) -> None:
    """Set the quota of an account or guild in bytes; None restores the default."""
    if quota_bytes is None:
        tx.run("DELETE FROM storage_quotas WHERE owner_id = ?", owner_id)
        return
    tx.run(
        "INSERT INTO storage_quotas (owner_id, bytes) VALUES (?, ?) "
        "ON CONFLICT (owner_id) DO UPDATE SET bytes = excluded.bytes",
        owner_id,
        quota_bytes,
    )


def delete_quota(tx: Tx, owner_id: int) -> None:
    """Delete the quota that an operator set for a user."""
    tx.run("DELETE FROM storage_quotas WHERE owner_id = ?", owner_id)

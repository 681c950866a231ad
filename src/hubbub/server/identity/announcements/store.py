"""SQL for announcements and their dismissals."""

from typing import Final, NamedTuple

from hubbub.server.core.personal_data import OPERATOR_RECORD, TECHNICAL, Erasure, PersonalColumn
from hubbub.server.core.store import Tx, placeholders

TABLES: Final = ("announcement_dismissals", "announcements")
"""Tables that only this slice writes."""
PERSONAL_DATA: Final = (
    PersonalColumn(column="announcement_dismissals.user_id", erasure=Erasure.DELETED, omission=TECHNICAL),
    PersonalColumn(
        column="announcements.operator_id", erasure=Erasure.KEPT, reason=OPERATOR_RECORD, omission=OPERATOR_RECORD
    ),
)
"""Columns of these tables that contain IDs of users."""


class AnnouncementRow(NamedTuple):
    """An announcement of an operator to all users."""

    id: int
    operator_id: int | None
    """ID of the operator; None for the command line."""
    level: str
    """Value of `AnnouncementLevel`."""
    content: str
    starts_ms: int
    ends_ms: int


_COLUMNS = ", ".join(AnnouncementRow._fields)


def insert(tx: Tx, row: AnnouncementRow) -> None:
    tx.run(f"INSERT INTO announcements ({_COLUMNS}) VALUES ({placeholders(row)})", *row)


def find(tx: Tx, announcement_id: int) -> AnnouncementRow | None:
    return tx.find(AnnouncementRow, f"SELECT {_COLUMNS} FROM announcements WHERE id = ?", announcement_id)


def list_page(tx: Tx, *, before_id: int | None, limit: int) -> list[AnnouncementRow]:
    """Return announcements in any state, newest first."""
    if before_id is None:
        return tx.fetch(AnnouncementRow, f"SELECT {_COLUMNS} FROM announcements ORDER BY id DESC LIMIT ?", limit)
    sql = f"SELECT {_COLUMNS} FROM announcements WHERE id < ? ORDER BY id DESC LIMIT ?"
    return tx.fetch(AnnouncementRow, sql, before_id, limit)


def list_active(tx: Tx, user_id: int, now_ms: int) -> list[AnnouncementRow]:
    """Return the announcements that are shown now and that a user has not dismissed, oldest first."""
    return tx.fetch(
        AnnouncementRow,
        f"SELECT {_COLUMNS} FROM announcements a WHERE ends_ms > ? AND starts_ms <= ? AND NOT EXISTS "
        "(SELECT 1 FROM announcement_dismissals d WHERE d.announcement_id = a.id AND d.user_id = ?) ORDER BY id",
        now_ms,
        now_ms,
        user_id,
    )


def set_end(tx: Tx, announcement_id: int, ends_ms: int) -> None:
    tx.run("UPDATE announcements SET ends_ms = ? WHERE id = ?", ends_ms, announcement_id)


def dismiss(tx: Tx, announcement_id: int, user_id: int) -> None:
    """Record that a user dismissed an announcement."""
    tx.run(
        "INSERT INTO announcement_dismissals (announcement_id, user_id) VALUES (?, ?) ON CONFLICT DO NOTHING",
        announcement_id,
        user_id,
    )


def count_dismissals(tx: Tx, announcement_id: int) -> int:
    """Return the number of users who dismissed an announcement."""
    return int(tx.value("SELECT COUNT(*) FROM announcement_dismissals WHERE announcement_id = ?", announcement_id))


def delete_dismissals(tx: Tx, user_id: int) -> None:
    tx.run("DELETE FROM announcement_dismissals WHERE user_id = ?", user_id)

"""SQL for the application_testers table."""

from typing import Final, NamedTuple

from hubbub.server.core.personal_data import Erasure, PersonalColumn
from hubbub.server.core.store import Tx, placeholders

TABLES: Final = ("application_testers",)
"""Tables that only this slice writes."""
PERSONAL_DATA: Final = (
    PersonalColumn(column="application_testers.user_id", erasure=Erasure.DELETED, export="application_tests"),
)
"""Columns of these tables that contain IDs of users."""

TESTER_INVITED: Final = 1
"""State of a tester who has not accepted the invitation yet."""
TESTER_ACCEPTED: Final = 2
"""State of a tester who accepted the invitation."""


class TesterRow(NamedTuple):
    """A tester of an application, or an invitation to become a tester."""

    application_id: int
    user_id: int
    state: int
    """TESTER_INVITED or TESTER_ACCEPTED."""
    created_ms: int


_TESTER_COLUMNS = ", ".join(TesterRow._fields)


def find_tester(tx: Tx, application_id: int, user_id: int) -> TesterRow | None:
    """Return a tester or an invitation, or None."""
    sql = f"SELECT {_TESTER_COLUMNS} FROM application_testers WHERE application_id = ? AND user_id = ?"
    return tx.find(TesterRow, sql, application_id, user_id)


def is_tester(tx: Tx, application_id: int, user_id: int) -> bool:
    """Return whether a user accepted the invitation to test an application.

    Limits of unapproved applications do not apply to testers."""
    row = find_tester(tx, application_id, user_id)
    return row is not None and row.state == TESTER_ACCEPTED


def list_testers(tx: Tx, application_id: int) -> list[TesterRow]:
    """List the testers and invitations of an application, oldest first."""
    sql = f"SELECT {_TESTER_COLUMNS} FROM application_testers WHERE application_id = ? ORDER BY created_ms, user_id"
    return tx.fetch(TesterRow, sql, application_id)


def list_user_tester_rows(tx: Tx, user_id: int) -> list[TesterRow]:
    """List the tester rows and invitations of a user, oldest first."""
    sql = f"SELECT {_TESTER_COLUMNS} FROM application_testers WHERE user_id = ? ORDER BY created_ms, application_id"
    return tx.fetch(TesterRow, sql, user_id)


def save_tester(tx: Tx, row: TesterRow) -> None:
    """Insert a tester or update the state of the invitation."""
    tx.run(
        f"INSERT INTO application_testers ({_TESTER_COLUMNS}) VALUES ({placeholders(row)}) "
        "ON CONFLICT (application_id, user_id) DO UPDATE SET state = excluded.state",
        *row,
    )


def delete_tester(tx: Tx, application_id: int, user_id: int) -> bool:
    """Delete a tester or an invitation. Return False if there was none."""
    return bool(
        tx.run("DELETE FROM application_testers WHERE application_id = ? AND user_id = ?", application_id, user_id)
    )


def delete_tester_from_all(tx: Tx, user_id: int) -> None:
    """Delete a user from the testers of every application."""
    tx.run("DELETE FROM application_testers WHERE user_id = ?", user_id)

"""SQL for features that operators switched off."""

from typing import Final, NamedTuple

from hubbub.server.core.personal_data import OPERATOR_RECORD, Erasure, PersonalColumn
from hubbub.server.core.store import Tx, placeholders

TABLES: Final = ("feature_switches",)
"""Tables that only this slice writes."""
PERSONAL_DATA: Final = (
    PersonalColumn(
        column="feature_switches.operator_id", erasure=Erasure.KEPT, reason=OPERATOR_RECORD, omission=OPERATOR_RECORD
    ),
)
"""Columns of these tables that contain IDs of users."""


class SwitchRow(NamedTuple):
    """A feature that is switched off."""

    name: str
    """Value of `Feature`."""
    operator_id: int | None
    """ID of the operator; None for the command line."""
    message: str | None
    changed_ms: int


_COLUMNS = ", ".join(SwitchRow._fields)


def find(tx: Tx, name: str) -> SwitchRow | None:
    """Return the row of a disabled feature, or None if the feature is enabled."""
    return tx.find(SwitchRow, f"SELECT {_COLUMNS} FROM feature_switches WHERE name = ?", name)


def list_off(tx: Tx) -> dict[str, SwitchRow]:
    """Return the features that are off, by name."""
    return {row.name: row for row in tx.fetch(SwitchRow, f"SELECT {_COLUMNS} FROM feature_switches")}


def insert(tx: Tx, row: SwitchRow) -> None:
    """Switch a feature off, or replace its message."""
    tx.run(
        f"INSERT INTO feature_switches ({_COLUMNS}) VALUES ({placeholders(row)}) ON CONFLICT (name) DO UPDATE "
        "SET operator_id = excluded.operator_id, message = excluded.message, changed_ms = excluded.changed_ms",
        *row,
    )


def delete(tx: Tx, name: str) -> None:
    """Switch a feature on."""
    tx.run("DELETE FROM feature_switches WHERE name = ?", name)

"""Declarations of the columns that contain IDs of users.

A declaration names what the deletion of an account does to the rows, and the section of the data export that has them. The
`store.py` of a slice lists the columns of its tables in `PERSONAL_DATA`, next to `TABLES`. A test walks the schema and fails
for a column without a declaration; other tests delete and export a user with a row in each column (decisions/0167).
"""

from enum import StrEnum
from typing import Any, Final

import msgspec

from hubbub.protocol import codec


class Erasure(StrEnum):
    """What happens to a row when an operator deletes the account with everything that the user wrote."""

    DELETED = "deleted"
    """The row is deleted with the account, also if the user deletes it."""
    WRITTEN = "written"
    """The row is deleted because the user wrote it; it stays without a name if the user deletes the account."""
    CLEARED = "cleared"
    """The row stays without the ID of the user."""
    EXPIRES = "expires"
    """The row ends by itself soon, for example with a session."""
    KEPT = "kept"
    """The row stays."""
    REJECTED = "rejected"
    """The account cannot be deleted while the row exists."""


class PersonalColumn(msgspec.Struct, frozen=True, kw_only=True):
    """The declaration of a column with IDs of users."""

    column: str
    """Table and column, for example `reactions.user_id`."""
    erasure: Erasure
    reason: str = ""
    """Why the row stays, or when it ends; empty for a row that the deletion deletes."""
    export: str = ""
    """Section of the data export; empty if the export does not contain the row."""
    omission: str = ""
    """Why the export does not contain the row; empty if it does."""

    @property
    def table(self) -> str:
        """Name of the table."""
        return self.column.partition(".")[0]

    @property
    def name(self) -> str:
        """Name of the column without its table."""
        return self.column.partition(".")[2]


# Reasons that several slices use.
SECRET: Final = "A secret or its hash."
TECHNICAL: Final = "A technical state without content."
SESSION: Final = "The state of a session or call, which ends with it."
GUILD_RECORD: Final = "A record of the guild and its moderators."
OPERATOR_RECORD: Final = "A record of an operator's action."
OTHER_USER: Final = "A record of another user."

PERSONAL_DATA: Final = (
    PersonalColumn(column="quotas.owner_id", erasure=Erasure.DELETED, omission=TECHNICAL),
    PersonalColumn(column="quotas.user_id", erasure=Erasure.DELETED, omission=TECHNICAL),
    PersonalColumn(column="tokens.user_id", erasure=Erasure.DELETED, export="sessions"),
)
"""Columns of the tables that modules of `core` write."""


def export_row(row: Any, *omitted_columns: str) -> dict[str, Any]:
    """Return a row, which is a named tuple, as a record of the data export.

    The record has the columns of the row: IDs as text, and times in Unix milliseconds as timestamps."""
    record: dict[str, Any] = {}
    for name, value in row._asdict().items():
        if name in omitted_columns:
            continue
        if name.endswith("_ms"):
            record[f"{name.removesuffix('_ms')}_at"] = None if value is None else codec.timestamp(value)
        elif name == "id" or name.endswith("_id"):
            record[name] = None if value is None else str(int(value))
        else:
            record[name] = value
    return record

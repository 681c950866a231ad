"""SQL for the application_keys table."""

from typing import Final, NamedTuple

from hubbub.server.core.store import Tx, placeholders

TABLES: Final = ("application_keys",)
"""Tables that only this slice writes."""


class OtherKeyRow(NamedTuple):
    """A signing key of an application that is not in use: the next key or the previous key."""

    application_id: int
    is_next: int
    """Whether the key is prepared for a switch; otherwise it was in use before the last switch."""
    signing_key: bytes
    """Private Ed25519 key."""
    verify_key: str
    """Public Ed25519 key in hexadecimal."""
    switch_ms: int | None = None
    """Unix milliseconds at which the next key takes effect; None if no time is chosen."""
    ends_ms: int | None = None
    """Unix milliseconds until which the previous key can be used again; None for the next key."""


_COLUMNS = ", ".join(OtherKeyRow._fields)


def find(tx: Tx, application_id: int) -> OtherKeyRow | None:
    """Return the next or previous key of an application, or None."""
    row = tx.find(OtherKeyRow, f"SELECT {_COLUMNS} FROM application_keys WHERE application_id = ?", application_id)
    return None if row is None else row._replace(signing_key=bytes(row.signing_key))


def save(tx: Tx, row: OtherKeyRow) -> None:
    """Insert or replace the next or previous key of an application."""
    assignments = ", ".join(f"{name} = excluded.{name}" for name in OtherKeyRow._fields[1:])
    tx.run(
        f"INSERT INTO application_keys ({_COLUMNS}) VALUES ({placeholders(row)}) "
        f"ON CONFLICT (application_id) DO UPDATE SET {assignments}",
        *row,
    )


def delete(tx: Tx, application_id: int) -> bool:
    """Delete the next or previous key of an application. Return False if there is none."""
    return bool(tx.run("DELETE FROM application_keys WHERE application_id = ?", application_id))

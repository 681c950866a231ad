"""SQL for the identity_providers table."""

from typing import Final, NamedTuple

from hubbub.server.core.store import Tx, placeholders

TABLES: Final = ("identity_providers",)
"""Tables that only this slice writes."""


class ProviderRow(NamedTuple):
    """An identity provider that an application trusts."""

    application_id: int
    type: str
    """Value of `ProviderType`."""
    settings: str
    """JSON of `ProviderSettings`."""
    level: int
    """Value of `IssuerValidation` when the row was saved."""
    changed_ms: int


_COLUMNS: Final = ", ".join(ProviderRow._fields)


def find(tx: Tx, application_id: int, type: str) -> ProviderRow | None:
    return tx.find(
        ProviderRow,
        f"SELECT {_COLUMNS} FROM identity_providers WHERE application_id = ? AND type = ?",
        application_id,
        type,
    )


def list_application_providers(tx: Tx, application_id: int) -> list[ProviderRow]:
    """Return the identity providers of an application, ordered by type."""
    return tx.fetch(
        ProviderRow, f"SELECT {_COLUMNS} FROM identity_providers WHERE application_id = ? ORDER BY type", application_id
    )


def put(tx: Tx, row: ProviderRow) -> None:
    """Insert or replace a provider."""
    tx.run(
        f"INSERT INTO identity_providers ({_COLUMNS}) VALUES ({placeholders(row)}) "
        "ON CONFLICT (application_id, type) DO UPDATE "
        "SET settings = excluded.settings, level = excluded.level, changed_ms = excluded.changed_ms",
        *row,
    )


def delete(tx: Tx, application_id: int, type: str) -> bool:
    """Delete a provider. Return False if there was none."""
    return bool(tx.run("DELETE FROM identity_providers WHERE application_id = ? AND type = ?", application_id, type))


def delete_application_providers(tx: Tx, application_id: int) -> None:
    tx.run("DELETE FROM identity_providers WHERE application_id = ?", application_id)

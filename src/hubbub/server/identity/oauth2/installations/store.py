"""SQL for the installations table."""

from typing import Final, NamedTuple

from hubbub.protocol.enums import ApplicationIntegrationType
from hubbub.server.core.personal_data import Erasure, PersonalColumn
from hubbub.server.core.store import Tx, placeholders

TABLES: Final = ("installations",)
"""Tables that only this slice writes."""
PERSONAL_DATA: Final = (
    PersonalColumn(column="installations.target_id", erasure=Erasure.DELETED, export="installations"),
    PersonalColumn(
        column="installations.user_id",
        erasure=Erasure.KEPT,
        reason="A guild keeps its applications.",
        export="installations",
    ),
)
"""Columns of these tables that contain IDs of users."""


class InstallationRow(NamedTuple):
    """An installation of an application in a guild or for a user."""

    application_id: int
    integration_type: int
    """Value of `ApplicationIntegrationType`: 0 for a guild, 1 for a user."""
    target_id: int
    """ID of the guild or user."""
    user_id: int
    """ID of the user who installed the application."""
    scopes: str
    """Granted scopes, separated by spaces."""
    created_ms: int


_INSTALLATION_COLUMNS: Final = ", ".join(InstallationRow._fields)


def upsert_installation(tx: Tx, row: InstallationRow) -> bool:
    """Insert an installation, or update its scopes; return whether it is new."""
    existing_row = find_installation(tx, row.application_id, row.integration_type, row.target_id)
    tx.run(
        f"INSERT INTO installations ({_INSTALLATION_COLUMNS}) VALUES ({placeholders(row)}) "
        "ON CONFLICT (application_id, integration_type, target_id) DO UPDATE SET scopes = excluded.scopes",
        *row,
    )
    return existing_row is None


def find_installation(tx: Tx, application_id: int, integration_type: int, target_id: int) -> InstallationRow | None:
    """Return an application's installation in a guild or for a user, or None."""
    return tx.find(
        InstallationRow,
        f"SELECT {_INSTALLATION_COLUMNS} FROM installations WHERE application_id = ? AND integration_type = ? AND target_id = ?",
        application_id,
        integration_type,
        target_id,
    )


def list_by_target(tx: Tx, target_id: int) -> list[InstallationRow]:
    """Return the installations in a guild or for a user, oldest first."""
    return tx.fetch(
        InstallationRow,
        f"SELECT {_INSTALLATION_COLUMNS} FROM installations WHERE target_id = ? ORDER BY created_ms, application_id",
        target_id,
    )


def list_by_installer(tx: Tx, user_id: int, limit: int) -> list[InstallationRow]:
    """Return at most `limit` installations that a user made in guilds, newest first."""
    return tx.fetch(
        InstallationRow,
        f"SELECT {_INSTALLATION_COLUMNS} FROM installations WHERE user_id = ? AND integration_type = ? "
        "ORDER BY created_ms DESC, application_id LIMIT ?",
        user_id,
        int(ApplicationIntegrationType.GUILD_INSTALL),
        limit,
    )


def delete_installation(tx: Tx, application_id: int, integration_type: int, target_id: int) -> bool:
    """Delete an installation; return False if there was none."""
    return bool(
        tx.run(
            "DELETE FROM installations WHERE application_id = ? AND integration_type = ? AND target_id = ?",
            application_id,
            integration_type,
            target_id,
        )
    )


def list_application_guild_installations(tx: Tx, application_id: int) -> list[InstallationRow]:
    """Return an application's installations in guilds, by ascending guild ID."""
    return tx.fetch(
        InstallationRow,
        f"SELECT {_INSTALLATION_COLUMNS} FROM installations WHERE application_id = ? AND integration_type = ? ORDER BY target_id",
        application_id,
        int(ApplicationIntegrationType.GUILD_INSTALL),
    )


def delete_installations(tx: Tx, target_id: int) -> None:
    """Delete all installations in a guild or for a user."""
    tx.run("DELETE FROM installations WHERE target_id = ?", target_id)

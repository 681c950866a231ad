"""SQL for approvals and rich presence assets."""

from typing import Final, NamedTuple

from hubbub.protocol.ids import AssetId
from hubbub.server.core import cdn_urls
from hubbub.server.core.store import Tx, placeholders

TABLES: Final = (
    "application_approvals",
    "application_assets",
)
"""Tables that only this slice writes."""


class ApprovalRow(NamedTuple):
    """An approval request and its outcome, or the grace period of an application that has grown too large."""

    application_id: int
    kind: str
    """`scope`, `intent`, or `reach` for a grace period."""
    name: str
    """Name of the scope or intent; `users` for a grace period."""
    state: str
    """`pending`, `approved`, `denied` or `expired`; `open` for a grace period."""
    reason: str
    """Reason that the application gave for the request; may be empty."""
    requested_ms: int
    """Unix milliseconds of the request, or of the start of a grace period."""
    decided_ms: int | None = None
    """Unix milliseconds of the decision; None if there is none yet."""
    ends_ms: int | None = None
    """Unix milliseconds at which the grant or grace period ends; None if it has no end."""


class AssetRow(NamedTuple):
    """An image for rich presence."""

    id: AssetId
    application_id: int
    name: str
    type: int
    image: str
    """Hash of the image."""


_APPROVAL_COLUMNS = ", ".join(ApprovalRow._fields)
_ASSET_COLUMNS = ", ".join(AssetRow._fields)


# Approvals


def find_approval(tx: Tx, application_id: int, kind: str, name: str) -> ApprovalRow | None:
    """Return an approval request or a grace period, or None."""
    sql = f"SELECT {_APPROVAL_COLUMNS} FROM application_approvals WHERE application_id = ? AND kind = ? AND name = ?"
    return tx.find(ApprovalRow, sql, application_id, kind, name)


def list_approvals(tx: Tx, application_id: int) -> dict[tuple[str, str], ApprovalRow]:
    """Return the approval requests and the grace period of an application, by kind and name."""
    sql = f"SELECT {_APPROVAL_COLUMNS} FROM application_approvals WHERE application_id = ?"
    return {(row.kind, row.name): row for row in tx.fetch(ApprovalRow, sql, application_id)}


def list_pending(tx: Tx) -> list[ApprovalRow]:
    """List the pending approval requests of all applications, oldest first."""
    return tx.fetch(
        ApprovalRow,
        f"SELECT {_APPROVAL_COLUMNS} FROM application_approvals WHERE state = 'pending' "
        "ORDER BY requested_ms, application_id, name",
    )


def save_approval(tx: Tx, row: ApprovalRow) -> None:
    """Insert or update an approval request or a grace period."""
    assignments = ", ".join(f"{name} = excluded.{name}" for name in ApprovalRow._fields[3:])
    tx.run(
        f"INSERT INTO application_approvals ({_APPROVAL_COLUMNS}) VALUES ({placeholders(row)}) "
        f"ON CONFLICT (application_id, kind, name) DO UPDATE SET {assignments}",
        *row,
    )


def delete_approval(tx: Tx, application_id: int, kind: str, name: str) -> None:
    """Delete an approval request or a grace period."""
    tx.run(
        "DELETE FROM application_approvals WHERE application_id = ? AND kind = ? AND name = ?",
        application_id,
        kind,
        name,
    )


# Rich presence assets


def list_assets(tx: Tx, application_id: int) -> list[AssetRow]:
    """List the assets of an application, by name."""
    sql = f"SELECT {_ASSET_COLUMNS} FROM application_assets WHERE application_id = ? ORDER BY name"
    return tx.fetch(AssetRow, sql, application_id)


def find_asset_by_name(tx: Tx, application_id: int, name: str) -> AssetRow | None:
    sql = f"SELECT {_ASSET_COLUMNS} FROM application_assets WHERE application_id = ? AND name = ?"
    return tx.find(AssetRow, sql, application_id, name)


def count_assets(tx: Tx, application_id: int) -> int:
    return int(tx.value("SELECT COUNT(*) FROM application_assets WHERE application_id = ?", application_id))


def insert_asset(tx: Tx, row: AssetRow) -> None:
    tx.run(f"INSERT INTO application_assets ({_ASSET_COLUMNS}) VALUES ({placeholders(row)})", *row)


def delete_asset(tx: Tx, application_id: int, asset_id: int) -> bool:
    """Delete an asset. Return False if the application has no such asset."""
    return bool(tx.run("DELETE FROM application_assets WHERE application_id = ? AND id = ?", application_id, asset_id))


def find_asset_key(tx: Tx, asset_id: int) -> str | None:
    """Return the file store key of an asset's image, or None."""
    image: str | None = tx.value("SELECT image FROM application_assets WHERE id = ?", asset_id)
    return None if image is None else cdn_urls.image_key(image)


def delete_approvals_and_assets(tx: Tx, application_id: int) -> None:
    for table in TABLES:
        tx.run(f"DELETE FROM {table} WHERE application_id = ?", application_id)

"""SQL for external identities, provisional accounts and merges, and the access tokens of publishers."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from hubbub.protocol.ids import UserId
from hubbub.server.core.batches import batches
from hubbub.server.core.personal_data import TECHNICAL, Erasure, PersonalColumn
from hubbub.server.core.store import Tx, placeholders

TABLES: Final = (
    "external_identities",
    "merge_operations",
    "provisional_accounts",
)
"""Tables that only this slice writes."""
PERSONAL_DATA: Final = (
    PersonalColumn(column="external_identities.user_id", erasure=Erasure.DELETED, export="identities"),
    PersonalColumn(
        column="merge_operations.source_user_id",
        erasure=Erasure.EXPIRES,
        reason="Counts the merges of the other account for 30 days.",
        omission=TECHNICAL,
    ),
    PersonalColumn(column="merge_operations.user_id", erasure=Erasure.DELETED, omission=TECHNICAL),
    PersonalColumn(
        column="provisional_accounts.restricted_by",
        erasure=Erasure.KEPT,
        reason="Restricts another account.",
        omission=TECHNICAL,
    ),
    PersonalColumn(column="provisional_accounts.user_id", erasure=Erasure.DELETED, omission=TECHNICAL),
)
"""Columns of these tables that contain IDs of users."""
READS: Final = {
    "tokens": "users whose tokens end when an application joins a publisher",
}
"""Tables of other slices that this slice reads, with the reason."""


MERGE_RETENTION_MS: Final = 30 * 86_400_000
"""Retention of merge records in milliseconds."""


class IdentityRow(NamedTuple):
    """An external identity of a user in an application family."""

    family_id: int
    provider_type: str
    provider_id: str
    """The issuer for provider types with several issuers, otherwise empty."""
    provider_user_id: str
    """ID of the user at the provider."""
    user_id: UserId
    username: str | None
    """Name of the player in the application, or None."""
    metadata: str
    """JSON of an object with string values."""
    created_ms: int


class ProvisionalRow(NamedTuple):
    """A provisional account and the family it belongs to."""

    user_id: UserId
    family_id: int
    restricted_by: UserId | None
    """ID of the banned account that the provisional account replaced, or None."""
    created_ms: int


class MergeRow(NamedTuple):
    """A completed merge of a provisional account into a full account."""

    id: int
    family_id: int
    user_id: int
    """ID of the full account."""
    source_user_id: int
    """ID of the provisional account, which was deleted."""
    created_ms: int


_IDENTITY_COLUMNS: Final = ", ".join(IdentityRow._fields)
_PROVISIONAL_COLUMNS: Final = ", ".join(ProvisionalRow._fields)


# Identities


def find_identity(
    tx: Tx, family_id: int, provider_type: str, provider_id: str, provider_user_id: str
) -> IdentityRow | None:
    return tx.find(
        IdentityRow,
        f"SELECT {_IDENTITY_COLUMNS} FROM external_identities "
        "WHERE family_id = ? AND provider_type = ? AND provider_id = ? AND provider_user_id = ?",
        family_id,
        provider_type,
        provider_id,
        provider_user_id,
    )


def insert_identity(tx: Tx, row: IdentityRow) -> None:
    tx.run(f"INSERT INTO external_identities ({_IDENTITY_COLUMNS}) VALUES ({placeholders(row)})", *row)


def list_identities(tx: Tx, family_id: int, user_ids: Iterable[int]) -> list[IdentityRow]:
    """List the identities of users in one application family. The identities of each user are ordered from old to new."""
    unique_ids = list(dict.fromkeys(user_ids))
    rows: list[IdentityRow] = []
    for batch in batches(unique_ids):
        rows += tx.fetch(
            IdentityRow,
            f"SELECT {_IDENTITY_COLUMNS} FROM external_identities WHERE family_id = ? AND user_id IN ({placeholders(batch)}) "
            "ORDER BY created_ms, provider_type, provider_id, provider_user_id",
            family_id,
            *batch,
        )
    return rows


def list_family_ids(tx: Tx, user_id: int) -> list[int]:
    """List the IDs of the application families in which a user has an identity."""
    return [row[0] for row in tx.all("SELECT DISTINCT family_id FROM external_identities WHERE user_id = ?", user_id)]


def list_user_families(tx: Tx, user_ids: Iterable[int]) -> list[tuple[int, int]]:
    """List the distinct (user ID, family ID) pairs of the identities of the users `user_ids`."""
    unique_ids, user_family_pairs = list(dict.fromkeys(user_ids)), list[tuple[int, int]]()
    for batch in batches(unique_ids):
        sql = f"SELECT DISTINCT user_id, family_id FROM external_identities WHERE user_id IN ({placeholders(batch)})"
        user_family_pairs += [(row[0], row[1]) for row in tx.all(sql, *batch)]
    return user_family_pairs


def move_identities(tx: Tx, family_id: int, user_id: int, target_user_id: int) -> int:
    """Move a user's identities in a family to the account `target_user_id`. Return the number of moved identities."""
    return tx.run(
        "UPDATE external_identities SET user_id = ? WHERE family_id = ? AND user_id = ?",
        target_user_id,
        family_id,
        user_id,
    )


def update_profile(tx: Tx, row: IdentityRow) -> None:
    """Update the username and metadata of an identity."""
    tx.run(
        "UPDATE external_identities SET username = ?, metadata = ? "
        "WHERE family_id = ? AND provider_type = ? AND provider_id = ? AND provider_user_id = ?",
        row.username,
        row.metadata,
        *row[:4],
    )


def delete_identities(tx: Tx, family_id: int) -> None:
    tx.run("DELETE FROM external_identities WHERE family_id = ?", family_id)


def delete_user_identities(tx: Tx, user_id: int) -> None:
    tx.run("DELETE FROM external_identities WHERE user_id = ?", user_id)


# Provisional accounts


def find_provisional(tx: Tx, user_id: int) -> ProvisionalRow | None:
    """Return a provisional account, or None if the account is not provisional."""
    return tx.find(
        ProvisionalRow, f"SELECT {_PROVISIONAL_COLUMNS} FROM provisional_accounts WHERE user_id = ?", user_id
    )


def list_provisional_user_ids(tx: Tx, family_id: int) -> list[UserId]:
    """List the user IDs of the provisional accounts of a family."""
    rows = tx.all("SELECT user_id FROM provisional_accounts WHERE family_id = ? ORDER BY user_id", family_id)
    return [UserId(row[0]) for row in rows]


def insert_provisional(tx: Tx, row: ProvisionalRow) -> None:
    tx.run(f"INSERT INTO provisional_accounts ({_PROVISIONAL_COLUMNS}) VALUES ({placeholders(row)})", *row)


def delete_provisional(tx: Tx, user_id: int) -> None:
    """Delete the row that makes an account provisional. The user is not deleted."""
    tx.run("DELETE FROM provisional_accounts WHERE user_id = ?", user_id)


# Merges


def insert_merge(tx: Tx, row: MergeRow) -> None:
    """Insert a merge and delete expired merge records."""
    tx.run("DELETE FROM merge_operations WHERE created_ms < ?", row.created_ms - MERGE_RETENTION_MS)
    tx.run(
        "INSERT INTO merge_operations (id, family_id, user_id, source_user_id, created_ms) VALUES (?, ?, ?, ?, ?)",
        *row,
    )


def delete_merges(tx: Tx, user_id: int) -> None:
    """Delete the records of the accounts that were merged into a user.

    Records of merges of the user into another account stay: a merge deletes its source, and the records limit the merges of
    the other account."""
    tx.run("DELETE FROM merge_operations WHERE user_id = ?", user_id)


def list_merge_times(tx: Tx, user_id: int, since_ms: int) -> list[int]:
    """List the times of a user's merges after `since_ms`, earliest first. All times are in Unix milliseconds."""
    sql = "SELECT created_ms FROM merge_operations WHERE user_id = ? AND created_ms > ? ORDER BY created_ms"
    return [row[0] for row in tx.all(sql, user_id, since_ms)]


# Publishers


def list_token_ids_by_user(tx: Tx, application_id: int) -> dict[UserId, list[int]]:
    """Return the IDs of an application's access tokens, by user ID."""
    token_ids_by_user: dict[UserId, list[int]] = {}
    sql = "SELECT user_id, id FROM tokens WHERE application_id = ? AND kind = 'bearer'"
    for user_id, token_id in tx.all(sql, application_id):
        token_ids_by_user.setdefault(UserId(user_id), []).append(token_id)
    return token_ids_by_user

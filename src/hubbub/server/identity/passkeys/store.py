"""SQL for passkeys and their challenges."""

from typing import Final, NamedTuple

from hubbub.protocol.ids import Snowflake, UserId
from hubbub.server.core.personal_data import SECRET, Erasure, PersonalColumn
from hubbub.server.core.store import Tx, placeholders

TABLES: Final = ("passkey_challenges", "passkeys")
"""Tables that only this slice writes."""
PERSONAL_DATA: Final = (
    PersonalColumn(column="passkey_challenges.user_id", erasure=Erasure.DELETED, omission=SECRET),
    PersonalColumn(column="passkeys.user_id", erasure=Erasure.DELETED, export="passkeys"),
)
"""Columns of these tables that contain IDs of users."""


class PasskeyRow(NamedTuple):
    """A passkey with which a user logs in."""

    id: Snowflake
    user_id: UserId
    credential_id: bytes
    """ID that the authenticator gave the credential."""
    public_key: bytes
    """COSE public key of the credential."""
    sign_count: int
    """Number of signatures that the authenticator reported last; 0 if it does not count."""
    name: str
    created_ms: int
    used_ms: int | None
    """Time of the last login in Unix milliseconds, or None."""


class ChallengeRow(NamedTuple):
    """A challenge that an authenticator has to sign."""

    challenge: bytes
    user_id: UserId | None
    """User who registers a passkey; None for a login."""


_COLUMNS: Final = ", ".join(PasskeyRow._fields)


def insert(tx: Tx, row: PasskeyRow) -> None:
    tx.run(f"INSERT INTO passkeys ({_COLUMNS}) VALUES ({placeholders(row)})", *row)


def list_by_user(tx: Tx, user_id: int) -> list[PasskeyRow]:
    """Return the passkeys of a user, oldest first."""
    return tx.fetch(PasskeyRow, f"SELECT {_COLUMNS} FROM passkeys WHERE user_id = ? ORDER BY id", user_id)


def find(tx: Tx, user_id: int, passkey_id: int) -> PasskeyRow | None:
    return tx.find(PasskeyRow, f"SELECT {_COLUMNS} FROM passkeys WHERE id = ? AND user_id = ?", passkey_id, user_id)


def find_by_credential(tx: Tx, credential_id: bytes) -> PasskeyRow | None:
    return tx.find(PasskeyRow, f"SELECT {_COLUMNS} FROM passkeys WHERE credential_id = ?", credential_id)


def rename(tx: Tx, passkey_id: int, name: str) -> None:
    tx.run("UPDATE passkeys SET name = ? WHERE id = ?", name, passkey_id)


def record_use(tx: Tx, passkey_id: int, sign_count: int, now_ms: int) -> None:
    """Store the number of signatures and the time of a login."""
    tx.run("UPDATE passkeys SET sign_count = ?, used_ms = ? WHERE id = ?", sign_count, now_ms, passkey_id)


def delete(tx: Tx, passkey_id: int) -> None:
    tx.run("DELETE FROM passkeys WHERE id = ?", passkey_id)


def delete_by_user(tx: Tx, user_id: int) -> None:
    """Delete the passkeys and the challenges of a user."""
    tx.run("DELETE FROM passkeys WHERE user_id = ?", user_id)
    tx.run("DELETE FROM passkey_challenges WHERE user_id = ?", user_id)


def insert_challenge(tx: Tx, digest: bytes, row: ChallengeRow, expires_ms: int, now_ms: int) -> None:
    """Insert a challenge; `digest` is the hash of its ticket. Delete expired challenges."""
    tx.run("DELETE FROM passkey_challenges WHERE expires_ms <= ?", now_ms)
    tx.run(
        "INSERT INTO passkey_challenges (hash, challenge, user_id, expires_ms) VALUES (?, ?, ?, ?)",
        digest,
        row.challenge,
        row.user_id,
        expires_ms,
    )


def consume_challenge(tx: Tx, digest: bytes, now_ms: int) -> ChallengeRow | None:
    """Delete the challenge with this hash and return it, or None if it is unknown, used or expired."""
    row = tx.find(
        ChallengeRow,
        "SELECT challenge, user_id FROM passkey_challenges WHERE hash = ? AND expires_ms > ?",
        digest,
        now_ms,
    )
    if row is None or not tx.run("DELETE FROM passkey_challenges WHERE hash = ?", digest):
        return None
    return ChallengeRow(bytes(row.challenge), row.user_id)

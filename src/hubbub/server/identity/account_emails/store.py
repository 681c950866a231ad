"""SQL for email addresses: links, pending changes, known clients and limits."""

from typing import Final, Literal, NamedTuple

from hubbub.protocol.ids import UserId
from hubbub.server.core.personal_data import SECRET, Erasure, PersonalColumn
from hubbub.server.core.store import Tx

TABLES: Final = ("email_changes", "email_limits", "email_tokens", "known_clients")
"""Tables that only this slice writes."""
PERSONAL_DATA: Final = (
    PersonalColumn(column="email_changes.user_id", erasure=Erasure.DELETED, export="email_changes"),
    PersonalColumn(column="email_tokens.user_id", erasure=Erasure.DELETED, omission=SECRET),
    PersonalColumn(column="known_clients.user_id", erasure=Erasure.DELETED, omission=SECRET),
)
"""Columns of these tables that contain IDs of users."""

KNOWN_CLIENTS_MAX: Final = 50
"""Maximum number of known clients per user; the clients that were not used for the longest time are deleted."""

Purpose = Literal["confirm", "reset"]
"""Purpose of a link: to confirm an address, or to reset a password."""


class EmailTokenRow(NamedTuple):
    """A link that was sent by email."""

    user_id: UserId
    email: str
    """Address that the link was sent to."""


# Links


def replace_token(tx: Tx, digest: bytes, row: EmailTokenRow, purpose: Purpose, expires_ms: int, now_ms: int) -> None:
    """Insert a link; `digest` is the hash of its token.

    Delete the user's earlier links of this purpose, and the expired links of all users."""
    tx.run("DELETE FROM email_tokens WHERE expires_ms <= ?", now_ms)
    tx.run("DELETE FROM email_tokens WHERE user_id = ? AND purpose = ?", row.user_id, purpose)
    tx.run(
        "INSERT INTO email_tokens (hash, user_id, purpose, email, expires_ms) VALUES (?, ?, ?, ?, ?)",
        digest,
        row.user_id,
        purpose,
        row.email,
        expires_ms,
    )


def find_token(tx: Tx, digest: bytes, purpose: Purpose, now_ms: int) -> EmailTokenRow | None:
    """Return the unexpired link with this hash and purpose, or None."""
    return tx.find(
        EmailTokenRow,
        "SELECT user_id, email FROM email_tokens WHERE hash = ? AND purpose = ? AND expires_ms > ?",
        digest,
        purpose,
        now_ms,
    )


def delete_tokens(tx: Tx, user_id: int, purpose: Purpose | None = None) -> None:
    """Delete a user's links of one purpose, or all links if `purpose` is None."""
    if purpose is None:
        tx.run("DELETE FROM email_tokens WHERE user_id = ?", user_id)
    else:
        tx.run("DELETE FROM email_tokens WHERE user_id = ? AND purpose = ?", user_id, purpose)


# Pending changes


def find_pending_email(tx: Tx, user_id: int) -> str | None:
    """Return the new address that a user has not confirmed yet, or None."""
    email: str | None = tx.value("SELECT email FROM email_changes WHERE user_id = ?", user_id)
    return email


def upsert_pending_email(tx: Tx, user_id: int, email: str) -> None:
    """Store the new address of a user until it is confirmed."""
    tx.run(
        "INSERT INTO email_changes (user_id, email) VALUES (?, ?) "
        "ON CONFLICT (user_id) DO UPDATE SET email = excluded.email",
        user_id,
        email,
    )


def delete_pending_email(tx: Tx, user_id: int) -> None:
    """Delete the pending address of a user, if any."""
    tx.run("DELETE FROM email_changes WHERE user_id = ?", user_id)


# Known clients


def has_known_client(tx: Tx, user_id: int) -> bool:
    """Return whether a login of the user was recorded before."""
    return tx.value("SELECT 1 FROM known_clients WHERE user_id = ? LIMIT 1", user_id) is not None


def record_client(tx: Tx, user_id: int, digest: bytes, now_ms: int) -> bool:
    """Record a login with a client; `digest` is the hash of the client. Return whether the client was known."""
    if tx.run("UPDATE known_clients SET seen_ms = ? WHERE user_id = ? AND hash = ?", now_ms, user_id, digest):
        return True
    rows = tx.all("SELECT hash FROM known_clients WHERE user_id = ? ORDER BY seen_ms DESC", user_id)
    for (old_digest,) in rows[KNOWN_CLIENTS_MAX - 1 :]:
        tx.run("DELETE FROM known_clients WHERE user_id = ? AND hash = ?", user_id, old_digest)
    tx.run("INSERT INTO known_clients (user_id, hash, seen_ms) VALUES (?, ?, ?)", user_id, digest, now_ms)
    return False


def delete_clients(tx: Tx, user_id: int) -> None:
    tx.run("DELETE FROM known_clients WHERE user_id = ?", user_id)


# Limits


def find_uses(tx: Tx, key: str, now_ms: int) -> tuple[int, int]:
    """Return the number of uses in the current window and the window's end in Unix milliseconds, or (0, 0)."""
    row = tx.one("SELECT uses, ends_ms FROM email_limits WHERE key = ? AND ends_ms > ?", key, now_ms)
    return (0, 0) if row is None else (row[0], row[1])


def increment_uses(tx: Tx, key: str, now_ms: int, ends_ms: int) -> None:
    """Count one use. A new counter has a window that ends at `ends_ms`; expired counters are deleted."""
    tx.run("DELETE FROM email_limits WHERE ends_ms <= ?", now_ms)
    tx.run(
        "INSERT INTO email_limits (key, uses, ends_ms) VALUES (?, 1, ?) "
        "ON CONFLICT (key) DO UPDATE SET uses = email_limits.uses + 1",
        key,
        ends_ms,
    )

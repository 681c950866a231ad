"""SQL for external identities, started logins and registrations."""

from typing import Final, NamedTuple

from hubbub.protocol.ids import Snowflake, UserId
from hubbub.server.core.personal_data import SECRET, Erasure, PersonalColumn
from hubbub.server.core.store import Tx, placeholders

TABLES: Final = ("login_attempts", "login_identities", "login_registrations")
"""Tables that only this slice writes."""
PERSONAL_DATA: Final = (
    PersonalColumn(column="login_attempts.user_id", erasure=Erasure.DELETED, omission=SECRET),
    PersonalColumn(column="login_identities.user_id", erasure=Erasure.DELETED, export="login_identities"),
)
"""Columns of these tables that contain IDs of users."""


class LoginIdentityRow(NamedTuple):
    """An identity at a provider with which a user logs in."""

    id: Snowflake
    user_id: UserId
    issuer: str
    subject: str
    """ID of the user at the provider."""
    name: str
    """Email address, name or ID of the user at the provider when the identity was linked."""
    created_ms: int
    used_ms: int | None
    """Time of the last login in Unix milliseconds, or None."""


class AttemptRow(NamedTuple):
    """A login at a provider that was started."""

    provider_id: str
    state_hash: bytes
    """Hash of the state that the provider returns."""
    nonce: str
    """Value that the ID token has to contain."""
    verifier: str
    """Code verifier of PKCE (RFC 7636)."""
    user_id: UserId | None
    """User who links an identity; None for a login."""


class LoginRegistrationRow(NamedTuple):
    """An identity without an account, whose user chooses a username."""

    provider_id: str
    issuer: str
    subject: str
    name: str
    email: str | None
    email_verified: int
    """1 if the provider verified the address, otherwise 0."""


_COLUMNS: Final = ", ".join(LoginIdentityRow._fields)
_ATTEMPT_COLUMNS: Final = ", ".join(AttemptRow._fields)
_REGISTRATION_COLUMNS: Final = ", ".join(LoginRegistrationRow._fields)


# Identities


def insert(tx: Tx, row: LoginIdentityRow) -> None:
    tx.run(f"INSERT INTO login_identities ({_COLUMNS}) VALUES ({placeholders(row)})", *row)


def list_by_user(tx: Tx, user_id: int) -> list[LoginIdentityRow]:
    """Return the identities of a user, oldest first."""
    return tx.fetch(LoginIdentityRow, f"SELECT {_COLUMNS} FROM login_identities WHERE user_id = ? ORDER BY id", user_id)


def find(tx: Tx, user_id: int, identity_id: int) -> LoginIdentityRow | None:
    return tx.find(
        LoginIdentityRow,
        f"SELECT {_COLUMNS} FROM login_identities WHERE id = ? AND user_id = ?",
        identity_id,
        user_id,
    )


def find_by_subject(tx: Tx, issuer: str, subject: str) -> LoginIdentityRow | None:
    """Return the identity with this ID at a provider, or None."""
    return tx.find(
        LoginIdentityRow,
        f"SELECT {_COLUMNS} FROM login_identities WHERE issuer = ? AND subject = ?",
        issuer,
        subject,
    )


def record_use(tx: Tx, identity_id: int, now_ms: int) -> None:
    """Store the time of a login."""
    tx.run("UPDATE login_identities SET used_ms = ? WHERE id = ?", now_ms, identity_id)


def delete(tx: Tx, identity_id: int) -> None:
    tx.run("DELETE FROM login_identities WHERE id = ?", identity_id)


def delete_by_user(tx: Tx, user_id: int) -> None:
    """Delete the identities and the started logins of a user."""
    tx.run("DELETE FROM login_identities WHERE user_id = ?", user_id)
    tx.run("DELETE FROM login_attempts WHERE user_id = ?", user_id)


# Started logins


def insert_attempt(tx: Tx, digest: bytes, row: AttemptRow, expires_ms: int, now_ms: int) -> None:
    """Insert a started login; `digest` is the hash of its ticket. Delete expired logins."""
    tx.run("DELETE FROM login_attempts WHERE expires_ms <= ?", now_ms)
    tx.run(
        f"INSERT INTO login_attempts (hash, expires_ms, {_ATTEMPT_COLUMNS}) VALUES (?, ?, {placeholders(row)})",
        digest,
        expires_ms,
        *row,
    )


def consume_attempt(tx: Tx, digest: bytes, now_ms: int) -> AttemptRow | None:
    """Delete the started login with this hash and return it, or None if it is unknown, used or expired."""
    row = tx.find(
        AttemptRow,
        f"SELECT {_ATTEMPT_COLUMNS} FROM login_attempts WHERE hash = ? AND expires_ms > ?",
        digest,
        now_ms,
    )
    if row is None or not tx.run("DELETE FROM login_attempts WHERE hash = ?", digest):
        return None
    return row._replace(state_hash=bytes(row.state_hash))


# Registrations


def insert_registration(tx: Tx, digest: bytes, row: LoginRegistrationRow, expires_ms: int, now_ms: int) -> None:
    """Insert a registration; `digest` is the hash of its ticket.

    Delete expired registrations and earlier registrations of the identity."""
    tx.run("DELETE FROM login_registrations WHERE expires_ms <= ?", now_ms)
    tx.run("DELETE FROM login_registrations WHERE issuer = ? AND subject = ?", row.issuer, row.subject)
    tx.run(
        f"INSERT INTO login_registrations (hash, expires_ms, {_REGISTRATION_COLUMNS}) "
        f"VALUES (?, ?, {placeholders(row)})",
        digest,
        expires_ms,
        *row,
    )


def find_registration(tx: Tx, digest: bytes, now_ms: int) -> LoginRegistrationRow | None:
    """Return the unexpired registration with this hash, or None."""
    return tx.find(
        LoginRegistrationRow,
        f"SELECT {_REGISTRATION_COLUMNS} FROM login_registrations WHERE hash = ? AND expires_ms > ?",
        digest,
        now_ms,
    )


def delete_registration(tx: Tx, digest: bytes) -> None:
    tx.run("DELETE FROM login_registrations WHERE hash = ?", digest)

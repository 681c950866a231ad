"""SQL for accounts: passwords, confirmations without a session, bans, sign-ins, failed attempts and second factors."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from hubbub.protocol.ids import UserId
from hubbub.protocol.resources import accounts as wire
from hubbub.server.core.personal_data import SECRET, TECHNICAL, Erasure, PersonalColumn
from hubbub.server.core.store import Tx, escape_pattern

TABLES: Final = (
    "account_bans",
    "accounts",
    "authenticators",
    "backup_codes",
    "mfa_tickets",
    "sign_in_failures",
    "sign_ins",
    "sessionless_confirmations",
)
"""Tables that only this slice writes."""
PERSONAL_DATA: Final = (
    PersonalColumn(
        column="account_bans.user_id",
        erasure=Erasure.DELETED,
        omission="The section of decisions about the account contains the suspension.",
    ),
    PersonalColumn(column="accounts.user_id", erasure=Erasure.DELETED, omission=SECRET),
    PersonalColumn(column="authenticators.user_id", erasure=Erasure.DELETED, omission=SECRET),
    PersonalColumn(column="backup_codes.user_id", erasure=Erasure.DELETED, omission=SECRET),
    PersonalColumn(column="mfa_tickets.user_id", erasure=Erasure.DELETED, omission=SECRET),
    PersonalColumn(column="sessionless_confirmations.user_id", erasure=Erasure.DELETED, omission=TECHNICAL),
    PersonalColumn(column="sign_ins.user_id", erasure=Erasure.DELETED, export="sessions"),
)
"""Columns of these tables that contain IDs of users."""
READS: Final = {
    "tokens": "sign-ins are listed with the creation time of their tokens",
    "users": "login by name or email, joined with the account",
}
"""Tables of other slices that this slice reads, with the reason."""


class AuthenticatorRow(NamedTuple):
    """The authenticator app that a user has set up for two-factor authentication."""

    secret: str
    """Secret shared with the user's authenticator app, in base32."""
    last_step: int
    """Time step of the last used code. Codes of this step and of earlier steps are rejected."""


class CredentialsRow(NamedTuple):
    """The user that a login belongs to, with the hash of their password."""

    user_id: UserId
    password_hash: str


class AccountBanRow(NamedTuple):
    """A ban of an account by an operator."""

    user_id: UserId
    reason: str | None
    """Reason of the operator, or None."""
    created_ms: int
    ends_ms: int | None
    """End of the ban in Unix milliseconds. None means permanent."""


class SignInRow(NamedTuple):
    """A user token and the client that requested it."""

    token_id: int
    created_ms: int
    ip: str | None
    """IP address of the client; empty if it was removed, None if the token was issued without a sign-in."""
    user_agent: str | None
    """User-Agent header of the client; empty if it sent none or it was removed, None if the token was issued without a
    sign-in."""


class SearchedSignInRow(NamedTuple):
    """A user token of a search, with its user."""

    token_id: int
    created_ms: int
    ip: str | None
    """IP address of the client, as in `SignInRow`."""
    user_agent: str | None
    """User-Agent header of the client, as in `SignInRow`."""
    user_id: int


# Retention


def clear_addresses_before(tx: Tx, token_id: int, limit: int) -> int:
    """Remove IP address and user agent of at most `limit` sign-ins with a token ID below `token_id`. Return their number."""
    rows = tx.all(
        "SELECT token_id FROM sign_ins WHERE token_id < ? AND (ip <> '' OR user_agent <> '') ORDER BY token_id LIMIT ?",
        token_id,
        limit,
    )
    tx.run_many("UPDATE sign_ins SET ip = '', user_agent = '' WHERE token_id = ?", rows)
    return len(rows)


# Passwords


def is_email_registered(tx: Tx, email: str) -> bool:
    """Return whether a user has this email address."""
    return tx.value("SELECT 1 FROM users WHERE email = ?", email) is not None


def find_credentials(tx: Tx, login: str) -> CredentialsRow | None:
    """Return the ID and password hash of the user with this username or email address, or None. Bots are excluded."""
    row = tx.one(
        "SELECT a.user_id, a.password_hash FROM users u JOIN accounts a ON a.user_id = u.id "
        "WHERE u.bot = 0 AND (u.username = ? OR u.email = ?) "
        # Unconfirmed addresses may repeat; the confirmed address has priority.
        "ORDER BY CASE WHEN u.username = ? THEN 0 ELSE 1 END, u.verified DESC, u.id LIMIT 1",
        login,
        login,
        login,
    )
    return None if row is None else CredentialsRow(UserId(row[0]), row[1])


def find_password_hash(tx: Tx, user_id: int) -> str | None:
    """Return the password hash of a user, or None if the user has no password."""
    password_hash: str | None = tx.value("SELECT password_hash FROM accounts WHERE user_id = ?", user_id)
    return password_hash


def set_password_hash(tx: Tx, user_id: int, password_hash: str, now_ms: int) -> None:
    """Insert or replace the password hash of a user, which changed at `now_ms` (Unix milliseconds)."""
    tx.run(
        "INSERT INTO accounts (user_id, password_hash, changed_ms) VALUES (?, ?, ?) "
        "ON CONFLICT (user_id) DO UPDATE SET password_hash = excluded.password_hash, changed_ms = excluded.changed_ms",
        user_id,
        password_hash,
        now_ms,
    )


def delete_password(tx: Tx, user_id: int) -> None:
    tx.run("DELETE FROM accounts WHERE user_id = ?", user_id)


# Confirmations of addresses without a session


def insert_confirmation(tx: Tx, user_id: int, now_ms: int) -> None:
    """Record that the address of an account was confirmed without a session of the account."""
    tx.run(
        "INSERT INTO sessionless_confirmations (user_id, confirmed_ms) VALUES (?, ?) "
        "ON CONFLICT (user_id) DO UPDATE SET confirmed_ms = excluded.confirmed_ms",
        user_id,
        now_ms,
    )


def delete_confirmation(tx: Tx, user_id: int) -> bool:
    """Delete the record of a confirmation without a session. Return whether there was one."""
    return bool(tx.run("DELETE FROM sessionless_confirmations WHERE user_id = ?", user_id))


# Bans


def find_ban(tx: Tx, user_id: int, now_ms: int) -> AccountBanRow | None:
    """Return the ban that is in effect at `now_ms` (Unix milliseconds), or None."""
    return tx.find(
        AccountBanRow,
        "SELECT user_id, reason, created_ms, ends_ms FROM account_bans "
        "WHERE user_id = ? AND (ends_ms IS NULL OR ends_ms > ?)",
        user_id,
        now_ms,
    )


def list_banned_ids(tx: Tx, now_ms: int, *, after_id: int, limit: int) -> list[int]:
    """Return the IDs above `after_id` of users with a ban that is in effect at `now_ms`, in ascending order."""
    rows = tx.all(
        "SELECT user_id FROM account_bans WHERE (ends_ms IS NULL OR ends_ms > ?) AND user_id > ? "
        "ORDER BY user_id LIMIT ?",
        now_ms,
        after_id,
        limit,
    )
    return [row[0] for row in rows]


def upsert_ban(tx: Tx, row: AccountBanRow) -> None:
    tx.run(
        "INSERT INTO account_bans (user_id, reason, created_ms, ends_ms) VALUES (?, ?, ?, ?) "
        "ON CONFLICT (user_id) DO UPDATE "
        "SET reason = excluded.reason, created_ms = excluded.created_ms, ends_ms = excluded.ends_ms",
        *row,
    )


def delete_ban(tx: Tx, user_id: int) -> None:
    tx.run("DELETE FROM account_bans WHERE user_id = ?", user_id)


def delete_credentials(tx: Tx, user_id: int) -> None:
    for table in (
        "account_bans",
        "accounts",
        "sign_ins",
        "authenticators",
        "backup_codes",
        "mfa_tickets",
        "sessionless_confirmations",
    ):
        tx.run(f"DELETE FROM {table} WHERE user_id = ?", user_id)


# Sign-ins


def insert_sign_in(tx: Tx, token_id: int, user_id: int, ip: str, user_agent: str) -> None:
    """Record the client that requested a token."""
    tx.run(
        "INSERT INTO sign_ins (token_id, user_id, ip, user_agent) VALUES (?, ?, ?, ?)",
        token_id,
        user_id,
        ip,
        user_agent,
    )


def list_sign_ins(tx: Tx, user_id: int) -> list[SignInRow]:
    """List a user's own tokens, newest first."""
    return tx.fetch(
        SignInRow,
        "SELECT t.id, t.created_ms, s.ip, s.user_agent FROM tokens t LEFT JOIN sign_ins s ON s.token_id = t.id "
        "WHERE t.user_id = ? AND t.kind = 'user' ORDER BY t.created_ms DESC, t.id DESC",
        user_id,
    )


def search_sign_ins(
    tx: Tx, *, address: str, user_id: int | None, before_id: int | None, limit: int
) -> list[SearchedSignInRow]:
    """List the tokens of all users, newest first; None for an argument means any.

    `address` is the IP address of the login, or its beginning and `*`; empty matches all tokens."""
    conditions, parameters = ["t.kind = 'user'", "u.bot = 0"], list[object]()
    if address:
        is_prefix = address.endswith("*")
        conditions.append("s.ip LIKE ? ESCAPE '\\'" if is_prefix else "s.ip = ?")
        parameters.append(escape_pattern(address[:-1]) + "%" if is_prefix else address)
    for condition, value in (("t.user_id = ?", user_id), ("t.id < ?", before_id)):
        if value is not None:
            conditions.append(condition)
            parameters.append(value)
    return tx.fetch(
        SearchedSignInRow,
        "SELECT t.id, t.created_ms, s.ip, s.user_agent, t.user_id FROM tokens t JOIN users u ON u.id = t.user_id "
        f"LEFT JOIN sign_ins s ON s.token_id = t.id WHERE {' AND '.join(conditions)} ORDER BY t.id DESC LIMIT ?",
        *parameters,
        limit,
    )


def find_session_user(tx: Tx, token_id: int) -> int | None:
    """Return the ID of the user of a login session, or None if the session does not exist."""
    user_id: int | None = tx.value(
        "SELECT t.user_id FROM tokens t JOIN users u ON u.id = t.user_id "
        "WHERE t.id = ? AND t.kind = 'user' AND u.bot = 0",
        token_id,
    )
    return user_id


def delete_ended_sign_ins(tx: Tx, user_id: int) -> None:
    """Delete the records of tokens that no longer exist."""
    tx.run(
        "DELETE FROM sign_ins WHERE user_id = ? AND token_id NOT IN "
        "(SELECT id FROM tokens WHERE user_id = ? AND kind = 'user')",
        user_id,
        user_id,
    )


# Failed attempts


def find_failures(tx: Tx, key: str, now_ms: int) -> tuple[int, int]:
    """Return the number of failures in the current window and the window's end in Unix milliseconds, or (0, 0)."""
    row = tx.one("SELECT failures, ends_ms FROM sign_in_failures WHERE key = ? AND ends_ms > ?", key, now_ms)
    return (0, 0) if row is None else (row[0], row[1])


def increment_failures(tx: Tx, key: str, now_ms: int, ends_ms: int) -> None:
    """Count one failure. A new counter has a window that ends at `ends_ms`.

    Expired windows are deleted first, so an expired counter restarts at 1."""
    tx.run("DELETE FROM sign_in_failures WHERE ends_ms <= ?", now_ms)
    tx.run(
        "INSERT INTO sign_in_failures (key, failures, ends_ms) VALUES (?, 1, ?) "
        "ON CONFLICT (key) DO UPDATE SET failures = sign_in_failures.failures + 1",
        key,
        ends_ms,
    )


def decrement_failures(tx: Tx, key: str) -> None:
    """Subtract one failure from a counter, unless it is 0."""
    tx.run("UPDATE sign_in_failures SET failures = failures - 1 WHERE key = ? AND failures > 0", key)


def delete_failures(tx: Tx, key: str) -> None:
    """Delete a counter, which resets it to 0."""
    tx.run("DELETE FROM sign_in_failures WHERE key = ?", key)


# Second factors


def find_authenticator(tx: Tx, user_id: int) -> AuthenticatorRow | None:
    return tx.find(AuthenticatorRow, "SELECT secret, last_step FROM authenticators WHERE user_id = ?", user_id)


def insert_authenticator(tx: Tx, user_id: int, secret: str, step: int) -> None:
    """Insert the authenticator of a user. `step` is the time step of the code that confirmed the secret."""
    tx.run("INSERT INTO authenticators (user_id, secret, last_step) VALUES (?, ?, ?)", user_id, secret, step)


def consume_step(tx: Tx, user_id: int, step: int) -> bool:
    """Record a TOTP step as used. Return False if this step or a later step was already used."""
    return bool(
        tx.run("UPDATE authenticators SET last_step = ? WHERE user_id = ? AND last_step < ?", step, user_id, step)
    )


def delete_authenticator(tx: Tx, user_id: int) -> None:
    """Delete an authenticator and its backup codes."""
    tx.run("DELETE FROM authenticators WHERE user_id = ?", user_id)
    tx.run("DELETE FROM backup_codes WHERE user_id = ?", user_id)


def set_backup_codes(tx: Tx, user_id: int, code_hashes: Sequence[bytes]) -> None:
    """Replace the backup codes of a user by the codes with the hashes `code_hashes`."""
    tx.run("DELETE FROM backup_codes WHERE user_id = ?", user_id)
    tx.run_many("INSERT INTO backup_codes (user_id, hash) VALUES (?, ?)", [(user_id, digest) for digest in code_hashes])


def count_backup_codes(tx: Tx, user_id: int) -> int:
    """Return the number of unused backup codes of a user."""
    count: int = tx.value("SELECT COUNT(*) FROM backup_codes WHERE user_id = ?", user_id)
    return count


def consume_backup_code(tx: Tx, user_id: int, digest: bytes) -> bool:
    """Delete the backup code with this hash. Return False if the user has no such code."""
    return bool(tx.run("DELETE FROM backup_codes WHERE user_id = ? AND hash = ?", user_id, digest))


def insert_ticket(tx: Tx, digest: bytes, user_id: int, expires_ms: int, now_ms: int) -> None:
    """Insert an MFA ticket; `digest` is its hash.

    Delete expired tickets, and the user's oldest tickets so that at most MFA_TICKETS_MAX remain."""
    tx.run("DELETE FROM mfa_tickets WHERE expires_ms <= ?", now_ms)
    rows = tx.all("SELECT hash FROM mfa_tickets WHERE user_id = ? ORDER BY expires_ms DESC", user_id)
    for (old_digest,) in rows[wire.MFA_TICKETS_MAX - 1 :]:
        delete_ticket(tx, old_digest)
    tx.run("INSERT INTO mfa_tickets (hash, user_id, expires_ms) VALUES (?, ?, ?)", digest, user_id, expires_ms)


def find_ticket_user_id(tx: Tx, digest: bytes, now_ms: int) -> UserId | None:
    """Return the user ID of the unexpired MFA ticket with this hash, or None."""
    user_id = tx.value("SELECT user_id FROM mfa_tickets WHERE hash = ? AND expires_ms > ?", digest, now_ms)
    return None if user_id is None else UserId(user_id)


def delete_ticket(tx: Tx, digest: bytes) -> bool:
    """Delete the MFA ticket with this hash. Return False if it was already deleted."""
    return bool(tx.run("DELETE FROM mfa_tickets WHERE hash = ?", digest))

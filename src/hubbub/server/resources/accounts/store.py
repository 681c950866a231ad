"""Rows of accounts: passwords, sign-ins, failures, authenticators."""

from collections.abc import Sequence
from typing import NamedTuple

from hubbub.protocol.ids import UserId
from hubbub.server.core.store import Tx


class AuthenticatorRow(NamedTuple):
    """A person's authenticator."""

    secret: str
    last_step: int


class BanRow(NamedTuple):
    """An account that the operator closed."""

    user_id: UserId
    reason: str | None
    created_ms: int
    ends_ms: int | None
    """None: for good."""


class SignInRow(NamedTuple):
    """A token of a person's own, and what is known of how it was got."""

    token_id: int
    created_ms: int
    ip: str | None
    user_agent: str | None


# Passwords


def is_registered(tx: Tx, email: str) -> bool:
    """Whether somebody has this address."""
    return tx.value("SELECT 1 FROM users WHERE email = ?", email) is not None


def find_login(tx: Tx, login: str) -> tuple[UserId, str] | None:
    """Who has this name or address, and the hash of their password."""
    row = tx.one(
        "SELECT a.user_id, a.password_hash FROM users u JOIN accounts a ON a.user_id = u.id "
        "WHERE u.bot = 0 AND (u.username = ? OR u.email = ?)",
        login,
        login,
    )
    return None if row is None else (UserId(row[0]), row[1])


def find_password_hash(tx: Tx, user_id: int) -> str | None:
    """The hash of a person's password, or None."""
    kept: str | None = tx.value("SELECT password_hash FROM accounts WHERE user_id = ?", user_id)
    return kept


def set_password_hash(tx: Tx, user_id: int, password_hash: str, now: int) -> None:
    """Keep a password's hash."""
    tx.run(
        "INSERT INTO accounts (user_id, password_hash, changed_ms) VALUES (?, ?, ?) "
        "ON CONFLICT (user_id) DO UPDATE SET password_hash = excluded.password_hash, changed_ms = excluded.changed_ms",
        user_id,
        password_hash,
        now,
    )


# Bans


def find_ban(tx: Tx, user_id: int, now: int) -> BanRow | None:
    """The ban that holds now, or None."""
    return tx.find(
        BanRow,
        "SELECT user_id, reason, created_ms, ends_ms FROM account_bans "
        "WHERE user_id = ? AND (ends_ms IS NULL OR ends_ms > ?)",
        user_id,
        now,
    )


def put_ban(tx: Tx, row: BanRow) -> None:
    """Keep a ban, in the place of an earlier one."""
    tx.run(
        "INSERT INTO account_bans (user_id, reason, created_ms, ends_ms) VALUES (?, ?, ?, ?) "
        "ON CONFLICT (user_id) DO UPDATE "
        "SET reason = excluded.reason, created_ms = excluded.created_ms, ends_ms = excluded.ends_ms",
        *row,
    )


def delete_ban(tx: Tx, user_id: int) -> None:
    """Forget a ban."""
    tx.run("DELETE FROM account_bans WHERE user_id = ?", user_id)


def forget(tx: Tx, user_id: int) -> None:
    """Forget how somebody signed in."""
    for table in ("accounts", "sign_ins", "authenticators", "backup_codes", "mfa_tickets"):
        tx.run(f"DELETE FROM {table} WHERE user_id = ?", user_id)


# Sign-ins


def insert_sign_in(tx: Tx, token_id: int, user_id: int, ip: str, user_agent: str) -> None:
    """Keep how a token was got."""
    tx.run(
        "INSERT INTO sign_ins (token_id, user_id, ip, user_agent) VALUES (?, ?, ?, ?)",
        token_id,
        user_id,
        ip,
        user_agent,
    )


def list_sign_ins(tx: Tx, user_id: int) -> list[SignInRow]:
    """A person's own tokens, the newest first."""
    return tx.fetch(
        SignInRow,
        "SELECT t.id, t.created_ms, s.ip, s.user_agent FROM tokens t LEFT JOIN sign_ins s ON s.token_id = t.id "
        "WHERE t.user_id = ? AND t.kind = 'user' ORDER BY t.created_ms DESC, t.id DESC",
        user_id,
    )


def drop_sign_ins(tx: Tx, user_id: int) -> None:
    """Forget how tokens were got that have ended."""
    tx.run(
        "DELETE FROM sign_ins WHERE user_id = ? AND token_id NOT IN "
        "(SELECT id FROM tokens WHERE user_id = ? AND kind = 'user')",
        user_id,
        user_id,
    )


# Failures


def find_failures(tx: Tx, key: str, now: int) -> tuple[int, int]:
    """How many failures a window holds, and when it ends."""
    row = tx.one("SELECT failures, ends_ms FROM sign_in_failures WHERE key = ? AND ends_ms > ?", key, now)
    return (0, 0) if row is None else (row[0], row[1])


def count_failure(tx: Tx, key: str, now: int, ends_ms: int) -> None:
    """Count one more; a window that is over begins anew."""
    tx.run("DELETE FROM sign_in_failures WHERE ends_ms <= ?", now)
    tx.run(
        "INSERT INTO sign_in_failures (key, failures, ends_ms) VALUES (?, 1, ?) "
        "ON CONFLICT (key) DO UPDATE SET failures = sign_in_failures.failures + 1",
        key,
        ends_ms,
    )


def forgive_failure(tx: Tx, key: str) -> None:
    """Take one back."""
    tx.run("UPDATE sign_in_failures SET failures = failures - 1 WHERE key = ? AND failures > 0", key)


def forget_failures(tx: Tx, key: str) -> None:
    """Begin anew."""
    tx.run("DELETE FROM sign_in_failures WHERE key = ?", key)


# Second factors


def find_authenticator(tx: Tx, user_id: int) -> AuthenticatorRow | None:
    """A person's authenticator, or None."""
    return tx.find(AuthenticatorRow, "SELECT secret, last_step FROM authenticators WHERE user_id = ?", user_id)


def set_authenticator(tx: Tx, user_id: int, secret: str, step: int) -> None:
    """Keep an authenticator."""
    tx.run("INSERT INTO authenticators (user_id, secret, last_step) VALUES (?, ?, ?)", user_id, secret, step)


def take_step(tx: Tx, user_id: int, step: int) -> bool:
    """Take the code of a moment; False when that or a later one was taken before."""
    return bool(
        tx.run("UPDATE authenticators SET last_step = ? WHERE user_id = ? AND last_step < ?", step, user_id, step)
    )


def delete_authenticator(tx: Tx, user_id: int) -> None:
    """Forget an authenticator and its backup codes."""
    tx.run("DELETE FROM authenticators WHERE user_id = ?", user_id)
    tx.run("DELETE FROM backup_codes WHERE user_id = ?", user_id)


def set_backup_codes(tx: Tx, user_id: int, hashes: Sequence[bytes]) -> None:
    """Keep new backup codes in the place of all earlier ones."""
    tx.run("DELETE FROM backup_codes WHERE user_id = ?", user_id)
    tx.run_many("INSERT INTO backup_codes (user_id, hash) VALUES (?, ?)", [(user_id, digest) for digest in hashes])


def take_backup_code(tx: Tx, user_id: int, digest: bytes) -> bool:
    """Use a backup code up; False when there is none like it."""
    return bool(tx.run("DELETE FROM backup_codes WHERE user_id = ? AND hash = ?", user_id, digest))


def set_mfa_enabled(tx: Tx, user_id: int, enabled: bool) -> None:
    """Keep whether a person has a second factor."""
    tx.run("UPDATE users SET mfa_enabled = ? WHERE id = ?", int(enabled), user_id)


def insert_ticket(tx: Tx, digest: bytes, user_id: int, expires_ms: int, now: int) -> None:
    """Keep a ticket, and drop those that are over."""
    tx.run("DELETE FROM mfa_tickets WHERE expires_ms <= ?", now)
    tx.run("INSERT INTO mfa_tickets (hash, user_id, expires_ms) VALUES (?, ?, ?)", digest, user_id, expires_ms)


def find_ticket(tx: Tx, digest: bytes, now: int) -> UserId | None:
    """Whose ticket this is, or None."""
    user_id = tx.value("SELECT user_id FROM mfa_tickets WHERE hash = ? AND expires_ms > ?", digest, now)
    return None if user_id is None else UserId(user_id)


def delete_ticket(tx: Tx, digest: bytes) -> bool:
    """Use a ticket up; False when somebody did before."""
    return bool(tx.run("DELETE FROM mfa_tickets WHERE hash = ?", digest))

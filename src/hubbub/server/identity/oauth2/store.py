"""SQL for approved scopes, authorizations, codes, refresh tokens, device codes and signing keys."""

import secrets
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from hubbub.protocol.enums import ApplicationIntegrationType
from hubbub.protocol.ids import Snowflake
from hubbub.protocol.resources import oauth2 as wire
from hubbub.server.core.auth import hash_token
from hubbub.server.core.batches import batches
from hubbub.server.core.personal_data import SECRET, Erasure, PersonalColumn
from hubbub.server.core.store import Tx, placeholders

TABLES: Final = (
    "approved_scopes",
    "authorization_codes",
    "authorizations",
    "device_codes",
    "refresh_tokens",
    "signing_keys",
)
"""Tables that only this slice writes."""
PERSONAL_DATA: Final = (
    PersonalColumn(column="authorization_codes.user_id", erasure=Erasure.DELETED, omission=SECRET),
    PersonalColumn(column="authorizations.user_id", erasure=Erasure.DELETED, export="authorizations"),
    PersonalColumn(column="device_codes.user_id", erasure=Erasure.DELETED, omission=SECRET),
    PersonalColumn(column="refresh_tokens.user_id", erasure=Erasure.DELETED, omission=SECRET),
)
"""Columns of these tables that contain IDs of users."""
READS: Final = {
    "tokens": "grants are joined with their access tokens",
}
"""Tables of other slices that this slice reads, with the reason."""


CODE_RETENTION_MS: Final = 86_400_000
"""Time that an expired code is stored, in milliseconds, to detect replays."""
USED_TOKEN_RETENTION_MS: Final = 30 * 86_400_000
"""Time that a used refresh token is stored, in milliseconds, to detect replays."""
RPC_TOKEN_STATE: Final = "vouched"
"""State of a device code that is an RPC token of a backend. The text is stored, so it does not change."""


class AuthorizationRow(NamedTuple):
    """A user's authorization of an application."""

    id: Snowflake
    user_id: int
    application_id: int
    scopes: str
    """Granted scopes, separated by spaces."""
    created_ms: int
    changed_ms: int


class CodeRow(NamedTuple):
    """An authorization code; the code itself is stored only as a hash."""

    hash: bytes
    application_id: int
    user_id: int
    scopes: str
    redirect_uri: str
    redirect_sent: int
    """Whether the request had a redirect URI, which the exchange must then repeat."""
    code_challenge: str | None
    nonce: str | None
    guild_id: int | None
    permissions: int
    installs: int
    """Whether the exchange installs the application in the guild; otherwise it is already installed."""
    webhook_channel_id: int | None
    """ID of the channel in which the exchange creates a webhook, or None."""
    expires_ms: int
    family_id: int | None = None
    """ID of the token family that the exchange created; None if the code was not exchanged yet."""


class RefreshTokenRow(NamedTuple):
    """A refresh token; the token itself is stored only as a hash."""

    hash: bytes
    family_id: int
    """ID of the token family, and of its current access token."""
    user_id: int
    application_id: int
    scopes: str
    created_ms: int
    expires_ms: int | None
    """Expiry time in Unix milliseconds; None if the token does not expire."""
    used_ms: int | None = None
    """Time of the rotation in Unix milliseconds; None if the token was not used yet."""


class DeviceAuthorizationRow(NamedTuple):
    """A device authorization (RFC 8628); the device code itself is stored only as a hash."""

    hash: bytes
    user_code: str
    """Code that the user enters, in upper case and without separators."""
    application_id: int
    scopes: str
    """Requested scopes, separated by spaces."""
    state: str
    """`pending`, `granted` or `denied`; RPC_TOKEN_STATE for an RPC token."""
    user_id: int | None
    """ID of the user who granted or denied the request; None while it is pending."""
    interval_seconds: int
    """Minimum time between two polls of the device."""
    polled_ms: int
    """Time of the last poll in Unix milliseconds; 0 if the device did not poll yet."""
    expires_ms: int


class KeyRow(NamedTuple):
    """A key that signs ID tokens."""

    kid: str
    """ID of the key."""
    jwk: str
    """Private key as the JSON of a JSON Web Key."""
    created_ms: int


_AUTHORIZATION_COLUMNS: Final = ", ".join(AuthorizationRow._fields)
_CODE_COLUMNS: Final = ", ".join(CodeRow._fields)
_REFRESH_COLUMNS: Final = ", ".join(RefreshTokenRow._fields)
_DEVICE_COLUMNS: Final = ", ".join(DeviceAuthorizationRow._fields)


# Applications


def list_approved_scopes(tx: Tx, application_id: int) -> set[str]:
    """Return the restricted scopes that the operator approved for an application."""
    return {row[0] for row in tx.all("SELECT scope FROM approved_scopes WHERE application_id = ?", application_id)}


def approve_scopes(tx: Tx, application_id: int, scopes: Iterable[str]) -> None:
    tx.run_many(
        "INSERT INTO approved_scopes (application_id, scope) VALUES (?, ?) ON CONFLICT (application_id, scope) DO NOTHING",
        [(application_id, scope) for scope in scopes],
    )


def delete_application_data(tx: Tx, application_id: int) -> None:
    """Delete the approvals, codes and user installations of a deleted application."""
    for table in ("approved_scopes", "device_codes", "authorization_codes"):
        tx.run(f"DELETE FROM {table} WHERE application_id = ?", application_id)
    tx.run(
        "DELETE FROM installations WHERE application_id = ? AND integration_type = ?",
        application_id,
        int(ApplicationIntegrationType.USER_INSTALL),
    )


# Authorizations


def find_authorization(tx: Tx, user_id: int, application_id: int) -> AuthorizationRow | None:
    """Return a user's authorization of an application, or None."""
    return tx.find(
        AuthorizationRow,
        f"SELECT {_AUTHORIZATION_COLUMNS} FROM authorizations WHERE user_id = ? AND application_id = ?",
        user_id,
        application_id,
    )


def find_authorization_by_id(tx: Tx, authorization_id: int, user_id: int) -> AuthorizationRow | None:
    """Return the user's authorization with this ID, or None."""
    return tx.find(
        AuthorizationRow,
        f"SELECT {_AUTHORIZATION_COLUMNS} FROM authorizations WHERE id = ? AND user_id = ?",
        authorization_id,
        user_id,
    )


def list_authorizations(tx: Tx, user_id: int) -> list[AuthorizationRow]:
    """Return a user's authorizations, oldest first."""
    return tx.fetch(
        AuthorizationRow, f"SELECT {_AUTHORIZATION_COLUMNS} FROM authorizations WHERE user_id = ? ORDER BY id", user_id
    )


def filter_authorized(tx: Tx, application_ids: Sequence[int], user_ids: Iterable[int]) -> set[int]:
    """Return the IDs of the given users who have an authorization or token for one of the applications.

    Provisional accounts have only a token."""
    unique_ids, authorized_ids = list(dict.fromkeys(user_ids)), set[int]()
    for batch in batches(unique_ids):
        where = f"application_id IN ({placeholders(application_ids)}) AND user_id IN ({placeholders(batch)})"
        rows = tx.all(
            f"SELECT user_id FROM authorizations WHERE {where} "
            f"UNION SELECT user_id FROM tokens WHERE kind = 'bearer' AND {where}",
            *application_ids,
            *batch,
            *application_ids,
            *batch,
        )
        authorized_ids.update(row[0] for row in rows)
    return authorized_ids


def list_user_applications(tx: Tx, user_ids: Iterable[int]) -> list[tuple[int, int]]:
    """Return the (user ID, application ID) pairs of the authorizations and access tokens of the users `user_ids`."""
    unique_ids, user_application_pairs = list(dict.fromkeys(user_ids)), list[tuple[int, int]]()
    for batch in batches(unique_ids):
        rows = tx.all(
            f"SELECT user_id, application_id FROM authorizations WHERE user_id IN ({placeholders(batch)}) "
            "UNION SELECT user_id, application_id FROM tokens "
            f"WHERE kind = 'bearer' AND application_id IS NOT NULL AND user_id IN ({placeholders(batch)})",
            *batch,
            *batch,
        )
        user_application_pairs += [(row[0], row[1]) for row in rows]
    return user_application_pairs


def upsert_authorization(tx: Tx, row: AuthorizationRow) -> None:
    """Insert an authorization, or replace the scopes of an existing authorization."""
    tx.run(
        f"INSERT INTO authorizations ({_AUTHORIZATION_COLUMNS}) VALUES ({placeholders(row)}) "
        "ON CONFLICT (user_id, application_id) DO UPDATE SET scopes = excluded.scopes, changed_ms = excluded.changed_ms",
        *row,
    )


def delete_grants(tx: Tx, user_id: int, application_id: int) -> int:
    """Delete a user's grants to an application, except access tokens, and its installation for the user.

    Return the number of deleted rows."""
    deleted_count = 0
    for table in ("authorizations", "authorization_codes", "refresh_tokens", "device_codes"):
        deleted_count += tx.run(
            f"DELETE FROM {table} WHERE user_id = ? AND application_id = ?", user_id, application_id
        )
    deleted_count += tx.run(
        "DELETE FROM installations WHERE application_id = ? AND integration_type = ? AND target_id = ?",
        application_id,
        int(ApplicationIntegrationType.USER_INSTALL),
        user_id,
    )
    return deleted_count


def delete_user_grants(tx: Tx, user_id: int) -> None:
    """Delete a user's grants to all applications, except access tokens."""
    for table in ("authorizations", "authorization_codes", "refresh_tokens", "device_codes"):
        tx.run(f"DELETE FROM {table} WHERE user_id = ?", user_id)


def list_authorized_application_ids(tx: Tx, user_id: int) -> list[int]:
    """Return the IDs of the applications that have an authorization or token of a user, sorted."""
    rows = tx.all(
        "SELECT application_id FROM authorizations WHERE user_id = ? "
        "UNION SELECT application_id FROM tokens WHERE user_id = ? AND kind = 'bearer'",
        user_id,
        user_id,
    )
    return sorted(row[0] for row in rows)


def list_authorized_user_ids(tx: Tx, application_id: int) -> list[int]:
    """Return the IDs of the users who have an authorization or token for an application, sorted."""
    rows = tx.all(
        "SELECT user_id FROM authorizations WHERE application_id = ? "
        "UNION SELECT user_id FROM tokens WHERE application_id = ? AND kind = 'bearer'",
        application_id,
        application_id,
    )
    return sorted(row[0] for row in rows)


# Codes


def insert_code(tx: Tx, row: CodeRow, now_ms: int) -> None:
    """Insert an authorization code, and delete codes that expired more than CODE_RETENTION_MS ago.

    Delete the oldest codes of the user and the application that were not exchanged, so that at most CODES_MAX remain."""
    tx.run("DELETE FROM authorization_codes WHERE expires_ms < ?", now_ms - CODE_RETENTION_MS)
    rows = tx.all(
        "SELECT hash FROM authorization_codes WHERE user_id = ? AND application_id = ? AND family_id IS NULL "
        "ORDER BY expires_ms DESC",
        row.user_id,
        row.application_id,
    )
    for (digest,) in rows[wire.CODES_MAX - 1 :]:
        tx.run("DELETE FROM authorization_codes WHERE hash = ?", digest)
    tx.run(f"INSERT INTO authorization_codes ({_CODE_COLUMNS}) VALUES ({placeholders(row)})", *row)


def find_code(tx: Tx, code: str) -> CodeRow | None:
    """Return an authorization code by its text, or None."""
    return tx.find(CodeRow, f"SELECT {_CODE_COLUMNS} FROM authorization_codes WHERE hash = ?", hash_token(code))


def use_code(tx: Tx, code: str, family_id: int) -> bool:
    """Mark an authorization code as exchanged for a token family; return False if it was already exchanged."""
    return bool(
        tx.run(
            "UPDATE authorization_codes SET family_id = ? WHERE hash = ? AND family_id IS NULL",
            family_id,
            hash_token(code),
        )
    )


# Tokens


def find_access_token_owner(tx: Tx, token: str) -> tuple[int, int] | None:
    """Return the user ID and application ID of an access token, or None. The token may have expired."""
    row = tx.one("SELECT user_id, application_id FROM tokens WHERE hash = ? AND kind = 'bearer'", hash_token(token))
    return None if row is None else (row[0], row[1])


class AccessTokenRow(NamedTuple):
    """An access token, without its text."""

    id: int
    user_id: int
    application_id: int
    scopes: str
    expires_ms: int | None


def find_valid_access_token(tx: Tx, token: str, now_ms: int) -> AccessTokenRow | None:
    """Return an access token that has not expired, or None."""
    return tx.find(
        AccessTokenRow,
        "SELECT id, user_id, application_id, scopes, expires_ms FROM tokens "
        "WHERE hash = ? AND kind = 'bearer' AND (expires_ms IS NULL OR expires_ms > ?)",
        hash_token(token),
        now_ms,
    )


def find_access_token_expiry(tx: Tx, token_id: int, user_id: int) -> int | None:
    """Return the expiry time of an access token in Unix milliseconds; None if it is unknown or does not expire."""
    expires_ms: int | None = tx.value(
        "SELECT expires_ms FROM tokens WHERE user_id = ? AND kind = 'bearer' AND id = ?", user_id, token_id
    )
    return expires_ms


def insert_refresh_token(tx: Tx, row: RefreshTokenRow) -> None:
    tx.run(f"INSERT INTO refresh_tokens ({_REFRESH_COLUMNS}) VALUES ({placeholders(row)})", *row)


def find_refresh_token(tx: Tx, token: str) -> RefreshTokenRow | None:
    """Return a refresh token by its text, or None."""
    return tx.find(RefreshTokenRow, f"SELECT {_REFRESH_COLUMNS} FROM refresh_tokens WHERE hash = ?", hash_token(token))


def use_refresh_token(tx: Tx, row: RefreshTokenRow, now_ms: int) -> bool:
    """Mark a refresh token as used; return False if it was already used.

    Tokens of the family that were used more than USED_TOKEN_RETENTION_MS ago are deleted."""
    tx.run(
        "DELETE FROM refresh_tokens WHERE family_id = ? AND used_ms < ?",
        row.family_id,
        now_ms - USED_TOKEN_RETENTION_MS,
    )
    return bool(tx.run("UPDATE refresh_tokens SET used_ms = ? WHERE hash = ? AND used_ms IS NULL", now_ms, row.hash))


def list_token_family_ids(tx: Tx, user_id: int, application_id: int) -> list[int]:
    """Return the family IDs of the refresh tokens that an application has for a user."""
    sql = "SELECT DISTINCT family_id FROM refresh_tokens WHERE user_id = ? AND application_id = ?"
    return [row[0] for row in tx.all(sql, user_id, application_id)]


def has_valid_tokens(tx: Tx, user_id: int, application_id: int, now_ms: int) -> bool:
    """Return whether an application has a valid access token or refresh token of a user."""
    unexpired_condition = "user_id = ? AND application_id = ? AND (expires_ms IS NULL OR expires_ms > ?)"
    sql = (
        f"SELECT 1 FROM refresh_tokens WHERE {unexpired_condition} AND used_ms IS NULL "
        f"UNION ALL SELECT 1 FROM tokens WHERE {unexpired_condition} AND kind = 'bearer' LIMIT 1"
    )
    return tx.value(sql, *(user_id, application_id, now_ms) * 2) is not None


def delete_family(tx: Tx, family_id: int) -> None:
    """Delete all refresh tokens of a token family."""
    tx.run("DELETE FROM refresh_tokens WHERE family_id = ?", family_id)


# Devices


def insert_device(tx: Tx, row: DeviceAuthorizationRow, now_ms: int) -> bool:
    """Insert a device authorization; return False if another device authorization has the same user code.

    Device authorizations that expired more than CODE_RETENTION_MS ago are deleted."""
    tx.run("DELETE FROM device_codes WHERE expires_ms < ?", now_ms - CODE_RETENTION_MS)
    return bool(
        tx.run(
            f"INSERT INTO device_codes ({_DEVICE_COLUMNS}) VALUES ({placeholders(row)}) ON CONFLICT (user_code) DO NOTHING",
            *row,
        )
    )


def count_devices(tx: Tx, application_id: int, state: str, now_ms: int) -> int:
    """Return the number of unexpired device codes of an application in a state."""
    count: int = tx.value(
        "SELECT COUNT(*) FROM device_codes WHERE application_id = ? AND state = ? AND expires_ms > ?",
        application_id,
        state,
        now_ms,
    )
    return count


def insert_rpc_token(tx: Tx, rpc_token: str, application_id: int, now_ms: int, expires_ms: int) -> None:
    """Insert an RPC token.

    It is stored as a device code in a state that yields no token; its user code contains lowercase letters, so no user
    can enter it."""
    row = DeviceAuthorizationRow(
        hash=hash_token(rpc_token),
        user_code=f"rpc-{secrets.token_hex(16)}",
        application_id=application_id,
        scopes="",
        state=RPC_TOKEN_STATE,
        user_id=None,
        interval_seconds=0,
        polled_ms=0,
        expires_ms=expires_ms,
    )
    insert_device(tx, row, now_ms)


def use_rpc_token(tx: Tx, rpc_token: str, application_id: int, now_ms: int) -> bool:
    """Consume an RPC token; return False if it is unknown, expired or of another application."""
    return bool(
        tx.run(
            "DELETE FROM device_codes WHERE hash = ? AND application_id = ? AND state = ? AND expires_ms > ?",
            hash_token(rpc_token),
            application_id,
            RPC_TOKEN_STATE,
            now_ms,
        )
    )


def find_device(tx: Tx, device_code: str) -> DeviceAuthorizationRow | None:
    """Return a device authorization by its device code, or None."""
    return tx.find(
        DeviceAuthorizationRow, f"SELECT {_DEVICE_COLUMNS} FROM device_codes WHERE hash = ?", hash_token(device_code)
    )


def find_device_by_user_code(tx: Tx, user_code: str) -> DeviceAuthorizationRow | None:
    return tx.find(DeviceAuthorizationRow, f"SELECT {_DEVICE_COLUMNS} FROM device_codes WHERE user_code = ?", user_code)


def record_poll(tx: Tx, row: DeviceAuthorizationRow, interval_seconds: int, now_ms: int) -> None:
    """Record the time of a device's poll, and the interval that it must observe from then on."""
    tx.run(
        "UPDATE device_codes SET polled_ms = ?, interval_seconds = ? WHERE hash = ?", now_ms, interval_seconds, row.hash
    )


def record_device_decision(tx: Tx, row: DeviceAuthorizationRow, state: str, user_id: int) -> bool:
    """Record the user's decision as the new `state`, granted or denied; return False if the request was already decided."""
    return bool(
        tx.run(
            "UPDATE device_codes SET state = ?, user_id = ? WHERE hash = ? AND state = 'pending'",
            state,
            user_id,
            row.hash,
        )
    )


def delete_device(tx: Tx, row: DeviceAuthorizationRow) -> bool:
    """Delete a device authorization; return False if it was already deleted."""
    return bool(tx.run("DELETE FROM device_codes WHERE hash = ?", row.hash))


# Keys


def list_keys(tx: Tx, since_ms: int) -> list[KeyRow]:
    """Return the signing keys created after `since_ms` (Unix milliseconds), newest first."""
    sql = "SELECT kid, jwk, created_ms FROM signing_keys WHERE created_ms > ? ORDER BY created_ms DESC, kid"
    return tx.fetch(KeyRow, sql, since_ms)


def insert_key(tx: Tx, row: KeyRow, *, keep_since_ms: int) -> None:
    """Insert a signing key, and delete keys created at `keep_since_ms` (Unix milliseconds) or earlier."""
    tx.run("DELETE FROM signing_keys WHERE created_ms <= ?", keep_since_ms)
    tx.run("INSERT INTO signing_keys (kid, jwk, created_ms) VALUES (?, ?, ?)", *row)

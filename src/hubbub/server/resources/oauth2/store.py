"""Rows of authorizations, codes, refresh tokens, device codes, signing keys and installations."""

import secrets
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from hubbub.protocol.ids import Snowflake
from hubbub.server.core.auth import hash_token
from hubbub.server.core.store import Tx, places

CODE_KEPT_MS: Final = 86_400_000
"""A code is remembered so long after its end, to know a replay by."""
USED_KEPT_MS: Final = 30 * 86_400_000
"""The same for refresh tokens that were used."""
VOUCHED: Final = "vouched"
"""The state of a device code that is a backend's word for the local agent."""


class AuthorizationRow(NamedTuple):
    """What a person lets an application do."""

    id: Snowflake
    user_id: int
    application_id: int
    scopes: str
    created_ms: int
    changed_ms: int


class CodeRow(NamedTuple):
    """An authorization code, without its text."""

    hash: bytes
    application_id: int
    user_id: int
    scopes: str
    redirect_uri: str
    redirect_sent: int
    """Whether the request named the redirect, so that the exchange must name it too."""
    code_challenge: str | None
    nonce: str | None
    guild_id: int | None
    permissions: int
    installs: int
    """Whether the exchange brings the application into the guild; otherwise it is there already."""
    webhook_channel_id: int | None
    expires_ms: int
    family_id: int | None = None


class RefreshRow(NamedTuple):
    """A refresh token, without its text."""

    hash: bytes
    family_id: int
    """Also the id of the access token that goes with it."""
    user_id: int
    application_id: int
    scopes: str
    created_ms: int
    expires_ms: int | None
    used_ms: int | None = None


class DeviceRow(NamedTuple):
    """A device that waits for a person's answer."""

    hash: bytes
    user_code: str
    application_id: int
    scopes: str
    state: str
    user_id: int | None
    interval_s: int
    polled_ms: int
    expires_ms: int


class KeyRow(NamedTuple):
    """A key that signs ID tokens."""

    kid: str
    jwk: str
    created_ms: int


class InstallationRow(NamedTuple):
    """An application in a guild (0) or for a user (1)."""

    application_id: int
    integration_type: int
    target_id: int
    user_id: int
    """Who installed it."""
    scopes: str
    created_ms: int


_AUTHORIZATION: Final = ", ".join(AuthorizationRow._fields)
_CODE: Final = ", ".join(CodeRow._fields)
_REFRESH: Final = ", ".join(RefreshRow._fields)
_DEVICE: Final = ", ".join(DeviceRow._fields)
_INSTALLATION: Final = ", ".join(InstallationRow._fields)


# Clients


def client_secret_hash(tx: Tx, application_id: int) -> bytes | None:
    """SHA-256 of an application's secret."""
    kept = tx.value("SELECT client_secret_hash FROM applications WHERE id = ?", application_id)
    return None if kept is None else bytes(kept)


def approved_scopes(tx: Tx, application_id: int) -> set[str]:
    """The scopes that the operator let an application ask for."""
    return {row[0] for row in tx.all("SELECT scope FROM approved_scopes WHERE application_id = ?", application_id)}


def approve_scopes(tx: Tx, application_id: int, scopes: Iterable[str]) -> None:
    """Let an application ask for these from now on."""
    tx.run_many(
        "INSERT INTO approved_scopes (application_id, scope) VALUES (?, ?) ON CONFLICT (application_id, scope) DO NOTHING",
        [(application_id, scope) for scope in scopes],
    )


def holders(tx: Tx, application_id: int) -> list[int]:
    """The users whom an application has tokens or an authorization of."""
    rows = tx.all(
        "SELECT user_id FROM authorizations WHERE application_id = ? "
        "UNION SELECT user_id FROM tokens WHERE application_id = ? AND kind = 'bearer'",
        application_id,
        application_id,
    )
    return [row[0] for row in rows]


def forget_application(tx: Tx, application_id: int) -> None:
    """Remove what an application that goes has left: approvals, and codes that nobody answered."""
    for table in ("approved_scopes", "device_codes", "authorization_codes"):
        tx.run(f"DELETE FROM {table} WHERE application_id = ?", application_id)
    tx.run("DELETE FROM installations WHERE application_id = ? AND integration_type = 1", application_id)


# Authorizations


def find_authorization(tx: Tx, user_id: int, application_id: int) -> AuthorizationRow | None:
    """What a person lets an application do, or None."""
    return tx.find(
        AuthorizationRow,
        f"SELECT {_AUTHORIZATION} FROM authorizations WHERE user_id = ? AND application_id = ?",
        user_id,
        application_id,
    )


def find_authorization_by_id(tx: Tx, authorization_id: int, user_id: int) -> AuthorizationRow | None:
    """One of a person's authorizations, or None."""
    return tx.find(
        AuthorizationRow,
        f"SELECT {_AUTHORIZATION} FROM authorizations WHERE id = ? AND user_id = ?",
        authorization_id,
        user_id,
    )


def list_authorizations(tx: Tx, user_id: int) -> list[AuthorizationRow]:
    """All that a person let in, the first first."""
    return tx.fetch(
        AuthorizationRow, f"SELECT {_AUTHORIZATION} FROM authorizations WHERE user_id = ? ORDER BY id", user_id
    )


def players_among(tx: Tx, application_ids: Sequence[int], user_ids: Iterable[int]) -> set[int]:
    """Those of these users for whom one of the applications acts: by an authorization, or by a token (a provisional account has
    only that)."""
    wanted, found = list(dict.fromkeys(user_ids)), set[int]()
    for start in range(0, len(wanted), 400):
        some = wanted[start : start + 400]
        where = f"application_id IN ({places(application_ids)}) AND user_id IN ({places(some)})"
        rows = tx.all(
            f"SELECT user_id FROM authorizations WHERE {where} "
            f"UNION SELECT user_id FROM tokens WHERE kind = 'bearer' AND {where}",
            *application_ids,
            *some,
            *application_ids,
            *some,
        )
        found.update(row[0] for row in rows)
    return found


def applications_of(tx: Tx, user_ids: Iterable[int]) -> list[tuple[int, int]]:
    """Which applications act for these users, by an authorization or by a token: pairs of user and application."""
    wanted, found = list(dict.fromkeys(user_ids)), list[tuple[int, int]]()
    for start in range(0, len(wanted), 400):
        some = wanted[start : start + 400]
        rows = tx.all(
            f"SELECT user_id, application_id FROM authorizations WHERE user_id IN ({places(some)}) "
            "UNION SELECT user_id, application_id FROM tokens "
            f"WHERE kind = 'bearer' AND application_id IS NOT NULL AND user_id IN ({places(some)})",
            *some,
            *some,
        )
        found += [(row[0], row[1]) for row in rows]
    return found


def keep_authorization(tx: Tx, row: AuthorizationRow) -> None:
    """Keep what was granted; what a person granted before is replaced by the row's scopes."""
    tx.run(
        f"INSERT INTO authorizations ({_AUTHORIZATION}) VALUES ({places(row)}) "
        "ON CONFLICT (user_id, application_id) DO UPDATE SET scopes = excluded.scopes, changed_ms = excluded.changed_ms",
        *row,
    )


def forget_authorization(tx: Tx, user_id: int, application_id: int) -> int:
    """Remove everything that a person gave an application but the access tokens; how much there was."""
    removed = 0
    for table in ("authorizations", "authorization_codes", "refresh_tokens", "device_codes"):
        removed += tx.run(f"DELETE FROM {table} WHERE user_id = ? AND application_id = ?", user_id, application_id)
    removed += tx.run(
        "DELETE FROM installations WHERE application_id = ? AND integration_type = 1 AND target_id = ?",
        application_id,
        user_id,
    )
    return removed


def forget_user(tx: Tx, user_id: int) -> None:
    """Remove everything that a user gave any application but the access tokens."""
    for table in ("authorizations", "authorization_codes", "refresh_tokens", "device_codes"):
        tx.run(f"DELETE FROM {table} WHERE user_id = ?", user_id)


def authorized(tx: Tx, user_id: int) -> list[int]:
    """The applications that a person gave anything."""
    rows = tx.all(
        "SELECT application_id FROM authorizations WHERE user_id = ? "
        "UNION SELECT application_id FROM tokens WHERE user_id = ? AND kind = 'bearer'",
        user_id,
        user_id,
    )
    return sorted(row[0] for row in rows)


def who_authorized(tx: Tx, application_id: int) -> list[int]:
    """Everybody who gave an application anything."""
    rows = tx.all(
        "SELECT user_id FROM authorizations WHERE application_id = ? "
        "UNION SELECT user_id FROM tokens WHERE application_id = ? AND kind = 'bearer'",
        application_id,
        application_id,
    )
    return sorted(row[0] for row in rows)


# Codes


def insert_code(tx: Tx, row: CodeRow, now: int) -> None:
    """Keep a code, and drop those that nobody will ask for again."""
    tx.run("DELETE FROM authorization_codes WHERE expires_ms < ?", now - CODE_KEPT_MS)
    tx.run(f"INSERT INTO authorization_codes ({_CODE}) VALUES ({places(row)})", *row)


def find_code(tx: Tx, code: str) -> CodeRow | None:
    """A code by its text, or None."""
    return tx.find(CodeRow, f"SELECT {_CODE} FROM authorization_codes WHERE hash = ?", hash_token(code))


def use_code(tx: Tx, code: str, family_id: int) -> bool:
    """Take a code; False when somebody did before."""
    return bool(
        tx.run(
            "UPDATE authorization_codes SET family_id = ? WHERE hash = ? AND family_id IS NULL",
            family_id,
            hash_token(code),
        )
    )


# Tokens


def find_access_token(tx: Tx, token: str) -> tuple[int, int] | None:
    """The user and the application of an access token, or None."""
    row = tx.one("SELECT user_id, application_id FROM tokens WHERE hash = ? AND kind = 'bearer'", hash_token(token))
    return None if row is None else (row[0], row[1])


class AccessRow(NamedTuple):
    """An access token, without its text."""

    id: int
    user_id: int
    application_id: int
    scopes: str
    expires_ms: int | None


def find_access(tx: Tx, token: str, now: int) -> AccessRow | None:
    """An access token that holds now, or None."""
    return tx.find(
        AccessRow,
        "SELECT id, user_id, application_id, scopes, expires_ms FROM tokens "
        "WHERE hash = ? AND kind = 'bearer' AND (expires_ms IS NULL OR expires_ms > ?)",
        hash_token(token),
        now,
    )


def access_token_ends(tx: Tx, token_id: int, user_id: int) -> int | None:
    """When an access token ends."""
    ends: int | None = tx.value(
        "SELECT expires_ms FROM tokens WHERE user_id = ? AND kind = 'bearer' AND id = ?", user_id, token_id
    )
    return ends


def drop_ended_tokens(tx: Tx, user_id: int, now: int) -> None:
    """Remove a user's access tokens that ended by themselves, once no gateway session can be left of them."""
    tx.run("DELETE FROM tokens WHERE user_id = ? AND kind = 'bearer' AND expires_ms <= ?", user_id, now - USED_KEPT_MS)


def drop_access_token(tx: Tx, user_id: int, token_id: int) -> None:
    """Remove an access token that another takes the place of."""
    tx.run("DELETE FROM tokens WHERE user_id = ? AND kind = 'bearer' AND id = ?", user_id, token_id)


def insert_refresh(tx: Tx, row: RefreshRow) -> None:
    """Keep a refresh token."""
    tx.run(f"INSERT INTO refresh_tokens ({_REFRESH}) VALUES ({places(row)})", *row)


def find_refresh(tx: Tx, token: str) -> RefreshRow | None:
    """A refresh token by its text, or None."""
    return tx.find(RefreshRow, f"SELECT {_REFRESH} FROM refresh_tokens WHERE hash = ?", hash_token(token))


def use_refresh(tx: Tx, row: RefreshRow, now: int) -> bool:
    """Take a refresh token; False when somebody did before."""
    tx.run("DELETE FROM refresh_tokens WHERE family_id = ? AND used_ms < ?", row.family_id, now - USED_KEPT_MS)
    return bool(tx.run("UPDATE refresh_tokens SET used_ms = ? WHERE hash = ? AND used_ms IS NULL", now, row.hash))


def families(tx: Tx, user_id: int, application_id: int) -> list[int]:
    """The families of tokens that an application has for a user."""
    sql = "SELECT DISTINCT family_id FROM refresh_tokens WHERE user_id = ? AND application_id = ?"
    return [row[0] for row in tx.all(sql, user_id, application_id)]


def delete_family(tx: Tx, family_id: int) -> None:
    """Remove all refresh tokens that came of one grant."""
    tx.run("DELETE FROM refresh_tokens WHERE family_id = ?", family_id)


# Devices


def insert_device(tx: Tx, row: DeviceRow, now: int) -> bool:
    """Keep a device code, and drop those that are over; False when the user code is taken."""
    tx.run("DELETE FROM device_codes WHERE expires_ms < ?", now - CODE_KEPT_MS)
    return bool(
        tx.run(f"INSERT INTO device_codes ({_DEVICE}) VALUES ({places(row)}) ON CONFLICT (user_code) DO NOTHING", *row)
    )


def insert_rpc_token(tx: Tx, rpc_token: str, application_id: int, now: int, expires_ms: int) -> None:
    """Keep that a backend vouched for its program. It lies among the device codes, for it is one that no person answers: with
    this state it gives no token, and nobody can type its user code, which has small letters."""
    row = DeviceRow(
        hash=hash_token(rpc_token),
        user_code=f"rpc-{secrets.token_hex(16)}",
        application_id=application_id,
        scopes="",
        state=VOUCHED,
        user_id=None,
        interval_s=0,
        polled_ms=0,
        expires_ms=expires_ms,
    )
    insert_device(tx, row, now)


def use_rpc_token(tx: Tx, rpc_token: str, application_id: int, now: int) -> bool:
    """Use such a word up; False when it is none of this application's that still holds."""
    return bool(
        tx.run(
            "DELETE FROM device_codes WHERE hash = ? AND application_id = ? AND state = ? AND expires_ms > ?",
            hash_token(rpc_token),
            application_id,
            VOUCHED,
            now,
        )
    )


def find_device(tx: Tx, device_code: str) -> DeviceRow | None:
    """A device by its own code, or None."""
    return tx.find(DeviceRow, f"SELECT {_DEVICE} FROM device_codes WHERE hash = ?", hash_token(device_code))


def find_device_by_user_code(tx: Tx, user_code: str) -> DeviceRow | None:
    """A device by the code it shows, or None."""
    return tx.find(DeviceRow, f"SELECT {_DEVICE} FROM device_codes WHERE user_code = ?", user_code)


def note_poll(tx: Tx, row: DeviceRow, interval_s: int, now: int) -> None:
    """Remember when a device asked, and how far apart its questions must be."""
    tx.run("UPDATE device_codes SET polled_ms = ?, interval_s = ? WHERE hash = ?", now, interval_s, row.hash)


def answer_device(tx: Tx, row: DeviceRow, state: str, user_id: int) -> bool:
    """Keep a person's answer; False when there was one before."""
    return bool(
        tx.run(
            "UPDATE device_codes SET state = ?, user_id = ? WHERE hash = ? AND state = 'pending'",
            state,
            user_id,
            row.hash,
        )
    )


def delete_device(tx: Tx, row: DeviceRow) -> bool:
    """End a device code; False when somebody did before."""
    return bool(tx.run("DELETE FROM device_codes WHERE hash = ?", row.hash))


# Keys


def list_keys(tx: Tx, since_ms: int) -> list[KeyRow]:
    """The keys made since a moment, the newest first."""
    sql = "SELECT kid, jwk, created_ms FROM signing_keys WHERE created_ms > ? ORDER BY created_ms DESC, kid"
    return tx.fetch(KeyRow, sql, since_ms)


def insert_key(tx: Tx, row: KeyRow, *, keep_since_ms: int) -> None:
    """Keep a key, and drop those that nothing valid is signed with."""
    tx.run("DELETE FROM signing_keys WHERE created_ms <= ?", keep_since_ms)
    tx.run("INSERT INTO signing_keys (kid, jwk, created_ms) VALUES (?, ?, ?)", *row)


# Installations


def keep_installation(tx: Tx, row: InstallationRow) -> bool:
    """Keep an installation; False when it was there before, and only its scopes are new."""
    known = find_installation(tx, row.application_id, row.integration_type, row.target_id)
    tx.run(
        f"INSERT INTO installations ({_INSTALLATION}) VALUES ({places(row)}) "
        "ON CONFLICT (application_id, integration_type, target_id) DO UPDATE SET scopes = excluded.scopes",
        *row,
    )
    return known is None


def find_installation(tx: Tx, application_id: int, integration_type: int, target_id: int) -> InstallationRow | None:
    """An application's installation in a guild or for a user, or None."""
    return tx.find(
        InstallationRow,
        f"SELECT {_INSTALLATION} FROM installations WHERE application_id = ? AND integration_type = ? AND target_id = ?",
        application_id,
        integration_type,
        target_id,
    )


def list_installations(tx: Tx, target_id: int) -> list[InstallationRow]:
    """What is installed in a guild or for a user, the first first."""
    return tx.fetch(
        InstallationRow,
        f"SELECT {_INSTALLATION} FROM installations WHERE target_id = ? ORDER BY created_ms, application_id",
        target_id,
    )


def delete_installation(tx: Tx, application_id: int, integration_type: int, target_id: int) -> bool:
    """Remove an installation; False when there was none."""
    return bool(
        tx.run(
            "DELETE FROM installations WHERE application_id = ? AND integration_type = ? AND target_id = ?",
            application_id,
            integration_type,
            target_id,
        )
    )


def list_guild_installations(tx: Tx, application_id: int) -> list[InstallationRow]:
    """Where an application is installed in guilds."""
    return tx.fetch(
        InstallationRow,
        f"SELECT {_INSTALLATION} FROM installations WHERE application_id = ? AND integration_type = 0 ORDER BY target_id",
        application_id,
    )


def delete_installations(tx: Tx, target_id: int) -> None:
    """Remove everything installed in a guild that is gone."""
    tx.run("DELETE FROM installations WHERE target_id = ?", target_id)

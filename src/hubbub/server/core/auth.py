"""Tokens: creation, storage (hashed only), revocation, the end of their sessions, and lookup with a cache."""

import base64
import hashlib
import secrets
from collections import OrderedDict
from collections.abc import Callable, Collection
from typing import Final, NamedTuple

import msgspec

from hubbub.protocol import codec, errors
from hubbub.protocol.ids import ApplicationId, Snowflake, UserId
from hubbub.protocol.operation import Event
from hubbub.server.core.batches import batches
from hubbub.server.core.call import Actor
from hubbub.server.core.clock import Clock
from hubbub.server.core.event_dispatch import Dispatch, UserAudience
from hubbub.server.core.snowflakes import SnowflakeFactory
from hubbub.server.core.store import Database, Tx, placeholders

CACHED_TOKENS_MAX: Final = 50_000
TOKEN_LENGTH_MAX: Final = 512
"""Length above which a token is invalid without a lookup; generated tokens are much shorter."""

Entropy = Callable[[int], bytes]
"""Function that returns random bytes: from the operating system, or from a seeded source in a rehearsal."""


class TokenApplication(NamedTuple):
    """The settings of an application that apply to the callers with its tokens."""

    flags: int
    parent_id: int | None
    """ID of the publisher's application, or None."""
    obfuscates_channels: int
    is_disabled: int


FindApplication = Callable[[Tx, int], TokenApplication | None]
"""Function of the owner of applications that returns the settings of an application, or None if it does not exist."""

_NO_APPLICATION: Final = TokenApplication(flags=0, parent_id=None, obfuscates_channels=0, is_disabled=0)


class ActorChanged(msgspec.Struct, kw_only=True):
    """Internal event: cached data about a user's tokens is outdated."""

    user_id: UserId
    revoked: list[int] = []
    """IDs of tokens that were revoked or whose application was disabled.

    Their gateway sessions are closed with code 4004 (authentication failed)."""


ACTOR_CHANGED = Event("_ACTOR_CHANGED", ActorChanged)
"""Sent between nodes only; event names with a leading underscore never reach a client."""


def _encode_base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def generate_token(user_id: int, now_ms: int, entropy: Entropy = secrets.token_bytes) -> str:
    """Return a new token: base64 of the user ID, of the current time in Unix seconds, and of random bytes.

    Client libraries parse the user ID."""
    seconds = (now_ms // 1000).to_bytes(6, "big").lstrip(b"\0")
    return (
        f"{_encode_base64url(str(int(user_id)).encode())}.{_encode_base64url(seconds)}.{_encode_base64url(entropy(27))}"
    )


def hash_token(token: str) -> bytes:
    """Return the stored form of a token. A token has 216 random bits, so one round of SHA-256 is enough."""
    return hashlib.sha256(token.encode()).digest()


def issue(
    tx: Tx,
    *,
    kind: str,
    user_id: int,
    now: int,
    ids: SnowflakeFactory,
    application_id: int | None = None,
    scopes: frozenset[str] = frozenset(),
    expires_ms: int | None = None,
    token_id: int | None = None,
    parent_id: int | None = None,
    entropy: Entropy = secrets.token_bytes,
) -> str:
    """Create and store a token, under `token_id` if given, and return its text, of which only the hash is stored.

    `kind` is "bot", "user" or "bearer"; `now` and `expires_ms` are Unix milliseconds. `parent_id` is the ID of
    another token of the user, together with which the new token is revoked."""
    token = generate_token(user_id, now, entropy)
    tx.run(
        "INSERT INTO tokens (hash, id, kind, user_id, application_id, scopes, created_ms, expires_ms, parent_id) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        hash_token(token),
        ids.new(Snowflake) if token_id is None else token_id,
        kind,
        user_id,
        application_id,
        " ".join(sorted(scopes)),
        now,
        expires_ms,
        parent_id,
    )
    return token


def revoke(
    tx: Tx,
    user_id: int,
    *,
    kind: str | None = None,
    token_id: int | None = None,
    application_id: int | None = None,
    except_id: int | None = None,
) -> int:
    """Revoke a user's tokens that match all given arguments, and their child tokens.

    Without arguments all tokens of the user are revoked. `except_id` is a token that stays valid. Return the number of revoked
    tokens, not counting child tokens. The gateway sessions of all revoked tokens are closed after the commit."""
    conditions, parameters = "user_id = ?", [user_id]
    for condition, parameter in (
        ("kind = ?", kind),
        ("id = ?", token_id),
        ("application_id = ?", application_id),
        ("id <> ?", except_id),
    ):
        if parameter is not None:
            conditions += f" AND {condition}"
            parameters.append(parameter)  # type: ignore[arg-type]
    revoked_ids = [row[0] for row in tx.all(f"SELECT id FROM tokens WHERE {conditions}", *parameters)]
    tx.run(f"DELETE FROM tokens WHERE {conditions}", *parameters)
    publish_actor_changed(tx, user_id, revoked=revoked_ids + _revoke_children(tx, user_id, revoked_ids))
    return len(revoked_ids)


def list_excess_ids(
    tx: Tx, user_id: int, *, kind: str, application_id: int | None = None, tokens_max: int
) -> list[int]:
    """Return the IDs of the oldest tokens of a user that must be revoked, so that with a new one at most `tokens_max` remain.

    Only tokens of `kind` count, and with `application_id` only those of this application."""
    conditions, parameters = "user_id = ? AND kind = ?", [user_id, kind]
    if application_id is not None:
        conditions += " AND application_id = ?"
        parameters.append(application_id)
    token_ids = [row[0] for row in tx.all(f"SELECT id FROM tokens WHERE {conditions} ORDER BY id DESC", *parameters)]
    return token_ids[tokens_max - 1 :]


def filter_valid_ids(tx: Tx, token_ids: Collection[int], now_ms: int) -> set[int]:
    """Return the IDs of the given tokens that are neither revoked nor expired at `now_ms`."""
    valid_ids: set[int] = set()
    for batch in batches(token_ids):
        sql = f"SELECT id FROM tokens WHERE id IN ({placeholders(batch)}) AND (expires_ms IS NULL OR expires_ms > ?)"
        valid_ids.update(row[0] for row in tx.all(sql, *batch, now_ms))
    return valid_ids


def delete_expired(tx: Tx, user_id: int, before_ms: int) -> None:
    """Delete a user's access tokens that expired at or before a time in Unix milliseconds.

    The time must be so long ago that no gateway session uses such a token."""
    tx.run("DELETE FROM tokens WHERE user_id = ? AND kind = 'bearer' AND expires_ms <= ?", user_id, before_ms)


def delete_access_token(tx: Tx, user_id: int, token_id: int) -> None:
    """Delete an access token that is replaced by another. Its sessions stay open, and processes may have it cached."""
    tx.run("DELETE FROM tokens WHERE user_id = ? AND kind = 'bearer' AND id = ?", user_id, token_id)


def end_sessions(tx: Tx, user_id: int, token_ids: list[int]) -> None:
    """Close the sessions of deleted tokens and revoke their child tokens (those of a publisher's games)."""
    publish_actor_changed(tx, user_id, revoked=token_ids + _revoke_children(tx, user_id, token_ids))


def end_application_sessions(tx: Tx, application_id: int) -> None:
    """Close the sessions of all tokens of a disabled application. The tokens stay stored and work again if it is enabled."""
    ids_by_user: dict[int, list[int]] = {}
    for token_id, user_id in tx.all("SELECT id, user_id FROM tokens WHERE application_id = ?", application_id):
        ids_by_user.setdefault(user_id, []).append(token_id)
    for user_id, token_ids in ids_by_user.items():
        publish_actor_changed(tx, user_id, revoked=token_ids)


def count_application_tokens(tx: Tx, application_id: int, now_ms: int) -> int:
    """Return the number of tokens of an application that have not expired at `now_ms`."""
    sql = "SELECT COUNT(*) FROM tokens WHERE application_id = ? AND (expires_ms IS NULL OR expires_ms > ?)"
    return int(tx.value(sql, application_id, now_ms))


def _revoke_children(tx: Tx, user_id: int, parent_ids: list[int]) -> list[int]:
    if not parent_ids:
        return []
    condition = f"user_id = ? AND parent_id IN ({placeholders(parent_ids)})"
    revoked_ids = [row[0] for row in tx.all(f"SELECT id FROM tokens WHERE {condition}", user_id, *parent_ids)]
    if revoked_ids:
        tx.run(f"DELETE FROM tokens WHERE {condition}", user_id, *parent_ids)
    return revoked_ids


def publish_actor_changed(tx: Tx, user_id: int, *, revoked: list[int] | None = None) -> None:
    """Publish ACTOR_CHANGED, so that every node looks up the user's tokens again; `revoked` is its field."""
    tx.emit(ACTOR_CHANGED, ActorChanged(user_id=UserId(user_id), revoked=revoked or []), UserAudience.of(user_id))


def split_header(header: str) -> tuple[str, str]:
    """Split an Authorization header into the kind of caller and the token.

    The kind is `user` for a header without a scheme, and empty for an unknown scheme."""
    scheme, _, token = header.partition(" ")
    if not token:
        return "user", scheme
    return {"bot": "bot", "bearer": "bearer"}.get(scheme.lower(), ""), token.strip()


def find_actor(tx: Tx, token: str, now_ms: int, find_application: FindApplication) -> tuple[Actor, int | None] | None:
    """Return the caller that a token belongs to, and the expiry of the token (Unix ms or None).

    Return None if the token is unknown or expired, or its application is disabled. `find_application` returns the settings
    of the application of a token."""
    row = tx.one(
        "SELECT id, kind, user_id, application_id, scopes, expires_ms FROM tokens WHERE hash = ?", hash_token(token)
    )
    if row is None:
        return None
    token_id, kind, user_id, application_id, scopes, expires_ms = row
    if expires_ms is not None and expires_ms <= now_ms:
        return None
    application = _NO_APPLICATION
    if application_id is not None:
        application = find_application(tx, application_id) or _NO_APPLICATION
    if application.is_disabled:
        return None
    actor = Actor(
        user_id=UserId(user_id),
        kind=kind,
        application_id=None if application_id is None else ApplicationId(application_id),
        family_id=None if application_id is None else ApplicationId(application.parent_id or application_id),
        application_flags=application.flags,
        scopes=frozenset(scopes.split()),
        token_id=token_id,
        obfuscates_channels=bool(application.obfuscates_channels),
    )
    return actor, expires_ms


class Authenticator:
    """Looks up callers by token. The cache drops a token when it has expired or ACTOR_CHANGED arrives for its user."""

    def __init__(
        self,
        db: Database,
        clock: Clock,
        find_application: FindApplication,
        *,
        is_receiving: Callable[[], bool] = lambda: True,
    ) -> None:
        self._db = db
        self._clock = clock
        self._find_application = find_application
        self._is_receiving = is_receiving
        """Function that returns whether revocations by other nodes are being received.

        While they are not, the cache is bypassed."""
        self._cached_actors: OrderedDict[bytes, tuple[Actor, int | None]] = OrderedDict()
        """Actor and expiry (Unix ms or None) by token hash."""
        self._hashes_by_user_id: dict[int, set[bytes]] = {}
        """Hashes of the cached tokens by user ID."""
        self._invalidation_count = 0
        """Number of times that cached tokens were dropped; if it changes during a lookup, the result is not cached."""

    async def authenticate(self, header: str | None) -> Actor | None:
        """Return the caller of a request, or None without a header.

        Raise UNAUTHORIZED for an invalid token, or for a scheme that does not match the kind of the token."""
        if header is None:
            return None
        kind, token = split_header(header)
        actor = await self.find_by_token(token)
        if actor is None or actor.kind != kind:
            raise errors.UNAUTHORIZED()
        return actor

    async def find_by_token(self, token: str) -> Actor | None:
        """Return the caller that a token belongs to, or None."""
        if not token or len(token) > TOKEN_LENGTH_MAX:
            return None
        digest = hash_token(token)
        now_ms = self._clock.now_ms()
        cached = self._cached_actors.get(digest) if self._is_receiving() else None
        if cached is None:
            previous_invalidation_count = self._invalidation_count
            actor_and_expiry = await self._db.read(lambda tx: find_actor(tx, token, now_ms, self._find_application))
            if actor_and_expiry is None:
                return None
            if previous_invalidation_count == self._invalidation_count:
                # Nothing was revoked during the read, so the result may be cached.
                self._store_in_cache(digest, actor_and_expiry)
            return actor_and_expiry[0]
        actor, expires_ms = cached
        if expires_ms is not None and expires_ms <= now_ms:
            self._drop(digest, actor.user_id)
            return None
        return actor

    def handle_dispatch(self, dispatch: Dispatch) -> None:
        """Drop a user's cached tokens on ACTOR_CHANGED."""
        if dispatch.event == ACTOR_CHANGED.name:
            change = codec.decode(dispatch.body, ActorChanged)
            self._invalidation_count += 1
            for digest in self._hashes_by_user_id.pop(change.user_id, ()):
                self._cached_actors.pop(digest, None)

    def clear_cache(self) -> None:
        """Clear the cache, because revocations may have been missed or the store was replaced."""
        self._invalidation_count += 1
        self._cached_actors.clear()
        self._hashes_by_user_id.clear()

    def _store_in_cache(self, digest: bytes, actor_and_expiry: tuple[Actor, int | None]) -> None:
        self._cached_actors[digest] = actor_and_expiry
        self._hashes_by_user_id.setdefault(actor_and_expiry[0].user_id, set()).add(digest)
        if len(self._cached_actors) > CACHED_TOKENS_MAX:
            oldest_digest, (actor, _) = self._cached_actors.popitem(last=False)
            self._drop(oldest_digest, actor.user_id)

    def _drop(self, digest: bytes, user_id: int) -> None:
        self._cached_actors.pop(digest, None)
        hashes = self._hashes_by_user_id.get(user_id)
        if hashes is not None:
            hashes.discard(digest)
            if not hashes:
                del self._hashes_by_user_id[user_id]

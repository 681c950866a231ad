"""Tokens: authorization headers, storage, caching, expiry, revocation and format."""

from collections.abc import AsyncIterator

import pytest

from hubbub.protocol.errors import ApiError
from hubbub.server.core import auth
from hubbub.server.core.auth import Authenticator
from hubbub.server.core.clock import ControlledClock
from hubbub.server.core.snowflakes import SnowflakeFactory
from hubbub.server.core.sqlite import SqliteDatabase
from hubbub.server.identity.applications.interface.access import find_token_application


class TokenStore:
    """A database with an authenticator that receives its committed dispatches."""

    def __init__(self, database: SqliteDatabase) -> None:
        self.database = database
        self.clock = ControlledClock(1_000_000, running=False)
        self.ids = SnowflakeFactory(self.clock)
        self.authenticator = Authenticator(database, self.clock, find_token_application)
        database.on_commit = lambda dispatches: (
            [self.authenticator.handle_dispatch(dispatch) for dispatch in dispatches] and None
        )

    async def issue(self, kind: str = "bot", expires_ms: int | None = None, user_id: int = 5) -> str:
        now = self.clock.now_ms()
        return await self.database.write(
            lambda tx: auth.issue(tx, kind=kind, user_id=user_id, now=now, ids=self.ids, expires_ms=expires_ms)
        )


@pytest.fixture
async def store() -> AsyncIterator[TokenStore]:
    """A token store in memory."""
    database = SqliteDatabase(None)
    await database.start()
    yield TokenStore(database)
    await database.close()


async def test_each_kind_of_token_has_its_own_header(store: TokenStore) -> None:
    tokens = {kind: await store.issue(kind) for kind in ("bot", "bearer", "user")}
    headers = {"bot": "Bot {}", "bearer": "Bearer {}", "user": "{}"}

    for kind, token in tokens.items():
        for scheme, header in headers.items():
            if scheme == kind:
                actor = await store.authenticator.authenticate(header.format(token))
                assert actor is not None
                assert actor.kind == kind
            else:
                with pytest.raises(ApiError):
                    await store.authenticator.authenticate(header.format(token))


@pytest.mark.parametrize("header", ["", " ", "Bot", "Bot ", "Basic abc", "Bot x.y.z", "Bot " + "x" * 5000, "Bot a b"])
async def test_an_invalid_header_is_unauthorized(store: TokenStore, header: str) -> None:
    with pytest.raises(ApiError) as caught:
        await store.authenticator.authenticate(header)

    assert caught.value.status == 401


async def test_no_header_is_anonymous(store: TokenStore) -> None:
    assert await store.authenticator.authenticate(None) is None


async def test_an_expired_token_is_rejected_even_if_cached(store: TokenStore) -> None:
    token = await store.issue(expires_ms=store.clock.now_ms() + 1000)
    assert await store.authenticator.find_by_token(token) is not None

    store.clock.advance(1000)

    assert await store.authenticator.find_by_token(token) is None


async def test_a_revoked_token_is_removed_from_the_cache(store: TokenStore) -> None:
    bot_token, user_token = await store.issue("bot"), await store.issue("user")
    assert await store.authenticator.find_by_token(user_token) is not None

    await store.database.write(lambda tx: auth.revoke(tx, 5, kind="user"))

    assert await store.authenticator.find_by_token(user_token) is None
    assert await store.authenticator.find_by_token(bot_token) is not None


async def test_tokens_are_not_stored_in_plain_text(store: TokenStore) -> None:
    token = await store.issue()

    rows = await store.database.read(lambda tx: tx.all("SELECT * FROM tokens"))

    assert len(rows) == 1
    assert all(token.encode() not in (value if isinstance(value, bytes) else str(value).encode()) for value in rows[0])


def test_the_first_part_of_a_token_is_the_id_without_padding() -> None:
    encoded_id = auth.generate_token(123456789012345678, 0).split(".")[0]

    assert encoded_id == "MTIzNDU2Nzg5MDEyMzQ1Njc4"

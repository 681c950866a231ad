"""Tokens: what we keep, what we remember, and what we forget."""

from collections.abc import AsyncIterator

import pytest

from hubbub.protocol.errors import ApiError
from hubbub.server.core import auth
from hubbub.server.core.auth import Authenticator
from hubbub.server.core.clock import ControlledClock
from hubbub.server.core.snowflakes import SnowflakeFactory
from hubbub.server.core.sqlite import SqliteDatabase


class Keys:
    """A store with an authenticator that hears what commits say."""

    def __init__(self, database: SqliteDatabase) -> None:
        self.database = database
        self.clock = ControlledClock(1_000_000, running=False)
        self.ids = SnowflakeFactory(self.clock)
        self.authenticator = Authenticator(database, self.clock)
        database.on_commit = lambda dispatches: [self.authenticator.hear(each) for each in dispatches] and None

    async def issue(self, kind: str = "bot", expires_ms: int | None = None, user_id: int = 5) -> str:
        """A new token."""
        now = self.clock.now_ms()
        return await self.database.write(
            lambda tx: auth.issue(tx, kind=kind, user_id=user_id, now=now, ids=self.ids, expires_ms=expires_ms)
        )


@pytest.fixture
async def keys() -> AsyncIterator[Keys]:
    """A store of tokens."""
    database = SqliteDatabase(None)
    await database.start()
    yield Keys(database)
    await database.close()


async def test_each_kind_of_token_has_its_own_header(keys: Keys) -> None:
    tokens = {kind: await keys.issue(kind) for kind in ("bot", "bearer", "user")}
    headers = {"bot": "Bot {}", "bearer": "Bearer {}", "user": "{}"}

    for kind, token in tokens.items():
        for scheme, header in headers.items():
            if scheme == kind:
                actor = await keys.authenticator.actor(header.format(token))
                assert actor is not None
                assert actor.kind == kind
            else:
                with pytest.raises(ApiError):
                    await keys.authenticator.actor(header.format(token))


@pytest.mark.parametrize("header", ["", " ", "Bot", "Bot ", "Basic abc", "Bot x.y.z", "Bot " + "x" * 5000, "Bot a b"])
async def test_a_bad_header_is_unauthorized(keys: Keys, header: str) -> None:
    with pytest.raises(ApiError) as refusal:
        await keys.authenticator.actor(header)

    assert refusal.value.status == 401


async def test_no_header_is_nobody(keys: Keys) -> None:
    assert await keys.authenticator.actor(None) is None


async def test_an_expired_token_is_not_good_even_if_remembered(keys: Keys) -> None:
    token = await keys.issue(expires_ms=keys.clock.now_ms() + 1000)
    assert await keys.authenticator.by_token(token) is not None

    keys.clock.advance(1000)

    assert await keys.authenticator.by_token(token) is None


async def test_a_revoked_token_is_forgotten_at_once(keys: Keys) -> None:
    kept, ended = await keys.issue("bot"), await keys.issue("user")
    assert await keys.authenticator.by_token(ended) is not None

    await keys.database.write(lambda tx: auth.revoke(tx, 5, kind="user"))

    assert await keys.authenticator.by_token(ended) is None
    assert await keys.authenticator.by_token(kept) is not None


async def test_the_text_of_a_token_is_not_in_the_store(keys: Keys) -> None:
    token = await keys.issue()

    rows = await keys.database.read(lambda tx: tx.all("SELECT * FROM tokens"))

    assert len(rows) == 1
    assert all(token.encode() not in (value if isinstance(value, bytes) else str(value).encode()) for value in rows[0])


def test_the_first_part_of_a_token_is_the_id_without_padding() -> None:
    first = auth.token_text(123456789012345678, 0).split(".")[0]

    assert first == "MTIzNDU2Nzg5MDEyMzQ1Njc4"

"""Rare deeds are counted in the transaction that does them."""

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from hubbub.protocol import errors
from hubbub.protocol.errors import ApiError
from hubbub.protocol.operation import RateLimit
from hubbub.server.core import quotas
from hubbub.server.core.call import Call
from hubbub.server.core.clock import ControlledClock
from hubbub.server.core.config import Config
from hubbub.server.core.presences import Presences
from hubbub.server.core.snowflakes import SnowflakeFactory
from hubbub.server.core.sqlite import SqliteDatabase

TWICE = RateLimit(2, 60.0, code=errors.CHANNEL_WRITE_RATE_LIMIT)

Run = Callable[[Callable[[Call], Any]], Any]


class Place:
    """A store and a clock to count in."""

    def __init__(self, database: SqliteDatabase, mode: str = "real") -> None:
        self.database = database
        self.clock = ControlledClock(1_000_000, running=False)
        self.config = Config(rate_limits=mode)  # type: ignore[arg-type]

    async def do(self, step: Callable[[Call], Any]) -> Any:
        """Run a step in a transaction."""
        return await self.database.write(
            lambda tx: step(
                Call(
                    tx,
                    actor=None,
                    now=self.clock.now_ms(),
                    ids=SnowflakeFactory(self.clock),
                    config=self.config,
                    presences=Presences(),
                )
            )
        )


@pytest.fixture
async def place() -> AsyncIterator[Place]:
    """Somewhere to count."""
    database = SqliteDatabase(None)
    await database.start()
    yield Place(database)
    await database.close()


async def test_one_too_many_is_refused_until_the_window_is_over(place: Place) -> None:
    for _ in range(2):
        await place.do(lambda call: quotas.take(call, "rename", 7, TWICE))
        place.clock.advance(10_000)

    with pytest.raises(ApiError) as refusal:
        await place.do(lambda call: quotas.take(call, "rename", 7, TWICE))

    assert refusal.value.kind is errors.CHANNEL_WRITE_RATE_LIMIT
    assert refusal.value.extra["retry_after"] == 40.0
    place.clock.advance(40_000)
    await place.do(lambda call: quotas.take(call, "rename", 7, TWICE))


async def test_owners_and_kinds_are_counted_apart(place: Place) -> None:
    for owner, kind in ((1, "a"), (1, "a"), (1, "b"), (2, "a")):
        await place.do(lambda call, owner=owner, kind=kind: quotas.take(call, kind, owner, TWICE))  # type: ignore[misc]


async def test_a_deed_that_fails_is_not_counted(place: Place) -> None:
    def fail(call: Call) -> None:
        quotas.take(call, "rename", 7, TWICE)
        raise errors.MISSING_PERMISSIONS()

    for _ in range(5):
        with pytest.raises(ApiError):
            await place.do(fail)

    await place.do(lambda call: quotas.take(call, "rename", 7, TWICE))


async def test_nothing_is_counted_unless_limits_are_real(place: Place) -> None:
    rehearsal = Place(place.database, "report")

    for _ in range(5):
        await rehearsal.do(lambda call: quotas.take(call, "rename", 7, TWICE))

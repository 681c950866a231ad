"""Quotas of rare operations are counted in the transaction of the operation."""

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

TWO_PER_MINUTE = RateLimit(2, 60.0, code=errors.CHANNEL_WRITE_RATE_LIMIT)


class QuotaHarness:
    """A database, a clock and a configuration for counting quotas."""

    def __init__(self, database: SqliteDatabase, rate_limits: str = "real") -> None:
        self.database = database
        self.clock = ControlledClock(1_000_000, running=False)
        self.config = Config(rate_limits=rate_limits)  # type: ignore[arg-type]

    async def run_step(self, step: Callable[[Call], Any]) -> Any:
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
async def harness() -> AsyncIterator[QuotaHarness]:
    """A harness with a database in memory."""
    database = SqliteDatabase(None)
    await database.start()
    yield QuotaHarness(database)
    await database.close()


async def test_exceeding_a_quota_is_rejected_until_the_window_ends(harness: QuotaHarness) -> None:
    for _ in range(2):
        await harness.run_step(lambda call: quotas.consume_quota(call, "rename", 7, TWO_PER_MINUTE))
        harness.clock.advance(10_000)

    with pytest.raises(ApiError) as caught:
        await harness.run_step(lambda call: quotas.consume_quota(call, "rename", 7, TWO_PER_MINUTE))

    assert caught.value.kind is errors.CHANNEL_WRITE_RATE_LIMIT
    assert caught.value.extra["retry_after"] == 40.0
    harness.clock.advance(40_000)
    await harness.run_step(lambda call: quotas.consume_quota(call, "rename", 7, TWO_PER_MINUTE))


async def test_owners_and_kinds_are_counted_separately(harness: QuotaHarness) -> None:
    for owner, kind in ((1, "a"), (1, "a"), (1, "b"), (2, "a")):
        await harness.run_step(
            lambda call, owner=owner, kind=kind: quotas.consume_quota(call, kind, owner, TWO_PER_MINUTE)
        )  # type: ignore[misc]


async def test_a_failed_operation_is_not_counted(harness: QuotaHarness) -> None:
    def fail(call: Call) -> None:
        quotas.consume_quota(call, "rename", 7, TWO_PER_MINUTE)
        raise errors.MISSING_PERMISSIONS()

    for _ in range(5):
        with pytest.raises(ApiError):
            await harness.run_step(fail)

    await harness.run_step(lambda call: quotas.consume_quota(call, "rename", 7, TWO_PER_MINUTE))


async def test_quotas_apply_only_with_real_rate_limits(harness: QuotaHarness) -> None:
    report_harness = QuotaHarness(harness.database, "report")

    for _ in range(5):
        await report_harness.run_step(lambda call: quotas.consume_quota(call, "rename", 7, TWO_PER_MINUTE))

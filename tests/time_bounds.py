"""Bounds of real time, which only `make chaos` checks.

A busy or slow machine exceeds any bound, so `make test` checks outcomes only, with the common timeout. `make chaos` sets
HUBBUB_TIME_BOUNDS and also checks how long a server takes.
"""

import asyncio
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.world import WAIT_TIMEOUT_SECONDS

ARE_BOUNDS_CHECKED = bool(os.environ.get("HUBBUB_TIME_BOUNDS"))


def check_seconds(seconds: float, bound_seconds: float) -> None:
    """Fail with `make chaos` if a measured time exceeds its bound."""
    if ARE_BOUNDS_CHECKED:
        assert seconds < bound_seconds


@asynccontextmanager
async def time_bound(bound_seconds: float) -> AsyncIterator[None]:
    """Limit a block to the common timeout, and with `make chaos` to a bound in seconds."""
    started_at = time.monotonic()
    async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
        yield
    check_seconds(time.monotonic() - started_at, bound_seconds)

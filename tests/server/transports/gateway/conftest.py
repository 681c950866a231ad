"""A platform per test."""

from collections.abc import AsyncIterator

import pytest

from tests.server.transports.gateway.rehearsal import Platform


@pytest.fixture
async def platform() -> AsyncIterator[Platform]:
    """A gateway with nothing in it."""
    async with Platform() as platform:
        yield platform

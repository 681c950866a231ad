"""The gateway fixture: one platform for each test."""

from collections.abc import AsyncIterator

import pytest

from tests.server.transports.gateway.harness import Platform


@pytest.fixture
async def platform() -> AsyncIterator[Platform]:
    """A running gateway without guilds."""
    async with Platform() as platform:
        yield platform

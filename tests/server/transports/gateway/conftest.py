"""The gateway fixture: one platform for each test."""

from collections.abc import AsyncIterator

import pytest

from tests.server.transports.gateway.harness import GatewayPlatform


@pytest.fixture
async def platform() -> AsyncIterator[GatewayPlatform]:
    """A running gateway without guilds."""
    async with GatewayPlatform() as platform:
        yield platform

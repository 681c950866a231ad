"""Fixture of the journeys, which are tests of complete scenarios: an HTTP client."""

from collections.abc import AsyncIterator

import aiohttp
import pytest


@pytest.fixture
async def client() -> AsyncIterator[aiohttp.ClientSession]:
    """An HTTP client that is closed after the test."""
    async with aiohttp.ClientSession() as client:
        yield client

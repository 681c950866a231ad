"""Fixtures for the tests of whole stories."""

from collections.abc import AsyncIterator

import aiohttp
import pytest


@pytest.fixture
async def client() -> AsyncIterator[aiohttp.ClientSession]:
    """An HTTP client."""
    async with aiohttp.ClientSession() as client:
        yield client

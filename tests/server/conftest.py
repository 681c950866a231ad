"""Fixtures for the tests of the server: the table of all operations, and a rehearsal."""

from collections.abc import AsyncIterator

import pytest

from hubbub.server.composition import SLICES
from hubbub.server.core.endpoints import EndpointTable
from tests.rehearsal import Rehearsal, start_rehearsal


@pytest.fixture(scope="session")
def full_table() -> EndpointTable:
    """The operations of every slice."""
    return EndpointTable(SLICES)


@pytest.fixture
async def rehearsal() -> AsyncIterator[Rehearsal]:
    """The demo world with a frozen clock and its control API."""
    async with start_rehearsal() as running_rehearsal:
        yield running_rehearsal

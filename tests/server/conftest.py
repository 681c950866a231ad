"""Fixtures for the tests of the server."""

import pytest

from hubbub.server.composition import SLICES
from hubbub.server.core.endpoints import EndpointTable


@pytest.fixture(scope="session")
def full_table() -> EndpointTable:
    """The operations of every slice."""
    return EndpointTable(SLICES)

"""Fixtures for the SDK tests."""

import pytest

import hubbub.sdk.drivers
import hubbub.sdk.pump
from tests.sdk import threads
from tests.world import PATIENCE


@pytest.fixture(autouse=True)
def forget_other_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    """Detach the clients that other tests left in the process-wide callback queue."""
    monkeypatch.setattr(hubbub.sdk.pump, "_pumps", set())
    # Closing joins the client's thread, and times out after a second on a machine that is too busy to end it.
    monkeypatch.setattr(hubbub.sdk.drivers, "JOIN_SECONDS", PATIENCE / 2)
    threads.begin()

"""Fixtures for the SDK tests."""

import pytest

import hubbub.sdk.callback_queue
import hubbub.sdk.drivers
from tests.sdk import sdk_threads
from tests.world import WAIT_TIMEOUT_SECONDS


@pytest.fixture(autouse=True)
def isolate_clients_and_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ignore the clients and threads that other tests left in the process, and allow more time for joining a thread."""
    monkeypatch.setattr(hubbub.sdk.callback_queue, "_queues", set())
    # Closing joins the client's thread, and times out after a second on a machine that is too busy to end it.
    monkeypatch.setattr(hubbub.sdk.drivers, "JOIN_TIMEOUT_SECONDS", WAIT_TIMEOUT_SECONDS / 2)
    sdk_threads.ignore_existing()

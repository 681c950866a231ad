"""Fixtures for the SDK tests."""

from collections.abc import AsyncIterator

import pytest

import hubbub.sdk.callback_queue
import hubbub.sdk.drivers
from tests.sdk import sdk_threads
from tests.sdk.call_lobbies import CallLobby, open_call_lobby
from tests.world import WAIT_TIMEOUT_SECONDS, World


@pytest.fixture(autouse=True)
def isolate_clients_and_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ignore the clients and threads that other tests left in the process, and allow more time for joining a thread."""
    monkeypatch.setattr(hubbub.sdk.callback_queue, "_queues", set())
    # Closing joins the client's thread, and times out after a second on a machine that is too busy to end it.
    monkeypatch.setattr(hubbub.sdk.drivers, "JOIN_TIMEOUT_SECONDS", WAIT_TIMEOUT_SECONDS / 2)
    sdk_threads.ignore_existing()


@pytest.fixture
async def call_lobby(world: World) -> AsyncIterator[CallLobby]:
    """An empty lobby with its application; players are disconnected after the test."""
    async with open_call_lobby(world) as call_lobby:
        yield call_lobby

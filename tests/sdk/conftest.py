"""What the tests of the SDK have in common."""

import pytest

import hubbub.sdk.drivers
import hubbub.sdk.pump
from tests.sdk import threads
from tests.world import PATIENCE


@pytest.fixture(autouse=True)
def nobody_else_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The module's pump serves every client of the process: what those of other tests left is no part of this one."""
    monkeypatch.setattr(hubbub.sdk.pump, "_pumps", set())
    # Closing waits for its thread, and gives up after a second where the machine is too busy to end one.
    monkeypatch.setattr(hubbub.sdk.drivers, "JOIN_SECONDS", PATIENCE / 2)
    threads.begin()

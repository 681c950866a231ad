"""A game loop for tests, and a recorder for the results of its operations."""

import time
from collections.abc import Callable
from typing import Any

import hubbub.sdk as sdk
from hubbub.sdk import Client, ErrorType
from tests.world import WAIT_TIMEOUT_SECONDS


def pump_until(client: Client, condition: Callable[[], bool]) -> None:
    """Run frames until a condition holds."""
    deadline = time.monotonic() + WAIT_TIMEOUT_SECONDS
    while not condition():
        assert time.monotonic() < deadline, "the condition did not become true"
        client.run_callbacks()
        time.sleep(0.005)


class ResultRecorder:
    """A callback that records the error types of the results of operations."""

    def __init__(self) -> None:
        self.types: list[ErrorType] = []

    def __call__(self, result: sdk.ClientResult, *_: Any) -> None:
        self.types.append(result.type)

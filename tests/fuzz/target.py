"""The base class of fuzz targets, and the exception for invalid responses.

A target sends inputs to one interface of the platform, such as the HTTP API or the gateway.
"""

import random
from typing import Any, Self

from tests.fuzz.platform import Platform
from tests.fuzz.report import Report


class FuzzTarget:
    """Sends inputs to one interface of the platform."""

    name = ""

    last_input: Any = None
    """The input that was sent last, as JSON values with which `replay` repeats it."""

    def __init__(self, platform: Platform, rng: random.Random, report: Report) -> None:
        self.platform, self.random, self.report = platform, rng, report

    async def start(self) -> None:
        """Prepare the objects and connections of the target."""

    def clone(self, rng: random.Random) -> Self:
        """Return a target with connections and random numbers of its own, which may share what `start` prepared."""
        return type(self)(self.platform, rng, self.report)

    async def step(self) -> None:
        """Send one input and count its outcome."""
        raise NotImplementedError

    async def replay(self, stored_input: Any) -> None:
        """Send a stored input."""
        raise NotImplementedError

    async def minimize(self, summary: str) -> Any:
        """Return a smaller input with the same problem as the last one, or the last input.

        `summary` is the summary of the problem.
        """
        return self.last_input

    async def close(self) -> None:
        """Close the connections of the target."""


class InvalidResponse(Exception):
    """A response that the interface does not allow; the message is the same for every input with the same cause."""

"""What an act gives back: the platform's answer at once, or something to await where an event loop runs.

In a plain test `alice.say(...)` waits and returns an `Answer`. In a test that runs inside an event loop waiting would stop the
very bot that is tested, so there the same call returns a `Soon`: the act is under way, and `await` gives the `Answer`.
"""

import asyncio
from collections.abc import Generator, Mapping
from concurrent.futures import Future
from typing import Any, Generic, NoReturn, Self, TypeVar

T = TypeVar("T")


class Answer(dict[str, Any]):
    """An object as the platform sent it; awaiting one that is there gives itself."""

    about: Mapping[str, Any] | None = None
    """Of an interaction's answer: the message that it was about."""

    def __await__(self) -> Generator[Any, Any, Self]:
        yield from ()
        return self


class Answers(list[Any]):
    """A list as the platform sent it."""

    def __await__(self) -> Generator[Any, Any, Self]:
        yield from ()
        return self


class Soon(Generic[T]):
    """An act that is under way, seen from an event loop."""

    def __init__(self, future: "Future[T]", what: str) -> None:
        self._future = future
        self._what = what
        self._awaited = False

    def __await__(self) -> Generator[Any, Any, T]:
        self._awaited = True
        return self._wait().__await__()

    async def _wait(self) -> T:
        __tracebackhide__ = True
        try:
            return await asyncio.wrap_future(self._future)
        except AssertionError as error:
            # It is the test that went wrong, not the thread in which that was found out.
            raise error.with_traceback(None) from None

    def forgotten(self, patient: bool) -> str | None:
        """Why it failed, if nobody awaited it and it did; whoever is not patient does not wait to know."""
        if self._awaited:
            return None
        if not patient:
            self._future.cancel()
            return None
        error = self._future.exception()
        return None if error is None else f"{error}\n{self._what} was never awaited: inside an event loop, await it"

    def __getitem__(self, key: object) -> NoReturn:
        raise TypeError(f"{self._what} is under way: inside an event loop, await it")

    def __repr__(self) -> str:
        return f"<{self._what}, under way: await it>"

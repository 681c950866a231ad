"""Return values of actions that are still running, to be awaited inside an event loop.

In a synchronous test `alice.send_message(...)` waits and returns a `Result`. Inside an event loop, waiting would block the bot
under test, so the same call returns a `PendingResult`: the action is running, and `await` returns the `Result`.
"""

import asyncio
import contextlib
import sys
from collections.abc import Generator
from concurrent.futures import Future
from typing import Any, Generic, NoReturn, TypeVar

T = TypeVar("T")


def is_in_event_loop() -> bool:
    """Return whether the caller runs in an event loop of asyncio or trio."""
    return _is_in_trio() or asyncio._get_running_loop() is not None


def _is_in_trio() -> bool:
    # trio is imported only by tests that use it.
    trio: Any = sys.modules.get("trio")
    return trio is not None and bool(trio.lowlevel.in_trio_run())


async def _wait_in_trio(future: "Future[T]") -> T:
    """Wait for a future of another thread in trio."""
    trio: Any = sys.modules["trio"]
    is_done, token = trio.Event(), trio.lowlevel.current_trio_token()

    def notify(_: "Future[T]") -> None:
        # The run may have ended, if the test was cancelled.
        with contextlib.suppress(trio.RunFinishedError):
            token.run_sync_soon(is_done.set)

    future.add_done_callback(notify)
    await is_done.wait()
    return future.result()


class PendingResult(Generic[T]):
    """A running action, to be awaited in an event loop."""

    def __init__(self, future: "Future[T]", description: str) -> None:
        self._future = future
        self._description = description
        self._is_awaited = False

    def __await__(self) -> Generator[Any, Any, T]:
        self._is_awaited = True
        return self._wait().__await__()

    async def _wait(self) -> T:
        __tracebackhide__ = True
        try:
            if _is_in_trio():
                return await _wait_in_trio(self._future)
            return await asyncio.wrap_future(self._future)
        except AssertionError as error:
            # Hide the traceback of the background thread: the failure belongs to the test.
            raise error.with_traceback(None) from None

    def unawaited_error(self, *, wait: bool) -> str | None:
        """Return the error of an action that was never awaited, or None.

        If `wait` is false, the action is canceled instead of waited for.
        """
        if self._is_awaited:
            return None
        if not wait:
            self._future.cancel()
            return None
        error = self._future.exception()
        if error is None:
            return None
        return f"{error}\n{self._description} was never awaited: inside an event loop, await it"

    def __getitem__(self, key: object) -> NoReturn:
        raise TypeError(f"{self._description} is still running: inside an event loop, await it")

    def __repr__(self) -> str:
        return f"<{self._description}, still running: await it>"

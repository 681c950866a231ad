"""The background thread in which tests communicate with their platform."""

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar, cast

import aiohttp

from hubbub.testing import results
from hubbub.testing.results import PendingResult

T = TypeVar("T")

CLOSE_TIMEOUT_SECONDS = 10.0
"""Time limit for the end of the thread."""


class Background:
    """An event loop in its own thread, with an HTTP client session."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="hubbub-testing", daemon=True)
        self._thread.start()
        self.http: aiohttp.ClientSession = self.run_and_wait(_new_session())
        self.pending_results: list[PendingResult[Any]] = []
        """Actions started inside event loops; checked when the platform of a test is stopped."""

    def run(self, coroutine: Coroutine[Any, Any, T], description: str) -> T:
        """Run an action and wait for it. Inside an event loop, start it and return an awaitable instead."""
        __tracebackhide__ = True
        if not results.is_in_event_loop():
            return self.run_and_wait(coroutine)
        pending = PendingResult(asyncio.run_coroutine_threadsafe(coroutine, self._loop), description)
        self.pending_results.append(pending)
        # The declared type is that of the result in both cases; a Result can be awaited as well.
        return cast("T", pending)

    def run_and_wait(self, coroutine: Coroutine[Any, Any, T], timeout_seconds: float | None = None) -> T:
        """Run a coroutine and wait for it, even inside an event loop."""
        __tracebackhide__ = True
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return future.result(timeout_seconds)
        except AssertionError as error:
            # Hide the traceback of the background thread: the failure belongs to the test.
            raise error.with_traceback(None) from None
        except BaseException:
            future.cancel()
            raise

    def unawaited_errors(self, *, wait: bool) -> list[str]:
        """Return the errors of actions that were started since the last call and never awaited.

        If `wait` is false, actions that still run are canceled instead of waited for."""
        pending_results, self.pending_results = self.pending_results, []
        return [error for pending in pending_results if (error := pending.unawaited_error(wait=wait)) is not None]

    def close(self) -> None:
        """Cancel all tasks, close the HTTP session and stop the thread."""
        self.run_and_wait(self._shut_down(), CLOSE_TIMEOUT_SECONDS)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(CLOSE_TIMEOUT_SECONDS)
        if not self._thread.is_alive():
            self._loop.close()

    async def _shut_down(self) -> None:
        other_tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in other_tasks:
            task.cancel()
        await asyncio.gather(*other_tasks, return_exceptions=True)
        await self.http.close()


async def _new_session() -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=60),
        connector=aiohttp.TCPConnector(limit=0),
    )

"""The thread in which a rehearsal speaks with its platform, whatever the test itself runs in."""

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar, cast

import aiohttp

from hubbub.testing.answers import Soon

T = TypeVar("T")

CLOSE_S = 10.0
"""How long the thread may take to end."""


class Background:
    """An event loop in a thread of its own, and the connections it holds."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="hubbub-testing", daemon=True)
        self._thread.start()
        self.http: aiohttp.ClientSession = self.wait(_new_session())
        self.under_way: list[Soon[Any]] = []
        """What tests in an event loop have begun; looked through when their world ends."""

    def do(self, work: Coroutine[Any, Any, T], what: str) -> T:
        """Do something: at once where nothing else runs, and to be awaited inside an event loop."""
        __tracebackhide__ = True
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return self.wait(work)
        soon = Soon(asyncio.run_coroutine_threadsafe(work, self._loop), what)
        self.under_way.append(soon)
        # What is declared is what both come to: an Answer can be awaited too.
        return cast("T", soon)

    def wait(self, work: Coroutine[Any, Any, T], timeout: float | None = None) -> T:
        """Do something and wait for it, whatever runs in this thread."""
        __tracebackhide__ = True
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result(timeout)
        except AssertionError as error:
            # It is the test that went wrong, not the thread in which that was found out.
            raise error.with_traceback(None) from None
        except BaseException:
            future.cancel()
            raise

    def forgotten(self, patient: bool) -> list[str]:
        """Why acts failed that nobody awaited, since the last time."""
        begun, self.under_way = self.under_way, []
        return [failure for soon in begun if (failure := soon.forgotten(patient)) is not None]

    def close(self) -> None:
        """Let go of everything."""
        self.wait(self._leave(), CLOSE_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(CLOSE_S)
        if not self._thread.is_alive():
            self._loop.close()

    async def _leave(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await self.http.close()


async def _new_session() -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=60),
        connector=aiohttp.TCPConnector(limit=0),
    )

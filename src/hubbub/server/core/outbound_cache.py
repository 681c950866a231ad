"""Cache of remote documents: discovery documents and keys of identity providers.

Concurrent requests for a document share one fetch, and each document is parsed once. A forced refresh is rate limited,
so that a stream of forged tokens with unknown key IDs cannot be used to send traffic to third parties.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar

import msgspec

T = TypeVar("T")

FRESH_MS: Final = 600_000
"""Time in milliseconds for which a document is served from the cache."""
REFRESH_MIN_MS: Final = 60_000
"""Minimum age in milliseconds before a forced refresh fetches a document again."""
CACHE_ENTRIES_MAX: Final = 512


class _CachedDocument(msgspec.Struct, frozen=True):
    value: Any
    fetched_ms: int


class OutboundCache:
    """A cache of documents; `fetch` returns the body of the document at a URL."""

    def __init__(self, fetch: Callable[[str], Awaitable[bytes]]) -> None:
        self._fetch_document = fetch
        self._documents_by_url: OrderedDict[str, _CachedDocument] = OrderedDict()
        self._fetch_tasks: dict[str, asyncio.Task[Any]] = {}

    async def get(
        self,
        url: str,
        parse: Callable[[bytes], T],
        now_ms: int,
        *,
        should_refresh: bool = False,
        ignores_cache: bool = False,
    ) -> T:
        """Return the document at a URL, parsed with `parse`; `now_ms` is the current time in Unix milliseconds.

        `should_refresh` fetches the document again if it is older than REFRESH_MIN_MS. `ignores_cache` fetches it again whatever
        its age; use it only for callers that are identified and rate limited. Raise the errors of the fetch function, and
        ValueError if `parse` raises it."""
        cached = None if ignores_cache else self._documents_by_url.get(url)
        # Use the absolute difference, because the clock of a rehearsal can be set back.
        if cached is not None and abs(now_ms - cached.fetched_ms) < (REFRESH_MIN_MS if should_refresh else FRESH_MS):
            document: T = cached.value
            return document
        task = self._fetch_tasks.get(url)
        if task is None:
            task = asyncio.get_running_loop().create_task(self._fetch(url, parse, now_ms))
            self._fetch_tasks[url] = task
            task.add_done_callback(lambda finished_task: self._on_fetched(url, finished_task))
        # The task is shielded, because other callers still wait for it if the first one is cancelled.
        fetched_document: T = await asyncio.shield(task)
        return fetched_document

    def _on_fetched(self, url: str, task: "asyncio.Task[Any]") -> None:
        self._fetch_tasks.pop(url, None)
        if not task.cancelled():
            # Retrieve the exception, because possibly no caller waits for the task any more.
            task.exception()

    async def _fetch(self, url: str, parse: Callable[[bytes], T], now_ms: int) -> T:
        document = parse(await self._fetch_document(url))
        self._documents_by_url[url] = _CachedDocument(document, now_ms)
        self._documents_by_url.move_to_end(url)
        while len(self._documents_by_url) > CACHE_ENTRIES_MAX:
            self._documents_by_url.popitem(last=False)
        return document

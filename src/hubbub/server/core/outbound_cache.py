"""Cache of remote documents: discovery documents and keys of identity providers.

Concurrent requests for a document share one fetch, and each document is parsed once. A forced refresh is rate limited,
so that a stream of forged tokens with unknown key IDs cannot be used to send traffic to third parties.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

if TYPE_CHECKING:
    from hubbub.server.core.outbound_http import OutboundClient

T = TypeVar("T")

FRESH_MS: Final = 600_000
"""How long a document is served from the cache, in milliseconds."""
REFRESH_MIN_MS: Final = 60_000
"""Minimum age in milliseconds before a forced refresh fetches a document again."""
CACHE_ENTRIES_MAX: Final = 512


class _CachedDocument(msgspec.Struct, frozen=True):
    value: Any
    fetched_ms: int


class OutboundCache:
    """Documents fetched through one outbound client."""

    def __init__(self, client: "OutboundClient") -> None:
        self._outside = client
        self._cached: OrderedDict[str, _CachedDocument] = OrderedDict()
        self._fetching: dict[str, asyncio.Task[Any]] = {}

    async def get(self, url: str, read: Callable[[bytes], T], now: int, *, refresh: bool = False) -> T:
        """Return a document; `again` asks for a newer copy. Raises what the client or `read` (ValueError) raises."""
        cached = self._cached.get(url)
        # The absolute difference, because the clock of a rehearsal can be set back.
        if cached is not None and abs(now - cached.fetched_ms) < (REFRESH_MIN_MS if refresh else FRESH_MS):
            found: T = cached.value
            return found
        task = self._fetching.get(url)
        if task is None:
            task = asyncio.get_running_loop().create_task(self._fetch(url, read, now))
            self._fetching[url] = task
            task.add_done_callback(lambda done: self._fetched(url, done))
        # Shielded: other callers still wait if the first one is cancelled.
        fetched: T = await asyncio.shield(task)
        return fetched

    def _fetched(self, url: str, done: "asyncio.Task[Any]") -> None:
        self._fetching.pop(url, None)
        if not done.cancelled():
            # Retrieve the exception: no caller may be waiting any more.
            done.exception()

    async def _fetch(self, url: str, read: Callable[[bytes], T], now: int) -> T:
        from hubbub.server.core.outbound_http import UnreachableError

        response = await self._outside.request("GET", url, headers={"Accept": "application/json"})
        if response.status != 200:
            # This includes redirects: their target is not the configured document.
            raise UnreachableError(f"responded with status {response.status}")
        value = read(response.body)
        self._cached[url] = _CachedDocument(value, now)
        self._cached.move_to_end(url)
        while len(self._cached) > CACHE_ENTRIES_MAX:
            self._cached.popitem(last=False)
        return value

"""Documents of others that are believed for a while: discovery and keys of identity providers.

Each is fetched once however many wait for it, kept in bounds, and read into its own type once. What somebody's claim could make us
fetch again is fetched seldom, so that a stream of false claims is no way to make us call others.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

if TYPE_CHECKING:
    from hubbub.server.core.guarded import GuardedClient

T = TypeVar("T")

KEPT_MS: Final = 600_000
"""How long a document is believed."""
AGAIN_MS: Final = 60_000
"""How old it must be before somebody who misses something in it makes us look again."""
MOST: Final = 512


class _Kept(msgspec.Struct, frozen=True):
    value: Any
    fetched_ms: int


class Documents:
    """What was fetched through one guarded client."""

    def __init__(self, outside: "GuardedClient") -> None:
        self._outside = outside
        self._kept: OrderedDict[str, _Kept] = OrderedDict()
        self._under_way: dict[str, asyncio.Task[Any]] = {}

    async def get(self, url: str, read: Callable[[bytes], T], now: int, *, again: bool = False) -> T:
        """A document; `again` asks for a newer one than we have. Raises what the client or `read` (ValueError) raises."""
        kept = self._kept.get(url)
        # The clock of a rehearsal also goes back.
        if kept is not None and abs(now - kept.fetched_ms) < (AGAIN_MS if again else KEPT_MS):
            found: T = kept.value
            return found
        task = self._under_way.get(url)
        if task is None:
            task = asyncio.get_running_loop().create_task(self._fetch(url, read, now))
            self._under_way[url] = task
            task.add_done_callback(lambda done: self._landed(url, done))
        # Whoever asked first may give up; the others still wait.
        fetched: T = await asyncio.shield(task)
        return fetched

    def _landed(self, url: str, done: "asyncio.Task[Any]") -> None:
        self._under_way.pop(url, None)
        if not done.cancelled():
            # Looked at here, for nobody may be waiting any more.
            done.exception()

    async def _fetch(self, url: str, read: Callable[[bytes], T], now: int) -> T:
        from hubbub.server.core.guarded import UnreachableError

        answer = await self._outside.request("GET", url, headers={"Accept": "application/json"})
        if answer.status != 200:
            # A redirect too: where it leads is nobody we were told to believe.
            raise UnreachableError(f"answered {answer.status}")
        value = read(answer.body)
        self._kept[url] = _Kept(value, now)
        self._kept.move_to_end(url)
        while len(self._kept) > MOST:
            self._kept.popitem(last=False)
        return value

"""The way back from the store's threads to the event loop, crossed once for as many answers as are ready."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from typing import Any

from hubbub.server.core.store import Database, Tx

log = logging.getLogger(__name__)

Answer = tuple["asyncio.Future[Any]", Any, BaseException | None, Tx | None]
"""Who waits, the result or the error, and the transaction whose events now leave (None: it only read, or failed)."""


class Answers:
    """Finished units on their way to their callers: any thread adds, the event loop delivers in the order of adding."""

    def __init__(self, database: Database, loop: asyncio.AbstractEventLoop) -> None:
        self._database = database
        self._loop = loop
        self._ready: deque[Answer] = deque()
        self._called = False

    def add(self, answers: list[Answer]) -> None:
        """Hand over a batch."""
        self._ready.extend(answers)
        # The loop lowers the flag before it takes what is ready, so whoever still sees it raised is not forgotten.
        if not self._called:
            self._called = True
            try:
                self._loop.call_soon_threadsafe(self.deliver)
            except RuntimeError:
                log.warning("the event loop closed before the store answered")

    def deliver(self) -> None:
        """Say what was committed, then answer: whoever gets an answer can rely on its events being under way."""
        self._called = False
        take = self._ready.popleft
        ready = [take() for _ in range(len(self._ready))]
        woken = False
        for _, _, _, tx in ready:
            if tx is not None:
                for callback in tx.after_commit:
                    self._guarded(callback)
        for _, _, _, tx in ready:
            if tx is not None:
                woken = woken or tx.woken
                if tx.dispatches:
                    self._guarded(self._database.on_commit, tx.dispatches)
        if woken:
            self._guarded(self._database.on_wake)
        for future, result, error, _ in ready:
            if future.done():
                continue  # The caller left; what it asked for has happened all the same.
            if error is None:
                future.set_result(result)
            elif isinstance(error, StopIteration):
                future.set_exception(RuntimeError("the work raised StopIteration"))  # A future cannot carry it.
            else:
                future.set_exception(error)

    def _guarded(self, callback: Callable[..., None], *arguments: Any) -> None:
        try:
            callback(*arguments)
        except Exception:
            log.exception("what should follow a commit failed")

"""Delivery of finished units of work from the store's threads to the event loop, one wake-up per batch."""

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

from hubbub.server.core.store import Database, Tx

log = logging.getLogger(__name__)

FinishedUnit = tuple["asyncio.Future[Any]", Any, BaseException | None, Tx | None]
"""The waiting future, the result, the error, and the committed transaction (None for a read or a failed unit)."""


class CommitDelivery:
    """Queue of finished units of work.

    Any thread may add units; the event loop delivers them in the order in which they were added."""

    def __init__(self, database: Database, loop: asyncio.AbstractEventLoop) -> None:
        """Create a queue; it must be created on the thread of the loop."""
        self._database = database
        self._loop = loop
        self._thread_id = threading.get_ident()
        self._finished_units: deque[FinishedUnit] = deque()
        self._is_scheduled = False

    def add(self, finished_units: list[FinishedUnit]) -> None:
        """Add a batch of finished units and schedule their delivery."""
        self._finished_units.extend(finished_units)
        # `deliver` clears the flag before it drains the queue, so a batch added while the flag is set is not missed.
        if not self._is_scheduled:
            self._is_scheduled = True
            try:
                if threading.get_ident() == self._thread_id:
                    self._loop.call_soon(self.deliver)
                else:
                    self._loop.call_soon_threadsafe(self.deliver)
            except RuntimeError:
                log.warning("The event loop closed before the result of a store operation was delivered")

    def deliver(self) -> None:
        """Run the callbacks of the commits, publish their events and wake the workers, then resolve the futures.

        In this order, the caller of a unit of work receives the result after its events were published."""
        self._is_scheduled = False
        take_unit = self._finished_units.popleft
        units = [take_unit() for _ in range(len(self._finished_units))]
        wakes_worker = False
        publications = []
        for _, _, _, tx in units:
            if tx is not None:
                for callback in tx.after_commit:
                    self._run_callback(callback)
                if tx.wakes_worker:
                    wakes_worker = True
                if tx.dispatches:
                    publications.append(tx.dispatches)
        if len(publications) > 1:
            with self._database.publication_scope:
                for dispatches in publications:
                    self._run_callback(self._database.on_commit, dispatches)
        elif publications:
            self._run_callback(self._database.on_commit, publications[0])
        if wakes_worker:
            self._run_callback(self._database.on_wake)
        for future, result, error, _ in units:
            if future.done():
                continue  # The caller was cancelled; the unit of work has finished anyway.
            if error is None:
                future.set_result(result)
            elif isinstance(error, StopIteration):
                # A future cannot hold StopIteration.
                future.set_exception(RuntimeError("the unit of work raised StopIteration"))
            else:
                future.set_exception(error)

    def _run_callback(self, callback: Callable[..., None], *arguments: Any) -> None:
        """Call back and log any exception, so that one callback does not prevent the next."""
        try:
            callback(*arguments)
        except Exception:
            log.exception("A callback after a commit failed")

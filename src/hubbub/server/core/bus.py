"""The bus: what one part of the platform says, the others that asked for it hear, in order.

`LocalBus` is a dict of callbacks, for the one-process default; `bus_nats.NatsBus` carries the same messages between processes.
"""

import asyncio
import logging
import re
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, Final, Generic, TypeVar

import msgspec

from hubbub.server.core.metrics import Metrics

log = logging.getLogger(__name__)

BusMessage = TypeVar("BusMessage", bound=msgspec.Struct)
Handler = Callable[[bytes], Awaitable[bytes]]

_SUBJECT: Final = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*")


class BusError(Exception):
    """The bus could not do what was asked."""


class NoResponderError(BusError):
    """Nobody answers requests on this subject."""


class RequestTimeoutError(BusError):
    """The answer did not come in time."""


class RequestFailedError(BusError):
    """The other side failed while it answered."""


class Subscription:
    """Something that was asked for and can be given up."""

    __slots__ = ("_cancel", "active")

    def __init__(self, cancel: Callable[["Subscription"], None]) -> None:
        self._cancel = cancel
        self.active = True

    def cancel(self) -> None:
        """Hear no more, not even what is already on its way; a second time does nothing."""
        if self.active:
            self.active = False
            self._cancel(self)


class Bus(ABC, Generic[BusMessage]):
    """Publish and subscribe by subject, and ask questions of other processes; used on the event loop's thread."""

    def __init__(self, metrics: Metrics | None = None) -> None:
        self.metrics = metrics or Metrics()
        # Tuples, replaced when they change, so that a delivery under way is not disturbed.
        self._callbacks: dict[str, tuple[tuple[Subscription, Callable[[BusMessage], None]], ...]] = {}
        self._gap_callbacks: dict[Subscription, Callable[[], None]] = {}

    @abstractmethod
    async def start(self) -> None:
        """Connect; BusError if that is not possible."""

    @abstractmethod
    async def close(self) -> None:
        """Send what waits, then stop."""

    @property
    @abstractmethod
    def healthy(self) -> bool:
        """Whether messages flow now and none was dropped."""

    @abstractmethod
    def publish(self, subject: str, message: BusMessage) -> None:
        """Say something to all who listen; it never blocks and keeps the order of calls."""

    @abstractmethod
    async def flush(self) -> None:
        """Return once earlier subscriptions hear what anybody publishes from now on, and earlier messages have left."""

    @abstractmethod
    async def request(self, subject: str, data: bytes, timeout_ms: int) -> bytes:
        """Ask the one who replies on a subject; BusError says why there is no answer."""

    @abstractmethod
    def reply(self, subject: str, handler: Handler) -> Subscription:
        """Answer the requests on a subject."""

    def subscribe(self, subject: str, callback: Callable[[BusMessage], None]) -> Subscription:
        """Hear a subject from now on; `flush` says when that is certain."""
        check_subject(subject)

        def cancel(subscription: Subscription) -> None:
            left = tuple(entry for entry in self._callbacks.get(subject, ()) if entry[0] is not subscription)
            if left:
                self._callbacks[subject] = left
            else:
                self._callbacks.pop(subject, None)
                self._interest_changed(subject)

        subscription = Subscription(cancel)
        known = self._callbacks.get(subject, ())
        self._callbacks[subject] = (*known, (subscription, callback))
        if not known:
            self._interest_changed(subject)
        return subscription

    def on_gap(self, callback: Callable[[], None]) -> Subscription:
        """Be told when this process may have missed messages."""

        def cancel(subscription: Subscription) -> None:
            self._gap_callbacks.pop(subscription, None)

        subscription = Subscription(cancel)
        self._gap_callbacks[subscription] = callback
        return subscription

    def _interest_changed(self, subject: str) -> None:
        """The first callback of a subject came or its last went."""

    def _deliver(self, subject: str, message: BusMessage) -> None:
        for subscription, callback in self._callbacks.get(subject, ()):
            if subscription.active:
                try:
                    callback(message)
                except Exception:
                    log.exception("a subscriber failed", extra={"subject": subject})

    def tell_of_gap(self) -> None:
        """Messages may have been missed: whoever holds state built from them is told."""
        self.metrics.bus_gaps.inc()
        for callback in list(self._gap_callbacks.values()):
            try:
                callback()
            except Exception:
                log.exception("a gap callback failed")


def check_subject(subject: str) -> None:
    """ValueError unless the subject is exact dotted words."""
    if not _SUBJECT.fullmatch(subject):
        raise ValueError(f"not a subject: {subject[:100]!r}")


class LocalBus(Bus[BusMessage]):
    """The bus of one process: callbacks get the very object that was published, before `publish` returns."""

    def __init__(self, metrics: Metrics | None = None) -> None:
        super().__init__(metrics)
        self._waiting: deque[tuple[str, BusMessage]] = deque()
        self._delivering = False
        self._handlers: dict[str, Handler] = {}
        self._published = self.metrics.bus_published
        self._closed = False

    async def start(self) -> None:
        """Nothing to connect."""

    async def close(self) -> None:
        """Hear no more."""
        self._closed = True
        self._callbacks.clear()
        self._handlers.clear()

    @property
    def healthy(self) -> bool:
        """Always, until it is closed."""
        return not self._closed

    def publish(self, subject: str, message: BusMessage) -> None:
        """Hand the message to the subject's callbacks."""
        self._published.inc()
        if self._delivering:
            # A callback publishes: its message comes after the one under way, as it would on a real wire.
            self._waiting.append((subject, message))
            return
        self._delivering = True
        try:
            self._deliver(subject, message)
            while self._waiting:
                self._deliver(*self._waiting.popleft())
        finally:
            self._delivering = False

    async def flush(self) -> None:
        """Nothing is ever under way."""

    async def request(self, subject: str, data: bytes, timeout_ms: int) -> bytes:
        """Call the handler of the subject."""
        check_subject(subject)
        handler = self._handlers.get(subject)
        if handler is None:
            raise NoResponderError(f"nobody replies on {subject}")
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                return await answered(handler, data, subject)
        except TimeoutError:
            raise RequestTimeoutError(f"no answer on {subject} within {timeout_ms} ms") from None

    def reply(self, subject: str, handler: Handler) -> Subscription:
        """Answer the requests on a subject."""
        check_subject(subject)
        if subject in self._handlers:
            raise ValueError(f"{subject} already has somebody who replies")
        self._handlers[subject] = handler

        def cancel(_: Subscription) -> None:
            self._handlers.pop(subject, None)

        return Subscription(cancel)


async def answered(handler: Handler, data: bytes, subject: str) -> bytes:
    """What a handler answers; RequestFailedError if it cannot."""
    try:
        return await handler(data)
    except asyncio.CancelledError:
        raise
    except Exception as error:
        log.exception("a request could not be answered", extra={"subject": subject})
        raise RequestFailedError(f"the request on {subject} failed") from error


def open_bus(url: str | None, kind: type[BusMessage], **options: Any) -> Bus[BusMessage]:
    """The bus of a configuration: NATS where an address is given, else this process alone."""
    if url is None:
        return LocalBus(options.get("metrics"))
    # Here and not above: the one-process default starts in half the time without the NATS library.
    from hubbub.server.core.bus_nats import NatsBus

    return NatsBus(url, kind, **options)

"""The message bus: publish and subscribe by subject, in order, and request and reply between processes.

`LocalBus` is a dict of callbacks for the single-process default; `bus_nats.NatsBus` delivers the same messages between
processes.
"""

import asyncio
import logging
import re
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Final, Generic, TypeVar

import msgspec

from hubbub.server.core.metrics import Metrics
from hubbub.server.core.observation import Tracer

log = logging.getLogger(__name__)

BusMessage = TypeVar("BusMessage", bound=msgspec.Struct)
Handler = Callable[[bytes], Awaitable[bytes]]
"""Function that handles a request: it receives the data of the request and returns the data of the reply."""

_SUBJECT_PATTERN: Final = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*")


class BusError(Exception):
    """A bus operation failed."""


class NoResponderError(BusError):
    """No process replies to requests on this subject."""


class RequestTimeoutError(BusError):
    """No reply arrived in time."""


class RequestFailedError(BusError):
    """The handler of the request failed."""


class Subscription:
    """A cancellable subscription or reply handler."""

    __slots__ = ("_cancel", "is_active")

    def __init__(self, cancel: Callable[["Subscription"], None]) -> None:
        self._cancel = cancel
        self.is_active = True

    def cancel(self) -> None:
        """Stop receiving messages, including those already in transit. Calling it twice has no effect."""
        if self.is_active:
            self.is_active = False
            self._cancel(self)


class Bus(ABC, Generic[BusMessage]):
    """Publish and subscribe by subject, and requests to other processes; used on the event loop's thread."""

    def __init__(self, metrics: Metrics | None = None) -> None:
        self.metrics = metrics or Metrics()
        # Subscriptions by subject. Tuples are replaced instead of changed, so that an ongoing delivery is not affected.
        self._callbacks: dict[str, tuple[tuple[Subscription, Callable[[BusMessage], None]], ...]] = {}
        self._gap_callbacks: dict[Subscription, Callable[[], None]] = {}
        self.can_deliver: Callable[[], bool] = lambda: True
        """Function that returns whether messages received over the network may be delivered now; otherwise they are held."""
        self.tracer: Tracer | None = None
        """The tracer of the App; None if messages are not traced."""
        self.on_received: Callable[[str, BusMessage], None] | None = None
        """Function called with subject and content of each message from the network, before its delivery; None for none."""

    @abstractmethod
    async def start(self) -> None:
        """Connect. Raise BusError if that fails."""

    @abstractmethod
    async def close(self) -> None:
        """Send buffered messages, then stop."""

    @property
    @abstractmethod
    def is_healthy(self) -> bool:
        """Whether the bus is connected, and other processes know of every message that it dropped."""

    @abstractmethod
    def publish(self, subject: str, message: BusMessage) -> None:
        """Publish a message to all subscribers, in the order of calls, without waiting for the network."""

    @abstractmethod
    async def flush(self) -> None:
        """Return once earlier subscriptions are active for all publishers and earlier messages have been sent."""

    @abstractmethod
    async def request(self, subject: str, data: bytes, timeout_ms: int) -> bytes:
        """Send a request to the process that replies on a subject and return its reply. Raise BusError on failure."""

    @abstractmethod
    def reply(self, subject: str, handler: Handler) -> Subscription:
        """Register the handler of the requests on a subject. Raise ValueError if this process has registered one."""

    def subscribe(self, subject: str, callback: Callable[[BusMessage], None]) -> Subscription:
        """Subscribe to a subject; after `flush` the subscription is certainly active."""
        check_subject(subject)

        def cancel(subscription: Subscription) -> None:
            remaining_registrations = tuple(
                registration for registration in self._callbacks.get(subject, ()) if registration[0] is not subscription
            )
            if remaining_registrations:
                self._callbacks[subject] = remaining_registrations
            else:
                self._callbacks.pop(subject, None)
                self._interest_changed(subject)

        subscription = Subscription(cancel)
        registrations = self._callbacks.get(subject, ())
        self._callbacks[subject] = (*registrations, (subscription, callback))
        if not registrations:
            self._interest_changed(subject)
        return subscription

    def is_subscribed(self, subject: str) -> bool:
        """Return whether this process has a subscription to a subject."""
        return subject in self._callbacks

    def on_gap(self, callback: Callable[[], None]) -> Subscription:
        """Register a callback for the case that this process may have missed messages."""

        def cancel(subscription: Subscription) -> None:
            self._gap_callbacks.pop(subscription, None)

        subscription = Subscription(cancel)
        self._gap_callbacks[subscription] = callback
        return subscription

    def received_numbers(self) -> dict[int, int] | None:
        """Return the number of the last delivered message of each publisher; None while received messages are held."""
        return {}

    def resume(self) -> None:
        """Deliver the messages that were held while `can_deliver` returned False; do nothing if this bus holds none."""

    def deliver_local(self, subject: str, message: BusMessage) -> None:
        """Deliver a message to the subscribers of this process only."""
        self._deliver(subject, message)

    def _interest_changed(self, subject: str) -> None:
        """Handle the first subscription to a subject or the removal of the last one."""

    def _deliver(self, subject: str, message: BusMessage) -> None:
        callbacks = self._callbacks.get(subject, ())
        span = None
        if self.tracer is not None and callbacks and (traceparent := getattr(message, "traceparent", "")):
            name = f"receive {getattr(message, 'event', 'message')}"
            span = self.tracer.start(name, "consumer", traceparent=traceparent, is_trusted=True)
            if span is not None:
                # Subscribers may handle the message later, so it contains the span that they follow.
                message = msgspec.structs.replace(message, traceparent=span.traceparent)
        for subscription, callback in callbacks:
            if subscription.is_active:
                try:
                    callback(message)
                except Exception:
                    log.exception("A bus subscriber failed", extra={"subject": subject})
        if span is not None:
            span.end()

    def notify_gap(self) -> None:
        """Call the gap callbacks, because this process may have missed messages."""
        self.metrics.bus_gaps.inc()
        for callback in list(self._gap_callbacks.values()):
            try:
                callback()
            except Exception:
                log.exception("A gap callback failed")


def check_subject(subject: str) -> None:
    """Raise ValueError unless the subject consists of dot-separated tokens without wildcards."""
    if not _SUBJECT_PATTERN.fullmatch(subject):
        raise ValueError(f"not a valid subject: {subject[:100]!r}")


class LocalBus(Bus[BusMessage]):
    """The bus of a single process: callbacks receive the published object itself.

    Callbacks are called before `publish` returns, except for a message that a callback publishes: it follows the current one."""

    def __init__(self, metrics: Metrics | None = None) -> None:
        super().__init__(metrics)
        self._queued_messages: deque[tuple[str, BusMessage]] = deque()
        self._is_delivering = False
        self._handlers: dict[str, Handler] = {}
        self._published_counter = self.metrics.bus_published
        self._is_closed = False

    async def start(self) -> None:
        """Do nothing; there is no connection."""

    async def close(self) -> None:
        """Remove all subscriptions and handlers."""
        self._is_closed = True
        self._callbacks.clear()
        self._handlers.clear()

    @property
    def is_healthy(self) -> bool:
        """True until the bus is closed."""
        return not self._is_closed

    def publish(self, subject: str, message: BusMessage) -> None:
        """Pass the message to the subject's callbacks."""
        self._published_counter.inc()
        if self._is_delivering:
            # A callback published this message, so it follows the current one, as it would on a network.
            self._queued_messages.append((subject, message))
            return
        self._is_delivering = True
        try:
            self._deliver(subject, message)
            while self._queued_messages:
                self._deliver(*self._queued_messages.popleft())
        finally:
            self._is_delivering = False

    async def flush(self) -> None:
        """Do nothing; messages are delivered synchronously."""

    async def request(self, subject: str, data: bytes, timeout_ms: int) -> bytes:
        """Call the handler of the subject and return its reply. Raise BusError if there is none, it fails or takes too long."""
        check_subject(subject)
        handler = self._handlers.get(subject)
        if handler is None:
            raise NoResponderError(f"no process replies on {subject}")
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                return await run_handler(handler, data, subject)
        except TimeoutError:
            raise RequestTimeoutError(f"no reply on {subject} within {timeout_ms} ms") from None

    def reply(self, subject: str, handler: Handler) -> Subscription:
        """Register the handler of the requests on a subject. Raise ValueError if there is one already."""
        check_subject(subject)
        if subject in self._handlers:
            raise ValueError(f"{subject} already has a handler")
        self._handlers[subject] = handler

        def cancel(_: Subscription) -> None:
            self._handlers.pop(subject, None)

        return Subscription(cancel)


async def run_handler(handler: Handler, data: bytes, subject: str) -> bytes:
    """Return the handler's reply. Raise RequestFailedError if the handler fails."""
    try:
        return await handler(data)
    except asyncio.CancelledError:
        raise
    except Exception as error:
        log.exception("A bus request handler failed", extra={"subject": subject})
        raise RequestFailedError(f"the request on {subject} failed") from error

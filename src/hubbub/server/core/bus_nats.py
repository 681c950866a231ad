"""The bus between processes, over core NATS.

What it promises, and how:

- One order. Everything, also what the own process said, is delivered only when NATS hands it back, on one connection.
- Nothing published is lost on the way to NATS: it stays in the outbox until NATS has confirmed it (a PING answered after
  it) and is sent again after a reconnect. Messages carry their publisher and a number, so a second copy is not delivered.
- What cannot be promised is told. A process that was cut off from NATS may have missed messages of others: it calls its
  `on_gap` callbacks once its subscriptions live again, and whoever holds state built from messages reads it anew. The
  outbox is bounded by bytes; when NATS is away for so long that it overflows, newer messages are counted and dropped, the
  bus is unhealthy, and every process is told of a gap as soon as NATS is back.
"""

import asyncio
import contextlib
import logging
import secrets
import struct
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Final

import msgspec
import nats.errors
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription as NatsSubscription

from hubbub.server.core.bus import (
    Bus,
    BusError,
    BusMessage,
    Handler,
    NoResponderError,
    RequestFailedError,
    RequestTimeoutError,
    Subscription,
    answered,
    check_subject,
)
from hubbub.server.core.logs import Secrets
from hubbub.server.core.metrics import Metrics

log = logging.getLogger(__name__)

MAX_PENDING_BYTES: Final = 64 * 1024 * 1024
CLOSE_TIMEOUT_S: Final = 5.0
PING_S: Final = 10
BATCH_BYTES: Final = 4 * 1024 * 1024
"""What is written before a confirmation is awaited."""
KNOWN_PUBLISHERS: Final = 4096
"""Processes whose last number is remembered; those not heard for longest are forgotten first."""

# Before each payload: the publisher, its running number, and which of how many parts this is.
_HEADER: Final = struct.Struct(">QQHH")


class _OrderedClient(Client):
    """Hands messages of the bus over as they are read from the connection.

    nats-py gives each subscription its own task, which mixes up the order between subjects and costs memory for each of
    very many subjects. The methods with an underscore are nats-py's own; the tests of order and of cut connections watch
    that they keep their meaning.
    """

    def __init__(self, prefix: str, received: Callable[[str, bytes], None]) -> None:
        super().__init__()
        self._bus_prefix = prefix.encode()
        self._bus_received = received

    async def _process_msg(self, sid: int, subject: bytes, reply: bytes, data: bytes, headers: bytes) -> None:
        if not subject.startswith(self._bus_prefix):
            await super()._process_msg(sid, subject, reply, data, headers)
        elif sid in self._subs:
            self._bus_received(subject[len(self._bus_prefix) :].decode(), data)

    async def confirm(self) -> None:
        """Return once NATS has read everything sent so far."""
        # Client.flush alone would write its PING ahead of commands that still wait for the flusher.
        await self._flush_pending(force_flush=True)
        await self.flush()

    def forget_unsent(self) -> None:
        """Drop what was not written before the connection broke: the outbox has it and will send it in order."""
        self._pending.clear()
        self._pending_data_size = 0


def _plain(value: object) -> int:
    """msgspec's hook: an id travels between processes as the number it is."""
    if isinstance(value, int):
        return int(value)
    raise NotImplementedError(f"no encoding for {type(value)!r}")


class _Sending:
    """A message in the outbox: its number, its size, and the payloads that go over the wire."""

    __slots__ = ("number", "parts", "size", "subject")

    def __init__(self, number: int, subject: str, parts: list[bytes]) -> None:
        self.number = number
        self.subject = subject
        self.parts = parts
        self.size = sum(map(len, parts)) + 64


class NatsBus(Bus[BusMessage]):
    """The bus between processes, over core NATS."""

    def __init__(
        self,
        url: str,
        kind: type[BusMessage],
        *,
        prefix: str = "hubbub",
        max_pending_bytes: int = MAX_PENDING_BYTES,
        reconnect_wait_ms: int = 500,
        connect_timeout_ms: int = 10_000,
        metrics: Metrics | None = None,
    ) -> None:
        super().__init__(metrics)
        check_subject(prefix)
        self._url = url
        self._encode = msgspec.msgpack.Encoder(enc_hook=_plain).encode
        self._encoded: tuple[BusMessage | None, bytes] = (None, b"")
        self._decode = msgspec.msgpack.Decoder(kind).decode
        self._say = f"{prefix}.say."
        self._ask = f"{prefix}.ask."
        self._gap = f"{prefix}.gap"
        self._max_pending_bytes = max_pending_bytes
        self._reconnect_wait_ms = reconnect_wait_ms
        self._connect_timeout_ms = connect_timeout_ms
        self._client = _OrderedClient(self._say, self._received)

        self._publisher = secrets.randbits(63)
        self._number = 0
        self._part_bytes = 512 * 1024
        self._outbox: deque[_Sending] = deque()
        self._outbox_bytes = 0
        self._dropped = 0
        self._told_dropped = 0
        """How many of them other processes know of."""

        self._live: dict[str, NatsSubscription] = {}
        self._changed: dict[str, int] = {}
        """Where interest came or went, and the number of the last message before that, in the order of these numbers."""
        self._handlers: dict[str, Handler] = {}
        self._answering: set[asyncio.Task[None]] = set()

        self._heard: OrderedDict[int, int] = OrderedDict()
        self._partial: dict[tuple[int, str], list[bytes]] = {}

        self._wake = asyncio.Event()
        self._connected = asyncio.Event()
        self._cut: asyncio.Future[None] | None = None
        self._flushing: dict[asyncio.Future[None], None] = {}
        """Those who wait for the next confirmation, in their order."""
        self._pump: asyncio.Task[None] | None = None
        self._closing = False

    async def start(self) -> None:
        """Connect to NATS."""
        try:
            async with asyncio.timeout(self._connect_timeout_ms / 1000):
                await self._client.connect(
                    servers=[server.strip() for server in self._url.split(",")],
                    error_cb=self._on_error,
                    disconnected_cb=self._on_disconnected,
                    reconnected_cb=self._on_reconnected,
                    closed_cb=self._on_closed,
                    max_reconnect_attempts=-1,
                    reconnect_time_wait=self._reconnect_wait_ms / 1000,  # type: ignore[arg-type]
                    # Nothing is buffered inside the client: the outbox is the one place where messages wait.
                    pending_size=0,
                    flush_timeout=CLOSE_TIMEOUT_S,
                    # A connection that died in silence is noticed within half a minute.
                    ping_interval=PING_S,
                )
        except (TimeoutError, OSError, nats.errors.Error) as error:
            with contextlib.suppress(Exception):
                await self._client.close()
            raise BusError(f"cannot reach NATS at {Secrets().clean(self._url)}: {str(error) or 'no answer'}") from None
        # Half of what the server takes leaves room for the header and for subjects.
        self._part_bytes = max(1024, self._client.max_payload // 2)
        await self._client.subscribe(self._gap, cb=self._on_gap_notice)
        self._cut = asyncio.get_running_loop().create_future()
        self._connected.set()
        self._pump = asyncio.get_running_loop().create_task(self._run())
        await self.flush()

    async def close(self) -> None:
        """Send what waits, for a few seconds at most, then disconnect."""
        if self._closing:
            return
        if self._pump is not None and (self._outbox or self._connected.is_set()):
            try:
                async with asyncio.timeout(CLOSE_TIMEOUT_S):
                    await self.flush()
            except (TimeoutError, BusError):
                log.error("the bus closes with unsent messages", extra={"messages": len(self._outbox)})
        self._closing = True
        tasks = [task for task in (self._pump, *self._answering) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._callbacks.clear()
        if self._pump is not None:
            await self._client.close()
        self._fail_flushes()

    @property
    def healthy(self) -> bool:
        """Whether NATS is connected and no message had to be dropped that others were not told about."""
        return self._connected.is_set() and self._dropped == self._told_dropped and not self._closing

    def publish(self, subject: str, message: BusMessage) -> None:
        """Put the message, encoded once, into the outbox."""
        check_subject(subject)
        self.metrics.bus_published.inc()
        if self._encoded[0] is not message:
            # A message for several subjects is published to one after the other.
            self._encoded = (message, self._encode(message))
        data = self._encoded[1]
        size = self._part_bytes
        total = (len(data) + size - 1) // size or 1
        self._number += 1
        parts = [
            _HEADER.pack(self._publisher, self._number, index, total) + data[index * size : (index + 1) * size]
            for index in range(total)
        ]
        sending = _Sending(self._number, subject, parts)
        if self._outbox_bytes + sending.size > self._max_pending_bytes or total > 0xFFFF:
            self.metrics.bus_dropped.inc()
            if self._dropped == self._told_dropped:
                log.error("the bus drops messages: too much waits for NATS", extra={"bytes": self._outbox_bytes})
            self._dropped += 1
            self._wake.set()
            return
        self._outbox.append(sending)
        self._count_outbox(sending.size)
        self._wake.set()

    async def flush(self) -> None:
        """Wait until NATS has confirmed the subscriptions and messages so far, over a reconnect if need be."""
        if self._pump is None or self._closing:
            raise BusError("the bus is not running")
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._flushing[done] = None
        self._wake.set()
        try:
            await done
        finally:
            # While NATS is away, those who gave up must not pile up.
            self._flushing.pop(done, None)

    async def request(self, subject: str, data: bytes, timeout_ms: int) -> bytes:
        """Ask over NATS."""
        check_subject(subject)
        try:
            answer = await self._client.request(self._ask + subject, data, timeout=timeout_ms / 1000)
        except nats.errors.NoRespondersError:
            raise NoResponderError(f"nobody replies on {subject}") from None
        except nats.errors.TimeoutError:
            raise RequestTimeoutError(f"no answer on {subject} within {timeout_ms} ms") from None
        except nats.errors.Error as error:
            raise BusError(f"the request on {subject} could not be sent: {error}") from None
        if answer.data[:1] != b"+":
            raise RequestFailedError(f"the request on {subject} failed")
        return answer.data[1:]

    def reply(self, subject: str, handler: Handler) -> Subscription:
        """Answer requests over NATS; `flush` says when others can reach us."""
        check_subject(subject)
        name = self._ask + subject
        if name in self._handlers:
            raise ValueError(f"{subject} already has somebody who replies")
        self._handlers[name] = handler
        self._interest_in(name)

        def cancel(_: Subscription) -> None:
            self._handlers.pop(name, None)
            self._interest_in(name)

        return Subscription(cancel)

    def _interest_changed(self, subject: str) -> None:
        self._interest_in(self._say + subject)

    def _interest_in(self, name: str) -> None:
        self._changed.pop(name, None)
        self._changed[name] = self._number
        self._wake.set()

    def _count_outbox(self, change: int) -> None:
        self._outbox_bytes += change
        self.metrics.bus_pending_bytes.set(self._outbox_bytes)

    # The one task that writes.

    async def _run(self) -> None:
        while True:
            await self._wake.wait()
            await self._connected.wait()
            self._wake.clear()
            flushing, self._flushing = self._flushing, {}
            try:
                confirmed = await self._write()
            except (nats.errors.Error, OSError) as error:
                log.warning("the bus could not write and will try again", extra={"error": str(error)})
                confirmed = False
            except asyncio.CancelledError:
                self._wait_on(flushing)
                raise
            except Exception:
                log.exception("the bus failed to write and will try again")
                confirmed = False
            if confirmed and not self._outbox and not self._changed:
                for done in flushing:
                    if not done.done():
                        done.set_result(None)
            else:
                self._wait_on(flushing)
                self._wake.set()
                if not confirmed:
                    # Until the client has noticed that it is cut off; then `_connected` holds us.
                    await asyncio.sleep(self._reconnect_wait_ms / 1000)

    def _wait_on(self, flushing: "dict[asyncio.Future[None], None]") -> None:
        self._flushing = {done: None for done in (*flushing, *self._flushing) if not done.done()}

    async def _write(self) -> bool:
        """Bring interest and outbox to NATS; True once it has confirmed them."""
        cut = self._cut
        assert cut is not None
        batch: list[_Sending] = []
        size = 0
        for sending in self._outbox:
            batch.append(sending)
            size += sending.size
            if size > BATCH_BYTES:
                break
        whole = len(batch) == len(self._outbox)
        last = self._number if whole else batch[-1].number
        for sending in batch:
            # Whoever subscribed between two messages hears the second and not the first.
            await self._write_interest(sending.number - 1)
            for part in sending.parts:
                if cut.done():
                    # Later messages must not overtake earlier ones that the broken connection may have swallowed.
                    return False
                await self._client.publish(self._say + sending.subject, part)
        await self._write_interest(last)
        dropped = self._dropped if whole else self._told_dropped
        if dropped != self._told_dropped:
            await self._client.publish(self._gap)
        if not await self._confirmed(cut):
            return False
        for sending in batch:
            self._outbox.popleft()
            self._count_outbox(-sending.size)
        if dropped != self._told_dropped:
            self._told_dropped = dropped
            log.warning("the bus flows again; every process was told of the gap")
        return True

    async def _write_interest(self, number: int) -> None:
        """Subscribe and unsubscribe at NATS where interest changed up to this message."""
        while self._changed:
            name, after = next(iter(self._changed.items()))
            if after > number:
                return
            # Taken out first: when interest changes again while we wait, it is entered anew.
            del self._changed[name]
            handler = self._handlers.get(name)
            wanted = handler is not None or name.removeprefix(self._say) in self._callbacks
            live = self._live.get(name)
            if wanted and live is None:
                if handler is not None:
                    self._live[name] = await self._client.subscribe(name, cb=self._on_request)
                else:
                    self._live[name] = await self._client.subscribe(name)
            elif live is not None and not wanted:
                del self._live[name]
                await live.unsubscribe()

    async def _confirmed(self, cut: "asyncio.Future[None]") -> bool:
        """Whether NATS has read all that was written, before the connection broke."""
        if cut.done():
            return False
        ping = asyncio.get_running_loop().create_task(self._client.confirm())
        try:
            await asyncio.wait({ping, cut}, return_when=asyncio.FIRST_COMPLETED)
            return ping.done() and not ping.cancelled() and ping.exception() is None and not cut.done()
        finally:
            ping.cancel()
            await asyncio.gather(ping, return_exceptions=True)

    # What NATS tells us.

    def _received(self, subject: str, data: bytes) -> None:
        try:
            publisher, number, index, total = _HEADER.unpack_from(data)
            payload = data[_HEADER.size :]
            if total > 1:
                key = (publisher, subject)
                if index == 0:
                    self._partial[key] = []
                    if len(self._partial) > KNOWN_PUBLISHERS:
                        # The rest of the oldest never came: its publisher died in mid-sentence.
                        del self._partial[next(iter(self._partial))]
                parts = self._partial.get(key)
                if parts is None or len(parts) != index:
                    return  # The beginning came before we listened.
                parts.append(payload)
                if index + 1 < total:
                    return
                payload = b"".join(self._partial.pop(key))
            if number <= self._heard.get(publisher, 0):
                return  # Sent again after a reconnect, and already heard.
            self._heard[publisher] = number
            self._heard.move_to_end(publisher)
            if len(self._heard) > KNOWN_PUBLISHERS:
                self._heard.popitem(last=False)
            message = self._decode(payload)
        except (msgspec.DecodeError, msgspec.ValidationError, struct.error):
            log.exception("a message on the bus cannot be read", extra={"subject": subject})
            return
        self.metrics.bus_received.inc()
        self._deliver(subject, message)

    async def _on_request(self, message: Msg) -> None:
        # A task each: a slow answer must not hold up the next question.
        task = asyncio.get_running_loop().create_task(self._answer(message))
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)

    async def _answer(self, message: Msg) -> None:
        handler = self._handlers.get(message.subject)
        if handler is None:
            return
        try:
            answer = b"+" + await answered(handler, message.data, message.subject.removeprefix(self._ask))
        except RequestFailedError:
            answer = b"-"
        try:
            await message.respond(answer)
        except nats.errors.Error as error:
            log.warning("an answer could not be sent", extra={"error": str(error)})

    async def _on_gap_notice(self, _: Msg) -> None:
        self.tell_of_gap()

    async def _on_error(self, error: Exception) -> None:
        log.warning("NATS reports an error", extra={"error": str(error) or type(error).__name__})

    async def _on_disconnected(self) -> None:
        self._connected.clear()
        self._client.forget_unsent()
        if self._cut is not None and not self._cut.done():
            self._cut.set_result(None)
        if not self._closing:
            log.warning("the bus lost its connection to NATS")

    async def _on_reconnected(self) -> None:
        # The client has subscribed again before this is called, so from here on nothing more is missed.
        log.info("the bus is connected to NATS again")
        self._partial.clear()
        self._cut = asyncio.get_running_loop().create_future()
        self._connected.set()
        self._wake.set()
        self.tell_of_gap()

    async def _on_closed(self) -> None:
        self._connected.clear()
        if not self._closing:
            log.error("the connection to NATS was closed for good")
            self._fail_flushes()

    def _fail_flushes(self) -> None:
        waiting, self._flushing = self._flushing, {}
        for done in waiting:
            if not done.done():
                done.set_exception(BusError("the bus is closed"))

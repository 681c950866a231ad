"""The message bus between processes, over core NATS.

Guarantees:

- Order per publisher. Every message, including the process's own, is delivered only when NATS returns it on one
  connection. NATS does not order messages of different publishers: two processes can receive them in different orders.
- No message in the outbox is lost on the way to NATS. It stays there until NATS has confirmed it (by the reply to a later
  PING) and is sent again after a reconnect. Messages contain their publisher and a number, so duplicates are not
  delivered.
- Gaps are reported. A process that was disconnected from NATS may have missed messages of others: it calls its `on_gap`
  callbacks once its subscriptions are active again, and the holders of state built from messages reload it. The outbox
  is limited in bytes. When it overflows during a long outage, newer messages are counted and dropped, the bus is
  unhealthy, and every process is notified of a gap as soon as NATS is back.
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
    check_subject,
    run_handler,
)
from hubbub.server.core.config_sections import BusConfig
from hubbub.server.core.logs import Secrets
from hubbub.server.core.metrics import Metrics

log = logging.getLogger(__name__)

DEFAULTS: Final = BusConfig()
"""The default settings of the bus."""
CLOSE_TIMEOUT_SECONDS: Final = 5.0
PING_INTERVAL_SECONDS: Final = 10
BATCH_BYTES_MAX: Final = 4 * 1024 * 1024
"""Number of written bytes above which a confirmation is awaited before more messages are written."""
HEARTBEAT_SECONDS: Final = 0.5
"""Interval in seconds between two checks that NATS responds; shorter than `PING_INTERVAL_SECONDS`."""
SILENCE_SECONDS_MAX: Final = 1.0
"""Time without a response, in seconds, after which the bus is unhealthy; it recovers with the response."""
HELD_MESSAGES_MAX: Final = 20_000
"""Maximum number of messages that are held while they may not be delivered; more are reported as a gap."""
PUBLISHERS_MAX: Final = 4096
"""Maximum number of publishers whose last message number is stored; the least recently active publisher is dropped first.

It is also the maximum number of incomplete messages; the oldest is dropped first."""

# The header of each payload: publisher, message number, index of the part, number of parts.
_HEADER: Final = struct.Struct(">QQHH")
_PARTS_MAX: Final = 0xFFFF
"""Maximum number of parts of one message that the header can express."""
_ENTRY_OVERHEAD_BYTES: Final = 64
"""Estimated size of an outbox entry in addition to its parts."""

# The first byte of the reply to a request.
_SUCCESS_MARK: Final = b"+"
_FAILURE_MARK: Final = b"-"


class _OrderedClient(Client):
    """Passes bus messages on in the order in which they are read from the connection.

    nats-py gives each subscription its own task, which does not preserve the order between subjects and costs memory
    for every subject. The methods with an underscore override or call nats-py internals; the tests of ordering and
    broken connections verify that they still work.
    """

    def __init__(self, prefix: str, on_message: Callable[[str, bytes], None]) -> None:
        super().__init__()
        self._bus_prefix = prefix.encode()
        self._on_bus_message = on_message

    async def _process_msg(self, sid: int, subject: bytes, reply: bytes, data: bytes, headers: bytes) -> None:
        if not subject.startswith(self._bus_prefix):
            await super()._process_msg(sid, subject, reply, data, headers)
        elif sid in self._subs:
            self._on_bus_message(subject[len(self._bus_prefix) :].decode(), data)

    async def confirm(self) -> None:
        """Return once NATS has read everything sent so far."""
        # Client.flush alone would send its PING before commands that still wait for the flusher.
        await self._flush_pending(force_flush=True)
        await self.flush()

    def drop_unsent(self) -> None:
        """Drop the data that was not written before the connection broke; the outbox still has it and sends it again."""
        self._pending.clear()
        self._pending_data_size = 0


def _encode_id(value: object) -> int:
    """Encode an ID as a plain integer (msgspec hook)."""
    if isinstance(value, int):
        return int(value)
    raise NotImplementedError(f"no encoding for {type(value)!r}")


class _OutboxEntry:
    """A message in the outbox: its number, its subject, its encoded parts, and its size in bytes."""

    __slots__ = ("number", "parts", "size", "subject")

    def __init__(self, number: int, subject: str, parts: list[bytes]) -> None:
        self.number = number
        self.subject = subject
        self.parts = parts
        self.size = sum(map(len, parts)) + _ENTRY_OVERHEAD_BYTES


class NatsBus(Bus[BusMessage]):
    """The message bus between processes, over core NATS."""

    def __init__(
        self,
        url: str,
        message_type: type[BusMessage],
        *,
        prefix: str = DEFAULTS.prefix,
        pending_bytes_max: int = DEFAULTS.pending_bytes_max,
        reconnect_wait_ms: int = 500,
        connect_timeout_ms: int = 10_000,
        metrics: Metrics | None = None,
    ) -> None:
        super().__init__(metrics)
        check_subject(prefix)
        self._url = url
        self._encode = msgspec.msgpack.Encoder(enc_hook=_encode_id).encode
        self._latest_encoding: tuple[BusMessage | None, bytes] = (None, b"")
        """The latest published message and its encoding."""
        self._decode = msgspec.msgpack.Decoder(message_type).decode
        self._has_origins = "origin" in message_type.__struct_fields__
        """Whether received messages contain their publisher and number."""
        self._message_prefix = f"{prefix}.message."
        self._request_prefix = f"{prefix}.request."
        self._gap_subject = f"{prefix}.gap"
        self._pending_bytes_max = pending_bytes_max
        self._reconnect_wait_ms = reconnect_wait_ms
        self._connect_timeout_ms = connect_timeout_ms
        self._client = _OrderedClient(self._message_prefix, self._on_message)

        self._publisher_id = secrets.randbits(63)
        self._last_published_number = 0
        """Number of the last message that this process published."""
        self._part_bytes_max = 512 * 1024
        """Maximum size of one part of a message; `start` derives it from the limit of the NATS server."""
        self._outbox: deque[_OutboxEntry] = deque()
        self._outbox_bytes = 0
        self._dropped_count = 0
        """Number of messages that were dropped."""
        self._reported_dropped_count = 0
        """Number of dropped messages that other processes have been notified of."""

        self._nats_subscriptions: dict[str, NatsSubscription] = {}
        """Active subscriptions at NATS by subject, including the prefix."""
        self._changed_interest: dict[str, int] = {}
        """Subjects whose interest changed, each with the number of the last message before the change, in order."""
        self._handlers: dict[str, Handler] = {}
        self._request_tasks: set[asyncio.Task[None]] = set()

        self._last_numbers: OrderedDict[int, int] = OrderedDict()
        """Number of the last delivered message by publisher."""
        self._incomplete_messages: dict[tuple[int, str], list[bytes]] = {}
        """Received parts of incomplete messages by publisher and subject."""

        self._write_needed = asyncio.Event()
        self._connected = asyncio.Event()
        self._disconnected: asyncio.Future[None] | None = None
        """Resolved when the current connection breaks; None before `start`."""
        self._connect_error = ""
        """Reason why the last attempt of the first connection failed; empty if there is none."""
        self._pending_flushes: dict[asyncio.Future[None], None] = {}
        """Futures that wait for the next confirmation, in order."""
        self._writer_task: asyncio.Task[None] | None = None
        self._heartbeat_task: asyncio.Task[None] | None = None
        self._is_silent = False
        """Whether NATS did not respond to the last heartbeat in time."""
        self._held_messages: deque[tuple[str, BusMessage]] = deque()
        """Messages that wait until they may be delivered."""
        self._is_closing = False

    async def start(self) -> None:
        """Connect to NATS and start the tasks of the bus. Raise BusError if NATS cannot be reached in time."""
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
                    # Without a connection the client rejects messages instead of buffering them, so they wait only in the outbox.
                    pending_size=0,
                    flush_timeout=CLOSE_TIMEOUT_SECONDS,
                    # A dead connection is detected within half a minute.
                    ping_interval=PING_INTERVAL_SECONDS,
                )
        except (TimeoutError, OSError, nats.errors.Error) as error:
            self._is_closing = True
            with contextlib.suppress(Exception):
                await self._client.close()
            reason = str(error) or self._connect_error or "no response"
            raise BusError(
                f"cannot reach NATS at {Secrets().clean(self._url)}: {reason}; start NATS, or correct --nats-url"
            ) from None
        # Half of the maximum payload leaves space for the header and for subjects.
        self._part_bytes_max = max(1024, self._client.max_payload // 2)
        await self._client.subscribe(self._gap_subject, cb=self._on_gap_notice)
        self._disconnected = asyncio.get_running_loop().create_future()
        self._connected.set()
        self._writer_task = asyncio.get_running_loop().create_task(self._run())
        self._heartbeat_task = asyncio.get_running_loop().create_task(self._check_silence())
        await self.flush()

    async def close(self) -> None:
        """Send buffered messages for at most a few seconds, then disconnect."""
        if self._is_closing:
            return
        if self._writer_task is not None and (self._outbox or self._connected.is_set()):
            try:
                async with asyncio.timeout(CLOSE_TIMEOUT_SECONDS):
                    await self.flush()
            except (TimeoutError, BusError):
                log.error("The bus closed with unsent messages", extra={"messages": len(self._outbox)})
        self._is_closing = True
        tasks = [task for task in (self._writer_task, self._heartbeat_task, *self._request_tasks) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._callbacks.clear()
        if self._writer_task is not None:
            await self._client.close()
        self._fail_flushes()

    @property
    def is_healthy(self) -> bool:
        """Whether NATS is connected and responds, and every dropped message has been reported to other processes."""
        is_connected = self._connected.is_set() and not self._is_silent
        return is_connected and self._dropped_count == self._reported_dropped_count and not self._is_closing

    def publish(self, subject: str, message: BusMessage) -> None:
        """Encode the message once and put it into the outbox.

        If the outbox is full, the message is dropped, and other processes are notified of a gap later."""
        check_subject(subject)
        self.metrics.bus_published.inc()
        if self._latest_encoding[0] is not message:
            # A message for several subjects is published to them one after the other, so its encoding is reused.
            self._latest_encoding = (message, self._encode(message))
        encoded_message = self._latest_encoding[1]
        part_bytes = self._part_bytes_max
        part_count = (len(encoded_message) + part_bytes - 1) // part_bytes or 1
        self._last_published_number += 1
        parts = [
            _HEADER.pack(self._publisher_id, self._last_published_number, index, part_count)
            + encoded_message[index * part_bytes : (index + 1) * part_bytes]
            for index in range(part_count)
        ]
        entry = _OutboxEntry(self._last_published_number, subject, parts)
        if self._outbox_bytes + entry.size > self._pending_bytes_max or part_count > _PARTS_MAX:
            self.metrics.bus_dropped.inc()
            if self._dropped_count == self._reported_dropped_count:
                log.error(
                    "The bus drops messages: its outbox is full",
                    extra={"bytes": self._outbox_bytes},
                )
            self._dropped_count += 1
            self._write_needed.set()
            return
        self._outbox.append(entry)
        self._adjust_outbox_size(entry.size)
        self._write_needed.set()

    async def flush(self) -> None:
        """Wait until NATS has confirmed all previous subscriptions and messages, across reconnects.

        Raise BusError if the bus is not running or is closed meanwhile."""
        if self._writer_task is None or self._is_closing:
            raise BusError("the bus is not running")
        confirmation: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._pending_flushes[confirmation] = None
        self._write_needed.set()
        try:
            await confirmation
        finally:
            # During an outage, cancelled waiters must not accumulate.
            self._pending_flushes.pop(confirmation, None)

    async def request(self, subject: str, data: bytes, timeout_ms: int) -> bytes:
        """Send a request over NATS and return the reply. Raise BusError on failure."""
        check_subject(subject)
        try:
            response = await self._client.request(self._request_prefix + subject, data, timeout=timeout_ms / 1000)
        except nats.errors.NoRespondersError:
            raise NoResponderError(f"no process replies on {subject}") from None
        except nats.errors.TimeoutError:
            raise RequestTimeoutError(f"no reply on {subject} within {timeout_ms} ms") from None
        except nats.errors.Error as error:
            raise BusError(f"the request on {subject} could not be sent: {error}") from None
        if response.data[:1] != _SUCCESS_MARK:
            raise RequestFailedError(f"the request on {subject} failed")
        return response.data[1:]

    def reply(self, subject: str, handler: Handler) -> Subscription:
        """Handle requests over NATS; after `flush` other processes can reach the handler.

        Raise ValueError if this process has registered a handler of the subject."""
        check_subject(subject)
        nats_subject = self._request_prefix + subject
        if nats_subject in self._handlers:
            raise ValueError(f"{subject} already has a handler")
        self._handlers[nats_subject] = handler
        self._mark_changed(nats_subject)

        def cancel(_: Subscription) -> None:
            self._handlers.pop(nats_subject, None)
            self._mark_changed(nats_subject)

        return Subscription(cancel)

    def _interest_changed(self, subject: str) -> None:
        self._mark_changed(self._message_prefix + subject)

    def _mark_changed(self, nats_subject: str) -> None:
        """Record that interest in a subject of NATS changed after the last published message."""
        self._changed_interest.pop(nats_subject, None)
        self._changed_interest[nats_subject] = self._last_published_number
        self._write_needed.set()

    def _adjust_outbox_size(self, change_bytes: int) -> None:
        self._outbox_bytes += change_bytes
        self.metrics.bus_pending_bytes.set(self._outbox_bytes)

    # Writing to NATS; only one task does it.

    async def _run(self) -> None:
        """Write to NATS whenever messages or changed interest are pending, until the bus is closed."""
        while True:
            await self._write_needed.wait()
            await self._connected.wait()
            self._write_needed.clear()
            flushes, self._pending_flushes = self._pending_flushes, {}
            try:
                is_confirmed = await self._write()
            except (nats.errors.Error, OSError) as error:
                log.warning("The bus could not write and will retry", extra={"error": str(error)})
                is_confirmed = False
            except asyncio.CancelledError:
                self._requeue_flushes(flushes)
                raise
            except Exception:
                log.exception("The bus failed to write and will retry")
                is_confirmed = False
            if is_confirmed and not self._outbox and not self._changed_interest:
                for confirmation in flushes:
                    if not confirmation.done():
                        confirmation.set_result(None)
            else:
                self._requeue_flushes(flushes)
                self._write_needed.set()
                if not is_confirmed:
                    # Wait until the client detects the disconnect; then `_connected` blocks.
                    await asyncio.sleep(self._reconnect_wait_ms / 1000)

    def _requeue_flushes(self, flushes: "dict[asyncio.Future[None], None]") -> None:
        """Put flushes that were not confirmed back into the queue, before flushes that were requested later."""
        self._pending_flushes = {
            confirmation: None for confirmation in (*flushes, *self._pending_flushes) if not confirmation.done()
        }

    async def _write(self) -> bool:
        """Send changed interest and the next batch of the outbox to NATS.

        After the last batch, also send the notice that messages were dropped. Return True once NATS has confirmed all
        of it, and False if the connection broke first."""
        disconnected = self._disconnected
        assert disconnected is not None
        batch: list[_OutboxEntry] = []
        batch_bytes = 0
        for entry in self._outbox:
            batch.append(entry)
            batch_bytes += entry.size
            if batch_bytes > BATCH_BYTES_MAX:
                break
        is_complete = len(batch) == len(self._outbox)
        last_number = self._last_published_number if is_complete else batch[-1].number
        for entry in batch:
            # A process that subscribed between two messages receives the second and not the first.
            await self._write_interest(entry.number - 1)
            for part in entry.parts:
                if disconnected.done():
                    # Later messages must not overtake earlier ones that were lost with the connection.
                    return False
                await self._client.publish(self._message_prefix + entry.subject, part)
        await self._write_interest(last_number)
        dropped_count = self._dropped_count if is_complete else self._reported_dropped_count
        if dropped_count != self._reported_dropped_count:
            await self._client.publish(self._gap_subject)
        if not await self._wait_for_confirmation(disconnected):
            return False
        for entry in batch:
            self._outbox.popleft()
            self._adjust_outbox_size(-entry.size)
        if dropped_count != self._reported_dropped_count:
            self._reported_dropped_count = dropped_count
            log.warning("The bus is working again; every process was notified of the gap")
        return True

    async def _write_interest(self, message_number: int) -> None:
        """Subscribe and unsubscribe at NATS where interest changed before the message after this number was published."""
        while self._changed_interest:
            nats_subject, change_number = next(iter(self._changed_interest.items()))
            if change_number > message_number:
                return
            # Remove the entry before the await, so that another change of interest during the await adds a new entry.
            del self._changed_interest[nats_subject]
            handler = self._handlers.get(nats_subject)
            is_needed = handler is not None or nats_subject.removeprefix(self._message_prefix) in self._callbacks
            subscription = self._nats_subscriptions.get(nats_subject)
            if is_needed and subscription is None:
                if handler is not None:
                    self._nats_subscriptions[nats_subject] = await self._client.subscribe(
                        nats_subject, cb=self._on_request
                    )
                else:
                    self._nats_subscriptions[nats_subject] = await self._client.subscribe(nats_subject)
            elif subscription is not None and not is_needed:
                del self._nats_subscriptions[nats_subject]
                await subscription.unsubscribe()

    async def _wait_for_confirmation(self, disconnected: "asyncio.Future[None]") -> bool:
        """Wait until NATS has read everything written. Return False if the connection broke first."""
        if disconnected.done():
            return False
        ping = asyncio.get_running_loop().create_task(self._client.confirm())
        try:
            await asyncio.wait({ping, disconnected}, return_when=asyncio.FIRST_COMPLETED)
            return ping.done() and not ping.cancelled() and ping.exception() is None and not disconnected.done()
        finally:
            ping.cancel()
            await asyncio.gather(ping, return_exceptions=True)

    async def _check_silence(self) -> None:
        """Detect a connection on which nothing arrives, long before the client closes it."""
        loop = asyncio.get_running_loop()
        while True:
            await self._connected.wait()
            disconnected = self._disconnected
            assert disconnected is not None
            # The ping itself has no short timeout, because nats-py expects a waiter for each response.
            ping = loop.create_task(self._client.flush(timeout=3600))
            try:
                await asyncio.wait(
                    {ping, disconnected}, timeout=SILENCE_SECONDS_MAX, return_when=asyncio.FIRST_COMPLETED
                )
                if not ping.done() and not disconnected.done():
                    log.warning("NATS does not respond")
                    self._is_silent = True
                    await asyncio.wait({ping, disconnected}, return_when=asyncio.FIRST_COMPLETED)
                self._is_silent = False
            finally:
                ping.cancel()
                await asyncio.gather(ping, return_exceptions=True)
            await asyncio.sleep(HEARTBEAT_SECONDS)

    def received_numbers(self) -> dict[int, int] | None:
        """Return the number of the last delivered message of each publisher; None while received messages are held."""
        return None if self._held_messages else dict(self._last_numbers)

    def resume(self) -> None:
        """Deliver the held messages in order."""
        while self._held_messages and self.can_deliver():
            self._deliver(*self._held_messages.popleft())

    # Callbacks of the NATS client.

    def _on_message(self, subject: str, data: bytes) -> None:
        """Deliver a message from NATS once all its parts have arrived, unless it is a duplicate."""
        try:
            publisher_id, message_number, part_index, part_count = _HEADER.unpack_from(data)
            payload = data[_HEADER.size :]
            if part_count > 1:
                key = (publisher_id, subject)
                if part_index == 0:
                    self._incomplete_messages[key] = []
                    if len(self._incomplete_messages) > PUBLISHERS_MAX:
                        # The oldest message was never completed, because its publisher died.
                        del self._incomplete_messages[next(iter(self._incomplete_messages))]
                parts = self._incomplete_messages.get(key)
                if parts is None or len(parts) != part_index:
                    return  # An earlier part arrived before the subscription was active, or was dropped.
                parts.append(payload)
                if part_index + 1 < part_count:
                    return
                payload = b"".join(self._incomplete_messages.pop(key))
            if message_number <= self._last_numbers.get(publisher_id, 0):
                return  # A duplicate that was sent again after a reconnect.
            self._last_numbers[publisher_id] = message_number
            self._last_numbers.move_to_end(publisher_id)
            if len(self._last_numbers) > PUBLISHERS_MAX:
                self._last_numbers.popitem(last=False)
            message = self._decode(payload)
            if self._has_origins:
                msgspec.structs.force_setattr(message, "origin", (publisher_id, message_number))
        except (msgspec.DecodeError, msgspec.ValidationError, struct.error):
            log.exception("A bus message could not be decoded", extra={"subject": subject})
            return
        self.metrics.bus_received.inc()
        if self.on_received is not None:
            self.on_received(subject, message)
        if not self._held_messages and self.can_deliver():
            self._deliver(subject, message)
        elif len(self._held_messages) < HELD_MESSAGES_MAX:
            self._held_messages.append((subject, message))
        else:
            self._held_messages.clear()
            self.notify_gap()

    async def _on_request(self, message: Msg) -> None:
        # One task per request: a slow handler must not delay the next request.
        task = asyncio.get_running_loop().create_task(self._respond(message))
        self._request_tasks.add(task)
        task.add_done_callback(self._request_tasks.discard)

    async def _respond(self, message: Msg) -> None:
        handler = self._handlers.get(message.subject)
        if handler is None:
            return
        try:
            response = _SUCCESS_MARK + await run_handler(
                handler, message.data, message.subject.removeprefix(self._request_prefix)
            )
        except RequestFailedError:
            response = _FAILURE_MARK
        try:
            await message.respond(response)
        except nats.errors.Error as error:
            log.warning("A bus reply could not be sent", extra={"error": str(error)})

    async def _on_gap_notice(self, _: Msg) -> None:
        self.notify_gap()

    async def _on_error(self, error: Exception) -> None:
        error_text = str(error) or type(error).__name__
        if self._disconnected is None:
            # The first connection is tried many times; `start` reports the reason once.
            self._connect_error = error_text
        else:
            log.warning("NATS reported an error", extra={"error": error_text})

    async def _on_disconnected(self) -> None:
        self._connected.clear()
        self._client.drop_unsent()
        if self._disconnected is not None and not self._disconnected.done():
            self._disconnected.set_result(None)
        if not self._is_closing:
            log.warning("The bus lost its connection to NATS")

    async def _on_reconnected(self) -> None:
        # The client has restored its subscriptions before this call, so no message is missed after it.
        log.info("The bus reconnected to NATS")
        self._incomplete_messages.clear()
        self._disconnected = asyncio.get_running_loop().create_future()
        self._connected.set()
        self._write_needed.set()
        self.notify_gap()

    async def _on_closed(self) -> None:
        self._connected.clear()
        if not self._is_closing:
            log.error("The connection to NATS was closed permanently")
            self._fail_flushes()

    def _fail_flushes(self) -> None:
        confirmations, self._pending_flushes = self._pending_flushes, {}
        for confirmation in confirmations:
            if not confirmation.done():
                confirmation.set_exception(BusError("the bus is closed"))

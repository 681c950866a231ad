"""The bus: the same guarantees in one process and over NATS, and NATS behavior on broken connections."""

import asyncio
import random
import struct
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

import msgspec
import pytest

from hubbub.protocol.ids import GuildId, UserId
from hubbub.server.core.bus import (
    Bus,
    BusError,
    LocalBus,
    NoResponderError,
    RequestFailedError,
    RequestTimeoutError,
)
from hubbub.server.core.bus_nats import NatsBus
from hubbub.server.core.event_dispatch import Audience, Dispatch, GameFilter, GuildAudience, UserAudience
from tests.fixtures.nats import NatsServer
from tests.world import WAIT_TIMEOUT_SECONDS

REQUEST_TIMEOUT_MS = round(WAIT_TIMEOUT_SECONDS * 1000)


class Note(msgspec.Struct, frozen=True):
    """The message type of these tests."""

    number: int
    body: bytes = b""


def unique_prefix(request: pytest.FixtureRequest) -> str:
    """Return a subject prefix that no other test uses, because tests share a NATS server."""
    return f"test-{zlib.crc32(request.node.nodeid.encode())}"


MakeNats = Callable[..., Awaitable[NatsBus[Note]]]


@pytest.fixture
async def make_nats(nats_url: str, request: pytest.FixtureRequest) -> AsyncIterator[MakeNats]:
    """A function that starts a bus on NATS."""
    buses: list[NatsBus[Note]] = []

    async def start_bus(url: str = nats_url, prefix: str = unique_prefix(request), **options: Any) -> NatsBus[Note]:
        bus = NatsBus(url, Note, prefix=prefix, reconnect_wait_ms=20, **options)
        buses.append(bus)
        await bus.start()
        return bus

    yield start_bus
    for bus in buses:
        await bus.close()


@pytest.fixture(params=["local", "nats"])
async def bus(request: pytest.FixtureRequest) -> AsyncIterator[Bus[Note]]:
    """A started bus of each kind."""
    url = request.getfixturevalue("nats_url") if request.param == "nats" else None
    bus: Bus[Note] = LocalBus() if url is None else NatsBus(url, Note, prefix=unique_prefix(request))
    await bus.start()
    yield bus
    await bus.close()


async def test_a_subscriber_receives_only_its_subject_in_order(bus: Bus[Note]) -> None:
    received: list[int] = []
    bus.subscribe("guild.1", lambda note: received.append(note.number))
    await bus.flush()
    for number in range(200):
        bus.publish("guild.1", Note(number))
        bus.publish("guild.11", Note(-1))
        bus.publish("user.1", Note(-1))
    await bus.flush()
    assert received == list(range(200))


async def test_messages_on_different_subjects_arrive_in_the_order_they_were_published(bus: Bus[Note]) -> None:
    received: list[int] = []
    for subject in range(7):
        bus.subscribe(f"guild.{subject}", lambda note: received.append(note.number))
    await bus.flush()
    for number in range(700):
        bus.publish(f"guild.{number * number % 7}", Note(number))
    await bus.flush()
    assert received == list(range(700))


async def test_every_callback_of_a_subject_receives_messages_until_canceled(bus: Bus[Note]) -> None:
    first_received: list[int] = []
    second_received: list[int] = []
    first_subscription = bus.subscribe("presence", lambda note: first_received.append(note.number))
    bus.subscribe("presence", lambda note: second_received.append(note.number))
    bus.publish("presence", Note(1))
    await bus.flush()
    first_subscription.cancel()
    first_subscription.cancel()
    bus.publish("presence", Note(2))
    await bus.flush()
    assert (first_received, second_received) == ([1], [1, 2])


async def test_a_subject_can_be_unsubscribed_and_subscribed_again(bus: Bus[Note]) -> None:
    received: list[int] = []
    for number in range(5):
        subscription = bus.subscribe("user.5", lambda note: received.append(note.number))
        await bus.flush()
        bus.publish("user.5", Note(number))
        await bus.flush()
        subscription.cancel()
        await bus.flush()
        bus.publish("user.5", Note(100))
    bus.subscribe("user.5", lambda note: received.append(note.number)).cancel()
    bus.subscribe("user.5", lambda note: received.append(note.number))
    await bus.flush()
    bus.publish("user.5", Note(5))
    await bus.flush()
    assert received == [0, 1, 2, 3, 4, 5]


async def test_a_subscriber_canceled_during_a_delivery_is_skipped(bus: Bus[Note]) -> None:
    received: list[int] = []
    bus.subscribe("node.a", lambda note: later_subscription.cancel())
    later_subscription = bus.subscribe("node.a", lambda note: received.append(note.number))
    bus.publish("node.a", Note(1))
    await bus.flush()
    assert received == []


async def test_a_failing_subscriber_does_not_affect_others(bus: Bus[Note]) -> None:
    received: list[int] = []

    def fail(note: Note) -> None:
        raise ValueError("no")

    bus.subscribe("node.a", fail)
    bus.subscribe("node.a", lambda note: received.append(note.number))
    bus.publish("node.a", Note(1))
    await bus.flush()
    assert received == [1]


async def test_messages_published_by_a_callback_follow_the_current_message(bus: Bus[Note]) -> None:
    first_received: list[int] = []
    second_received: list[int] = []

    def publish_next(note: Note) -> None:
        first_received.append(note.number)
        if note.number < 3:
            bus.publish("node.a", Note(note.number + 1))

    bus.subscribe("node.a", publish_next)
    bus.subscribe("node.a", lambda note: second_received.append(note.number))
    bus.publish("node.a", Note(1))
    for _ in range(3):
        await bus.flush()
    assert first_received == second_received == [1, 2, 3]


async def test_bytes_and_large_messages_arrive_unchanged(bus: Bus[Note]) -> None:
    received: list[Note] = []
    bus.subscribe("guild.1", received.append)
    sent_notes = [Note(1, b"\x00\xff{}"), Note(2, bytes(range(256)) * 12_000), Note(3)]
    for note in sent_notes:
        bus.publish("guild.1", note)
    await bus.flush()
    assert received == sent_notes


@pytest.mark.parametrize(
    "audience",
    [
        GuildAudience(GuildId(1 << 60), users=frozenset({UserId(5)})),
        UserAudience.of(UserId(5), UserId(6)),
        UserAudience.of(UserId(5), game_filter=GameFilter(family_id=7, families_by_user={UserId(5): frozenset({7})})),
    ],
    ids=["guild", "users", "game"],
)
async def test_a_dispatch_crosses_the_bus_unchanged(
    nats_url: str, request: pytest.FixtureRequest, audience: Audience
) -> None:
    bus = NatsBus(nats_url, Dispatch, prefix=unique_prefix(request))
    await bus.start()
    received: list[Dispatch] = []
    sent_dispatch = Dispatch(
        event="MESSAGE_CREATE", body=b'{"id":"1"}', audience=audience, unredacted_for=frozenset({7})
    )
    for subject in ("user.5", "user.6"):
        bus.subscribe(subject, received.append)
        bus.publish(subject, sent_dispatch)
    await bus.flush()
    await bus.close()
    # The bus adds the publisher and the number of the message.
    assert [msgspec.structs.replace(dispatch, origin=None) for dispatch in received] == [sent_dispatch, sent_dispatch]


async def test_a_request_receives_a_response(bus: Bus[Note]) -> None:
    async def double(data: bytes) -> bytes:
        return data * 2

    registration = bus.reply("node.b", double)
    await bus.flush()
    assert await bus.request("node.b", b"ab", REQUEST_TIMEOUT_MS) == b"abab"
    assert await bus.request("node.b", b"", REQUEST_TIMEOUT_MS) == b""
    registration.cancel()
    await bus.flush()
    with pytest.raises(NoResponderError):
        await bus.request("node.b", b"", REQUEST_TIMEOUT_MS)


async def test_a_request_can_fail_or_time_out(bus: Bus[Note]) -> None:
    release = asyncio.Event()

    async def fail(data: bytes) -> bytes:
        raise ValueError("no")

    async def wait(data: bytes) -> bytes:
        if data == b"slow":
            await release.wait()
        return b"quick"

    bus.reply("node.fails", fail)
    bus.reply("node.waits", wait)
    await bus.flush()
    with pytest.raises(RequestFailedError):
        await bus.request("node.fails", b"", REQUEST_TIMEOUT_MS)
    with pytest.raises(RequestTimeoutError):
        await bus.request("node.waits", b"slow", 20)
    slow = asyncio.create_task(bus.request("node.waits", b"slow", REQUEST_TIMEOUT_MS))
    assert await bus.request("node.waits", b"", REQUEST_TIMEOUT_MS) == b"quick"
    release.set()
    assert await slow == b"quick"
    with pytest.raises(ValueError, match="already"):
        bus.reply("node.waits", wait)


@pytest.mark.parametrize("subject", ["", "guild.*", "guild.>", ".a", "a.", "a..b", "a b", "a\r\nPUB x 0"])
async def test_invalid_subjects_are_rejected(bus: Bus[Note], subject: str) -> None:
    with pytest.raises(ValueError, match="not a valid subject"):
        bus.subscribe(subject, lambda note: None)
    with pytest.raises(ValueError, match="not a valid subject"):
        await bus.request(subject, b"", 10)


async def test_a_bus_is_healthy_until_it_is_closed(bus: Bus[Note]) -> None:
    assert bus.is_healthy
    await bus.close()
    await bus.close()
    assert not bus.is_healthy


async def test_the_local_bus_delivers_the_same_object_synchronously() -> None:
    bus: Bus[Note] = LocalBus()
    received: list[Note] = []
    bus.subscribe("guild.1", received.append)
    note = Note(1)
    bus.publish("guild.1", note)
    assert received[0] is note


# NATS


async def flush_all(*buses: NatsBus[Note]) -> None:
    """Wait until published messages were sent and NATS has delivered them."""
    for _ in range(2):
        for bus in buses:
            await bus.flush()


async def test_all_processes_receive_the_messages_of_each_publisher_in_order(make_nats: MakeNats) -> None:
    buses = [await make_nats() for _ in range(3)]
    received: list[list[int]] = [[], [], []]
    for bus, bus_received in zip(buses, received, strict=True):
        bus.subscribe("guild.1", lambda note, bus_received=bus_received: bus_received.append(note.number))  # type: ignore[misc]
    await flush_all(*buses)
    for number in range(300):
        buses[number % 3].publish("guild.1", Note(number))
        if number % 50 == 0:
            await asyncio.sleep(0)
    await flush_all(*buses)
    # NATS orders the messages of one connection, not those of different connections.
    for numbers in received:
        assert sorted(numbers) == list(range(300))
        for publisher in range(3):
            publisher_numbers = [number for number in numbers if number % 3 == publisher]
            assert publisher_numbers == sorted(publisher_numbers)


async def test_callbacks_of_a_subject_share_one_nats_subscription(make_nats: MakeNats) -> None:
    bus = await make_nats()
    initial_count = len(bus._client._subs)
    subscriptions = [bus.subscribe("guild.1", lambda note: None) for _ in range(10)]
    await bus.flush()
    assert len(bus._client._subs) == initial_count + 1
    for subscription in subscriptions:
        subscription.cancel()
    await bus.flush()
    assert len(bus._client._subs) == initial_count


async def test_prefixes_separate_deployments_on_a_shared_nats(make_nats: MakeNats) -> None:
    first_bus, second_bus = await make_nats(prefix="one"), await make_nats(prefix="other")
    received: list[int] = []
    second_bus.subscribe("guild.1", lambda note: received.append(note.number))
    await flush_all(first_bus, second_bus)
    first_bus.publish("guild.1", Note(1))
    await flush_all(first_bus, second_bus)
    assert received == []


async def test_a_nats_connection_error_does_not_contain_the_password() -> None:
    bus = NatsBus("nats://me:hunter2hunter2@127.0.0.1:1", Note, connect_timeout_ms=100)
    with pytest.raises(BusError, match=r"cannot reach NATS at nats://me.*: .+") as caught:
        await bus.start()
    assert "hunter2" not in str(caught.value)
    assert not bus.is_healthy
    await bus.close()


async def test_a_nats_restart_keeps_own_messages_and_reports_a_gap(
    start_nats_server: Callable[[], NatsServer], make_nats: MakeNats
) -> None:
    server = start_nats_server()
    bus = await make_nats(server.url)
    received: list[int] = []
    gap = asyncio.Event()
    bus.subscribe("guild.1", lambda note: received.append(note.number))
    bus.on_gap(gap.set)
    bus.publish("guild.1", Note(1))
    await bus.flush()

    server.stop()
    async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
        while bus.is_healthy:
            await asyncio.sleep(0.005)
    bus.publish("guild.1", Note(2))
    bus.subscribe("guild.2", lambda note: received.append(note.number))
    bus.publish("guild.2", Note(3))
    assert not gap.is_set()
    server.start()

    async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
        await gap.wait()
        await bus.flush()
    assert received == [1, 2, 3]
    assert bus.is_healthy


class AbortingProxy:
    """A proxy to NATS that closes connections after a number of sent bytes and drops the responses to these bytes."""

    def __init__(self, url: str, bytes_until_abort: list[int] | None = None) -> None:
        self._port = urlsplit(url).port
        self._bytes_until_abort = bytes_until_abort or []
        """Bytes after which each connection is closed, in the order of the connections; later ones stay open."""
        self._own_port = 0
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> str:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self._own_port)
        self._own_port = self._server.sockets[0].getsockname()[1]
        return f"nats://127.0.0.1:{self._own_port}"

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        upstream_reader, upstream_writer = await asyncio.open_connection("127.0.0.1", self._port)
        responses = asyncio.create_task(self._copy(upstream_reader, writer))
        remaining = self._bytes_until_abort.pop(0) if self._bytes_until_abort else None
        with suppress(OSError, asyncio.CancelledError):
            while data := await reader.read(64 * 1024):
                if remaining is not None and len(data) >= remaining:
                    # NATS receives these bytes, but the publisher gets no confirmation.
                    responses.cancel()
                    upstream_writer.write(data[:remaining])
                    await upstream_writer.drain()
                    break
                remaining = remaining and remaining - len(data)
                upstream_writer.write(data)
                await upstream_writer.drain()
        responses.cancel()
        upstream_writer.close()
        writer.transport.abort()

    async def _copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(64 * 1024):
                writer.write(data)
                await writer.drain()

    async def stop(self) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


async def test_dropped_outgoing_messages_are_counted_and_reported_to_every_process(
    make_nats: MakeNats, nats_url: str
) -> None:
    proxy = AbortingProxy(nats_url)
    bus = await make_nats(await proxy.start(), pending_bytes_max=1000)
    other_bus = await make_nats()
    gap = asyncio.Event()
    received: list[int] = []
    other_bus.on_gap(gap.set)
    other_bus.subscribe("guild.1", lambda note: received.append(note.number))
    await other_bus.flush()
    await proxy.stop()
    async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
        while bus.is_healthy:
            await asyncio.sleep(0.005)
    for number in range(50):
        bus.publish("guild.1", Note(number, b"x" * 100))
    assert bus.metrics.bus_dropped.value > 40
    assert not gap.is_set()

    await proxy.start()
    async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
        await gap.wait()
        await bus.flush()
    assert bus.is_healthy
    assert received == list(range(len(received)))
    assert 1 <= len(received) < 10
    await bus.close()
    await proxy.stop()


@pytest.mark.parametrize("seed", range(4))
async def test_closed_connections_under_load_do_not_lose_duplicate_or_reorder_messages(
    make_nats: MakeNats, nats_url: str, seed: int
) -> None:
    rng = random.Random(seed)
    proxy = AbortingProxy(nats_url, [rng.randrange(1000, 100_000) for _ in range(12)])
    publisher = await make_nats(await proxy.start())
    listener = await make_nats()
    received: list[int] = []
    for subject in range(3):
        listener.subscribe(f"guild.{subject}", lambda note: received.append(note.number))
    await listener.flush()
    for number in range(3000):
        publisher.publish(f"guild.{number % 3}", Note(number, b"x" * rng.randrange(500)))
        if rng.random() < 0.02:
            await asyncio.sleep(0.001)
    async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
        await publisher.flush()
        await listener.flush()
    assert publisher._client.stats["reconnects"] >= 5
    assert received == list(range(3000))
    await publisher.close()
    await proxy.stop()


async def test_incomplete_messages_are_discarded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hubbub.server.core.bus_nats.PUBLISHERS_MAX", 3)
    bus: NatsBus[Note] = NatsBus("nats://nowhere", Note)
    received: list[Note] = []
    bus.subscribe("a", received.append)
    encoded_note = msgspec.msgpack.encode(Note(7, b"x" * 100))
    # The header has the publisher, the message number, the index of the part and the number of parts.
    for publisher in range(1, 101):
        bus._on_message("a", struct.pack(">QQHH", publisher, 1, 0, 2) + encoded_note[:50])
    assert len(bus._incomplete_messages) == 3

    bus._on_message("a", struct.pack(">QQHH", 100, 1, 1, 2) + encoded_note[50:])

    assert received == [Note(7, b"x" * 100)]


async def test_canceled_flushes_are_cleaned_up(make_nats: MakeNats) -> None:
    bus = await make_nats()
    bus._connected.clear()
    waiting_flushes = [asyncio.ensure_future(bus.flush()) for _ in range(100)]
    await asyncio.sleep(0)
    assert len(bus._pending_flushes) == 100
    for task in waiting_flushes:
        task.cancel()
    await asyncio.gather(*waiting_flushes, return_exceptions=True)
    assert not bus._pending_flushes

    bus._connected.set()
    await bus.flush()
    assert not bus._pending_flushes

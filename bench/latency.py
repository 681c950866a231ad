"""Latency of requests, measured with a clock that stops while the scheduler keeps the server waiting.

On a machine that is busy with other work, a request waits until its server gets a processor. Linux counts this time per
thread in /proc/PID/schedstat. `WorkClock` subtracts it, so that the remaining time is work, disk and network. The
measuring process would wait as well, so both get real-time priority for the few seconds of a measurement, if the user may
set it.
"""

import asyncio
import contextlib
import os
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from bench.load import GatewayConnection, Subject

QUANTILE_COUNT: Final = 200
"""Number of quantiles that represent a distribution."""
BURST_SECONDS: Final = 0.4
"""Duration of a burst of requests, and of the pause before it."""


def find_memory_folder() -> str | None:
    """Return a folder in memory, so that other programs that use the disk do not matter; None if there is none."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


class WorkClock:
    """A clock in seconds without the time in which the main thread of a server waited for a processor."""

    def __init__(self, server_pid: int) -> None:
        self._descriptor = os.open(f"/proc/{server_pid}/schedstat", os.O_RDONLY)

    def now(self) -> float:
        """Return the time; only differences are meaningful."""
        waited_ns = int(os.pread(self._descriptor, 100, 0).split()[1])
        return time.monotonic() - waited_ns / 1e9

    def close(self) -> None:
        """Close the file of the kernel's statistics."""
        os.close(self._descriptor)


@contextlib.contextmanager
def raise_priority(*pids: int) -> Iterator[None]:
    """Give all threads of these processes real-time priority, if the user may set it, until the block ends."""
    thread_ids = [int(task.name) for pid in pids for task in Path(f"/proc/{pid}/task").iterdir()]
    raised_ids: list[int] = []
    try:
        with contextlib.suppress(PermissionError):
            for thread_id in thread_ids:
                os.sched_setscheduler(thread_id, os.SCHED_RR, os.sched_param(1))
                raised_ids.append(thread_id)
        yield
    finally:
        for thread_id in raised_ids:
            with contextlib.suppress(ProcessLookupError):
                os.sched_setscheduler(thread_id, os.SCHED_OTHER, os.sched_param(0))


class TimedConnection(asyncio.Protocol):
    """A connection that sends one request at a time and appends its duration in seconds to a list."""

    def __init__(self, clock: WorkClock, durations: list[float], idle_connections: list["TimedConnection"]) -> None:
        self._clock, self._durations, self._idle_connections = clock, durations, idle_connections
        self._buffer = b""
        self._sent_at = 0.0

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self._idle_connections.append(self)

    def send(self, request: bytes) -> None:
        """Send a request; the connection returns to the idle ones with the response."""
        self._sent_at = self._clock.now()
        self.transport.write(request)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head, separator, body = self._buffer.partition(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n", 1)[0] or 0)
        if not separator or len(body) < length:
            return
        if not head.startswith(b"HTTP/1.1 2"):
            raise RuntimeError(head.split(b"\r\n")[0].decode())
        self._buffer = b""
        self._durations.append(max(self._clock.now() - self._sent_at, 0.0))
        self._idle_connections.append(self)


async def measure_latencies(
    subject: Subject, requests: list[bytes], rate: float, connection_count: int = 128
) -> list[float]:
    """Send requests at random times (a Poisson process) with a mean rate per second; return their durations in seconds.

    The last request of the list is sent first. A duration starts when the request is sent, so it does not include a wait for an
    idle connection. With one connection each request follows the previous response after a random pause with a mean of
    1 / rate.
    """
    host, _, port = subject.connection_info["url"].removeprefix("http://").partition(":")
    loop = asyncio.get_running_loop()
    clock = WorkClock(subject.process.pid)
    durations: list[float] = []
    idle_connections: list[TimedConnection] = []
    for _ in range(connection_count):
        await loop.create_connection(lambda: TimedConnection(clock, durations, idle_connections), host, int(port))
    connections = list(idle_connections)
    generator = random.Random(1)
    remaining_requests = list(requests)
    while remaining_requests:
        # A process with real-time priority that uses 95 % of a second must pause, so the load comes in short bursts.
        await asyncio.sleep(BURST_SECONDS)
        with raise_priority(os.getpid(), subject.process.pid):
            ends_at = time.monotonic() + BURST_SECONDS
            next_at = clock.now()
            while remaining_requests and time.monotonic() < ends_at:
                # Timers have a resolution of a millisecond, which is longer than a request, so the loop polls.
                while not idle_connections:
                    await asyncio.sleep(0)
                if connection_count == 1:
                    next_at = clock.now()
                next_at += generator.expovariate(rate)
                while clock.now() < next_at or not idle_connections:
                    await asyncio.sleep(0)
                idle_connections.pop().send(remaining_requests.pop())
            async with asyncio.timeout(60):
                while len(idle_connections) < len(connections):
                    await asyncio.sleep(0)
    for connection in connections:
        connection.transport.close()
    clock.close()
    return durations


async def measure_fanout(
    subject: Subject, sessions: list[GatewayConnection], requests: list[bytes], delivery_bytes_min: int = 300
) -> list[float]:
    """Send messages one by one; return the seconds from each request until all sessions have received its event.

    The sessions only count bytes: an event has arrived once the last session has received anything, and all sessions
    together have received `delivery_bytes_min` bytes per session.
    """
    clock = WorkClock(subject.process.pid)
    durations: list[float] = []
    host, _, port = subject.connection_info["url"].removeprefix("http://").partition(":")
    idle_connections: list[TimedConnection] = []
    _, connection = await asyncio.get_running_loop().create_connection(
        lambda: TimedConnection(clock, [], idle_connections), host, int(port)
    )
    for request in requests:
        bytes_before = sum(session.received_bytes for session in sessions)
        last_session_bytes_before = sessions[-1].received_bytes
        with raise_priority(os.getpid(), subject.process.pid):
            started_at = clock.now()
            connection.send(request)
            async with asyncio.timeout(60):
                while sessions[-1].received_bytes == last_session_bytes_before or (
                    sum(session.received_bytes for session in sessions)
                    < bytes_before + len(sessions) * delivery_bytes_min
                ):
                    await asyncio.sleep(0)
            durations.append(max(clock.now() - started_at, 0.0))
        await asyncio.sleep(0.05)
    connection.transport.close()
    clock.close()
    return durations


def compute_quantiles(values: list[float]) -> list[float]:
    """Return the middles of `QUANTILE_COUNT` equal parts of a sample.

    A random one of them has the distribution of the sample.
    """
    sorted_values = sorted(values)
    return [sorted_values[int((index + 0.5) / QUANTILE_COUNT * len(sorted_values))] for index in range(QUANTILE_COUNT)]

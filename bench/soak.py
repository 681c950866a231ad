"""Minutes of steady load on a server with small buffers; once they are full, memory must not grow.

Bounded memory is filled first: replay buffers and the database's page cache are small here, and disconnected sessions
expire after seconds. Rows are on disk. Memory that still grows with the number of requests is a leak.
"""

import asyncio
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

from bench.load import GatewayConnection, Subject, encode_request, send_requests, wait_until_idle
from hubbub.protocol.intents import Intents

SOAK_SECONDS, QUICK_SOAK_SECONDS = 300, 60
WARM_UP_SHARE = 1 / 3
"""Share of the duration that is not measured."""
CONNECTION_COUNT = 32
LASTING_SESSION_COUNT, ROUND_SESSION_COUNT, DROPPED_SESSION_COUNT = 50, 20, 2
"""Sessions that last, sessions that connect in each round, and those of a round that end without a close frame."""
HEARTBEAT_SECONDS = 20
"""Seconds between heartbeats of the lasting sessions; after 62 seconds without one they would be closed."""
INTENTS = Intents.GUILDS | Intents.GUILD_MESSAGES | Intents.MESSAGE_CONTENT
LEAK_BYTES_MAX = 40.0
"""Limit in bytes per request, by linear regression over the bytes in use after every round after the warm-up.

Anything that is stored per request exceeds it, and so do 1.5 KB per session."""


class Sample(NamedTuple):
    """The memory of the server after a round."""

    elapsed_seconds: float
    request_count: int
    private_bytes: int
    """Resident memory without mapped files."""
    in_use_bytes: int
    """Bytes that the allocator has in use."""


class Load:
    """The load of all rounds: writing and reading, invalid requests, and sessions that connect and disconnect."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.request_count = 0
        self._url = subject.connection_info["url"]
        self._lasting_connections: list[GatewayConnection] = []
        self._last_beat = time.monotonic()

    async def start(self) -> None:
        """Open the lasting sessions."""
        self._lasting_connections = await self._connect(LASTING_SESSION_COUNT)

    async def run_round(self) -> None:
        """Send a few hundred requests, and open sessions, most of which end with a close frame."""
        for request_stream, expect_errors in ((self._valid_requests(), False), (self._invalid_requests(), True)):
            requests = list(request_stream)
            self.request_count += len(requests)
            await send_requests(self._url, requests, CONNECTION_COUNT, expect_errors=expect_errors)
        round_connections = await self._connect(ROUND_SESSION_COUNT)
        for connection in round_connections[DROPPED_SESSION_COUNT:]:
            connection.send_close()
        # The server acknowledges the close before the socket is closed.
        await asyncio.sleep(0.05)
        for connection in round_connections:
            connection.transport.close()
        if time.monotonic() - self._last_beat >= HEARTBEAT_SECONDS:
            self._last_beat = time.monotonic()
            # A session without heartbeats for a minute is closed, and could then no longer grow.
            for connection in self._lasting_connections:
                connection.send_heartbeat()

    def end(self) -> None:
        """Close the lasting sessions. Raise RuntimeError if the server closed any of them."""
        lost_count = sum(connection.is_lost for connection in self._lasting_connections)
        for connection in self._lasting_connections:
            connection.transport.close()
        if lost_count:
            raise RuntimeError(f"{lost_count} of the lasting sessions were closed by the server")

    def _valid_requests(self) -> Iterator[bytes]:
        connection_info = self.subject.connection_info
        path, token = f"/api/v10/channels/{connection_info['channel']}", connection_info["user_token"]
        for number in range(500):
            content = f"message number {self.request_count + number} says hello"
            yield encode_request("POST", f"{path}/messages", token, {"content": content})
        for _ in range(50):
            yield encode_request("GET", f"{path}/messages?limit=50", token)
            yield encode_request("POST", f"{path}/typing", token, {})

    def _invalid_requests(self) -> Iterator[bytes]:
        """Generate invalid requests, all different, so that a table with keys from requests would grow."""
        for number in range(self.request_count, self.request_count + 40):
            yield encode_request("GET", f"/api/v10/nothing-{number}/here", self.subject.connection_info["user_token"])
            yield encode_request("GET", "/api/v10/users/@me", f"Bot no.token.{number}")
            yield encode_request(
                "GET", f"/api/v10/channels/{number + 1}/messages", self.subject.connection_info["user_token"]
            )

    async def _connect(self, count: int) -> list[GatewayConnection]:
        host, _, port = self._url.removeprefix("http://").partition(":")
        loop, token = asyncio.get_running_loop(), self.subject.connection_info["bot_token"]
        connections = []
        for _ in range(count):
            _, protocol = await loop.create_connection(lambda: GatewayConnection(token, "", INTENTS), host, int(port))
            connections.append(protocol)
        # Wait for READY and GUILD_CREATE.
        await wait_until_idle(connections, bytes_min=count * 1500)
        return connections


async def run_soak_benchmark(record_figure: Callable[..., None], is_quick: bool) -> None:
    """Measure late memory against early memory, and the growth of the bytes in use per request."""
    seconds = QUICK_SOAK_SECONDS if is_quick else SOAK_SECONDS
    samples = []
    with tempfile.TemporaryDirectory() as folder, Subject("hubbub-small", folder) as subject:
        load = Load(subject)
        await load.start()
        started_at = time.monotonic()
        while (elapsed := time.monotonic() - started_at) < seconds:
            await load.run_round()
            samples.append(Sample(elapsed, load.request_count, *subject.own_memory_bytes()))
        load.end()
    late_samples = [sample for sample in samples if sample.elapsed_seconds >= seconds * WARM_UP_SHARE]
    _, request_counts, private_bytes, used_bytes = zip(*late_samples, strict=True)
    half_count = len(late_samples) // 2
    growth = statistics.mean(private_bytes[half_count:]) / statistics.mean(private_bytes[:half_count])
    detail = f"{private_bytes[-1] / 1e6:.1f} MB after {seconds} s and {load.request_count:,} requests"
    record_figure("memory late in a soak / earlier", growth, 1.05, "x", detail)
    leaked_bytes = statistics.linear_regression(request_counts, used_bytes).slope
    detail = f"{used_bytes[-1] / 1e6:.1f} MB in use, {len(late_samples)} rounds after the warm-up"
    record_figure("memory growth per request of a soak", leaked_bytes, LEAK_BYTES_MAX, "bytes", detail)

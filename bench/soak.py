"""Minutes of steady load on a platform whose buffers are small: once they are full, memory stays.

What has a bound is filled first, since filling it is no leak: replay buffers and the pages that the embedded database keeps are
small here, and a session that was cut is forgotten after seconds. Rows are on disk. What still grows by the request is a leak.
"""

import asyncio
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator

from bench.load import GatewayConnection, Subject, drive, quiet, request

SECONDS, QUICK_SECONDS = 300, 60
WARM_UP = 1 / 3
CONNECTIONS = 32
STAYING, PASSING, CUT = 50, 20, 2
"""Sessions that last, those that come in a round, and those among them that are cut off."""
BEAT_S = 20
"""Between heartbeats of the sessions that stay; 62 seconds of silence would end them."""
INTENTS = 1 << 0 | 1 << 9 | 1 << 15
LEAK_MOST = 40.0
"""Bytes for each request, by a line through what is in use after every round once all is warm: whatever is remembered for each
request is more than that, and so is a kilobyte and a half for each session."""


class Load:
    """What happens in a round: people write and read, strangers knock, and sessions come and go."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.requests = 0
        self._url = subject.about["url"]
        self._stay: list[GatewayConnection] = []
        self._beaten = time.monotonic()

    async def start(self) -> None:
        """Let those come who stay."""
        self._stay = await self._connect(STAYING)

    async def round(self) -> None:
        """Some hundred requests, and sessions of which most take leave and a few are cut off."""
        for wave, refused in ((self._good(), False), (self._bad(), True)):
            requests = list(wave)
            self.requests += len(requests)
            await drive(self._url, requests, CONNECTIONS, refused=refused)
        passing = await self._connect(PASSING)
        for connection in passing[CUT:]:
            connection.leave()
        # The server answers the close before the socket goes.
        await asyncio.sleep(0.05)
        for connection in passing:
            connection.transport.close()
        if time.monotonic() - self._beaten >= BEAT_S:
            self._beaten = time.monotonic()
            # Who is silent for a minute is cut off, and then holds nothing that could grow.
            for connection in self._stay:
                connection.beat()

    def end(self) -> None:
        """Take leave; RuntimeError where somebody who should have stayed was cut off."""
        lost = sum(connection.lost for connection in self._stay)
        for connection in self._stay:
            connection.transport.close()
        if lost:
            raise RuntimeError(f"{lost} of the sessions that should stay were cut off")

    def _good(self) -> Iterator[bytes]:
        about = self.subject.about
        path, token = f"/api/v10/channels/{about['channel']}", about["user_token"]
        for number in range(500):
            content = f"message number {self.requests + number} says hello"
            yield request("POST", f"{path}/messages", token, {"content": content})
        for _ in range(50):
            yield request("GET", f"{path}/messages?limit=50", token)
            yield request("POST", f"{path}/typing", token, {})

    def _bad(self) -> Iterator[bytes]:
        """No two of them alike: a table by what callers send would grow."""
        for number in range(self.requests, self.requests + 40):
            yield request("GET", f"/api/v10/nothing-{number}/here", self.subject.about["user_token"])
            yield request("GET", "/api/v10/users/@me", f"Bot no.token.{number}")
            yield request("GET", f"/api/v10/channels/{number + 1}/messages", self.subject.about["user_token"])

    async def _connect(self, count: int) -> list[GatewayConnection]:
        host, _, port = self._url.removeprefix("http://").partition(":")
        loop, token = asyncio.get_running_loop(), self.subject.about["bot_token"]
        opened = []
        for _ in range(count):
            _, protocol = await loop.create_connection(lambda: GatewayConnection(token, "", INTENTS), host, int(port))
            opened.append(protocol)
        # READY and GUILD_CREATE.
        await quiet(opened, least=count * 1500)
        return opened


async def soak_bench(note: Callable[..., None], quick: bool) -> None:
    """Memory late in the soak against earlier, and what more is in use after each request."""
    seconds = QUICK_SECONDS if quick else SECONDS
    samples = []
    with tempfile.TemporaryDirectory() as folder, Subject("hubbub-small", folder) as subject:
        load = Load(subject)
        await load.start()
        began = time.monotonic()
        while (passed := time.monotonic() - began) < seconds:
            await load.round()
            samples.append((passed, load.requests, *subject.own_memory()))
        load.end()
    late = [sample for sample in samples if sample[0] >= seconds * WARM_UP]
    _, requests, own, in_use = zip(*late, strict=True)
    half = len(late) // 2
    growth = statistics.mean(own[half:]) / statistics.mean(own[:half])
    detail = f"{own[-1] / 1e6:.1f} MB after {seconds} s and {load.requests:,} requests"
    note("memory late in a soak / earlier", growth, 1.05, "x", detail)
    leak = statistics.linear_regression(requests, in_use).slope
    detail = f"{in_use[-1] / 1e6:.1f} MB in use, {len(late)} rounds after the warm-up"
    note("memory kept after each request of a soak", leak, LEAK_MOST, "bytes", detail)

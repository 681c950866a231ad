"""A platform of several processes, and the faults that tests inject: broken networks and wrong clocks."""

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit, urlunsplit

import aiohttp

from tests.journeys.processes import ApiUser, GatewaySession, Server

CHUNK_BYTES = 64 * 1024


def clock_shift_code(milliseconds: int) -> str:
    """Return startup code of a server whose wall clock is ahead (positive) or behind (negative)."""
    return (
        "import time\n"
        "_time, _time_ns = time.time, time.time_ns\n"
        f"time.time = lambda: _time() + {milliseconds / 1000}\n"
        f"time.time_ns = lambda: _time_ns() + {milliseconds * 1_000_000}\n"
    )


class FaultProxy:
    """A TCP proxy between a process and a server, whose connections a test can break or silence."""

    def __init__(self, target: str | Path) -> None:
        """Create a proxy; `target` is a URL with host and port, or the path of a Unix socket."""
        self._target = target
        self._mode: Literal["forward", "refuse", "swallow"] = "forward"
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._forwarding = asyncio.Event()
        self._forwarding.set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="fault-proxy", daemon=True)
        self.port = 0

    @property
    def url(self) -> str:
        """The URL of the proxy with the scheme of its target."""
        return urlunsplit(urlsplit(str(self._target))._replace(netloc=f"127.0.0.1:{self.port}"))

    def start(self) -> "FaultProxy":
        """Accept connections on a free port, in a thread: a busy test must not delay the traffic of other processes."""
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result()
        return self

    def stop(self) -> None:
        """Close all connections and stop."""
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def refuse(self) -> None:
        """Close all connections, and every new one immediately."""
        asyncio.run_coroutine_threadsafe(self._set_mode("refuse"), self._loop).result()

    def swallow(self) -> None:
        """Accept connections and data, but pass nothing on in either direction: a black hole."""
        asyncio.run_coroutine_threadsafe(self._set_mode("swallow"), self._loop).result()

    def heal(self) -> None:
        """Break the connections of a black hole and forward new ones."""
        asyncio.run_coroutine_threadsafe(self._set_mode("forward"), self._loop).result()

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _close(self) -> None:
        assert self._server is not None
        self._server.close()
        self._forwarding.set()
        self._abort_connections()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _set_mode(self, mode: Literal["forward", "refuse", "swallow"]) -> None:
        if mode == "refuse" or self._mode == "swallow":
            self._abort_connections()
        self._mode = mode
        if mode == "swallow":
            self._forwarding.clear()
        else:
            self._forwarding.set()

    def _abort_connections(self) -> None:
        for writer in list(self._writers):
            writer.transport.abort()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        self._writers.add(writer)
        try:
            if self._mode == "refuse":
                return
            await self._forwarding.wait()
            if writer.transport.is_closing():
                return
            upstream_reader, upstream_writer = await self._connect()
            self._writers.add(upstream_writer)
            try:
                copies = [
                    asyncio.create_task(self._copy(reader, upstream_writer)),
                    asyncio.create_task(self._copy(upstream_reader, writer)),
                ]
                try:
                    await asyncio.wait(copies, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    for copy in copies:
                        copy.cancel()
                    await asyncio.gather(*copies, return_exceptions=True)
            finally:
                self._writers.discard(upstream_writer)
                upstream_writer.transport.abort()
        except (OSError, asyncio.CancelledError):
            pass  # The connection failed, or `stop` canceled the task.
        finally:
            self._writers.discard(writer)
            writer.transport.abort()

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if isinstance(self._target, Path):
            return await asyncio.open_unix_connection(str(self._target))
        address = urlsplit(self._target)
        return await asyncio.open_connection(address.hostname, address.port)

    async def _copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while chunk := await reader.read(CHUNK_BYTES):
                await self._forwarding.wait()
                writer.write(chunk)
                await writer.drain()


@contextlib.asynccontextmanager
async def running_proxy(target: str | Path) -> AsyncIterator[FaultProxy]:
    """Run a proxy until the `async with` block ends."""
    proxy = FaultProxy(target).start()
    try:
        yield proxy
    finally:
        proxy.stop()


@dataclass(frozen=True)
class Node:
    """The settings of one process of a cluster; by default it serves the API."""

    roles: str = "api"
    nats_url: str | None = None
    """The URL of NATS or of a proxy to it; None for the URL of the cluster."""
    database_url: str | None = None
    """The URL of PostgreSQL or of a proxy to it; None for the URL of the cluster."""
    clock_shift_ms: int = 0
    """Milliseconds by which the process's wall clock is ahead; negative if it is behind."""
    flags: tuple[str, ...] = ()
    source: Path | None = None
    """The folder with the package of another version; None for this version."""


@contextlib.asynccontextmanager
async def running_cluster(
    directory: Path, database_url: str, nats_url: str, nodes: Sequence[Node]
) -> AsyncIterator[tuple[aiohttp.ClientSession, list[Server]]]:
    """Run one process per node on an empty database until the `async with` block ends; yield an HTTP client and the servers."""
    servers = [
        Server(
            directory,
            "serve",
            *("--roles", node.roles, "--worker", str(number), "--rate-limits", "off", "--gateway-drain-ms", "0"),
            *("--database-url", node.database_url or database_url, "--nats-url", node.nats_url or nats_url),
            *("--data", str(directory / "data"), *node.flags),
            startup_code=clock_shift_code(node.clock_shift_ms) if node.clock_shift_ms else "",
            source=node.source,
        )
        for number, node in enumerate(nodes)
    ]
    try:
        await asyncio.gather(*(server.start() for server in servers))
        # The number of connections is not limited: requests that wait for a broken process must not delay others.
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as client:
            yield client, servers
    finally:
        for server in servers:
            server.stop()


async def open_session(user: ApiUser, server: Server) -> GatewaySession:
    return await GatewaySession(user, server.gateway).open()

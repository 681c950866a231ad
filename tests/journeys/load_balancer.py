"""A load balancer in front of a platform of several processes: one URL for its API and gateway processes."""

import asyncio
import contextlib
import itertools
import socket
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web
from multidict import CIMultiDict
from yarl import URL

from hubbub.server.app import App
from hubbub.server.core.clock import RealClock
from hubbub.server.core.config import Config
from tests.journeys.processes import Server
from tests.world import World

OWN = frozenset({"connection", "keep-alive", "transfer-encoding", "upgrade", "content-length"})
"""Hop-by-hop headers."""


class LoadBalancer:
    """Forwards requests to the API processes and connections to the gateway processes, round-robin."""

    def __init__(self, apis: Sequence[str], gateways: Sequence[str]) -> None:
        self.url = ""
        self.request_counts = dict.fromkeys([*apis, *gateways], 0)
        """The number of requests to each process, by its URL."""
        self._apis, self._gateways = itertools.cycle(apis), itertools.cycle(gateways)

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator["LoadBalancer"]:
        """Listen during a block."""
        application = web.Application(client_max_size=64 << 20)
        application.router.add_get("/gateway", self._connect)
        application.router.add_route("*", "/{path:.*}", self._ask)
        runner = web.AppRunner(application, access_log=None, shutdown_timeout=1.0)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        self.url = "http://{}:{}".format(*runner.addresses[0][:2])
        async with aiohttp.ClientSession(auto_decompress=False, cookie_jar=aiohttp.DummyCookieJar()) as self._client:
            yield self
            await runner.cleanup()

    def _next(self, processes: Iterator[str], path: str) -> URL:
        process = next(processes)
        self.request_counts[process] += 1
        return URL(process + path, encoded=True)

    async def _ask(self, request: web.Request) -> web.Response:
        async with self._client.request(
            request.method,
            self._next(self._apis, request.raw_path),
            headers=_passed(request.headers),
            data=await request.read() or None,
            allow_redirects=False,
        ) as answer:
            return web.Response(status=answer.status, body=await answer.read(), headers=_passed(answer.headers))

    async def _connect(self, request: web.Request) -> web.WebSocketResponse:
        here = web.WebSocketResponse(max_msg_size=0)
        await here.prepare(request)
        async with self._client.ws_connect(self._next(self._gateways, request.raw_path), max_msg_size=0) as there:
            relays = [asyncio.create_task(_relay(here, there)), asyncio.create_task(_relay(there, here))]
            await asyncio.wait(relays, return_when=asyncio.FIRST_COMPLETED)
            # Forward the close code of the side that closed first.
            await there.close(code=here.close_code or 1000)
            await here.close(code=there.close_code or 1000)
            for relay in relays:
                relay.cancel()
            await asyncio.gather(*relays, return_exceptions=True)
        return here


async def _relay(source: Any, target: Any) -> None:
    async for message in source:
        if message.type is aiohttp.WSMsgType.TEXT:
            await target.send_str(message.data)
        elif message.type is aiohttp.WSMsgType.BINARY:
            await target.send_bytes(message.data)


def _passed(headers: Any) -> "CIMultiDict[str]":
    return CIMultiDict((name, value) for name, value in headers.items() if name.lower() not in OWN)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextlib.asynccontextmanager
async def cluster_behind_load_balancer(
    directory: Path, database_url: str, nats_url: str
) -> AsyncIterator[tuple[World, LoadBalancer]]:
    """Run two API and two gateway processes behind one URL, over one PostgreSQL and one NATS; yield their operator too."""
    roles = ["api,worker", "api", "gateway", "gateway"]
    ports = [_free_port() for _ in roles]
    addresses = [f"http://127.0.0.1:{port}" for port in ports]
    async with LoadBalancer(addresses[:2], addresses[2:]).open() as front:
        shared = ["--database-url", database_url, "--nats-url", nats_url, "--rate-limits", "off"]
        shared += ["--data", str(directory / "data"), "--gateway-drain-ms", "100"]
        servers = []
        for number, (some, port) in enumerate(zip(roles, ports, strict=True)):
            # Clients find everything at the load balancer, but resume at the gateway that they were assigned.
            public = ["--public-url", front.url] if "api" in some else []
            server = Server(directory, "serve", "--roles", some, "--worker", str(number), *shared, *public)
            server.port = port
            servers.append(server)
        # The operator's process serves no clients; the others receive its events.
        config = Config(
            database_url=database_url,
            nats_url=nats_url,
            files_url=str(directory / "data" / "files"),
            port=0,
            public_url=front.url,
            roles=frozenset(),
            worker=len(roles),
            rate_limits="off",
        )
        operator = App(config, clock=RealClock())
        try:
            await asyncio.gather(*(server.start() for server in servers))
            await operator.start()
            async with aiohttp.ClientSession() as client:
                world = World(operator, client)
                yield world, front
                await world.close()
        finally:
            await operator.stop()
            for server in servers:
                server.stop()

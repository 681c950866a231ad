"""A load balancer with one URL for the API and gateway processes of a platform, and a cluster behind it."""

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

HOP_BY_HOP_HEADERS = frozenset({"connection", "keep-alive", "transfer-encoding", "upgrade", "content-length"})
"""Headers that are not forwarded, because they describe one connection or the framing of a body."""


class LoadBalancer:
    """Forwards requests to the API processes and connections to the gateway processes, round-robin."""

    def __init__(self, api_urls: Sequence[str], gateway_urls: Sequence[str]) -> None:
        self.url = ""
        self.request_counts = dict.fromkeys([*api_urls, *gateway_urls], 0)
        """The number of requests and connections to each process, by its URL."""
        self._api_urls, self._gateway_urls = itertools.cycle(api_urls), itertools.cycle(gateway_urls)

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator["LoadBalancer"]:
        """Listen until the `async with` block ends."""
        application = web.Application(client_max_size=64 << 20)
        application.router.add_get("/gateway", self._forward_connection)
        application.router.add_route("*", "/{path:.*}", self._forward_request)
        runner = web.AppRunner(application, access_log=None, shutdown_timeout=1.0)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        self.url = "http://{}:{}".format(*runner.addresses[0][:2])
        async with aiohttp.ClientSession(auto_decompress=False, cookie_jar=aiohttp.DummyCookieJar()) as self._client:
            yield self
            await runner.cleanup()

    def _next_url(self, urls: Iterator[str], path: str) -> URL:
        url = next(urls)
        self.request_counts[url] += 1
        return URL(url + path, encoded=True)

    async def _forward_request(self, request: web.Request) -> web.Response:
        async with self._client.request(
            request.method,
            self._next_url(self._api_urls, request.raw_path),
            headers=_forwarded_headers(request.headers),
            data=await request.read() or None,
            allow_redirects=False,
        ) as response:
            return web.Response(
                status=response.status, body=await response.read(), headers=_forwarded_headers(response.headers)
            )

    async def _forward_connection(self, request: web.Request) -> web.WebSocketResponse:
        client_socket = web.WebSocketResponse(max_msg_size=0)
        await client_socket.prepare(request)
        async with self._client.ws_connect(
            self._next_url(self._gateway_urls, request.raw_path), max_msg_size=0
        ) as server_socket:
            relays = [
                asyncio.create_task(_relay(client_socket, server_socket)),
                asyncio.create_task(_relay(server_socket, client_socket)),
            ]
            await asyncio.wait(relays, return_when=asyncio.FIRST_COMPLETED)
            # Forward the close code of the side that closed first.
            await server_socket.close(code=client_socket.close_code or 1000)
            await client_socket.close(code=server_socket.close_code or 1000)
            for relay in relays:
                relay.cancel()
            await asyncio.gather(*relays, return_exceptions=True)
        return client_socket


async def _relay(source: Any, target: Any) -> None:
    async for message in source:
        if message.type is aiohttp.WSMsgType.TEXT:
            await target.send_str(message.data)
        elif message.type is aiohttp.WSMsgType.BINARY:
            await target.send_bytes(message.data)


def _forwarded_headers(headers: Any) -> "CIMultiDict[str]":
    return CIMultiDict((name, value) for name, value in headers.items() if name.lower() not in HOP_BY_HOP_HEADERS)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextlib.asynccontextmanager
async def cluster_behind_load_balancer(
    directory: Path, database_url: str, nats_url: str
) -> AsyncIterator[tuple[World, LoadBalancer]]:
    """Run two API and two gateway processes behind one URL, over one PostgreSQL and one NATS.

    Yield a world whose App serves no clients and only sets up data, and the load balancer.
    """
    roles = ["api,worker", "api", "gateway", "gateway"]
    ports = [_free_port() for _ in roles]
    urls = [f"http://127.0.0.1:{port}" for port in ports]
    async with LoadBalancer(urls[:2], urls[2:]).open() as load_balancer:
        shared_flags = ["--database-url", database_url, "--nats-url", nats_url, "--rate-limits", "off"]
        shared_flags += ["--data", str(directory / "data"), "--gateway-drain-ms", "100"]
        servers = []
        for number, (role_names, port) in enumerate(zip(roles, ports, strict=True)):
            # API processes return the URL of the load balancer; gateway processes send their own URL, which clients use for Resume.
            public_url_flags = ["--public-url", load_balancer.url] if "api" in role_names else []
            server = Server(
                directory, "serve", "--roles", role_names, "--worker", str(number), *shared_flags, *public_url_flags
            )
            server.port = port
            servers.append(server)
        # This process serves no clients; the others receive the events of the data that it sets up.
        config = Config(
            database_url=database_url,
            nats_url=nats_url,
            files_url=str(directory / "data" / "files"),
            port=0,
            public_url=load_balancer.url,
            roles=frozenset(),
            worker=len(roles),
            rate_limits="off",
        )
        setup_app = App(config, clock=RealClock())
        try:
            await asyncio.gather(*(server.start() for server in servers))
            await setup_app.start()
            async with aiohttp.ClientSession() as client:
                world = World(setup_app, client)
                yield world, load_balancer
                await world.close()
        finally:
            await setup_app.stop()
            for server in servers:
                server.stop()

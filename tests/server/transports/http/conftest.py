"""An HTTP server with an in-memory store, real tokens, a stopped clock and real sockets."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from yarl import URL

from hubbub.protocol.ids import UserId
from hubbub.server.core import auth
from hubbub.server.core.auth import Authenticator
from hubbub.server.core.clock import ControlledClock
from hubbub.server.core.config import Config, HttpConfig
from hubbub.server.core.config_sections import LogConfig
from hubbub.server.core.endpoints import EndpointTable
from hubbub.server.core.files import Files
from hubbub.server.core.images import ImageConverter
from hubbub.server.core.metrics import Metrics
from hubbub.server.core.presences import Presences
from hubbub.server.core.rate_limits import RateLimits
from hubbub.server.core.slices import Slice
from hubbub.server.core.snowflakes import SnowflakeFactory
from hubbub.server.core.sqlite import SqliteDatabase
from hubbub.server.identity.applications.interface.access import find_token_application
from hubbub.server.places import standing
from hubbub.server.transports.http.server import HttpServer
from tests.server.transports.http import sample_slice

NOW_MS = 1_780_000_000_000


class HttpResponse:
    """A response with its complete body."""

    def __init__(self, status: int, headers: Any, content: bytes) -> None:
        self.status = status
        self.headers = headers
        self.content = content

    @property
    def json(self) -> Any:
        """The decoded body."""
        return json.loads(self.content)


class HttpHarness:
    """An HTTP server with the sample slice, and tokens of several callers."""

    def __init__(self, *, log: LogConfig | None = None, **settings: Any) -> None:
        self.clock = ControlledClock(NOW_MS, running=False)
        self.ids = SnowflakeFactory(self.clock)
        self.config = Config(http=HttpConfig(**settings), log=log or LogConfig())
        self.db = SqliteDatabase(None)
        self.files = Files("memory://")
        self.metrics = Metrics()
        self.executor = ThreadPoolExecutor(1)
        self.rate_limits = RateLimits(
            self.clock.now_ms,
            global_calls=0,
            invalid_calls=self.config.http.invalid_requests_max,
        )
        self.http_server = HttpServer(
            endpoints=EndpointTable([standing.SLICE, Slice(name="toys", modules=(sample_slice,))]),
            database=self.db,
            clock=self.clock,
            ids=self.ids,
            config=self.config,
            presences=Presences(),
            authenticator=Authenticator(self.db, self.clock, find_token_application),
            rate_limits=self.rate_limits,
            files=self.files,
            images=ImageConverter(),
            metrics=self.metrics,
            executor=self.executor,
            settle=self._settle,
            routes=[web.get("/healthz", self._healthy)],
        )
        self.tokens: dict[str, str] = {}
        self.base = ""
        self.settle_count = 0
        """Number of responses that waited for the other nodes."""

    async def _settle(self) -> None:
        self.settle_count += 1

    async def _healthy(self, request: web.Request) -> web.Response:
        return web.Response(text="ok")

    async def start(self) -> None:
        """Start the server and issue one token for each caller."""
        await self.db.start()
        callers = {
            "bot": ("bot", frozenset[str]()),
            "user": ("user", frozenset[str]()),
            "bearer": ("bearer", frozenset(("email",))),
            "wrong_scope": ("bearer", frozenset(("guilds",))),
        }
        for number, (name, (kind, scopes)) in enumerate(callers.items(), 1):
            text = await self.db.write(
                lambda tx, kind=kind, scopes=scopes, number=number: auth.issue(
                    tx, kind=kind, user_id=UserId(number), now=NOW_MS, ids=self.ids, scopes=scopes
                )
            )
            self.tokens[name] = {"bot": "Bot ", "user": "", "bearer": "Bearer "}[kind] + text
        self.runner = self.http_server.runner(access_log=None)
        await self.runner.setup()
        site = web.TCPSite(self.runner, "127.0.0.1", 0)
        await site.start()
        self.port = self.runner.addresses[0][1]
        self.base = f"http://127.0.0.1:{self.port}"
        self.session = aiohttp.ClientSession()

    async def close(self) -> None:
        """Stop the server."""
        await self.session.close()
        await self.runner.cleanup()
        await self.db.close()
        self.executor.shutdown()

    async def request(
        self,
        method: str,
        path: str,
        *,
        caller: str | None = "bot",
        headers: dict[str, str] | None = None,
        **options: Any,
    ) -> HttpResponse:
        """Send a request. Paths that do not start with /api are below /api/v10."""
        url = URL(self.base + (path if path.startswith("/api") else f"/api/v10{path}"), encoded=True)
        sent_headers = dict(headers or {})
        if caller:
            sent_headers.setdefault("Authorization", self.tokens[caller])
        async with self.session.request(method, url, headers=sent_headers, **options) as response:
            return HttpResponse(response.status, response.headers, await response.read())

    async def post_json(self, path: str, body: bytes, **options: Any) -> HttpResponse:
        """Send bytes as a JSON body, unchanged."""
        headers = {"Content-Type": "application/json", **options.pop("headers", {})}
        return await self.request("POST", path, data=body, headers=headers, **options)

    async def send_raw(self, data: bytes, *, until: bytes | None = None) -> bytes:
        """Send bytes on a socket and return the response, up to `until` or else to its end."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(data)
        response = await (reader.read() if until is None else reader.readuntil(until))
        writer.close()
        return response


@pytest.fixture
async def server() -> AsyncIterator[HttpHarness]:
    """A running HTTP server with default settings."""
    harness = HttpHarness()
    await harness.start()
    yield harness
    await harness.close()


@pytest.fixture
async def make_server() -> AsyncIterator[Callable[..., Any]]:
    """A function that starts an HTTP server with these settings. The fixture stops all its servers."""
    servers: list[HttpHarness] = []

    async def start(**settings: Any) -> HttpHarness:
        server = HttpHarness(**settings)
        servers.append(server)
        await server.start()
        return server

    yield start
    for server in servers:
        await server.close()

"""An application's own web server on this machine, and a client that asks for it through the proxy."""

import asyncio
import json
from typing import Any

import aiohttp
from aiohttp import web
from multidict import CIMultiDict
from yarl import URL

from hubbub.protocol.flags import ApplicationFlags
from tests.world import PATIENCE, Actor, Answer, World

HOST = "activities.localhost"


class Upstream:
    """Echoes what it is asked, unless the path says otherwise."""

    def __init__(self) -> None:
        self.port = 0
        self.seen: list[web.Request] = []
        self.bodies: list[bytes] = []
        self.answer: web.Response | None = None
        """What `/answer` says."""
        self.go = asyncio.Event()
        """What `/slow` and the second half of `/stream` wait for."""
        self.closed_with: list[tuple[int | None, str]] = []
        self.sockets = 0
        self.cut = 0
        """How many requests were given up by who asked."""
        self._changed = asyncio.Condition()
        self._runner: web.AppRunner | None = None

    @property
    def target(self) -> str:
        """What a URL map calls it."""
        return f"127.0.0.1:{self.port}"

    async def open(self) -> None:
        """Listen."""
        app = web.Application(client_max_size=0)
        app.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1, handler_cancellation=True, auto_decompress=False)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.port = self._runner.addresses[0][1]

    async def close(self) -> None:
        """Be gone."""
        self.go.set()
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def until(self, reached: Any) -> None:
        """Wait until something is so."""
        async with asyncio.timeout(PATIENCE), self._changed:
            await self._changed.wait_for(reached)

    async def _note(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        self.seen.append(request)
        await self._note()
        kind = request.rel_url.raw_path.rstrip("/").rpartition("/")[2]
        if kind == "socket":
            return await self._socket(request)
        try:
            if kind == "slow":
                await self.go.wait()
            if kind in ("stream", "broken"):
                return await self._stream(request, broken=kind == "broken")
            body = await request.read()
        except asyncio.CancelledError:
            self.cut += 1
            await self._note()
            raise
        self.bodies.append(body)
        if kind == "answer" and self.answer is not None:
            return self.answer
        if kind == "large":
            return web.Response(body=b"x" * int(request.query["bytes"]))
        return web.json_response(
            {
                "method": request.method,
                "path": request.raw_path,
                "headers": [[name, value] for name, value in request.headers.items()],
                "body": body.decode("latin-1"),
            }
        )

    async def _stream(self, request: web.Request, *, broken: bool) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await response.write(b"data: one\n\n")
        await self.go.wait()
        if broken and request.transport is not None:
            request.transport.abort()
            return response
        await response.write(b"data: two\n\n")
        return response

    async def _socket(self, request: web.Request) -> web.StreamResponse:
        if "refuse" in request.query:
            return web.Response(status=int(request.query["refuse"]))
        socket = web.WebSocketResponse(protocols=("chess", "go"), max_msg_size=0, timeout=1.0)
        await socket.prepare(request)
        self.sockets += 1
        async with asyncio.timeout(PATIENCE):
            while True:
                message = await socket.receive()
                if message.type is aiohttp.WSMsgType.TEXT and message.data == "leave":
                    await socket.close(code=4321, message=b"done")
                elif message.type is aiohttp.WSMsgType.TEXT:
                    await socket.send_str(message.data)
                elif message.type is aiohttp.WSMsgType.BINARY:
                    await socket.send_bytes(message.data)
                else:
                    break
        self.closed_with.append((socket.close_code, message.extra or ""))
        await self._note()
        return socket


class Echo:
    """What the upstream says that it was asked."""

    def __init__(self, answer: Answer) -> None:
        told = json.loads(answer.body)
        self.method, self.path, self.body = told["method"], told["path"], told["body"]
        self.headers: CIMultiDict[str] = CIMultiDict((name, value) for name, value in told["headers"])


class Stage:
    """An application with an activity, and where its paths lead."""

    def __init__(self, world: World, bot: Actor, upstream: Upstream) -> None:
        self.world, self.bot, self.upstream = world, bot, upstream

    @property
    def host(self) -> str:
        """The activity's host."""
        return f"{self.bot.application_id}.{HOST}"

    async def map(self, *rows: tuple[str, str]) -> None:
        """Let paths lead there."""
        body = {"url_map": [{"prefix": prefix, "target": target} for prefix, target in rows]}
        (await self.bot.post(f"/applications/{self.bot.application_id}/proxy-config", json=body)).ok()

    def options(self, options: dict[str, Any]) -> dict[str, Any]:
        """With the host that a browser would send."""
        sent = CIMultiDict(options.pop("headers", {}))
        sent.setdefault("Host", self.host)
        return {"allow_redirects": False, "headers": sent, **options}

    async def ask(self, path: str, method: str = "GET", **options: Any) -> Answer:
        """A request to the activity."""
        url = URL(self.world.url + path, encoded=True)
        async with self.world.client.request(method, url, **self.options(options)) as response:
            return Answer(response.status, response.headers, await response.read())

    async def echo(self, path: str, method: str = "GET", **options: Any) -> Echo:
        """What the application's server got of it."""
        answer = await self.ask(path, method, **options)
        assert answer.status == 200, (answer.status, answer.body)
        return Echo(answer)

    def connect(self, path: str, **options: Any) -> Any:
        """A WebSocket to the activity."""
        sent = CIMultiDict(options.pop("headers", {}))
        sent.setdefault("Host", self.host)
        return self.world.client.ws_connect(self.world.url.replace("http", "ws", 1) + path, headers=sent, **options)


async def stage(world: World, upstream: Upstream) -> Stage:
    """An application whose root leads to the upstream."""
    made = Stage(world, await world.bot(flags=ApplicationFlags.EMBEDDED), upstream)
    await made.map(("/", upstream.target))
    return made

"""An application's own web server, and a client that reaches it through the activity proxy."""

import asyncio
import json
from typing import Any, Self

import aiohttp
from aiohttp import web
from multidict import CIMultiDict
from yarl import URL

from hubbub.protocol.flags import ApplicationFlags
from tests.world import WAIT_TIMEOUT_SECONDS, Actor, ApiResponse, World

PROXY_HOST = "activities.localhost"


class Upstream:
    """A web server that echoes requests, except for `/socket`, `/slow`, `/stream`, `/broken`, `/response` and `/large`."""

    def __init__(self) -> None:
        self.port = 0
        self.requests: list[web.Request] = []
        """All requests received, in order."""
        self.bodies: list[bytes] = []
        """Bodies of the HTTP requests that were read to their end."""
        self.response: web.Response | None = None
        """Response to `/response`."""
        self.release = asyncio.Event()
        """Event that releases `/slow` and the second half of `/stream` and `/broken`."""
        self.close_frames: list[tuple[int | None, str]] = []
        """Close codes and reasons of the WebSockets that were closed."""
        self.socket_count = 0
        """Number of WebSockets that were opened."""
        self.aborted_request_count = 0
        """Number of requests that the client aborted."""
        self._changed = asyncio.Condition()
        self._runner: web.AppRunner | None = None

    @property
    def target(self) -> str:
        """The server's address, as a target in a URL map."""
        return f"127.0.0.1:{self.port}"

    async def open(self) -> None:
        """Start listening on a free port."""
        app = web.Application(client_max_size=0)
        app.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1, handler_cancellation=True, auto_decompress=False)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.port = self._runner.addresses[0][1]

    async def close(self) -> None:
        """Stop the server and drop all connections."""
        self.release.set()
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def wait_until(self, condition: Any) -> None:
        """Wait until a condition holds; it is checked after every request, abort and closed WebSocket."""
        async with asyncio.timeout(WAIT_TIMEOUT_SECONDS), self._changed:
            await self._changed.wait_for(condition)

    async def _notify(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        self.requests.append(request)
        await self._notify()
        path_end = request.rel_url.raw_path.rstrip("/").rpartition("/")[2]
        if path_end == "socket":
            return await self._socket(request)
        try:
            if path_end == "slow":
                await self.release.wait()
            if path_end in ("stream", "broken"):
                return await self._stream(request, is_aborted=path_end == "broken")
            body = await request.read()
        except asyncio.CancelledError:
            self.aborted_request_count += 1
            await self._notify()
            raise
        self.bodies.append(body)
        if path_end == "response" and self.response is not None:
            return self.response
        if path_end == "large":
            return web.Response(body=b"x" * int(request.query["bytes"]))
        return web.json_response(
            {
                "method": request.method,
                "path": request.raw_path,
                "headers": [[name, value] for name, value in request.headers.items()],
                "body": body.decode("latin-1"),
            }
        )

    async def _stream(self, request: web.Request, *, is_aborted: bool) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await response.write(b"data: one\n\n")
        await self.release.wait()
        if is_aborted and request.transport is not None:
            request.transport.abort()
            return response
        await response.write(b"data: two\n\n")
        return response

    async def _socket(self, request: web.Request) -> web.StreamResponse:
        if "reject" in request.query:
            return web.Response(status=int(request.query["reject"]))
        socket = web.WebSocketResponse(protocols=("chess", "go"), max_msg_size=0, timeout=1.0)
        await socket.prepare(request)
        self.socket_count += 1
        async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
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
        self.close_frames.append((socket.close_code, message.extra or ""))
        await self._notify()
        return socket


class EchoedRequest:
    """A request as the upstream server received it, decoded from its response."""

    def __init__(self, response: ApiResponse) -> None:
        request = json.loads(response.body)
        self.method, self.path, self.body = request["method"], request["path"], request["body"]
        self.headers: CIMultiDict[str] = CIMultiDict((name, value) for name, value in request["headers"])


class ProxiedActivity:
    """An application with an activity, and a client for its proxied paths."""

    def __init__(self, world: World, bot: Actor, upstream: Upstream) -> None:
        self.world, self.bot, self.upstream = world, bot, upstream

    @property
    def host(self) -> str:
        """The host name of the activity."""
        return f"{self.bot.application_id}.{PROXY_HOST}"

    async def set_url_map(self, *mappings: tuple[str, str]) -> None:
        """Set the URL map, as pairs of prefix and target."""
        body = {"url_map": [{"prefix": prefix, "target": target} for prefix, target in mappings]}
        (await self.bot.post(f"/applications/{self.bot.application_id}/proxy-config", json=body)).ok()

    def request_options(self, options: dict[str, Any]) -> dict[str, Any]:
        """Return request options with the Host header of the activity."""
        headers = CIMultiDict(options.pop("headers", {}))
        headers.setdefault("Host", self.host)
        return {"allow_redirects": False, "headers": headers, **options}

    async def request(self, path: str, method: str = "GET", **options: Any) -> ApiResponse:
        """Send a request to the activity."""
        url = URL(self.world.url + path, encoded=True)
        async with self.world.client.request(method, url, **self.request_options(options)) as response:
            return ApiResponse(response.status, response.headers, await response.read())

    async def echo(self, path: str, method: str = "GET", **options: Any) -> EchoedRequest:
        """Send a request and return it as the upstream server received it."""
        response = await self.request(path, method, **options)
        assert response.status == 200, (response.status, response.body)
        return EchoedRequest(response)

    def connect(self, path: str, **options: Any) -> Any:
        """Open a WebSocket to the activity."""
        headers = CIMultiDict(options.pop("headers", {}))
        headers.setdefault("Host", self.host)
        return self.world.client.ws_connect(self.world.url.replace("http", "ws", 1) + path, headers=headers, **options)


async def create_proxied_activity(world: World, upstream: Upstream) -> ProxiedActivity:
    """Create an application whose root path is mapped to the upstream server."""
    activity = ProxiedActivity(world, await world.bot(flags=ApplicationFlags.EMBEDDED), upstream)
    await activity.set_url_map(("/", upstream.target))
    return activity

"""An application's HTTP server that receives interactions and webhook events."""

import asyncio
import inspect
import json as jsonlib
from collections.abc import Awaitable, Callable
from typing import Any, Self

import pytest
from aiohttp import web
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from hubbub.protocol.enums import EventWebhooksStatus, InteractionType, WebhookPayloadType
from hubbub.server.core.outbound_http import OutboundResponse
from tests.world import WAIT_TIMEOUT_SECONDS, Actor, World

InteractionHandler = Callable[[dict[str, Any]], web.Response | Awaitable[web.Response]]

NO_RESPONSE = 0
"""A status in `Receiver.next_statuses`: the server receives the event and does not respond."""


class Receiver:
    """A server that verifies signatures and records requests; it can be closed and reopened on the same port."""

    def __init__(self) -> None:
        self.verify_key: Ed25519PublicKey | None = None
        self.port = 0
        self.requests: list[dict[str, Any]] = []
        """Decoded bodies of the accepted requests, in order."""
        self.invalid_signature_count = 0
        """Number of requests with an invalid signature, including accepted ones."""
        self.request_headers: list[Any] = []
        """Headers of all requests, in order."""
        self.next_statuses: list[int] = []
        """Statuses of the next responses to events, or `NO_RESPONSE`."""
        self.default_status = 204
        """Status of responses to events once `next_statuses` is empty."""
        self.barrier: asyncio.Barrier | None = None
        """If not None, the server responds to events and interactions only when the barrier is full."""
        self.accepts_invalid_signatures = False
        """Whether requests with an invalid signature are accepted."""
        self.interaction_handler: InteractionHandler = lambda _: web.Response(status=500)
        """Function that responds to interactions other than pings, by default with status 500."""
        self.ping_response = b'{"type": 1}'
        """Body of the response to a ping at the interactions endpoint."""
        self._runner: web.AppRunner | None = None
        self._arrived = asyncio.Condition()
        self._closed_event = asyncio.Event()

    @property
    def events_url(self) -> str:
        """The URL for webhook events."""
        return f"http://127.0.0.1:{self.port}/events"

    @property
    def interactions(self) -> list[dict[str, Any]]:
        """The interactions among the accepted requests."""
        return [body for body in self.requests if "token" in body and body["type"] != InteractionType.PING]

    @property
    def events(self) -> list[dict[str, Any]]:
        """The webhook events among the accepted requests."""
        return [body["event"] for body in self.requests if "event" in body and body["type"] == WebhookPayloadType.EVENT]

    def use_verify_key_of(self, application: dict[str, Any]) -> None:
        """Verify signatures with the key of this application."""
        self.verify_key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(application["verify_key"]))

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def open(self) -> None:
        """Start listening, on the same port as before if there was one."""
        app = web.Application()
        app.router.add_post("/events", self._handle_event)
        app.router.add_post("/interactions", self._handle_interaction)
        self._closed_event = asyncio.Event()
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self.port, reuse_address=True).start()
        self.port = self._runner.addresses[0][1]

    async def close(self) -> None:
        """Stop listening; new connections are refused."""
        if self._runner is not None:
            self._closed_event.set()
            await self._runner.cleanup()
            self._runner = None

    async def wait_for_events(self, count: int) -> list[dict[str, Any]]:
        """Wait until at least `count` events have been received, and return all events."""
        async with asyncio.timeout(WAIT_TIMEOUT_SECONDS), self._arrived:
            await self._arrived.wait_for(lambda: len(self.events) >= count)
        return self.events

    async def wait_disconnected(self) -> None:
        """Wait until every client has disconnected and its requests have been read."""
        assert self._runner is not None
        assert self._runner.server is not None
        while any(connection.transport is not None for connection in self._runner.server.connections):
            await asyncio.sleep(0.01)
        # Handlers that have read their request still need some iterations of the event loop.
        for _ in range(10):
            await asyncio.sleep(0)

    async def _handle_event(self, request: web.Request) -> web.Response:
        body = await self._read_body(request)
        if body is None:
            return web.Response(status=401)
        status = 204
        is_event = body["type"] == WebhookPayloadType.EVENT
        if is_event:
            status = self.next_statuses.pop(0) if self.next_statuses else self.default_status
        async with self._arrived:
            self._arrived.notify_all()
        if is_event and self.barrier is not None:
            await self.barrier.wait()
        if status == NO_RESPONSE:
            await self._closed_event.wait()
        return web.Response(status=status, content_type="application/json")

    async def _handle_interaction(self, request: web.Request) -> web.Response:
        body = await self._read_body(request)
        if body is None:
            return web.Response(status=401)
        if body["type"] == InteractionType.PING:
            return web.Response(body=self.ping_response, content_type="application/json")
        async with self._arrived:
            self._arrived.notify_all()
        if self.barrier is not None:
            await self.barrier.wait()
        response = self.interaction_handler(body)
        return await response if inspect.isawaitable(response) else response

    async def never_respond(self, _: Any) -> web.Response:
        """Handle an interaction by not responding until the server is closed."""
        await self._closed_event.wait()
        return web.Response(status=204)

    async def _read_body(self, request: web.Request) -> dict[str, Any] | None:
        raw_body = await request.read()
        self.request_headers.append(request.headers)
        if not self._has_valid_signature(request, raw_body):
            self.invalid_signature_count += 1
            if not self.accepts_invalid_signatures:
                return None
        body: dict[str, Any] = jsonlib.loads(raw_body)
        self.requests.append(body)
        return body

    def _has_valid_signature(self, request: web.Request, raw_body: bytes) -> bool:
        assert self.verify_key is not None
        signature = bytes.fromhex(request.headers["X-Signature-Ed25519"])
        try:
            self.verify_key.verify(signature, request.headers["X-Signature-Timestamp"].encode() + raw_body)
        except InvalidSignature:
            return False
        return True


def extend_timeouts(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Raise the timeout of outgoing requests, so that a slow machine does not fail the test."""
    request = world.app.outbound.request

    async def request_with_long_timeout(*args: Any, **options: Any) -> OutboundResponse:
        return await request(*args, **{**options, "timeout_seconds": WAIT_TIMEOUT_SECONDS})

    monkeypatch.setattr(world.app.outbound, "request", request_with_long_timeout)


async def use_as_interactions_endpoint(receiver: Receiver, bot: Actor) -> None:
    """Make the receiver the interactions endpoint of the bot's application, and clear its `requests`."""
    receiver.use_verify_key_of((await bot.get("/applications/@me")).ok())
    url = receiver.events_url.replace("/events", "/interactions")
    (await bot.patch("/applications/@me", json={"interactions_endpoint_url": url})).ok()
    receiver.requests.clear()
    receiver.invalid_signature_count = 0


async def subscribe_to_events(receiver: Receiver, bot: Actor, *types: str) -> None:
    """Subscribe the receiver to webhook events of the bot's application, and clear its `requests`."""
    receiver.use_verify_key_of((await bot.get("/applications/@me")).ok())
    body = {
        "event_webhooks_url": receiver.events_url,
        "event_webhooks_status": EventWebhooksStatus.ENABLED,
        "event_webhooks_types": types,
    }
    (await bot.patch("/applications/@me", json=body)).ok()
    receiver.requests.clear()
    receiver.invalid_signature_count = 0

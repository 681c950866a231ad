"""A push service on loopback with the keys of one browser; it decrypts the notifications that it receives."""

import asyncio
from dataclasses import dataclass
from typing import Any, Self

import http_ece  # type: ignore[import-untyped]
from aiohttp import web
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from joserfc import jwt
from joserfc.jwk import ECKey

from hubbub.protocol import codec
from hubbub.server.talk.push_subscriptions import encryption
from tests.world import WAIT_TIMEOUT_SECONDS, Actor

PUSH_SUBSCRIPTIONS_PATH = "/users/@me/push-subscriptions"


@dataclass
class PushRequest:
    """A request of the server to the push service."""

    path: str
    headers: Any
    body: bytes
    """The encrypted body."""
    notification: dict[str, Any]
    """The decrypted content."""

    def claims(self) -> dict[str, Any]:
        """Verify the VAPID token with the public key in the Authorization header, and return the token's claims."""
        scheme, token, key = self.headers["Authorization"].replace(", k=", " ").split(" ")
        assert scheme == "vapid"
        point = encryption.decode_base64(key)
        coordinate_bytes = {"x": point[1:33], "y": point[33:]}
        coordinates = {name: encryption.encode_base64(coordinate) for name, coordinate in coordinate_bytes.items()}
        jwk = ECKey.import_key({"kty": "EC", "crv": "P-256", **coordinates})
        return dict(jwt.decode(token.removeprefix("t="), jwk).claims)

    @property
    def public_key(self) -> str:
        """The public VAPID key in the Authorization header."""
        return str(self.headers["Authorization"].rpartition("k=")[2])


class PushService:
    """A push service that records the requests it receives; an async context manager."""

    def __init__(self) -> None:
        self.statuses: list[int] = []
        """Statuses of the next responses; if the list is empty, the service responds with 201."""
        self.response_headers: dict[str, str] = {}
        self.requests: list[PushRequest] = []
        self.url = ""
        self._request_received = asyncio.Condition()
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._secret = b"0123456789abcdef"

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.router.add_post("/{name}", self._receive)
        self._runner = web.AppRunner(app)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    async def _receive(self, request: web.Request) -> web.Response:
        body = await request.read()
        decrypted_body = http_ece.decrypt(body, private_key=self._key, auth_secret=self._secret)
        notification = codec.decode(decrypted_body, dict[str, Any])
        self.requests.append(PushRequest(request.path, request.headers.copy(), body, notification))
        async with self._request_received:
            self._request_received.notify_all()
        return web.Response(status=self.statuses.pop(0) if self.statuses else 201, headers=self.response_headers)

    def subscription(self, name: str = "browser") -> dict[str, Any]:
        """Return the subscription of a browser, as browsers encode it; all subscriptions have the same keys."""
        point = self._key.public_key().public_bytes(
            serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint
        )
        keys = {"p256dh": encryption.encode_base64(point), "auth": encryption.encode_base64(self._secret)}
        return {"endpoint": f"{self.url}/{name}", "expirationTime": None, "keys": keys}

    async def subscribe(self, user: Actor, name: str = "browser") -> Any:
        """Subscribe a browser of a user and return the decoded response."""
        return (await user.post(PUSH_SUBSCRIPTIONS_PATH, json=self.subscription(name))).ok()

    async def wait_for(self, count: int) -> list[PushRequest]:
        """Wait until the service has received a number of requests, and return all of them."""
        async with asyncio.timeout(WAIT_TIMEOUT_SECONDS), self._request_received:
            await self._request_received.wait_for(lambda: len(self.requests) >= count)
        return self.requests


async def list_endpoints(user: Actor) -> list[str]:
    """Return the endpoints of the subscriptions of a user's login session."""
    return [entry["endpoint"] for entry in (await user.get(PUSH_SUBSCRIPTIONS_PATH)).ok()["subscriptions"]]

"""Signed requests to applications, so that they can verify the sender (spec/webhooks-and-interactions.md#1.2).

The signature covers the timestamp and the body as sent; the application verifies it with its `verify_key`. An endpoint
must reject invalid signatures, so before a URL is saved it receives a valid ping and a forged one.
"""

from collections.abc import Callable
from typing import Final

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hubbub.server.core import endpoint_problems
from hubbub.server.core.outbound_http import OutboundClient, OutboundResponse, UnreachableError

SIGNATURE_HEADER: Final = "X-Signature-Ed25519"
TIMESTAMP_HEADER: Final = "X-Signature-Timestamp"
USER_AGENT: Final = "Hubbub-Webhook/1.0"


def signed_headers(key: bytes, now_ms: int, body: bytes) -> dict[str, str]:
    """Return the headers of a request signed with `key`, the application's Ed25519 private key."""
    timestamp = str(now_ms // 1000)
    return {
        "Content-Type": "application/json",
        # Responses are not decompressed.
        "Accept-Encoding": "identity",
        "User-Agent": USER_AGENT,
        SIGNATURE_HEADER: Ed25519PrivateKey.from_private_bytes(key).sign(timestamp.encode() + body).hex(),
        TIMESTAMP_HEADER: timestamp,
    }


async def post_signed(
    client: OutboundClient,
    url: str,
    key: bytes,
    now_ms: int,
    body: bytes,
) -> OutboundResponse:
    """Send a signed request. Raise UnreachableError if no valid response arrives in time."""
    return await sign(url, key, now_ms, body).send(client)


class SignedRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A signed request before it is sent, for callers that log it."""

    url: str
    headers: dict[str, str]
    body: bytes

    async def send(
        self, client: OutboundClient, *, timeout_seconds: float | None = None, response_bytes_max: int | None = None
    ) -> OutboundResponse:
        """Send the request. Raise UnreachableError if no valid response arrives in time."""
        return await client.request(
            "POST",
            self.url,
            headers=self.headers,
            body=self.body,
            timeout_seconds=timeout_seconds,
            response_bytes_max=response_bytes_max,
        )


def sign(url: str, key: bytes, now_ms: int, body: bytes) -> SignedRequest:
    """Return a request that is signed with `key`, the application's Ed25519 private key."""
    return SignedRequest(url=url, headers=signed_headers(key, now_ms, body), body=body)


async def post_forged(client: OutboundClient, url: str, now_ms: int, body: bytes) -> OutboundResponse:
    """Send a request with a well-formed signature by a random key, which the application must reject."""
    return await post_signed(client, url, Ed25519PrivateKey.generate().private_bytes_raw(), now_ms, body)


async def accepts_forged(client: OutboundClient, url: str, now_ms: int, ping: bytes) -> bool:
    """Return whether an endpoint accepts a forged request.

    Unreachable endpoints and 5xx responses count as not accepting. Every other status except 401 counts as accepting."""
    try:
        status = (await post_forged(client, url, now_ms, ping)).status
    except UnreachableError:
        return False
    return status != endpoint_problems.REJECTED_STATUS and status < 500


async def find_endpoint_problem(
    client: OutboundClient,
    url: str,
    key: bytes,
    now_ms: int,
    ping: bytes,
    find_response_problem: Callable[[OutboundResponse], str | None],
) -> str | None:
    """Return why an endpoint cannot be used, with the next step for its developer, or None if it can.

    The endpoint must respond correctly to a ping and reject a forged one. `find_response_problem` returns what is wrong
    with a response to the ping, or None."""
    try:
        problem = find_response_problem(await post_signed(client, url, key, now_ms, ping))
        if problem is not None:
            return problem
        return endpoint_problems.describe_forgery_response(await post_forged(client, url, now_ms, ping))
    except UnreachableError as error:
        return endpoint_problems.describe_unreachable(error, url)

"""Signed requests to applications, so that they can verify the sender (spec/webhooks-and-interactions.md#1.2).

The signature covers the timestamp and the body as sent; the application verifies it with its `verify_key`. An endpoint
must reject invalid signatures, so before a URL is saved it receives a valid ping and a forged one.
"""

from collections.abc import Callable
from typing import Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hubbub.server.core.outbound_http import OutboundClient, OutboundResponse, UnreachableError

SIGNATURE_HEADER: Final = "X-Signature-Ed25519"
TIMESTAMP_HEADER: Final = "X-Signature-Timestamp"
USER_AGENT: Final = "Hubbub-Webhook/1.0"

REJECTED_STATUS: Final = 401
"""The status that an endpoint must return for a forged request."""


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
    *,
    timeout_seconds: float | None = None,
    response_bytes_max: int | None = None,
) -> OutboundResponse:
    """Send a signed request. Raise UnreachableError if no valid response arrives in time."""
    signed = signed_headers(key, now_ms, body)
    return await client.request(
        "POST", url, headers=signed, body=body, timeout_seconds=timeout_seconds, response_bytes_max=response_bytes_max
    )


async def post_forged(client: OutboundClient, url: str, now_ms: int, body: bytes) -> OutboundResponse:
    """Send a request with a well-formed signature by a random key, which the application must reject."""
    return await post_signed(client, url, Ed25519PrivateKey.generate().private_bytes_raw(), now_ms, body)


async def accepts_forged(client: OutboundClient, url: str, now_ms: int, ping: bytes) -> bool:
    """Return whether an endpoint accepts a forged request.

    Unreachable endpoints and 5xx responses count as not accepting."""
    try:
        status = (await post_forged(client, url, now_ms, ping)).status
    except UnreachableError:
        return False
    return status != REJECTED_STATUS and status < 500


async def verifies_signatures(
    client: OutboundClient,
    url: str,
    key: bytes,
    now_ms: int,
    ping: bytes,
    accepts: Callable[[OutboundResponse], bool],
) -> bool:
    """Return whether an endpoint responds correctly to a ping and rejects a forged one.

    `accepts` returns whether a response to the ping is correct."""
    try:
        response = await post_signed(client, url, key, now_ms, ping)
        return accepts(response) and (await post_forged(client, url, now_ms, ping)).status == REJECTED_STATUS
    except UnreachableError:
        return False

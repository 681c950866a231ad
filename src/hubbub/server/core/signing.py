"""What we send to applications is signed, so that they can tell it from what others send (webhooks-and-interactions.md 1.2).

The signature covers the timestamp and the body as they are sent; the application checks it with its `verify_key`. An endpoint that
does not refuse a false signature is not used, so before one is kept it gets a true ping and a forged one.
"""

from collections.abc import Callable
from typing import Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hubbub.server.core.guarded import GuardedAnswer, GuardedClient, UnreachableError
from hubbub.server.core.store import Tx

SIGNATURE_HEADER: Final = "X-Signature-Ed25519"
TIMESTAMP_HEADER: Final = "X-Signature-Timestamp"
USER_AGENT: Final = "Hubbub-Webhook/1.0"

REFUSED: Final = 401
"""What a forged request must be answered with."""


def find_key(tx: Tx, application_id: int) -> bytes | None:
    """An application's private key; None when the application is gone."""
    key = tx.value("SELECT signing_key FROM applications WHERE id = ?", application_id)
    return None if key is None else bytes(key)


def headers(key: bytes, now_ms: int, body: bytes) -> dict[str, str]:
    """The headers of a signed request."""
    timestamp = str(now_ms // 1000)
    return {
        "Content-Type": "application/json",
        # What comes back is read as it is.
        "Accept-Encoding": "identity",
        "User-Agent": USER_AGENT,
        SIGNATURE_HEADER: Ed25519PrivateKey.from_private_bytes(key).sign(timestamp.encode() + body).hex(),
        TIMESTAMP_HEADER: timestamp,
    }


async def post(
    outside: GuardedClient,
    url: str,
    key: bytes,
    now_ms: int,
    body: bytes,
    *,
    timeout_s: float | None = None,
    answer_max: int | None = None,
) -> GuardedAnswer:
    """Send a signed request; UnreachableError where there is no proper answer in time."""
    signed = headers(key, now_ms, body)
    return await outside.request("POST", url, headers=signed, body=body, timeout_s=timeout_s, answer_max=answer_max)


async def post_forged(outside: GuardedClient, url: str, now_ms: int, body: bytes) -> GuardedAnswer:
    """Send a request whose signature looks right, but is of a key that nobody has."""
    return await post(outside, url, Ed25519PrivateKey.generate().private_bytes_raw(), now_ms, body)


async def takes_forged(outside: GuardedClient, url: str, now_ms: int, ping: bytes) -> bool:
    """Whether an endpoint that is in use does not check signatures. One that is out of order does not take anything either;
    whoever delivers there finds that out."""
    try:
        status = (await post_forged(outside, url, now_ms, ping)).status
    except UnreachableError:
        return False
    return status != REFUSED and status < 500


async def is_sound(
    outside: GuardedClient,
    url: str,
    key: bytes,
    now_ms: int,
    ping: bytes,
    accepts: Callable[[GuardedAnswer], bool],
) -> bool:
    """Whether an endpoint answers a ping as it should, and refuses a forged one."""
    try:
        answer = await post(outside, url, key, now_ms, ping)
        return accepts(answer) and (await post_forged(outside, url, now_ms, ping)).status == REFUSED
    except UnreachableError:
        return False

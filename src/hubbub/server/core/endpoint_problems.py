"""Texts for developers that explain why an HTTP endpoint of an application failed, with the next step."""

import unicodedata
from typing import Final

from yarl import URL

from hubbub.server.core.outbound_http import (
    REDIRECT_STATUSES,
    TIMEOUT_SECONDS,
    ConnectionRefusedByTargetError,
    ForbiddenTargetError,
    OutboundResponse,
    TimedOutError,
    TlsError,
    UnreachableError,
    UnresolvedHostError,
)

REJECTED_STATUS: Final = 401
"""The status that an endpoint must return for a forged request."""
EXCERPT_MAX: Final = 200
"""Maximum number of characters of a response body or of the target of a redirect in a text."""


def describe_unreachable(error: UnreachableError, url: str) -> str:
    """Explain why no valid response arrived from a URL."""
    target = URL(url) if not isinstance(error, ForbiddenTargetError) else URL()
    if isinstance(error, UnresolvedHostError):
        return (
            f"DNS has no address for the host name {target.host}. Check its spelling, or wait until its DNS records "
            "are published."
        )
    if isinstance(error, ForbiddenTargetError):
        return f"Requests to this address are not allowed: {error}. Enter a public http or https URL."
    if isinstance(error, ConnectionRefusedByTargetError):
        return (
            f"The connection to {target.host}, port {target.port}, was refused. Check that your server is running, "
            "listens on this port, and is reachable from the internet."
        )
    if isinstance(error, TlsError):
        return (
            f"The TLS connection failed: {error}. Install a certificate for {target.host} that a public authority "
            "signed, including its intermediate certificates."
        )
    if isinstance(error, TimedOutError):
        return (
            f"No response arrived within {TIMEOUT_SECONDS:g} seconds. Check that the host is reachable, and respond "
            "before you do other work."
        )
    return f"The request failed: {error}. Check that the URL leads to an HTTP server."


def describe_status(response: OutboundResponse, *, expected: int) -> str | None:
    """Explain why a response to a ping has the wrong status; None if the status is `expected`."""
    if response.status == expected:
        return None
    if response.status in REDIRECT_STATUSES:
        location = next((value for name, value in response.headers.items() if name.lower() == "location"), "")
        return (
            f"The endpoint responded to the PING with a redirect (status {response.status}) to “{_shorten(location)}”. "
            "Redirects are not followed: enter the final URL, for example with https or a trailing slash."
        )
    response_text = (
        f"The endpoint responded to the PING with status {response.status} instead of {expected}{_quote(response)}."
    )
    if response.status == REJECTED_STATUS:
        return (
            f"{response_text} The PING has a valid signature: verify X-Signature-Ed25519 over X-Signature-Timestamp and the "
            "unchanged request body, with this application's public key."
        )
    if response.status in (404, 405):
        return f"{response_text} Check the path of the URL, and that your server accepts POST there."
    if response.status >= 500:
        return f"{response_text} Look for the error in the log of your server."
    return f"{response_text} Respond to a PING, a request with type {'0' if expected == 204 else '1'}, before other handling."


def describe_wrong_body(response: OutboundResponse, *, expected: str) -> str:
    """Explain that the body of a response to a ping is not the `expected` JSON."""
    response_text = _quote(response) or ": the body is empty"
    return (
        f"The endpoint responded to the PING with status {response.status}, but without a PONG{response_text}. "
        f"Respond with the JSON {expected}."
    )


def describe_forgery_response(response: OutboundResponse) -> str | None:
    """Explain that an endpoint did not reject a forged ping with `REJECTED_STATUS`; None if it did."""
    if response.status == REJECTED_STATUS:
        return None
    return (
        f"The endpoint responded with status {response.status} instead of {REJECTED_STATUS} to a PING with an invalid "
        "signature. Verify X-Signature-Ed25519 with the application's public key before you handle a request, and "
        f"respond with status {REJECTED_STATUS} if the signature is invalid."
    )


def read_excerpt(body: bytes, characters_max: int = EXCERPT_MAX) -> str:
    """Return the beginning of a response body as text on one line."""
    text = body[: characters_max * 4].decode("utf-8", "replace")
    printable = "".join(" " if unicodedata.category(character) in ("Cc", "Cf") else character for character in text)
    return _shorten(" ".join(printable.split()), characters_max)


def _quote(response: OutboundResponse) -> str:
    excerpt = read_excerpt(response.body)
    return f": “{excerpt}”" if excerpt else ""


def _shorten(text: str, characters_max: int = EXCERPT_MAX) -> str:
    return text if len(text) <= characters_max else text[: characters_max - 1] + "…"

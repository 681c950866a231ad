"""What crosses the proxy in the heads of requests and answers (activities.md 8).

Towards the target nothing goes that is about the connection, about who the client is, or ours. From the target nothing comes that
would let its page be shown elsewhere, bind the host to its own rules, or be kept for longer than an activity's page should be.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Final
from urllib.parse import urlsplit

from multidict import CIMultiDict

from hubbub.server.core.config import Config
from hubbub.server.core.url_maps import Found

TICKET_PARAMETER: Final = "discord_proxy_ticket"
"""activities.md 4: the name that the SDK knows."""
PREFIX: Final = "/.proxy"

_CONNECTION: Final = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
"""RFC 9110, 7.6.1: about one connection, not about what goes over it."""

_CLIENT: Final = frozenset(
    {
        "client-ip",
        "fastly-client-ip",
        "fly-client-ip",
        "forwarded",
        "true-client-ip",
        "via",
        "x-appengine-user-ip",
        "x-azure-clientip",
        "x-client-ip",
        "x-cluster-client-ip",
        "x-envoy-external-address",
        "x-original-forwarded-for",
        "x-real-ip",
    }
)
_CLIENT_FAMILIES: Final = ("x-forwarded", "cf-")
"""Who asks, and from where: an activity learns from its player what the player tells it."""

_OURS: Final = frozenset({"x-signature-ed25519", "x-signature-timestamp", "x-discord-proxy-payload"})
"""What we say of who asks, so nobody else does."""

_NOT_FORWARDED: Final = _CONNECTION | _CLIENT | _OURS | {"cookie", "expect", "host", "referer"}

_NOT_RETURNED: Final = _CONNECTION | {
    "alt-svc",
    "content-security-policy",
    "content-security-policy-report-only",
    "location",
    "nel",
    "public-key-pins",
    "report-to",
    "reporting-endpoints",
    "set-cookie",
    "strict-transport-security",
    "via",
    "x-frame-options",
}
_CACHING: Final = frozenset({"age", "cache-control", "etag", "expires", "last-modified", "pragma"})

_OWN_COOKIE: Final = re.compile(r"(?:__Host-|__Secure-)?hubbub_", re.IGNORECASE)
_KEPT_ATTRIBUTES: Final = frozenset({"expires", "httponly", "max-age"})


def towards(sent: Mapping[str, str], authority: str, more: Mapping[str, str]) -> CIMultiDict[str]:
    """The head of a request as its target gets it."""
    named = _named_by_connection(sent)
    headers: CIMultiDict[str] = CIMultiDict({"Host": authority})
    for name, value in sent.items():
        lower = name.lower()
        if lower in _NOT_FORWARDED or lower in named or lower.startswith(_CLIENT_FAMILIES) or not _is_text(value):
            continue
        headers.add(name, value)
    cookies = _foreign_cookies(value for name, value in sent.items() if name.lower() == "cookie")
    if cookies:
        headers["Cookie"] = cookies
    headers.update(more)
    return headers


def returning(got: Mapping[str, str], found: Found, origin: str, *, prefixed: bool) -> CIMultiDict[str]:
    """The head of an answer as the client gets it, still without our policy."""
    named = _named_by_connection(got)
    is_page = got.get("Content-Type", "").partition(";")[0].strip().lower() == "text/html"
    headers: CIMultiDict[str] = CIMultiDict()
    for name, value in got.items():
        lower = name.lower()
        if not _is_text(value) or lower in named:
            continue
        if lower == "set-cookie":
            cookie = _on_our_host(value)
            if cookie is not None:
                headers.add(name, cookie)
        elif lower == "location":
            headers.add(name, _through_us(value, found, origin, prefixed=prefixed))
        elif lower not in _NOT_RETURNED and not (is_page and lower in _CACHING):
            headers.add(name, value)
    return headers


def policy(config: Config, application_id: int, *, prefix_required: bool) -> str:
    """What a page of an activity may load and call: its own host, ours for API and pictures, and what is in the page itself."""
    origin = config.activity_origin(application_id) or ""
    socket = f"ws{origin.removeprefix('http')}"
    inside = "data: blob:"
    files = " ".join(f"{config.cdn_url}/{folder}/" for folder in ("attachments", "avatars", "icons"))
    calls = f"{origin}{PREFIX}/ {socket}{PREFIX}/" if prefix_required else f"'self' {socket}"
    return "; ".join(
        (
            f"default-src 'self' {inside}",
            # activities.md 8: games bring WebAssembly and scripts of their own making.
            f"script-src 'self' 'unsafe-inline' 'unsafe-eval' 'wasm-unsafe-eval' {inside}",
            f"style-src 'self' 'unsafe-inline' {inside}",
            f"img-src 'self' {inside} {files}",
            f"media-src 'self' {inside} {files}",
            f"connect-src {calls} {inside} {config.web_url}/api/ {files}",
            "object-src 'none'",
            "base-uri 'self'",
            "form-action 'self'",
            f"frame-ancestors {ancestors(config)}",
        )
    )


def ancestors(config: Config) -> str:
    """Who may show an activity in a frame: its own host, and the platform's pages (activities.md 5)."""
    parts = urlsplit(config.web_url)
    return f"'self' {parts.scheme}://{parts.netloc}"


def ticket_name(config: Config) -> str:
    """The cookie's name; over TLS one that no page of another activity's host can set for this one (RFC 6265bis, `__Host-`)."""
    return f"{'__Host-' if config.web_url.startswith('https://') else ''}hubbub_proxy_ticket"


def ticket_cookie(name: str, ticket: str, seconds: int) -> str:
    """The cookie by which further requests of a page carry its ticket."""
    return f"{name}={ticket}; Max-Age={seconds}; Path=/; HttpOnly; Secure; SameSite=None; Partitioned"


def cookie(sent: Iterable[str], wanted: str) -> str | None:
    """A cookie of a request by its name, or None."""
    for header in sent:
        for part in header.split(";"):
            name, _, value = part.strip().partition("=")
            if name == wanted:
                return value
    return None


def _named_by_connection(headers: Mapping[str, str]) -> set[str]:
    return {
        word.strip().lower()
        for name, value in headers.items()
        if name.lower() == "connection"
        for word in value.split(",")
    }


def _is_text(value: str) -> bool:
    """Whether a value can be written again as it was read."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _foreign_cookies(sent: Iterable[str]) -> str:
    """The cookies of a request without ours, which a browser also sends where somebody set them for a whole domain."""
    parts = [part.strip() for header in sent if _is_text(header) for part in header.split(";")]
    return "; ".join(part for part in parts if part and not _OWN_COOKIE.match(part))


def _on_our_host(value: str) -> str | None:
    """A target's cookie for the activity's host, in a frame of another site; None for one that would pass as ours.

    Its path becomes `/`: the target's paths are not ours, and each of ours has two forms, with `/.proxy/` and without."""
    pair, *attributes = (part.strip() for part in value.split(";"))
    if not pair or _OWN_COOKIE.match(pair):
        return None
    kept = [each for each in attributes if each.partition("=")[0].strip().lower() in _KEPT_ATTRIBUTES]
    return "; ".join([pair, *kept, "Path=/", "Secure", "SameSite=None", "Partitioned"])


def _through_us(location: str, found: Found, origin: str, *, prefixed: bool) -> str:
    """Where a redirect leads: what stays below the mapping's target (at `origin`) stays on our host, the rest leads elsewhere."""
    path = location
    if location == origin or location.startswith((f"{origin}/", f"{origin}?")):
        path = location[len(origin) :]
        path = path if path.startswith("/") else f"/{path}"
    if not path.startswith("/") or path.startswith("//"):
        return location
    inside = path.removeprefix(found.directory)
    shown = f"{PREFIX if prefixed else ''}{found.prefix}{inside}" or "/"
    if not path.startswith(found.directory) or (inside and inside[0] not in "/?#") or shown.startswith("//"):
        return f"{origin}{path}"
    return shown if shown.startswith("/") else f"/{shown}"

"""Headers of the activity proxy: filters, the Content-Security-Policy, and the ticket cookie (spec/activities.md#8).

Headers about the connection, the client's address and the platform are not forwarded to the target. The target's
policies for its host and for embedding, and the caching headers of pages, are not returned to the client.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Final
from urllib.parse import urlsplit

from multidict import CIMultiDict

from hubbub.server.core.config import Config
from hubbub.server.core.url_maps import MappedPath

TICKET_PARAMETER: Final = "discord_proxy_ticket"
"""Query parameter of the ticket; the name is fixed by the SDK (spec/activities.md#4)."""
PROXY_PREFIX: Final = "/.proxy"
"""Prefix of the paths that a page requests, which is optional or required (`server.requires_prefix`)."""

WEBRTC_DIRECTIVE: Final = "webrtc 'block'"
"""Directive of Content Security Policy 3 that blocks WebRTC, which shows the user's address to other servers (decisions/0174)."""

OWN_HOST_ALLOWLIST: Final = "(response-origin)"
"""The Connection-Allowlist of the platform's own pages on the host of an activity."""

_HOP_BY_HOP_HEADERS: Final = frozenset(
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
"""Hop-by-hop headers (RFC 9110, 7.6.1)."""

_CLIENT_ADDRESS_HEADERS: Final = frozenset(
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
_CLIENT_ADDRESS_PREFIXES: Final = ("x-forwarded", "cf-")
"""Prefixes of headers that reveal the client's address, which an activity must not learn."""

_PLATFORM_HEADERS: Final = frozenset({"x-signature-ed25519", "x-signature-timestamp", "x-discord-proxy-payload"})
"""Headers that only the platform may set."""

_REMOVED_REQUEST_HEADERS: Final = (
    _HOP_BY_HOP_HEADERS | _CLIENT_ADDRESS_HEADERS | _PLATFORM_HEADERS | {"cookie", "expect", "host", "referer"}
)

_REMOVED_RESPONSE_HEADERS: Final = _HOP_BY_HOP_HEADERS | {
    "alt-svc",
    # Browsers delete the cookies of the whole registrable domain, which may be that of the platform.
    "clear-site-data",
    # Browsers ignore a second list.
    "connection-allowlist",
    "connection-allowlist-report-only",
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
_CACHING_HEADERS: Final = frozenset({"age", "cache-control", "etag", "expires", "last-modified", "pragma"})

_PLATFORM_COOKIE_PATTERN: Final = re.compile(r"(?:__Host-|__Secure-)?hubbub_", re.IGNORECASE)
_ALLOWED_COOKIE_ATTRIBUTES: Final = frozenset({"expires", "httponly", "max-age"})


def forwarded_headers(
    request_headers: Mapping[str, str], authority: str, added_headers: Mapping[str, str]
) -> CIMultiDict[str]:
    """Return the headers to forward to the target.

    `request_headers` are the headers of the client's request, `authority` is the target's host and port, and
    `added_headers` are the headers that the platform adds.
    """
    connection_names = _connection_header_names(request_headers)
    headers: CIMultiDict[str] = CIMultiDict({"Host": authority})
    for name, value in request_headers.items():
        lower_name = name.lower()
        if (
            lower_name in _REMOVED_REQUEST_HEADERS
            or lower_name in connection_names
            or lower_name.startswith(_CLIENT_ADDRESS_PREFIXES)
            or not _is_text(value)
        ):
            continue
        headers.add(name, value)
    cookies = _application_cookies(value for name, value in request_headers.items() if name.lower() == "cookie")
    if cookies:
        headers["Cookie"] = cookies
    headers.update(added_headers)
    return headers


def returned_headers(
    response_headers: Mapping[str, str], mapped_path: MappedPath, origin: str, *, has_prefix: bool
) -> CIMultiDict[str]:
    """Return the headers to return to the client, without the platform's own Content-Security-Policy.

    `response_headers` are the headers of the target's response, `mapped_path` is the mapping of the request, `origin` is the
    target's origin, and `has_prefix` is whether the requested path had PROXY_PREFIX.
    """
    connection_names = _connection_header_names(response_headers)
    is_page = response_headers.get("Content-Type", "").partition(";")[0].strip().lower() == "text/html"
    headers: CIMultiDict[str] = CIMultiDict()
    for name, value in response_headers.items():
        lower_name = name.lower()
        if not _is_text(value) or lower_name in connection_names:
            continue
        if lower_name == "set-cookie":
            cookie = _rewrite_cookie(value)
            if cookie is not None:
                headers.add(name, cookie)
        elif lower_name == "location":
            headers.add(name, _rewrite_location(value, mapped_path, origin, has_prefix=has_prefix))
        elif lower_name not in _REMOVED_RESPONSE_HEADERS and not (is_page and lower_name in _CACHING_HEADERS):
            headers.add(name, value)
    return headers


def content_security_policy(config: Config, application_id: int, *, is_prefix_required: bool) -> str:
    """Return an activity's Content-Security-Policy, which allows its own host, inline content, and the platform's API and files."""
    origin = config.activity_origin(application_id) or ""
    websocket_origin = f"ws{origin.removeprefix('http')}"
    embedded_sources = "data: blob:"
    cdn_paths = " ".join(_cdn_paths(config))
    connect_sources = (
        f"{origin}{PROXY_PREFIX}/ {websocket_origin}{PROXY_PREFIX}/"
        if is_prefix_required
        else f"'self' {websocket_origin}"
    )
    return "; ".join(
        (
            f"default-src 'self' {embedded_sources}",
            # spec/activities.md#8: games use WebAssembly and generate scripts at run time.
            f"script-src 'self' 'unsafe-inline' 'unsafe-eval' 'wasm-unsafe-eval' {embedded_sources}",
            f"style-src 'self' 'unsafe-inline' {embedded_sources}",
            f"img-src 'self' {embedded_sources} {cdn_paths}",
            f"media-src 'self' {embedded_sources} {cdn_paths}",
            f"connect-src {connect_sources} {embedded_sources} {config.web_url}/api/ {cdn_paths}",
            "object-src 'none'",
            "base-uri 'self'",
            "form-action 'self'",
            WEBRTC_DIRECTIVE,
            f"frame-ancestors {frame_ancestors(config)}",
        )
    )


def connection_allowlist(config: Config) -> str:
    """Return the Connection-Allowlist of an activity, which contains its own host and the platform's API and files.

    A browser that supports the header blocks WebRTC and other connections of the page, its windows and its workers, which
    would show the user's address (decisions/0174)."""
    url_patterns = (f'"{path}*"' for path in (f"{config.web_url}/api/", *_cdn_paths(config)))
    return f"(response-origin {' '.join(url_patterns)})"


def _cdn_paths(config: Config) -> list[str]:
    """Return the URLs of the folders whose files an activity may request."""
    return [f"{config.cdn_url}/{folder}/" for folder in ("attachments", "avatars", "icons")]


def frame_ancestors(config: Config) -> str:
    """Return the sources that may embed an activity: its own host and the platform's pages (spec/activities.md#5)."""
    parts = urlsplit(config.web_url)
    return f"'self' {parts.scheme}://{parts.netloc}"


def ticket_cookie_name(config: Config) -> str:
    """Return the name of the ticket cookie.

    Over TLS it has the prefix `__Host-` (RFC 6265bis), so that pages on the hosts of other activities cannot set it.
    """
    return f"{'__Host-' if config.web_url.startswith('https://') else ''}hubbub_proxy_ticket"


def ticket_cookie(name: str, ticket: str, max_age_seconds: int) -> str:
    """Return the Set-Cookie value that makes the later requests of a page contain its ticket."""
    return f"{name}={ticket}; Max-Age={max_age_seconds}; Path=/; HttpOnly; Secure; SameSite=None; Partitioned"


def find_cookie(cookie_headers: Iterable[str], name: str) -> str | None:
    """Return the value of the cookie with this name from the Cookie headers of a request, or None."""
    for header in cookie_headers:
        for cookie in header.split(";"):
            cookie_name, _, value = cookie.strip().partition("=")
            if cookie_name == name:
                return value
    return None


def _connection_header_names(headers: Mapping[str, str]) -> set[str]:
    """Return the lowercase names of the headers that belong to the connection, from the Connection header (RFC 9110, 7.6.1)."""
    return {
        option.strip().lower()
        for name, value in headers.items()
        if name.lower() == "connection"
        for option in value.split(",")
    }


def _is_text(value: str) -> bool:
    """Return whether a header value can be encoded as UTF-8; values with undecodable bytes cannot."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _application_cookies(cookie_headers: Iterable[str]) -> str:
    """Return the cookies of a request without the platform's, which browsers may send for the whole domain."""
    cookies = [cookie.strip() for header in cookie_headers if _is_text(header) for cookie in header.split(";")]
    return "; ".join(cookie for cookie in cookies if cookie and not _PLATFORM_COOKIE_PATTERN.match(cookie))


def _rewrite_cookie(set_cookie: str) -> str | None:
    """Rewrite a target's cookie for the activity's host in a cross-site frame.

    Return None if the cookie is empty or has one of the platform's names. The path becomes `/`, because the paths of the
    target differ from the paths of the proxy, which exist with and without `/.proxy/`.
    """
    name_and_value, *attributes = (part.strip() for part in set_cookie.split(";"))
    if not name_and_value or _PLATFORM_COOKIE_PATTERN.match(name_and_value):
        return None
    allowed_attributes = [
        attribute
        for attribute in attributes
        if attribute.partition("=")[0].strip().lower() in _ALLOWED_COOKIE_ATTRIBUTES
    ]
    return "; ".join([name_and_value, *allowed_attributes, "Path=/", "Secure", "SameSite=None", "Partitioned"])


def _rewrite_location(location: str, mapped_path: MappedPath, origin: str, *, has_prefix: bool) -> str:
    """Rewrite a redirect below the mapping's target (at `origin`) to a path on the activity's host.

    A redirect to another path of the target becomes absolute. Other redirects are unchanged.
    """
    path = location
    if location == origin or location.startswith((f"{origin}/", f"{origin}?")):
        path = location[len(origin) :]
        path = path if path.startswith("/") else f"/{path}"
    if not path.startswith("/") or path.startswith("//"):
        return location
    subpath = path.removeprefix(mapped_path.directory)
    rewritten = f"{PROXY_PREFIX if has_prefix else ''}{mapped_path.prefix}{subpath}" or "/"
    if (
        not path.startswith(mapped_path.directory)
        or (subpath and subpath[0] not in "/?#")
        or rewritten.startswith("//")
    ):
        return f"{origin}{path}"
    return rewritten if rewritten.startswith("/") else f"/{rewritten}"

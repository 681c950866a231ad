"""The activity server: maps a host and a path to a target in an application's URL map (spec/activities.md#8).

find the application by host -> check method and path -> look up its URL map -> check prefix and limits -> forward
"""

import asyncio
import contextlib
import logging
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from http import HTTPStatus
from typing import Final
from urllib.parse import urlsplit

import aiohttp
from aiohttp import hdrs, web
from multidict import CIMultiDict
from yarl import URL

from hubbub.protocol import changes
from hubbub.server.core import url_maps
from hubbub.server.core.clock import Clock
from hubbub.server.core.config import Config
from hubbub.server.core.endpoints import READ_METHODS
from hubbub.server.core.metrics import Metrics
from hubbub.server.core.outbound_http import UnreachableError
from hubbub.server.core.outbound_streams import OutboundStreams
from hubbub.server.core.rate_limits import LookupKind, RateLimits
from hubbub.server.core.store import StoreUnavailable
from hubbub.server.core.url_maps import ActivitySite, MappedPath
from hubbub.server.transports.activities import headers, pages, relay_page
from hubbub.server.transports.activities.pages import ClientDisconnected, ProxyError
from hubbub.server.transports.activities.proxy import ForwardLimits, forward
from hubbub.server.transports.activities.sockets import ActivitySockets, is_websocket_request
from hubbub.server.transports.sockets import client_address

log = logging.getLogger(__name__)

FindSite = Callable[[int, Sequence[str]], Awaitable[ActivitySite | None]]
"""Function that finds the site of an application, for the tickets of a request; None if the application has no activity."""

RESERVED_PREFIX: Final = "/.platform"
"""Prefix of the platform's own paths, which are never forwarded to a target (spec/activities.md#5)."""
SERVICE_WORKER_HEADER: Final = "Service-Worker"
"""Header of the request for the script of a service worker, which pages cannot set (decisions/0174)."""
METRICS_ROUTE: Final = "activity"
"""Route label of all activity requests in metrics."""

_METRICS_METHODS: Final = frozenset({"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"})
_METRICS_STATUSES: Final = frozenset(int(status) for status in HTTPStatus)
_REJECTED_METHODS: Final = frozenset({"CONNECT", "TRACE"})
_PRINTABLE_PATTERN: Final = re.compile(r"[!-~]*")
_DOT_SEGMENT_PATTERN: Final = re.compile(r"/(?:\.|%2e){1,2}(?=/|$)", re.IGNORECASE)


class ActivityServer:
    """Serves the hosts of all activities."""

    def __init__(
        self,
        *,
        config: Config,
        clock: Clock,
        metrics: Metrics,
        streams: OutboundStreams,
        rate_limits: RateLimits,
        find_site: FindSite,
        count_running: Callable[[], AbstractContextManager[None]],
    ) -> None:
        self._config = config
        self._clock = clock
        self._metrics = metrics
        self._streams = streams
        self._rate_limits = rate_limits
        self._find_site = find_site
        self._count_running = count_running
        """Function that returns a context manager for a running request, which draining waits for."""
        self._sockets = ActivitySockets(streams)
        self._running_counts: Counter[int] = Counter()
        self._host_suffix = f".{config.activities.proxy_host}"
        parts = urlsplit(config.web_url)
        self._web_host = parts.hostname
        self._web_origin = f"{parts.scheme}://{parts.netloc}"
        self._frame_ancestors = headers.frame_ancestors(config)
        self._ticket_cookie_name = headers.ticket_cookie_name(config)
        limits = config.activities
        self._forward_limits = ForwardLimits(
            limits.request_bytes_max, limits.response_bytes_max, limits.timeout_ms / 1000
        )

    def handles_host(self, host: str) -> bool:
        """Return whether a Host header is below the activity domain and is not the host of the platform's pages."""
        name = _host_name(host)
        return name.endswith(self._host_suffix) and name != self._web_host

    async def handle(self, request: web.Request) -> web.StreamResponse:
        loop = asyncio.get_running_loop()
        started_at = loop.time()
        try:
            response = await self._respond(request)
        except ProxyError as error:
            response = pages.error_page(error, self._frame_ancestors)
        except ClientDisconnected:
            # aiohttp requires a response, although the client has disconnected.
            response = pages.error_page(ProxyError(502), self._frame_ancestors)
            response.force_close()
        except StoreUnavailable as error:
            log.warning("Database unavailable: %s", error)
            response = pages.error_page(ProxyError(503), self._frame_ancestors)
        except Exception:
            log.exception("Activity request failed")
            response = pages.error_page(ProxyError(500), self._frame_ancestors)
        method = request.method if request.method in _METRICS_METHODS else "other"
        # A target may return statuses that do not exist; they share one metrics label.
        status = str(response.status) if response.status in _METRICS_STATUSES else "other"
        self._metrics.http_requests(method, METRICS_ROUTE, status).inc()
        self._metrics.http_seconds(method, METRICS_ROUTE).observe(loop.time() - started_at)
        return response

    async def drain(self) -> None:
        """Close all WebSockets; the HTTP server waits for the other requests."""
        await self._sockets.drain()

    async def _respond(self, request: web.Request) -> web.StreamResponse:
        application_id = self._application_id(request)
        if request.method in _REJECTED_METHODS:
            raise ProxyError(405)
        if SERVICE_WORKER_HEADER in request.headers:
            raise ProxyError(403, "Activities cannot install service workers.")
        path, has_prefix = _lookup_path(request)
        ip = client_address(request, self._config.http.trusted_proxies)
        if self._rate_limits.check_lookups(ip, LookupKind.ACTIVITY) is not None:
            raise ProxyError(429)
        site = await self._find_site(application_id, self._request_tickets(request, application_id))
        if site is None:
            self._rate_limits.record_failed_lookup(ip, LookupKind.ACTIVITY)
        if site is not None and (path == RESERVED_PREFIX or path.startswith(f"{RESERVED_PREFIX}/")):
            return self._platform_page(request, path)
        mapped_path = None if site is None else url_maps.find(site.url_map, path)
        if site is None or mapped_path is None:
            raise ProxyError(404)
        is_websocket = is_websocket_request(request)
        is_prefix_required = requires_prefix(self._clock.now_ms())
        if (
            is_prefix_required
            and not has_prefix
            and (mapped_path.prefix or is_websocket or request.method not in READ_METHODS)
        ):
            raise ProxyError(404)
        with self._count_request(application_id):
            url, origin = await self._target_url(
                mapped_path, request.rel_url.raw_query_string, is_websocket=is_websocket
            )
            forwarded_headers = headers.forwarded_headers(
                request.headers, mapped_path.authority, site.ticket.headers if site.ticket else {}
            )
            if is_websocket:
                return await self._sockets.bridge(request, url, forwarded_headers)

            def response_headers(response: aiohttp.ClientResponse) -> CIMultiDict[str]:
                returned_headers = headers.returned_headers(
                    response.headers, mapped_path, origin, has_prefix=has_prefix
                )
                returned_headers["Content-Security-Policy"] = headers.content_security_policy(
                    self._config, application_id, is_prefix_required=is_prefix_required
                )
                returned_headers["Connection-Allowlist"] = headers.connection_allowlist(self._config)
                if site.ticket is not None and self._cookie_ticket(request) != site.ticket.text:
                    cookie = headers.ticket_cookie(self._ticket_cookie_name, site.ticket.text, site.ticket.seconds)
                    returned_headers.add("Set-Cookie", cookie)
                return returned_headers

            with self._count_running():
                return await forward(
                    request, self._streams, url, forwarded_headers, response_headers, self._forward_limits
                )

    def _platform_page(self, request: web.Request, path: str) -> web.Response:
        """Return the relay page or its script; raise 404 for other paths and 405 for methods that do not read."""
        if path not in (relay_page.PAGE_PATH, relay_page.SCRIPT_PATH):
            raise ProxyError(404)
        if request.method not in READ_METHODS:
            raise ProxyError(405)
        return relay_page.page(self._web_origin) if path == relay_page.PAGE_PATH else relay_page.script()

    def _application_id(self, request: web.Request) -> int:
        """Return the application ID in the host name of a request; raise 404 if there is none."""
        label = _host_name(request.headers.get(hdrs.HOST, "")).removesuffix(self._host_suffix)
        if not (label.isascii() and label.isdecimal() and len(label) < 20 and int(label) < 1 << 63):
            raise ProxyError(404)
        return int(label)

    def _cookie_ticket(self, request: web.Request) -> str | None:
        """Return the ticket in the cookie of a request, or None."""
        return headers.find_cookie(request.headers.getall(hdrs.COOKIE, []), self._ticket_cookie_name)

    def _request_tickets(self, request: web.Request, application_id: int) -> list[str]:
        """Return the tickets in the query (sent when a page opens) and in the cookie (sent by open pages).

        The cookie counts only for requests of the activity's own pages, because browsers also send it for pages of
        other sites.
        """
        tickets = [request.query.get(headers.TICKET_PARAMETER)]
        origin = request.headers.get(hdrs.ORIGIN)
        fetch_site = request.headers.get("Sec-Fetch-Site", "same-origin")
        if origin in (None, self._config.activity_origin(application_id)) and fetch_site in ("same-origin", "none"):
            tickets.append(self._cookie_ticket(request))
        return [ticket for ticket in tickets if ticket]

    @contextlib.contextmanager
    def _count_request(self, application_id: int) -> Iterator[None]:
        """Count a running request of an application; raise 503 if the application has too many."""
        if self._running_counts[application_id] >= self._config.activities.connections_max:
            raise ProxyError(503)
        self._running_counts[application_id] += 1
        try:
            yield
        finally:
            self._running_counts[application_id] -= 1
            if not self._running_counts[application_id]:
                del self._running_counts[application_id]

    async def _target_url(self, mapped_path: MappedPath, query: str, *, is_websocket: bool) -> tuple[URL, str]:
        """Return the target URL, and the target's origin with the scheme http or https; raise 502 if the host is unknown.

        The connection uses TLS, except to private hosts where the configuration allows them.
        """
        try:
            host = URL(f"https://{mapped_path.authority}", encoded=True).host or ""
            is_private = await self._streams.is_allowed_private_host(host)
        except (UnreachableError, ValueError) as error:
            log.info("Cannot resolve the target of an activity: %r", error)
            raise ProxyError(502) from error
        origin = f"{'http' if is_private else 'https'}://{mapped_path.authority}"
        base_url = f"ws{origin.removeprefix('http')}" if is_websocket else origin
        return URL(f"{base_url}{mapped_path.path}{'?' if query else ''}{query}", encoded=True), origin


def requires_prefix(now_ms: int) -> bool:
    """Return whether the paths that a page requests must have the prefix `/.proxy/` at a time (decisions/0052)."""
    return changes.ACTIVITY_PROXY_PREFIX_REQUIRED.is_active(
        now_ms
    ) and not changes.ACTIVITY_PROXY_PREFIX_OPTIONAL.is_active(now_ms)


def _host_name(host: str) -> str:
    """Return the lowercase host name of a Host header, without the port."""
    return host.partition(":")[0].lower().removesuffix(".")


def _lookup_path(request: web.Request) -> tuple[str, bool]:
    """Return the path to look up, and whether it had the prefix `/.proxy`; raise 400 for an invalid path or query."""
    path = request.rel_url.raw_path
    path_and_query = f"{path}{request.rel_url.raw_query_string}"
    # Dot segments could escape from the directory of a target.
    if (
        not path.startswith("/")
        or _PRINTABLE_PATTERN.fullmatch(path_and_query) is None
        or _DOT_SEGMENT_PATTERN.search(path) is not None
    ):
        raise ProxyError(400)
    has_prefix = path == headers.PROXY_PREFIX or path.startswith(f"{headers.PROXY_PREFIX}/")
    if has_prefix:
        path = path.removeprefix(headers.PROXY_PREFIX) or "/"
    return path, has_prefix

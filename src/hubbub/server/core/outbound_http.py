"""HTTP requests to URLs that users supply, without access to private networks.

Private, loopback, link-local and other special targets are rejected in every notation: as a host name that resolves to
them, as a number, or mapped into IPv6. A name is resolved once and the request goes to the resolved address, so that the
address cannot change between check and request. Redirects are not followed, except by `redirecting_cache` and `fetch`, which
check every target. Time and size are bounded. `hubbub dev` allows private targets, because the receivers of a rehearsal run on
the same machine.
"""

import asyncio
import errno
import ipaddress
import re
import socket
import ssl
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import aiohttp
import msgspec
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from hubbub.server.core.metrics import Metrics
from hubbub.server.core.observation import start_client_span
from hubbub.server.core.outbound_cache import OutboundCache
from hubbub.server.core.traffic import Traffic, TrafficContent

TIMEOUT_SECONDS: Final = 3.0
"""Timeout of a request in seconds; the specification gives webhook events and interactions three seconds."""
RESPONSE_BYTES_MAX: Final = 256 * 1024
"""Maximum size of a response, unless the caller accepts a larger one."""
REDIRECTS_MAX: Final = 3
"""Maximum number of redirects that `OutboundClient.redirecting_cache` and `OutboundClient.fetch` follow."""
DOCUMENT_HEADERS: Final = {"Accept": "application/json", "Accept-Encoding": "identity"}
"""Headers of requests for JSON documents. The client does not decompress responses."""
REDIRECT_STATUSES: Final = frozenset({301, 302, 303, 307, 308})
CONCURRENT_LARGE_RESPONSES_MAX: Final = 4
"""Maximum number of responses above `RESPONSE_BYTES_MAX` that are read at the same time, for callers that accept them."""

_SUCCESS_CLASSES: Final = frozenset({"1xx", "2xx", "3xx"})
"""Classes of statuses that traces do not mark as errors."""

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

# A last label of this form makes the host an IPv4 number for some parsers (https://url.spec.whatwg.org, "ends in a
# number").
_NUMERIC_LABEL_PATTERN: Final = re.compile(r"[0-9]+|0x[0-9a-f]*", re.ASCII | re.IGNORECASE)
_NAT64_NETWORK: Final = ipaddress.ip_network("64:ff9b::/96")


class UnreachableError(Exception):
    """The target must not be called, or did not send a valid response."""


class TimedOutError(UnreachableError):
    """The target did not respond in time."""


class ForbiddenTargetError(UnreachableError):
    """The URL is malformed, or its scheme, credentials or host are not allowed."""


class UnresolvedHostError(UnreachableError):
    """The host name of the target has no address."""


class ConnectionRefusedByTargetError(UnreachableError):
    """No server listens at the address and port of the target."""


class TlsError(UnreachableError):
    """The TLS handshake with the target failed, for example because its certificate is not valid."""


class OutboundResponse(msgspec.Struct, frozen=True):
    """The response to an outbound request; the body is not decompressed and may be truncated."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def content_type(self) -> str:
        """The Content-Type header, or an empty string."""
        return next((value for name, value in self.headers.items() if name.lower() == "content-type"), "")


def parse_address(host: str) -> Address | None:
    """Return a literal IP address, or None for a host name."""
    try:
        return ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return None


def is_public(host: str) -> bool:
    """Return whether an IP address is publicly routable, also if it is wrapped in an IPv6 transition format."""
    address = parse_address(host)
    if address is None:
        return False
    if isinstance(address, ipaddress.IPv6Address):
        embedded_address = address.ipv4_mapped or address.sixtofour or (address.teredo or (None, None))[1]
        if embedded_address is None and address in _NAT64_NETWORK:
            embedded_address = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if embedded_address is not None:
            return _is_global(embedded_address)
        if address.is_site_local:
            # fec0::/10, which `is_global` of Python 3.11 includes.
            return False
    return _is_global(address)


def require_allowed_host(host: str, *, allow_private: bool) -> None:
    """Raise ForbiddenTargetError for a host that can be rejected without DNS; names are checked on resolution.

    `allow_private` accepts addresses that are not public."""
    address = parse_address(host)
    if address is None and _NUMERIC_LABEL_PATTERN.fullmatch(host.rstrip(".").rpartition(".")[2]):
        # 127.1, 2130706433, 0x7f.1: some resolvers treat these as addresses and some as names.
        raise ForbiddenTargetError(f"{host} is neither a host name nor an IP address")
    # A literal address is never resolved, so `PublicResolver` does not check it.
    if address is not None and not allow_private and not is_public(host):
        raise ForbiddenTargetError(f"{host} is not a public address")


def _is_global(address: Address) -> bool:
    return address.is_global and not (address.is_multicast or address.is_reserved or address.is_unspecified)


class FetchedDocument(NamedTuple):
    """The response to a request whose redirects were followed."""

    url: URL
    """The URL after all redirects."""
    response: OutboundResponse


class PublicResolver(AbstractResolver):
    """Resolves a host name once and returns only addresses that may be called."""

    def __init__(self, allow_private: bool) -> None:
        self._allow_private = allow_private

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Resolve a host name. Raise UnresolvedHostError if it has no address.

        Raise ForbiddenTargetError if any of its addresses must not be called, since any may be used."""
        loop = asyncio.get_running_loop()
        try:
            address_infos = await loop.getaddrinfo(
                host, port, type=socket.SOCK_STREAM, family=family, flags=socket.AI_ADDRCONFIG
            )
        except OSError as error:
            raise UnresolvedHostError(f"{host} does not resolve") from error
        results: list[ResolveResult] = []
        for address_family, _, protocol, _, socket_address in address_infos:
            ip = str(socket_address[0])
            if not self._allow_private and not is_public(ip):
                raise ForbiddenTargetError(f"{host} is not a public address")
            results.append(
                ResolveResult(
                    hostname=host,
                    host=ip,
                    port=port,
                    family=address_family,
                    proto=protocol,
                    flags=socket.AI_NUMERICHOST,
                )
            )
        return results

    async def close(self) -> None:
        """Do nothing; the resolver holds no resources."""


def _host_of(url: str) -> str:
    try:
        return URL(url).host or ""
    except ValueError:
        return ""


async def _read_body(response: aiohttp.ClientResponse, bytes_max: int) -> bytes:
    """Read the rest of a response body, at most `bytes_max` + 1 bytes, so that the caller can detect an excess."""
    body = b""
    while len(body) <= bytes_max and (chunk := await response.content.read(bytes_max + 1 - len(body))):
        body += chunk
    return body


class OutboundClient:
    """Sends HTTP requests to URLs that users supplied."""

    def __init__(
        self,
        *,
        allow_private: bool = False,
        timeout_seconds: float = TIMEOUT_SECONDS,
        response_bytes_max: int = RESPONSE_BYTES_MAX,
    ) -> None:
        self._allow_private = allow_private
        self._timeout_seconds = timeout_seconds
        self._response_bytes_max = response_bytes_max
        self._large_response_slots = asyncio.Semaphore(CONCURRENT_LARGE_RESPONSES_MAX)
        self._session: aiohttp.ClientSession | None = None
        self.metrics: Metrics | None = None
        """The metrics of requests; None unless the App sets them."""
        self.traffic: Traffic | None = None
        """The traffic of a rehearsal, which records the requests while it is enabled; None without a rehearsal."""
        self.cache = OutboundCache(self._fetch_document)
        """Cache of documents fetched through this client; a redirect is an error."""
        self.redirecting_cache = OutboundCache(self._fetch_redirected_document)
        """Cache of documents fetched through this client; up to `REDIRECTS_MAX` redirects are followed."""
        self._operator_client: OutboundClient | None = None

    @property
    def operator_client(self) -> "OutboundClient":
        """The client for URLs that the operator configured, which may be in a private network."""
        if self._allow_private:
            return self
        if self._operator_client is None:
            self._operator_client = OutboundClient(allow_private=True, timeout_seconds=self._timeout_seconds)
        self._operator_client.traffic = self.traffic
        return self._operator_client

    def check(self, url: str) -> URL:
        """Return the parsed URL; raise ForbiddenTargetError if it can be rejected without DNS."""
        try:
            target = URL(url)
        except ValueError as error:
            raise ForbiddenTargetError("not a well-formed URL") from error
        if target.scheme not in ("http", "https") or not target.host:
            raise ForbiddenTargetError("only http and https URLs are allowed")
        if target.user is not None or target.password is not None:
            raise ForbiddenTargetError("the URL must not contain credentials")
        require_allowed_host(target.host, allow_private=self._allow_private)
        return target

    async def request(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes = b"",
        timeout_seconds: float | None = None,
        response_bytes_max: int | None = None,
        allows_truncation: bool = False,
    ) -> OutboundResponse:
        """Send a request and read the whole response.

        `response_bytes_max` raises the limit of the response size for this request. With `allows_truncation` the rest of a
        larger response is not read. Raise UnreachableError if the target is forbidden, the request fails or the response is
        too large."""
        request_arguments = (method, url, headers, body, timeout_seconds, response_bytes_max, allows_truncation)
        loop = asyncio.get_running_loop()
        # Only the host: the path of a webhook contains its token. The target receives no traceparent (decisions/0145).
        span = start_client_span(method, {"http.request.method": method, "server.address": _host_of(url)})
        started_at, outcome, attributes = loop.time(), "failed", dict[str, int]()
        try:
            response = await self._send_recorded(*request_arguments)
            outcome = f"{response.status // 100}xx"
            attributes["http.response.status_code"] = response.status
            return response
        except TimedOutError:
            outcome = "timeout"
            raise
        except ForbiddenTargetError:
            outcome = "forbidden"
            raise
        finally:
            if self.metrics is not None:
                self.metrics.record_outbound(outcome, loop.time() - started_at)
            if span is not None:
                span.end(attributes, error="" if outcome in _SUCCESS_CLASSES else outcome)

    async def _send_recorded(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str] | None,
        body: bytes,
        timeout_seconds: float | None,
        response_bytes_max: int | None,
        allows_truncation: bool,
    ) -> OutboundResponse:
        """Send a request, and record it if the traffic log of a rehearsal is enabled."""
        request_arguments = (method, url, headers, body, timeout_seconds, response_bytes_max, allows_truncation)
        if self.traffic is None or not self.traffic.is_enabled:
            return await self._send(*request_arguments)
        started_at, traffic_start = asyncio.get_running_loop().time(), self.traffic.mark_start()
        response, note = None, None
        try:
            response = await self._send(*request_arguments)
            return response
        except UnreachableError as error:
            note = str(error)
            raise
        finally:
            self.traffic.add_outbound(
                TrafficContent(
                    method=method,
                    path=url,
                    headers=dict(headers or {}),
                    body=body,
                    response_headers={} if response is None else response.headers,
                    response_body=b"" if response is None else response.body,
                    start=traffic_start,
                ),
                status=None if response is None else response.status,
                milliseconds=round((asyncio.get_running_loop().time() - started_at) * 1000, 1),
                note=note,
            )

    async def _send(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str] | None,
        body: bytes,
        timeout_seconds: float | None,
        response_bytes_max: int | None,
        allows_truncation: bool,
    ) -> OutboundResponse:
        target = self.check(url)
        try:
            async with (
                asyncio.timeout(self._timeout_seconds if timeout_seconds is None else timeout_seconds),
                self._client().request(method, target, headers=headers, data=body, allow_redirects=False) as response,
            ):
                response_body = await _read_body(response, self._response_bytes_max)
                if (
                    len(response_body) > self._response_bytes_max
                    and response_bytes_max is not None
                    and response_bytes_max > self._response_bytes_max
                ):
                    async with self._large_response_slots:
                        response_body += await _read_body(response, response_bytes_max - len(response_body))
                bytes_max = max(self._response_bytes_max, response_bytes_max or 0)
                if len(response_body) > bytes_max:
                    if not allows_truncation:
                        raise UnreachableError("the response is too large")
                    response_body = response_body[:bytes_max]
                return OutboundResponse(response.status, dict(response.headers), response_body)
        except UnreachableError:
            raise
        except TimeoutError as error:
            raise TimedOutError("no response in time") from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            if isinstance(error.__cause__, UnreachableError):
                raise error.__cause__ from error
            error_text = f"{type(error).__name__}: {error}"[:200]
            if isinstance(error, aiohttp.ClientSSLError | ssl.SSLError):
                raise TlsError(error_text) from error
            if isinstance(error, OSError) and error.errno == errno.ECONNREFUSED:
                raise ConnectionRefusedByTargetError(error_text) from error
            raise UnreachableError(error_text) from error

    async def _fetch_document(self, url: str) -> bytes:
        response = await self.request("GET", url, headers=DOCUMENT_HEADERS)
        if response.status != 200:
            # This includes redirects: their target is not the configured document.
            raise UnreachableError(f"responded with status {response.status}")
        return response.body

    async def _fetch_redirected_document(self, url: str) -> bytes:
        document = await self.fetch(url, headers=DOCUMENT_HEADERS)
        return document.response.body

    async def fetch(
        self,
        url: str,
        *,
        headers: Mapping[str, str],
        timeout_seconds: float | None = None,
        response_bytes_max: int | None = None,
        allows_truncation: bool = False,
        is_host_allowed: Callable[[str], bool] | None = None,
    ) -> FetchedDocument:
        """Fetch a document; follow up to `REDIRECTS_MAX` redirects.

        `timeout_seconds` is the timeout of each request; `response_bytes_max` and `allows_truncation` are those of `request`.
        `is_host_allowed` is called with the host of each URL. Raise
        UnreachableError if a target is forbidden, a request fails or the last response does not have status 200."""
        for _ in range(REDIRECTS_MAX + 1):
            target = self.check(url)
            if is_host_allowed is not None and not is_host_allowed(target.raw_host or ""):
                raise ForbiddenTargetError("the operator does not allow this host")
            response = await self.request(
                "GET",
                url,
                headers=headers,
                timeout_seconds=timeout_seconds,
                response_bytes_max=response_bytes_max,
                allows_truncation=allows_truncation,
            )
            location = next((value for name, value in response.headers.items() if name.lower() == "location"), None)
            if response.status not in REDIRECT_STATUSES or location is None:
                break
            try:
                url = str(target.join(URL(location)))
            except ValueError as error:
                raise UnreachableError("the redirect has no valid target") from error
        if response.status != 200:
            raise UnreachableError(f"responded with status {response.status}")
        return FetchedDocument(target, response)

    async def close(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()
        if self._operator_client is not None:
            await self._operator_client.close()

    def _client(self) -> aiohttp.ClientSession:
        if self._session is None:
            connector = aiohttp.TCPConnector(
                # Every request resolves the name again: an address that was public a minute ago may be private now.
                resolver=PublicResolver(self._allow_private),
                use_dns_cache=False,
                # The connector has no limits: waiting for a connection would count against the target's timeout. The
                # callers limit concurrency: the worker's slots (core.jobs) and the API's request limits.
                limit=0,
                limit_per_host=0,
                force_close=True,
            )
            session: Any = aiohttp.ClientSession(
                connector=connector, trust_env=False, cookie_jar=aiohttp.DummyCookieJar(), auto_decompress=False
            )
            self._session = session
        assert self._session is not None
        return self._session

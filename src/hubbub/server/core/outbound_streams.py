"""Streaming requests and WebSockets to URLs that users supply, with the target checks of `core.outbound_http`.

Bodies are not collected and redirects are not followed; the caller limits time and size. Every new connection resolves
its host again and is rejected if the target is not public, unless private targets are allowed. A reused connection
keeps its resolved address.
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Final

import aiohttp
from yarl import URL

from hubbub.server.core.outbound_http import (
    ForbiddenTargetError,
    PublicResolver,
    UnreachableError,
    is_public,
    parse_address,
    require_allowed_host,
)

CONNECT_TIMEOUT_SECONDS: Final = 10.0
CLOSE_TIMEOUT_SECONDS: Final = 5.0
"""Seconds that the peer of a WebSocket has to complete the closing handshake."""
HEARTBEAT_SECONDS: Final = 30.0
"""Interval of the pings of a WebSocket in seconds."""
SAFE_METHODS: Final = frozenset({"GET", "HEAD"})
"""Methods whose requests reuse connections, because repeating them has no effect on the target."""
EXPLICIT_HEADERS: Final = ("Accept", "Accept-Encoding", "Content-Type", "User-Agent")
"""Headers that are sent only if the caller set them."""


class OutboundStreams:
    """Opens streaming requests and WebSockets to URLs that users supplied."""

    def __init__(self, *, allow_private: bool = False) -> None:
        self._allow_private = allow_private
        self._sessions: dict[bool, aiohttp.ClientSession] = {}
        """Sessions by whether they reuse connections."""

    async def is_allowed_private_host(self, host: str) -> bool:
        """Return whether a host is private and private hosts are allowed; such hosts are called without TLS.

        Raise UnreachableError if the host name does not resolve."""
        if not self._allow_private:
            return False
        if parse_address(host) is not None:
            return not is_public(host)
        try:
            address_infos = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
        except OSError as error:
            raise UnreachableError(f"{host} does not resolve") from error
        return not any(is_public(str(socket_address[0])) for _, _, _, _, socket_address in address_infos)

    def request(
        self, method: str, url: URL, *, headers: Mapping[str, str], body: AsyncIterator[bytes] | None
    ) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
        """Start a request whose response body is not yet read and not decompressed.

        Raise ForbiddenTargetError or aiohttp's errors."""
        self._require_allowed_target(url)
        return self._session(reuses_connections=method in SAFE_METHODS).request(
            method,
            url,
            headers=headers,
            data=body,
            allow_redirects=False,
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT_SECONDS),
        )

    def websocket(
        self, url: URL, *, headers: Mapping[str, str], protocols: Iterable[str], message_bytes_max: int
    ) -> AbstractAsyncContextManager[aiohttp.ClientWebSocketResponse]:
        """Open a WebSocket. Raise ForbiddenTargetError or aiohttp's errors."""
        self._require_allowed_target(url)
        return self._session(reuses_connections=False).ws_connect(
            url,
            headers=headers,
            protocols=protocols,
            max_msg_size=message_bytes_max,
            heartbeat=HEARTBEAT_SECONDS,
            timeout=aiohttp.ClientWSTimeout(ws_close=CLOSE_TIMEOUT_SECONDS),
        )

    async def close(self) -> None:
        """Close all connections."""
        for session in self._sessions.values():
            await session.close()

    def _require_allowed_target(self, url: URL) -> None:
        """Raise ForbiddenTargetError for a URL that can be rejected without DNS."""
        if not url.host:
            raise ForbiddenTargetError("the URL has no host")
        require_allowed_host(url.host, allow_private=self._allow_private)

    def _session(self, *, reuses_connections: bool) -> aiohttp.ClientSession:
        """Return a session.

        Only requests with a safe method reuse connections: a request on a connection that the server is closing may be
        lost.
        """
        session = self._sessions.get(reuses_connections)
        if session is None:
            options: dict[str, Any] = {} if reuses_connections else {"force_close": True}
            connector = aiohttp.TCPConnector(
                resolver=PublicResolver(self._allow_private), use_dns_cache=False, limit=0, **options
            )
            session = self._sessions[reuses_connections] = aiohttp.ClientSession(
                connector=connector,
                trust_env=False,
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                skip_auto_headers=EXPLICIT_HEADERS,
            )
        return session

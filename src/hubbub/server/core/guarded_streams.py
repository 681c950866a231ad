"""The way out for bodies that flow: requests and WebSockets to addresses that users supply, under the guard of guarded.py.

Nothing is collected here and redirects are not followed; whoever asks bounds time and size. Every new connection looks its name up
and is refused to what is not public, and one that is used again leads where it led before.
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Final

import aiohttp
from yarl import URL

from hubbub.server.core.guarded import (
    ForbiddenTargetError,
    GuardedResolver,
    UnreachableError,
    address,
    is_public,
    require_host,
)

CONNECT_S: Final = 10.0
CLOSE_S: Final = 5.0
"""How long the other end of a WebSocket may take to say goodbye."""
HEARTBEAT_S: Final = 30.0
IDEMPOTENT: Final = frozenset({"GET", "HEAD"})
AS_GIVEN: Final = ("Accept", "Accept-Encoding", "Content-Type", "User-Agent")
"""Headers that are sent only where somebody said them."""


class GuardedStreams:
    """Opens requests and WebSockets to addresses that users supplied."""

    def __init__(self, *, allow_private: bool = False) -> None:
        self._allow_private = allow_private
        self._sessions: dict[bool, aiohttp.ClientSession] = {}

    async def is_private(self, host: str) -> bool:
        """Whether a host is on this machine or in its network, where that is allowed at all; such are called without TLS."""
        if not self._allow_private:
            return False
        if address(host) is not None:
            return not is_public(host)
        try:
            found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
        except OSError as error:
            raise UnreachableError(f"{host} is not known") from error
        return not any(is_public(str(place[0])) for _, _, _, _, place in found)

    def request(
        self, method: str, url: URL, *, headers: Mapping[str, str], body: AsyncIterator[bytes] | None
    ) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
        """An answer whose body is still to be read, encoded as it came; aiohttp's errors where there is none."""
        self._check(url)
        return self._session(keep=method in IDEMPOTENT).request(
            method,
            url,
            headers=headers,
            data=body,
            allow_redirects=False,
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_S),
        )

    def websocket(
        self, url: URL, *, headers: Mapping[str, str], protocols: Iterable[str], max_bytes: int
    ) -> AbstractAsyncContextManager[aiohttp.ClientWebSocketResponse]:
        """A WebSocket that is open; aiohttp's errors where there is none."""
        self._check(url)
        return self._session(keep=False).ws_connect(
            url,
            headers=headers,
            protocols=protocols,
            max_msg_size=max_bytes,
            heartbeat=HEARTBEAT_S,
            timeout=aiohttp.ClientWSTimeout(ws_close=CLOSE_S),
        )

    async def close(self) -> None:
        """Let go of the connections."""
        for session in self._sessions.values():
            await session.close()

    def _check(self, url: URL) -> None:
        if not url.host:
            raise ForbiddenTargetError("there is no host")
        require_host(url.host, allow_private=self._allow_private)

    def _session(self, *, keep: bool) -> aiohttp.ClientSession:
        """Connections are used again only for what may be asked twice: one that its server is closing loses a request."""
        found = self._sessions.get(keep)
        if found is None:
            options: dict[str, Any] = {} if keep else {"force_close": True}
            connector = aiohttp.TCPConnector(
                resolver=GuardedResolver(self._allow_private), use_dns_cache=False, limit=0, **options
            )
            found = self._sessions[keep] = aiohttp.ClientSession(
                connector=connector,
                trust_env=False,
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                skip_auto_headers=AS_GIVEN,
            )
        return found

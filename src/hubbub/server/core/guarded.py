"""The one way out: HTTP calls to addresses that users supply, which must never reach what only we can reach.

Private, loopback, link-local and other special targets are refused however they are written: as a name, as a number, mapped into
IPv6, or by a name that resolves to them. A name is looked up once and exactly that address is called, so it cannot change in
between. Redirects are not followed, and time and size are bounded. `hubbub dev` allows private targets, since a rehearsal's
receivers live on the same machine.
"""

import asyncio
import ipaddress
import re
import socket
from collections.abc import Mapping
from typing import Any, Final

import aiohttp
import msgspec
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from hubbub.server.core.documents import Documents

TIMEOUT_S: Final = 3.0
"""Spec, webhook events and interactions: an answer within three seconds."""
ANSWER_MAX: Final = 256 * 1024
LARGE_AT_ONCE: Final = 4
"""So many answers that are larger, where a caller takes such, are read at the same time."""

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

# Whatever ends like this is a number to somebody (https://url.spec.whatwg.org, "ends in a number").
_NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*", re.ASCII | re.IGNORECASE)
_NAT64: Final = ipaddress.ip_network("64:ff9b::/96")


class UnreachableError(Exception):
    """The target may not be called, or did not answer properly."""


class TimedOutError(UnreachableError):
    """The target did not answer in time."""


class ForbiddenTargetError(UnreachableError):
    """The target is not one that users may make us call."""


class GuardedAnswer(msgspec.Struct, frozen=True):
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def content_type(self) -> str:
        """What it says the body is."""
        return next((value for name, value in self.headers.items() if name.lower() == "content-type"), "")


def address(text: str) -> Address | None:
    """A literal address, or None for what has to be looked up."""
    try:
        return ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None


def is_public(text: str) -> bool:
    """Whether an address is one that anybody on the internet could call, however it is wrapped."""
    found = address(text)
    if found is None:
        return False
    if isinstance(found, ipaddress.IPv6Address):
        inner = found.ipv4_mapped or found.sixtofour or (found.teredo or (None, None))[1]
        if inner is None and found in _NAT64:
            inner = ipaddress.IPv4Address(int(found) & 0xFFFFFFFF)
        if inner is not None:
            return _plain(inner)
    return _plain(found)


def require_host(host: str, *, allow_private: bool) -> None:
    """Raise ForbiddenTargetError for a host that is refused by its looks alone; a name is judged when it is looked up."""
    literal = address(host)
    if literal is None and _NUMBER.fullmatch(host.rstrip(".").rpartition(".")[2]):
        # 127.1, 2130706433, 0x7f.1: addresses to some resolvers and names to others. Nobody needs to write them so.
        raise ForbiddenTargetError(f"{host} is neither a name nor an address")
    # A literal address is never looked up, so it is judged here.
    if literal is not None and not allow_private and not is_public(host):
        raise ForbiddenTargetError(f"{host} is not a public address")


def _plain(literal: Address) -> bool:
    return literal.is_global and not (literal.is_multicast or literal.is_reserved or literal.is_unspecified)


class GuardedResolver(AbstractResolver):
    """Looks a name up once, and gives only addresses that may be called."""

    def __init__(self, allow_private: bool) -> None:
        self._allow_private = allow_private

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """The addresses of a name; refused when any of them is special, since which one is used would be chance."""
        loop = asyncio.get_running_loop()
        try:
            found = await loop.getaddrinfo(
                host, port, type=socket.SOCK_STREAM, family=family, flags=socket.AI_ADDRCONFIG
            )
        except OSError as error:
            raise UnreachableError(f"{host} is not known") from error
        results: list[ResolveResult] = []
        for kind, _, protocol, _, place in found:
            number = str(place[0])
            if not self._allow_private and not is_public(number):
                raise ForbiddenTargetError(f"{host} is not a public address")
            results.append(
                ResolveResult(
                    hostname=host, host=number, port=port, family=kind, proto=protocol, flags=socket.AI_NUMERICHOST
                )
            )
        return results

    async def close(self) -> None:
        """Nothing is held."""


async def _read(response: aiohttp.ClientResponse, most: int) -> bytes:
    """What comes next of an answer: all of it, or a little more than so much."""
    data = b""
    while len(data) <= most and (more := await response.content.read(most + 1 - len(data))):
        data += more
    return data


class GuardedClient:
    """Makes calls to addresses that users supplied."""

    def __init__(
        self, *, allow_private: bool = False, timeout_s: float = TIMEOUT_S, answer_max: int = ANSWER_MAX
    ) -> None:
        self._allow_private = allow_private
        self._timeout_s = timeout_s
        self._answer_max = answer_max
        self._large = asyncio.Semaphore(LARGE_AT_ONCE)
        self._session: aiohttp.ClientSession | None = None
        self.documents = Documents(self)
        """What was fetched and is believed for a while."""

    def check(self, url: str) -> URL:
        """The address in usable form; ForbiddenTargetError for what is refused by its looks alone."""
        try:
            target = URL(url)
        except ValueError as error:
            raise ForbiddenTargetError("not a well formed URL") from error
        if target.scheme not in ("http", "https") or not target.host:
            raise ForbiddenTargetError("only http and https addresses are called")
        if target.user is not None or target.password is not None:
            raise ForbiddenTargetError("an address must not carry credentials")
        require_host(target.host, allow_private=self._allow_private)
        return target

    async def request(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes = b"",
        timeout_s: float | None = None,
        answer_max: int | None = None,
    ) -> GuardedAnswer:
        """One call; UnreachableError when it may not be made, times out, breaks off or answers too much."""
        target = self.check(url)
        try:
            async with (
                asyncio.timeout(self._timeout_s if timeout_s is None else timeout_s),
                self._client().request(method, target, headers=headers, data=body, allow_redirects=False) as response,
            ):
                data = await _read(response, self._answer_max)
                if len(data) > self._answer_max and answer_max is not None and answer_max > self._answer_max:
                    async with self._large:
                        data += await _read(response, answer_max - len(data))
                if len(data) > max(self._answer_max, answer_max or 0):
                    raise UnreachableError("the answer is too large")
                return GuardedAnswer(response.status, dict(response.headers), data)
        except UnreachableError:
            raise
        except TimeoutError as error:
            raise TimedOutError("no answer in time") from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            if isinstance(error.__cause__, UnreachableError):
                raise error.__cause__ from error
            raise UnreachableError(f"{type(error).__name__}: {error}"[:200]) from error

    async def close(self) -> None:
        """Let go of the connections."""
        if self._session is not None:
            await self._session.close()

    def _client(self) -> aiohttp.ClientSession:
        if self._session is None:
            connector = aiohttp.TCPConnector(
                # Every call looks its name up anew: what was public a minute ago may not be now.
                resolver=GuardedResolver(self._allow_private),
                use_dns_cache=False,
                # No limits of its own: who waited for a connection would wait in the time that the target has to answer. What
                # is under way at once is bounded by who asks: the worker's places (core.jobs), the API's requests.
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

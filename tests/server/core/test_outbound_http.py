"""Outbound requests to user-supplied URLs: private addresses, redirects, limits of time and size, and concurrency."""

import asyncio
import socket
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web
from yarl import URL

from hubbub.server.core import jobs
from hubbub.server.core.outbound_http import ForbiddenTargetError, OutboundClient, UnreachableError, is_public
from hubbub.server.core.outbound_streams import OutboundStreams
from tests.world import WAIT_TIMEOUT_SECONDS

SPECIAL_ADDRESSES = [
    "127.0.0.1",
    "127.8.9.1",
    "0.0.0.0",
    "10.1.2.3",
    "172.16.0.1",
    "192.168.1.1",
    "169.254.169.254",
    "100.64.0.1",
    "224.0.0.1",
    "255.255.255.255",
    "::1",
    "::",
    "fe80::1",
    "fc00::1",
    "fec0::1",
    "feff::1",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "64:ff9b::7f00:1",
    "2002:7f00:1::",
    "fe80::1%eth0",
    "nonsense",
]


@pytest.mark.parametrize("address", SPECIAL_ADDRESSES)
def test_a_special_address_is_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize(
    "address", ["8.8.8.8", "1.1.1.1", "2606:4700:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"]
)
def test_an_ordinary_address_is_public(address: str) -> None:
    assert is_public(address)


class Receiver:
    """A server on the local machine that records the requested paths."""

    def __init__(self) -> None:
        self.requested_paths: list[str] = []
        self.port = 0
        self.barrier = asyncio.Barrier(jobs.ASYNC_JOBS_MAX)
        """Barrier that holds the requests for /together until as many have arrived as the worker can send in parallel."""

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Respond according to the path."""
        self.requested_paths.append(request.path)
        if request.path == "/redirect":
            return web.Response(status=302, headers={"Location": "/secret"})
        if request.path == "/slow":
            await asyncio.sleep(30)
        if request.path == "/together":
            await self.barrier.wait()
        if request.path == "/large":
            return web.Response(body=b"x" * 100_000)
        return web.Response(text="hello")


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    """A running local server; clients for public targets must not reach it."""
    server = Receiver()
    app = web.Application()
    app.router.add_route("*", "/{tail:.*}", server.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    server.port = runner.addresses[0][1]
    yield server
    await runner.cleanup()


@pytest.fixture
async def client() -> AsyncIterator[OutboundClient]:
    """A client for public targets only, as in `hubbub serve`, with a short timeout."""
    client = OutboundClient(timeout_seconds=2.0)
    yield client
    await client.close()


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "localhost", "2130706433", "0x7f000001", "0177.0.0.1", "127.1", "[::1]", "[::ffff:127.0.0.1]", "0"],
)
async def test_the_local_machine_is_unreachable_in_every_notation(
    client: OutboundClient, receiver: Receiver, host: str
) -> None:
    with pytest.raises(UnreachableError):
        await client.request("GET", f"http://{host}:{receiver.port}/secret")

    assert receiver.requested_paths == []


@pytest.mark.parametrize(
    "host",
    [
        "127.1",
        "2130706433",
        "0177.0.0.1",
        "0x7f.1",
        "0x7f000001",
        "0",
        "127.0.0.1.",
        "127.0.0.256",
        "1.2.3.4.5",
        "１２７.１",
        "127。1",
        "example.0x7f",
        "8.8.2056",
    ],
)
@pytest.mark.parametrize("allow_private", [False, True])
def test_ambiguous_numeric_hosts_are_rejected_before_resolution(host: str, allow_private: bool) -> None:
    with pytest.raises(ForbiddenTargetError, match="neither a host name nor an IP address"):
        OutboundClient(allow_private=allow_private).check(f"http://{host}:8080/")
    with pytest.raises(ForbiddenTargetError, match="neither a host name nor an IP address"):
        OutboundStreams(allow_private=allow_private).request("GET", URL(f"http://{host}/"), headers={}, body=None)


@pytest.mark.parametrize("host", ["8.8.8.8", "[2606:4700:4700::1111]", "example.org", "1.example.org", "0x7f.example"])
async def test_plain_names_and_addresses_pass_the_syntax_check(client: OutboundClient, host: str) -> None:
    assert client.check(f"https://{host}/hook").host == host.strip("[]")


async def test_a_name_that_resolves_to_the_local_machine_is_rejected(
    client: OutboundClient, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    responses = iter([("203.0.113.5",), ("127.0.0.1",)])

    async def rebinding(host: str, port: int, **_: Any) -> list[Any]:
        # DNS rebinding: a harmless address first, then a local one.
        (address,) = next(responses)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", rebinding, raising=False)
    for _ in range(2):
        with pytest.raises(UnreachableError):
            await client.request("GET", f"http://harmless.example:{receiver.port}/secret")

    assert receiver.requested_paths == []


@pytest.mark.parametrize(
    "url", ["ftp://example.org", "file:///etc/passwd", "http://", "http://user:pass@example.org/", "nothing"]
)
async def test_other_url_schemes_and_credentials_are_rejected(client: OutboundClient, url: str) -> None:
    with pytest.raises(ForbiddenTargetError):
        await client.request("GET", url)


async def test_a_rehearsal_can_call_the_local_machine_but_follows_no_redirect(receiver: Receiver) -> None:
    client = OutboundClient(allow_private=True, timeout_seconds=WAIT_TIMEOUT_SECONDS)

    assert (await client.request("POST", f"http://127.0.0.1:{receiver.port}/hello", body=b"{}")).body == b"hello"
    assert (await client.request("GET", f"http://localhost:{receiver.port}/redirect")).status == 302
    assert "/secret" not in receiver.requested_paths
    await client.close()


async def test_time_and_size_are_bounded(receiver: Receiver) -> None:
    short_timeout_client = OutboundClient(allow_private=True, timeout_seconds=0.2)
    small_response_client = OutboundClient(
        allow_private=True, timeout_seconds=WAIT_TIMEOUT_SECONDS, response_bytes_max=1000
    )

    with pytest.raises(UnreachableError):
        await short_timeout_client.request("GET", f"http://127.0.0.1:{receiver.port}/slow")
    with pytest.raises(UnreachableError, match="too large"):
        await small_response_client.request("GET", f"http://127.0.0.1:{receiver.port}/large")
    await short_timeout_client.close()
    await small_response_client.close()


async def test_the_client_permits_as_many_concurrent_requests_as_the_worker(receiver: Receiver) -> None:
    client = OutboundClient(allow_private=True, timeout_seconds=WAIT_TIMEOUT_SECONDS)
    url = f"http://127.0.0.1:{receiver.port}/together"

    # The server responds only after all requests have arrived.
    responses = await asyncio.gather(*(client.request("GET", url) for _ in range(jobs.ASYNC_JOBS_MAX)))

    assert {response.status for response in responses} == {200}
    await client.close()

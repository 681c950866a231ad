"""Reasons why an endpoint of an application cannot be verified."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import pytest_asyncio
from aiohttp import web
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hubbub.server.commands import certificates
from hubbub.server.core.outbound_http import OutboundClient
from hubbub.server.identity.applications.addresses import endpoints
from tests.world import NOW_MS

KEY = Ed25519PrivateKey.from_private_bytes(bytes(32))
SIGNER = endpoints.EndpointSigner(endpoints.ApplicationId(1), KEY.private_bytes_raw(), NOW_MS)

Handler = Callable[[web.Request], Awaitable[web.Response]]


@pytest_asyncio.fixture
async def client() -> AsyncIterator[OutboundClient]:
    client = OutboundClient(allow_private=True, timeout_seconds=5)
    yield client
    await client.close()


@asynccontextmanager
async def run_endpoint(handler: Handler, tls: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    """Run an endpoint with this handler and return its URL."""
    app = web.Application()
    app.router.add_post("/here", handler)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls).start()
    try:
        yield f"{'https' if tls else 'http'}://127.0.0.1:{runner.addresses[0][1]}/here"
    finally:
        await runner.cleanup()


def fixed_response(status: int, text: str = "", headers: dict[str, str] | None = None) -> Handler:
    """Return a handler that responds to every request in the same way, without verifying signatures."""

    async def handler(_: web.Request) -> web.Response:
        return web.Response(status=status, text=text, headers=headers)

    return handler


@pytest.mark.parametrize(
    ("handler", "reason", "next_step"),
    [
        (
            fixed_response(302, headers={"Location": "/elsewhere"}),
            "a redirect (status 302) to “/elsewhere”",
            "the final URL",
        ),
        (fixed_response(404, "no\npage\x07"), "status 404 instead of 200: “no page”", "accepts POST"),
        (fixed_response(500, "x" * 1000), f"status 500 instead of 200: “{'x' * 199}…”", "the log of your server"),
        (fixed_response(401), "status 401 instead of 200.", "this application's public key"),
        (fixed_response(204), "status 204 instead of 200.", "type 1"),
        (fixed_response(200, "[1]"), "without a PONG: “[1]”", 'Respond with the JSON {"type": 1}.'),
        (fixed_response(200), "without a PONG: the body is empty", 'Respond with the JSON {"type": 1}.'),
        (
            fixed_response(200, '{"type": 1}'),
            "status 200 instead of 401 to a PING with an invalid signature",
            "X-Signature",
        ),
    ],
)
async def test_a_wrong_response_is_named_with_the_next_step(
    client: OutboundClient, handler: Handler, reason: str, next_step: str
) -> None:
    async with run_endpoint(handler) as url:
        problem = await endpoints.find_interactions_problem(client, url, SIGNER)

    assert problem is not None
    assert reason in problem
    assert next_step in problem


async def test_an_endpoint_that_checks_signatures_has_no_problem(client: OutboundClient) -> None:
    async def handler(request: web.Request) -> web.Response:
        message = request.headers["X-Signature-Timestamp"].encode() + await request.read()
        if KEY.sign(message).hex() != request.headers["X-Signature-Ed25519"]:
            return web.Response(status=401)
        is_interaction = "token" in json.loads(await request.read())
        return web.json_response({"type": 1}) if is_interaction else web.Response(status=204)

    async with run_endpoint(handler) as url:
        assert await endpoints.find_interactions_problem(client, url, SIGNER) is None
        assert await endpoints.find_events_problem(client, url, SIGNER) is None


async def test_a_refused_connection_names_host_and_port(client: OutboundClient) -> None:
    async with run_endpoint(fixed_response(204)) as url:
        pass

    problem = await endpoints.find_events_problem(client, url, SIGNER)

    assert problem is not None
    assert "The connection to 127.0.0.1, port" in problem
    assert "was refused" in problem


async def test_an_unknown_host_name_is_a_dns_problem(client: OutboundClient) -> None:
    problem = await endpoints.find_events_problem(client, "https://nowhere.invalid/", SIGNER)

    assert problem is not None
    assert "DNS has no address for the host name nowhere.invalid." in problem


async def test_a_private_address_is_not_allowed() -> None:
    client = OutboundClient()

    problem = await endpoints.find_events_problem(client, "http://127.0.0.1/", SIGNER)

    await client.close()
    assert problem is not None
    assert "127.0.0.1 is not a public address. Enter a public http or https URL." in problem


async def test_a_missing_response_is_a_timeout() -> None:
    client = OutboundClient(allow_private=True, timeout_seconds=0.05)
    release_event = asyncio.Event()

    async def handler(_: web.Request) -> web.Response:
        await release_event.wait()
        return web.Response(status=204)

    async with run_endpoint(handler) as url:
        problem = await endpoints.find_events_problem(client, url, SIGNER)
        release_event.set()

    await client.close()
    assert problem is not None
    assert "No response arrived within" in problem


async def test_an_untrusted_certificate_is_a_tls_problem(client: OutboundClient, tmp_path: Path) -> None:
    files = certificates.issue(tmp_path, [])
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(files.certificate_path, files.key_path)
    async with run_endpoint(fixed_response(204), tls) as url:
        problem = await endpoints.find_events_problem(client, url, SIGNER)

    assert problem is not None
    assert "The TLS connection failed:" in problem
    assert "certificate" in problem

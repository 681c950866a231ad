"""`hubbub doctor --url` checks a deployment from outside and names the next step of every problem.

tests/deploy/test_proxies.py runs it through real proxies."""

import contextlib
import socket
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web

from hubbub.server import cli, deployment
from hubbub.server.commands import certificates
from hubbub.server.deployment.account_checks import check_packets
from hubbub.server.terminal import Finding
from tests.contract.shell import choose_free_port
from tests.journeys.processes import running_server


async def check_deployment(url: str, token: str | None = None) -> dict[str, Finding]:
    """Check the deployment at a URL, and return the findings by subject."""
    return {finding.subject: finding async for finding in deployment.run_checks(url, token)}


async def test_a_server_without_a_proxy_has_no_problems(tmp_path: Path) -> None:
    async with running_server(tmp_path, "dev") as server:
        findings = await check_deployment(server.url)
        assert {subject: each.level for subject, each in findings.items() if each.level != "ok"} == {
            "metrics": "note",
            "account": "note",
        }

        found_with_token = await check_deployment(server.url, server.document["users"]["alice"]["token"])
        assert [found_with_token[subject].level for subject in ("upload", "cdn range")] == ["ok", "ok"]
        # The certificate of a rehearsal is not trusted by this process.
        assert found_with_token["voice"].message.startswith("TLS with ")
        assert "set SSL_CERT_FILE" in found_with_token["voice"].fix

        assert (await check_deployment(server.url, "invalid"))["account"].message.endswith("401 401: Unauthorized")


async def test_an_address_without_a_server_is_a_problem() -> None:
    [finding] = (await check_deployment(f"http://127.0.0.1:{choose_free_port()}")).values()
    assert (finding.level, finding.subject) == ("problem", "api")
    assert finding.message.startswith("cannot connect to 127.0.0.1:")
    assert finding.fix == "check the firewall, and that the proxy is running"


@contextlib.asynccontextmanager
async def run_website(tls: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    """Run another program that serves a text at every path, and yield its URL."""

    async def page(_: web.Request) -> web.Response:
        return web.Response(text="hello")

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", page)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        port = choose_free_port()
        await web.TCPSite(runner, "127.0.0.1", port, ssl_context=tls).start()
        yield f"{'http' if tls is None else 'https'}://127.0.0.1:{port}"
    finally:
        await runner.cleanup()


async def test_a_certificate_that_is_not_trusted_is_a_problem(tmp_path: Path) -> None:
    files = certificates.issue(tmp_path, [])
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(files.certificate_path, files.key_path)
    async with run_website(tls) as url:
        [finding] = (await check_deployment(url)).values()
    assert (finding.level, finding.message.partition(":")[0]) == ("problem", "TLS with 127.0.0.1"), finding
    assert "fullchain.pem" in finding.fix


async def test_another_program_at_the_url_is_a_problem() -> None:
    async with run_website() as url:
        [finding] = (await check_deployment(url)).values()
    assert finding.message == "the response with status 200 does not come from Hubbub"


@contextlib.asynccontextmanager
async def run_failing_deployment(*, stops_listening: bool) -> AsyncIterator[str]:
    """Run a program whose API responds like Hubbub and whose gateway does not, and yield its URL.

    With `stops_listening` it refuses connections after that of the gateway."""
    port = choose_free_port()
    url = f"http://127.0.0.1:{port}"

    async def respond(_: web.Request) -> web.Response:
        response = web.json_response({"url": f"ws://127.0.0.1:{port}/gateway"}, headers={"X-Request-Id": "1"})
        response.force_close()
        return response

    async def send_text(request: web.Request) -> web.WebSocketResponse:
        if stops_listening:
            await site.stop()
        websocket = web.WebSocketResponse()
        await websocket.prepare(request)
        await websocket.send_str("hello")
        await websocket.close()
        return websocket

    app = web.Application()
    app.router.add_get("/gateway", send_text)
    app.router.add_route("*", "/{path:.*}", respond)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", port)
        await site.start()
        yield url
    finally:
        await runner.cleanup()


async def test_a_gateway_that_sends_no_json_is_not_that_of_hubbub() -> None:
    async with run_failing_deployment(stops_listening=False) as url:
        findings = await check_deployment(url)
    assert findings["gateway"].message == "the response with status 101 does not come from Hubbub"


async def test_a_refused_connection_is_not_reported_as_a_limit_of_the_body_size() -> None:
    async with run_failing_deployment(stops_listening=True) as url:
        findings = await check_deployment(url)
    assert findings["body size"].message.startswith("cannot connect to 127.0.0.1:")


async def test_a_closed_voice_port_is_a_problem() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as closed_socket:
        closed_socket.bind(("127.0.0.1", 0))
        port = closed_socket.getsockname()[1]
    finding = await check_packets("127.0.0.1", port, 1)
    assert (finding.level, finding.message) == ("problem", f"no response from UDP 127.0.0.1:{port}")
    assert "--voice-public-address" in finding.fix


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("chat.example.org", "is not a URL; use the form https://chat.example.org"),
        ("ftp://chat.example.org", "is not a URL; use the form https://chat.example.org"),
        ("https://chat.example.org/app", "contains a path; use https://chat.example.org"),
    ],
)
def test_an_invalid_url_is_rejected(url: str, problem: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["doctor", "--url", url]) == 2
    assert capsys.readouterr().err == f"hubbub: --url {url} {problem}\n"


def test_a_missing_or_invalid_token_file_is_rejected(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "token"
    arguments = ["doctor", "--url", "https://chat.example.org", "--token-file", str(path)]
    assert cli.main(arguments) == 2
    assert capsys.readouterr().err.endswith("cannot be read: No such file or directory\n")
    path.write_text("two words\n")
    assert cli.main(arguments) == 2
    assert "does not contain a token" in capsys.readouterr().err

"""The example configurations of nginx and Caddy in the real programs, and faults of proxies that the doctor names."""

import asyncio
import contextlib
import json
import os
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, Final

import aiohttp
import pytest

from hubbub.server.commands import certificates
from tests.contract.language import ROOT
from tests.contract.shell import choose_free_port
from tests.fixtures.programs import find_program
from tests.journeys.processes import Server

TIMEOUT_SECONDS: Final = 60.0
PROXY_NAMES: Final = ("nginx", "caddy")

BARE_PROXY: Final = """
server {
    listen 127.0.0.1:%(port)d;
    location / {
        proxy_pass http://127.0.0.1:%(upstream_port)d;
        proxy_set_header Host $http_host;
        add_header Access-Control-Allow-Origin * always;
    }
}
"""
"""An nginx configuration that lacks the settings for WebSockets and uploads, and repeats a header of the server."""


class Deployment:
    """A server behind a proxy."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = choose_free_port()
        self.files = certificates.issue(folder / "tls", ["localhost"])
        self.url = f"https://localhost:{self.port}"
        self.voice_port = choose_free_port()
        self.server: Server = Server(
            folder,
            "serve",
            *("--data", str(folder / "data"), "--public-url", self.url, "--http-trusted-proxies", "1"),
            *("--log-requests", "true", "--log-format", "json", "--gateway-drain-ms", "0"),
            *("--voice-endpoint", f"127.0.0.1:{self.port}", "--voice-port", str(self.voice_port)),
        )
        # The ready file contains the public port, so the port of the server itself is chosen here.
        self.upstream_port = self.server.port = choose_free_port()
        self.tls = ssl.create_default_context(cafile=str(self.files.authority_path))

    async def register_user(self) -> str:
        """Register a user and return their token."""
        body = {"username": "mary", "password": "correct horse"}
        async with (
            aiohttp.ClientSession() as client,
            client.post(f"http://127.0.0.1:{self.upstream_port}/api/v10/auth/register", json=body) as response,
        ):
            token: str = (await response.json())["token"]
            return token

    async def run_doctor(self, url: str, token: str) -> tuple[int, dict[str, tuple[str, str]]]:
        """Run `hubbub doctor --url`; return its exit code, and level and text of each finding by subject."""
        (self.folder / "token").write_text(token)
        arguments = ["doctor", "--url", url, "--token-file", str(self.folder / "token")]
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "hubbub.server.cli", *arguments),
            env={name: value for name, value in os.environ.items() if not name.startswith("HUBBUB_")}
            | {"SSL_CERT_FILE": str(self.files.authority_path), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            stdout=asyncio.subprocess.PIPE,
        )
        output, _ = await process.communicate()
        # Columns of a line: level, subject and text. An indented line continues the text.
        findings: dict[str, tuple[str, str]] = {}
        subject = ""
        for line in output.decode().splitlines()[:-1]:
            if not line.startswith(" "):
                subject = line[9:19].strip()
                findings[subject] = (line[:8].strip(), line[20:])
            else:
                findings[subject] = (findings[subject][0], findings[subject][1] + line.strip())
        assert process.returncode is not None
        return process.returncode, findings


@contextlib.asynccontextmanager
async def run_proxy(command: list[str], port: int, folder: Path, **environ: str) -> AsyncIterator[None]:
    """Run a proxy until the end of the block."""
    log = folder / "proxy.log"
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, cwd=folder, env=os.environ | environ)
    try:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            while True:
                assert process.poll() is None, log.read_text()
                try:
                    _, writer = await asyncio.open_connection("127.0.0.1", port)
                    writer.close()
                    break
                except OSError:
                    await asyncio.sleep(0.02)
        yield
    finally:
        process.terminate()
        process.wait(TIMEOUT_SECONDS)


def program_path(name: str) -> str:
    """Return the path of an installed proxy."""
    path = find_program(name)
    assert path is not None, name
    return path


def nginx_command(folder: Path, servers: str) -> list[str]:
    """Return the command that runs nginx with some `server` blocks, in a folder and without access to system folders."""
    temporary = "".join(
        f"{kind}_temp_path {folder}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    user = "user root;\n" if os.getuid() == 0 else ""
    (folder / "nginx.conf").write_text(
        f"{user}daemon off;\npid {folder}/nginx.pid;\nerror_log stderr;\nevents {{}}\n"
        f"http {{\naccess_log off;\n{temporary}{servers}\n}}\n"
    )
    return [program_path("nginx"), "-p", str(folder), "-e", "stderr", "-c", str(folder / "nginx.conf")]


def nginx_example(deployment: Deployment) -> tuple[list[str], dict[str, str]]:
    """Return command and environment of nginx with the example, in which ports, names and certificates are replaced."""
    example = (ROOT / "deploy" / "nginx" / "hubbub.conf").read_text()
    plain_port = choose_free_port()
    for shown_address, real in {
        "listen [::]:80;": "",
        "listen [::]:443 ssl http2;": "",
        "listen 80;": f"listen 127.0.0.1:{plain_port};",
        "listen 443 ssl http2;": f"listen 127.0.0.1:{deployment.port} ssl http2;",
        "server_name voice.chat.example.org;": "server_name 127.0.0.1;",
        "server_name chat.example.org;": "server_name localhost;",
        "server 127.0.0.1:8080;": f"server 127.0.0.1:{deployment.upstream_port};",
        "server 127.0.0.1:8081;": f"server 127.0.0.1:{deployment.voice_port};",
        "/etc/letsencrypt/live/chat.example.org/fullchain.pem": str(deployment.files.certificate_path),
        "/etc/letsencrypt/live/chat.example.org/privkey.pem": str(deployment.files.key_path),
    }.items():
        assert shown_address in example, shown_address
        example = example.replace(shown_address, real)
    return nginx_command(deployment.folder, example), {}


def caddy_command(folder: Path, files: certificates.CertificateFiles) -> tuple[list[str], dict[str, str]]:
    """Return command and environment of Caddy with the example, to which a certificate is added.

    The environment does not contain the addresses that the example reads."""
    options = f"{{\n\tadmin off\n\tauto_https disable_redirects\n\thttp_port {choose_free_port()}\n}}\n"
    example = (ROOT / "deploy" / "caddy" / "Caddyfile").read_text()
    certificate = f"\n\ttls {files.certificate_path} {files.key_path}\n"
    for site in ("{$CHAT_HOST:chat.example.org} {\n", "{$VOICE_HOST:voice.chat.example.org} {\n"):
        assert site in example
        example = example.replace(site, site + certificate)
    (folder / "Caddyfile").write_text(options + example)
    command = [program_path("caddy"), "run", "--adapter", "caddyfile", "--config", str(folder / "Caddyfile")]
    return command, dict.fromkeys(("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"), str(folder))


def caddy_example(deployment: Deployment) -> tuple[list[str], dict[str, str]]:
    """Return command and environment of Caddy with the example and the addresses of a deployment."""
    command, environ = caddy_command(deployment.folder, deployment.files)
    return command, environ | {
        "CHAT_HOST": f"https://localhost:{deployment.port}",
        "VOICE_HOST": f"https://127.0.0.1:{deployment.port}",
        "API_ADDRESS": f"127.0.0.1:{deployment.upstream_port}",
        "GATEWAY_ADDRESS": f"127.0.0.1:{deployment.upstream_port}",
        "VOICE_ADDRESS": f"127.0.0.1:{deployment.voice_port}",
    }


EXAMPLES: Final[dict[str, Callable[[Deployment], tuple[list[str], dict[str, str]]]]] = {
    "nginx": nginx_example,
    "caddy": caddy_example,
}


@pytest.fixture
async def deployment(tmp_path: Path) -> AsyncIterator[Deployment]:
    """A running server that expects one proxy."""
    deployment = Deployment(tmp_path)
    try:
        await deployment.server.start()
        yield deployment
    finally:
        deployment.server.stop()


async def send_files_through_proxy(deployment: Deployment, token: str, count: int, size: int) -> Any:
    """Send a message with files through the proxy from another address, with a forged header, and return it."""
    connector = aiohttp.TCPConnector(local_addr=("127.0.0.2", 0), ssl=deployment.tls)
    headers = {"Authorization": token, "X-Forwarded-For": "203.0.113.9"}
    async with aiohttp.ClientSession(deployment.url, connector=connector, headers=headers) as client:
        async with client.post("/api/v10/guilds", json={"name": "Home"}) as response:
            guild_id = (await response.json())["id"]
        async with client.get(f"/api/v10/guilds/{guild_id}/channels") as response:
            channel_id = next(channel["id"] for channel in await response.json() if channel["type"] == 0)
        form = aiohttp.FormData()
        for index in range(count):
            form.add_field(f"files[{index}]", bytes(size), filename=f"{index}.bin")
        async with client.post(f"/api/v10/channels/{channel_id}/messages", data=form) as response:
            assert response.status == 200, await response.text()
            return await response.json()


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.program(name)) for name in PROXY_NAMES])
async def test_the_example_of_a_proxy_passes_all_checks(deployment: Deployment, name: str) -> None:
    token = await deployment.register_user()
    command, environ = EXAMPLES[name](deployment)
    async with run_proxy(command, deployment.port, deployment.folder, **environ):
        code, findings = await deployment.run_doctor(deployment.url, token)
        assert {subject: found for subject, found in findings.items() if found[0] != "ok"} == {}
        assert code == 0
        assert set(findings) >= {"api", "gateway", "body size", "upload", "cdn range", "cors", "voice", "metrics"}
        assert findings["metrics"][1] == "/metrics is not public"

        message = await send_files_through_proxy(deployment, token, count=3, size=8 * 1024**2)
        assert [attachment["size"] for attachment in message["attachments"]] == 3 * [8 * 1024**2]

    records = [json.loads(line) for line in deployment.server.log_text().splitlines() if '"client_address"' in line]
    addresses = {record["message"]: record["client_address"] for record in records}
    assert addresses["POST /guilds 201"] == "127.0.0.2"
    assert {record["client_address"] for record in records} == {"127.0.0.1", "127.0.0.2"}


@pytest.mark.program("nginx")
async def test_the_doctor_names_what_a_bare_proxy_breaks(deployment: Deployment) -> None:
    token = await deployment.register_user()
    port = choose_free_port()
    command = nginx_command(deployment.folder, BARE_PROXY % {"port": port, "upstream_port": deployment.upstream_port})
    async with run_proxy(command, port, deployment.folder):
        code, findings = await deployment.run_doctor(f"http://127.0.0.1:{port}", token)
        async with aiohttp.ClientSession() as client, client.get(f"http://127.0.0.1:{port}/gateway") as response:
            assert response.status == 426
            assert "a proxy removed the header" in (await response.json())["message"]
    assert code == 1
    for subject, part in {
        "public url": f"set --public-url http://127.0.0.1:{port}",
        "gateway": "the proxy removes the Upgrade header",
        "body size": "client_max_body_size 110m",
        "cors": "remove the header from the proxy's configuration",
        "upload": "413",
    }.items():
        level, text = findings[subject]
        assert (level, part in text) == ("problem", True), (subject, text)
    assert findings["metrics"] == ("note", "/metrics is public-> block this path in the proxy")


@pytest.mark.program("nginx")
async def test_the_doctor_names_a_proxy_without_a_server(deployment: Deployment) -> None:
    port = choose_free_port()
    command = nginx_command(deployment.folder, BARE_PROXY % {"port": port, "upstream_port": choose_free_port()})
    async with run_proxy(command, port, deployment.folder):
        code, findings = await deployment.run_doctor(f"http://127.0.0.1:{port}", "token")
    assert code == 1
    assert list(findings) == ["api"]
    assert findings["api"][1].startswith("the proxy responded with 502-> start Hubbub")

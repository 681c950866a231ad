"""The deployment that is checked: its URL, an HTTP client, and explanations of connection errors."""

import asyncio
import ssl
import sys
from pathlib import Path
from typing import Any, Final, Self
from urllib.parse import urlsplit

import aiohttp

from hubbub.server.terminal import Finding, describe_connection_error

REQUEST_TIMEOUT_SECONDS: Final = 20.0
UPLOAD_TIMEOUT_SECONDS: Final = 120.0
CONNECTION_ERRORS: Final = (aiohttp.ClientError, OSError, TimeoutError)
"""Errors of a request whose response cannot be read."""
_UNREACHABLE_STATUSES: Final = (502, 503, 504)
"""Statuses with which proxies report that the server behind them does not respond."""
_LOOPBACK_HOSTS: Final = ("localhost", "127.0.0.1", "::1")
"""Hosts whose certificate hubbub dev may have issued."""


class DeploymentTarget:
    """A deployment and the HTTP client that checks it."""

    def __init__(self, url: str, token: str | None) -> None:
        self.url = url
        """Public URL without a trailing slash."""
        self.token = token
        """Token of a user, or None."""
        self._client: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        self._client = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=REQUEST_TIMEOUT_SECONDS))
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.client.close()

    @property
    def client(self) -> aiohttp.ClientSession:
        """The HTTP client, which is only available inside the context manager."""
        assert self._client is not None
        return self._client

    @property
    def api(self) -> str:
        """The base URL of the HTTP API."""
        return f"{self.url}/api/v10"

    @property
    def gateway(self) -> str:
        """The gateway URL that belongs to the public URL."""
        scheme, _, host_and_path = self.url.partition("://")
        return f"{'wss' if scheme == 'https' else 'ws'}://{host_and_path}/gateway"

    @property
    def is_local(self) -> bool:
        """Whether the URL names this machine."""
        return urlsplit(self.url).hostname in ("localhost", "127.0.0.1", "::1")

    async def request(self, method: str, path: str, **options: Any) -> tuple[int, Any]:
        """Send an API request with the token and return the status and the decoded body."""
        headers = {"Authorization": self.token or ""}
        async with self.client.request(method, f"{self.api}{path}", headers=headers, **options) as response:
            return response.status, await response.json(content_type=None) if response.status != 204 else None


def parse_url(text: str) -> str:
    """Return a public URL without its trailing slash; raise ValueError if it is not the root of a website."""
    url_parts = urlsplit(text)
    if url_parts.scheme not in ("http", "https") or not url_parts.hostname:
        raise ValueError(f"--url {text} is not a URL; use the form https://chat.example.org")
    if url_parts.path.rstrip("/") or url_parts.query or url_parts.fragment:
        raise ValueError(f"--url {text} contains a path; use {url_parts.scheme}://{url_parts.netloc}")
    return f"{url_parts.scheme}://{url_parts.netloc}"


def read_token(path: Path) -> str:
    """Return the token in a file, or in standard input if the path is `-`; raise ValueError if there is none."""
    try:
        token = (sys.stdin.readline() if str(path) == "-" else path.read_text()).strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise ValueError(f"--token-file {path} cannot be read: {reason}") from None
    if not token or any(character.isspace() for character in token):
        raise ValueError(f"--token-file {path} does not contain a token; write the token of a user to it")
    return token


def connection_problem(subject: str, url: str, error: BaseException) -> Finding:
    """Return the finding of a failed connection."""
    host = urlsplit(url).netloc
    if isinstance(error, aiohttp.ClientConnectorCertificateError | aiohttp.ClientConnectorSSLError | ssl.SSLError):
        reason = getattr(error, "certificate_error", None) or getattr(error, "os_error", None) or error
        fix = "install a certificate for this host with its intermediate certificates (fullchain.pem)"
        if urlsplit(url).hostname in _LOOPBACK_HOSTS:
            fix = (
                "hubbub dev has its own certificate authority: set SSL_CERT_FILE to the path at voice.authority in its "
                "ready file; for hubbub serve, " + fix
            )
        return Finding(
            "problem",
            subject,
            f"TLS with {host} failed: {getattr(reason, 'verify_message', '') or reason}",
            fix,
        )
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return Finding("problem", subject, f"the name {host} does not resolve", "create its DNS records")
    if isinstance(error, TimeoutError | asyncio.TimeoutError):
        return Finding(
            "problem", subject, f"{host} did not respond in time", "check the firewall, the proxy and the server's log"
        )
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return Finding("problem", subject, f"{host} closed the connection", "check the log of the proxy")
    return Finding(
        "problem",
        subject,
        f"cannot connect to {host}: {describe_connection_error(error)}",
        "check the firewall, and that the proxy is running",
    )


def status_problem(subject: str, status: int) -> Finding:
    """Return the finding of a status that does not come from Hubbub."""
    if status in _UNREACHABLE_STATUSES:
        return Finding(
            "problem",
            subject,
            f"the proxy responded with {status}",
            "start Hubbub, and compare the proxy's upstream address with --host and --port",
        )
    return Finding(
        "problem",
        subject,
        f"the response with status {status} does not come from Hubbub",
        "forward all paths of this host to Hubbub",
    )

"""The OpenID Connect provider `oidc-provider` in a Node process: an implementation that is independent of this project."""

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urljoin, urlsplit

import aiohttp
import pytest
from joserfc.jwk import ECKey, RSAKey
from yarl import URL

from hubbub.server.core.login_config import LoginProviderConfig
from tests.contract.shell import choose_free_port
from tests.pages import Page

JS_FOLDER = Path(__file__).parent / "clients" / "js"

REQUIRES_INDEPENDENT_PROVIDER = [
    pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not installed"),
    pytest.mark.skipif(
        not (JS_FOLDER / "node_modules" / "oidc-provider").is_dir(),
        reason="oidc-provider is not installed: make client-deps",
    ),
]
"""Marks of tests that skip them where the provider is not installed."""

CLIENT_ID, CLIENT_SECRET = "hubbub", "secret of the client: 100% & more +"
CLAIMS = {
    "name": "Mary Stone",
    "preferred_username": "Mary.Stone",
    "email": "mary@example.org",
    "email_verified": True,
}
"""Claims of every user of the provider; the ID of a user is the name of the login."""


class IndependentProvider:
    """A provider on its own port. A restart keeps the port and forgets the sessions."""

    def __init__(self) -> None:
        self.port = choose_free_port()
        self.client: dict[str, Any] = {"client_id": CLIENT_ID, "client_secret": CLIENT_SECRET}
        """Metadata of the client, with the redirect URIs of the server that uses the provider."""
        self.keys: list[dict[str, Any]] = []
        """Private keys; the provider signs with the first one that fits the algorithm of the client."""
        self.configuration: dict[str, Any] = {}
        """Settings of the provider that replace those of the program."""
        self.errors: list[dict[str, str]] = []
        """Requests that the provider rejected, with its explanations."""
        self._process: asyncio.subprocess.Process | None = None
        self._reader: asyncio.Task[None] | None = None

    @property
    def url(self) -> str:
        """The issuer URL."""
        return f"http://127.0.0.1:{self.port}"

    def settings(self, **fields: Any) -> LoginProviderConfig:
        """Return the settings of a server that uses this provider."""
        defaults = {"id": "work", "name": "Work", "issuer": self.url, "client_id": CLIENT_ID}
        return LoginProviderConfig(**{**defaults, "client_secret": CLIENT_SECRET, **fields})

    def register(self, web_url: str, **metadata: Any) -> None:
        """Register the client of a server with its redirect URIs; takes effect with the next start.

        Metadata that is None is left out."""
        self.client |= {
            "redirect_uris": [f"{web_url}/login/callback/work"],
            "post_logout_redirect_uris": [f"{web_url}/login"],
            **metadata,
        }
        self.client = {name: value for name, value in self.client.items() if value is not None}

    def add_key(self, kind: str) -> str:
        """Put a new key before the others, of the kind RSA or EC, and return its ID."""
        key: Any = RSAKey.generate_key(2048) if kind == "RSA" else ECKey.generate_key("P-256")
        kid = f"{kind}-{len(self.keys)}"
        self.keys.insert(0, {**key.as_dict(private=True), "kid": kid, "use": "sig"})
        return kid

    async def start(self) -> None:
        """Start the process and wait until it listens."""
        settings = {
            "port": self.port,
            "clients": [self.client],
            "claims": CLAIMS,
            "keys": self.keys,
            "configuration": self.configuration,
        }
        self._process = await asyncio.create_subprocess_exec(
            "node",
            "openid_provider.mjs",
            json.dumps(settings),
            cwd=JS_FOLDER,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        assert self._process.stdout is not None
        line = await self._process.stdout.readline()
        assert line, "the provider did not start"
        self._reader = asyncio.create_task(self._read(self._process.stdout))

    async def stop(self) -> None:
        """End the process."""
        if self._process is None or self._reader is None:
            return
        assert self._process.stdin is not None
        self._process.stdin.close()
        await self._process.wait()
        await self._reader
        self._process = None

    async def _read(self, lines: asyncio.StreamReader) -> None:
        while line := await lines.readline():
            self.errors.append(json.loads(line))


class ProviderBrowser:
    """A browser without JavaScript on the pages of a provider, with its own cookies."""

    def __init__(self, provider: IndependentProvider) -> None:
        self.provider = provider
        self.jar = aiohttp.CookieJar(unsafe=True)

    async def open(self, url: str) -> Page:
        """Open a page and follow the redirects within the provider."""
        return await self._follow(await self._request("GET", url))

    async def submit(self, page: Page, number: int = 0, **fields: str) -> Page:
        """Submit a form of a page with these fields and follow the redirects within the provider."""
        form = page.forms[number]
        data = dict(form.values) | fields
        return await self._follow(await self._request("POST", urljoin(page.url, form.action), data))

    async def log_in(self, url: str, name: str = "mary") -> str:
        """Log in at the authorization URL, consent, and return the path and query of the redirect to the server.

        Pages that the provider does not show, because the user is logged in or has consented, are skipped."""
        page = await self.open(url)
        while page.status == 200:
            names = page.forms[0].names
            page = await self.submit(page, **({"login": name, "password": "any"} if "login" in names else {}))
        assert page.status in (302, 303), page.text
        parts = urlsplit(page.location)
        return f"{parts.path}?{parts.query}"

    async def _follow(self, page: Page) -> Page:
        while page.status in (302, 303):
            target = urljoin(page.url, page.location)
            if not target.startswith(f"{self.provider.url}/"):
                break
            page = await self._request("GET", target)
        return page

    async def _request(self, method: str, url: str, data: dict[str, str] | None = None) -> Page:
        headers = {"Content-Type": "application/x-www-form-urlencoded"} if data is not None else None
        body = None if data is None else urlencode(data)
        async with aiohttp.ClientSession(cookie_jar=self.jar) as client:
            async with client.request(
                method, URL(url, encoded=True), headers=headers, data=body, allow_redirects=False
            ) as response:
                return Page(response.status, response.headers, await response.text(), url)

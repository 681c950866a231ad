"""Checks that need no account: API, public URL, readiness, metrics, gateway upgrade, request size, CDN and CORS."""

from collections.abc import AsyncIterator
from typing import Any, Final
from urllib.parse import urlsplit

import aiohttp

from hubbub.protocol.enums import GatewayOpcode
from hubbub.protocol.resources.attachments import ATTACHMENT_BYTES_MAX_BY_TIER
from hubbub.server.deployment.target import (
    CONNECTION_ERRORS,
    UPLOAD_TIMEOUT_SECONDS,
    DeploymentTarget,
    connection_problem,
    status_problem,
)
from hubbub.server.terminal import Finding

UPLOAD_BYTES: Final = ATTACHMENT_BYTES_MAX_BY_TIER[0]
"""Size of the request that must pass the proxy: the default limit of one file."""
TEST_ORIGIN: Final = "https://origin.example"
"""Origin of another website, which may use the API from a browser."""
PNG_SIGNATURE: Final = b"\x89PNG"
REQUEST_ID_HEADER: Final = "X-Request-Id"
"""Header that every API response of Hubbub has; a response without it does not come from Hubbub."""


def is_api_problem(finding: Finding) -> bool:
    """Return whether a finding is that the API does not respond at this URL, which makes all other checks useless."""
    return finding.subject == "api" and finding.level == "problem"


class PublicChecks:
    """The checks of one deployment that need no account."""

    def __init__(self, target: DeploymentTarget) -> None:
        self._target = target

    async def run(self) -> AsyncIterator[Finding]:
        """Run the checks. If the API does not respond at this URL, for example because it redirects, yield only that finding."""
        async for finding in self._check_api():
            yield finding
            if is_api_problem(finding):
                return
        for subject, check in (
            ("ready", self._check_readiness),
            ("metrics", self._check_metrics),
            ("gateway", self._check_gateway),
            ("body size", self._check_body_size),
            ("cdn", self._check_cdn),
            ("cors", self._check_cors),
        ):
            try:
                yield await check()
            except CONNECTION_ERRORS as error:
                yield connection_problem(subject, self._target.url, error)

    async def _check_api(self) -> AsyncIterator[Finding]:
        url = f"{self._target.api}/gateway"
        try:
            async with self._target.client.get(url, allow_redirects=False) as response:
                status, headers = response.status, response.headers
                document: Any = await response.json(content_type=None) if status == 200 else None
        except CONNECTION_ERRORS as error:
            # This clause is before that of ValueError, because certificate errors are also instances of ValueError.
            yield connection_problem("api", url, error)
            return
        except ValueError:
            yield status_problem("api", 200)
            return
        if 300 <= status < 400:
            url_parts = urlsplit(headers.get("Location", ""))
            yield Finding(
                "problem",
                "api",
                f"{self._target.url} redirects to {url_parts.scheme}://{url_parts.netloc}",
                f"check that URL: hubbub doctor --url {url_parts.scheme}://{url_parts.netloc}",
            )
        elif REQUEST_ID_HEADER not in headers or not isinstance(document, dict):
            yield status_problem("api", status)
        else:
            yield Finding("ok", "api", f"HTTP API v10 at {self._target.api}")
            yield self._check_public_url(str(document.get("url", "")))

    def _check_public_url(self, gateway: str) -> Finding:
        if gateway.rstrip("/") != self._target.gateway:
            return Finding(
                "problem", "public url", f"clients are sent to {gateway}", f"set --public-url {self._target.url}"
            )
        if self._target.url.startswith("http://") and not self._target.is_local:
            return Finding(
                "note",
                "public url",
                f"{self._target.url} is not encrypted",
                "configure TLS in the proxy, and use https://",
            )
        return Finding("ok", "public url", f"clients use {gateway}")

    async def _check_readiness(self) -> Finding:
        async with self._target.client.get(f"{self._target.url}/readyz") as response:
            if response.status == 200:
                return Finding("ok", "ready", "database and bus respond")
            text = (await response.text())[:200].strip()
            if response.status in (403, 404):
                return Finding("ok", "ready", "/readyz is not public")
            return Finding(
                "problem", "ready", f"/readyz responded with {response.status}: {text}", "see the server's log"
            )

    async def _check_metrics(self) -> Finding:
        async with self._target.client.get(f"{self._target.url}/metrics") as response:
            if response.status == 200:
                return Finding("note", "metrics", "/metrics is public", "block this path in the proxy")
            return Finding("ok", "metrics", "/metrics is not public")

    async def _check_gateway(self) -> Finding:
        url = f"{self._target.gateway}?v=10&encoding=json"
        try:
            async with self._target.client.ws_connect(url) as websocket:
                message = await websocket.receive()
        except aiohttp.WSServerHandshakeError as error:
            if error.status in (400, 426):
                return Finding(
                    "problem",
                    "gateway",
                    f"the WebSocket upgrade failed with {error.status}: the proxy removes the Upgrade header",
                    "configure the proxy to use HTTP/1.1 and to pass Upgrade and Connection; deploy/nginx has an example",
                )
            return status_problem("gateway", error.status)
        except CONNECTION_ERRORS as error:
            return connection_problem("gateway", url, error)
        if message.type not in (aiohttp.WSMsgType.TEXT, aiohttp.WSMsgType.BINARY):
            return Finding("problem", "gateway", "the connection was closed before Hello", "see the server's log")
        try:
            hello = message.json()
        except ValueError:
            hello = None
        if not isinstance(hello, dict) or hello.get("op") != GatewayOpcode.HELLO:
            return status_problem("gateway", 101)
        return Finding("ok", "gateway", "WebSocket upgrade and Hello")

    async def _check_body_size(self) -> Finding:
        """Send a request that Hubbub rejects for its missing token, and a proxy for its size."""
        size_text = f"{UPLOAD_BYTES // 1024**2} MiB"
        form = aiohttp.FormData()
        form.add_field("files[0]", bytes(UPLOAD_BYTES), filename="probe.bin")
        try:
            async with self._target.client.post(
                f"{self._target.api}/channels/1/messages",
                data=form,
                timeout=aiohttp.ClientTimeout(total=UPLOAD_TIMEOUT_SECONDS),
            ) as response:
                status, is_from_hubbub = response.status, REQUEST_ID_HEADER in response.headers
        except aiohttp.ClientConnectorError as error:
            return connection_problem("body size", self._target.url, error)
        except aiohttp.ClientOSError:
            # The connection was closed while the body was sent.
            status, is_from_hubbub = 413, False
        if is_from_hubbub:
            return Finding("ok", "body size", f"a request of {size_text} passes the proxy")
        if status == 413:
            return Finding(
                "problem",
                "body size",
                f"the proxy rejects a request of {size_text}",
                "raise its limit above http.upload_bytes_max, for example client_max_body_size 110m in nginx",
            )
        return status_problem("body size", status)

    async def _check_cdn(self) -> Finding:
        async with self._target.client.get(f"{self._target.url}/cdn/embed/avatars/0.png") as response:
            if response.status == 200 and (await response.read()).startswith(PNG_SIGNATURE):
                return Finding("ok", "cdn", "serves images")
            return status_problem("cdn", response.status)

    async def _check_cors(self) -> Finding:
        url = f"{self._target.api}/users/@me"
        preflight_headers = {
            "Origin": TEST_ORIGIN,
            "Access-Control-Request-Method": "PATCH",
            "Access-Control-Request-Headers": "authorization",
        }
        async with self._target.client.options(url, headers=preflight_headers) as response:
            status, preflight_origins = response.status, response.headers.getall("Access-Control-Allow-Origin", [])
            allowed_headers = response.headers.get("Access-Control-Allow-Headers", "").lower()
        # `hubbub dev` accepts other websites only with a bearer token (decisions/0077). The token below is invalid,
        # because only the headers of the response matter.
        page_headers = {"Origin": TEST_ORIGIN, "Authorization": "Bearer doctor"}
        async with self._target.client.get(url, headers=page_headers) as response:
            response_origins = response.headers.getall("Access-Control-Allow-Origin", [])
        if len(preflight_origins) > 1 or len(response_origins) > 1:
            return Finding(
                "problem",
                "cors",
                "responses have two Access-Control-Allow-Origin headers, which browsers reject",
                "remove the header from the proxy's configuration; Hubbub sends it",
            )
        if (
            status >= 300
            or preflight_origins != ["*"]
            or response_origins != ["*"]
            or "authorization" not in allowed_headers
        ):
            return Finding(
                "problem",
                "cors",
                "browsers on other websites cannot use the API",
                "forward OPTIONS requests and all Access-Control headers unchanged",
            )
        return Finding("ok", "cors", "other websites can use the API")

"""An OpenID Connect provider for logins: authorization code with PKCE, client authentication and userinfo."""

import base64
import hashlib
import secrets
from typing import Any
from urllib.parse import parse_qsl, unquote_plus, urlencode, urlsplit

import aiohttp
from aiohttp import web

from hubbub.server.core.login_config import LoginProviderConfig
from tests.issuer import Issuer

CLIENT_ID, CLIENT_SECRET = "hubbub", "secret of the client: 100% & more"


class OpenIdProvider(Issuer):
    """A provider on its own port at which one user is logged in, whose claims a test controls."""

    def __init__(self) -> None:
        super().__init__()
        self.subject = "subject-1"
        self.claims: dict[str, Any] = {
            "preferred_username": "Mary.Stone",
            "name": "Mary Stone",
            "email": "mary@example.org",
            "email_verified": True,
        }
        """Claims of the ID token."""
        self.token_changes: dict[str, Any] = {}
        """Claims that replace those of the next ID tokens, such as a wrong nonce; None leaves a claim out."""
        self.userinfo: dict[str, Any] | None = None
        """Response of the userinfo endpoint; None for status 404."""
        self.token_requests: list[tuple[dict[str, str], dict[str, str]]] = []
        """Headers and forms of the requests to the token endpoint."""
        self.signing_key = "one"
        self.id_token: str | None = None
        """ID token that replaces the signed one, or None."""
        self._codes: dict[str, dict[str, str]] = {}

    def settings(self, **fields: Any) -> LoginProviderConfig:
        """Return the settings of a server that uses this provider."""
        defaults = {"id": "work", "name": "Work", "issuer": self.url, "client_id": CLIENT_ID}
        return LoginProviderConfig(**{**defaults, "client_secret": CLIENT_SECRET, **fields})

    async def open(self) -> None:
        await super().open()
        self.discovery_overrides = {
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "userinfo_endpoint": f"{self.url}/userinfo",
            "end_session_endpoint": f"{self.url}/logout?theme=dark",
            "authorization_response_iss_parameter_supported": True,
        }

    async def request_redirect(self, url: str) -> str:
        """Open the authorization URL as a browser and return the path and query of the redirect."""
        async with aiohttp.ClientSession() as client, client.get(url, allow_redirects=False) as response:
            assert response.status == 302, await response.text()
            split_location = urlsplit(response.headers["Location"])
            return f"{split_location.path}?{split_location.query}"

    async def authorize(self, url: str) -> dict[str, str]:
        """Open the authorization URL as a browser and return the fields that complete the login."""
        split_location = urlsplit(await self.request_redirect(url))
        return {"provider_id": split_location.path.rpartition("/")[2], **dict(parse_qsl(split_location.query))}

    async def _handle(self, request: web.Request) -> web.Response:
        handlers = {"/authorize": self._authorize, "/token": self._issue_token, "/userinfo": self._show_userinfo}
        if request.path in handlers and request.path not in self.raw_bodies:
            self.requested_paths.append(request.path)
            return await handlers[request.path](request)
        return await super()._handle(request)

    async def _authorize(self, request: web.Request) -> web.Response:
        query = dict(request.query)
        if (
            query["client_id"] != CLIENT_ID
            or query["response_type"] != "code"
            or "openid" not in query["scope"].split()
        ):
            return web.Response(status=400, text="invalid request")
        if query["code_challenge_method"] != "S256":
            return web.Response(status=400, text="PKCE is required")
        code = secrets.token_urlsafe(16)
        self._codes[code] = query
        parameters = {"code": code, "state": query["state"]}
        if self.discovery_overrides["authorization_response_iss_parameter_supported"]:
            parameters["iss"] = self.url
        raise web.HTTPFound(f"{query['redirect_uri']}?{urlencode(parameters)}")

    async def _issue_token(self, request: web.Request) -> web.Response:
        form = {name: str(value) for name, value in (await request.post()).items()}
        self.token_requests.append((dict(request.headers), form))
        if self._read_client(request, form) != (CLIENT_ID, CLIENT_SECRET):
            return web.json_response({"error": "invalid_client"}, status=401)
        query = self._codes.pop(form["code"], None)
        challenge = base64.urlsafe_b64encode(hashlib.sha256(form["code_verifier"].encode()).digest()).rstrip(b"=")
        if query is None or (query["redirect_uri"], query["code_challenge"]) != (
            form["redirect_uri"],
            challenge.decode(),
        ):
            return web.json_response({"error": "invalid_grant"}, status=400)
        claims = {"aud": CLIENT_ID, "nonce": query["nonce"], **self.claims, **self.token_changes}
        id_token = self.id_token or self.sign_token(self.subject, key=self.signing_key, **claims)
        return web.json_response({"access_token": "access", "token_type": "Bearer", "id_token": id_token})

    @staticmethod
    def _read_client(request: web.Request, form: dict[str, str]) -> tuple[str, str]:
        header = request.headers.get("Authorization", "")
        if header.startswith("Basic "):
            client_id, _, secret = base64.b64decode(header[6:]).decode().partition(":")
            return unquote_plus(client_id), unquote_plus(secret)
        return form.get("client_id", ""), form.get("client_secret", "")

    async def _show_userinfo(self, request: web.Request) -> web.Response:
        if self.userinfo is None or request.headers.get("Authorization") != "Bearer access":
            return web.Response(status=404)
        return web.json_response(self.userinfo)

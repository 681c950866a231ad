"""Identity providers for tests: one that does as it is told, and the stand-ins of a rehearsal."""

from typing import Any

import aiohttp
from aiohttp import web
from joserfc import jwt
from joserfc.jwk import ECKey, OctKey, RSAKey

from hubbub.server.app import App
from hubbub.server.control import Control
from tests.oauth import Client
from tests.world import NOW_MS, Actor, Answer, World


class Issuer:
    """An OIDC issuer on a port of its own: what it shows and how it signs is up to the test."""

    def __init__(self) -> None:
        self.port = 0
        self.asked: list[str] = []
        """The paths that were fetched."""
        self.keys: dict[str, Any] = {"one": ECKey.generate_key("P-256", parameters={"kid": "one"})}
        self.discovery: dict[str, Any] = {}
        """What the discovery document says otherwise."""
        self.redirects: dict[str, str] = {}
        """Paths that lead elsewhere."""
        self.raw: dict[str, bytes] = {}
        """Paths that answer with exactly this."""
        self._runner: web.AppRunner | None = None

    @property
    def url(self) -> str:
        """Its name."""
        return f"http://127.0.0.1:{self.port}"

    async def open(self) -> None:
        """Listen."""
        app = web.Application()
        app.router.add_route("*", "/{tail:.*}", self._answer)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self.port, reuse_address=True).start()
        self.port = self._runner.addresses[0][1]

    async def close(self) -> None:
        """Be gone."""
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    def token(
        self, sub: str = "player", *, key: str = "one", header: Any = None, alg: str = "ES256", **claims: Any
    ) -> str:
        """An ID token; claims that are None are left out."""
        now = NOW_MS // 1000
        said = {"iss": self.url, "sub": sub, "aud": "game", "iat": now, "exp": now + 3600} | claims
        said = {name: value for name, value in said.items() if value is not None}
        top = {"alg": alg, "kid": key} | (header or {})
        top = {name: value for name, value in top.items() if value is not None}
        return jwt.encode(top, said, self.keys[key], algorithms=[alg])

    def add_rsa(self, kid: str) -> None:
        """Show an RSA key too."""
        self.keys[kid] = RSAKey.generate_key(2048, parameters={"kid": kid})

    async def _answer(self, request: web.Request) -> web.Response:
        self.asked.append(request.path)
        if request.path in self.redirects:
            raise web.HTTPFound(self.redirects[request.path])
        if request.path in self.raw:
            return web.Response(body=self.raw[request.path], content_type="application/json")
        if request.path == "/.well-known/openid-configuration":
            document = {
                "issuer": self.url,
                "jwks_uri": f"{self.url}/jwks",
                "id_token_signing_alg_values_supported": ["ES256", "wings"],
            } | self.discovery
            return web.json_response({name: value for name, value in document.items() if value is not None})
        if request.path == "/jwks":
            shown = [key.as_dict(private=False) for key in self.keys.values() if not isinstance(key, OctKey)]
            return web.json_response({"keys": shown})
        return web.Response(status=404)


def configurations(client: Client, kind: str = "OIDC") -> str:
    """Where an application says whom it believes."""
    return f"/applications/{client.id}/external-identity-provider-configurations/{kind}"


async def trust(client: Client, issuer: Issuer, **more: Any) -> Answer:
    """Let an application believe an issuer."""
    body = {"clients": [{"id": "game"}], "oidc_issuer_url": issuer.url} | more
    return await client.owner.put(configurations(client), json=body)


async def enter(client: Client, token: str, kind: str = "OIDC", **more: Any) -> Answer:
    """Ask for a player's token with what their provider gave them."""
    body = {"client_id": str(client.id), "external_auth_type": kind, "external_auth_token": token}
    if not client.public:
        body["client_secret"] = client.secret
    return await client.world.request("POST", "/partner-sdk/token", json=body | more)


async def leave(client: Client, token: str, kind: str = "OIDC") -> Answer:
    """Unmerge with what their provider gave them."""
    body = {"client_id": str(client.id), "external_auth_type": kind, "external_auth_token": token}
    if not client.public:
        body["client_secret"] = client.secret
    return await client.world.request("POST", "/partner-sdk/provisional-accounts/unmerge", json=body)


class Stage(World):
    """A rehearsal with its control API."""

    def __init__(self, app: App, client: aiohttp.ClientSession, control: Control) -> None:
        super().__init__(app, client)
        self.control = control

    async def ask(self, method: str, path: str, **options: Any) -> Answer:
        """Call the control API."""
        headers = {"Authorization": f"Bearer {self.control.token}"}
        return await self.request(method, f"{self.url}/control{path}", headers=headers, **options)

    def person(self, name: str) -> Actor:
        """Somebody of the demo world."""
        built = self.control.built.users[name]
        return Actor(self, built.id, built.token, name)

    @property
    def game(self) -> Client:
        """The demo world's game."""
        built = self.control.built.applications["demo-game"]
        return Client(
            self, built.id, built.client_secret, self.person("alice"), None, True, "http://127.0.0.1/callback"
        )

    async def credential(self, provider: str, user_id: str, **more: Any) -> tuple[str, str]:
        """What somebody's provider gives them: the kind, and the credential."""
        made = (await self.ask("POST", f"/issuers/{provider}/tokens", json={"user_id": user_id, **more})).ok()
        return made["external_auth_type"], made["external_auth_token"]

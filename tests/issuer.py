"""An OIDC issuer that a test controls, its configuration as an identity provider, and requests with its tokens."""

from typing import Any

from aiohttp import web
from joserfc import jwt
from joserfc.jwk import ECKey, OctKey, RSAKey

from tests.oauth import Client
from tests.world import NOW_MS, ApiResponse


class Issuer:
    """An OIDC issuer on its own port; a test controls its keys, documents and tokens."""

    def __init__(self) -> None:
        self.port = 0
        self.requested_paths: list[str] = []
        """Paths of the requests received, in order."""
        self.keys: dict[str, Any] = {"one": ECKey.generate_key("P-256", parameters={"kid": "one"})}
        """Signing keys by key ID; `/jwks` does not publish symmetric keys."""
        self.discovery_overrides: dict[str, Any] = {}
        """Fields that replace those of the discovery document; a field that is None is left out."""
        self.redirects: dict[str, str] = {}
        """Redirect targets by path."""
        self.raw_bodies: dict[str, bytes] = {}
        """Raw response bodies by path."""
        self._runner: web.AppRunner | None = None

    @property
    def url(self) -> str:
        """The issuer's URL, which is also its `iss` claim."""
        return f"http://127.0.0.1:{self.port}"

    async def open(self) -> None:
        """Start listening."""
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self.port, reuse_address=True).start()
        self.port = self._runner.addresses[0][1]

    async def close(self) -> None:
        """Stop listening."""
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    def sign_token(
        self, sub: str = "player", *, key: str = "one", header: Any = None, alg: str = "ES256", **claims: Any
    ) -> str:
        """Return a signed ID token; header fields and claims that are None are left out."""
        now = NOW_MS // 1000
        payload = {"iss": self.url, "sub": sub, "aud": "game", "iat": now, "exp": now + 3600} | claims
        payload = {name: value for name, value in payload.items() if value is not None}
        fields = {"alg": alg, "kid": key} | (header or {})
        fields = {name: value for name, value in fields.items() if value is not None}
        return jwt.encode(fields, payload, self.keys[key], algorithms=[alg])

    def add_ec_key(self, kid: str) -> None:
        """Add an elliptic curve key to the published keys."""
        self.keys[kid] = ECKey.generate_key("P-256", parameters={"kid": kid})

    def add_rsa_key(self, kid: str) -> None:
        """Add an RSA key to the published keys."""
        self.keys[kid] = RSAKey.generate_key(2048, parameters={"kid": kid})

    async def _handle(self, request: web.Request) -> web.Response:
        self.requested_paths.append(request.path)
        if request.path in self.redirects:
            raise web.HTTPFound(self.redirects[request.path])
        if request.path in self.raw_bodies:
            return web.Response(body=self.raw_bodies[request.path], content_type="application/json")
        if request.path == "/.well-known/openid-configuration":
            document = {
                "issuer": self.url,
                "jwks_uri": f"{self.url}/jwks",
                "id_token_signing_alg_values_supported": ["ES256", "unknown"],
            } | self.discovery_overrides
            return web.json_response({name: value for name, value in document.items() if value is not None})
        if request.path == "/jwks":
            public_keys = [key.as_dict(private=False) for key in self.keys.values() if not isinstance(key, OctKey)]
            return web.json_response({"keys": public_keys})
        return web.Response(status=404)


def configuration_path(client: Client, provider_type: str = "OIDC") -> str:
    """Return the path of an application's identity provider configuration."""
    return f"/applications/{client.id}/external-identity-provider-configurations/{provider_type}"


async def configure_issuer(client: Client, issuer: Issuer, **fields: Any) -> ApiResponse:
    """Configure an issuer as an identity provider of an application."""
    body = {"clients": [{"id": "game"}], "oidc_issuer_url": issuer.url} | fields
    return await client.owner.put(configuration_path(client), json=body)


async def request_token(client: Client, token: str, external_auth_type: str = "OIDC", **fields: Any) -> ApiResponse:
    """Request a player's access token with a credential of their identity provider."""
    body = {"client_id": str(client.id), "external_auth_type": external_auth_type, "external_auth_token": token}
    if not client.is_public:
        body["client_secret"] = client.secret
    return await client.world.request("POST", "/partner-sdk/token", json=body | fields)


async def request_unmerge(client: Client, token: str, external_auth_type: str = "OIDC") -> ApiResponse:
    """Unmerge a player's account with a credential of their identity provider."""
    body = {"client_id": str(client.id), "external_auth_type": external_auth_type, "external_auth_token": token}
    if not client.is_public:
        body["client_secret"] = client.secret
    return await client.world.request("POST", "/partner-sdk/provisional-accounts/unmerge", json=body)

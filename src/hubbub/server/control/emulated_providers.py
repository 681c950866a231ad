"""Emulated identity providers for rehearsals: real keys and real HTTP, and credentials for any player.

Each provider is at `/control/issuers/{provider}`, with the paths of the real one. Public resources (discovery, keys,
verification of tickets and access tokens) need no token; creating a credential needs the control token, like all of the
control API.
"""

import secrets
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import msgspec
from aiohttp import web

from hubbub.protocol import codec, errors
from hubbub.protocol.control.identities import CreateCredential, Credential
from hubbub.protocol.resources.oauth2 import REDIRECT_SCHEME_PREFIX
from hubbub.server.app import App

if TYPE_CHECKING:
    from joserfc.jwk import ECKey

ALGORITHM: Final = "ES256"
DEMO_CLIENT_ID: Final = "demo-game"
DEMO_STEAM_APP_ID: Final = "480"
TICKETS_MAX: Final = 10_000
"""Maximum number of tickets and access tokens in memory; the oldest are removed first."""


class EmulatedProvider(msgspec.Struct, frozen=True, kw_only=True):
    """The properties in which an emulated provider differs from others: its type, paths and claims."""

    auth_type: str
    """The `external_auth_type` of the provider's ID tokens or tickets."""
    issuer_path: str = ""
    """The path of the issuer below the provider's base URL."""
    key_paths: tuple[str, ...] = ("jwks",)
    """The paths of the public keys; empty if the provider issues no ID tokens."""
    audience_format: str = "{}"
    """The `aud` claim, where `{}` is the client ID."""
    name_claim: str = "preferred_username"
    """The claim that contains the player's name."""


EMULATED_PROVIDERS: Final[dict[str, EmulatedProvider]] = {
    "oidc": EmulatedProvider(auth_type="OIDC"),
    "steam": EmulatedProvider(auth_type="STEAM_SESSION_TICKET", key_paths=()),
    "epic": EmulatedProvider(
        auth_type="EPIC_ONLINE_SERVICES_ID_TOKEN",
        issuer_path="/epic/oauth/v1",
        key_paths=("epic/oauth/v1/.well-known/jwks.json", "epic/oauth/v2/.well-known/jwks.json", "auth/v1/oauth/jwks"),
        name_claim="dn",
    ),
    "unity": EmulatedProvider(
        auth_type="UNITY_SERVICES_ID_TOKEN", key_paths=(".well-known/jwks.json",), audience_format="upid:{}"
    ),
    "apple": EmulatedProvider(auth_type="APPLE_ID_TOKEN", key_paths=("auth/keys",)),
    "playstation": EmulatedProvider(
        auth_type="PLAYSTATION_NETWORK_ID_TOKEN", key_paths=("api/v1/oauth/jwks",), name_claim="online_id"
    ),
}


class _IssuedTicket(msgspec.Struct, frozen=True):
    """A Steam ticket or an access token of Epic Online Services, whose properties are not encoded in its text."""

    user_id: str
    name: str | None
    client_id: str
    expires_ms: int


class EmulatedProviders:
    """The emulated providers of one platform."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._keys: dict[str, ECKey] = {}
        self._tickets: dict[str, _IssuedTicket] = {}

    def routes(self) -> list[web.RouteDef]:
        """Return the routes that need no control token."""
        return [
            web.post("/control/issuers/epic/epic/oauth/v2/tokenInfo", self._serve_epic_token_info),
            web.get("/control/issuers/steam/ISteamUserAuth/AuthenticateUserTicket/v1/", self._serve_steam_ticket),
            web.get("/control/issuers/steam/ISteamUser/GetPlayerSummaries/v2/", self._serve_steam_summaries),
            web.get("/control/issuers/{provider}/{path:.+}", self._serve_document),
        ]

    def create_credential(self, provider: str, body: CreateCredential) -> Credential:
        """Create a credential for a player. Raise NOT_FOUND for an unknown provider."""
        provider_spec = _require_provider(provider)
        if provider == "steam" or (provider == "epic" and body.kind == "access_token"):
            return self._create_ticket(provider, body)
        now_seconds = self._app.clock.now_ms() // 1000
        issued_seconds = now_seconds - body.issued_ago
        claims: dict[str, Any] = {
            "iss": self._base_url(provider) + provider_spec.issuer_path,
            "sub": body.user_id,
            "aud": provider_spec.audience_format.format(body.client_id or DEMO_CLIENT_ID),
            "iat": issued_seconds,
            "exp": now_seconds + body.expires_in,
        }
        if body.name is not None:
            claims[provider_spec.name_claim] = body.name
        # Rehearsals start faster without the library, and few of them use it.
        from joserfc import jwt

        key = self._signing_key(provider)
        token = jwt.encode({"alg": ALGORITHM, "kid": key.kid}, claims | body.claims, key)
        return Credential(external_auth_type=provider_spec.auth_type, external_auth_token=token)

    def rotate_key(self, provider: str) -> None:
        """Replace the signing key of a provider; the previous key is no longer published."""
        _require_provider(provider)
        self._keys.pop(provider, None)

    def _create_ticket(self, provider: str, body: CreateCredential) -> Credential:
        ticket = secrets.token_hex(24) if provider == "steam" else f"eg1~{secrets.token_urlsafe(32)}"
        issued_ticket = _IssuedTicket(
            body.user_id,
            body.name,
            body.client_id or (DEMO_STEAM_APP_ID if provider == "steam" else DEMO_CLIENT_ID),
            self._app.clock.now_ms() + body.expires_in * 1000,
        )
        self._tickets[f"{provider} {ticket}"] = issued_ticket
        while len(self._tickets) > TICKETS_MAX:
            self._tickets.pop(next(iter(self._tickets)))
        auth_type = "STEAM_SESSION_TICKET" if provider == "steam" else "EPIC_ONLINE_SERVICES_ACCESS_TOKEN"
        return Credential(external_auth_type=auth_type, external_auth_token=ticket)

    def _find_ticket(self, provider: str, ticket: str) -> _IssuedTicket | None:
        issued_ticket = self._tickets.get(f"{provider} {ticket}")
        return (
            issued_ticket if issued_ticket is not None and issued_ticket.expires_ms > self._app.clock.now_ms() else None
        )

    def _base_url(self, provider: str) -> str:
        return f"{self._app.config.web_url}/control/issuers/{provider}"

    def _signing_key(self, provider: str) -> "ECKey":
        from joserfc.jwk import ECKey

        key = self._keys.get(provider)
        if key is None:
            key = ECKey.generate_key("P-256", parameters={"use": "sig", "alg": ALGORITHM, "kid": secrets.token_hex(8)})
            self._keys[provider] = key
        return key

    # Public routes

    async def _serve_document(self, request: web.Request) -> web.Response:
        provider, path = request.match_info["provider"], request.match_info["path"]
        provider_spec = EMULATED_PROVIDERS.get(provider)
        documents: dict[str, Callable[[], dict[str, Any]]] = {}
        if provider_spec is not None and provider_spec.key_paths:
            documents[".well-known/openid-configuration"] = lambda: self._discovery_document(provider)
            documents |= dict.fromkeys(provider_spec.key_paths, lambda: self._public_keys(provider))
        build_document = documents.get(path)
        return web.Response(status=404) if build_document is None else _json_response(build_document())

    def _discovery_document(self, provider: str) -> dict[str, Any]:
        provider_spec, base_url = EMULATED_PROVIDERS[provider], self._base_url(provider)
        return {
            "issuer": base_url + provider_spec.issuer_path,
            "jwks_uri": f"{base_url}/{provider_spec.key_paths[0]}",
            "authorization_endpoint": f"{base_url}/authorize",
            "response_types_supported": ["id_token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": [ALGORITHM],
        }

    def _public_keys(self, provider: str) -> dict[str, Any]:
        return {"keys": [self._signing_key(provider).as_dict(private=False)]}

    async def _serve_epic_token_info(self, request: web.Request) -> web.Response:
        fields = await request.post()
        ticket = self._find_ticket("epic", str(fields.get("token", "")))
        if ticket is None:
            return _json_response({"active": False})
        remaining_seconds = (ticket.expires_ms - self._app.clock.now_ms()) // 1000
        token_info = {
            "active": True,
            "account_id": ticket.user_id,
            "client_id": ticket.client_id,
            "expires_in": remaining_seconds,
        }
        return _json_response(token_info if ticket.name is None else token_info | {"display_name": ticket.name})

    async def _serve_steam_ticket(self, request: web.Request) -> web.Response:
        query = request.query
        ticket = self._find_ticket("steam", query.get("ticket", ""))
        if ticket is None or ticket.client_id != query.get("appid") or query.get("identity") != REDIRECT_SCHEME_PREFIX:
            return _json_response({"response": {"error": {"errorcode": 101, "errordesc": "Invalid ticket"}}})
        params = {
            "result": "OK",
            "steamid": ticket.user_id,
            "ownersteamid": ticket.user_id,
            "vacbanned": False,
            "publisherbanned": False,
        }
        return _json_response({"response": {"params": params}})

    async def _serve_steam_summaries(self, request: web.Request) -> web.Response:
        requested_ids = request.query.get("steamids", "").split(",")
        names = {ticket.user_id: ticket.name for key, ticket in self._tickets.items() if key.startswith("steam ")}
        players = [
            {"steamid": steam_id, "personaname": names[steam_id]} for steam_id in requested_ids if names.get(steam_id)
        ]
        return _json_response({"response": {"players": players}})


def _require_provider(provider: str) -> EmulatedProvider:
    provider_spec = EMULATED_PROVIDERS.get(provider)
    if provider_spec is None:
        raise errors.NOT_FOUND(message=f"Unknown provider {provider}; available: {', '.join(EMULATED_PROVIDERS)}")
    return provider_spec


def _json_response(document: dict[str, Any]) -> web.Response:
    return web.Response(body=codec.encode(document), content_type="application/json")

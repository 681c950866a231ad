"""Verifiers of external credentials, one for each type. A verifier returns the external identity or raises an error."""

import re
from typing import Any, Final, Protocol
from urllib.parse import urlencode

import msgspec

from hubbub.protocol import codec, errors
from hubbub.protocol.resources.oauth2 import REDIRECT_SCHEME_PREFIX
from hubbub.server.core.async_operation import AsyncOperation
from hubbub.server.core.config import Config
from hubbub.server.core.outbound_http import OutboundResponse, UnreachableError
from hubbub.server.identity.identity_providers.actions import ProviderSettings
from hubbub.server.identity.identity_providers.credential_errors import InvalidCredential
from hubbub.server.identity.identity_providers.tokens import issuers, jwts, oidc
from hubbub.server.identity.identity_providers.tokens.issuers import IssuerValidation

FORM_HEADERS: Final = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
NAME_CLAIMS: Final = ("preferred_username", "nickname", "name")
"""Claims of an ID token that may contain the user's name, in order of preference."""


class VerifiedIdentity(msgspec.Struct, frozen=True, kw_only=True):
    """An external identity that a provider verified."""

    provider_type: str
    provider_id: str = ""
    """The issuer for provider types with several issuers, otherwise empty."""
    user_id: str
    """The user ID at the provider."""
    name: str | None = None
    """The user's name at the provider, or None if it is unknown."""


class ProviderQuery(msgspec.Struct, frozen=True, kw_only=True):
    """A credential to verify, with the application's settings of the provider."""

    settings: ProviderSettings
    credential: str
    config: Config
    now_ms: int
    """Current time in Unix milliseconds."""
    validation: IssuerValidation
    """Rules for the issuers of the configuration."""


class CredentialVerifier(Protocol):
    """A verifier for one type of credential."""

    @property
    def type(self) -> str:
        """The provider type as applications configure it."""
        ...

    async def verify(self, operation: AsyncOperation, query: ProviderQuery) -> VerifiedIdentity:
        """Return the identity of the credential. Raise the error codes of spec/sdk.md#8.4."""
        ...


class OidcVerifier:
    """Verifies ID tokens of the issuers that the application configured."""

    type = "OIDC"

    async def verify(self, operation: AsyncOperation, query: ProviderQuery) -> VerifiedIdentity:
        """Verify issuer, audience, signature and time, in this order."""
        token = jwts.parse_token(query.credential)
        settings = query.settings
        issuer_urls_by_client = {
            client.id: issuers.resolve_issuer_url(query.config, settings.issuer_of(client))
            for client in settings.clients
        }
        if token.issuer not in issuer_urls_by_client.values():
            raise errors.ID_TOKEN_ISSUER_MISMATCH()
        if not any(issuer_urls_by_client.get(client_id) == token.issuer for client_id in token.audiences):
            raise errors.ID_TOKEN_AUDIENCE_MISMATCH()
        jwts.require_authorized_party(token, [id for id, url in issuer_urls_by_client.items() if url == token.issuer])
        keys_url = await oidc.fetch_keys_url(operation, token.issuer, query.now_ms, query.validation)
        cache = query.validation.choose_cache(operation)
        await jwts.require_valid_signature(cache, token, keys_url, query.now_ms)
        jwts.require_valid_claims(token, query.now_ms)
        # Use the stored issuer, not the URL: the URL of the built-in issuer changes with the port.
        stored_issuer = next(
            settings.issuer_of(client)
            for client in settings.clients
            if issuer_urls_by_client[client.id] == token.issuer
        )
        name = token.claims.get("preferred_username")
        return VerifiedIdentity(
            provider_type=self.type,
            provider_id=stored_issuer,
            user_id=token.subject,
            name=name if isinstance(name, str) and 1 <= len(name) <= 32 else None,
        )


class IdTokenVerifier(msgspec.Struct, frozen=True, kw_only=True):
    """Verifies ID tokens of a provider whose issuers are known, so that applications do not configure them."""

    type: str
    """The provider type as applications configure it."""
    config_name: str
    """Name of the provider in the configuration, and in the URLs of a rehearsal."""
    default_url: str
    """URL of the provider outside rehearsals, unless the operator configured another."""
    key_paths: dict[str, str]
    """Paths of the issuers' keys, by the paths of the issuers. All paths are relative to the provider's URL."""
    audience_format: str = "{}"
    """Format of the audience claim; `{}` is the client ID."""
    name_claims: tuple[str, ...] = NAME_CLAIMS
    """Claims that may contain the user's name, in order of preference."""

    async def verify(self, operation: AsyncOperation, query: ProviderQuery) -> VerifiedIdentity:
        """Verify issuer, audience, signature and time."""
        token = jwts.parse_token(query.credential)
        base_url = resolve_provider_url(query.config, self.config_name, self.default_url)
        keys_urls_by_issuer = {
            f"{base_url}{issuer_path}": f"{base_url}{keys_path}" for issuer_path, keys_path in self.key_paths.items()
        }
        keys_url = keys_urls_by_issuer.get(token.issuer)
        if keys_url is None:
            raise errors.ID_TOKEN_ISSUER_MISMATCH()
        expected_audiences = {self.audience_format.format(client.id) for client in query.settings.clients}
        if expected_audiences.isdisjoint(token.audiences):
            raise errors.ID_TOKEN_AUDIENCE_MISMATCH()
        jwts.require_authorized_party(token, list(expected_audiences))
        await jwts.require_valid_signature(operation.outbound.cache, token, keys_url, query.now_ms)
        jwts.require_valid_claims(token, query.now_ms)
        return VerifiedIdentity(
            provider_type=self.type, user_id=token.subject, name=_find_name(token.claims, self.name_claims)
        )


class SteamTicketVerifier:
    """Verifies session tickets with Steam's Web API."""

    type = "STEAM"

    async def verify(self, operation: AsyncOperation, query: ProviderQuery) -> VerifiedIdentity:
        """Verify the ticket with each of the application's Steam app IDs until one accepts it."""
        base_url = resolve_provider_url(query.config, "steam", "https://partner.steam-api.com")
        api_key = query.config.identity.steam_key or ("rehearsal" if query.config.control else "")
        if not api_key:
            raise errors.OIDC_DISCOVERY_UNREACHABLE(message="The operator has not configured a Steam Web API key")
        if re.fullmatch(r"[0-9a-fA-F]+", query.credential) is None:
            raise InvalidCredential()
        for client in query.settings.clients:
            parameters = {
                "key": api_key,
                "appid": client.id,
                "ticket": query.credential,
                "identity": REDIRECT_SCHEME_PREFIX,
            }
            response = await _request_json(
                operation, "GET", f"{base_url}/ISteamUserAuth/AuthenticateUserTicket/v1/?{urlencode(parameters)}"
            )
            params = _get_object(_get_object(response, "response"), "params")
            steam_id = params.get("steamid")
            if params.get("result") == "OK" and isinstance(steam_id, str) and steam_id:
                return VerifiedIdentity(
                    provider_type=self.type,
                    user_id=steam_id,
                    name=await self._find_persona_name(operation, base_url, api_key, steam_id),
                )
        raise InvalidCredential()

    async def _find_persona_name(
        self, operation: AsyncOperation, base_url: str, api_key: str, steam_id: str
    ) -> str | None:
        query = urlencode({"key": api_key, "steamids": steam_id})
        try:
            response = await _request_json(operation, "GET", f"{base_url}/ISteamUser/GetPlayerSummaries/v2/?{query}")
        except errors.ApiError:
            # The name is optional: without it the player can still sign in.
            return None
        players = _get_object(response, "response").get("players")
        player = players[0] if isinstance(players, list) and players else None
        return _find_name(player, ("personaname",)) if isinstance(player, dict) else None


class EpicAccessTokenVerifier:
    """Verifies access tokens with Epic Online Services."""

    type = "EPIC_ONLINE_SERVICES"

    async def verify(self, operation: AsyncOperation, query: ProviderQuery) -> VerifiedIdentity:
        """Look the token up, and check that it was issued to one of the application's clients."""
        base_url = resolve_provider_url(query.config, "epic", EPIC_URL)
        body = urlencode({"token": query.credential}).encode()
        token_info = await _request_json(operation, "POST", f"{base_url}/epic/oauth/v2/tokenInfo", body=body)
        account_id = token_info.get("account_id")
        if token_info.get("active") is not True or not isinstance(account_id, str) or not account_id:
            raise InvalidCredential()
        if token_info.get("client_id") not in [client.id for client in query.settings.clients]:
            raise errors.ID_TOKEN_AUDIENCE_MISMATCH()
        return VerifiedIdentity(
            provider_type=self.type, user_id=account_id, name=_find_name(token_info, ("display_name", "dn"))
        )


EPIC_URL: Final = "https://api.epicgames.dev"

VERIFIERS: Final[dict[str, CredentialVerifier]] = {
    "OIDC": OidcVerifier(),
    "EPIC_ONLINE_SERVICES_ACCESS_TOKEN": EpicAccessTokenVerifier(),
    # Auth tokens contain the account's name; Connect tokens do not.
    "EPIC_ONLINE_SERVICES_ID_TOKEN": IdTokenVerifier(
        type="EPIC_ONLINE_SERVICES",
        config_name="epic",
        default_url=EPIC_URL,
        key_paths={
            "/epic/oauth/v1": "/epic/oauth/v1/.well-known/jwks.json",
            "/epic/oauth/v2": "/epic/oauth/v2/.well-known/jwks.json",
            "/auth/v1/oauth": "/auth/v1/oauth/jwks",
        },
        name_claims=("dn",),
    ),
    "STEAM_SESSION_TICKET": SteamTicketVerifier(),
    "UNITY_SERVICES_ID_TOKEN": IdTokenVerifier(
        type="UNITY",
        config_name="unity",
        default_url="https://player-auth.services.api.unity.com",
        key_paths={"": "/.well-known/jwks.json"},
        audience_format="upid:{}",
    ),
    "APPLE_ID_TOKEN": IdTokenVerifier(
        type="APPLE", config_name="apple", default_url="https://appleid.apple.com", key_paths={"": "/auth/keys"}
    ),
    "PLAYSTATION_NETWORK_ID_TOKEN": IdTokenVerifier(
        type="PLAYSTATION_NETWORK",
        config_name="playstation",
        default_url="https://auth.account.sony.com",
        key_paths={"": "/api/v1/oauth/jwks"},
        name_claims=("online_id", *NAME_CLAIMS),
    ),
}
"""Verifiers by type of credential."""


def resolve_provider_url(config: Config, config_name: str, default_url: str) -> str:
    """Return the URL of a provider: the configured URL, the URL of the built-in provider of a rehearsal, or the default.

    `config_name` is the name of the provider in the configuration, and `default_url` the default URL."""
    url: str | None = getattr(config.identity, f"{config_name}_url")
    if url is None:
        url = f"{config.web_url}/control/issuers/{config_name}" if config.control else default_url
    return url.rstrip("/")


async def _request_json(operation: AsyncOperation, method: str, url: str, *, body: bytes = b"") -> dict[str, Any]:
    """Send a request to a provider and return the JSON object of its response.

    Raise `InvalidCredential` if the provider rejects the credential, and OIDC_DISCOVERY_UNREACHABLE if the provider cannot
    be reached or its response is invalid."""
    try:
        response: OutboundResponse = await operation.outbound.request(method, url, headers=FORM_HEADERS, body=body)
        if response.status in (400, 401, 403, 404):
            raise InvalidCredential()
        if response.status != 200:
            raise UnreachableError(f"the provider responded with status {response.status}")
        return codec.decode(response.body, dict[str, Any])
    except (UnreachableError, ValueError):
        raise errors.OIDC_DISCOVERY_UNREACHABLE(message="The identity provider could not be reached") from None


def _get_object(document: dict[str, Any], key: str) -> dict[str, Any]:
    """Return the object at a key of a JSON document, or an empty object."""
    value = document.get(key)
    return value if isinstance(value, dict) else {}


def _find_name(claims: dict[str, Any], claim_names: tuple[str, ...]) -> str | None:
    """Return the first of the named claims that is a string with visible characters, or None."""
    for claim_name in claim_names:
        claim = claims.get(claim_name)
        if isinstance(claim, str) and claim.strip():
            return claim
    return None

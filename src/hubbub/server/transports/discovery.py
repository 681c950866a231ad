"""The discovery document of OpenID Connect and RFC 8414, served at two paths below the root of the public URL."""

from typing import Any, Final

from aiohttp import web

from hubbub.protocol import codec
from hubbub.protocol.enums import Scope
from hubbub.protocol.resources import oauth2 as wire
from hubbub.protocol.scopes import SCOPES
from hubbub.server.core.config import Config

PATHS: Final = ("/.well-known/openid-configuration", "/.well-known/oauth-authorization-server")

_HEADERS: Final = {
    "Content-Type": "application/json",
    "Access-Control-Allow-Origin": "*",
    "Cache-Control": "public, max-age=3600",
}


def document(config: Config) -> dict[str, Any]:
    """Return the server metadata defined by OpenID Connect Discovery 1.0 and RFC 8414."""
    base_url = config.web_url
    oauth2_url = f"{base_url}/api/oauth2"
    return {
        "issuer": base_url,
        "authorization_endpoint": f"{base_url}/oauth2/authorize",
        "token_endpoint": f"{oauth2_url}/token",
        "userinfo_endpoint": f"{oauth2_url}/userinfo",
        "jwks_uri": f"{oauth2_url}/keys",
        "revocation_endpoint": f"{oauth2_url}/token/revoke",
        "device_authorization_endpoint": f"{oauth2_url}/device/authorize",
        "response_types_supported": ["code", "token"],
        "response_modes_supported": ["query", "fragment"],
        "grant_types_supported": [
            "authorization_code",
            "implicit",
            "refresh_token",
            "client_credentials",
            wire.DEVICE_GRANT,
        ],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": [config.identity.id_token_algorithm],
        "token_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post", "none"],
        "revocation_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post", "none"],
        "code_challenge_methods_supported": ["S256"],
        "prompt_values_supported": ["consent", "none"],
        "scopes_supported": [Scope.OPENID, *(scope for scope in SCOPES if scope != Scope.OPENID)],
        "claims_supported": [
            "iss",
            "sub",
            "aud",
            "iat",
            "exp",
            "nonce",
            "at_hash",
            "email",
            "email_verified",
            "preferred_username",
            "nickname",
            "picture",
            "locale",
        ],
        "authorization_response_iss_parameter_supported": True,
    }


class DiscoveryEndpoint:
    """Serves the discovery document."""

    def __init__(self, config: Config) -> None:
        self._body = codec.encode(document(config))

    def routes(self) -> list[web.RouteDef]:
        """Return the routes to mount on the application."""
        return [web.get(path, self._serve_document) for path in PATHS]

    async def _serve_document(self, _: web.Request) -> web.Response:
        return web.Response(body=self._body, headers=_HEADERS)

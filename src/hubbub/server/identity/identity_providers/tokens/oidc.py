"""OpenID Connect discovery: an issuer's discovery document and the URL of its keys (spec/sdk.md#8.4.1)."""

from typing import Any

import msgspec

from hubbub.protocol import codec, errors
from hubbub.protocol.resources import identity_providers as wire
from hubbub.server.core.async_operation import AsyncOperation
from hubbub.server.core.outbound_cache import OutboundCache
from hubbub.server.core.outbound_http import UnreachableError
from hubbub.server.identity.identity_providers.tokens import issuers, jwts
from hubbub.server.identity.identity_providers.tokens.issuers import IssuerValidation


class Discovery(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of a discovery document that the server uses. Optional URLs are empty if the document has none."""

    issuer: str
    jwks_uri: str
    id_token_signing_alg_values_supported: list[str]
    authorization_endpoint: str
    token_endpoint: str
    userinfo_endpoint: str
    end_session_endpoint: str
    token_endpoint_auth_methods_supported: list[str]
    """Methods of client authentication; only HTTP Basic if the document does not list them."""
    has_response_issuer: bool
    """Whether every authorization response contains the issuer (`authorization_response_iss_parameter_supported`, RFC 9207)."""


async def fetch_discovery(
    cache: OutboundCache, issuer: str, now_ms: int, *, is_strict: bool, ignores_cache: bool = False
) -> Discovery:
    """Return the discovery document of an issuer.

    Raise OIDC_DISCOVERY_UNREACHABLE if the issuer's URL is invalid, or if its discovery document is invalid, names another
    issuer or no supported algorithm, or cannot be fetched. Without `is_strict`, http and any host are allowed.
    `ignores_cache` fetches the discovery document even if it is cached."""
    if issuers.find_issuer_problem(issuer, is_strict=is_strict) is not None:
        raise errors.OIDC_DISCOVERY_UNREACHABLE()
    url = f"{issuer.rstrip('/')}/.well-known/openid-configuration"
    try:
        discovery = await cache.get(url, _decode_discovery, now_ms, ignores_cache=ignores_cache)
    except (UnreachableError, ValueError):
        raise errors.OIDC_DISCOVERY_UNREACHABLE() from None
    if discovery.issuer != issuer or not set(wire.ALGORITHMS).intersection(
        discovery.id_token_signing_alg_values_supported
    ):
        raise errors.OIDC_DISCOVERY_UNREACHABLE()
    return discovery


async def fetch_keys_url(
    operation: AsyncOperation, issuer: str, now_ms: int, validation: IssuerValidation, *, ignores_cache: bool = False
) -> str:
    """Return the URL of an issuer's keys.

    Raise OIDC_DISCOVERY_UNREACHABLE as `fetch_discovery` does, and OIDC_KEYS_UNREACHABLE if the URL of the keys is invalid.
    `ignores_cache` fetches the discovery document even if it is cached."""
    is_strict = validation.is_strict
    cache = validation.choose_cache(operation)
    discovery = await fetch_discovery(cache, issuer, now_ms, is_strict=is_strict, ignores_cache=ignores_cache)
    schemes = ("https://",) if is_strict else ("https://", "http://")
    if not discovery.jwks_uri.startswith(schemes):
        raise errors.OIDC_KEYS_UNREACHABLE()
    return discovery.jwks_uri


async def require_valid_issuer(
    operation: AsyncOperation, issuer: str, now_ms: int, validation: IssuerValidation
) -> None:
    """Raise an error unless the discovery document and the keys of an issuer are valid and can be fetched now.

    The error is OIDC_DISCOVERY_UNREACHABLE or OIDC_KEYS_UNREACHABLE."""
    url = await fetch_keys_url(operation, issuer, now_ms, validation, ignores_cache=True)
    try:
        await validation.choose_cache(operation).get(url, jwts.decode_keys, now_ms, ignores_cache=True)
    except (UnreachableError, ValueError):
        raise errors.OIDC_KEYS_UNREACHABLE() from None


def _decode_discovery(encoded_document: bytes) -> Discovery:
    document = codec.decode(encoded_document, dict[str, Any])
    algorithms = document.get("id_token_signing_alg_values_supported")
    issuer, jwks_uri = document.get("issuer"), document.get("jwks_uri")
    if not isinstance(algorithms, list) or not isinstance(issuer, str) or not isinstance(jwks_uri, str):
        raise ValueError("not a discovery document")
    return Discovery(
        issuer=issuer,
        jwks_uri=jwks_uri,
        id_token_signing_alg_values_supported=_list_strings(algorithms),
        authorization_endpoint=_string_or_empty(document.get("authorization_endpoint")),
        token_endpoint=_string_or_empty(document.get("token_endpoint")),
        userinfo_endpoint=_string_or_empty(document.get("userinfo_endpoint")),
        end_session_endpoint=_string_or_empty(document.get("end_session_endpoint")),
        token_endpoint_auth_methods_supported=_list_strings(
            document.get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
        ),
        has_response_issuer=document.get("authorization_response_iss_parameter_supported") is True,
    )


def _list_strings(value: Any) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _string_or_empty(value: Any) -> str:
    return value if isinstance(value, str) else ""

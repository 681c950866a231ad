"""External identity providers that an application trusts to identify its players."""

from typing import Annotated, Final, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.operation import Auth, Operation

CLIENTS_MAX: Final = 10
"""Maximum number of clients per provider."""
CLIENT_ID_MAX: Final = 256
CLIENT_DESCRIPTION_MAX: Final = 250
CLIENT_ENVIRONMENT_MAX: Final = 32
ISSUER_MAX: Final = 512
"""Maximum length of the URL of an issuer."""

ProviderType = Literal["OIDC", "EPIC_ONLINE_SERVICES", "STEAM", "UNITY", "APPLE", "PLAYSTATION_NETWORK"]
"""Types of provider that an application can configure."""

PLATFORM_BOT: Final = "PLATFORM_BOT"
"""The built-in provider of every application: its own backend, which authenticates as its bot."""

ALGORITHMS: Final = ("RS256", "RS384", "RS512", "ES256", "ES384", "ES512", "PS256", "PS384", "PS512")
"""Accepted signature algorithms of ID tokens; algorithms with a shared secret are rejected."""

ID_TOKEN_AGE_SECONDS_MAX: Final = 7 * 86_400
"""Maximum age of an ID token in seconds, counted from its `iat` claim."""

ClientId = Annotated[str, Meta(min_length=1, max_length=CLIENT_ID_MAX)]
IssuerUrl = Annotated[str, Meta(max_length=ISSUER_MAX)]


class ProviderClient(Struct, kw_only=True):
    """An OAuth2 client that is registered with the provider, and for which its tokens are issued."""

    id: ClientId
    """Client ID at the provider, which must be in the audience of a token."""
    oidc_issuer_url: IssuerUrl | None | UnsetType = UNSET
    """URL of the issuer of tokens for this client; if absent or null, the `oidc_issuer_url` of the provider."""
    description: Annotated[str, Meta(max_length=CLIENT_DESCRIPTION_MAX)] | None | UnsetType = UNSET
    """Note about the client for the application's owner, at most 250 characters; absent or null for none."""
    environment: Annotated[str, Meta(max_length=CLIENT_ENVIRONMENT_MAX)] | None | UnsetType = UNSET
    """Label of the environment that uses the client, such as `production`, at most 32 characters; absent or null for none."""


class ProviderConfiguration(Struct, kw_only=True):
    """An external identity provider that an application trusts."""

    type: str
    """Type of the provider; a `ProviderType`."""
    clients: list[ProviderClient]
    """Clients; a token is accepted if it was issued for one of them."""
    oidc_issuer_url: str | None
    """URL of the issuer of the provider's ID tokens; null if not set, and for providers other than OIDC."""


class SetProviderConfiguration(Struct, kw_only=True):
    """Request body for storing the configuration of a provider."""

    clients: Annotated[list[ProviderClient], Meta(min_length=1, max_length=CLIENTS_MAX)]
    """Clients, 1 to 10, which replace the stored ones; a token is accepted if it was issued for one of them."""
    oidc_issuer_url: IssuerUrl | None | UnsetType = UNSET
    """URL of the issuer of the provider's ID tokens; required for OIDC unless every client has its own."""


_MANAGE_ERRORS: Final = (errors.UNKNOWN_APPLICATION, errors.NOT_AUTHORIZED_ON_APPLICATION)

LIST_EXTERNAL_IDENTITY_PROVIDER_CONFIGURATIONS = Operation(
    "GET",
    "/applications/{application_id}/external-identity-provider-configurations",
    result=list[ProviderConfiguration],
    auth=Auth.USER,
    raises=_MANAGE_ERRORS,
)

SET_EXTERNAL_IDENTITY_PROVIDER_CONFIGURATION = Operation(
    "PUT",
    "/applications/{application_id}/external-identity-provider-configurations/{type}",
    body=SetProviderConfiguration,
    result=ProviderConfiguration,
    auth=Auth.USER,
    raises=(*_MANAGE_ERRORS, errors.OIDC_DISCOVERY_UNREACHABLE, errors.OIDC_KEYS_UNREACHABLE),
)

DELETE_EXTERNAL_IDENTITY_PROVIDER_CONFIGURATION = Operation(
    "DELETE",
    "/applications/{application_id}/external-identity-provider-configurations/{type}",
    auth=Auth.USER,
    raises=_MANAGE_ERRORS,
)

"""External identity providers that an application trusts to identify its players."""

from typing import Annotated, Final, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.operation import Auth, Operation

CLIENTS_MAX: Final = 10
"""Maximum number of clients per provider."""
CLIENT_ID_MAX: Final = 256
DESCRIPTION_MAX: Final = 250
ENVIRONMENT_MAX: Final = 32
ISSUER_MAX: Final = 512

ProviderType = Literal["OIDC", "EPIC_ONLINE_SERVICES", "STEAM", "UNITY", "APPLE", "PLAYSTATION_NETWORK"]
"""Types of provider that an application can configure."""

PLATFORM_BOT: Final = "PLATFORM_BOT"
"""The built-in provider of every application: its own backend, which authenticates as its bot."""

ALGORITHMS: Final = ("RS256", "RS384", "RS512", "ES256", "ES384", "ES512", "PS256", "PS384", "PS512")
"""Accepted signature algorithms of ID tokens; algorithms with a shared secret are rejected."""

ID_TOKEN_AGE_SECONDS: Final = 7 * 86_400
"""Maximum age of an ID token, counted from its `iat` claim."""

ClientId = Annotated[str, Meta(min_length=1, max_length=CLIENT_ID_MAX)]
IssuerUrl = Annotated[str, Meta(max_length=ISSUER_MAX)]


class ProviderClient(Struct, kw_only=True):
    """A client registered with the provider; tokens must be issued for one of these."""

    id: ClientId
    """Client ID at the provider, which must be in the audience of a token."""
    oidc_issuer_url: IssuerUrl | None | UnsetType = UNSET
    """Issuer of tokens for this client; absent or null uses the issuer of the configuration."""
    description: Annotated[str, Meta(max_length=DESCRIPTION_MAX)] | None | UnsetType = UNSET
    """Note about the client for the application's managers."""
    environment: Annotated[str, Meta(max_length=ENVIRONMENT_MAX)] | None | UnsetType = UNSET
    """Label of the environment that uses the client, such as `production`."""


class ProviderConfiguration(Struct, kw_only=True):
    """An external identity provider that an application trusts."""

    type: str
    """Type of the provider."""
    clients: list[ProviderClient]
    """Clients for which tokens are accepted."""
    oidc_issuer_url: str | None
    """Issuer of the provider's ID tokens; null for providers other than OIDC."""


class SetProviderConfiguration(Struct, kw_only=True):
    """The configuration to store for a provider."""

    clients: Annotated[list[ProviderClient], Meta(min_length=1, max_length=CLIENTS_MAX)]
    """Clients for which tokens are accepted; replaces the stored list."""
    oidc_issuer_url: IssuerUrl | None | UnsetType = UNSET
    """Issuer of the provider's ID tokens; required for OIDC unless every client has its own."""


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

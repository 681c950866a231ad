"""Whom an application believes when they say who a player is: its external identity providers."""

from typing import Annotated, Final, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.operation import Auth, Operation

CLIENTS_MAX: Final = 10
CLIENT_ID_MAX: Final = 256
DESCRIPTION_MAX: Final = 250
ENVIRONMENT_MAX: Final = 32
ISSUER_MAX: Final = 512

ProviderType = Literal["OIDC", "EPIC_ONLINE_SERVICES", "STEAM", "UNITY", "APPLE", "PLAYSTATION_NETWORK"]
"""Providers that are configured."""

PLATFORM_BOT: Final = "PLATFORM_BOT"
"""The provider that every application has: its own server, which speaks as its bot."""

ALGORITHMS: Final = ("RS256", "RS384", "RS512", "ES256", "ES384", "ES512", "PS256", "PS384", "PS512")
"""How an ID token may be signed; a shared secret is no signature."""

ID_TOKEN_AGE_SECONDS: Final = 7 * 86_400
"""How long ago an ID token may have been issued."""

ClientId = Annotated[str, Meta(min_length=1, max_length=CLIENT_ID_MAX)]
IssuerUrl = Annotated[str, Meta(max_length=ISSUER_MAX)]


class ProviderClient(Struct, kw_only=True):
    """The game as the provider knows it: whom a token must be meant for."""

    id: ClientId
    oidc_issuer_url: IssuerUrl | None | UnsetType = UNSET
    """Where it differs from that of the configuration."""
    description: Annotated[str, Meta(max_length=DESCRIPTION_MAX)] | None | UnsetType = UNSET
    environment: Annotated[str, Meta(max_length=ENVIRONMENT_MAX)] | None | UnsetType = UNSET


class ProviderConfiguration(Struct, kw_only=True):
    """A provider that an application believes."""

    type: str
    clients: list[ProviderClient]
    oidc_issuer_url: str | None


class SetProviderConfiguration(Struct, kw_only=True):
    """What a provider is to be."""

    clients: Annotated[list[ProviderClient], Meta(min_length=1, max_length=CLIENTS_MAX)]
    oidc_issuer_url: IssuerUrl | None | UnsetType = UNSET


_MANAGED: Final = (errors.UNKNOWN_APPLICATION, errors.NOT_AUTHORIZED_ON_APPLICATION)

LIST_EXTERNAL_IDENTITY_PROVIDER_CONFIGURATIONS = Operation(
    "GET",
    "/applications/{application_id}/external-identity-provider-configurations",
    result=list[ProviderConfiguration],
    auth=Auth.USER,
    raises=_MANAGED,
)

SET_EXTERNAL_IDENTITY_PROVIDER_CONFIGURATION = Operation(
    "PUT",
    "/applications/{application_id}/external-identity-provider-configurations/{type}",
    body=SetProviderConfiguration,
    result=ProviderConfiguration,
    auth=Auth.USER,
    raises=(*_MANAGED, errors.OIDC_DISCOVERY_UNREACHABLE, errors.OIDC_KEYS_UNREACHABLE),
)

DELETE_EXTERNAL_IDENTITY_PROVIDER_CONFIGURATION = Operation(
    "DELETE",
    "/applications/{application_id}/external-identity-provider-configurations/{type}",
    auth=Auth.USER,
    raises=_MANAGED,
)

"""External login: OpenID Connect providers of the operator at which users log in. The public API does not have these routes."""

from typing import Annotated, Final

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.ids import Snowflake, Timestamp, UserId
from hubbub.protocol.operation import Auth, Operation
from hubbub.protocol.resources import oauth2
from hubbub.protocol.resources.accounts import (
    INVITE_CODE_MAX,
    LOGIN_LIMIT,
    REGISTER_LIMIT,
    REGISTRATION_MESSAGE_MAX,
    Password,
    RegistrationResult,
)
from hubbub.protocol.resources.users import GLOBAL_NAME_MAX, Username

LOGIN_IDENTITIES_MAX: Final = 10
"""Maximum number of external identities of a user."""
LOGIN_ATTEMPT_SECONDS: Final = 600
"""Time in seconds for which a login at a provider can be completed."""
PROVIDER_REGISTRATION_SECONDS: Final = 1800
"""Time in seconds in which a user of a provider can choose a username."""
CODE_MAX: Final = 4096
"""Maximum length of the authorization code of a provider, in characters."""

ISSUER_MAX: Final = 512
"""Maximum length of the issuer URL of a provider, in characters."""

ProviderTicket = Annotated[str, Meta(min_length=1, max_length=128)]


class LoginProvider(Struct, kw_only=True):
    """A provider at which users can log in."""

    id: str
    """ID of the provider, which the operator chose."""
    name: str
    """Name of the provider."""


class ProviderLoginStart(Struct, kw_only=True):
    """A login at a provider that was started; valid for ten minutes and for one attempt."""

    ticket: str
    """Ticket to send together with the provider's response. It must not leave the client that started the login."""
    url: str
    """URL of the provider to open in a browser. The provider redirects to `/login/callback/{provider_id}` of this server."""


class CompleteProviderLogin(Struct, kw_only=True):
    """Request body with the response of a provider."""

    ticket: ProviderTicket
    """Ticket of the started login."""
    provider_id: Annotated[str, Meta(min_length=1, max_length=32)]
    """ID of the provider in the path of the redirect."""
    state: Annotated[str, Meta(min_length=1, max_length=128)]
    """Parameter `state` of the redirect."""
    code: Annotated[str, Meta(min_length=1, max_length=CODE_MAX)]
    """Parameter `code` of the redirect."""
    iss: Annotated[str, Meta(min_length=1, max_length=ISSUER_MAX)] | UnsetType = UNSET
    """Parameter `iss` of the redirect; absent if the provider does not send it (RFC 9207)."""


class ProviderRegistration(Struct, kw_only=True):
    """An identity without an account, for which the user can register one within half an hour."""

    ticket: str
    """Ticket to send together with the chosen username."""
    username: str
    """Suggested username, which was free; empty if the provider sent no usable name."""
    global_name: str
    """Suggested display name; empty if the provider sent none."""
    email: str | None
    """Email address of the new account; null if the provider sent none."""


class ProviderLoginResult(Struct, kw_only=True):
    """Result of a login at a provider: a session, a ticket for the two-factor code, or a registration."""

    user_id: UserId | None
    """ID of the user who logs in; null if the identity has no account."""
    token: str | None
    """Token of the session; null while a two-factor code or a registration is required."""
    mfa: bool = False
    """Whether a two-factor code is required to complete the login."""
    ticket: str | UnsetType = UNSET
    """Ticket to send together with the two-factor code; valid for five minutes. Present only if `mfa` is true."""
    registration: ProviderRegistration | None = None
    """Registration of a new account; null if the identity has an account."""


class RegisterWithProvider(Struct, kw_only=True):
    """Request body for registering an account for an identity."""

    ticket: ProviderTicket
    """Ticket of the registration."""
    username: Username
    """Unique username of the account."""
    global_name: Annotated[str, Meta(max_length=GLOBAL_NAME_MAX)] | None | UnsetType = UNSET
    """Display name of the user; absent or null shows the username instead."""
    locale: str | UnsetType = UNSET
    """Locale of the user; absent for `en-US`."""
    invite: Annotated[str, Meta(max_length=INVITE_CODE_MAX)] | None | UnsetType = UNSET
    """Code of a registration invite; absent or null for none."""
    message: Annotated[str, Meta(max_length=REGISTRATION_MESSAGE_MAX)] | UnsetType = UNSET
    """Message to the operators who approve the registration; absent for none."""
    accepted: dict[str, int] | UnsetType = UNSET
    """Accepted versions of the server's documents by kind, such as `terms`; required if the server has documents."""


class ProviderLogout(Struct, kw_only=True):
    """URL that ends the session at a provider."""

    url: str | None
    """URL to open in a browser; null if the provider has none."""


class LoginIdentity(Struct, kw_only=True):
    """An identity at a provider with which the current user can log in."""

    id: Snowflake
    """ID of the identity on this server."""
    provider_id: str | None
    """ID of the provider; null if the operator removed it."""
    provider_name: str
    """Name of the provider; its issuer URL if the operator removed it."""
    name: str
    """Name or email address of the user at the provider when it was linked."""
    created_at: Timestamp
    """Time at which the identity was linked."""
    last_used_at: Timestamp | None
    """Time of the last login with the identity; null if it was never used."""


class LoginMethods(Struct, kw_only=True):
    """Ways in which the current user can log in."""

    has_password: bool
    """Whether the account has a password."""
    backup_code_count: int
    """Number of unused backup codes; 0 without two-factor authentication."""
    identities: list[LoginIdentity]
    """Identities at external providers, oldest first."""


class StartIdentityLink(Struct, kw_only=True):
    """Request body for linking an identity to the current user's account."""

    provider_id: Annotated[str, Meta(min_length=1, max_length=32)]
    """ID of the provider."""
    password: Password | UnsetType = UNSET
    """Current password; absent if the account has none. Such accounts need a session of at most ten minutes."""


class DeleteLoginIdentity(Struct, kw_only=True):
    """Request body for unlinking an identity."""

    password: Password | UnsetType = UNSET
    """Current password; absent if the account has none. Such accounts need a session of at most ten minutes."""


LIST_LOGIN_PROVIDERS = Operation("GET", "/auth/providers", result=list[LoginProvider], auth=Auth.NONE)

START_PROVIDER_LOGIN = Operation(
    "POST",
    "/auth/providers/{provider_id}/start",
    result=ProviderLoginStart,
    auth=Auth.ANONYMOUS,
    raises=(errors.NOT_FOUND,),
    limit=LOGIN_LIMIT,
)

AUTH_LOGIN_WITH_PROVIDER = Operation(
    "POST",
    "/auth/providers/login",
    body=CompleteProviderLogin,
    result=ProviderLoginResult,
    auth=Auth.ANONYMOUS,
    raises=(errors.FORBIDDEN, errors.FEATURE_DISABLED),
    limit=LOGIN_LIMIT,
    headers=("User-Agent",),
    emits=(oauth2.OAUTH2_TOKEN_REVOKE,),
)

AUTH_REGISTER_WITH_PROVIDER = Operation(
    "POST",
    "/auth/providers/register",
    body=RegisterWithProvider,
    result=RegistrationResult,
    status=201,
    auth=Auth.ANONYMOUS,
    raises=(errors.FORBIDDEN, errors.FEATURE_DISABLED),
    limit=REGISTER_LIMIT,
    headers=("User-Agent",),
)

GET_PROVIDER_LOGOUT = Operation(
    "GET",
    "/auth/providers/{provider_id}/logout",
    result=ProviderLogout,
    auth=Auth.NONE,
    raises=(errors.NOT_FOUND,),
)

GET_LOGIN_METHODS = Operation("GET", "/users/@me/login-methods", result=LoginMethods, auth=Auth.USER)

START_IDENTITY_LINK = Operation(
    "POST",
    "/users/@me/login-identities/start",
    body=StartIdentityLink,
    result=ProviderLoginStart,
    auth=Auth.USER,
    raises=(errors.NOT_FOUND, errors.FORBIDDEN),
    limit=LOGIN_LIMIT,
)

CREATE_LOGIN_IDENTITY = Operation(
    "POST",
    "/users/@me/login-identities",
    body=CompleteProviderLogin,
    result=LoginIdentity,
    status=201,
    auth=Auth.USER,
    limit=LOGIN_LIMIT,
)

DELETE_LOGIN_IDENTITY = Operation(
    "POST",
    "/users/@me/login-identities/{identity_id}/delete",
    body=DeleteLoginIdentity,
    auth=Auth.USER,
    raises=(errors.NOT_FOUND, errors.FORBIDDEN),
    limit=LOGIN_LIMIT,
)

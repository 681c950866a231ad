"""OAuth2 and OpenID Connect: authorization, tokens, device codes, RPC tokens, granted authorizations, keys and user info.

The token, revocation and device endpoints follow RFC 6749: form fields in the request, `{"error", "error_description"}`
in an error response. The scopes are in `scopes.py`.
"""

from typing import Annotated, Any, Final, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.enums import AuditLogAction, Scope
from hubbub.protocol.ids import ApplicationId, ChannelId, GuildId, Snowflake
from hubbub.protocol.operation import Auth, Event, Operation, RateLimit
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources.applications import PublicApplication
from hubbub.protocol.resources.guilds import Guild
from hubbub.protocol.resources.users import User

ACCESS_TOKEN_SECONDS: Final = 604_800
ID_TOKEN_SECONDS: Final = 604_800
CODE_SECONDS: Final = 600
"""Lifetime of an authorization code."""
CODES_MAX: Final = 20
"""Maximum number of unused authorization codes of a user and an application; the oldest are deleted."""
GRANTS_MAX: Final = 100
"""Maximum number of valid grants of a user and an application; the tokens of the oldest are revoked."""
PENDING_CODES_MAX: Final = 10_000
"""Maximum number of pending device codes of an application, and separately of its unused RPC tokens.
Further requests are rejected.
"""
DEVICE_CODE_SECONDS: Final = 300
DEVICE_INTERVAL_SECONDS: Final = 5
"""Minimum time between two polls of a device; each poll that comes too early adds the same time (RFC 8628 3.5)."""
RPC_TOKEN_SECONDS: Final = 600
"""Lifetime of a token for the local RPC."""
REFRESH_IDLE_SECONDS: Final = 30 * 86_400
"""Time after which an unused refresh token of a public client expires; other refresh tokens do not expire."""

REDIRECT_SCHEME_PREFIX: Final = "hubbub"
"""Prefix of a game's own redirect URI, `hubbub-<application id>:/authorize/callback`."""
REDIRECT_CALLBACK_PATH: Final = "/authorize/callback"
"""Path of redirect URIs with a custom scheme."""

DEVICE_GRANT: Final = "urn:ietf:params:oauth:grant-type:device_code"
"""Grant type of the device flow (RFC 8628 3.4)."""

# PKCE (RFC 7636 4.1 and 4.2)
VERIFIER_PATTERN: Final = r"[A-Za-z0-9\-._~]{43,128}"
CHALLENGE_PATTERN: Final = r"[A-Za-z0-9\-_]{43}"

# Error codes of RFC 6749 5.2 and RFC 8628 3.5.
INVALID_REQUEST: Final = "invalid_request"
INVALID_CLIENT: Final = "invalid_client"
INVALID_GRANT: Final = "invalid_grant"
INVALID_SCOPE: Final = "invalid_scope"
UNAUTHORIZED_CLIENT: Final = "unauthorized_client"
UNSUPPORTED_GRANT_TYPE: Final = "unsupported_grant_type"
UNSUPPORTED_RESPONSE_TYPE: Final = "unsupported_response_type"
ACCESS_DENIED: Final = "access_denied"
AUTHORIZATION_PENDING: Final = "authorization_pending"
SLOW_DOWN: Final = "slow_down"
EXPIRED_TOKEN: Final = "expired_token"

INVALID_CODE_DESCRIPTION: Final = 'Invalid "code" in request.'
INVALID_REFRESH_TOKEN_DESCRIPTION: Final = 'Invalid "refresh_token" in request'
"""Description of every error about a refresh token, whatever the reason of the rejection."""
ACCESS_DENIED_DESCRIPTION: Final = "The resource owner or authorization server denied the request"


class OAuth2Error(Struct, kw_only=True):
    """An error response in the form of RFC 6749."""

    error: str
    """Error code, such as `invalid_grant`."""
    error_description: str
    """Description of the error for developers."""
    return_url: str | UnsetType = UNSET
    """URL to which the user can return with the error; absent without a valid redirect URI of the application."""


# Authorization


class AuthorizeQuery(Struct, kw_only=True):
    """The parameters of an authorization URL; only `client_id` is always required."""

    client_id: ApplicationId
    """ID of the application."""
    response_type: str | UnsetType = UNSET
    """Type of the response: `code` or `token`; may be absent only if all scopes are scopes of an installation."""
    scope: str | UnsetType = UNSET
    """Requested scopes, separated by spaces; absent uses the application's install settings."""
    redirect_uri: str | UnsetType = UNSET
    """Redirect URI, which must be registered; absent uses the first registered URI."""
    state: str | UnsetType = UNSET
    """Opaque value that is returned in the redirect."""
    nonce: str | UnsetType = UNSET
    """Value that is returned in the ID token."""
    prompt: Literal["consent", "none"] | UnsetType = UNSET
    """`none` skips the consent page if the scopes were granted before; default `consent`."""
    code_challenge: str | UnsetType = UNSET
    """PKCE code challenge."""
    code_challenge_method: str | UnsetType = UNSET
    """PKCE method; only `S256` is supported."""
    integration_type: Literal[0, 1] | UnsetType = UNSET
    """Installation context: 0 guild, 1 user."""
    permissions: Permissions | UnsetType = UNSET
    """Permissions requested for the bot's role."""
    guild_id: GuildId | UnsetType = UNSET
    """ID of the guild to preselect."""
    channel_id: ChannelId | UnsetType = UNSET
    """ID of the channel to preselect for a webhook."""
    disable_guild_select: bool | UnsetType = UNSET
    """Whether the user cannot choose another guild than `guild_id`."""
    rpc_token: str | UnsetType = UNSET
    """One-time token of the application's backend, with which the local agent skips consent (spec/rpc.md#7)."""


class AuthorizeDecision(Struct, kw_only=True):
    """A user's decision on an authorization request; fields about installations and webhooks are absent without them."""

    authorize: bool
    """Whether the user approves the request."""
    integration_type: Literal[0, 1] | UnsetType = UNSET
    """Installation context that the user chose: 0 guild, 1 user."""
    permissions: Permissions | UnsetType = UNSET
    """Permissions that the user grants the bot's role."""
    guild_id: GuildId | None | UnsetType = UNSET
    """ID of the guild in which to install the application."""
    webhook_channel_id: ChannelId | None | UnsetType = UNSET
    """ID of the channel for the webhook of the scope `webhook.incoming`."""


class AuthorizeResult(Struct, kw_only=True):
    """The result of an authorization request."""

    url: str
    """URL to redirect the user to."""


class GrantableGuild(Struct, kw_only=True):
    """A guild in which the user may install applications."""

    id: GuildId
    """ID of the guild."""
    name: str
    """Name of the guild."""
    icon: str | None
    """Icon hash of the guild; null if it has no icon."""
    mfa_level: int
    """Whether moderators need two-factor authentication: 0 no, 1 yes."""
    permissions: Permissions
    """Permissions of the user in the guild."""


class ScopeDescription(Struct, kw_only=True):
    """A scope with its description."""

    name: str
    """Name of the scope."""
    description: str
    """Access that the scope gives to an application."""


class AuthorizationPreview(Struct, kw_only=True):
    """The content of a consent page."""

    application: PublicApplication
    """Application that requests the authorization."""
    owner: User | UnsetType = UNSET
    """Owner of the application."""
    user: User
    """Account that would grant the authorization."""
    scopes: list[ScopeDescription]
    """Requested scopes with their descriptions."""
    redirect_uri: str | None
    """URI to which the user is redirected; null if there is none."""
    authorized: bool
    """Whether the user granted the requested scopes before, so that `prompt=none` skips the consent page."""
    prompt: str
    """Effective prompt: `consent` or `none`."""
    integration_type: int | UnsetType = UNSET
    """Installation context: 0 guild, 1 user; absent if nothing is installed."""
    permissions: Permissions | UnsetType = UNSET
    """Permissions requested for the bot's role."""
    guilds: list[GrantableGuild] | UnsetType = UNSET
    """Guilds in which the user may install the application; present for guild installations."""


PREVIEW_OAUTH2_AUTHORIZATION = Operation(
    "GET",
    "/oauth2/authorize",
    query=AuthorizeQuery,
    result=AuthorizationPreview,
    auth=Auth.USER,
    raises=(errors.NOT_AUTHORIZED_ON_APPLICATION,),
    error_model=OAuth2Error,
)

AUTHORIZE_OAUTH2_APPLICATION = Operation(
    "POST",
    "/oauth2/authorize",
    query=AuthorizeQuery,
    body=AuthorizeDecision,
    result=AuthorizeResult,
    auth=Auth.USER,
    raises=(
        errors.NOT_AUTHORIZED_ON_APPLICATION,
        errors.UNKNOWN_GUILD,
        errors.UNKNOWN_CHANNEL,
        errors.MISSING_ACCESS,
        errors.MISSING_PERMISSIONS,
        errors.TWO_FACTOR_REQUIRED,
        errors.MAX_MEMBERS,
        errors.USER_BANNED,
        errors.FEATURE_DISABLED,
        errors.CANNOT_EXECUTE_ON_DM,
        errors.WRONG_CHANNEL_TYPE,
    ),
    error_model=OAuth2Error,
    audits=(
        AuditLogAction.BOT_ADD,
        AuditLogAction.INTEGRATION_CREATE,
    ),
)


# Tokens


class TokenRequest(Struct, kw_only=True):
    """The form fields of the token endpoint; the required fields depend on the grant, and the others are absent."""

    grant_type: str | UnsetType = UNSET
    """Grant: `authorization_code`, `refresh_token`, `client_credentials` or the device code URN."""
    client_id: str | UnsetType = UNSET
    """ID of the application; absent if sent with HTTP Basic authentication."""
    client_secret: str | UnsetType = UNSET
    """Secret of the application; absent for public clients and with HTTP Basic authentication."""
    code: str | UnsetType = UNSET
    """Authorization code; for the grant type `authorization_code`."""
    redirect_uri: str | UnsetType = UNSET
    """Redirect URI with which the code was requested."""
    code_verifier: str | UnsetType = UNSET
    """PKCE code verifier."""
    refresh_token: str | UnsetType = UNSET
    """Refresh token to exchange; it is replaced by a new one."""
    scope: str | UnsetType = UNSET
    """Requested scopes, separated by spaces, for `client_credentials`; for `refresh_token`, a subset of the granted scopes."""
    device_code: str | UnsetType = UNSET
    """Device code; for the grant type of the device flow."""
    external_auth_type: str | UnsetType = UNSET
    """Kind of external credential.
    With a code or a device code, the player's provisional account is merged into the user's account."""
    external_auth_token: str | UnsetType = UNSET
    """External credential that identifies the provisional account to merge."""


class TokenResult(Struct, kw_only=True):
    """A token response."""

    access_token: str
    """Access token."""
    token_type: str = "Bearer"
    """Type of the token; always `Bearer`."""
    expires_in: int = ACCESS_TOKEN_SECONDS
    """Lifetime of the access token in seconds."""
    scope: str
    """Granted scopes, separated by spaces; umbrella scopes are not expanded."""
    refresh_token: str | UnsetType = UNSET
    """Refresh token; absent for `client_credentials`."""
    id_token: str | UnsetType = UNSET
    """OpenID Connect ID token; present with the scope `openid`."""
    guild: Guild | UnsetType = UNSET
    """Guild in which the bot was installed, whose roles have `permissions_new`; absent for other authorizations."""
    webhook: Any = UNSET
    """Webhook created by the scope `webhook.incoming`, with its token."""


class RevokeRequest(Struct, kw_only=True):
    """The form fields of the revocation endpoint."""

    token: str | UnsetType = UNSET
    """Access or refresh token to revoke; all tokens of the same user and application are revoked with it."""
    token_type_hint: str | UnsetType = UNSET
    """Type of the token: `access_token` or `refresh_token`."""
    client_id: str | UnsetType = UNSET
    """ID of the application; absent if sent with HTTP Basic authentication."""
    client_secret: str | UnsetType = UNSET
    """Secret of the application; absent for public clients and with HTTP Basic authentication."""


class RevokeResult(Struct, kw_only=True):
    """The empty response of the revocation endpoint."""


# The limit is counted per IP address, and is high, because a studio's backend requests the tokens of all its players from
# one address.
TOKEN_LIMIT: Final = RateLimit(500, 10.0)

EXCHANGE_OAUTH2_TOKEN = Operation(
    "POST",
    "/oauth2/token",
    body=TokenRequest,
    result=TokenResult,
    auth=Auth.NONE,
    is_form=True,
    headers=("Authorization",),
    raises=(
        # A rejected merge uses the platform's error format (spec/webhooks-and-interactions.md#8.3).
        errors.INVALID_OAUTH2_ACCESS_TOKEN,
        errors.PROVISIONAL_ACCOUNTS_NOT_ENABLED,
        errors.MERGE_SOURCE_NOT_PROVISIONAL,
        errors.MERGE_DESTINATION_PROVISIONAL,
        errors.MERGE_SOURCE_BANNED,
        errors.EXTERNAL_IDENTITY_EXISTS,
        errors.OIDC_DISCOVERY_UNREACHABLE,
        errors.OIDC_KEYS_UNREACHABLE,
    ),
    error_model=OAuth2Error,
    limit=TOKEN_LIMIT,
)

REVOKE_OAUTH2_TOKEN = Operation(
    "POST",
    "/oauth2/token/revoke",
    body=RevokeRequest,
    result=RevokeResult,
    auth=Auth.NONE,
    is_form=True,
    headers=("Authorization",),
    error_model=OAuth2Error,
    limit=TOKEN_LIMIT,
)


# The local agent


class RpcTokenRequest(Struct, kw_only=True):
    """The form fields with which a backend requests a token for the local RPC."""

    client_id: str | UnsetType = UNSET
    """ID of the application; absent if sent with HTTP Basic authentication."""
    client_secret: str | UnsetType = UNSET
    """Secret of the application; absent if sent with HTTP Basic authentication."""


class RpcTokenResult(Struct, kw_only=True):
    """A token for one AUTHORIZE command of the local RPC."""

    rpc_token: str
    """Token for the local RPC, valid once."""


CREATE_RPC_TOKEN = Operation(
    "POST",
    "/oauth2/token/rpc",
    body=RpcTokenRequest,
    result=RpcTokenResult,
    auth=Auth.NONE,
    is_form=True,
    headers=("Authorization",),
    error_model=OAuth2Error,
    limit=TOKEN_LIMIT,
)


# Devices


class DeviceRequest(Struct, kw_only=True):
    """The form fields with which a device starts an authorization."""

    client_id: str | UnsetType = UNSET
    """ID of the application; absent if sent with HTTP Basic authentication."""
    client_secret: str | UnsetType = UNSET
    """Secret of the application; absent for public clients and with HTTP Basic authentication."""
    scope: str | UnsetType = UNSET
    """Requested scopes, separated by spaces."""


class DeviceResult(Struct, kw_only=True):
    """The codes of a device authorization."""

    device_code: str
    """Device code with which the device polls the token endpoint."""
    user_code: str
    """User code, which the device shows to the user."""
    verification_uri: str
    """URL at which the user enters the user code."""
    verification_uri_complete: str
    """URL that already contains the user code, for example for a QR code."""
    expires_in: int = DEVICE_CODE_SECONDS
    """Lifetime of the codes in seconds."""
    interval: int = DEVICE_INTERVAL_SECONDS
    """Minimum time between two polls in seconds."""


UserCode = Annotated[str, Meta(min_length=1, max_length=32)]


class VerifyDevice(Struct, kw_only=True):
    """The user code of a device, entered by a user."""

    user_code: UserCode
    """User code shown by the device."""


class DeviceVerification(Struct, kw_only=True):
    """The authorization request of a device."""

    client_id: ApplicationId
    """ID of the application."""
    application: PublicApplication
    """Application that requests the authorization."""
    owner: User | UnsetType = UNSET
    """Owner of the application."""
    scopes: list[ScopeDescription]
    """Requested scopes with their descriptions."""
    type: str
    """Status of the request: `pending`, `granted` or `denied`."""
    two_way_link_code: str | None = None
    """Always null."""


class DeviceDecision(Struct, kw_only=True):
    """A user's decision on a device authorization."""

    user_code: UserCode
    """User code shown by the device."""
    result: Literal["granted", "denied"]
    """Decision: `granted` or `denied`."""


# RFC 8628 5.1: the limit is so low that a code of eight characters cannot be guessed; a user needs one or two attempts.
DEVICE_LIMIT: Final = RateLimit(10, 60.0, bucket="device_codes")

AUTHORIZE_OAUTH2_DEVICE = Operation(
    "POST",
    "/oauth2/device/authorize",
    body=DeviceRequest,
    result=DeviceResult,
    auth=Auth.NONE,
    is_form=True,
    headers=("Authorization",),
    error_model=OAuth2Error,
)

VERIFY_OAUTH2_DEVICE = Operation(
    "POST",
    "/oauth2/device/verify",
    body=VerifyDevice,
    result=DeviceVerification,
    auth=Auth.USER,
    limit=DEVICE_LIMIT,
)

FINISH_OAUTH2_DEVICE = Operation(
    "POST", "/oauth2/device/finish", body=DeviceDecision, auth=Auth.USER, limit=DEVICE_LIMIT
)


# Granted authorizations


class AuthorizedApplication(PublicApplication, kw_only=True):
    """An application in the form seen with its own token."""

    hook: bool = True
    """Always true; present for compatibility."""


class CurrentAuthorization(Struct, kw_only=True):
    """Information about the access token of the request."""

    application: AuthorizedApplication
    """Application of the token."""
    scopes: list[str]
    """Granted scopes."""
    expires: str
    """Time at which the token expires, in ISO 8601 format."""
    user: User | UnsetType = UNSET
    """User who granted the authorization; present with the scope `identify`."""


class PublicKey(Struct, kw_only=True):
    """A JSON Web Key that verifies ID tokens; fields of the other key type are absent."""

    kty: str
    """Type of the key: `RSA` or `EC`."""
    use: str
    """Use of the key; always `sig`."""
    kid: str
    """ID of the key, which is in the header of the tokens it signs."""
    alg: str
    """Signature algorithm."""
    n: str | UnsetType = UNSET
    """Modulus of an RSA key."""
    e: str | UnsetType = UNSET
    """Exponent of an RSA key."""
    crv: str | UnsetType = UNSET
    """Curve of an elliptic curve key."""
    x: str | UnsetType = UNSET
    """X coordinate of an elliptic curve key."""
    y: str | UnsetType = UNSET
    """Y coordinate of an elliptic curve key."""


class PublicKeys(Struct, kw_only=True):
    """The JSON Web Key Set of the platform."""

    keys: list[PublicKey]
    """Keys that sign ID tokens."""


class UserInfo(Struct, kw_only=True):
    """OpenID Connect claims about a user; the scopes of the token determine which are present."""

    sub: str
    """ID of the user."""
    email: str | None | UnsetType = UNSET
    """Email address of the user, with the scope `email`; null if there is none."""
    email_verified: bool | UnsetType = UNSET
    """Whether the email address is verified; present with the scope `email`."""
    preferred_username: str | UnsetType = UNSET
    """Username; present with the scope `identify`."""
    nickname: str | None | UnsetType = UNSET
    """Display name, with the scope `identify`; null if there is none."""
    picture: str | UnsetType = UNSET
    """URL of the avatar; present with the scope `identify`."""
    locale: str | UnsetType = UNSET
    """Locale of the user; present with the scope `identify`."""


class Authorization(Struct, kw_only=True):
    """An application that the user authorized."""

    id: Snowflake
    """ID of the authorization."""
    application: PublicApplication
    """Authorized application."""
    scopes: list[str]
    """Granted scopes."""


class TokenRevoked(Struct, kw_only=True):
    """An application whose authorization was revoked."""

    application_id: ApplicationId
    """ID of the application."""
    access_token: str | None = None
    """Always null, because the platform does not store tokens in plain text (decisions/0031)."""


OAUTH2_TOKEN_REVOKE = Event(
    "OAUTH2_TOKEN_REVOKE", TokenRevoked, "Sent when the authorization of an application is revoked."
)

GET_MY_OAUTH2_AUTHORIZATION = Operation(
    "GET", "/oauth2/@me", result=CurrentAuthorization, auth=Auth.BEARER, accepts_publishers=True
)

GET_PUBLIC_KEYS = Operation(
    "GET", "/oauth2/keys", result=PublicKeys, auth=Auth.BOT | Auth.USER | Auth.BEARER | Auth.ANONYMOUS
)

GET_OPENID_CONNECT_USERINFO = Operation(
    "GET", "/oauth2/userinfo", result=UserInfo, auth=Auth.BEARER, scopes=(Scope.OPENID,), accepts_publishers=True
)

LIST_OAUTH2_AUTHORIZATIONS = Operation("GET", "/oauth2/tokens", result=list[Authorization], auth=Auth.USER)

GET_OAUTH2_AUTHORIZATION = Operation(
    "GET", "/oauth2/tokens/{authorization_id}", result=Authorization, auth=Auth.USER, raises=(errors.UNKNOWN_TOKEN,)
)

DELETE_OAUTH2_AUTHORIZATION = Operation(
    "DELETE",
    "/oauth2/tokens/{authorization_id}",
    auth=Auth.USER,
    raises=(errors.UNKNOWN_TOKEN,),
    emits=(OAUTH2_TOKEN_REVOKE,),
)

LIST_APPLICATION_OAUTH2_AUTHORIZATIONS = Operation(
    "GET",
    "/oauth2/applications/{application_id}/tokens",
    result=list[Authorization],
    auth=Auth.USER,
    raises=(errors.UNKNOWN_APPLICATION,),
)

"""OAuth2 and OpenID Connect: everything between "may this app ..." and a token. What may be asked for is in `scopes.py`.

The token, revocation and device endpoints speak RFC 6749: form fields in, `{"error", "error_description"}` for a refusal.
"""

from typing import Annotated, Any, Final, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.enums import AuditLogAction, Scope
from hubbub.protocol.ids import ApplicationId, ChannelId, GuildId, Snowflake
from hubbub.protocol.operation import Auth, Event, Operation, RateLimit
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources.applications import PublicApplication
from hubbub.protocol.resources.users import User

ACCESS_TOKEN_SECONDS: Final = 604_800
ID_TOKEN_SECONDS: Final = 604_800
CODE_SECONDS: Final = 600
DEVICE_CODE_SECONDS: Final = 300
DEVICE_INTERVAL_SECONDS: Final = 5
"""How far apart a device's questions must be; each question too early adds as much (RFC 8628 3.5)."""
RPC_TOKEN_SECONDS: Final = 600
REFRESH_IDLE_SECONDS: Final = 30 * 86_400
"""A public client's refresh token ends when it is not used for so long; those of others do not end by time."""

STANDARD_SCHEME: Final = "hubbub"
"""A game's own redirect is `hubbub-<application id>:/authorize/callback`."""
CUSTOM_REDIRECT: Final = "/authorize/callback"

DEVICE_GRANT: Final = "urn:ietf:params:oauth:grant-type:device_code"

VERIFIER_PATTERN: Final = r"[A-Za-z0-9\-._~]{43,128}"
CHALLENGE_PATTERN: Final = r"[A-Za-z0-9\-_]{43}"

# RFC 8628 3.5 and 6749 5.2: the answers that a client must be able to tell apart.
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

INVALID_CODE: Final = 'Invalid "code" in request.'
INVALID_REFRESH_TOKEN: Final = 'Invalid "refresh_token" in request'
"""The same words whatever ended the token: unlink, revocation, ban or replay."""
DENIED: Final = "The resource owner or authorization server denied the request"


class OAuth2Refusal(Struct, kw_only=True):
    """A refusal in the form of RFC 6749."""

    error: str
    error_description: str
    return_url: str | UnsetType = UNSET
    """Where the person may take the refusal, on the way to an authorization: the application's own sound redirect, and no other."""


# Authorizing


class AuthorizeQuery(Struct, kw_only=True):
    """What an application asks a person for, as it stands in the address that it sends them to."""

    client_id: ApplicationId
    response_type: str | UnsetType = UNSET
    """`code` or `token`; absent only where nothing but an installation is asked for."""
    scope: str | UnsetType = UNSET
    """Absent: what the application's install settings ask for."""
    redirect_uri: str | UnsetType = UNSET
    """Absent: the first that is registered."""
    state: str | UnsetType = UNSET
    nonce: str | UnsetType = UNSET
    prompt: Literal["consent", "none"] | UnsetType = UNSET
    code_challenge: str | UnsetType = UNSET
    code_challenge_method: str | UnsetType = UNSET
    integration_type: Literal[0, 1] | UnsetType = UNSET
    permissions: Permissions | UnsetType = UNSET
    guild_id: GuildId | UnsetType = UNSET
    channel_id: ChannelId | UnsetType = UNSET
    disable_guild_select: bool | UnsetType = UNSET
    rpc_token: str | UnsetType = UNSET
    """Of the application's backend, once: the local agent need not ask the person (rpc.md 7)."""


class Authorize(Struct, kw_only=True):
    """A person's answer."""

    authorize: bool
    integration_type: Literal[0, 1] | UnsetType = UNSET
    permissions: Permissions | UnsetType = UNSET
    guild_id: GuildId | None | UnsetType = UNSET
    webhook_channel_id: ChannelId | None | UnsetType = UNSET


class AuthorizeResult(Struct, kw_only=True):
    """Where to send the person now."""

    url: str


class GrantableGuild(Struct, kw_only=True):
    """A guild that the person may install applications in."""

    id: GuildId
    name: str
    icon: str | None
    mfa_level: int
    permissions: Permissions


class ScopeInWords(Struct, kw_only=True):
    """A scope and what it lets an application do."""

    name: str
    description: str


class AuthorizationPreview(Struct, kw_only=True):
    """All that a person must know before they answer."""

    application: PublicApplication
    owner: User | UnsetType = UNSET
    """Who answers for the application."""
    user: User
    """The account that would be used."""
    scopes: list[ScopeInWords]
    redirect_uri: str | None
    authorized: bool
    """Granted before, so `prompt=none` need not ask."""
    prompt: str
    integration_type: int | UnsetType = UNSET
    permissions: Permissions | UnsetType = UNSET
    guilds: list[GrantableGuild] | UnsetType = UNSET
    """Where it could be installed, if it wants to be in a guild."""


PREVIEW_OAUTH2_AUTHORIZATION = Operation(
    "GET",
    "/oauth2/authorize",
    query=AuthorizeQuery,
    result=AuthorizationPreview,
    auth=Auth.USER,
    raises=(errors.NOT_AUTHORIZED_ON_APPLICATION,),
    refusal=OAuth2Refusal,
)

AUTHORIZE_OAUTH2_APPLICATION = Operation(
    "POST",
    "/oauth2/authorize",
    query=AuthorizeQuery,
    body=Authorize,
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
        errors.CANNOT_EXECUTE_ON_DM,
        errors.WRONG_CHANNEL_TYPE,
    ),
    refusal=OAuth2Refusal,
    audits=(
        AuditLogAction.BOT_ADD,
        AuditLogAction.INTEGRATION_CREATE,
    ),
)


# Tokens


class TokenRequest(Struct, kw_only=True):
    """The form fields of the token endpoint; which are needed depends on the grant."""

    grant_type: str | UnsetType = UNSET
    client_id: str | UnsetType = UNSET
    client_secret: str | UnsetType = UNSET
    code: str | UnsetType = UNSET
    redirect_uri: str | UnsetType = UNSET
    code_verifier: str | UnsetType = UNSET
    refresh_token: str | UnsetType = UNSET
    scope: str | UnsetType = UNSET
    device_code: str | UnsetType = UNSET
    external_auth_type: str | UnsetType = UNSET
    """With a code or a device code: the player's provisional account becomes part of the person's."""
    external_auth_token: str | UnsetType = UNSET


class TokenResult(Struct, kw_only=True):
    """Tokens."""

    access_token: str
    token_type: str = "Bearer"
    expires_in: int = ACCESS_TOKEN_SECONDS
    scope: str
    """As it was granted: umbrellas by their own name."""
    refresh_token: str | UnsetType = UNSET
    id_token: str | UnsetType = UNSET
    guild: Any = UNSET
    """Where the bot was added."""
    webhook: Any = UNSET
    """The webhook that `webhook.incoming` made, with its token."""


class RevokeRequest(Struct, kw_only=True):
    """The form fields of the revocation endpoint."""

    token: str | UnsetType = UNSET
    token_type_hint: str | UnsetType = UNSET
    client_id: str | UnsetType = UNSET
    client_secret: str | UnsetType = UNSET


class Revoked(Struct, kw_only=True):
    """Nothing more to say."""


# Counted by address, and generous: a studio's server asks for all its players from one.
TOKEN_LIMIT: Final = RateLimit(500, 10.0)

EXCHANGE_OAUTH2_TOKEN = Operation(
    "POST",
    "/oauth2/token",
    body=TokenRequest,
    result=TokenResult,
    auth=Auth.NONE,
    form=True,
    headers=("Authorization",),
    raises=(
        # A merge that cannot be is refused in the platform's form (webhooks-and-interactions.md 8.3).
        errors.INVALID_OAUTH2_ACCESS_TOKEN,
        errors.PROVISIONAL_ACCOUNTS_NOT_ENABLED,
        errors.MERGE_SOURCE_NOT_PROVISIONAL,
        errors.MERGE_DESTINATION_PROVISIONAL,
        errors.MERGE_SOURCE_BANNED,
        errors.EXTERNAL_IDENTITY_EXISTS,
        errors.OIDC_DISCOVERY_UNREACHABLE,
        errors.OIDC_KEYS_UNREACHABLE,
    ),
    refusal=OAuth2Refusal,
    limit=TOKEN_LIMIT,
)

REVOKE_OAUTH2_TOKEN = Operation(
    "POST",
    "/oauth2/token/revoke",
    body=RevokeRequest,
    result=Revoked,
    auth=Auth.NONE,
    form=True,
    headers=("Authorization",),
    refusal=OAuth2Refusal,
    limit=TOKEN_LIMIT,
)


# The local agent


class RpcTokenRequest(Struct, kw_only=True):
    """The form fields with which a backend vouches for its program."""

    client_id: str | UnsetType = UNSET
    client_secret: str | UnsetType = UNSET


class RpcTokenResult(Struct, kw_only=True):
    """Goes into one AUTHORIZE of the local RPC."""

    rpc_token: str


CREATE_RPC_TOKEN = Operation(
    "POST",
    "/oauth2/token/rpc",
    body=RpcTokenRequest,
    result=RpcTokenResult,
    auth=Auth.NONE,
    form=True,
    headers=("Authorization",),
    refusal=OAuth2Refusal,
    limit=TOKEN_LIMIT,
)


# Devices


class DeviceRequest(Struct, kw_only=True):
    """The form fields with which a device begins."""

    client_id: str | UnsetType = UNSET
    client_secret: str | UnsetType = UNSET
    scope: str | UnsetType = UNSET


class DeviceResult(Struct, kw_only=True):
    """What a device shows, and what it asks with."""

    device_code: str
    user_code: str
    verification_uri: str
    verification_uri_complete: str
    expires_in: int = DEVICE_CODE_SECONDS
    interval: int = DEVICE_INTERVAL_SECONDS


UserCode = Annotated[str, Meta(min_length=1, max_length=32)]


class VerifyDevice(Struct, kw_only=True):
    """The code that a device shows."""

    user_code: UserCode


class DeviceVerification(Struct, kw_only=True):
    """What the device's application asks for."""

    client_id: ApplicationId
    application: PublicApplication
    owner: User | UnsetType = UNSET
    """Who answers for the application."""
    scopes: list[ScopeInWords]
    type: str
    """pending, granted or denied."""
    two_way_link_code: str | None = None


class FinishDevice(Struct, kw_only=True):
    """A person's answer to a device."""

    user_code: UserCode
    result: Literal["granted", "denied"]


# RFC 8628 5.1: a code of eight letters must not be guessed; a person needs a try or two.
DEVICE_LIMIT: Final = RateLimit(10, 60.0, bucket="device_codes")

AUTHORIZE_OAUTH2_DEVICE = Operation(
    "POST",
    "/oauth2/device/authorize",
    body=DeviceRequest,
    result=DeviceResult,
    auth=Auth.NONE,
    form=True,
    headers=("Authorization",),
    refusal=OAuth2Refusal,
)

VERIFY_OAUTH2_DEVICE = Operation(
    "POST",
    "/oauth2/device/verify",
    body=VerifyDevice,
    result=DeviceVerification,
    auth=Auth.USER,
    limit=DEVICE_LIMIT,
)

FINISH_OAUTH2_DEVICE = Operation("POST", "/oauth2/device/finish", body=FinishDevice, auth=Auth.USER, limit=DEVICE_LIMIT)


# What was granted


class AuthorizedApplication(PublicApplication, kw_only=True):
    """An application as its token sees it."""

    hook: bool = True


class CurrentAuthorization(Struct, kw_only=True):
    """What a token is."""

    application: AuthorizedApplication
    scopes: list[str]
    expires: str
    user: User | UnsetType = UNSET
    """With `identify`."""


class PublicKey(Struct, kw_only=True):
    """A key that checks ID tokens."""

    kty: str
    use: str
    kid: str
    alg: str
    n: str | UnsetType = UNSET
    """With `e` an RSA key."""
    e: str | UnsetType = UNSET
    crv: str | UnsetType = UNSET
    """With `x` and `y` a key on a curve."""
    x: str | UnsetType = UNSET
    y: str | UnsetType = UNSET


class PublicKeys(Struct, kw_only=True):
    """Every key that an ID token may be signed with."""

    keys: list[PublicKey]


class UserInfo(Struct, kw_only=True):
    """Claims about a person; which, the scopes decide."""

    sub: str
    email: str | None | UnsetType = UNSET
    email_verified: bool | UnsetType = UNSET
    preferred_username: str | UnsetType = UNSET
    nickname: str | None | UnsetType = UNSET
    """The display name."""
    picture: str | UnsetType = UNSET
    locale: str | UnsetType = UNSET


class Authorization(Struct, kw_only=True):
    """An application that a person let in."""

    id: Snowflake
    application: PublicApplication
    scopes: list[str]


class TokenRevoked(Struct, kw_only=True):
    """An application may no longer act for the person."""

    application_id: ApplicationId
    access_token: str | None = None
    """The platform keeps no token's text, so it can name none (decisions/0031)."""


OAUTH2_TOKEN_REVOKE = Event("OAUTH2_TOKEN_REVOKE", TokenRevoked)

GET_MY_OAUTH2_AUTHORIZATION = Operation(
    "GET", "/oauth2/@me", result=CurrentAuthorization, auth=Auth.BEARER, publishers=True
)

GET_PUBLIC_KEYS = Operation(
    "GET", "/oauth2/keys", result=PublicKeys, auth=Auth.BOT | Auth.USER | Auth.BEARER | Auth.ANYONE
)

GET_OPENID_CONNECT_USERINFO = Operation(
    "GET", "/oauth2/userinfo", result=UserInfo, auth=Auth.BEARER, scopes=(Scope.OPENID,), publishers=True
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
"""The caller's own authorization of one application."""

"""Identities: provisional accounts, external identities and their profiles, publishers and tokens of their games."""

from typing import Annotated, Final, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.enums import Scope
from hubbub.protocol.ids import ApplicationId, Snowflake, UserId
from hubbub.protocol.operation import Auth, Event, Operation
from hubbub.protocol.resources.oauth2 import ACCESS_TOKEN_SECONDS, OAUTH2_TOKEN_REVOKE, TOKEN_LIMIT
from hubbub.protocol.resources.users import GLOBAL_NAME_MAX, USER_UPDATE, User

EXTERNAL_ID_MAX: Final = 1024
"""Maximum length of an external user ID, and of the name of a user in a game."""
CREDENTIAL_MAX: Final = 10_240
"""Maximum length of a credential or access token in a request."""
CLIENT_SECRET_MAX: Final = 1024
"""Maximum length of a client secret in a request."""
PROFILE_METADATA_KEYS_MAX: Final = 25
PROFILE_METADATA_VALUE_MAX: Final = 1024
"""Maximum length of one metadata value of a profile."""
IDENTITIES_MAX: Final = 100
"""Maximum number of users whose identities one request lists."""
MERGES_PER_DAY_MAX: Final = 5
"""Maximum number of account merges per user and day."""

ExternalAuthType = Literal[
    "OIDC",
    "EPIC_ONLINE_SERVICES_ACCESS_TOKEN",
    "EPIC_ONLINE_SERVICES_ID_TOKEN",
    "STEAM_SESSION_TICKET",
    "UNITY_SERVICES_ID_TOKEN",
    "PLATFORM_BOT_ISSUED_ACCESS_TOKEN",
    "APPLE_ID_TOKEN",
    "PLAYSTATION_NETWORK_ID_TOKEN",
]
"""Kinds of credential that prove a player's external identity."""

ExternalUserId = Annotated[str, Meta(min_length=1, max_length=EXTERNAL_ID_MAX)]
Credential = Annotated[str, Meta(min_length=1, max_length=CREDENTIAL_MAX)]
GlobalName = Annotated[str, Meta(min_length=1, max_length=GLOBAL_NAME_MAX)]

PROVISIONAL_SCOPES: Final = (Scope.OPENID.value, Scope.SDK_SOCIAL_LAYER.value)
"""Scopes of a provisional account's token, as responses list them."""

HIDDEN_PROVISIONAL_SCOPES: Final = (Scope.ACCOUNT_GLOBAL_NAME_UPDATE.value,)
"""Scopes of a provisional account's token that responses do not list (spec/sdk.md#7.5)."""


class ProvisionalToken(Struct, kw_only=True):
    """An access token of a provisional account."""

    access_token: str
    """Access token of the provisional account."""
    id_token: str
    """OpenID Connect ID token of the provisional account."""
    scope: str
    """Granted scopes, separated by spaces."""
    token_type: str = "Bearer"
    """Type of the token; always `Bearer`."""
    expires_in: int = ACCESS_TOKEN_SECONDS
    """Lifetime of the access token in seconds."""
    refresh_token: str | None = None
    """Deprecated: refresh token; request a token with a new credential instead.
    Null unless the credential is an OIDC token and the application has a client secret."""
    scopes: list[str]
    """Granted scopes as a list."""
    expires_at_seconds: int
    """Time at which the access token expires, as Unix seconds."""


# Provisional accounts


class CreateProvisionalToken(Struct, kw_only=True):
    """Request body for a provisional account's token; the application's backend identifies the player."""

    external_user_id: ExternalUserId
    """ID of the player in the application's own system."""
    preferred_global_name: GlobalName | None | UnsetType = UNSET
    """Display name of the account if this request creates it; ignored for an existing account."""
    provisional_user_id: UserId | None | UnsetType = UNSET
    """ID of an existing provisional account to associate with `external_user_id`; absent or null to find or create one."""


class ExternalCredentials(Struct, kw_only=True):
    """Request body with which a game identifies a player by a credential of an external identity provider."""

    client_id: ApplicationId
    """ID of the application."""
    external_auth_type: ExternalAuthType
    """Kind of the credential in `external_auth_token`."""
    external_auth_token: Credential
    """Credential issued by the external provider."""
    client_secret: Annotated[str, Meta(max_length=CLIENT_SECRET_MAX)] | None | UnsetType = UNSET
    """Client secret of the application; absent or null for a public client."""


class UnmergeProvisionalAccount(Struct, kw_only=True):
    """Request body for unmerging a provisional account; the application's backend identifies the player."""

    external_user_id: ExternalUserId
    """ID of the player in the application's own system."""


_CREDENTIAL_ERRORS: Final = (
    errors.PROVISIONAL_ACCOUNTS_NOT_ENABLED,
    errors.ID_TOKEN_EXPIRED,
    errors.ID_TOKEN_ISSUER_MISMATCH,
    errors.ID_TOKEN_AUDIENCE_MISMATCH,
    errors.ID_TOKEN_TOO_OLD,
    errors.INVALID_CLIENT_SECRET,
    errors.OIDC_DISCOVERY_UNREACHABLE,
    errors.OIDC_KEYS_UNREACHABLE,
    errors.INVALID_OIDC_TOKEN,
    errors.OIDC_TOKEN_WITHOUT_KID,
    errors.INVALID_OAUTH2_ACCESS_TOKEN,
    errors.UNKNOWN_APPLICATION,
)
"""Errors about an external credential or the client that presents it."""

PARTNER_SDK_TOKEN = Operation(
    "POST",
    "/partner-sdk/token",
    body=ExternalCredentials,
    result=ProvisionalToken,
    auth=Auth.NONE,
    raises=(*_CREDENTIAL_ERRORS, errors.USERNAME_GENERATION_FAILED, errors.ACCOUNT_NOT_PROVISIONAL),
    limit=TOKEN_LIMIT,
)

BOT_PARTNER_SDK_TOKEN = Operation(
    "POST",
    "/partner-sdk/token/bot",
    body=CreateProvisionalToken,
    result=ProvisionalToken,
    auth=Auth.BOT,
    raises=(
        errors.PROVISIONAL_ACCOUNTS_NOT_ENABLED,
        errors.USERNAME_GENERATION_FAILED,
        errors.ACCOUNT_NOT_PROVISIONAL,
        errors.EXTERNAL_IDENTITY_EXISTS,
        errors.UNKNOWN_USER,
    ),
    limit=TOKEN_LIMIT,
)

PARTNER_SDK_UNMERGE_PROVISIONAL_ACCOUNT = Operation(
    "POST",
    "/partner-sdk/provisional-accounts/unmerge",
    body=ExternalCredentials,
    auth=Auth.NONE,
    raises=(
        *_CREDENTIAL_ERRORS,
        errors.USERNAME_GENERATION_FAILED,
        errors.ACCOUNT_IS_PROVISIONAL,
        errors.UNKNOWN_USER,
    ),
    limit=TOKEN_LIMIT,
    emits=(OAUTH2_TOKEN_REVOKE,),
)

BOT_PARTNER_SDK_UNMERGE_PROVISIONAL_ACCOUNT = Operation(
    "POST",
    "/partner-sdk/provisional-accounts/unmerge/bot",
    body=UnmergeProvisionalAccount,
    auth=Auth.BOT,
    raises=(
        errors.PROVISIONAL_ACCOUNTS_NOT_ENABLED,
        errors.USERNAME_GENERATION_FAILED,
        errors.ACCOUNT_IS_PROVISIONAL,
        errors.UNKNOWN_USER,
    ),
    limit=TOKEN_LIMIT,
    emits=(OAUTH2_TOKEN_REVOKE,),
)


class UpdateAccount(Struct, kw_only=True):
    """Request body for updating a provisional account."""

    global_name: GlobalName | None | UnsetType = UNSET
    """New display name; null removes it, absent keeps it."""


UPDATE_MY_ACCOUNT = Operation(
    "PATCH",
    "/users/@me/account",
    body=UpdateAccount,
    result=User,
    auth=Auth.BEARER,
    scopes=(Scope.ACCOUNT_GLOBAL_NAME_UPDATE,),
    emits=(USER_UPDATE,),
)


class MergeCompleted(Struct, kw_only=True):
    """A provisional account that was merged into a full account."""

    merge_operation_id: Snowflake
    """ID of the merge."""
    source_user_id: UserId
    """ID of the provisional account, which no longer exists."""


USER_MERGE_OPERATION_COMPLETED = Event(
    "USER_MERGE_OPERATION_COMPLETED",
    MergeCompleted,
    "Sent when a provisional account has been merged into the user's account.",
)


# Tokens of a publisher's games


class ExchangeChildToken(Struct, kw_only=True):
    """Request body for exchanging a publisher's access token for an access token of one of its games."""

    parent_access_token: Annotated[str, Meta(min_length=1, max_length=CREDENTIAL_MAX)]
    """Access token issued to the publisher's application."""
    child_application_id: ApplicationId
    """ID of the game's application."""
    parent_client_secret: Annotated[str, Meta(max_length=CLIENT_SECRET_MAX)] | None | UnsetType = UNSET
    """Client secret of the publisher's application; absent or null for a public client."""


class ChildToken(Struct, kw_only=True):
    """An access token of a game, which cannot be refreshed."""

    access_token: str
    """Access token of the game."""
    expires_in: int
    """Seconds until the token expires; it expires with the publisher's token."""
    scope: str
    """Granted scopes, separated by spaces."""
    token_type: str = "Bearer"
    """Type of the token; always `Bearer`."""


PARTNER_SDK_CHILD_TOKEN = Operation(
    "POST",
    "/partner-sdk/child-token",
    body=ExchangeChildToken,
    result=ChildToken,
    auth=Auth.NONE,
    raises=(errors.INVALID_OAUTH2_ACCESS_TOKEN, errors.INVALID_CLIENT_SECRET, errors.UNKNOWN_APPLICATION),
    limit=TOKEN_LIMIT,
)


# Profiles


class ExternalId(Struct, kw_only=True):
    """A user's identity at an external provider."""

    provider_type: str
    """Type of the provider, such as `OIDC` or `STEAM`."""
    provider_id: str | None
    """ID of the provider within its type, such as an issuer; null if the type has only one provider."""
    provider_issued_user_id: str
    """ID of the user at the provider."""


class UserApplicationProfile(Struct, kw_only=True):
    """A user's profile in a game."""

    username: str | None
    """Name of the user in the game; null if the game set none."""
    avatar_hash: str
    """Hash of the user's avatar in the game; always empty."""
    metadata: str
    """Metadata that the game stored, as a JSON document."""
    external_id: ExternalId
    """Identity of the user at the external provider."""


class UserApplicationProfiles(Struct, kw_only=True):
    """The profiles of a user after a change."""

    user_id: UserId
    """ID of the user."""
    application_id: ApplicationId
    """ID of the publisher's application, or of the game if it has no publisher."""
    user_application_profiles: list[UserApplicationProfile]
    """All profiles of the user, as in READY; at most one."""


USER_APPLICATION_IDENTITY_UPDATE = Event(
    "USER_APPLICATION_IDENTITY_UPDATE",
    UserApplicationProfiles,
    "Sent when the profile of a related user in the session's family of games changes.",
    scope=Scope.RELATIONSHIPS_READ,
)


class IdentityProfile(Struct, kw_only=True):
    """A user's profile in a game, as the application's bot reads it."""

    username: str | None
    """Name of the user in the game; null if none is set."""
    metadata: dict[str, str]
    """Metadata stored with the profile."""
    external_id: ExternalId
    """Identity of the user at the external provider."""


class UpdateIdentityProfile(Struct, kw_only=True):
    """Request body for updating a profile."""

    username: Annotated[str, Meta(max_length=EXTERNAL_ID_MAX)] | None | UnsetType = UNSET
    """New name of the user in the game; null removes it, absent keeps it."""
    metadata: (
        Annotated[
            dict[str, Annotated[str, Meta(max_length=PROFILE_METADATA_VALUE_MAX)]],
            Meta(max_length=PROFILE_METADATA_KEYS_MAX),
        ]
        | None
        | UnsetType
    ) = UNSET
    """New metadata, which replaces the stored metadata; null clears it, absent keeps it."""


_PROFILE_ERRORS: Final = (errors.UNKNOWN_APPLICATION, errors.NOT_AUTHORIZED_ON_APPLICATION, errors.UNKNOWN_USER)

GET_USER_IDENTITY_PROFILE = Operation(
    "GET",
    "/applications/{application_id}/users/{user_id}/identities/{external_user_id}/profile",
    result=IdentityProfile,
    auth=Auth.BOT,
    raises=_PROFILE_ERRORS,
)

UPDATE_USER_IDENTITY_PROFILE = Operation(
    "PATCH",
    "/applications/{application_id}/users/{user_id}/identities/{external_user_id}/profile",
    body=UpdateIdentityProfile,
    result=IdentityProfile,
    auth=Auth.BOT,
    raises=_PROFILE_ERRORS,
    emits=(USER_APPLICATION_IDENTITY_UPDATE,),
)


class ListApplicationIdentities(Struct, kw_only=True):
    """Request body for listing the external IDs of users."""

    user_ids: Annotated[list[UserId], Meta(min_length=1, max_length=IDENTITIES_MAX)]
    """IDs of the users, 1 to 100; users without an identity in the application are left out of the response."""


class ApplicationIdentity(Struct, kw_only=True):
    """A user and the ID of the user at the identity provider of the application."""

    user_id: UserId
    """ID of the user."""
    external_user_id: str
    """ID of the user at the identity provider of the application."""


LIST_APPLICATION_IDENTITIES = Operation(
    "POST",
    "/application-identities",
    body=ListApplicationIdentities,
    result=list[ApplicationIdentity],
    auth=Auth.BEARER,
    scopes=(Scope.APPLICATION_IDENTITIES_WRITE,),
)


# Publishers


class PublisherLink(Struct, kw_only=True):
    """The direct relatives of an application in its family: its publisher, or the games that it publishes."""

    application_id: ApplicationId
    """ID of the application."""
    parent_id: ApplicationId | None
    """ID of the publisher's application; null if the application has no publisher."""
    child_ids: list[ApplicationId]
    """IDs of the games of which the application is the publisher; empty if it is none."""


GET_PUBLISHER_LINK = Operation(
    "GET",
    "/applications/{application_id}/publisher",
    result=PublisherLink,
    raises=(errors.UNKNOWN_APPLICATION, errors.NOT_AUTHORIZED_ON_APPLICATION),
)

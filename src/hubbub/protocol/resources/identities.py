"""Who players are elsewhere: provisional accounts, external identities and their profiles, and a publisher's tokens."""

from typing import Annotated, Final, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.enums import Scope
from hubbub.protocol.ids import ApplicationId, Snowflake, UserId
from hubbub.protocol.operation import Auth, Event, Operation
from hubbub.protocol.resources.oauth2 import ACCESS_TOKEN_SECONDS, OAUTH2_TOKEN_REVOKE, TOKEN_LIMIT
from hubbub.protocol.resources.users import GLOBAL_NAME_MAX, USER_UPDATE, User

EXTERNAL_ID_MAX: Final = 1024
CREDENTIAL_MAX: Final = 10_240
SECRET_MAX: Final = 1024
METADATA_KEYS_MAX: Final = 25
METADATA_MAX: Final = 1024
IDENTITIES_MAX: Final = 100
MERGES_A_DAY: Final = 5

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
"""What a player proves with who they are elsewhere."""

ExternalUserId = Annotated[str, Meta(min_length=1, max_length=EXTERNAL_ID_MAX)]
Credential = Annotated[str, Meta(min_length=1, max_length=CREDENTIAL_MAX)]
GlobalName = Annotated[str, Meta(min_length=1, max_length=GLOBAL_NAME_MAX)]

SCOPES: Final = (Scope.OPENID.value, Scope.SDK_SOCIAL_LAYER.value)
"""What a provisional account's token may do, by name; besides, it may change the account's display name (sdk.md 7.5)."""


class ProvisionalToken(Struct, kw_only=True):
    """A token of a provisional account."""

    access_token: str
    id_token: str
    scope: str
    token_type: str = "Bearer"
    expires_in: int = ACCESS_TOKEN_SECONDS
    refresh_token: str | None = None
    """Only for OIDC and a client with a secret; refreshing is deprecated, ask with a fresh credential instead."""
    scopes: list[str]
    expires_at_s: int


# Provisional accounts


class CreateBotToken(Struct, kw_only=True):
    """A player whom the application's own server knows."""

    external_user_id: ExternalUserId
    preferred_global_name: GlobalName | None | UnsetType = UNSET
    """What a new account is called."""
    provisional_user_id: UserId | None | UnsetType = UNSET
    """A provisional account that was made another way and is to be found by this id too."""


class ExternalCredentials(Struct, kw_only=True):
    """A player who proves who they are elsewhere."""

    client_id: ApplicationId
    external_auth_type: ExternalAuthType
    external_auth_token: Credential
    client_secret: Annotated[str, Meta(max_length=SECRET_MAX)] | None | UnsetType = UNSET


class UnmergeByBot(Struct, kw_only=True):
    """A player whom the application's own server knows."""

    external_user_id: ExternalUserId


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
"""What may be wrong with a credential, or with who brings it."""

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
    body=CreateBotToken,
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
    body=UnmergeByBot,
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
    """A new display name."""

    global_name: GlobalName | None | UnsetType = UNSET


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
    """A provisional account is now part of the person's own."""

    merge_operation_id: Snowflake
    source_user_id: UserId


USER_MERGE_OPERATION_COMPLETED = Event("USER_MERGE_OPERATION_COMPLETED", MergeCompleted)


# A publisher's tokens


class ExchangeChildToken(Struct, kw_only=True):
    """A publisher's token, and the game that needs one of its own."""

    parent_access_token: Annotated[str, Meta(min_length=1, max_length=CREDENTIAL_MAX)]
    child_application_id: ApplicationId
    parent_client_secret: Annotated[str, Meta(max_length=SECRET_MAX)] | None | UnsetType = UNSET
    """Unless the publisher's application is a public client."""


class ChildToken(Struct, kw_only=True):
    """A game's token: it ends when the publisher's would have, and cannot be refreshed."""

    access_token: str
    expires_in: int
    scope: str
    token_type: str = "Bearer"


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
    """Who somebody is elsewhere."""

    provider_type: str
    provider_id: str | None
    provider_issued_user_id: str


class UserApplicationProfile(Struct, kw_only=True):
    """A player as the game knows them."""

    username: str | None
    avatar_hash: str
    metadata: str
    """JSON."""
    external_id: ExternalId


class UserApplicationProfiles(Struct, kw_only=True):
    """A player whom a game knows otherwise now."""

    user_id: UserId
    application_id: ApplicationId
    """The head of the family of applications."""
    user_application_profiles: list[UserApplicationProfile]
    """All that there are, as READY tells them: one, or none any more."""


USER_APPLICATION_IDENTITY_UPDATE = Event(
    "USER_APPLICATION_IDENTITY_UPDATE", UserApplicationProfiles, scope=Scope.RELATIONSHIPS_READ
)


class IdentityProfile(Struct, kw_only=True):
    """A profile as the application's own server sees it."""

    username: str | None
    metadata: dict[str, str]
    external_id: ExternalId


class UpdateIdentityProfile(Struct, kw_only=True):
    """What changes of a profile."""

    username: Annotated[str, Meta(max_length=EXTERNAL_ID_MAX)] | None | UnsetType = UNSET
    metadata: (
        Annotated[dict[str, Annotated[str, Meta(max_length=METADATA_MAX)]], Meta(max_length=METADATA_KEYS_MAX)]
        | None
        | UnsetType
    ) = UNSET


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


class FindIdentities(Struct, kw_only=True):
    """Players whose ids elsewhere are wanted."""

    user_ids: Annotated[list[UserId], Meta(min_length=1, max_length=IDENTITIES_MAX)]


class ApplicationIdentity(Struct, kw_only=True):
    """A player and their id elsewhere."""

    user_id: UserId
    external_user_id: str


LIST_APPLICATION_IDENTITIES = Operation(
    "POST",
    "/application-identities",
    body=FindIdentities,
    result=list[ApplicationIdentity],
    auth=Auth.BEARER,
    scopes=(Scope.APPLICATION_IDENTITIES_WRITE,),
)


# Publishers


class PublisherLink(Struct, kw_only=True):
    """The family of an application: who signs players in, and for which games."""

    application_id: ApplicationId
    parent_id: ApplicationId | None
    child_ids: list[ApplicationId]


GET_PUBLISHER_LINK = Operation(
    "GET",
    "/applications/{application_id}/publisher",
    result=PublisherLink,
    raises=(errors.UNKNOWN_APPLICATION, errors.NOT_AUTHORIZED_ON_APPLICATION),
)
"""Our own: what an operator linked, for whoever manages the application."""

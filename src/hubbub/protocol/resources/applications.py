"""Applications: programs registered by developers, their settings, and the teams that own them."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol import changes, errors
from hubbub.protocol.enums import WebhookEventType
from hubbub.protocol.flags import ApplicationFlags
from hubbub.protocol.ids import ApplicationId, GuildId, Snowflake, TeamId, UserId
from hubbub.protocol.images import ImageData
from hubbub.protocol.numbers import INT32_MAX, Bits
from hubbub.protocol.operation import Auth, Operation, RateLimit
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources.users import User

APPLICATION_DESCRIPTION_MAX = 400
APPLICATION_TAGS_MAX = 5
APPLICATION_TAG_LENGTH_MAX = 20
APPLICATION_URL_MAX = 2048
APPLICATION_NAME_MIN = 2
APPLICATION_NAME_MAX = 32
REDIRECT_URIS_MAX = 25
RPC_ORIGINS_MAX = 25

Url = Annotated[str, Meta(max_length=APPLICATION_URL_MAX)]


def wire_flags(bits: int, now_ms: int | None = None) -> tuple[int, str | UnsetType]:
    """Return an application's `flags` and `flags_new` at a time in Unix milliseconds.

    If `now_ms` is None, `flags_new` is always included; otherwise from changes.APPLICATION_FLAGS_NEW on."""
    has_flags_new = now_ms is None or changes.APPLICATION_FLAGS_NEW.is_active(now_ms)
    return bits & ApplicationFlags.LEGACY_FIELD_MASK, str(bits) if has_flags_new else UNSET


class InstallParams(Struct, kw_only=True):
    """Scopes and permissions requested when an application is installed."""

    scopes: list[str]
    """OAuth2 scopes to request."""
    permissions: Permissions
    """Permissions to request for the bot's role in the guild."""


class IntegrationTypeConfiguration(Struct, kw_only=True):
    """Configuration of one installation context of an application."""

    oauth2_install_params: InstallParams | UnsetType = UNSET
    """Scopes and permissions to request in this context; absent if none are configured."""


class TeamMember(Struct, kw_only=True):
    """A member of a developer team."""

    user: User
    """User account of the member."""
    team_id: TeamId
    """ID of the team."""
    membership_state: int
    """State of the membership; a `TeamMembershipState`."""
    role: str
    """Role in the team; a `TeamRole`."""
    permissions: list[str]
    """Always `["*"]`; undocumented, but hikari reads it."""


class Team(Struct, kw_only=True):
    """A group of developers that owns applications."""

    id: TeamId
    """ID of the team."""
    icon: str | None
    """Hash of the team's icon; null if none."""
    name: str
    """Name of the team."""
    owner_user_id: UserId
    """ID of the user who owns the team."""
    members: list[TeamMember]
    """Members of the team, invited ones included."""


class ReadyApplication(Struct, kw_only=True):
    """The application of a gateway session, as READY contains it."""

    id: ApplicationId
    """ID of the application."""
    flags: int
    """Bits 0 to 30 of the application's flags."""
    flags_new: str | UnsetType = UNSET
    """All bits of the application's flags, as a decimal string; absent before changes.APPLICATION_FLAGS_NEW."""
    name: str | UnsetType = UNSET
    """Name of the application; absent in sessions of bots."""
    parent_id: ApplicationId | None | UnsetType = UNSET
    """ID of the publisher's application, or null if there is none; absent in sessions of bots."""


class PublicApplication(Struct, kw_only=True):
    """The public fields of an application, which any caller can read."""

    id: ApplicationId
    """ID of the application."""
    name: str
    """Name of the application."""
    icon: str | None
    """Hash of the icon; null if none."""
    description: str
    """Description of the application."""
    summary: str = ""
    """Deprecated: always empty; kept because interactions.py reads the key."""
    type: int | None
    """Type of the application; always null."""
    verify_key: str
    """Hexadecimal Ed25519 public key that verifies interaction and webhook event signatures."""
    flags: int
    """Bits 0 to 30 of the application's flags."""
    flags_new: str | UnsetType = UNSET
    """All bits of the application's flags, as a decimal string; absent before changes.APPLICATION_FLAGS_NEW."""
    cover_image: str | UnsetType = UNSET
    """Hash of the cover image for rich presence invites; absent if none."""
    primary_sku_id: Snowflake | UnsetType = UNSET
    """ID of the SKU of the game; always absent."""
    bot: User | UnsetType = UNSET
    """Bot user of the application; absent if it has none."""
    slug: str | UnsetType = UNSET
    """URL slug of the store page; always absent."""
    guild_id: GuildId | UnsetType = UNSET
    """ID of the guild linked to the application; always absent."""
    rpc_origins: list[str] = []
    """Web origins that may connect to the local agent over RPC."""
    bot_public: bool | UnsetType = UNSET
    """Whether users other than the owner may install the application."""
    bot_require_code_grant: bool | UnsetType = UNSET
    """Whether installing the bot requires the full OAuth2 authorization code grant."""
    terms_of_service_url: str | UnsetType = UNSET
    """URL of the terms of service; absent if none."""
    privacy_policy_url: str | UnsetType = UNSET
    """URL of the privacy policy; absent if none."""
    custom_install_url: str | UnsetType = UNSET
    """URL of the custom installation page; absent if none."""
    install_params: InstallParams | UnsetType = UNSET
    """Scopes and permissions of the default installation link; absent if none."""
    integration_types_config: dict[str, IntegrationTypeConfiguration] | UnsetType = UNSET
    """Configuration by supported installation context: "0" for guilds, "1" for users."""
    max_participants: int | None | UnsetType = UNSET
    """Maximum number of participants of an activity instance; -1 or null for no limit."""
    tags: list[str] | UnsetType = UNSET
    """Tags that describe the application, at most 5 of at most 20 characters each; absent in invites."""


class Application(PublicApplication, kw_only=True):
    """An application with the fields that its owner and its bot can read."""

    # Both are optional in the public API, but discord.py reads them without a default at login.
    bot_public: bool
    """Whether users other than the owner may install the application."""
    bot_require_code_grant: bool
    """Whether installing the bot requires the full OAuth2 authorization code grant."""
    owner: User
    """User who owns the application."""
    team: Team | None
    """Team that owns the application; null if it does not belong to a team."""
    redirect_uris: list[str]
    """Registered OAuth2 redirect URIs."""
    interactions_endpoint_url: str | None
    """URL that receives interactions by HTTP; null if the gateway delivers them."""
    role_connections_verification_url: str | None
    """URL where users connect their account for linked roles; null if none."""
    approximate_guild_count: int
    """Approximate number of guilds in which the application is installed."""
    approximate_user_install_count: int
    """Approximate number of users who installed the application with `applications.commands`."""
    approximate_user_authorization_count: int
    """Approximate number of users who authorized the application by OAuth2."""
    explicit_content_filter: int
    """Level of the explicit content filter for content of the application: 0 or 1."""
    eligible_oauth2_scopes: list[str]
    """OAuth2 scopes that the application may request; always empty."""
    event_webhooks_url: str | None | UnsetType = UNSET
    """URL that receives webhook events; null or absent if none."""
    event_webhooks_status: int | UnsetType = UNSET
    """Status of webhook events: 1 disabled, 2 enabled, 3 disabled by the platform."""
    event_webhooks_types: list[str] | UnsetType = UNSET
    """Types of webhook events that the application subscribes to; `WebhookEventType` values."""
    channel_obfuscation: bool | UnsetType = UNSET
    """Whether the bot opted in early to channel obfuscation (changes.CHANNEL_OBFUSCATION); not shown to the bot."""


class LocalizedDescription(Struct, kw_only=True):
    """Description of an application, with translations."""

    default: Annotated[str, Meta(max_length=APPLICATION_DESCRIPTION_MAX)]
    """Description shown where no translation matches, at most 400 characters."""
    localizations: dict[str, str] | None | UnsetType = UNSET
    """Translations by locale; accepted, but not stored."""


class UpdateApplication(Struct, kw_only=True):
    """Request body with which a bot updates its application; absent fields keep their value."""

    description: (
        Annotated[str, Meta(max_length=APPLICATION_DESCRIPTION_MAX)] | LocalizedDescription | None | UnsetType
    ) = UNSET
    """New description, as plain text or as an object with translations; null clears it."""
    icon: ImageData | None | UnsetType = UNSET
    """New icon as a data URI; null removes it."""
    cover_image: ImageData | None | UnsetType = UNSET
    """New cover image as a data URI; null removes it."""
    flags: Bits | None | UnsetType = UNSET
    """New flags; only GATEWAY_PRESENCE_LIMITED, GATEWAY_GUILD_MEMBERS_LIMITED and GATEWAY_MESSAGE_CONTENT_LIMITED change.
    Null changes none."""
    interactions_endpoint_url: Url | None | UnsetType = UNSET
    """New interactions URL, verified with a signed ping; null removes it."""
    explicit_content_filter: Literal[0, 1] | None | UnsetType = UNSET
    """New level of the explicit content filter for content of the application: 0 or 1; null resets it to 0."""
    max_participants: Annotated[int, Meta(ge=-1, le=INT32_MAX)] | None | UnsetType = UNSET
    """New maximum of participants of an activity instance; -1 or null for no limit."""
    tags: (
        Annotated[
            list[Annotated[str, Meta(max_length=APPLICATION_TAG_LENGTH_MAX)]], Meta(max_length=APPLICATION_TAGS_MAX)
        ]
        | None
        | UnsetType
    ) = UNSET
    """New tags, at most 5 of at most 20 characters each; null removes them."""
    custom_install_url: Url | None | UnsetType = UNSET
    """New URL of the custom installation page; null removes it."""
    install_params: InstallParams | None | UnsetType = UNSET
    """New scopes and permissions of the default installation link; null removes them."""
    role_connections_verification_url: Url | None | UnsetType = UNSET
    """New verification URL for linked roles; null removes it."""
    integration_types_config: dict[str, IntegrationTypeConfiguration | None] | None | UnsetType = UNSET
    """New configuration by supported installation context: "0" for guilds, "1" for users; null removes all contexts."""
    event_webhooks_status: Literal[1, 2] | None | UnsetType = UNSET
    """New status of webhook events: 1 disabled, 2 enabled; null resets it to 1."""
    event_webhooks_url: Url | None | UnsetType = UNSET
    """New URL for webhook events, verified with a signed ping; null removes it."""
    event_webhooks_types: list[WebhookEventType] | None | UnsetType = UNSET
    """New types of webhook events to subscribe to; null for none."""


ApplicationName = Annotated[str, Meta(min_length=APPLICATION_NAME_MIN, max_length=APPLICATION_NAME_MAX)]


class ManageApplication(UpdateApplication, kw_only=True):
    """Request body with which the owner updates an application; absent fields keep their value.

    A bot token cannot change the fields that this class adds, so that a stolen token does not give control of the application.
    """

    name: ApplicationName | UnsetType = UNSET
    """New name, 2 to 32 characters."""
    bot_public: bool | UnsetType = UNSET
    """Whether users other than the owner may install the application."""
    bot_require_code_grant: bool | UnsetType = UNSET
    """Whether installing the bot requires the full OAuth2 authorization code grant."""
    redirect_uris: list[Url] | None | UnsetType = UNSET
    """New OAuth2 redirect URIs, at most 25; null removes all."""
    terms_of_service_url: Url | None | UnsetType = UNSET
    """New URL of the terms of service; null removes it."""
    privacy_policy_url: Url | None | UnsetType = UNSET
    """New URL of the privacy policy; null removes it."""
    rpc_origins: Annotated[list[Url], Meta(max_length=RPC_ORIGINS_MAX)] | None | UnsetType = UNSET
    """Web origins that may connect to the local agent, at most 25; null removes all."""
    public_client: bool | UnsetType = UNSET
    """Whether the application is a public OAuth2 client, which exchanges codes without a client secret."""
    channel_obfuscation: bool | UnsetType = UNSET
    """Whether the bot opts in early to channel obfuscation (changes.CHANNEL_OBFUSCATION)."""
    activities: bool | UnsetType = UNSET
    """Whether the application can be launched as an activity; enabling it creates its launch command."""
    accept_social_layer_terms: Literal[True] | UnsetType = UNSET
    """Accepts the terms of the social layer, which allows its scopes with development limits; absent changes nothing."""


class RpcApplication(Struct, kw_only=True):
    """An application as the local agent reads it before accepting an RPC connection (spec/rpc.md#12)."""

    id: ApplicationId
    """ID of the application."""
    name: str
    """Name of the application."""
    icon: str | None
    """Hash of the icon; null if none."""
    description: str
    """Description of the application."""
    flags: int
    """Bits 0 to 30 of the application's flags."""
    flags_new: str | UnsetType = UNSET
    """All bits of the application's flags, as a decimal string; absent before changes.APPLICATION_FLAGS_NEW."""
    rpc_origins: list[str]
    """Web origins that may connect to the local agent over a WebSocket."""
    activity_types: list[int]
    """Activity types that SET_ACTIVITY accepts at present.

    The agent does not know the platform's clock, so the server decides (decisions/0051).
    """
    premium_type_scope: str
    """OAuth2 scope that a program needs at present to read the user's `premium_type` (changes.PREMIUM_TYPE_SCOPE)."""


GET_MY_APPLICATION = Operation("GET", "/applications/@me", result=Application, auth=Auth.BOT)

UPDATE_MY_APPLICATION = Operation(
    "PATCH", "/applications/@me", body=UpdateApplication, result=Application, auth=Auth.BOT
)

GET_APPLICATION = Operation(
    "GET",
    "/applications/{application_id}",
    result=Application,
    raises=(errors.UNKNOWN_APPLICATION, errors.NOT_AUTHORIZED_ON_APPLICATION),
    # Every page of the developer portal loads the application first.
    limit=RateLimit(30, 10.0),
)

UPDATE_APPLICATION = Operation(
    "PATCH",
    "/applications/{application_id}",
    body=ManageApplication,
    result=Application,
    raises=(errors.UNKNOWN_APPLICATION, errors.NOT_AUTHORIZED_ON_APPLICATION),
)

GET_APPLICATION_RPC = Operation(
    "GET",
    "/applications/{application_id}/rpc",
    result=RpcApplication,
    auth=Auth.BOT | Auth.USER | Auth.BEARER | Auth.ANONYMOUS,
    raises=(errors.UNKNOWN_APPLICATION,),
    # Agents request the application at each start of a game, possibly for many users behind one IP address.
    limit=RateLimit(100, 10.0),
)

GET_MY_OAUTH2_APPLICATION = Operation("GET", "/oauth2/applications/@me", result=Application, auth=Auth.BOT)

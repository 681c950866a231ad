"""Applications: what a developer registers, and the bot that speaks for it."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol import changes, errors
from hubbub.protocol.enums import WebhookEventType
from hubbub.protocol.ids import ApplicationId, GuildId, Snowflake, TeamId, UserId
from hubbub.protocol.images import ImageData
from hubbub.protocol.numbers import INT32_MAX, Bits
from hubbub.protocol.operation import Auth, Operation, RateLimit
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources.users import User

APPLICATION_DESCRIPTION_MAX = 400
APPLICATION_TAGS_MAX = 5
APPLICATION_TAG_MAX = 20
URL_MAX = 2048
APPLICATION_NAME_MIN = 2
APPLICATION_NAME_MAX = 32
REDIRECT_URIS_MAX = 25
RPC_ORIGINS_MAX = 25
NARROW_FLAGS = (1 << 31) - 1
"""`flags` is a number limited to bits 0 to 30; `flags_new` carries them all."""

Url = Annotated[str, Meta(max_length=URL_MAX)]


def flags_on_the_wire(bits: int, now: int | None = None) -> tuple[int, str | UnsetType]:
    """An application's flags in both forms, `flags` and `flags_new`, as they are at a moment; without one, as today."""
    return bits & NARROW_FLAGS, str(bits) if now is None or changes.FLAGS_NEW.active(now) else UNSET


class InstallParams(Struct, kw_only=True):
    """Scopes and permissions that an installation asks for."""

    scopes: list[str]
    permissions: Permissions


class IntegrationTypeConfiguration(Struct, kw_only=True):
    """What an installation in one context asks for."""

    oauth2_install_params: InstallParams | UnsetType = UNSET


class TeamMember(Struct, kw_only=True):
    """A developer in a team."""

    user: User
    team_id: TeamId
    membership_state: int
    """1 invited, 2 accepted."""
    role: str
    """admin, developer or read_only."""
    permissions: list[str]
    """Always `["*"]`; undocumented, yet hikari indexes it."""


class Team(Struct, kw_only=True):
    """Developers who own applications together."""

    id: TeamId
    icon: str | None
    name: str
    owner_user_id: UserId
    members: list[TeamMember]


class FlaggedApplication(Struct, kw_only=True):
    """An application as READY names it."""

    id: ApplicationId
    flags: int
    flags_new: str | UnsetType = UNSET
    name: str | UnsetType = UNSET
    """In OAuth2 sessions."""
    parent_id: ApplicationId | None | UnsetType = UNSET
    """In OAuth2 sessions: the publisher's application."""


class PublicApplication(Struct, kw_only=True):
    """An application as anybody may see it."""

    id: ApplicationId
    name: str
    icon: str | None
    description: str
    type: int | None
    """4 for a guild's own role subscriptions, else null."""
    verify_key: str
    """The Ed25519 public key, in hexadecimal, that checks what we sign for this application."""
    flags: int
    flags_new: str | UnsetType = UNSET
    cover_image: str | UnsetType = UNSET
    primary_sku_id: Snowflake | UnsetType = UNSET
    bot: User | UnsetType = UNSET
    slug: str | UnsetType = UNSET
    guild_id: GuildId | UnsetType = UNSET
    rpc_origins: list[str] | UnsetType = UNSET
    bot_public: bool | UnsetType = UNSET
    bot_require_code_grant: bool | UnsetType = UNSET
    terms_of_service_url: str | UnsetType = UNSET
    privacy_policy_url: str | UnsetType = UNSET
    custom_install_url: str | UnsetType = UNSET
    install_params: InstallParams | UnsetType = UNSET
    integration_types_config: dict[str, IntegrationTypeConfiguration] | UnsetType = UNSET
    """By installation context: "0" in a guild, "1" for a user; the keys present are those supported."""
    max_participants: int | None | UnsetType = UNSET
    tags: list[str] | UnsetType = UNSET


class Application(PublicApplication, kw_only=True):
    """An application as its owner and its bot see it."""

    # Both are optional in the documents, but discord.py indexes them when it logs in.
    bot_public: bool
    bot_require_code_grant: bool
    owner: User
    team: Team | None
    redirect_uris: list[str]
    interactions_endpoint_url: str | None
    role_connections_verification_url: str | None
    approximate_guild_count: int
    approximate_user_install_count: int
    """How many users installed it with `applications.commands`."""
    approximate_user_authorization_count: int
    explicit_content_filter: int
    eligible_oauth2_scopes: list[str]
    event_webhooks_url: str | None | UnsetType = UNSET
    event_webhooks_status: int | UnsetType = UNSET
    """1 off, 2 on, 3 switched off by the platform."""
    event_webhooks_types: list[str] | UnsetType = UNSET
    channel_obfuscation: bool | UnsetType = UNSET
    """Whether its bot does without channels that it may not see before everybody must; for its owner."""


class LocalizedDescription(Struct, kw_only=True):
    """The description with its translations."""

    default: Annotated[str, Meta(max_length=APPLICATION_DESCRIPTION_MAX)]
    localizations: dict[str, str] | None | UnsetType = UNSET


class UpdateApplication(Struct, kw_only=True):
    """What an application's owner or bot may change."""

    description: (
        Annotated[str, Meta(max_length=APPLICATION_DESCRIPTION_MAX)] | LocalizedDescription | None | UnsetType
    ) = UNSET
    """Libraries send the plain text; the public description also has a translated form."""
    icon: ImageData | None | UnsetType = UNSET
    cover_image: ImageData | None | UnsetType = UNSET
    flags: Bits | None | UnsetType = UNSET
    """Only the three limited intent bits change; the rest is ignored."""
    interactions_endpoint_url: Url | None | UnsetType = UNSET
    explicit_content_filter: Literal[0, 1] | None | UnsetType = UNSET
    max_participants: Annotated[int, Meta(ge=-1, le=INT32_MAX)] | None | UnsetType = UNSET
    tags: (
        Annotated[list[Annotated[str, Meta(max_length=APPLICATION_TAG_MAX)]], Meta(max_length=APPLICATION_TAGS_MAX)]
        | None
        | UnsetType
    ) = UNSET
    custom_install_url: Url | None | UnsetType = UNSET
    install_params: InstallParams | None | UnsetType = UNSET
    role_connections_verification_url: Url | None | UnsetType = UNSET
    integration_types_config: dict[str, IntegrationTypeConfiguration | None] | None | UnsetType = UNSET
    event_webhooks_status: Literal[1, 2] | None | UnsetType = UNSET
    """3 is the platform's own word and cannot be written."""
    event_webhooks_url: Url | None | UnsetType = UNSET
    event_webhooks_types: list[WebhookEventType] | None | UnsetType = UNSET


ApplicationName = Annotated[str, Meta(min_length=APPLICATION_NAME_MIN, max_length=APPLICATION_NAME_MAX)]


class ManageApplication(UpdateApplication, kw_only=True):
    """What besides its owner may change. A bot's token changes nothing of it: who steals one must not gain the rest."""

    name: ApplicationName | UnsetType = UNSET
    bot_public: bool | UnsetType = UNSET
    """Whether others than the owner may install it."""
    bot_require_code_grant: bool | UnsetType = UNSET
    redirect_uris: list[Url] | None | UnsetType = UNSET
    terms_of_service_url: Url | None | UnsetType = UNSET
    privacy_policy_url: Url | None | UnsetType = UNSET
    rpc_origins: Annotated[list[Url], Meta(max_length=RPC_ORIGINS_MAX)] | None | UnsetType = UNSET
    """Pages that may connect to the agent on a person's machine."""
    public_client: bool | UnsetType = UNSET
    """Whether it may exchange codes without its secret: games on people's machines cannot keep one."""
    channel_obfuscation: bool | UnsetType = UNSET
    """Whether its bot does without channels that it may not see before everybody must."""
    activities: bool | UnsetType = UNSET
    """Whether it can be launched inside the chat; gives it the command that does so (activities.md 2)."""
    accept_social_layer_terms: Literal[True] | UnsetType = UNSET
    """Opens the scopes of the social layer, with the limits of development."""


class RpcApplication(Struct, kw_only=True):
    """An application as the local agent asks for it before it lets one of its programs in (rpc.md 12)."""

    id: ApplicationId
    name: str
    icon: str | None
    description: str
    flags: int
    flags_new: str | UnsetType = UNSET
    rpc_origins: list[str]
    """Pages that may connect to the agent over a WebSocket."""
    activity_types: list[int]
    """What SET_ACTIVITY takes now: the agent has no clock of the platform's (decisions/0051)."""


GET_MY_APPLICATION = Operation("GET", "/applications/@me", result=Application, auth=Auth.BOT)

UPDATE_MY_APPLICATION = Operation(
    "PATCH", "/applications/@me", body=UpdateApplication, result=Application, auth=Auth.BOT
)

GET_APPLICATION = Operation(
    "GET",
    "/applications/{application_id}",
    result=Application,
    raises=(errors.UNKNOWN_APPLICATION, errors.NOT_AUTHORIZED_ON_APPLICATION),
    # Every page of the portal begins with it.
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
    auth=Auth.BOT | Auth.USER | Auth.BEARER | Auth.ANYONE,
    raises=(errors.UNKNOWN_APPLICATION,),
    # Asked for each time a game starts, and by many behind one address.
    limit=RateLimit(100, 10.0),
)

GET_MY_OAUTH2_APPLICATION = Operation("GET", "/oauth2/applications/@me", result=Application, auth=Auth.BOT)

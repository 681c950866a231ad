"""Guilds: the places where people meet, as their members and as strangers see them."""

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.enums import (
    AfkTimeout,
    AuditLogAction,
    DefaultMessageNotifications,
    ExplicitContentFilter,
    VerificationLevel,
)
from hubbub.protocol.ids import ApplicationId, ChannelId, GuildId, Snowflake, Timestamp, UserId
from hubbub.protocol.images import ImageData
from hubbub.protocol.intents import Intents
from hubbub.protocol.numbers import Bits
from hubbub.protocol.operation import Auth, Event, Operation, RateLimit
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import members
from hubbub.protocol.resources.activity_instances import EmbeddedActivity
from hubbub.protocol.resources.channels import GUILD_CHANNELS_MAX, Channel, CreateGuildChannel, Thread
from hubbub.protocol.resources.emojis import Emoji
from hubbub.protocol.resources.presence import Presence
from hubbub.protocol.resources.roles import ROLES_MAX, Role, UpdateRole
from hubbub.protocol.resources.scheduled_events import ScheduledEvent
from hubbub.protocol.resources.soundboard import SoundboardSound
from hubbub.protocol.resources.stage_instances import StageInstance
from hubbub.protocol.resources.stickers import Sticker
from hubbub.protocol.resources.voice_states import VoiceState

GUILD_NAME_MIN = 2
GUILD_NAME_MAX = 100
GUILD_DESCRIPTION_MAX = 300
GUILDS_MAX = 100
GUILDS_MAX_PREMIUM = 200
GUILDS_PAGE_MAX = 200
MEMBERS_MAX = 500_000
VIDEO_USERS_MAX = 25
STAGE_VIDEO_USERS_MAX = 50
LARGE_GUILD = 75_000
"""Above so many members GUILD_CREATE carries only oneself and those in voice (gateway.md 4.4)."""

GuildName = Annotated[str, Meta(min_length=GUILD_NAME_MIN, max_length=GUILD_NAME_MAX)]


class IncidentsData(Struct, kw_only=True):
    """What a guild switched off for a while."""

    invites_disabled_until: Timestamp | None
    dms_disabled_until: Timestamp | None


class Guild(Struct, kw_only=True):
    """A guild as its members see it; client libraries index nearly every key."""

    id: GuildId
    name: str
    owner_id: UserId
    roles: list[Role]
    emojis: list[Emoji]
    stickers: list[Sticker]
    features: list[str]
    icon: str | None = None
    description: str | None = None
    home_header: str | None = None
    splash: str | None = None
    discovery_splash: str | None = None
    banner: str | None = None
    application_id: ApplicationId | None = None
    """The application that made it."""
    region: str = ""
    """Left over from the times when a guild had one voice region."""
    afk_channel_id: ChannelId | None = None
    afk_timeout: int = AfkTimeout.FIVE_MINUTES.value
    system_channel_id: ChannelId | None = None
    system_channel_flags: int = 0
    widget_enabled: bool = False
    widget_channel_id: ChannelId | None = None
    verification_level: int = 0
    default_message_notifications: int = 0
    mfa_level: int = 0
    explicit_content_filter: int = 0
    max_presences: int | None = None
    max_members: int = MEMBERS_MAX
    max_stage_video_channel_users: int = STAGE_VIDEO_USERS_MAX
    max_video_channel_users: int = VIDEO_USERS_MAX
    vanity_url_code: str | None = None
    premium_tier: int = 0
    premium_subscription_count: int = 0
    preferred_locale: str = "en-US"
    rules_channel_id: ChannelId | None = None
    safety_alerts_channel_id: ChannelId | None = None
    public_updates_channel_id: ChannelId | None = None
    premium_progress_bar_enabled: bool = False
    nsfw: bool = False
    nsfw_level: int = 0
    incidents_data: IncidentsData | None = None
    approximate_member_count: int | UnsetType = UNSET
    """Only where `with_counts` asked for it."""
    approximate_presence_count: int | UnsetType = UNSET


class GuildCreated(Guild, kw_only=True):
    """A guild with all that a session needs to know of it, at its start or when it joins."""

    joined_at: Timestamp
    large: bool
    member_count: int
    unavailable: bool | UnsetType = UNSET
    """False at start-up and after an outage, absent on a real join; libraries tell the two by this key alone."""
    voice_states: list[VoiceState]
    members: list[members.Member]
    channels: list[Channel]
    threads: list[Thread]
    presences: list[Presence]
    stage_instances: list[StageInstance] = []
    guild_scheduled_events: list[ScheduledEvent] = []
    soundboard_sounds: list[SoundboardSound] = []
    activity_instances: list[EmbeddedActivity] = []


class UnavailableGuild(Struct, kw_only=True):
    """A guild of which only the id is told."""

    id: GuildId
    unavailable: bool | UnsetType = UNSET
    """True: in an outage, or yet to come; absent in GUILD_DELETE: the user is no longer in it."""


class GuildPreview(Struct, kw_only=True):
    """A guild as strangers see it."""

    id: GuildId
    name: str
    icon: str | None
    description: str | None
    home_header: str | None
    splash: str | None
    discovery_splash: str | None
    features: list[str]
    approximate_member_count: int
    approximate_presence_count: int
    emojis: list[Emoji]
    stickers: list[Sticker]


class MyGuild(Struct, kw_only=True):
    """A guild in the list of one's own."""

    id: GuildId
    name: str
    icon: str | None
    banner: str | None | UnsetType = UNSET
    """From guild_list_banner on."""
    owner: bool
    permissions: Permissions
    """Those of the user, in the guild."""
    features: list[str]
    approximate_member_count: int | UnsetType = UNSET
    approximate_presence_count: int | UnsetType = UNSET


class GetGuild(Struct, kw_only=True):
    """How much of a guild to tell."""

    with_counts: bool = False


class ListMyGuilds(Struct, kw_only=True):
    """A page of one's guilds, by ascending id."""

    before: GuildId | UnsetType = UNSET
    after: GuildId | UnsetType = UNSET
    limit: Annotated[int, Meta(ge=1, le=GUILDS_PAGE_MAX)] = GUILDS_PAGE_MAX
    with_counts: bool = False


class InitialRole(UpdateRole, kw_only=True):
    """A role that comes with a new guild."""

    id: Snowflake | UnsetType = UNSET
    """Any number, by which overwrites of the same request name it."""


class InitialChannel(CreateGuildChannel, kw_only=True):
    """A channel that comes with a new guild: text, voice or category."""

    id: Snowflake | UnsetType = UNSET
    """Any number, by which other fields of the same request name it."""


class CreateGuild(Struct, kw_only=True):
    """A new guild."""

    name: GuildName
    icon: ImageData | None | UnsetType = UNSET
    """A data URI of the picture."""
    region: str | None | UnsetType = UNSET
    verification_level: VerificationLevel | None | UnsetType = UNSET
    default_message_notifications: DefaultMessageNotifications | None | UnsetType = UNSET
    explicit_content_filter: ExplicitContentFilter | None | UnsetType = UNSET
    afk_timeout: AfkTimeout | None | UnsetType = UNSET
    system_channel_flags: Bits | None | UnsetType = UNSET
    roles: Annotated[list[InitialRole], Meta(max_length=ROLES_MAX)] | None | UnsetType = UNSET
    """The first one is @everyone."""
    channels: Annotated[list[InitialChannel], Meta(max_length=GUILD_CHANNELS_MAX)] | None | UnsetType = UNSET
    """Absent: a text and a voice channel, each in a category."""
    afk_channel_id: Snowflake | None | UnsetType = UNSET
    """One of `channels`, by the id given there."""
    system_channel_id: Snowflake | None | UnsetType = UNSET


class UpdateGuild(Struct, kw_only=True):
    """What may change about a guild; null goes back to the default."""

    name: GuildName | UnsetType = UNSET
    description: Annotated[str, Meta(max_length=GUILD_DESCRIPTION_MAX)] | None | UnsetType = UNSET
    region: str | None | UnsetType = UNSET
    icon: ImageData | None | UnsetType = UNSET
    """Pictures are data URIs."""
    splash: ImageData | None | UnsetType = UNSET
    discovery_splash: ImageData | None | UnsetType = UNSET
    banner: ImageData | None | UnsetType = UNSET
    home_header: ImageData | None | UnsetType = UNSET
    owner_id: UserId | UnsetType = UNSET
    """Hands the guild over; only its owner may."""
    verification_level: VerificationLevel | None | UnsetType = UNSET
    default_message_notifications: DefaultMessageNotifications | None | UnsetType = UNSET
    explicit_content_filter: ExplicitContentFilter | None | UnsetType = UNSET
    preferred_locale: str | None | UnsetType = UNSET
    afk_timeout: AfkTimeout | None | UnsetType = UNSET
    afk_channel_id: ChannelId | None | UnsetType = UNSET
    system_channel_id: ChannelId | None | UnsetType = UNSET
    system_channel_flags: Bits | None | UnsetType = UNSET
    features: list[str] | None | UnsetType = UNSET
    """Only some may be written; the rest is ignored."""
    rules_channel_id: ChannelId | None | UnsetType = UNSET
    safety_alerts_channel_id: ChannelId | None | UnsetType = UNSET
    public_updates_channel_id: ChannelId | None | UnsetType = UNSET
    premium_progress_bar_enabled: bool | None | UnsetType = UNSET


class GuildMfaLevel(Struct, kw_only=True):
    """Whether moderators need two-factor: 0 no, 1 yes."""

    level: int


GUILD_CREATE = Event("GUILD_CREATE", GuildCreated, intents=Intents.GUILDS)
GUILD_UPDATE = Event("GUILD_UPDATE", Guild, intents=Intents.GUILDS)
GUILD_DELETE = Event("GUILD_DELETE", UnavailableGuild, intents=Intents.GUILDS)

# Open to people only, from 2025-07-15: an application is then refused with 20001 (dated change).
CREATE_GUILD = Operation(
    "POST",
    "/guilds",
    body=CreateGuild,
    result=Guild,
    status=201,
    raises=(errors.MAX_GUILDS, errors.BOTS_CANNOT_USE_ENDPOINT, errors.BANNED_WORDS),
    emits=(GUILD_CREATE,),
)

GET_GUILD = Operation(
    "GET",
    "/guilds/{guild_id}",
    query=GetGuild,
    result=Guild,
    raises=(errors.UNKNOWN_GUILD, errors.MISSING_ACCESS),
)

UPDATE_GUILD = Operation(
    "PATCH",
    "/guilds/{guild_id}",
    body=UpdateGuild,
    result=Guild,
    needs=Permissions.MANAGE_GUILD,
    raises=(
        errors.UNKNOWN_GUILD,
        errors.MISSING_ACCESS,
        errors.MISSING_PERMISSIONS,
        errors.TWO_FACTOR_REQUIRED,
        errors.UNKNOWN_CHANNEL,
        errors.UNKNOWN_MEMBER,
        errors.OWNERSHIP_CANNOT_GO_TO_BOT,
        errors.OWNER_CANNOT_BE_PENDING,
        errors.WRONG_CHANNEL_TYPE,
        errors.COMMUNITY_CHANNELS_MUST_BE_TEXT,
        errors.MORE_BOOSTS_NEEDED,
        errors.BANNED_WORDS,
        errors.GUILD_WRITE_RATE_LIMIT,
    ),
    emits=(GUILD_UPDATE,),
    limit=RateLimit(5, 5.0, code=errors.GUILD_WRITE_RATE_LIMIT),
    audits=(AuditLogAction.GUILD_UPDATE,),
)

DELETE_GUILD = Operation(
    "DELETE",
    "/guilds/{guild_id}",
    raises=(errors.UNKNOWN_GUILD, errors.MISSING_ACCESS, errors.MISSING_PERMISSIONS),
    emits=(GUILD_DELETE,),
)

# Only the owner, who must have two-factor too.
SET_GUILD_MFA_LEVEL = Operation(
    "POST",
    "/guilds/{guild_id}/mfa",
    body=GuildMfaLevel,
    result=GuildMfaLevel,
    auth=Auth.USER,
    raises=(
        errors.UNKNOWN_GUILD,
        errors.MISSING_ACCESS,
        errors.MISSING_PERMISSIONS,
        errors.TWO_FACTOR_REQUIRED,
        errors.INVALID_MFA_LEVEL,
    ),
    emits=(GUILD_UPDATE,),
    audits=(AuditLogAction.GUILD_UPDATE,),
)

# Who is not a member may look when the guild is DISCOVERABLE.
GET_GUILD_PREVIEW = Operation("GET", "/guilds/{guild_id}/preview", result=GuildPreview, raises=(errors.UNKNOWN_GUILD,))

LIST_MY_GUILDS = Operation(
    "GET",
    "/users/@me/guilds",
    query=ListMyGuilds,
    result=list[MyGuild],
    auth=Auth.BOT | Auth.USER | Auth.BEARER,
    scopes=("guilds",),
)

LEAVE_GUILD = Operation(
    "DELETE",
    "/users/@me/guilds/{guild_id}",
    raises=(errors.UNKNOWN_GUILD, errors.INVALID_GUILD),
    emits=(GUILD_DELETE, members.GUILD_MEMBER_REMOVE),
)

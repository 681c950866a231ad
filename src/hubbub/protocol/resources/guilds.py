"""Guilds: communities of members with channels and roles."""

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
from hubbub.protocol.resources.members import Member
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
"""Maximum number of guilds that a user may join."""
PREMIUM_GUILDS_MAX = 200
"""Maximum number of guilds that a user with the premium type TIER_2 may join."""
GUILDS_PAGE_MAX = 200
MEMBERS_MAX = 500_000
"""Maximum number of members of a guild."""
VIDEO_USERS_MAX = 25
"""Maximum number of users in a voice channel while video is on."""
STAGE_VIDEO_USERS_MAX = 50
"""Maximum number of users in a stage channel while video is on."""
LARGE_GUILD_MEMBERS = 75_000
"""Member count above which GUILD_CREATE contains only the current member and members in voice (spec/gateway.md#4.4)."""

GuildName = Annotated[str, Meta(min_length=GUILD_NAME_MIN, max_length=GUILD_NAME_MAX)]


class IncidentsData(Struct, kw_only=True):
    """Temporary safety restrictions of a guild."""

    invites_disabled_until: Timestamp | None
    """Time until which invites are disabled; null if they are enabled."""
    dms_disabled_until: Timestamp | None
    """Time until which direct messages between members are disabled; null if they are enabled."""


class Guild(Struct, kw_only=True):
    """A guild with the fields that its members can read; most fields are never absent, because client libraries require them."""

    id: GuildId
    """ID of the guild."""
    name: str
    """Name of the guild, 2 to 100 characters."""
    owner_id: UserId
    """ID of the user who owns the guild."""
    roles: list[Role]
    """Roles of the guild."""
    emojis: list[Emoji]
    """Custom emoji of the guild."""
    stickers: list[Sticker]
    """Custom stickers of the guild."""
    features: list[str]
    """Features of the guild, `GuildFeature` values."""
    icon: str | None = None
    """Hash of the icon; null if none."""
    description: str | None = None
    """Description of the guild; null if none."""
    home_header: str | None = None
    """Hash of the header image of the guild's home page; always null."""
    splash: str | None = None
    """Hash of the invite background image; null if none."""
    discovery_splash: str | None = None
    """Hash of the image shown in guild discovery; null if none."""
    banner: str | None = None
    """Hash of the banner; null if none."""
    application_id: ApplicationId | None = None
    """ID of the application that created the guild; null if a user created it."""
    region: str = ""
    """Deprecated: voice region of the guild, always empty."""
    afk_channel_id: ChannelId | None = None
    """ID of the voice channel that idle members are moved to; null if none."""
    afk_timeout: int = AfkTimeout.FIVE_MINUTES.value
    """Seconds after which idle members are moved to the AFK channel: 60, 300, 900, 1800 or 3600."""
    system_channel_id: ChannelId | None = None
    """ID of the channel for welcome messages and other system messages; null if none."""
    system_channel_flags: int = 0
    """Bit set of `SystemChannelFlags`: the system messages that are suppressed."""
    widget_enabled: bool = False
    """Whether the widget is enabled."""
    widget_channel_id: ChannelId | None = None
    """ID of the channel that the widget's invite leads to; null if it has no invite."""
    verification_level: int = 0
    """Level that members must meet to send messages; a `VerificationLevel`."""
    default_message_notifications: int = 0
    """Default notification setting of members: 0 all messages, 1 only mentions."""
    mfa_level: int = 0
    """Whether moderation requires two-factor authentication: 0 no, 1 yes."""
    explicit_content_filter: int = 0
    """Members whose media is scanned: 0 none, 1 members without roles, 2 all."""
    max_presences: int | None = None
    """Maximum number of presences; always null, for no limit."""
    max_members: int = MEMBERS_MAX
    """Maximum number of members."""
    max_stage_video_channel_users: int = STAGE_VIDEO_USERS_MAX
    """Maximum number of users in a stage channel while video is on."""
    max_video_channel_users: int = VIDEO_USERS_MAX
    """Maximum number of users in a voice channel while video is on."""
    vanity_url_code: str | None = None
    """Code of the vanity URL; null if none."""
    premium_tier: int = 0
    """Boost level of the guild; a `PremiumTier`."""
    premium_subscription_count: int = 0
    """Number of boosts."""
    preferred_locale: str = "en-US"
    """Language of the guild's system messages and of its discovery page."""
    rules_channel_id: ChannelId | None = None
    """ID of the channel with the rules; null if none. Community guilds only."""
    safety_alerts_channel_id: ChannelId | None = None
    """ID of the channel for safety alerts of the platform; null if none."""
    public_updates_channel_id: ChannelId | None = None
    """ID of the channel for notices of the platform to moderators; null if none."""
    premium_progress_bar_enabled: bool = False
    """Whether the boost progress bar is shown."""
    nsfw: bool = False
    """Whether the guild is rated explicit or age-restricted."""
    nsfw_level: int = 0
    """Age rating of the guild; an `NsfwLevel`."""
    incidents_data: IncidentsData | None = None
    """Temporary safety restrictions; null if none were set."""
    approximate_member_count: int | UnsetType = UNSET
    """Approximate number of members; present only if requested with `with_counts`."""
    approximate_presence_count: int | UnsetType = UNSET
    """Approximate number of members who are not offline; present only if requested with `with_counts`."""


class GuildCreated(Guild, kw_only=True):
    """A guild with the state that a gateway session needs."""

    joined_at: Timestamp
    """Time the current user joined the guild."""
    large: bool
    """Whether the guild has more members than the session's `large_threshold`."""
    member_count: int
    """Number of members."""
    unavailable: bool | UnsetType = UNSET
    """Always false when the guild becomes available; absent when the user joins the guild."""
    voice_states: list[VoiceState]
    """Voice states of connected members, without `guild_id`."""
    members: list[Member]
    """Members of the guild; in large guilds or without the intents GUILD_MEMBERS and GUILD_PRESENCES only some of them."""
    channels: list[Channel]
    """Channels of the guild."""
    threads: list[Thread]
    """Active threads that the current user can view."""
    presences: list[Presence]
    """Presences of the members in `members` who are not offline; empty without the intent GUILD_PRESENCES."""
    stage_instances: list[StageInstance] = []
    """Live stage instances."""
    guild_scheduled_events: list[ScheduledEvent] = []
    """Scheduled events that the current user can view."""
    soundboard_sounds: list[SoundboardSound] = []
    """Soundboard sounds of the guild."""
    activity_instances: list[EmbeddedActivity] = []
    """Running activities."""


class UnavailableGuild(Struct, kw_only=True):
    """A guild of which only the ID is known."""

    id: GuildId
    """ID of the guild."""
    unavailable: bool | UnsetType = UNSET
    """Always true in an outage or before GUILD_CREATE; absent in GUILD_DELETE if the user is no longer a member."""


class GuildPreview(Struct, kw_only=True):
    """A guild with the fields that users who are not members can read."""

    id: GuildId
    """ID of the guild."""
    name: str
    """Name of the guild."""
    icon: str | None
    """Hash of the icon; null if none."""
    description: str | None
    """Description of the guild; null if none."""
    home_header: str | None
    """Hash of the header image of the guild's home page; always null."""
    splash: str | None
    """Hash of the invite background image; null if none."""
    discovery_splash: str | None
    """Hash of the image shown in guild discovery; null if none."""
    features: list[str]
    """Features of the guild, `GuildFeature` values."""
    approximate_member_count: int
    """Approximate number of members."""
    approximate_presence_count: int
    """Approximate number of members who are not offline."""
    emojis: list[Emoji]
    """Custom emoji of the guild."""
    stickers: list[Sticker]
    """Custom stickers of the guild."""


class MyGuild(Struct, kw_only=True):
    """A guild in the list of the current user's guilds."""

    id: GuildId
    """ID of the guild."""
    name: str
    """Name of the guild."""
    icon: str | None
    """Hash of the icon; null if none."""
    banner: str | None | UnsetType = UNSET
    """Hash of the banner; null if none. Absent before changes.GUILD_LIST_BANNER."""
    owner: bool
    """Whether the current user owns the guild."""
    permissions: Permissions
    """Permissions of the current user in the guild, without channel overwrites."""
    features: list[str]
    """Features of the guild, `GuildFeature` values."""
    approximate_member_count: int | UnsetType = UNSET
    """Approximate number of members; present only if requested with `with_counts`."""
    approximate_presence_count: int | UnsetType = UNSET
    """Approximate number of members who are not offline; present only if requested with `with_counts`."""


class GetGuild(Struct, kw_only=True):
    """Query parameters for getting a guild."""

    with_counts: bool = False
    """Whether to include approximate member and presence counts."""


class ListMyGuilds(Struct, kw_only=True):
    """Query parameters for listing the current user's guilds, in ascending order of IDs."""

    before: GuildId | UnsetType = UNSET
    """Only guilds with a lower ID than this."""
    after: GuildId | UnsetType = UNSET
    """Only guilds with a higher ID than this."""
    limit: Annotated[int, Meta(ge=1, le=GUILDS_PAGE_MAX)] = GUILDS_PAGE_MAX
    """Maximum number of guilds to return, 1 to 200; 200 if absent."""
    with_counts: bool = False
    """Whether to include approximate member and presence counts."""


class InitialRole(UpdateRole, kw_only=True):
    """A role to create together with a guild, in a request."""

    id: Snowflake | UnsetType = UNSET
    """Placeholder ID by which overwrites in the same request refer to the role; absent if none does."""


class InitialChannel(CreateGuildChannel, kw_only=True):
    """A text channel, voice channel or category to create together with a guild."""

    id: Snowflake | UnsetType = UNSET
    """Placeholder ID by which other fields of the same request refer to the channel; absent if none does."""


class CreateGuild(Struct, kw_only=True):
    """Request body for creating a guild; absent and null fields get their default."""

    name: GuildName
    """Name of the guild, 2 to 100 characters."""
    icon: ImageData | None | UnsetType = UNSET
    """Icon as a data URI; absent or null for none."""
    region: str | None | UnsetType = UNSET
    """Deprecated: voice region of the guild, ignored."""
    verification_level: VerificationLevel | None | UnsetType = UNSET
    """Level that members must meet to send messages; NONE if absent or null."""
    default_message_notifications: DefaultMessageNotifications | None | UnsetType = UNSET
    """Default notification setting of members: 0 all messages, 1 only mentions; 0 if absent or null."""
    explicit_content_filter: ExplicitContentFilter | None | UnsetType = UNSET
    """Members whose media is scanned: 0 none, 1 members without roles, 2 all; 0 if absent or null."""
    afk_timeout: AfkTimeout | None | UnsetType = UNSET
    """Seconds after which idle members are moved to the AFK channel: 60, 300, 900, 1800 or 3600; 300 if absent or null."""
    system_channel_flags: Bits | None | UnsetType = UNSET
    """Bit set of `SystemChannelFlags`: the system messages to suppress; 0 if absent or null."""
    roles: Annotated[list[InitialRole], Meta(max_length=ROLES_MAX)] | None | UnsetType = UNSET
    """Roles to create, at most 250; the first one sets the permissions of @everyone."""
    channels: Annotated[list[InitialChannel], Meta(max_length=GUILD_CHANNELS_MAX)] | None | UnsetType = UNSET
    """Channels to create, at most 500; if absent or null, a text and a voice channel, each in a category."""
    afk_channel_id: Snowflake | None | UnsetType = UNSET
    """Placeholder ID, from `channels`, of the channel that idle members are moved to."""
    system_channel_id: Snowflake | None | UnsetType = UNSET
    """Placeholder ID, from `channels`, of the channel for system messages."""


class UpdateGuild(Struct, kw_only=True):
    """Request body for updating a guild; absent fields keep their value, null resets a field to its default."""

    name: GuildName | UnsetType = UNSET
    """New name, 2 to 100 characters."""
    description: Annotated[str, Meta(max_length=GUILD_DESCRIPTION_MAX)] | None | UnsetType = UNSET
    """New description, at most 300 characters; null removes it."""
    region: str | None | UnsetType = UNSET
    """Deprecated: voice region of the guild, ignored."""
    icon: ImageData | None | UnsetType = UNSET
    """New icon as a data URI; null removes it. Animated icons require ANIMATED_ICON."""
    splash: ImageData | None | UnsetType = UNSET
    """New invite background image as a data URI; null removes it. Requires INVITE_SPLASH."""
    discovery_splash: ImageData | None | UnsetType = UNSET
    """New discovery image as a data URI; null removes it. Requires DISCOVERABLE."""
    banner: ImageData | None | UnsetType = UNSET
    """New banner as a data URI; null removes it. Requires BANNER, animated banners ANIMATED_BANNER."""
    home_header: ImageData | None | UnsetType = UNSET
    """Header image of the guild's home page; every image is rejected, because no guild has the required feature."""
    owner_id: UserId | UnsetType = UNSET
    """ID of the user to transfer the guild to; only the owner may set it."""
    verification_level: VerificationLevel | None | UnsetType = UNSET
    """New level that members must meet to send messages."""
    default_message_notifications: DefaultMessageNotifications | None | UnsetType = UNSET
    """New default notification setting of members: 0 all messages, 1 only mentions."""
    explicit_content_filter: ExplicitContentFilter | None | UnsetType = UNSET
    """Members whose media is scanned: 0 none, 1 members without roles, 2 all."""
    preferred_locale: str | None | UnsetType = UNSET
    """New language of the guild's system messages; null resets it to `en-US`."""
    afk_timeout: AfkTimeout | None | UnsetType = UNSET
    """New number of seconds after which idle members are moved to the AFK channel: 60, 300, 900, 1800 or 3600."""
    afk_channel_id: ChannelId | None | UnsetType = UNSET
    """ID of the voice channel that idle members are moved to; null for none."""
    system_channel_id: ChannelId | None | UnsetType = UNSET
    """ID of the channel for welcome messages and other system messages; null for none."""
    system_channel_flags: Bits | None | UnsetType = UNSET
    """Bit set of `SystemChannelFlags`: the system messages to suppress."""
    features: list[str] | None | UnsetType = UNSET
    """New features; only COMMUNITY, DISCOVERABLE, INVITES_DISABLED and RAID_ALERTS_DISABLED change. Null removes them."""
    rules_channel_id: ChannelId | None | UnsetType = UNSET
    """ID of the channel with the rules; null for none."""
    safety_alerts_channel_id: ChannelId | None | UnsetType = UNSET
    """ID of the channel for safety alerts of the platform; null for none."""
    public_updates_channel_id: ChannelId | None | UnsetType = UNSET
    """ID of the channel for notices of the platform to moderators; null for none."""
    premium_progress_bar_enabled: bool | None | UnsetType = UNSET
    """Whether the boost progress bar is shown."""


class GuildMfaLevel(Struct, kw_only=True):
    """Two-factor requirement of a guild."""

    level: int
    """Whether moderation requires two-factor authentication: 0 no, 1 yes."""


GUILD_CREATE = Event(
    "GUILD_CREATE",
    GuildCreated,
    "Sent when a guild becomes available to the session, or when the current user joins one.",
    intents=Intents.GUILDS,
)
GUILD_UPDATE = Event("GUILD_UPDATE", Guild, "Sent when a guild is updated.", intents=Intents.GUILDS)
GUILD_DELETE = Event(
    "GUILD_DELETE",
    UnavailableGuild,
    "Sent when a guild becomes unavailable, is deleted, or when the current user leaves or is removed from it.",
    intents=Intents.GUILDS,
)

# From changes.GUILD_CREATE_REMOVED_FOR_APPS on, bots are rejected with BOTS_CANNOT_USE_ENDPOINT.
CREATE_GUILD = Operation(
    "POST",
    "/guilds",
    body=CreateGuild,
    result=Guild,
    status=201,
    raises=(errors.MAX_GUILDS, errors.BOTS_CANNOT_USE_ENDPOINT, errors.BANNED_WORDS, errors.FEATURE_DISABLED),
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

# Only the owner can call this operation, and must have two-factor authentication enabled.
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

# Members can call this operation, and every user can if the guild is DISCOVERABLE.
GET_GUILD_PREVIEW = Operation(
    "GET", "/guilds/{guild_id}/preview", result=GuildPreview, raises=(errors.UNKNOWN_GUILD, errors.MISSING_ACCESS)
)

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

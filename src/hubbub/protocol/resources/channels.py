"""Channels: guild channels and their permission overwrites, threads and private channels.

Operations that only threads have are in `threads`.
"""

from typing import Annotated, Final, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.enums import (
    AuditLogAction,
    AutoArchiveDuration,
    ChannelType,
    ForumLayout,
    SortOrder,
    VideoQualityMode,
)
from hubbub.protocol.ids import (
    ApplicationId,
    ChannelId,
    GuildId,
    LobbyId,
    MessageId,
    TagId,
    Timestamp,
    UserId,
)
from hubbub.protocol.images import ImageData
from hubbub.protocol.intents import Intents
from hubbub.protocol.numbers import INT32_MAX, Bits
from hubbub.protocol.operation import Auth, Event, Operation, RateLimit
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources.channel_overwrites import Overwrite, OverwriteRequest, SetChannelPermissionOverwrite
from hubbub.protocol.resources.forum_settings import DefaultReaction, DefaultReactionRequest, ForumTag, ForumTagRequest
from hubbub.protocol.resources.thread_membership import ThreadMember
from hubbub.protocol.resources.users import User

GUILD_CHANNELS_MAX: Final = 500
CATEGORY_CHILDREN_MAX: Final = 50
OVERWRITES_MAX: Final = 1000
GUILD_OVERWRITES_MAX: Final = 50_000
"""Maximum number of overwrites in all channels of a guild: a connecting session reads all of them (decisions/0054)."""
CHANNEL_NAME_MAX: Final = 100
TOPIC_MAX: Final = 1024
"""Maximum length of a topic in characters, except in forum and media channels."""
FORUM_TOPIC_MAX: Final = 4096
RATE_LIMIT_PER_USER_MAX: Final = 21_600
"""Maximum slowmode interval in seconds."""
BITRATE_MIN: Final = 8_000
BITRATE_DEFAULT: Final = 64_000
BITRATE_MAX_BY_TIER: Final = (96_000, 128_000, 256_000, 384_000)
"""Maximum bitrate in bits per second, by the guild's premium tier; VIP_REGIONS guilds have the last value."""
STAGE_BITRATE_MAX: Final = 64_000
VOICE_USER_LIMIT_MAX: Final = 99
STAGE_USER_LIMIT_MAX: Final = 10_000
FORUM_TAGS_MAX: Final = 20
APPLIED_TAGS_MAX: Final = 5
"""Maximum number of tags of a post."""
THREAD_MEMBER_COUNT_MAX: Final = 50
"""Highest value of a thread's `member_count`; more members are not counted."""

CHANNEL_EDIT_LIMIT: Final = RateLimit(5, 15.0)
NAME_AND_TOPIC_LIMIT: Final = RateLimit(2, 600.0, per="channel_id", code=errors.CHANNEL_WRITE_RATE_LIMIT)
"""Additional limit on changes to a channel's name or topic."""

TagSetting = Literal["match_all", "match_some"]

ChannelName = Annotated[str, Meta(min_length=1, max_length=CHANNEL_NAME_MAX)]
Topic = Annotated[str, Meta(max_length=FORUM_TOPIC_MAX)]  # For most types the handler checks TOPIC_MAX.
Slowmode = Annotated[int, Meta(ge=0, le=RATE_LIMIT_PER_USER_MAX)]
Bitrate = Annotated[int, Meta(ge=BITRATE_MIN, le=INT32_MAX)]
UserLimit = Annotated[int, Meta(ge=0, le=STAGE_USER_LIMIT_MAX)]
Position = Annotated[int, Meta(ge=0, le=INT32_MAX)]


class ThreadMetadata(Struct, kw_only=True):
    """Properties that only threads have."""

    archived: bool
    """Whether the thread is archived."""
    auto_archive_duration: int
    """Minutes of inactivity after which the thread is archived: 60, 1440, 4320 or 10080."""
    archive_timestamp: Timestamp
    """Time `archived` last changed, or the creation time."""
    locked: bool
    """Whether only members with MANAGE_THREADS may post in and unarchive the thread."""
    invitable: bool | UnsetType = UNSET
    """Whether members without MANAGE_THREADS may add others; private threads only."""
    create_timestamp: Timestamp | UnsetType = UNSET
    """Time the thread was created; never absent."""


class AnyChannel(Struct, kw_only=True):
    """A channel of any type; the fields present depend on `type`."""

    id: ChannelId
    """ID of the channel."""
    type: int
    """Type of the channel; a `ChannelType`."""
    flags: int = 0
    """Flags of the channel; a `ChannelFlags` bit set."""
    guild_id: GuildId | UnsetType = UNSET
    """ID of the guild; absent for private channels."""
    name: str | None | UnsetType = UNSET
    """Name of the channel, 1 to 100 characters; null for a group without a name."""
    position: int | UnsetType = UNSET
    """Sorting position; channels with the same position are sorted by ID."""
    permission_overwrites: list[Overwrite] | UnsetType = UNSET
    """Permission overwrites of roles and members."""
    parent_id: ChannelId | None | UnsetType = UNSET
    """ID of the category, or of the parent channel of a thread; null if there is none."""
    topic: str | None | UnsetType = UNSET
    """Topic of the channel; null if it has none."""
    nsfw: bool | UnsetType = UNSET
    """Whether the channel is age-restricted."""
    last_message_id: MessageId | None | UnsetType = UNSET
    """ID of the newest message, or of the newest post of a forum; it may have been deleted. Null if none."""
    last_pin_timestamp: Timestamp | None | UnsetType = UNSET
    """Time the newest pinned message was pinned; null if none."""
    rate_limit_per_user: int | UnsetType = UNSET
    """Slowmode interval in seconds, 0 to 21600; 0 if off."""
    bitrate: int | UnsetType = UNSET
    """Bitrate of a voice or stage channel in bits per second."""
    user_limit: int | UnsetType = UNSET
    """Maximum number of users in a voice or stage channel; 0 for no limit."""
    rtc_region: str | None | UnsetType = UNSET
    """ID of the voice region; null for automatic selection."""
    video_quality_mode: int | UnsetType = UNSET
    """Camera video quality: 1 automatic, 2 720p."""
    permissions: Permissions | UnsetType = UNSET
    """Permissions of the invoking user in the channel; interaction data only."""
    default_auto_archive_duration: int | UnsetType = UNSET
    """Default `auto_archive_duration` of new threads, in minutes; 1440 if absent."""
    default_thread_rate_limit_per_user: int | UnsetType = UNSET
    """Slowmode interval in seconds with which a new thread starts."""
    available_tags: list[ForumTag] | UnsetType = UNSET
    """Tags that posts can have; forum and media channels only."""
    default_reaction_emoji: DefaultReaction | None | UnsetType = UNSET
    """Emoji offered as the first reaction on posts; null if none. Forum and media channels only."""
    default_sort_order: int | None | UnsetType = UNSET
    """Default sort order of posts, a `SortOrder`; null if not set. Forum and media channels only."""
    default_forum_layout: int | UnsetType = UNSET
    """Default layout of posts, a `ForumLayout`; forum channels only."""
    default_tag_setting: str | None | UnsetType = UNSET
    """How posts are filtered by several tags: `match_all` or `match_some`; null if not set."""
    owner_id: UserId | UnsetType = UNSET
    """ID of the user who created the thread or owns the group."""
    thread_metadata: ThreadMetadata | UnsetType = UNSET
    """Properties that only threads have."""
    message_count: int | UnsetType = UNSET
    """Number of messages in the thread, without the first message and deleted messages."""
    member_count: int | UnsetType = UNSET
    """Number of members of the thread; stops counting at 50."""
    total_message_sent: int | UnsetType = UNSET
    """Number of messages ever sent in the thread, deleted ones included."""
    applied_tags: list[TagId] | UnsetType = UNSET
    """IDs of the tags applied to the post, at most 5."""
    member: ThreadMember | UnsetType = UNSET
    """Thread membership of the current user; absent if the user has not joined the thread."""
    recipients: list[User] | UnsetType = UNSET
    """Other users in a private channel; absent for guild channels."""
    icon: str | None | UnsetType = UNSET
    """Hash of a group's icon; null if none."""
    application_id: ApplicationId | None | UnsetType = UNSET
    """ID of the application that created the group; null on guild channels."""
    managed: bool | UnsetType = UNSET
    """Whether an application created the group."""


class LinkedLobby(Struct, kw_only=True):
    """The lobby whose messages are shared with a channel (spec/sdk.md#12.3)."""

    application_id: ApplicationId
    """ID of the application that owns the lobby."""
    lobby_id: LobbyId
    """ID of the lobby."""
    linked_by: UserId
    """ID of the user who linked the lobby."""
    linked_at: Timestamp
    """Time the lobby was linked."""
    require_application_authorization: bool
    """Whether only users who authorized the application may post in the channel."""


class Channel(AnyChannel, kw_only=True):
    """A guild channel other than a thread; fields that its type does not have are absent."""

    guild_id: GuildId
    name: str
    position: int
    permission_overwrites: list[Overwrite] | UnsetType
    """Permission overwrites of roles and members; absent in resolved interaction data."""
    parent_id: ChannelId | None
    application_id: ApplicationId | None | UnsetType = None
    linked_lobby: LinkedLobby | UnsetType = UNSET
    """Lobby linked to the channel; absent if none."""
    can_link_lobby: bool | UnsetType = UNSET
    """Whether the caller may link a lobby to the channel; present only if requested."""
    is_viewable_and_writeable_by_all_members: bool | UnsetType = UNSET
    """Whether every member may read and post in the channel; present only if requested."""


class Thread(AnyChannel, kw_only=True):
    """A thread, or a post of a forum or media channel."""

    guild_id: GuildId
    name: str
    parent_id: ChannelId
    owner_id: UserId
    last_message_id: MessageId | None
    rate_limit_per_user: int
    thread_metadata: ThreadMetadata
    message_count: int
    member_count: int
    total_message_sent: int


class PrivateChannel(AnyChannel, kw_only=True):
    """A direct message channel or a group; only groups have a name, an icon and an owner."""

    recipients: list[User]
    last_message_id: MessageId | None


class ChannelRecipient(Struct, kw_only=True):
    """A user of a group, as an invite shows it."""

    id: UserId
    """ID of the user."""
    username: str
    """Username of the user."""
    avatar: str | None
    """Hash of the user's avatar; null if none."""


class PartialChannel(Struct, kw_only=True):
    """The fields of a channel that invites and followed channels contain."""

    id: ChannelId
    """ID of the channel."""
    type: int
    """Type of the channel; a `ChannelType`."""
    name: str | None
    """Name of the channel; null for a group without a name."""
    icon: str | None | UnsetType = UNSET
    """Hash of a group's icon; null if none. Groups only."""
    recipients: list[ChannelRecipient] | UnsetType = UNSET
    """Users of the group; groups only."""


# The types have no maximum length, because the handler raises MAX_CHANNEL_OVERWRITES and MAX_FORUM_TAGS for longer lists.
Overwrites = list[OverwriteRequest]
ForumTags = list[ForumTagRequest]


class CreateGuildChannel(Struct, kw_only=True):
    """Request body for creating a guild channel; absent and null fields get their default."""

    name: ChannelName
    """Name, 1 to 100 characters; stored in lower case with `-` for spaces, except for voice, stage and category channels."""
    type: ChannelType | None | UnsetType = UNSET
    """Type of the channel; GUILD_TEXT if absent or null."""
    topic: Topic | None | UnsetType = UNSET
    """Topic, at most 1024 characters, or 4096 in forum and media channels; none if absent or null."""
    bitrate: Bitrate | None | UnsetType = UNSET
    """Bitrate in bits per second, at least 8000; voice and stage channels only. 64000 if absent or null."""
    user_limit: UserLimit | None | UnsetType = UNSET
    """Maximum number of users, 0 for no limit; at most 99 in voice and 10000 in stage channels."""
    rate_limit_per_user: Slowmode | None | UnsetType = UNSET
    """Slowmode interval in seconds, 0 to 21600."""
    position: Position | None | UnsetType = UNSET
    """Sorting position; channels with the same position are sorted by ID."""
    permission_overwrites: Overwrites | None | UnsetType = UNSET
    """Permission overwrites; if absent, null or empty, the overwrites of the category."""
    parent_id: ChannelId | None | UnsetType = UNSET
    """ID of the category; absent or null for a channel without a category."""
    nsfw: bool | None | UnsetType = UNSET
    """Whether the channel is age-restricted."""
    rtc_region: str | None | UnsetType = UNSET
    """ID of the voice region; null or absent for automatic selection."""
    video_quality_mode: VideoQualityMode | None | UnsetType = UNSET
    """Camera video quality: 1 automatic, 2 720p."""
    default_auto_archive_duration: AutoArchiveDuration | None | UnsetType = UNSET
    """Default `auto_archive_duration` of new threads, in minutes; 1440 if absent or null."""
    default_thread_rate_limit_per_user: Slowmode | None | UnsetType = UNSET
    """Slowmode interval in seconds with which a new thread starts, 0 to 21600."""
    default_reaction_emoji: DefaultReactionRequest | None | UnsetType = UNSET
    """Emoji to offer as the first reaction on posts."""
    default_sort_order: SortOrder | None | UnsetType = UNSET
    """Default sort order of posts."""
    default_forum_layout: ForumLayout | None | UnsetType = UNSET
    """Default layout of posts; forum channels only."""
    default_tag_setting: TagSetting | None | UnsetType = UNSET
    """How posts are filtered by several tags: `match_all` or `match_some`."""
    available_tags: ForumTags | None | UnsetType = UNSET
    """Tags that posts can have, at most 20."""
    flags: Bits | None | UnsetType = UNSET
    """Flags of the channel, a `ChannelFlags` bit set; flags that its type does not allow are ignored."""


class UpdateChannel(Struct, kw_only=True):
    """Request body for updating a channel; absent fields keep their value, and null resets nullable settings."""

    name: ChannelName | None | UnsetType = UNSET
    """New name, 1 to 100 characters; null removes the name of a group and keeps the name of other channels."""
    type: ChannelType | None | UnsetType = UNSET
    """New type; only text and announcement channels can be converted into each other. Null keeps the type."""
    position: Position | None | UnsetType = UNSET
    """New sorting position; null keeps the position."""
    topic: Topic | None | UnsetType = UNSET
    """New topic, at most 1024 characters, or 4096 in forum and media channels; null removes it."""
    nsfw: bool | None | UnsetType = UNSET
    """Whether the channel is age-restricted."""
    rate_limit_per_user: Slowmode | None | UnsetType = UNSET
    """New slowmode interval in seconds, 0 to 21600."""
    bitrate: Bitrate | None | UnsetType = UNSET
    """New bitrate in bits per second, at least 8000; the maximum depends on the guild's premium tier."""
    user_limit: UserLimit | None | UnsetType = UNSET
    """New maximum number of users, 0 for no limit; at most 99 in voice and 10000 in stage channels."""
    permission_overwrites: Overwrites | None | UnsetType = UNSET
    """New permission overwrites, which replace all previous ones; null removes all."""
    parent_id: ChannelId | None | UnsetType = UNSET
    """ID of the new category; null moves the channel out of its category."""
    rtc_region: str | None | UnsetType = UNSET
    """ID of the new voice region; null for automatic selection."""
    video_quality_mode: VideoQualityMode | None | UnsetType = UNSET
    """New camera video quality: 1 automatic, 2 720p."""
    default_auto_archive_duration: AutoArchiveDuration | None | UnsetType = UNSET
    """New default `auto_archive_duration` of new threads, in minutes; null resets it to 1440."""
    default_thread_rate_limit_per_user: Slowmode | None | UnsetType = UNSET
    """New slowmode interval in seconds with which a new thread starts, 0 to 21600."""
    default_reaction_emoji: DefaultReactionRequest | None | UnsetType = UNSET
    """New emoji to offer as the first reaction on posts; null removes it."""
    default_sort_order: SortOrder | None | UnsetType = UNSET
    """New default sort order of posts; null resets it."""
    default_forum_layout: ForumLayout | None | UnsetType = UNSET
    """New default layout of posts; forum channels only."""
    default_tag_setting: TagSetting | None | UnsetType = UNSET
    """How posts are filtered by several tags: `match_all` or `match_some`; null resets it."""
    available_tags: ForumTags | None | UnsetType = UNSET
    """New tags that posts can have, at most 20; tags that the list does not contain are deleted, null deletes all."""
    flags: Bits | None | UnsetType = UNSET
    """New flags of the channel or thread, a `ChannelFlags` bit set; only flags that its type allows change. Null removes them."""
    archived: bool | None | UnsetType = UNSET
    """Whether the thread is archived; threads only. Null keeps the value."""
    locked: bool | None | UnsetType = UNSET
    """Whether only members with MANAGE_THREADS may post in and unarchive the thread; threads only. Null keeps the value."""
    invitable: bool | None | UnsetType = UNSET
    """Whether members without MANAGE_THREADS may add others; private threads only. Null keeps the value."""
    auto_archive_duration: AutoArchiveDuration | None | UnsetType = UNSET
    """Minutes of inactivity after which the thread is archived; threads only. Null keeps the value."""
    applied_tags: Annotated[list[TagId], Meta(max_length=APPLIED_TAGS_MAX)] | None | UnsetType = UNSET
    """IDs of the tags of the post, which replace all previous ones, at most 5; posts only. Null removes all."""
    icon: ImageData | None | UnsetType = UNSET
    """New icon as a data URI; null removes it. Groups only."""


class ChannelPosition(Struct, kw_only=True):
    """New position of a channel in a bulk update."""

    id: ChannelId
    """ID of the channel."""
    position: Position | None | UnsetType = UNSET
    """New sorting position; absent or null keeps the position."""
    parent_id: ChannelId | None | UnsetType = UNSET
    """ID of the new category; null moves the channel out of its category. Only one channel per request may change it."""
    lock_permissions: bool | None | UnsetType = UNSET
    """Whether the channel gets the overwrites of its category; absent or null keeps its overwrites."""


class ThreadCreated(Thread, kw_only=True):
    """A thread that was created, or that the current user was added to."""

    newly_created: bool | UnsetType = UNSET
    """True if the thread was just created; absent if the user was added to an existing thread."""


class ThreadDeleted(Struct, kw_only=True):
    """A thread that was deleted."""

    id: ChannelId
    """ID of the thread."""
    guild_id: GuildId
    """ID of the guild."""
    parent_id: ChannelId
    """ID of the parent channel of the thread."""
    type: int
    """Type of the thread; a `ChannelType`."""


CHANNEL_CREATE = Event(
    "CHANNEL_CREATE",
    AnyChannel,
    "Sent when a guild channel is created, or a private channel is opened; bots receive it for guild channels only.",
    intents=Intents.GUILDS,
    dm_intents=Intents.PRIVATE_CHANNELS,
)
CHANNEL_UPDATE = Event(
    "CHANNEL_UPDATE",
    AnyChannel,
    "Sent when a channel is updated; not sent for threads, new messages or voice status changes.",
    intents=Intents.GUILDS,
    dm_intents=Intents.PRIVATE_CHANNELS,
)
CHANNEL_DELETE = Event(
    "CHANNEL_DELETE",
    AnyChannel,
    "Sent when a channel is deleted, or a private channel is closed.",
    intents=Intents.GUILDS,
    dm_intents=Intents.PRIVATE_CHANNELS,
)
THREAD_CREATE = Event(
    "THREAD_CREATE",
    ThreadCreated,
    "Sent when a thread is created, or when the current user is added to a private thread.",
    intents=Intents.GUILDS,
)
THREAD_UPDATE = Event(
    "THREAD_UPDATE",
    Thread,
    "Sent when a thread is updated; not sent when only `last_message_id` changes.",
    intents=Intents.GUILDS,
)
THREAD_DELETE = Event(
    "THREAD_DELETE",
    ThreadDeleted,
    "Sent when a thread that the current user can view is deleted.",
    intents=Intents.GUILDS,
)

GET_CHANNEL = Operation(
    "GET",
    "/channels/{channel_id}",
    result=AnyChannel,
    needs=Permissions.VIEW_CHANNEL,
    raises=(errors.UNKNOWN_CHANNEL, errors.MISSING_ACCESS),
)

# The permissions to update and delete depend on the channel type (spec/http.md#3.2, spec/http.md#3.3); the handlers check them.
UPDATE_CHANNEL = Operation(
    "PATCH",
    "/channels/{channel_id}",
    body=UpdateChannel,
    result=AnyChannel,
    needs=Permissions.VIEW_CHANNEL,
    raises=(
        errors.UNKNOWN_CHANNEL,
        errors.UNKNOWN_TAG,
        errors.MISSING_ACCESS,
        errors.MISSING_PERMISSIONS,
        errors.TWO_FACTOR_REQUIRED,
        errors.CANNOT_EXECUTE_ON_DM,
        errors.WRONG_CHANNEL_TYPE,
        errors.COMMUNITY_CHANNELS_MUST_BE_TEXT,
        errors.THREAD_ARCHIVED,
        errors.THREAD_LOCKED,
        errors.MAX_ACTIVE_THREADS,
        errors.MAX_ACTIVE_ANNOUNCEMENT_THREADS,
        errors.MAX_PINNED_THREADS,
        errors.MAX_FORUM_TAGS,
        errors.TAG_NAMES_MUST_BE_UNIQUE,
        errors.NO_TAGS_FOR_NON_MODERATORS,
        errors.TAG_REQUIRED,
        errors.BITRATE_TOO_HIGH,
        errors.MAX_CHANNEL_OVERWRITES,
        errors.GUILD_CHANNELS_TOO_LARGE,
        errors.AUTO_MODERATION_BLOCKED_TITLE,
        errors.BANNED_WORDS,
        errors.CHANNEL_WRITE_RATE_LIMIT,
        errors.INVALID_FORM_BODY,
    ),
    emits=(CHANNEL_UPDATE, THREAD_UPDATE),
    limit=CHANNEL_EDIT_LIMIT,
    audits=(
        AuditLogAction.CHANNEL_UPDATE,
        AuditLogAction.CHANNEL_OVERWRITE_CREATE,
        AuditLogAction.CHANNEL_OVERWRITE_UPDATE,
        AuditLogAction.CHANNEL_OVERWRITE_DELETE,
        AuditLogAction.THREAD_UPDATE,
    ),
)

DELETE_CHANNEL = Operation(
    "DELETE",
    "/channels/{channel_id}",
    result=AnyChannel,
    needs=Permissions.VIEW_CHANNEL,
    raises=(
        errors.UNKNOWN_CHANNEL,
        errors.MISSING_ACCESS,
        errors.MISSING_PERMISSIONS,
        errors.TWO_FACTOR_REQUIRED,
        errors.CANNOT_DELETE_COMMUNITY_CHANNEL,
    ),
    emits=(CHANNEL_DELETE, CHANNEL_UPDATE, THREAD_DELETE),
    audits=(AuditLogAction.CHANNEL_DELETE, AuditLogAction.THREAD_DELETE),
)


class ListGuildChannels(Struct, kw_only=True):
    """Query parameters for listing guild channels."""

    with_can_link_lobby: bool = False
    """Whether to include `can_link_lobby` and `is_viewable_and_writeable_by_all_members`."""


# From changes.CHANNEL_OBFUSCATION on, channels that the caller cannot view are omitted.
LIST_GUILD_CHANNELS = Operation(
    "GET",
    "/guilds/{guild_id}/channels",
    query=ListGuildChannels,
    result=list[Channel],
    auth=Auth.BOT | Auth.USER | Auth.BEARER,
    scopes=("guilds.channels.read",),
    raises=(errors.UNKNOWN_GUILD, errors.MISSING_ACCESS),
)

CREATE_GUILD_CHANNEL = Operation(
    "POST",
    "/guilds/{guild_id}/channels",
    body=CreateGuildChannel,
    result=Channel,
    status=201,
    needs=Permissions.MANAGE_CHANNELS,
    raises=(
        errors.UNKNOWN_GUILD,
        errors.MISSING_ACCESS,
        errors.MISSING_PERMISSIONS,
        errors.MAX_CHANNELS,
        errors.BANNED_WORDS,
        errors.MAX_CHANNEL_OVERWRITES,
        errors.GUILD_CHANNELS_TOO_LARGE,
        errors.MAX_FORUM_TAGS,
        errors.TAG_NAMES_MUST_BE_UNIQUE,
        errors.BITRATE_TOO_HIGH,
        errors.INVALID_FORM_BODY,
    ),
    emits=(CHANNEL_CREATE,),
    limit=RateLimit(50, 600.0),
    audits=(AuditLogAction.CHANNEL_CREATE,),
)

BULK_UPDATE_GUILD_CHANNELS = Operation(
    "PATCH",
    "/guilds/{guild_id}/channels",
    body=list[ChannelPosition],
    needs=Permissions.MANAGE_CHANNELS,
    raises=(
        errors.UNKNOWN_GUILD,
        errors.UNKNOWN_CHANNEL,
        errors.MISSING_ACCESS,
        errors.MISSING_PERMISSIONS,
        errors.PARENT_CHANGED_MORE_THAN_ONCE,
        errors.INVALID_FORM_BODY,
    ),
    emits=(CHANNEL_UPDATE,),
    audits=(
        AuditLogAction.CHANNEL_UPDATE,
        AuditLogAction.CHANNEL_OVERWRITE_CREATE,
        AuditLogAction.CHANNEL_OVERWRITE_UPDATE,
        AuditLogAction.CHANNEL_OVERWRITE_DELETE,
    ),
)

SET_CHANNEL_PERMISSION_OVERWRITE = Operation(
    "PUT",
    "/channels/{channel_id}/permissions/{overwrite_id}",
    body=SetChannelPermissionOverwrite,
    needs=Permissions.MANAGE_ROLES,
    raises=(
        errors.UNKNOWN_CHANNEL,
        errors.UNKNOWN_PERMISSION_OVERWRITE,
        errors.MISSING_ACCESS,
        errors.MISSING_PERMISSIONS,
        errors.CANNOT_EXECUTE_ON_DM,
        errors.WRONG_CHANNEL_TYPE,
        errors.MAX_CHANNEL_OVERWRITES,
        errors.GUILD_CHANNELS_TOO_LARGE,
        errors.INVALID_FORM_BODY,
    ),
    emits=(CHANNEL_UPDATE,),
    audits=(AuditLogAction.CHANNEL_OVERWRITE_CREATE, AuditLogAction.CHANNEL_OVERWRITE_UPDATE),
)

DELETE_CHANNEL_PERMISSION_OVERWRITE = Operation(
    "DELETE",
    "/channels/{channel_id}/permissions/{overwrite_id}",
    needs=Permissions.MANAGE_ROLES,
    raises=(
        errors.UNKNOWN_CHANNEL,
        errors.UNKNOWN_PERMISSION_OVERWRITE,
        errors.MISSING_ACCESS,
        errors.MISSING_PERMISSIONS,
        errors.CANNOT_EXECUTE_ON_DM,
        errors.WRONG_CHANNEL_TYPE,
    ),
    emits=(CHANNEL_UPDATE,),
    audits=(AuditLogAction.CHANNEL_OVERWRITE_DELETE,),
)

"""Channels of every kind: guild channels, threads and private channels, their permission overwrites and positions.

A thread is a channel, and to edit or delete a channel may be to edit or delete a thread, so the thread's model and the
events of its life are here; what one does with threads is in `threads`.
"""

from typing import Annotated, Final, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.enums import (
    AuditLogAction,
    AutoArchiveDuration,
    ChannelType,
    ForumLayout,
    OverwriteType,
    SortOrder,
    VideoQualityMode,
)
from hubbub.protocol.ids import (
    ApplicationId,
    ChannelId,
    EmojiId,
    GuildId,
    LobbyId,
    MessageId,
    Snowflake,
    TagId,
    Timestamp,
    UserId,
)
from hubbub.protocol.images import ImageData
from hubbub.protocol.intents import Intents
from hubbub.protocol.numbers import INT32_MAX, Bits
from hubbub.protocol.operation import Auth, Event, Operation, RateLimit
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources.members import Member
from hubbub.protocol.resources.presence import Presence
from hubbub.protocol.resources.users import User

GUILD_CHANNELS_MAX: Final = 500
CATEGORY_CHILDREN_MAX: Final = 50
OVERWRITES_MAX: Final = 1000
GUILD_OVERWRITES_MAX: Final = 50_000
"""So many overwrites all channels of a guild have together: who connects reads them all at once (decisions/0054)."""
CHANNEL_NAME_MAX: Final = 100
TOPIC_MAX: Final = 1024
FORUM_TOPIC_MAX: Final = 4096
RATE_LIMIT_PER_USER_MAX: Final = 21_600
"""Seconds of slowmode."""
BITRATE_MIN: Final = 8_000
BITRATE_DEFAULT: Final = 64_000
BITRATE_MAX_BY_TIER: Final = (96_000, 128_000, 256_000, 384_000)
"""By the guild's premium tier; VIP_REGIONS has the last."""
STAGE_BITRATE_MAX: Final = 64_000
VOICE_USER_LIMIT_MAX: Final = 99
STAGE_USER_LIMIT_MAX: Final = 10_000
FORUM_TAGS_MAX: Final = 20
FORUM_TAG_NAME_MAX: Final = 20
APPLIED_TAGS_MAX: Final = 5
PINNED_POSTS_MAX: Final = 1
MEMBER_COUNT_CEILING: Final = 50
"""A thread's `member_count` stops here."""

CHANNEL_EDIT_LIMIT: Final = RateLimit(5, 15.0)
NAME_AND_TOPIC_LIMIT: Final = RateLimit(2, 600.0, per="channel_id", code=errors.CHANNEL_WRITE_RATE_LIMIT)
"""Changes of a channel's name or topic, counted beside the operation's own limit."""

CREATABLE_TYPES: Final = frozenset({0, 2, 4, 5, 13, 15, 16})
"""The channel types one can create in a guild."""

TagSetting = Literal["match_all", "match_some"]

ChannelName = Annotated[str, Meta(min_length=1, max_length=CHANNEL_NAME_MAX)]
Topic = Annotated[str, Meta(max_length=FORUM_TOPIC_MAX)]
Slowmode = Annotated[int, Meta(ge=0, le=RATE_LIMIT_PER_USER_MAX)]
Bitrate = Annotated[int, Meta(ge=BITRATE_MIN, le=INT32_MAX)]
UserLimit = Annotated[int, Meta(ge=0, le=STAGE_USER_LIMIT_MAX)]
Position = Annotated[int, Meta(ge=0, le=INT32_MAX)]
EmojiName = Annotated[str, Meta(max_length=100)]


class Overwrite(Struct, kw_only=True):
    """What a role or a member may do in one channel, differing from their roles."""

    id: Snowflake
    """The role's or the user's id."""
    type: int
    """0 role, 1 member."""
    allow: Permissions
    deny: Permissions


class ForumTag(Struct, kw_only=True):
    """A tag that posts of a forum or media channel can wear."""

    id: TagId
    name: str
    moderated: bool
    """Only holders of MANAGE_THREADS may apply or remove it."""
    emoji_id: EmojiId | None
    emoji_name: str | None


class DefaultReaction(Struct, kw_only=True):
    """The emoji offered on each post of a forum."""

    emoji_id: EmojiId | None
    emoji_name: str | None


class ThreadMetadata(Struct, kw_only=True):
    """What only threads have."""

    archived: bool
    auto_archive_duration: int
    archive_timestamp: Timestamp
    """When `archived` last changed."""
    locked: bool
    invitable: bool | UnsetType = UNSET
    """Private threads only: whether any member may add others."""
    create_timestamp: Timestamp | UnsetType = UNSET


class ThreadMember(Struct, kw_only=True):
    """A user's membership in a thread."""

    id: ChannelId
    """The thread's id."""
    user_id: UserId
    join_timestamp: Timestamp
    flags: int
    """Notification settings of this user."""
    member: Member | UnsetType = UNSET
    """The guild member, where `with_member` asked for it."""


class AnyChannel(Struct, kw_only=True):
    """A channel of any kind, as it reads before one looks at `type`."""

    id: ChannelId
    type: int
    flags: int = 0
    guild_id: GuildId | UnsetType = UNSET
    name: str | None | UnsetType = UNSET
    position: int | UnsetType = UNSET
    permission_overwrites: list[Overwrite] | UnsetType = UNSET
    parent_id: ChannelId | None | UnsetType = UNSET
    """The category of a channel, the channel of a thread."""
    topic: str | None | UnsetType = UNSET
    nsfw: bool | UnsetType = UNSET
    last_message_id: MessageId | None | UnsetType = UNSET
    """In forums the newest post. The message may be gone."""
    last_pin_timestamp: Timestamp | None | UnsetType = UNSET
    rate_limit_per_user: int | UnsetType = UNSET
    bitrate: int | UnsetType = UNSET
    user_limit: int | UnsetType = UNSET
    rtc_region: str | None | UnsetType = UNSET
    video_quality_mode: int | UnsetType = UNSET
    permissions: Permissions | UnsetType = UNSET
    """The invoking user's, in interaction data only."""
    default_auto_archive_duration: int | UnsetType = UNSET
    default_thread_rate_limit_per_user: int | UnsetType = UNSET
    available_tags: list[ForumTag] | UnsetType = UNSET
    default_reaction_emoji: DefaultReaction | None | UnsetType = UNSET
    default_sort_order: int | None | UnsetType = UNSET
    default_forum_layout: int | UnsetType = UNSET
    default_tag_setting: str | None | UnsetType = UNSET
    owner_id: UserId | UnsetType = UNSET
    """Who started the thread, or owns the group."""
    thread_metadata: ThreadMetadata | UnsetType = UNSET
    message_count: int | UnsetType = UNSET
    member_count: int | UnsetType = UNSET
    total_message_sent: int | UnsetType = UNSET
    applied_tags: list[TagId] | UnsetType = UNSET
    member: ThreadMember | UnsetType = UNSET
    """The reader's own membership in the thread."""
    recipients: list[User] | UnsetType = UNSET
    """The others in a private channel."""
    icon: str | None | UnsetType = UNSET
    application_id: ApplicationId | None | UnsetType = UNSET
    """The application that made the group; null on guild channels."""
    managed: bool | UnsetType = UNSET


class LinkedLobby(Struct, kw_only=True):
    """The lobby of a game that shares what is said in a channel (sdk.md 12.3)."""

    application_id: ApplicationId
    lobby_id: LobbyId
    linked_by: UserId
    linked_at: Timestamp
    require_application_authorization: bool
    """Whether only those who authorized the application may speak here."""


class Channel(AnyChannel, kw_only=True):
    """A channel of a guild that is no thread. Keys that a type does not have are left out."""

    guild_id: GuildId
    name: str
    position: int
    permission_overwrites: list[Overwrite] | UnsetType
    """Left out where a channel is only named, in an interaction."""
    parent_id: ChannelId | None
    application_id: ApplicationId | None | UnsetType = None
    linked_lobby: LinkedLobby | UnsetType = UNSET
    can_link_lobby: bool | UnsetType = UNSET
    """Whether the caller could link a lobby here; only where asked for."""
    is_viewable_and_writeable_by_all_members: bool | UnsetType = UNSET
    """Whether everybody in the guild reads and writes here; only where asked for."""


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
    """A direct message channel or a group. Only groups have a name, an icon and an owner."""

    recipients: list[User]
    last_message_id: MessageId | None


class ChannelRecipient(Struct, kw_only=True):
    """Somebody in a group, as an invite shows them."""

    id: UserId
    username: str
    avatar: str | None


class PartialChannel(Struct, kw_only=True):
    """The little of a channel that invites and followers show."""

    id: ChannelId
    type: int
    name: str | None
    icon: str | None | UnsetType = UNSET
    recipients: list[ChannelRecipient] | UnsetType = UNSET


class OverwriteRequest(Struct, kw_only=True):
    """An overwrite as a channel's body lists it."""

    id: Snowflake
    type: OverwriteType | None | UnsetType = UNSET
    allow: Permissions | None | UnsetType = UNSET
    deny: Permissions | None | UnsetType = UNSET


class SetChannelPermissionOverwrite(Struct, kw_only=True):
    """An overwrite to create or replace; the path names whose."""

    type: OverwriteType | None | UnsetType = UNSET
    allow: Permissions | None | UnsetType = UNSET
    deny: Permissions | None | UnsetType = UNSET


class ForumTagRequest(Struct, kw_only=True):
    """A tag to keep (with its id) or to make."""

    name: Annotated[str, Meta(max_length=FORUM_TAG_NAME_MAX)]
    id: TagId | None | UnsetType = UNSET
    moderated: bool | None | UnsetType = UNSET
    emoji_id: EmojiId | None | UnsetType = UNSET
    emoji_name: EmojiName | None | UnsetType = UNSET


class DefaultReactionRequest(Struct, kw_only=True):
    """One of a custom emoji's id or a unicode emoji."""

    emoji_id: EmojiId | None | UnsetType = UNSET
    emoji_name: EmojiName | None | UnsetType = UNSET


# Their numbers are not declared: the refusals have codes of their own, 30060 and 30048.
Overwrites = list[OverwriteRequest]
ForumTags = list[ForumTagRequest]


class CreateGuildChannel(Struct, kw_only=True):
    """A new channel of a guild."""

    name: ChannelName
    type: ChannelType | None | UnsetType = UNSET
    """Absent: text."""
    topic: Topic | None | UnsetType = UNSET
    bitrate: Bitrate | None | UnsetType = UNSET
    user_limit: UserLimit | None | UnsetType = UNSET
    rate_limit_per_user: Slowmode | None | UnsetType = UNSET
    position: Position | None | UnsetType = UNSET
    permission_overwrites: Overwrites | None | UnsetType = UNSET
    """Absent: those of the category."""
    parent_id: ChannelId | None | UnsetType = UNSET
    nsfw: bool | None | UnsetType = UNSET
    rtc_region: str | None | UnsetType = UNSET
    video_quality_mode: VideoQualityMode | None | UnsetType = UNSET
    default_auto_archive_duration: AutoArchiveDuration | None | UnsetType = UNSET
    default_thread_rate_limit_per_user: Slowmode | None | UnsetType = UNSET
    default_reaction_emoji: DefaultReactionRequest | None | UnsetType = UNSET
    default_sort_order: SortOrder | None | UnsetType = UNSET
    default_forum_layout: ForumLayout | None | UnsetType = UNSET
    default_tag_setting: TagSetting | None | UnsetType = UNSET
    available_tags: ForumTags | None | UnsetType = UNSET
    flags: Bits | None | UnsetType = UNSET


class UpdateChannel(Struct, kw_only=True):
    """What to change of a channel; which keys count depends on what it is. Absent keeps, null resets."""

    name: ChannelName | None | UnsetType = UNSET
    type: ChannelType | None | UnsetType = UNSET
    """Between text and announcement only."""
    position: Position | None | UnsetType = UNSET
    topic: Topic | None | UnsetType = UNSET
    nsfw: bool | None | UnsetType = UNSET
    rate_limit_per_user: Slowmode | None | UnsetType = UNSET
    bitrate: Bitrate | None | UnsetType = UNSET
    user_limit: UserLimit | None | UnsetType = UNSET
    permission_overwrites: Overwrites | None | UnsetType = UNSET
    parent_id: ChannelId | None | UnsetType = UNSET
    rtc_region: str | None | UnsetType = UNSET
    video_quality_mode: VideoQualityMode | None | UnsetType = UNSET
    default_auto_archive_duration: AutoArchiveDuration | None | UnsetType = UNSET
    default_thread_rate_limit_per_user: Slowmode | None | UnsetType = UNSET
    default_reaction_emoji: DefaultReactionRequest | None | UnsetType = UNSET
    default_sort_order: SortOrder | None | UnsetType = UNSET
    default_forum_layout: ForumLayout | None | UnsetType = UNSET
    default_tag_setting: TagSetting | None | UnsetType = UNSET
    available_tags: ForumTags | None | UnsetType = UNSET
    flags: Bits | None | UnsetType = UNSET
    archived: bool | None | UnsetType = UNSET
    """Threads: and the five below."""
    locked: bool | None | UnsetType = UNSET
    invitable: bool | None | UnsetType = UNSET
    auto_archive_duration: AutoArchiveDuration | None | UnsetType = UNSET
    applied_tags: Annotated[list[TagId], Meta(max_length=APPLIED_TAGS_MAX)] | None | UnsetType = UNSET
    icon: ImageData | None | UnsetType = UNSET
    """Groups only."""


class ChannelPosition(Struct, kw_only=True):
    """Where one channel goes in a bulk reorder."""

    id: ChannelId
    position: Position | None | UnsetType = UNSET
    parent_id: ChannelId | None | UnsetType = UNSET
    lock_permissions: bool | None | UnsetType = UNSET
    """Take the overwrites of the new category."""


class ThreadCreated(Thread, kw_only=True):
    """A thread that the reader learns of: new, or one they were just added to."""

    newly_created: bool | UnsetType = UNSET


class ThreadDeleted(Struct, kw_only=True):
    """A thread that is gone."""

    id: ChannelId
    guild_id: GuildId
    parent_id: ChannelId
    type: int


class AddedThreadMember(ThreadMember, kw_only=True):
    """Somebody who joined a thread, with what the gateway says of them."""

    presence: Presence | None | UnsetType = UNSET


class ThreadMembersUpdate(Struct, kw_only=True):
    """Who joined and who left a thread."""

    id: ChannelId
    guild_id: GuildId
    member_count: int
    added_members: list[AddedThreadMember] | UnsetType = UNSET
    removed_member_ids: list[UserId] | UnsetType = UNSET


CHANNEL_CREATE = Event("CHANNEL_CREATE", AnyChannel, intents=Intents.GUILDS, dm_intents=Intents.PRIVATE_CHANNELS)
CHANNEL_UPDATE = Event("CHANNEL_UPDATE", AnyChannel, intents=Intents.GUILDS, dm_intents=Intents.PRIVATE_CHANNELS)
CHANNEL_DELETE = Event("CHANNEL_DELETE", AnyChannel, intents=Intents.GUILDS, dm_intents=Intents.PRIVATE_CHANNELS)
THREAD_CREATE = Event("THREAD_CREATE", ThreadCreated, intents=Intents.GUILDS)
THREAD_UPDATE = Event("THREAD_UPDATE", Thread, intents=Intents.GUILDS)
THREAD_DELETE = Event("THREAD_DELETE", ThreadDeleted, intents=Intents.GUILDS)
# gateway.md 5: GUILD_MEMBERS for the joining and leaving of others; the reader's own is told without it.
THREAD_MEMBERS_UPDATE = Event("THREAD_MEMBERS_UPDATE", ThreadMembersUpdate, intents=Intents.GUILD_MEMBERS)

GET_CHANNEL = Operation(
    "GET",
    "/channels/{channel_id}",
    result=AnyChannel,
    needs=Permissions.VIEW_CHANNEL,
    raises=(errors.UNKNOWN_CHANNEL, errors.MISSING_ACCESS),
)

# Which bits it takes depends on the kind of channel (http.md 3.2, 3.3): a rule of the slice.
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


# dated-changes.md, channel_obfuscation: from 2026-11-16 channels hidden from the caller are left out.
class ListGuildChannels(Struct, kw_only=True):
    """What to say of each channel."""

    with_can_link_lobby: bool = False


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

"""Threads and forum posts: starting, joining and listing them, and managing their members.

A thread is a channel, so its model and the events of its lifecycle are in `channels`.
"""

from datetime import datetime
from typing import Annotated, Final

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.enums import AuditLogAction, AutoArchiveDuration, ChannelType
from hubbub.protocol.ids import ChannelId, GuildId, TagId, UserId
from hubbub.protocol.intents import Intents
from hubbub.protocol.operation import Event, Operation, Uploads
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import channels, messages, thread_membership
from hubbub.protocol.resources.attachments import ATTACHMENT_BYTES_MAX
from hubbub.protocol.resources.channels import APPLIED_TAGS_MAX, ChannelName, Slowmode, Thread
from hubbub.protocol.resources.messages import CreateMessageContent, Message
from hubbub.protocol.resources.thread_membership import ThreadMember

THREAD_MEMBERS_MAX: Final = 1000
"""Maximum number of members of a thread."""
ACTIVE_THREADS_MAX: Final = 1000
"""Maximum number of active threads per guild."""
ARCHIVED_THREADS_PAGE_MIN: Final = 2
"""Minimum page size of archived threads: the public platform rejects a page of one thread (spec/http.md#1.10)."""
ARCHIVED_THREADS_PAGE_MAX: Final = 100
"""Maximum page size of archived threads."""


class CreateThreadFromMessage(Struct, kw_only=True):
    """A thread to start from a message."""

    name: ChannelName
    """Name of the thread."""
    auto_archive_duration: AutoArchiveDuration | None | UnsetType = UNSET
    """Minutes of inactivity after which the thread is archived; if null or absent, the channel's default, or else 1440."""
    rate_limit_per_user: Slowmode | None | UnsetType = UNSET
    """Slowmode of the thread in seconds; if null or absent, the channel's `default_thread_rate_limit_per_user`, or else 0."""


class CreateThread(CreateThreadFromMessage, kw_only=True):
    """A thread to start in a text channel, or a post in a forum."""

    type: ChannelType | None | UnsetType = UNSET
    """Type of the thread. Text channels: 11 public or 12 private, default 12. Announcement channels: always 10.

    The field is ignored in forums."""
    invitable: bool | None | UnsetType = UNSET
    """Whether members of a private thread can add other members; default true."""
    message: CreateMessageContent | UnsetType = UNSET
    """First message of the post; required in forums, ignored elsewhere."""
    applied_tags: Annotated[list[TagId], Meta(max_length=APPLIED_TAGS_MAX)] | None | UnsetType = UNSET
    """IDs of the tags of a forum post; null or absent for none."""


class CreatedThread(Thread, kw_only=True):
    """A thread that was started."""

    message: Message | UnsetType = UNSET
    """First message of a forum post; absent otherwise."""


class ThreadList(Struct, kw_only=True):
    """Threads, with the current user's memberships in them."""

    threads: list[Thread]
    """Threads that the caller can view."""
    members: list[ThreadMember]
    """Memberships of the current user in the listed threads."""
    has_more: bool = False
    """Whether there are further threads."""


class ListArchivedThreads(Struct, kw_only=True):
    """Page selection for threads by archive time, newest first."""

    before: datetime | UnsetType = UNSET
    """Return threads archived before this time."""
    limit: Annotated[int, Meta(ge=ARCHIVED_THREADS_PAGE_MIN, le=ARCHIVED_THREADS_PAGE_MAX)] = 50
    """Maximum number of threads to return."""


class ListMyArchivedThreads(Struct, kw_only=True):
    """Page selection for threads by ID, newest first."""

    before: ChannelId | UnsetType = UNSET
    """Return threads with a smaller ID."""
    limit: Annotated[int, Meta(ge=ARCHIVED_THREADS_PAGE_MIN, le=ARCHIVED_THREADS_PAGE_MAX)] = 50
    """Maximum number of threads to return."""


class GetThreadMember(Struct, kw_only=True):
    """Query parameters for getting a thread member."""

    with_member: bool = False
    """Whether to include the guild member."""


class ListThreadMembers(Struct, kw_only=True):
    """Page selection for thread members, which are paged only with `with_member`."""

    with_member: bool = False
    """Whether to include the guild members."""
    after: UserId | UnsetType = UNSET
    """Return members with a greater user ID."""
    limit: Annotated[int, Meta(ge=1, le=100)] = 100
    """Maximum number of members to return."""


class ThreadListSync(Struct, kw_only=True):
    """All active threads of channels that the user gained access to."""

    guild_id: GuildId
    """ID of the guild."""
    threads: list[Thread]
    """Active threads that the user can view."""
    members: list[ThreadMember]
    """Memberships of the current user in the listed threads."""
    channel_ids: list[ChannelId] | UnsetType = UNSET
    """IDs of the parent channels for which the list is complete; absent for the whole guild."""


class ThreadMemberUpdate(ThreadMember, kw_only=True):
    """The current user's membership in a thread after a change."""

    guild_id: GuildId
    """ID of the guild."""


THREAD_LIST_SYNC = Event(
    "THREAD_LIST_SYNC",
    ThreadListSync,
    "Sent when the user gains access to a channel with active threads.",
    intents=Intents.GUILDS,
)
THREAD_MEMBER_UPDATE = Event(
    "THREAD_MEMBER_UPDATE",
    ThreadMemberUpdate,
    "Sent when the user's own membership in a thread changes.",
    intents=Intents.GUILDS,
)

CREATE_THREAD_FROM_MESSAGE = Operation(
    "POST",
    "/channels/{channel_id}/messages/{message_id}/threads",
    body=CreateThreadFromMessage,
    result=Thread,
    status=201,
    needs=Permissions.VIEW_CHANNEL | Permissions.CREATE_PUBLIC_THREADS | Permissions.READ_MESSAGE_HISTORY,
    raises=(
        errors.UNKNOWN_CHANNEL,
        errors.UNKNOWN_MESSAGE,
        errors.MISSING_ACCESS,
        errors.MISSING_PERMISSIONS,
        errors.CANNOT_EXECUTE_ON_DM,
        errors.CANNOT_EXECUTE_ON_SYSTEM_MESSAGE,
        errors.WRONG_CHANNEL_TYPE,
        errors.MESSAGE_ALREADY_HAS_THREAD,
        errors.MAX_ACTIVE_THREADS,
        errors.MAX_ACTIVE_ANNOUNCEMENT_THREADS,
        errors.SLOWMODE_RATE_LIMIT,
        errors.AUTO_MODERATION_BLOCKED_TITLE,
        errors.INVALID_FORM_BODY,
    ),
    emits=(
        channels.THREAD_CREATE,
        thread_membership.THREAD_MEMBERS_UPDATE,
        messages.MESSAGE_UPDATE,
        messages.MESSAGE_CREATE,
    ),
    audits=(AuditLogAction.THREAD_CREATE,),
)

# The slice also checks CREATE_PUBLIC_THREADS, CREATE_PRIVATE_THREADS or, in forums, SEND_MESSAGES.
CREATE_THREAD = Operation(
    "POST",
    "/channels/{channel_id}/threads",
    body=CreateThread,
    result=CreatedThread,
    status=201,
    needs=Permissions.VIEW_CHANNEL,
    raises=(
        *messages.SEND_ERRORS,
        *messages.USER_SEND_ERRORS,
        errors.UNKNOWN_TAG,
        errors.CANNOT_EXECUTE_ON_DM,
        errors.WRONG_CHANNEL_TYPE,
        errors.TAG_REQUIRED,
        errors.NO_TAGS_FOR_NON_MODERATORS,
        errors.MAX_ACTIVE_THREADS,
        errors.MAX_ACTIVE_ANNOUNCEMENT_THREADS,
        errors.AUTO_MODERATION_BLOCKED_TITLE,
    ),
    emits=(channels.THREAD_CREATE, thread_membership.THREAD_MEMBERS_UPDATE, messages.MESSAGE_CREATE),
    uploads=Uploads(file_bytes_max=ATTACHMENT_BYTES_MAX),
    audits=(AuditLogAction.THREAD_CREATE,),
)

_MEMBER_ERRORS: Final = (
    errors.UNKNOWN_CHANNEL,
    errors.MISSING_ACCESS,
    errors.MISSING_PERMISSIONS,
    errors.CANNOT_EXECUTE_ON_DM,
    errors.WRONG_CHANNEL_TYPE,
    errors.THREAD_ARCHIVED,
)

JOIN_THREAD = Operation(
    "PUT",
    "/channels/{channel_id}/thread-members/@me",
    # nextcord and older releases of discord.py use POST.
    other_methods=("POST",),
    needs=Permissions.VIEW_CHANNEL,
    raises=(*_MEMBER_ERRORS, errors.MAX_THREAD_PARTICIPANTS),
    emits=(thread_membership.THREAD_MEMBERS_UPDATE, channels.THREAD_CREATE),
)

LEAVE_THREAD = Operation(
    "DELETE",
    "/channels/{channel_id}/thread-members/@me",
    needs=Permissions.VIEW_CHANNEL,
    raises=_MEMBER_ERRORS,
    emits=(thread_membership.THREAD_MEMBERS_UPDATE,),
)

ADD_THREAD_MEMBER = Operation(
    "PUT",
    "/channels/{channel_id}/thread-members/{user_id}",
    needs=Permissions.VIEW_CHANNEL,
    raises=(
        *_MEMBER_ERRORS,
        errors.UNKNOWN_MEMBER,
        errors.UNKNOWN_USER,
        errors.THREAD_LOCKED,
        errors.MAX_THREAD_PARTICIPANTS,
    ),
    emits=(thread_membership.THREAD_MEMBERS_UPDATE, channels.THREAD_CREATE, messages.MESSAGE_CREATE),
)

DELETE_THREAD_MEMBER = Operation(
    "DELETE",
    "/channels/{channel_id}/thread-members/{user_id}",
    needs=Permissions.VIEW_CHANNEL,
    raises=(*_MEMBER_ERRORS, errors.TWO_FACTOR_REQUIRED, errors.UNKNOWN_MEMBER, errors.UNKNOWN_USER),
    emits=(thread_membership.THREAD_MEMBERS_UPDATE, messages.MESSAGE_CREATE),
)

GET_THREAD_MEMBER = Operation(
    "GET",
    "/channels/{channel_id}/thread-members/{user_id}",
    result=ThreadMember,
    query=GetThreadMember,
    needs=Permissions.VIEW_CHANNEL,
    raises=(
        errors.UNKNOWN_CHANNEL,
        errors.UNKNOWN_MEMBER,
        errors.MISSING_ACCESS,
        errors.CANNOT_EXECUTE_ON_DM,
        errors.WRONG_CHANNEL_TYPE,
    ),
)

LIST_THREAD_MEMBERS = Operation(
    "GET",
    "/channels/{channel_id}/thread-members",
    result=list[ThreadMember],
    query=ListThreadMembers,
    needs=Permissions.VIEW_CHANNEL,
    raises=(errors.UNKNOWN_CHANNEL, errors.MISSING_ACCESS, errors.CANNOT_EXECUTE_ON_DM, errors.WRONG_CHANNEL_TYPE),
)

_LIST_ERRORS: Final = (
    errors.UNKNOWN_CHANNEL,
    errors.MISSING_ACCESS,
    errors.MISSING_PERMISSIONS,
    errors.CANNOT_EXECUTE_ON_DM,
    errors.WRONG_CHANNEL_TYPE,
)

LIST_PUBLIC_ARCHIVED_THREADS = Operation(
    "GET",
    "/channels/{channel_id}/threads/archived/public",
    result=ThreadList,
    query=ListArchivedThreads,
    needs=Permissions.VIEW_CHANNEL | Permissions.READ_MESSAGE_HISTORY,
    raises=_LIST_ERRORS,
)

LIST_PRIVATE_ARCHIVED_THREADS = Operation(
    "GET",
    "/channels/{channel_id}/threads/archived/private",
    result=ThreadList,
    query=ListArchivedThreads,
    needs=Permissions.VIEW_CHANNEL | Permissions.READ_MESSAGE_HISTORY | Permissions.MANAGE_THREADS,
    raises=_LIST_ERRORS,
)

LIST_MY_PRIVATE_ARCHIVED_THREADS = Operation(
    "GET",
    "/channels/{channel_id}/users/@me/threads/archived/private",
    result=ThreadList,
    query=ListMyArchivedThreads,
    needs=Permissions.VIEW_CHANNEL | Permissions.READ_MESSAGE_HISTORY,
    raises=_LIST_ERRORS,
)

GET_ACTIVE_GUILD_THREADS = Operation(
    "GET",
    "/guilds/{guild_id}/threads/active",
    result=ThreadList,
    raises=(errors.UNKNOWN_GUILD, errors.MISSING_ACCESS),
)

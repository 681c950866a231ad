"""Permission checks, validity checks and limits for threads, forum posts and thread members."""

from collections.abc import Collection, Iterable
from typing import Final

from msgspec import UNSET

from hubbub.protocol import changes, errors
from hubbub.protocol.enums import FORUM_TYPES, USER_MESSAGE_TYPES, ChannelType
from hubbub.protocol.flags import ApplicationFlags, ChannelFlags
from hubbub.protocol.ids import TagId
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import threads as wire
from hubbub.protocol.resources.channels import UpdateChannel
from hubbub.server.core.call import Call
from hubbub.server.core.denials import READ_ONLY_REASON, Denial, PermissionDenied
from hubbub.server.places import channels
from hubbub.server.places.channels import ChannelRow
from hubbub.server.places.standing import ChannelAccess, ChannelRef, access
from hubbub.server.talk.messages import MessageRow
from hubbub.server.talk.threads import store

AUTO_ARCHIVE_MINUTES_DEFAULT: Final = 1440
"""Inactivity in minutes after which a thread is archived, if neither the thread nor its parent has a duration."""

# spec/http.md#2.4: permissions that exempted users from slowmode before BYPASS_SLOWMODE replaced them.
_LEGACY_BYPASS_PERMISSIONS: Final = (
    Permissions.MANAGE_MESSAGES | Permissions.MANAGE_CHANNELS | Permissions.MANAGE_THREADS
)

_FIELDS_OF_CREATOR: Final = ("name", "archived", "auto_archive_duration")
"""Fields that the creator of a thread may change without MANAGE_THREADS."""
_FIELDS_OF_MODERATOR: Final = ("locked", "invitable", "rate_limit_per_user", "flags", "applied_tags")
"""Fields that require MANAGE_THREADS to change. The creator of a forum post may also change `applied_tags` (decisions/0012)."""


def require_thread(call: Call, channel_id: int) -> ChannelAccess:
    """Return the caller's access to a thread.

    Raise CANNOT_EXECUTE_ON_DM for a private channel, and WRONG_CHANNEL_TYPE for another channel of a guild."""
    channel_access = access.get_channel_standing(call, channel_id)
    if channel_access.guild is None:
        raise errors.CANNOT_EXECUTE_ON_DM()
    if not channel_access.channel.is_thread:
        raise errors.WRONG_CHANNEL_TYPE()
    return channel_access


def require_not_restricted(channel_access: ChannelAccess) -> None:
    """Raise MISSING_PERMISSIONS for members with read-only access (spec/http.md#2.2).

    Reasons are a timeout, pending membership screening, and auto moderation."""
    if channel_access.guild is not None and channel_access.guild.is_read_only:
        raise PermissionDenied(Denial(reason=READ_ONLY_REASON))


def require_open(channel_access: ChannelAccess) -> None:
    """Raise THREAD_ARCHIVED if the thread is archived, since users can neither join nor leave an archived thread."""
    if channel_access.channel.archived:
        raise errors.THREAD_ARCHIVED()


def require_parent(call: Call, channel_id: int, channel_types: frozenset[int]) -> tuple[ChannelAccess, ChannelRow]:
    """Return the caller's access to a guild channel of one of the types `channel_types`, with the channel's row."""
    channel_access = access.get_channel_standing(call, channel_id)
    if channel_access.guild is None:
        raise errors.CANNOT_EXECUTE_ON_DM()
    row = channels.find(call.tx, channel_id)
    if row is None:
        raise errors.UNKNOWN_CHANNEL()
    if row.type not in channel_types:
        raise errors.WRONG_CHANNEL_TYPE()
    return channel_access, row


def choose_thread_type(parent: ChannelRow, requested_type: ChannelType | None) -> int:
    """Return the type of a thread without a message; `requested_type` is the requested type or None.

    Threads are private by default; announcement channels have one type only."""
    if parent.type == ChannelType.GUILD_ANNOUNCEMENT:
        allowed_types, default_type = [ChannelType.ANNOUNCEMENT_THREAD], ChannelType.ANNOUNCEMENT_THREAD
    else:
        allowed_types = [ChannelType.PUBLIC_THREAD, ChannelType.PRIVATE_THREAD]
        default_type = ChannelType.PRIVATE_THREAD
    thread_type = default_type if requested_type is None else requested_type
    if thread_type not in allowed_types:
        raise errors.invalid("type", *errors.choices(int(allowed_type) for allowed_type in allowed_types))
    return int(thread_type)


def require_creatable(channel_access: ChannelAccess, thread_type: int) -> None:
    """Raise an error unless the caller may create a thread of the type `thread_type`."""
    is_private = thread_type == ChannelType.PRIVATE_THREAD
    channel_access.require(Permissions.CREATE_PRIVATE_THREADS if is_private else Permissions.CREATE_PUBLIC_THREADS)


def require_active_thread_quota(call: Call, guild_id: int, thread_type: int) -> None:
    """Raise MAX_ACTIVE_THREADS if the guild has reached its maximum of active threads.

    `thread_type` is the type of the new or unarchived thread. For an announcement thread, raise
    MAX_ACTIVE_ANNOUNCEMENT_THREADS."""
    if store.count_active(call.tx, guild_id) >= wire.ACTIVE_THREADS_MAX:
        if thread_type == ChannelType.ANNOUNCEMENT_THREAD:
            raise errors.MAX_ACTIVE_ANNOUNCEMENT_THREADS()
        raise errors.MAX_ACTIVE_THREADS()


def require_capacity(call: Call, thread: ChannelRef, message: MessageRow) -> bool:
    """Return whether a new message adds its author to the members of a thread, before the message is stored.

    Raise MAX_THREAD_PARTICIPANTS if the thread has no place for another member. A message unarchives an archived thread, so
    raise an error if the guild has reached its maximum of active threads."""
    is_user_message = message.type in USER_MESSAGE_TYPES and message.webhook_id is None
    is_new_member = is_user_message and channels.thread_members.find(call.tx, thread.id, message.author_id) is None
    if not is_new_member and not thread.archived:
        return False
    row = channels.find(call.tx, thread.id)
    if row is not None and row.archived:
        require_active_thread_quota(call, row.guild_id or 0, row.type)
    if row is not None and is_new_member and row.member_count >= wire.THREAD_MEMBERS_MAX:
        raise errors.MAX_THREAD_PARTICIPANTS()
    return is_new_member


def is_slowmode_applied(call: Call, channel_access: ChannelAccess) -> bool:
    """Return whether slowmode applies to the caller. Bots and users who may bypass it are exempt (spec/http.md#2.4)."""
    if call.actor.is_bot:
        return False
    if changes.BYPASS_SLOWMODE_INTRODUCED.is_active(call.now_ms) and channel_access.can(Permissions.BYPASS_SLOWMODE):
        return False
    return changes.PERMISSION_SPLITS.is_active(call.now_ms) or not channel_access.allowed & _LEGACY_BYPASS_PERMISSIONS


def consume_slowmode(call: Call, channel_access: ChannelAccess) -> None:
    """Raise SLOWMODE_RATE_LIMIT while slowmode forbids another thread; otherwise record the new thread (spec/http.md#3.2)."""
    slowmode_seconds = channel_access.channel.rate_limit_per_user
    if not slowmode_seconds or not is_slowmode_applied(call, channel_access):
        return
    wait_ms = channels.usage.compute_slow_mode_wait_ms(
        call.tx, channel_access.channel.id, call.user_id, "thread", slowmode_seconds, call.now_ms
    )
    if wait_ms:
        raise errors.SLOWMODE_RATE_LIMIT(retry_after=wait_ms / 1000, **{"global": False})
    channels.usage.record_slow_mode_use(call.tx, channel_access.channel.id, call.user_id, "thread", call.now_ms)


def require_tags(
    forum: ChannelRow, tag_ids: Iterable[TagId], applied_tag_ids: Iterable[TagId], *, is_moderator: bool
) -> list[TagId]:
    """Return the distinct IDs of the tags `tag_ids` for a post that has the tags `applied_tag_ids`, or raise an error.

    Tags must exist in the forum. Only moderators may change moderated tags; `is_moderator` is True for a moderator."""
    distinct_ids = list(dict.fromkeys(tag_ids))
    tags_by_id = {tag.id: tag for tag in channels.views.tags(forum)}
    if any(tag_id not in tags_by_id for tag_id in distinct_ids):
        raise errors.UNKNOWN_TAG()
    changed_ids = set(distinct_ids) ^ {tag_id for tag_id in applied_tag_ids if tag_id in tags_by_id}
    if not is_moderator and any(tags_by_id[tag_id].moderated for tag_id in changed_ids):
        raise PermissionDenied(
            Denial(
                guild_id=forum.guild_id,
                channel_id=forum.id,
                missing_permissions=(Permissions.MANAGE_THREADS,),
                action="change moderated tags",
            )
        )
    if not distinct_ids and forum.flags & ChannelFlags.REQUIRE_TAG:
        if not is_moderator and all(tag.moderated for tag in tags_by_id.values()):
            raise errors.NO_TAGS_FOR_NON_MODERATORS()
        raise errors.TAG_REQUIRED()
    return distinct_ids


def require_can_edit(call: Call, channel_access: ChannelAccess, row: ChannelRow, body: UpdateChannel) -> None:
    """Raise an error unless the caller may make the changes of a request to a thread (spec/http.md#3.3)."""
    changed_fields = [
        field for field in (*_FIELDS_OF_CREATOR, *_FIELDS_OF_MODERATOR) if getattr(body, field) is not UNSET
    ]
    if changed_fields:
        require_not_restricted(channel_access)
    if row.locked and changed_fields and not channel_access.can(Permissions.MANAGE_THREADS):
        raise errors.THREAD_LOCKED()
    if (row.locked and changed_fields) or not _can_edit_unmoderated(call, channel_access, row, body, changed_fields):
        access.require_channel(call, row.id, Permissions.MANAGE_THREADS)
    is_unarchived = body.archived is False and bool(row.archived)
    if row.archived and not is_unarchived and changed_fields and changed_fields != ["archived"]:
        raise errors.THREAD_ARCHIVED()


def _can_edit_unmoderated(
    call: Call, channel_access: ChannelAccess, row: ChannelRow, body: UpdateChannel, changed_fields: Collection[str]
) -> bool:
    """Return whether the caller may change the fields without MANAGE_THREADS."""
    if row.owner_id == call.user_id:
        forum = channels.find(call.tx, row.parent_id or 0) if "applied_tags" in changed_fields else None
        is_post = forum is not None and forum.type in FORUM_TYPES
        return all(field in _FIELDS_OF_CREATOR or (field == "applied_tags" and is_post) for field in changed_fields)
    if any(field != "archived" for field in changed_fields) or body.archived is True:
        return False
    # Members of the thread and users who may send messages can unarchive it.
    return (
        channel_access.can(Permissions.SEND_MESSAGES)
        or channels.thread_members.find(call.tx, row.id, call.user_id) is not None
    )


def require_pinnable(call: Call, row: ChannelRow, forum: ChannelRow | None) -> None:
    """Raise MAX_PINNED_THREADS or WRONG_CHANNEL_TYPE if the post cannot be pinned: a forum has at most one pinned post."""
    if forum is None or forum.type not in FORUM_TYPES:
        raise errors.WRONG_CHANNEL_TYPE()
    pinned_id = store.find_pinned_post_id(call.tx, forum.id, ChannelFlags.PINNED)
    if pinned_id is not None and pinned_id != row.id:
        raise errors.MAX_PINNED_THREADS()


def require_can_add_member(channel_access: ChannelAccess, row: ChannelRow) -> None:
    """Raise an error unless the caller may add members.

    Adding members requires SEND_MESSAGES. A locked thread, and a private thread that is not invitable, also require
    MANAGE_THREADS."""
    channel_access.require(Permissions.SEND_MESSAGES)
    if channel_access.can(Permissions.MANAGE_THREADS):
        return
    if row.locked:
        raise errors.THREAD_LOCKED()
    if row.type == ChannelType.PRIVATE_THREAD and row.invitable == 0:
        raise PermissionDenied(channel_access.build_denial(Permissions.MANAGE_THREADS))


def require_can_remove_member(call: Call, row: ChannelRow) -> None:
    """Raise an error unless the caller may remove members: a moderator, or the creator of a private thread."""
    require_not_restricted(access.get_channel_standing(call, row.id))
    is_creator = row.type == ChannelType.PRIVATE_THREAD and row.owner_id == call.user_id
    if not is_creator:
        access.require_channel(call, row.id, Permissions.MANAGE_THREADS)


def require_members_intent(call: Call) -> None:
    """Raise MISSING_ACCESS if a bot lacks the GUILD_MEMBERS intent (spec/http.md#4.2)."""
    members_intent_flags = ApplicationFlags.GATEWAY_GUILD_MEMBERS | ApplicationFlags.GATEWAY_GUILD_MEMBERS_LIMITED
    if call.actor.is_bot and not call.actor.application_flags & members_intent_flags:
        raise errors.MISSING_ACCESS()

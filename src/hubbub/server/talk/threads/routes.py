"""HTTP handlers for threads."""

from msgspec import UNSET

from hubbub.protocol import codec, errors
from hubbub.protocol.enums import FORUM_TYPES, USER_MESSAGE_TYPES, ChannelType, MessageType
from hubbub.protocol.flags import MessageFlags
from hubbub.protocol.ids import ChannelId, GuildId, MessageId, UserId
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import threads as wire
from hubbub.protocol.resources.channels import CHANNEL_NAME_MAX, Thread
from hubbub.protocol.resources.messages import MessageReference
from hubbub.protocol.resources.thread_membership import ThreadMember
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.identity import users
from hubbub.server.places import channels, members
from hubbub.server.places.channels import ChannelRow
from hubbub.server.places.standing import ChannelAccess, access
from hubbub.server.talk import messages
from hubbub.server.talk.threads import actions, ports, rules, store, views

_TEXT_CHANNEL_TYPES = frozenset({ChannelType.GUILD_TEXT, ChannelType.GUILD_ANNOUNCEMENT})
_THREAD_PARENT_TYPES = _TEXT_CHANNEL_TYPES | FORUM_TYPES


@handles(wire.CREATE_THREAD_FROM_MESSAGE)
def create_thread_from_message(
    call: Call, channel_id: ChannelId, message_id: MessageId, body: wire.CreateThreadFromMessage
) -> Thread:
    """Create a thread from a message.

    The thread has the ID of the message."""
    channel_access, parent = rules.require_parent(call, channel_id, _TEXT_CHANNEL_TYPES)
    source_message = messages.history.get(call.tx, channel_id, message_id)
    if source_message.type not in USER_MESSAGE_TYPES:
        raise errors.CANNOT_EXECUTE_ON_SYSTEM_MESSAGE()
    if channels.find(call.tx, message_id) is not None:
        raise errors.MESSAGE_ALREADY_HAS_THREAD()
    is_announcement = parent.type == ChannelType.GUILD_ANNOUNCEMENT
    thread_type = ChannelType.ANNOUNCEMENT_THREAD if is_announcement else ChannelType.PUBLIC_THREAD
    rules.require_active_thread_quota(call, channel_access.guild_id, thread_type)
    rules.consume_slowmode(call, channel_access)
    row = _new_thread_row(call, channel_access, parent, body, thread_type, message_id)
    row = actions.create(call, row)
    messages.changes.set_flags(call, channel_access.channel, message_id, flags_to_set=MessageFlags.HAS_THREAD)
    reference = MessageReference(channel_id=channel_id, message_id=message_id, guild_id=channel_access.guild_id)
    thread = access.get_channel_standing(call, row.id).channel
    messages.system_messages.create_system_message(
        call, thread, MessageType.THREAD_STARTER_MESSAGE, call.user_id, reference=reference
    )
    # Clients show a thread below its message, so a thread of the newest message needs no system message.
    if message_id != parent.last_message_id:
        _post_thread_created(call, channel_access, row)
    return _thread_view(call, row)


@handles(wire.CREATE_THREAD)
def create_thread(call: Call, channel_id: ChannelId, body: wire.CreateThread) -> wire.CreatedThread:
    """Create a thread without a message, or a forum post.

    In a forum the body must contain the first message.

    A public thread requires CREATE_PUBLIC_THREADS, a private thread CREATE_PRIVATE_THREADS, and a forum post
    SEND_MESSAGES. Moderated tags require MANAGE_THREADS.
    """
    channel_access, parent = rules.require_parent(call, channel_id, _THREAD_PARENT_TYPES)
    if parent.type in FORUM_TYPES:
        return _create_post(call, channel_access, parent, body)
    thread_type = rules.choose_thread_type(parent, body.type or None)
    rules.require_creatable(channel_access, thread_type)
    rules.require_active_thread_quota(call, channel_access.guild_id, thread_type)
    rules.consume_slowmode(call, channel_access)
    row = _new_thread_row(call, channel_access, parent, body, thread_type, call.new_id(ChannelId))
    if thread_type == ChannelType.PRIVATE_THREAD:
        row = row._replace(invitable=int(body.invitable is not False))
    row = actions.create(call, row)
    if thread_type != ChannelType.PRIVATE_THREAD:
        _post_thread_created(call, channel_access, row)
    return views.created_thread(row, channels.thread_members.find(call.tx, row.id, call.user_id))


def _create_post(
    call: Call, channel_access: ChannelAccess, forum: ChannelRow, body: wire.CreateThread
) -> wire.CreatedThread:
    channel_access.require(Permissions.SEND_MESSAGES)
    if body.message is UNSET:
        raise errors.invalid("message", *errors.required())
    is_moderator = channel_access.can(Permissions.MANAGE_THREADS)
    tag_ids = rules.require_tags(forum, body.applied_tags or [], [], is_moderator=is_moderator)
    rules.require_active_thread_quota(call, channel_access.guild_id, ChannelType.PUBLIC_THREAD)
    rules.consume_slowmode(call, channel_access)
    row = _new_thread_row(call, channel_access, forum, body, ChannelType.PUBLIC_THREAD, call.new_id(ChannelId))
    row = actions.create(call, row._replace(applied_tags=codec.encode(tag_ids).decode()))
    thread_access = access.get_channel_standing(call, row.id)
    # Starting a post requires SEND_MESSAGES in the forum (spec/http.md#3.3), regardless of the permission for replies.
    thread_access.allowed |= channel_access.allowed & Permissions.SEND_MESSAGES
    author = messages.history.require_can_send(call, thread_access)
    message = messages.creation.create(call, thread_access, body.message, message_id=MessageId(row.id), author=author)
    row = row._replace(last_message_id=row.id)
    view = views.created_thread(row, channels.thread_members.find(call.tx, row.id, call.user_id))
    view.message = message
    return view


def _new_thread_row(
    call: Call,
    channel_access: ChannelAccess,
    parent: ChannelRow,
    body: wire.CreateThreadFromMessage,
    thread_type: int,
    thread_id: int,
) -> ChannelRow:
    """Return the row of a new thread, after validation of its name. The row is not stored yet."""
    archive_minutes = (
        body.auto_archive_duration or parent.default_auto_archive_duration or rules.AUTO_ARCHIVE_MINUTES_DEFAULT
    )
    slowmode_seconds = parent.default_thread_rate_limit_per_user or 0
    if isinstance(body.rate_limit_per_user, int):
        slowmode_seconds = body.rate_limit_per_user
    name = body.name.strip()
    if not name:
        raise errors.invalid("name", *errors.bad_length(1, CHANNEL_NAME_MAX))
    ports.check_title(call, channel_access, name)
    return ChannelRow(
        id=thread_id,
        type=int(thread_type),
        guild_id=parent.guild_id,
        name=name,
        parent_id=parent.id,
        nsfw=parent.nsfw,
        rate_limit_per_user=slowmode_seconds,
        owner_id=call.user_id,
        archive_changed_ms=call.now_ms,
        auto_archive_duration=int(archive_minutes),
        created_ms=call.now_ms,
    )


def _post_thread_created(call: Call, channel_access: ChannelAccess, row: ChannelRow) -> None:
    """Post a system message about a new thread in the parent channel."""
    reference = MessageReference(channel_id=ChannelId(row.id), guild_id=channel_access.guild_id)
    message_type = MessageType.THREAD_CREATED
    messages.system_messages.create_system_message(
        call, channel_access.channel, message_type, call.user_id, content=row.name or "", reference=reference
    )


def _thread_view(call: Call, row: ChannelRow) -> Thread:
    current_row = channels.find(call.tx, row.id) or row
    return views.thread(current_row, channels.thread_members.find(call.tx, row.id, call.user_id))


@handles(wire.JOIN_THREAD)
def join_thread(call: Call, channel_id: ChannelId) -> None:
    """Join a thread.

    Members with a timeout, members who have not completed membership screening, and members that auto moderation
    quarantined cannot join.
    """
    channel_access = rules.require_thread(call, channel_id)
    rules.require_not_restricted(channel_access)
    rules.require_open(channel_access)
    _add_member(call, channel_access, call.user_id)


@handles(wire.LEAVE_THREAD)
def leave_thread(call: Call, channel_id: ChannelId) -> None:
    """Leave a thread."""
    channel_access = rules.require_thread(call, channel_id)
    rules.require_open(channel_access)
    actions.remove_member(call, _get_thread(call, channel_id), call.user_id)


@handles(wire.ADD_THREAD_MEMBER)
def add_thread_member(call: Call, channel_id: ChannelId, user_id: UserId) -> None:
    """Add a member to a thread.

    The caller needs SEND_MESSAGES_IN_THREADS in the thread. A locked thread, and a private thread whose members cannot
    invite others, also require MANAGE_THREADS.
    """
    channel_access = rules.require_thread(call, channel_id)
    if user_id == call.user_id:
        join_thread(call, channel_id)
        return
    rules.require_can_add_member(channel_access, _get_thread(call, channel_id))
    standing = access.find_guild_standing(call.tx, call.now_ms, channel_access.guild_id, user_id)
    if standing is None:
        if users.find(call.tx, user_id) is None:
            raise errors.UNKNOWN_USER()
        raise errors.UNKNOWN_MEMBER()
    if (
        not access.permissions_in(call.tx, standing, channel_access.channel.overwrites_channel_id)
        & Permissions.VIEW_CHANNEL
    ):
        raise errors.MISSING_ACCESS()
    rules.require_open(channel_access)
    if _add_member(call, channel_access, user_id):
        messages.system_messages.create_system_message(
            call, channel_access.channel, MessageType.RECIPIENT_ADD, call.user_id, mentioned_user_ids=(user_id,)
        )


def _add_member(call: Call, channel_access: ChannelAccess, user_id: int) -> bool:
    """Add a user to a thread that is not full. Return False if they are already a member."""
    row = _get_thread(call, channel_access.channel.id)
    if channels.thread_members.find(call.tx, row.id, user_id) is not None:
        return False
    if row.member_count >= wire.THREAD_MEMBERS_MAX:
        raise errors.MAX_THREAD_PARTICIPANTS()
    return actions.add_member(call, row, user_id)


@handles(wire.DELETE_THREAD_MEMBER)
def delete_thread_member(call: Call, channel_id: ChannelId, user_id: UserId) -> None:
    """Remove a member from a thread.

    The caller needs MANAGE_THREADS, unless the caller created the thread and it is private."""
    channel_access = rules.require_thread(call, channel_id)
    if user_id == call.user_id:
        leave_thread(call, channel_id)
        return
    row = _get_thread(call, channel_id)
    rules.require_can_remove_member(call, row)
    rules.require_open(channel_access)
    if not actions.remove_member(call, row, user_id):
        raise errors.UNKNOWN_MEMBER()
    messages.system_messages.create_system_message(
        call, channel_access.channel, MessageType.RECIPIENT_REMOVE, call.user_id, mentioned_user_ids=(user_id,)
    )


@handles(wire.GET_THREAD_MEMBER)
def get_thread_member(call: Call, channel_id: ChannelId, user_id: UserId, query: wire.GetThreadMember) -> ThreadMember:
    """Get a thread member."""
    channel_access = rules.require_thread(call, channel_id)
    membership = channels.thread_members.find(call.tx, channel_id, user_id)
    if membership is None:
        raise errors.UNKNOWN_MEMBER()
    view = channels.thread_channels.thread_member(membership)
    member = members.find(call.tx, channel_access.guild_id, user_id) if query.with_member else None
    if member is not None:
        view.member = members.views.member(member)
    return view


@handles(wire.LIST_THREAD_MEMBERS)
def list_thread_members(call: Call, channel_id: ChannelId, query: wire.ListThreadMembers) -> list[ThreadMember]:
    """List thread members.

    With `with_member` the list is paginated, otherwise it is complete."""
    channel_access = rules.require_thread(call, channel_id)
    rules.require_members_intent(call)
    if not query.with_member:
        return [
            channels.thread_channels.thread_member(row)
            for row in channels.thread_members.list_members(call.tx, channel_id)
        ]
    rows = channels.thread_members.list_members(call.tx, channel_id, after_user_id=query.after or 0, limit=query.limit)
    members_by_user = members.find_many(call.tx, channel_access.guild_id, [row.user_id for row in rows])
    return [
        channels.thread_channels.thread_member(
            row, members.views.member(members_by_user[row.user_id]) if row.user_id in members_by_user else UNSET
        )
        for row in rows
    ]


@handles(wire.LIST_PUBLIC_ARCHIVED_THREADS)
def list_public_archived_threads(call: Call, channel_id: ChannelId, query: wire.ListArchivedThreads) -> wire.ThreadList:
    """List public archived threads of a channel."""
    rules.require_parent(call, channel_id, _THREAD_PARENT_TYPES)
    return _list_archived(call, channel_id, (ChannelType.ANNOUNCEMENT_THREAD, ChannelType.PUBLIC_THREAD), query)


@handles(wire.LIST_PRIVATE_ARCHIVED_THREADS)
def list_private_archived_threads(
    call: Call, channel_id: ChannelId, query: wire.ListArchivedThreads
) -> wire.ThreadList:
    """List private archived threads of a channel.

    The caller needs MANAGE_THREADS."""
    rules.require_parent(call, channel_id, _THREAD_PARENT_TYPES)
    return _list_archived(call, channel_id, (ChannelType.PRIVATE_THREAD,), query)


def _list_archived(
    call: Call, channel_id: int, thread_types: tuple[ChannelType, ...], query: wire.ListArchivedThreads
) -> wire.ThreadList:
    before_ms = None if query.before is UNSET else codec.milliseconds(query.before)
    rows = store.list_archived(
        call.tx,
        channel_id,
        [int(thread_type) for thread_type in thread_types],
        before_ms=before_ms,
        limit=query.limit + 1,
    )
    return views.thread_list(call.tx, rows[: query.limit], call.user_id, has_more=len(rows) > query.limit)


@handles(wire.LIST_MY_PRIVATE_ARCHIVED_THREADS)
def list_my_private_archived_threads(
    call: Call, channel_id: ChannelId, query: wire.ListMyArchivedThreads
) -> wire.ThreadList:
    """List the private archived threads of a channel that the current user has joined."""
    rules.require_parent(call, channel_id, _THREAD_PARENT_TYPES)
    rows = store.list_joined_private_archived(
        call.tx, channel_id, call.user_id, before_id=query.before or None, limit=query.limit + 1
    )
    return views.thread_list(call.tx, rows[: query.limit], call.user_id, has_more=len(rows) > query.limit)


@handles(wire.GET_ACTIVE_GUILD_THREADS)
def get_active_guild_threads(call: Call, guild_id: GuildId) -> wire.ThreadList:
    """List the active threads of a guild.

    The list contains the threads that the caller can see, newest first."""
    standing = access.get_guild_standing(call, guild_id)
    return views.thread_list(call.tx, views.list_visible_active(call.tx, standing), call.user_id)


def _get_thread(call: Call, channel_id: int) -> ChannelRow:
    row = channels.find(call.tx, channel_id)
    if row is None:
        raise errors.UNKNOWN_CHANNEL()
    return row

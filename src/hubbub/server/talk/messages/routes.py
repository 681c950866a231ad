"""HTTP handlers for messages."""

from msgspec import UNSET, Raw

from hubbub.protocol import errors
from hubbub.protocol.flags import MessageFlags
from hubbub.protocol.ids import ChannelId, MessageId
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import messages as wire
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.places.standing import access
from hubbub.server.talk.messages import actions, authors, ports, rules, store, views
from hubbub.server.talk.messages.content import drafts
from hubbub.server.talk.messages.drafts import creation
from hubbub.server.talk.messages.reads import history_pages
from hubbub.server.talk.messages.revisions import edits


@handles(wire.LIST_MESSAGES)
def list_messages(call: Call, channel_id: ChannelId, query: wire.ListMessages) -> list[wire.Message] | Raw:
    """List channel messages.

    Messages are ordered newest first.

    The list is empty without READ_MESSAGE_HISTORY. A voice channel also requires CONNECT.
    """
    channel_access = access.get_channel_standing(call, channel_id)
    rules.require_message_channel(channel_access)
    if not channel_access.can(Permissions.READ_MESSAGE_HISTORY):
        return []
    limit = query.limit
    if query.around is not UNSET:
        rows_after = store.list_history_after(call.tx, channel_id, limit // 2 + 1, query.around - 1)
        history_rows = rows_after + store.list_history_before(call.tx, channel_id, limit - limit // 2 - 1, query.around)
        history_rows = history_rows[:limit]
    elif query.before is not UNSET:
        if channel_access.channel.is_thread and query.before < channel_id:
            raise errors.BEFORE_THREAD_CREATION()
        history_rows = store.list_history_before(call.tx, channel_id, limit, query.before)
    elif query.after is not UNSET:
        history_rows = store.list_history_after(call.tx, channel_id, limit, query.after)
    else:
        history_rows = store.list_history_before(call.tx, channel_id, limit)
    return history_pages.encode_page(call, channel_access.channel, history_rows)


@handles(wire.GET_MESSAGE)
def get_message(call: Call, channel_id: ChannelId, message_id: MessageId) -> wire.Message:
    """Get a channel message."""
    channel_access = access.get_channel_standing(call, channel_id)
    rules.require_message_channel(channel_access)
    row = store.get(call.tx, channel_id, message_id)
    return views.message(call, row, guild_id=channel_access.channel.guild_id)


def _prefetch(call: Call, channel_id: ChannelId, *_: object) -> None:
    authors.prefetch_channel_author(call.tx, channel_id, call.user_id)
    ports.prefetch_for_listeners(call)


@handles(wire.CREATE_MESSAGE, quick=True, prefetch=_prefetch)
def create_message(call: Call, channel_id: ChannelId, body: wire.CreateMessage) -> wire.Message | Raw:
    """Create a message.

    The body must contain at least one of `content`, `embeds`, `sticker_ids`, `components`, `poll`,
    `shared_client_theme` and files, or forward a message with `message_reference`.

    In a guild the caller needs SEND_MESSAGES, or SEND_MESSAGES_IN_THREADS in a thread. Files require ATTACH_FILES,
    a poll SEND_POLLS, a voice message SEND_VOICE_MESSAGES, a reply READ_MESSAGE_HISTORY, and emojis of a poll and
    stickers from other guilds USE_EXTERNAL_EMOJIS and USE_EXTERNAL_STICKERS. Without EMBED_LINKS, embeds of bots
    are rejected and embeds of users are dropped.
    """
    channel_access = access.get_channel_standing(call, channel_id)
    author = rules.require_can_send(call, channel_access)
    return creation.send(call, channel_access, author, body)


@handles(wire.UPDATE_MESSAGE)
def update_message(call: Call, channel_id: ChannelId, message_id: MessageId, body: wire.UpdateMessage) -> wire.Message:
    """Update a message.

    Authors may edit their own messages. Others need MANAGE_MESSAGES, and may only suppress embeds."""
    channel_access = access.get_channel_standing(call, channel_id)
    row = store.get(call.tx, channel_id, message_id)
    rules.require_can_edit(call, channel_access, row, body)
    if row.author_id != call.user_id:
        return edits.suppress_embeds(call, channel_access, row, body.flags or 0)
    author = rules.require_author(call, channel_access.channel)
    if row.flags & MessageFlags.LOADING:
        # The message is a deferred response, whose interaction token may have expired (decisions/0030).
        return edits.complete_deferred(call, channel_access, author, row, drafts.as_create_body(body, call.now_ms))
    return edits.edit(call, channel_access, author, row, body)


@handles(wire.DELETE_MESSAGE)
def delete_message(call: Call, channel_id: ChannelId, message_id: MessageId) -> None:
    """Delete a message.

    A message of another user requires MANAGE_MESSAGES, and cannot be deleted in a private channel.
    """
    channel_access = access.get_channel_standing(call, channel_id)
    row = store.get(call.tx, channel_id, message_id)
    rules.require_can_delete(call, channel_access, row)
    actions.delete(call, channel_access, row)


@handles(wire.BULK_DELETE_MESSAGES)
def bulk_delete_messages(call: Call, channel_id: ChannelId, body: wire.BulkDeleteMessages) -> None:
    """Delete messages in bulk."""
    channel_access = access.get_channel_standing(call, channel_id)
    if channel_access.guild is None:
        raise errors.CANNOT_EXECUTE_ON_DM()
    rules.require_unarchived(channel_access)
    message_ids = dict.fromkeys(body.messages)
    if not wire.BULK_DELETE_MIN <= len(message_ids) <= wire.BULK_DELETE_MAX:
        raise errors.BAD_BULK_DELETE_COUNT()
    oldest_ms = call.now_ms - wire.BULK_DELETE_AGE_MAX.total_seconds() * 1000
    if any(message_id.created_ms < oldest_ms for message_id in message_ids):
        raise errors.BULK_DELETE_TOO_OLD()
    actions.bulk_delete(call, channel_access, message_ids)


@handles(wire.CROSSPOST_MESSAGE)
def crosspost_message(call: Call, channel_id: ChannelId, message_id: MessageId) -> wire.Message:
    """Crosspost a message.

    Publish the message to the channels that follow this announcement channel.

    A message of another user requires MANAGE_MESSAGES.
    """
    channel_access = access.get_channel_standing(call, channel_id)
    row = store.get(call.tx, channel_id, message_id)
    rules.require_can_crosspost(call, channel_access, row)
    return edits.crosspost(call, channel_access, row)

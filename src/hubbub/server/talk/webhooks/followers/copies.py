"""Copies of published announcements: create them in following channels, and keep them up to date."""

from typing import Final

from hubbub.protocol.flags import MessageFlags
from hubbub.protocol.ids import ChannelId, GuildId, MessageId
from hubbub.protocol.resources.messages import MessageReference
from hubbub.server.core.call import Call
from hubbub.server.places.standing import access
from hubbub.server.talk import messages
from hubbub.server.talk.messages import MessageRow
from hubbub.server.talk.webhooks import rules, store
from hubbub.server.talk.webhooks.store import Crosspost

BATCH_SIZE: Final = 25
"""Maximum number of copies created or updated in one transaction, small enough not to block other writers for long."""

DELETED_CONTENT: Final = "[Original Message Deleted]"
"""Content of a copy whose source was deleted."""


def copy_to_followers(call: Call, source_row: MessageRow, after_id: int) -> int | None:
    """Copy a published message to a batch of followers: webhooks with IDs above `after_id`.

    Return the ID of the last webhook of the batch, or None if there are no more followers."""
    followers = store.list_followers(call.tx, source_row.channel_id, after_id, BATCH_SIZE)
    for follower in followers:
        channel = access.find_channel(call.tx, follower.channel_id)
        if channel is None:
            continue
        reference = MessageReference(
            channel_id=ChannelId(source_row.channel_id),
            message_id=MessageId(source_row.id),
            guild_id=GuildId(follower.source_guild_id or 0),
        )
        author = rules.build_author(follower, rules.require_guild(call, follower))
        copy = messages.creation.create_crosspost(call, channel, source_row, author, reference)
        store.insert_crosspost(call.tx, source_row.channel_id, source_row.id, Crosspost(copy.id, channel.id))
    return followers[-1].id if len(followers) == BATCH_SIZE else None


def update_copies(call: Call, channel_id: int, message_id: int, after_id: int) -> int | None:
    """Update a batch of copies of a message, with IDs above `after_id`, or mark them if the message was deleted.

    Return the ID of the last copy of the batch, or None if there are no more copies."""
    source_row = messages.history.find(call.tx, channel_id, message_id)
    copies = store.list_crossposts(call.tx, channel_id, message_id, after_id, BATCH_SIZE)
    for copy in copies:
        copy_row = messages.history.find(call.tx, copy.channel_id, copy.message_id)
        channel = access.find_channel(call.tx, copy.channel_id)
        if copy_row is None or channel is None:
            continue
        updated_row = _mark_source_deleted(copy_row) if source_row is None else _copy_content(copy_row, source_row)
        if updated_row != copy_row:
            messages.changes.update(call, channel, updated_row)
    if len(copies) == BATCH_SIZE:
        return copies[-1].message_id
    if source_row is None:
        store.delete_crossposts_by_source(call.tx, channel_id, message_id)
    return None


def _copy_content(copy_row: MessageRow, source_row: MessageRow) -> MessageRow:
    """Return a copy with the current content of its source."""
    return copy_row._replace(
        flags=copy_row.flags & ~messages.creation.CROSSPOST_FLAGS
        | source_row.flags & messages.creation.CROSSPOST_FLAGS,
        content=source_row.content,
        mentions=source_row.mentions,
        attachments=source_row.attachments,
        embeds=source_row.embeds,
        components=source_row.components,
        edited_ms=source_row.edited_ms,
    )


def _mark_source_deleted(row: MessageRow) -> MessageRow:
    """Return a copy without content, marked as the copy of a deleted message."""
    return row._replace(
        flags=row.flags & ~MessageFlags.IS_COMPONENTS_V2 | MessageFlags.SOURCE_MESSAGE_DELETED,
        content=DELETED_CONTENT,
        mentions=None,
        attachments=None,
        embeds=None,
        components=None,
    )

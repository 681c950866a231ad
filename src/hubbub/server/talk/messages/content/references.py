"""References of messages to other messages, and snapshots of forwarded messages."""

import msgspec
from msgspec import UNSET

from hubbub.protocol.ids import ChannelId, GuildId, MessageId, UserId
from hubbub.protocol.resources import messages as wire
from hubbub.server.places.standing import ChannelRef
from hubbub.server.talk.messages.content import json_columns
from hubbub.server.talk.messages.content.records import MessageRow, StoredSnapshot


class ResolvedReference(msgspec.Struct):
    """The message that a new message replies to or forwards."""

    message_type: int
    """Type of the new message."""
    reference: wire.MessageReference
    replied_row: MessageRow | None = None
    """The replied-to message; None for a forward."""
    snapshot: StoredSnapshot | None = None
    """The forwarded message; None for a reply."""


def build_reference(channel: ChannelRef, message_id: int, reference_type: int = 0) -> wire.MessageReference:
    return wire.MessageReference(
        type=reference_type,
        channel_id=ChannelId(channel.id),
        message_id=MessageId(message_id),
        guild_id=UNSET if channel.guild_id is None else GuildId(channel.guild_id),
    )


def build_snapshot(row: MessageRow) -> StoredSnapshot:
    """Return a snapshot of a message that is forwarded."""
    return StoredSnapshot(
        channel_id=ChannelId(row.channel_id),
        message_id=MessageId(row.id),
        author_id=UserId(row.author_id),
        type=row.type,
        flags=row.flags,
        content=row.content,
        edited_ms=row.edited_ms,
        mentions=json_columns.mentions(row),
        mention_roles=json_columns.mention_roles(row),
        attachments=json_columns.attachments(row),
        embeds=json_columns.embeds(row),
        components=json_columns.components(row),
        sticker_items=json_columns.extra(row).sticker_items,
    )

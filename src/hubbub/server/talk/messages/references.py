"""Resolve message references: the replied-to message, or a snapshot of the forwarded one."""

import msgspec
from msgspec import UNSET

from hubbub.protocol import changes, codec, errors
from hubbub.protocol.enums import MessageReferenceType, MessageType
from hubbub.protocol.ids import ChannelId, GuildId, MessageId, RoleId, UserId
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import messages as wire
from hubbub.server.core.call import Call
from hubbub.server.places.standing import ChannelAccess, ChannelRef, access
from hubbub.server.talk.messages import rules, store
from hubbub.server.talk.messages.content import json_columns
from hubbub.server.talk.messages.content.records import MessageRow, StoredSnapshot


class ResolvedReference(msgspec.Struct):
    """The message that a new message replies to or forwards."""

    message_type: int
    """Type of the new message."""
    reference: wire.MessageReference
    replied: MessageRow | None = None
    """The replied-to message; None for a forward."""
    snapshot: StoredSnapshot | None = None
    """The forwarded message; None for a reply."""


def resolve(call: Call, channel_access: ChannelAccess, body: wire.MessageReferenceRequest) -> ResolvedReference | None:
    """Resolve a message reference; None if the message is unknown and `fail_if_not_exists` is false."""
    if body.type == MessageReferenceType.FORWARD and changes.MESSAGE_FORWARDING.is_active(call.now_ms):
        return _resolve_forward(call, channel_access, body)
    rules.require_repliable(channel_access, body)
    row = store.find(call.tx, channel_access.channel.id, body.message_id)
    if row is None:
        if body.fail_if_not_exists is False:
            return None
        raise errors.invalid("message_reference", *errors.reply_unknown_message())
    if row.type not in rules.USER_MESSAGE_TYPES:
        raise errors.invalid("message_reference", *errors.reply_system_message())
    return ResolvedReference(MessageType.REPLY, _build_reference(channel_access.channel, row.id), replied=row)


def _build_reference(channel: ChannelRef, message_id: int, reference_type: int = 0) -> wire.MessageReference:
    return wire.MessageReference(
        type=reference_type,
        channel_id=ChannelId(channel.id),
        message_id=MessageId(message_id),
        guild_id=UNSET if channel.guild_id is None else GuildId(channel.guild_id),
    )


def _resolve_forward(
    call: Call, channel_access: ChannelAccess, body: wire.MessageReferenceRequest
) -> ResolvedReference:
    """Return a snapshot of a message that the caller may read."""
    source_access = access.require_channel(
        call, body.channel_id or channel_access.channel.id, Permissions.READ_MESSAGE_HISTORY
    )
    rules.require_history(call, source_access)
    source = source_access.channel
    row = store.get(call.tx, source.id, body.message_id)
    rules.require_forwardable(call, source, row)
    rules.require_forward_quota(call)
    mark_files_shared(call, row)
    snapshots = json_columns.snapshots(row)
    # Forwarding a forward copies its snapshot; snapshots are never nested.
    snapshot = snapshots[0] if snapshots else _build_snapshot(row)
    return ResolvedReference(
        MessageType.DEFAULT, _build_reference(source, row.id, MessageReferenceType.FORWARD), snapshot=snapshot
    )


def mark_files_shared(call: Call, row: MessageRow) -> None:
    """Mark the files of a message as shared, so that the files remain when the message is deleted."""
    extra = json_columns.extra(row)
    if row.attachments is not None and not extra.shared:
        extra.shared = True
        store.set_extra(call.tx, row, extra)


def _build_snapshot(row: MessageRow) -> StoredSnapshot:
    return StoredSnapshot(
        channel_id=ChannelId(row.channel_id),
        message_id=MessageId(row.id),
        author_id=UserId(row.author_id),
        type=row.type,
        flags=row.flags,
        content=row.content,
        edited_ms=row.edited_ms,
        mentions=json_columns.mentions(row),
        mention_roles=[] if row.mention_roles is None else codec.decode(row.mention_roles, list[RoleId]),
        attachments=json_columns.attachments(row),
        embeds=json_columns.embeds(row),
        components=json_columns.components(row),
        sticker_items=json_columns.extra(row).sticker_items,
    )

"""What a new message refers to: the one it answers, or a copy of the one it forwards."""

import msgspec
from msgspec import UNSET

from hubbub.protocol import changes, errors
from hubbub.protocol import wire as json
from hubbub.protocol.enums import MessageReferenceType, MessageType
from hubbub.protocol.ids import ChannelId, GuildId, MessageId, RoleId, UserId
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import messages as wire
from hubbub.server.core import access as core_access
from hubbub.server.core.access import ChannelAccess, ChannelRef
from hubbub.server.core.call import Call
from hubbub.server.resources.messages import columns, rules, store
from hubbub.server.resources.messages.records import MessageRow, StoredSnapshot


class Refers(msgspec.Struct):
    """The message that a new one answers or carries."""

    kind: int
    reference: wire.MessageReference
    replied: MessageRow | None = None
    snapshot: StoredSnapshot | None = None


def refer(call: Call, access: ChannelAccess, body: wire.MessageReferenceRequest) -> Refers | None:
    """What a new message answers or carries; None where it may do without."""
    if body.type == MessageReferenceType.FORWARD and changes.MESSAGE_FORWARDING.active(call.now):
        return _forward(call, access, body)
    rules.require_repliable(access, body)
    row = store.find(call.tx, access.channel.id, body.message_id)
    if row is None:
        if body.fail_if_not_exists is False:
            return None
        raise errors.invalid("message_reference", *errors.reply_unknown_message())
    if row.type not in rules.SAID:
        raise errors.invalid("message_reference", *errors.reply_system_message())
    return Refers(MessageType.REPLY, _reference(access.channel, row.id), replied=row)


def _reference(channel: ChannelRef, message_id: int, kind: int = 0) -> wire.MessageReference:
    return wire.MessageReference(
        type=kind,
        channel_id=ChannelId(channel.id),
        message_id=MessageId(message_id),
        guild_id=UNSET if channel.guild_id is None else GuildId(channel.guild_id),
    )


def _forward(call: Call, access: ChannelAccess, body: wire.MessageReferenceRequest) -> Refers:
    """A copy of a message that the caller could read there."""
    there = core_access.require_channel(call, body.channel_id or access.channel.id, Permissions.READ_MESSAGE_HISTORY)
    rules.require_history(call, there)
    source = there.channel
    row = store.get(call.tx, source.id, body.message_id)
    rules.require_forwardable(call, source, row)
    rules.require_forwards_left(call)
    share_files(call, row)
    carried = columns.snapshots(row)
    # A forward of a forward carries what the first one carried: a snapshot never holds another.
    snapshot = carried[0] if carried else _snapshot(row)
    return Refers(MessageType.DEFAULT, _reference(source, row.id, MessageReferenceType.FORWARD), snapshot=snapshot)


def share_files(call: Call, row: MessageRow) -> None:
    """Remember that another message shows the files of this one, so that they outlive it."""
    extra = columns.extra(row)
    if row.attachments is not None and not extra.shared:
        extra.shared = True
        store.set_extra(call.tx, row, extra)


def _snapshot(row: MessageRow) -> StoredSnapshot:
    return StoredSnapshot(
        channel_id=ChannelId(row.channel_id),
        message_id=MessageId(row.id),
        author_id=UserId(row.author_id),
        type=row.type,
        flags=row.flags,
        content=row.content,
        edited_ms=row.edited_ms,
        mentions=columns.mentions(row),
        mention_roles=[] if row.mention_roles is None else json.decode(row.mention_roles, list[RoleId]),
        attachments=columns.attachments(row),
        embeds=columns.embeds(row),
        components=columns.components(row),
        sticker_items=columns.extra(row).sticker_items,
    )

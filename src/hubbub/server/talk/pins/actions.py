"""Pin and unpin messages: store the pin, record it in the audit log and publish it."""

from msgspec import UNSET

from hubbub.protocol import codec, errors
from hubbub.protocol.enums import AuditLogAction, MessageType
from hubbub.protocol.ids import ChannelId, MessageId
from hubbub.protocol.resources import pins as wire
from hubbub.protocol.resources.messages import MessageReference
from hubbub.server.core.call import Call
from hubbub.server.places import channels
from hubbub.server.places.audit_log import audit
from hubbub.server.places.standing import ChannelRef
from hubbub.server.talk import messages
from hubbub.server.talk.messages import MessageRow
from hubbub.server.talk.pins import store


def pin(call: Call, channel: ChannelRef, message: MessageRow) -> None:
    """Pin a message and post the system message about it. Do nothing if the message is already pinned.

    Raise MAX_PINS if the channel has too many pins."""
    if message.pinned_ms is not None:
        return
    if store.count(call.tx, channel.id) >= wire.PINS_MAX:
        raise errors.MAX_PINS()
    # Pages are delimited by the time of pinning, so two pins of a channel must not share a timestamp.
    last_ms = store.find_last_pin_ms(call.tx, channel.id)
    pinned_ms = call.now_ms if last_ms is None else max(call.now_ms, last_ms + 1)
    _set_last_pin(call, channel, pinned_ms)
    messages.changes.set_pinned(call, message, pinned_ms)
    _record_in_audit_log(call, channel, message, AuditLogAction.MESSAGE_PIN)
    reference = MessageReference(
        channel_id=ChannelId(channel.id), message_id=MessageId(message.id), guild_id=channel.guild_id or UNSET
    )
    messages.system_messages.create_system_message(
        call, channel, MessageType.CHANNEL_PINNED_MESSAGE, call.user_id, reference=reference
    )


def unpin(call: Call, channel: ChannelRef, message: MessageRow) -> None:
    """Unpin a message. Do nothing if the message is not pinned."""
    if message.pinned_ms is None:
        return
    other_pins = [row for row in store.list_newest(call.tx, channel.id, 2) if row.id != message.id]
    _set_last_pin(call, channel, other_pins[0].pinned_ms if other_pins else None)
    messages.changes.set_pinned(call, message, None)
    _record_in_audit_log(call, channel, message, AuditLogAction.MESSAGE_UNPIN)


def _set_last_pin(call: Call, channel: ChannelRef, last_pin_ms: int | None) -> None:
    """Store and publish the time of the channel's most recent pin; None if it has no pins."""
    channels.usage.set_last_pin(call.tx, channel.id, last_pin_ms)
    payload = wire.ChannelPinsUpdate(
        channel_id=channel.id,
        guild_id=channel.guild_id or UNSET,
        last_pin_timestamp=None if last_pin_ms is None else codec.timestamp(last_pin_ms),
    )
    call.tx.emit(wire.CHANNEL_PINS_UPDATE, payload, messages.audience(call, channel))


def _record_in_audit_log(call: Call, channel: ChannelRef, message: MessageRow, action: AuditLogAction) -> None:
    if channel.guild_id is not None:
        options = {"channel_id": int(channel.id), "message_id": message.id}
        audit.record(call, channel.guild_id, action, target_id=message.author_id, options=options)

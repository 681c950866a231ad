"""HTTP handlers for pins: the paginated routes, and the older routes without pagination."""

from hubbub.protocol import codec
from hubbub.protocol.ids import ChannelId, MessageId
from hubbub.protocol.resources import pins as wire
from hubbub.protocol.resources.messages import Message
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.places.standing import access
from hubbub.server.talk import messages
from hubbub.server.talk.pins import actions, rules, store


@handles(wire.LIST_PINS)
def list_pins(call: Call, channel_id: ChannelId, query: wire.ListPins) -> wire.PinnedMessages:
    """List a channel's pinned messages.

    The most recent pin comes first. The list is empty without READ_MESSAGE_HISTORY."""
    rules.require_paginated_routes(call.now_ms)
    channel_access = access.get_channel_standing(call, channel_id)
    if not rules.can_read_pins(channel_access):
        return wire.PinnedMessages(items=[], has_more=False)
    before_ms = codec.milliseconds(query.before) if query.before else None
    rows = store.list_newest(call.tx, channel_id, query.limit + 1, before_ms)
    has_more = len(rows) > query.limit
    rows = rows[: query.limit]
    views = messages.views.messages(call, rows, guild_id=channel_access.channel.guild_id)
    return wire.PinnedMessages(
        items=[
            wire.PinnedMessage(pinned_at=codec.timestamp(row.pinned_ms or 0), message=message)
            for row, message in zip(rows, views, strict=True)
        ],
        has_more=has_more,
    )


@handles(wire.DEPRECATED_LIST_PINS)
def deprecated_list_pins(call: Call, channel_id: ChannelId) -> list[Message]:
    """List a channel's most recent pinned messages on the old route."""
    channel_access = access.get_channel_standing(call, channel_id)
    if not rules.can_read_pins(channel_access):
        return []
    rows = store.list_newest(call.tx, channel_id, wire.DEPRECATED_ROUTE_PINS_MAX)
    return messages.views.messages(call, rows, guild_id=channel_access.channel.guild_id)


@handles(wire.CREATE_PIN)
def create_pin(call: Call, channel_id: ChannelId, message_id: MessageId) -> None:
    """Pin a message.

    In a guild the caller needs PIN_MESSAGES. Before 23 February 2026, MANAGE_MESSAGES is sufficient, too. In a
    private channel every recipient may pin messages.
    """
    rules.require_paginated_routes(call.now_ms)
    _pin(call, channel_id, message_id)


@handles(wire.DEPRECATED_CREATE_PIN)
def deprecated_create_pin(call: Call, channel_id: ChannelId, message_id: MessageId) -> None:
    """Pin a message on the old route.

    In a guild the caller needs PIN_MESSAGES. Before 23 February 2026, MANAGE_MESSAGES is sufficient, too. In a
    private channel every recipient may pin messages.
    """
    _pin(call, channel_id, message_id)


@handles(wire.DELETE_PIN)
def delete_pin(call: Call, channel_id: ChannelId, message_id: MessageId) -> None:
    """Unpin a message.

    In a guild the caller needs PIN_MESSAGES. Before 23 February 2026, MANAGE_MESSAGES is sufficient, too. In a
    private channel every recipient may unpin messages.
    """
    rules.require_paginated_routes(call.now_ms)
    _unpin(call, channel_id, message_id)


@handles(wire.DEPRECATED_DELETE_PIN)
def deprecated_delete_pin(call: Call, channel_id: ChannelId, message_id: MessageId) -> None:
    """Unpin a message on the old route.

    In a guild the caller needs PIN_MESSAGES. Before 23 February 2026, MANAGE_MESSAGES is sufficient, too. In a
    private channel every recipient may unpin messages.
    """
    _unpin(call, channel_id, message_id)


def _pin(call: Call, channel_id: ChannelId, message_id: MessageId) -> None:
    channel_access = access.get_channel_standing(call, channel_id)
    message = messages.history.get(call.tx, channel_id, message_id)
    rules.require_pin_permission(call, channel_access)
    rules.require_open(channel_access)
    rules.require_pinnable(message)
    actions.pin(call, channel_access.channel, message)


def _unpin(call: Call, channel_id: ChannelId, message_id: MessageId) -> None:
    channel_access = access.get_channel_standing(call, channel_id)
    message = messages.history.get(call.tx, channel_id, message_id)
    rules.require_pin_permission(call, channel_access)
    rules.require_open(channel_access)
    actions.unpin(call, channel_access.channel, message)

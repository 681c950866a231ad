"""HTTP handlers for read states and mentions. Only users have them; bots and OAuth2 sessions do not."""

from hubbub.protocol.ids import ChannelId, MessageId
from hubbub.protocol.resources import read_states as wire
from hubbub.protocol.resources.messages import Message
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.places.standing import access
from hubbub.server.talk.read_states import actions, mentions, store


@handles(wire.ACK_MESSAGE)
def ack_message(call: Call, channel_id: ChannelId, message_id: MessageId, body: wire.AckMessage) -> wire.AckResult:
    """Mark a channel as read up to a message."""
    channel_access = access.get_channel_standing(call, channel_id)
    actions.mark_read(call, {ChannelId(channel_access.channel.id): message_id}, allows_backward=body.manual is True)
    return wire.AckResult()


@handles(wire.ACK_BULK)
def ack_bulk(call: Call, body: wire.AckBulk) -> None:
    """Mark several channels as read.

    Channels outside the caller's guilds and private channels are ignored."""
    message_ids_by_channel = {read_state.channel_id: read_state.message_id for read_state in body.read_states}
    accessible_ids = store.filter_accessible(call.tx, call.user_id, message_ids_by_channel)
    actions.mark_read(
        call,
        {
            channel_id: message_id
            for channel_id, message_id in message_ids_by_channel.items()
            if channel_id in accessible_ids
        },
    )


@handles(wire.LIST_READ_STATES)
def list_read_states(call: Call) -> wire.ReadStates:
    """List the read states of the current user."""
    return wire.ReadStates(entries=mentions.list_read_states(call))


@handles(wire.LIST_MENTIONS)
def list_mentions(call: Call, query: wire.ListMentions) -> list[Message]:
    """List recent messages that mention the current user, newest first."""
    return mentions.list_mentions(call, query)

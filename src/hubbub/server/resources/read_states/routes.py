"""People's clients tell what was read; bots and games read nothing that anybody could mark."""

from hubbub.protocol.ids import ChannelId, MessageId
from hubbub.protocol.resources import read_states as wire
from hubbub.server.core import access
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.resources.read_states import actions, store


@handles(wire.ACK_MESSAGE)
def ack_message(call: Call, channel_id: ChannelId, message_id: MessageId, body: wire.AckMessage) -> wire.Acked:
    """Mark a channel as read up to a message."""
    here = access.channel(call, channel_id)
    actions.mark(call, {ChannelId(here.channel.id): message_id}, back=body.manual is True)
    return wire.Acked()


@handles(wire.ACK_BULK)
def ack_bulk(call: Call, body: wire.AckBulk) -> None:
    """Mark several; what the caller is not in stays as it is, without a word: a mark there would mark nothing."""
    asked = {each.channel_id: each.message_id for each in body.read_states}
    theirs = store.channels_among(call.tx, call.user_id, asked)
    actions.mark(call, {channel_id: each for channel_id, each in asked.items() if channel_id in theirs})

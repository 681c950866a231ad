"""HTTP handler for the typing indicator, which is published but not stored."""

from hubbub.protocol.ids import ChannelId
from hubbub.protocol.resources import typing as wire
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.places.standing import access
from hubbub.server.talk import messages
from hubbub.server.talk.typing import actions


@handles(wire.TRIGGER_TYPING_INDICATOR)
def trigger_typing_indicator(call: Call, channel_id: ChannelId) -> None:
    """Trigger the typing indicator in a channel.

    In a guild the caller needs SEND_MESSAGES, or SEND_MESSAGES_IN_THREADS in a thread.
    """
    channel_access = access.get_channel_standing(call, channel_id)
    messages.history.require_can_send(call, channel_access)
    actions.publish(call, channel_access)

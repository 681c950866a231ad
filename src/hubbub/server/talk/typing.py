"""HTTP handler for the typing indicator, which is published but not stored."""

import sys

from hubbub.protocol.ids import ChannelId
from hubbub.protocol.resources import typing as wire
from hubbub.server.core.call import Call
from hubbub.server.core.slices import Slice, handles
from hubbub.server.places import members
from hubbub.server.places.standing import access
from hubbub.server.talk import messages


@handles(wire.TRIGGER_TYPING_INDICATOR)
def trigger_typing_indicator(call: Call, channel_id: ChannelId) -> None:
    """Trigger the typing indicator in a channel.

    In a guild the caller needs SEND_MESSAGES, or SEND_MESSAGES_IN_THREADS in a thread.
    """
    channel_access = access.get_channel_standing(call, channel_id)
    messages.history.require_send(call, channel_access)
    payload = wire.TypingStarted(
        channel_id=channel_access.channel.id, user_id=call.user_id, timestamp=call.now_ms // 1000
    )
    if channel_access.guild is not None:
        payload.guild_id = channel_access.guild_id
        member = members.views.find_views(call.tx, channel_access.guild_id, [call.user_id]).get(call.user_id)
        if member is not None:
            payload.member = member
    call.tx.emit(wire.TYPING_START, payload, messages.audience(call, channel_access.channel))


SLICE = Slice(name="typing", modules=(sys.modules[__name__],))

__all__ = ["SLICE"]

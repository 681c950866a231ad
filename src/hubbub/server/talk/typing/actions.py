"""Publication of the typing indicator."""

from hubbub.protocol.resources import typing as wire
from hubbub.server.core.call import Call
from hubbub.server.places import members
from hubbub.server.places.standing import ChannelAccess
from hubbub.server.talk import messages


def publish(call: Call, channel_access: ChannelAccess) -> None:
    """Publish that the caller is typing in a channel."""
    payload = wire.TypingStarted(
        channel_id=channel_access.channel.id, user_id=call.user_id, timestamp=call.now_ms // 1000
    )
    if channel_access.guild is not None:
        payload.guild_id = channel_access.guild_id
        member = members.views.find_views(call.tx, channel_access.guild_id, [call.user_id]).get(call.user_id)
        if member is not None:
            payload.member = member
    call.tx.emit(wire.TYPING_START, payload, messages.audience(call, channel_access.channel))

"""Port of the members slice: moves between voice channels."""

from hubbub.protocol.ids import ChannelId
from hubbub.server.core.call import Call
from hubbub.server.core.ports import port


@port
def move_in_voice(call: Call, guild_id: int, user_id: int, channel_id: ChannelId | None) -> None:
    """Move a connected member to a voice channel; None disconnects the member. The caller must have checked the permissions."""

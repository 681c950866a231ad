"""Ports of the members slice: moves between voice channels, and members who sent messages."""

from collections.abc import Sequence

from hubbub.protocol.ids import ChannelId
from hubbub.server.core.call import Call
from hubbub.server.core.ports import port


@port
def move_in_voice(call: Call, guild_id: int, user_id: int, channel_id: ChannelId | None) -> None:
    """Move a connected member to a voice channel; None disconnects the member. The caller must have checked the permissions."""


@port
def find_active_author_ids(call: Call, guild_id: int, user_ids: Sequence[int], since_ms: int) -> set[int]:
    """Return the IDs of the given users who sent a message in a guild since `since_ms` (Unix milliseconds)."""

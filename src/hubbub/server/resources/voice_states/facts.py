"""What the voice states slice tells others, inside the transaction."""

import msgspec

from hubbub.protocol.ids import ChannelId, GuildId


class VoiceChannelChanged(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody came to a voice channel, left it, or speaks there or no longer does."""

    guild_id: GuildId
    channel_id: ChannelId

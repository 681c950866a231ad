"""What the voice states slice tells others, inside the transaction."""

import msgspec

from hubbub.protocol.ids import ChannelId, GuildId, UserId


class VoiceChannelChanged(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody came to a voice channel, left it, or speaks there or no longer does."""

    guild_id: GuildId
    channel_id: ChannelId


class SpeakerCame(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody came to a voice channel where they may speak, or may speak there from now on."""

    guild_id: GuildId
    channel_id: ChannelId
    user_id: UserId

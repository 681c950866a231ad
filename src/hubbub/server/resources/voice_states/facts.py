"""What the voice states slice tells others, inside the transaction."""

import msgspec

from hubbub.protocol.ids import ChannelId, GuildId, UserId
from hubbub.server.resources.voice_states.store import CallStateRow


class VoiceChannelChanged(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody came to a voice channel, left it, or speaks there or no longer does."""

    guild_id: GuildId
    channel_id: ChannelId


class SpeakerCame(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody came to a voice channel where they may speak, or may speak there from now on."""

    guild_id: GuildId
    channel_id: ChannelId
    user_id: UserId


class CallerLost(msgspec.Struct, frozen=True, kw_only=True):
    """The voice server has lost somebody who is in the call of a lobby or of a private channel, or refused them: they leave."""

    row: CallStateRow


class CallerDisplaced(msgspec.Struct, frozen=True, kw_only=True):
    """The voice server of such a call is gone: they are sent to another, or told to wait for one."""

    row: CallStateRow

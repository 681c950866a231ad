"""What the voice states slice tells others, inside the transaction."""

import msgspec

from hubbub.protocol.ids import ChannelId, GuildId, UserId
from hubbub.protocol.resources.voice_states import SetVoiceState
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


class WaitingForgotten(msgspec.Struct, frozen=True, kw_only=True):
    """The session of somebody is gone whose joins may be waiting: these servers refused them."""

    user_id: UserId
    server_ids: tuple[int, ...]


class CallerLeaves(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody has to leave the call of a lobby or of a private channel: their session is gone, the voice server
    lost or refused them, or they are somewhere else now."""

    row: CallStateRow


class CallerDisplaced(msgspec.Struct, frozen=True, kw_only=True):
    """The voice server of such a call is gone: they are sent to another, or told to wait for one."""

    row: CallStateRow


class PrivateVoiceAsked(msgspec.Struct, frozen=True, kw_only=True):
    """A person wants to be in the call of a private channel, or in no call at all."""

    body: SetVoiceState
    failed: tuple[int, ...]
    """What refused them lately, where a join of theirs may be waiting."""

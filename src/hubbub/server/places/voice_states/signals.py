"""Signals that the voice states slice sends inside the transaction."""

import msgspec

from hubbub.protocol.ids import ChannelId, GuildId, UserId
from hubbub.server.places.voice_states.store import VoiceCallParticipantRow


class VoiceChannelChanged(msgspec.Struct, frozen=True, kw_only=True):
    """A member joined or left a voice channel, or a voice state in it changed in any other way."""

    guild_id: GuildId
    channel_id: ChannelId


class SpeakerAdded(msgspec.Struct, frozen=True, kw_only=True):
    """A member joined a channel as a speaker, or became a speaker there."""

    guild_id: GuildId
    channel_id: ChannelId
    user_id: UserId


class PendingJoinsCanceled(msgspec.Struct, frozen=True, kw_only=True):
    """A session ended after voice connections of its user were rejected. Listeners cancel joins that are pending."""

    user_id: UserId
    server_ids: tuple[int, ...]
    """IDs of the guilds, lobbies and private channels whose voice server rejected the user."""


class ParticipantDisplaced(msgspec.Struct, frozen=True, kw_only=True):
    """A participant of a lobby call or private call needs another voice server, because its server was lost or shuts down."""

    row: VoiceCallParticipantRow

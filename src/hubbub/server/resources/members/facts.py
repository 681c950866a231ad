"""What the members slice tells others, inside the transaction."""

import msgspec

from hubbub.protocol.ids import ChannelId, GuildId, UserId


class MemberAdded(msgspec.Struct, frozen=True, kw_only=True):
    """A user joined a guild."""

    guild_id: GuildId
    user_id: UserId
    welcome: bool = True
    """Whether it is news: who is in a world from its beginning did not just come."""


class MemberRenamed(msgspec.Struct, frozen=True, kw_only=True):
    """A member has another nick, or none any more; the event is told."""

    guild_id: GuildId
    user_id: UserId


class MemberRemoved(msgspec.Struct, frozen=True, kw_only=True):
    """A user is no longer in a guild: what they had there (voice, threads) goes with them."""

    guild_id: GuildId
    user_id: UserId


class VoiceModerated(msgspec.Struct, frozen=True, kw_only=True):
    """A connected member was muted or deafened by the guild, or no longer is; the member's row holds both already."""

    guild_id: GuildId
    user_id: UserId
    mute: bool
    deaf: bool


class VoiceMoveRequested(msgspec.Struct, frozen=True, kw_only=True):
    """A connected member is to be moved to another voice channel, or disconnected; the mover's right was checked."""

    guild_id: GuildId
    user_id: UserId
    channel_id: ChannelId | None
    """None disconnects."""

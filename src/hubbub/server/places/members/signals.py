"""Signals that the members slice sends inside the transaction."""

import msgspec

from hubbub.protocol.ids import GuildId, UserId


class MemberAdded(msgspec.Struct, frozen=True, kw_only=True):
    """A user joined a guild."""

    guild_id: GuildId
    user_id: UserId
    is_announced: bool = True
    """Whether a join message is posted; False for example for the initial members of a world."""


class MemberRenamed(msgspec.Struct, frozen=True, kw_only=True):
    """A member's nickname was set or removed; the update is already published."""

    guild_id: GuildId
    user_id: UserId


class MemberRemoved(msgspec.Struct, frozen=True, kw_only=True):
    """A user left a guild or was removed from it. Listeners remove the user's other state in the guild."""

    guild_id: GuildId
    user_id: UserId


class VoiceModerated(msgspec.Struct, frozen=True, kw_only=True):
    """A moderator changed the mute or deafening of a member, who need not be connected to voice.

    The member's row is already updated."""

    guild_id: GuildId
    user_id: UserId
    mute: bool
    deaf: bool

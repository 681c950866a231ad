"""Signals that the bans slice sends inside the transaction."""

import msgspec

from hubbub.protocol.ids import GuildId, UserId


class UserBanned(msgspec.Struct, frozen=True, kw_only=True):
    """A user, member or not, was banned from a guild, or a ban was requested for a user who is already banned.

    Listeners delete the user's recent messages."""

    guild_id: GuildId
    user_id: UserId
    delete_message_seconds: int
    """Age limit of the messages to delete, in seconds. 0 deletes none."""

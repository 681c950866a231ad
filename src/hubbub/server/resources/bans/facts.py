"""What the bans slice tells upper floors, inside the transaction."""

import msgspec

from hubbub.protocol.ids import GuildId, UserId


class MemberBanned(msgspec.Struct, frozen=True, kw_only=True):
    """A user, member or not, was banned from a guild: what they said there lately may go with them."""

    guild_id: GuildId
    user_id: UserId
    delete_message_seconds: int
    """How far back; 0 keeps everything."""

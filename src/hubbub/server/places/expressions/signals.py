"""Signals that the expressions slice sends inside the transaction."""

import msgspec

from hubbub.protocol.ids import EmojiId, GuildId


class EmojiDeleted(msgspec.Struct, frozen=True):
    """A guild emoji was deleted. Listeners clear their references to it."""

    guild_id: GuildId
    emoji_id: EmojiId

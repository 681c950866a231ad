"""What the emojis slice tells others, inside the transaction."""

import msgspec

from hubbub.protocol.ids import EmojiId, GuildId


class EmojiDeleted(msgspec.Struct, frozen=True):
    """An emoji of a guild is gone: what shows it beside its name shows none."""

    guild_id: GuildId
    emoji_id: EmojiId

"""Custom emojis of guilds and applications, and recognition of Unicode emojis."""

from hubbub.server.core import cdn_urls
from hubbub.server.core.store import Tx
from hubbub.server.places.expressions.emojis.rules import require_usable_emoji
from hubbub.server.places.expressions.emojis.unicode import VARIATION_SELECTOR, is_unicode_emoji
from hubbub.server.places.expressions.kinds import EMOJIS
from hubbub.server.places.expressions.views import partial_emoji as partial

find = EMOJIS.table.find
list_guild_emojis = EMOJIS.list_guild_expressions


def find_file(tx: Tx, emoji_id: int) -> str | None:
    """Return the storage key of the image of an emoji, or None."""
    row = find(tx, emoji_id)
    return None if row is None else cdn_urls.image_key(row.image)


__all__ = [
    "VARIATION_SELECTOR",
    "find",
    "find_file",
    "is_unicode_emoji",
    "list_guild_emojis",
    "partial",
    "require_usable_emoji",
]

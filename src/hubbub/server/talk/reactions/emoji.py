"""Parse the emoji in a reaction path: a Unicode emoji, or `name:id` of a custom emoji."""

import re
from typing import Final, NamedTuple

from hubbub.protocol import errors
from hubbub.protocol.ids import WIDE_MAX, EmojiId
from hubbub.server.places.expressions import emojis

# Libraries write an animated emoji as `a:name:id`.
_CUSTOM_EMOJI_PATTERN: Final = re.compile(r"(?:a:)?(?P<name>\w{1,32}):(?P<id>\d{1,19})", re.ASCII)


class ReactionEmoji(NamedTuple):
    """An emoji with the key by which its reactions are counted."""

    key: str
    """The ID of a custom emoji, otherwise the text without variation selectors.

    All spellings of an emoji have the same key."""
    name: str
    """The emoji's name or text as the client wrote it."""
    id: EmojiId | None = None


def parse(text: str) -> ReactionEmoji:
    """Parse the emoji of a path.

    Raise UNKNOWN_EMOJI if the text is not an emoji."""
    match = _CUSTOM_EMOJI_PATTERN.fullmatch(text)
    if match is not None and int(match["id"]) <= WIDE_MAX:
        emoji_id = EmojiId(int(match["id"]))
        return ReactionEmoji(str(int(emoji_id)), match["name"], emoji_id)
    if not emojis.is_unicode_emoji(text):
        raise errors.UNKNOWN_EMOJI()
    return ReactionEmoji(text.replace(emojis.VARIATION_SELECTOR, ""), text)

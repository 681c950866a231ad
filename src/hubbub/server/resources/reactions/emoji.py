"""What a path says of an emoji: a unicode emoji, or `name:id` of a custom one."""

import re
from typing import Final, NamedTuple

from hubbub.protocol import errors
from hubbub.protocol.ids import MAX_WIDE, EmojiId
from hubbub.server.resources.emojis import VARIATION, is_unicode

# Libraries write an animated one as `a:name:id`.
_CUSTOM: Final = re.compile(r"(?:a:)?(?P<name>\w{1,32}):(?P<id>\d{1,19})", re.ASCII)


class EmojiKey(NamedTuple):
    """An emoji as a reaction is counted by it."""

    key: str
    """The same for every spelling: the id of a custom emoji, else the text without variation selectors."""
    name: str
    """As it was written."""
    id: EmojiId | None = None


def read(text: str) -> EmojiKey:
    """The emoji a path names; UNKNOWN_EMOJI for what is none."""
    custom = _CUSTOM.fullmatch(text)
    if custom is not None and int(custom["id"]) <= MAX_WIDE:
        emoji_id = EmojiId(int(custom["id"]))
        return EmojiKey(str(int(emoji_id)), custom["name"], emoji_id)
    if not is_unicode(text):
        raise errors.UNKNOWN_EMOJI()
    return EmojiKey(text.replace(VARIATION, ""), text)

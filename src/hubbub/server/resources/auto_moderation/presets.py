"""The words of KEYWORD_PRESET rules: short lists of our own, mild on purpose. A guild adds its own words with a KEYWORD rule."""

from collections.abc import Iterable
from typing import Final

from hubbub.protocol.enums import AutoModerationKeywordPresetType

PROFANITY: Final = (
    "arse",
    "arsehole*",
    "bastard*",
    "bloody hell",
    "bollocks",
    "bugger off",
    "bullcrap",
    "crap",
    "crappy",
    "damn",
    "damned",
    "dammit",
    "goddamn*",
    "piss off",
    "pissed off",
    "shite",
    "wanker*",
)

SEXUAL_CONTENT: Final = (
    "erotic*",
    "hentai",
    "naked pic*",
    "naughty pic*",
    "nsfw pic*",
    "nude pic*",
    "nudes",
    "onlyfans",
    "porn*",
    "send nudes",
    "sexting",
    "striptease*",
    "xxx",
)

SLURS: Final = (
    "dirty foreigner*",
    "half-breed*",
    "halfbreed*",
    "inferior race*",
    "race traitor*",
    "savages like you",
    "subhuman*",
    "untermensch*",
)

WORDS: Final = {
    AutoModerationKeywordPresetType.PROFANITY: PROFANITY,
    AutoModerationKeywordPresetType.SEXUAL_CONTENT: SEXUAL_CONTENT,
    AutoModerationKeywordPresetType.SLURS: SLURS,
}


def words(presets: Iterable[int]) -> tuple[str, ...]:
    """The words of some lists; a list nobody knows has none."""
    return tuple(word for kind, listed in WORDS.items() if kind in presets for word in listed)

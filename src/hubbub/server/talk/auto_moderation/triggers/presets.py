"""Keyword lists of KEYWORD_PRESET rules: common English words, extended by the operator (`auto_moderation` settings).

A star at the start or end of an entry is a wildcard. It is used only where it matches no harmless words: `*fuck*`, but
`shit*` because of "Matsushita". A star inside an entry is a literal character, for censored spellings such as `f*ck`.
"""

from collections.abc import Iterable
from typing import Final

from hubbub.protocol.enums import AutoModerationKeywordPresetType
from hubbub.server.core.config_sections import AutoModerationConfig

_PROFANITY: Final = AutoModerationKeywordPresetType.PROFANITY
_SEXUAL_CONTENT: Final = AutoModerationKeywordPresetType.SEXUAL_CONTENT
_SLURS: Final = AutoModerationKeywordPresetType.SLURS

PROFANITY_KEYWORDS: Final = (
    "*fuck*",
    "a**hole*",
    "apeshit",
    "arse",
    "arsed",
    "arsehole*",
    "arses",
    "ass",
    "asses",
    "asshat*",
    "asshole*",
    "b1tch*",
    "bastard*",
    "batshit*",
    "bellend*",
    "beyotch",
    "biatch",
    "bitch*",
    "bloody hell",
    "bollock*",
    "bugger",
    "buggers",
    "bullcrap",
    "bulls**t",
    "bullshit*",
    "chickenshit*",
    "cocksuck*",
    "crap",
    "crappy",
    "cunt*",
    "dammit",
    "damn",
    "damned",
    "damnit",
    "dickhead*",
    "dickwad*",
    "dickweed*",
    "dipshit*",
    "douchebag*",
    "dumbass*",
    "f**k",
    "f*ck",
    "fatass*",
    "fck",
    "fcked",
    "fcking",
    "fuk",
    "fukin",
    "fuking",
    "fvck*",
    "goddam",
    "goddamn*",
    "horseshit*",
    "jackass*",
    "jerk off",
    "jerkoff*",
    "knobhead*",
    "lardass*",
    "motherf*cker",
    "phuck*",
    "piss",
    "pissed",
    "pisses",
    "pisshead*",
    "pissing",
    "sh*t",
    "sh1t*",
    "shit*",
    "slut",
    "sluts",
    "slutty",
    "smartass*",
    "son of a bitch",
    "stfu",
    "tosser*",
    "twat",
    "twats",
    "wank",
    "wanked",
    "wanker*",
    "wanking",
    "wanks",
    "whore*",
)

SEXUAL_CONTENT_KEYWORDS: Final = (
    "blow job*",
    "blowjob*",
    "boobs",
    "camgirl*",
    "cumshot*",
    "deepthroat*",
    "dick pic*",
    "dildo*",
    "erotic*",
    "gangbang*",
    "hand job*",
    "handjob*",
    "hentai",
    "horny",
    "jizz*",
    "masturbat*",
    "milf",
    "milfs",
    "naked pic*",
    "naughty pic*",
    "nsfw pic*",
    "nude pic*",
    "nudes",
    "onlyfans",
    "porn*",
    "rimjob*",
    "send nudes",
    "sexting",
    "striptease*",
    "threesome*",
    "tits",
    "titties",
    "xxx",
)

# A short list only, because slurs depend on region and language; operators supply the rest (decisions/0024).
SLUR_KEYWORDS: Final = (
    "dirty foreigner*",
    "half-breed*",
    "halfbreed*",
    "inferior race*",
    "race traitor*",
    "savages like you",
    "subhuman*",
    "untermensch*",
)

PRESET_KEYWORDS: Final = {
    _PROFANITY: PROFANITY_KEYWORDS,
    _SEXUAL_CONTENT: SEXUAL_CONTENT_KEYWORDS,
    _SLURS: SLUR_KEYWORDS,
}


def list_keywords(presets: Iterable[int], config: AutoModerationConfig) -> tuple[str, ...]:
    """Return the keywords of presets, including those that the operator added in `config`."""
    operator_keywords = {_PROFANITY: config.profanity, _SEXUAL_CONTENT: config.sexual_content, _SLURS: config.slurs}
    return tuple(
        keyword
        for preset, preset_keywords in PRESET_KEYWORDS.items()
        if preset in presets
        for keyword in (*preset_keywords, *operator_keywords[preset])
    )

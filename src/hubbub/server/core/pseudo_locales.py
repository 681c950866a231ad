"""Pseudo-locales of rehearsals, which make texts without a translation and layout errors visible.

`en-XA` has accents and longer texts; `ar-XB` is written from right to left. They are generated from the English messages. A browser
selects them with Accept-Language, even if the user chose another language.
"""

import re
from typing import Final

from hubbub.server.core import translation
from hubbub.server.core.translation import Direction, Language, Translations

ACCENTED: Final = "en-XA"
RIGHT_TO_LEFT: Final = "ar-XB"

_DIRECTIONS: Final[dict[str, Direction]] = {ACCENTED: "ltr", RIGHT_TO_LEFT: "rtl"}
_UNTRANSLATED_PATTERN: Final = re.compile(r"(\{\w+\}|%\(\w+\)s|%%|</?\w+[^>]*>|&\w+;)")
"""Parts of a message that a translation contains unchanged."""
_ACCENTS: Final = str.maketrans("AEIOUYCDGNSTaeiouycdgnst", "ÅÉÎÖÛÝÇÐĜÑŠŢåéîöûýçðĝñšţ")
_EXTRA_LENGTH_FRACTION: Final = 0.3
"""Added length as a fraction of the length of the text."""


def find_language(accept_language: str) -> Language | None:
    """Return the pseudo-locale that a browser requests first, or None; register its translations on first use."""
    tag = accept_language.partition(",")[0].partition(";")[0].strip()
    if tag not in _DIRECTIONS:
        return None
    if not translation.has_translations(tag):
        translation.register(tag, _build_translations(tag))
    return Language(tag, tag, _DIRECTIONS[tag])


def transform(tag: str, text: str) -> str:
    """Return the text of a pseudo-locale for an English text."""
    parts = _UNTRANSLATED_PATTERN.split(text)
    if tag == RIGHT_TO_LEFT:
        # The first mark sets the direction of the text to right to left; each word is enclosed in a right-to-left override.
        marked_parts = (
            re.sub(r"\S+", "\u202e\\g<0>\u202c", part) if index % 2 == 0 else part for index, part in enumerate(parts)
        )
        return "\u200f" + "".join(marked_parts)
    accented_text = "".join(part.translate(_ACCENTS) if index % 2 == 0 else part for index, part in enumerate(parts))
    return f"[{accented_text}{'·' * round(len(text) * _EXTRA_LENGTH_FRACTION)}]"


def _build_translations(tag: str) -> Translations:
    from babel import Locale
    from babel.messages import Catalog
    from babel.messages.pofile import read_po

    locale = Locale(tag.partition("-")[0])
    catalog = Catalog(locale=locale)
    with translation.TEMPLATE.open("rb") as file:
        for message in read_po(file):
            if isinstance(message.id, str):
                translated_forms: str | tuple[str, ...] = transform(tag, message.id)
            else:
                singular, plural = (transform(tag, form) for form in message.id)
                forms = [plural] * catalog.num_plurals
                # The form for the number one is the second in Arabic and the first in English.
                forms[1 if tag == RIGHT_TO_LEFT else 0] = singular
                translated_forms = tuple(forms)
            if message.id:
                catalog.add(message.id, translated_forms, message.locations)
    return Translations(catalog, locale, _DIRECTIONS[tag])

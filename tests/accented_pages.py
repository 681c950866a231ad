"""Pages in the pseudo-locale with accents: search for texts that are not translated, and conversion back to English.

The pseudo-locale replaces most letters of a text, so that every English word of more than one letter loses one.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from html.parser import HTMLParser
from typing import Any, Final
from urllib.parse import parse_qsl

from hubbub.server.core import pseudo_locales

TEXT_ATTRIBUTES: Final = (
    "alt", "aria-description", "aria-label", "data-copied", "data-passkey", "data-selected", "placeholder", "title",
)  # fmt: skip
"""Attributes whose values users see, hear or get from a script."""
UNTRANSLATED_ELEMENTS: Final = ("code", "kbd", "noscript", "pre", "samp", "script", "style", "time")
"""Elements with code or a date. Elements that declare their language, such as entries of a log, are not translated either."""
VOID_ELEMENTS: Final = (
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr",
)  # fmt: skip
"""Elements without content and end tag."""
TYPED_FIELDS: Final = (
    "art_name", "audit_reason", "clients", "comment", "content", "deletion_reason", "description", "email", "emoji_name",
    "filename", "global_name", "guild_name", "message", "name", "note", "oidc_issuer_url", "query", "reason", "tags",
    "test_username", "text", "title", "url_map", "username",
)  # fmt: skip
"""Fields of forms and JSON bodies whose values are texts of users."""
PROPER_NAMES: Final = (
    *("Hubbub", "Gateway", "KiB", "MiB", "GiB", "ms", "https://"),
    *("Apple", "Epic Online Services", "OpenID Connect", "PlayStation Network", "Steam", "Unity"),
    *("Text Channels", "Voice Channels", "General", "general", "Server notices"),
)
"""Names of products, protocols, units and providers, and the initial names of channels, which are data of their guild."""
TEST_NAMES: Final = ("Game", "Guild", "Orchard", "Own", "Work", "ann", "responder", "greet")
"""Names that helpers of tests give without a request."""

_LETTERS: Final = "".join(
    letter
    for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    if pseudo_locales.transform(pseudo_locales.ACCENTED, letter)[1] != letter
)
"""The letters that the pseudo-locale replaces."""
_UNACCENTED: Final = {ord(pseudo_locales.transform(pseudo_locales.ACCENTED, letter)[1]): letter for letter in _LETTERS}
_PLAIN_WORD_PATTERN: Final = re.compile(rf"(?<!\w)(?=[A-Za-z]*[{_LETTERS}])(?=[A-Z]*[a-z])[A-Za-z]{{2,}}(?!\w)")
"""A word of several letters that is in English. Words in uppercase are codes."""
_IDENTIFIER_PATTERN: Final = re.compile(r"\{\w+\}|[\w@:/-]*(?:[._:/@+-]|\d)[\w{}][^\s\[\]]*|\w*[\d_]\w*")
"""A URL, host, email address, wire name, or software with its version."""
_QUOTE_PATTERN: Final = re.compile(r"“[^”]*”")
"""A value that a text quotes."""
_PARAMETER_PATTERN: Final = re.compile(r"^\w+(?=: \[)")
"""The name of a parameter or of a scope before its description."""
_DATE_PATTERN: Final = re.compile(r"[A-Z][a-z]+ \d{1,2}, \d{4}")
"""A date. The pseudo-locale formats dates as English does."""
_MARK_PATTERN: Final = re.compile(r"\[|·*\]")


def find_plain_texts(texts: Iterable[str], names: Collection[str] = ()) -> list[str]:
    """Return the texts with a word that is not translated. `names` are parts of texts that are the same in all languages."""
    ignored_names = {" ".join(name.split()) for name in (*names, *PROPER_NAMES)}
    alternatives = "|".join(re.escape(name) for name in sorted(ignored_names - {""}, key=len, reverse=True))
    ignored_pattern = re.compile(rf"(?<![\w.])(?:{alternatives})(?!\.?\w)")
    plain_texts = {}
    for text in texts:
        rest = " ".join(text.split())
        for pattern in (_PARAMETER_PATTERN, ignored_pattern, _QUOTE_PATTERN, _DATE_PATTERN, _IDENTIFIER_PATTERN):
            rest = pattern.sub("", rest)
        if _PLAIN_WORD_PATTERN.search(rest):
            plain_texts[" ".join(text.split())] = None
    return list(plain_texts)


class _TextParser(HTMLParser):
    """Parser that collects the texts of a page that users read."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self._skipped_depth = 0
        """Number of open elements from the outermost one that is not translated; 0 outside of such an element."""

    def handle_starttag(self, tag: str, attributes: Any) -> None:
        values = dict(attributes)
        is_untranslated = (
            tag in UNTRANSLATED_ELEMENTS
            or ("lang" in values and tag != "html")
            or "avatar" in values.get("class", "").split()
        )
        if tag not in VOID_ELEMENTS and (self._skipped_depth or is_untranslated):
            self._skipped_depth += 1
        if not self._skipped_depth:
            self.texts += [values[name] for name in TEXT_ATTRIBUTES if values.get(name)]

    def handle_endtag(self, tag: str) -> None:
        if self._skipped_depth and tag not in VOID_ELEMENTS:
            self._skipped_depth -= 1

    def handle_data(self, data: str) -> None:
        if not self._skipped_depth and data.strip():
            self.texts.append(data)


def read_texts(html: str) -> list[str]:
    """Return the texts and the text attributes of a page, without code and dates."""
    parser = _TextParser()
    parser.feed(html)
    return parser.texts


def restore_english(text: str) -> str:
    """Return a text of the pseudo-locale in English, without accents, brackets and added length."""
    open_positions: list[int] = []
    marks: list[tuple[int, int]] = []
    for mark in _MARK_PATTERN.finditer(text):
        if mark[0] == "[":
            open_positions.append(mark.start())
        elif open_positions:
            start = open_positions.pop()
            # Brackets without added length belong to the text, such as those of JSON.
            if mark[0] != "]":
                marks += [(start, start + 1), mark.span()]
    parts, position = [], 0
    for start, end in sorted(marks):
        parts.append(text[position:start])
        position = end
    return "".join([*parts, text[position:]]).translate(_UNACCENTED)


def list_typed_texts(value: Any) -> Iterator[str]:
    """Yield the texts of users in a JSON body."""
    if isinstance(value, dict):
        for key, entry in value.items():
            entries = entry if isinstance(entry, list) else [entry]
            for item in entries:
                if isinstance(item, str) and key in TYPED_FIELDS:
                    yield item
                else:
                    yield from list_typed_texts(item)
    elif isinstance(value, list):
        for entry in value:
            yield from list_typed_texts(entry)


class AccentedPages:
    """The pages of a test in the pseudo-locale, which the test reads in English, and their texts that are not translated."""

    def __init__(self) -> None:
        self.names: set[str] = {*TEST_NAMES}
        """Texts of users, which are the same in all languages."""
        self.plain_texts: dict[str, list[str]] = {}
        """The texts that are not translated, by method and path of the page."""

    def add_form(self, encoded_fields: str) -> None:
        """Keep the texts of a submitted form, or of a query."""
        self.names.update(value.strip() for name, value in parse_qsl(encoded_fields) if name in TYPED_FIELDS)

    def read_page(self, name: str, html: str) -> str:
        """Return the page in English, and keep its texts that are not translated."""
        plain_texts = find_plain_texts(read_texts(html), self.names)
        if plain_texts:
            self.plain_texts[name] = plain_texts
        return restore_english(html)

"""Languages of pages, mail and the chat client: catalogues, the language of the current request, and formats (decisions/0136).

The English text is the key of a message. `gettext` and `ngettext` translate to the language of the current context.
Babel is imported on first use of another language, because its import takes longer than rendering a page.
"""

import contextlib
import functools
import gettext as gettext_module
import re
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from hubbub.protocol.enums import LOCALES

if TYPE_CHECKING:
    from babel import Locale
    from babel.messages import Catalog

FOLDER: Final = Path(__file__).parent.parent / "translations"
"""Folder with one folder per language, named by its BCP 47 tag, and the template of all messages."""
DOMAIN: Final = "hubbub"
"""Name of the message files without suffix."""
TEMPLATE: Final = FOLDER / f"{DOMAIN}.pot"
"""File with all messages in English."""
SOURCE_LANGUAGE: Final = "en"
"""Language of the messages in the code, which has no catalogue."""

_ENGLISH_MONTHS: Final = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip

_PLACEHOLDER_PATTERN: Final = re.compile(r"\{(\w+)\}")

Direction = Literal["ltr", "rtl"]


@dataclass(frozen=True, slots=True)
class Language:
    """A language of the interface, with the region if it is known."""

    tag: str
    """BCP 47 tag of pages, such as `de` or `es-419`."""
    catalog: str | None
    """Name of the catalogue; None for English."""
    direction: Direction = "ltr"


ENGLISH: Final = Language(SOURCE_LANGUAGE, None)


class Translations:
    """The messages of one language, which are all in memory."""

    def __init__(self, catalog: "Catalog", locale: "Locale", direction: Direction) -> None:
        self.locale: Final = locale
        self.direction: Final = direction
        self._texts: Final[dict[str, str]] = {}
        self._plurals: Final[dict[str, tuple[str, ...]]] = {}
        self._client_ids: Final[set[str]] = set()
        self._plural_index: Final[Callable[[int], int]] = gettext_module.c2py(catalog.plural_expr)
        for message in catalog:
            if not message.id or message.fuzzy or not message.string:
                continue
            if isinstance(message.id, str):
                key = message.id
                self._texts[key] = str(message.string)
            else:
                key, forms = message.id[0], tuple(message.string)
                if not all(forms):
                    continue
                self._texts[key], self._plurals[key] = forms[self._plural_index(1)], forms
            if any(path.endswith(".js") for path, _ in message.locations):
                self._client_ids.add(key)

    def gettext(self, text: str) -> str:
        """Return the translation of a text, or the text itself."""
        return self._texts.get(text, text)

    def ngettext(self, singular: str, plural: str, count: int) -> str:
        """Return the translation of a text for a count, or the English text."""
        forms = self._plurals.get(singular)
        if forms is None:
            return singular if count == 1 else plural
        return forms[self._plural_index(count)]

    def client_messages(self) -> dict[str, str | dict[str, str]]:
        """Return the messages that the chat client uses; messages with a count as texts by plural category of CLDR."""
        # The first count of each category selects the form of the catalogue. The category `many` of Spanish needs a million.
        counts_by_category: dict[str, int] = {}
        for count in (*range(200), 1_000_000):
            counts_by_category.setdefault(self.locale.plural_form(count), count)
        return {
            key: {
                category: self._plurals[key][self._plural_index(count)]
                for category, count in counts_by_category.items()
            }
            if key in self._plurals
            else self._texts[key]
            for key in sorted(self._client_ids)
        }


# Catalogues


@functools.cache
def list_translations() -> tuple[str, ...]:
    """Return the names of all catalogues."""
    return tuple(sorted(path.parent.name for path in FOLDER.glob(f"*/{DOMAIN}.po")))


_translations_by_name: Final[dict[str, Translations]] = {}


def is_loaded(language: Language) -> bool:
    """Return whether the catalogue of a language is in memory."""
    return language.catalog is None or language.catalog in _translations_by_name


def has_translations(name: str) -> bool:
    """Return whether there is a catalogue of this name."""
    return name in list_translations() or name in _translations_by_name


def load(language: Language) -> None:
    """Read the catalogue of a language into memory, if it has one."""
    if language.catalog is not None:
        load_translations(language.catalog)


def register(name: str, translations: Translations) -> None:
    """Add a catalogue that is not read from a file."""
    _translations_by_name[name] = translations


def load_translations(name: str) -> Translations:
    """Return the catalogue of this name, read on first use."""
    translations = _translations_by_name.get(name)
    if translations is None:
        from babel import Locale
        from babel.messages.pofile import read_po

        locale = Locale.parse(name, sep="-")
        with (FOLDER / name / f"{DOMAIN}.po").open("rb") as file:
            catalog = read_po(file, locale=locale)
        translations = _translations_by_name[name] = Translations(
            catalog, locale, "rtl" if locale.text_direction == "rtl" else "ltr"
        )
    return translations


# Selection


def find_language(tag: str) -> Language | None:
    """Return the language of a locale of a user or guild; None if the interface is not translated to it."""
    if tag.partition("-")[0] == SOURCE_LANGUAGE:
        # Accounts have en-US unless their user chose another locale; browsers know the region.
        return ENGLISH if tag == "en-US" else Language(tag, None)
    for name in (tag, tag.partition("-")[0]):
        if name in list_translations():
            return _new_language(tag, name)
    return None


def negotiate_language(accept_language: str) -> Language | None:
    """Return the language for the value of an Accept-Language header; None if it contains no language of the interface."""
    preferred_tags = _parse_accept_language(accept_language)
    if not preferred_tags:
        return None
    if preferred_tags[0].partition("-")[0].lower() == SOURCE_LANGUAGE:
        return ENGLISH
    from babel import negotiate_locale

    name = negotiate_locale(preferred_tags, [SOURCE_LANGUAGE, *list_translations()], sep="-")
    if name is None or name == SOURCE_LANGUAGE:
        return ENGLISH if name else None
    return _new_language(name, name)


def find_user_locale(language: Language) -> str | None:
    """Return the locale of users for a translated language; None for English, which is their default."""
    if language.catalog is None:
        return None
    if language.tag in LOCALES:
        return language.tag
    # `max` selects Spanish of Spain, because es-ES sorts after es-419.
    return max((locale for locale in LOCALES if locale.partition("-")[0] == language.catalog), default=None)


def _new_language(tag: str, name: str) -> Language:
    from babel import Locale

    return Language(tag, name, "rtl" if Locale.parse(name, sep="-").text_direction == "rtl" else "ltr")


def _parse_accept_language(accept_language: str) -> list[str]:
    """Return the language tags of an Accept-Language header, the preferred ones first."""
    weighted_tags: list[tuple[float, str]] = []
    for language_range in accept_language[:1000].split(","):
        tag, _, parameter = language_range.strip().partition(";")
        try:
            weight = float(parameter.strip().removeprefix("q=") or 1)
        except ValueError:
            weight = 0.0
        if weight > 0 and tag.strip().replace("-", "").isalnum():
            weighted_tags.append((weight, tag.strip()))
    return [tag for _, tag in sorted(weighted_tags, key=lambda pair: -pair[0])]


# The language of the current context

_current_language: Final[ContextVar[Language]] = ContextVar("language", default=ENGLISH)


def current_language() -> Language:
    """Return the language of the current context; by default it is English."""
    return _current_language.get()


def set_language(language: Language) -> None:
    """Set the language of the current context, such as the task of a request."""
    _current_language.set(language)


@contextlib.contextmanager
def use_language(language: Language) -> Iterator[None]:
    """Set the language of a block."""
    token = _current_language.set(language)
    try:
        yield
    finally:
        _current_language.reset(token)


def gettext(text: str, /, **values: str | int) -> str:
    """Return the translation of a text. `values` replace placeholders in braces, as in the texts of the chat client."""
    name = _current_language.get().catalog
    translated_text = text if name is None else load_translations(name).gettext(text)
    return _fill_placeholders(translated_text, values) if values else translated_text


def ngettext(singular: str, plural: str, count: int, /, **values: str | int) -> str:
    """Return the translation of a text for a count, which replaces the placeholder `{count}`."""
    name = _current_language.get().catalog
    if name is None:
        translated_text = singular if count == 1 else plural
    else:
        translated_text = load_translations(name).ngettext(singular, plural, count)
    return (
        _fill_placeholders(translated_text, {"count": format_number(count), **values})
        if "{" in translated_text
        else translated_text
    )


def _fill_placeholders(text: str, values: Mapping[str, str | int]) -> str:
    return _PLACEHOLDER_PATTERN.sub(lambda match: str(values.get(match[1], match[0])), text)


def gettext_noop(text: str) -> str:
    """Return the text. Marks a text of a constant for the extraction; `gettext` translates it where it is shown."""
    return text


# Formats


def format_time(time: datetime) -> str:
    """Format a time in UTC with the date; pages and mail do not know the time zone of the user."""
    language = _current_language.get()
    if language.catalog is None:
        return f"{format_date(time)}, {time:%H:%M} UTC"
    from babel import dates

    return f"{format_date(time)}, {dates.format_time(time, 'short', locale=_formats_locale(language))} UTC"


def format_date(time: datetime) -> str:
    """Format the date of a time in UTC."""
    language = _current_language.get()
    if language.catalog is None:
        return f"{time.day} {_ENGLISH_MONTHS[time.month - 1]} {time.year}"
    from babel import dates

    return dates.format_date(time, "long", _formats_locale(language))


def format_number(value: float) -> str:
    """Format a number with the separators of the language."""
    language = _current_language.get()
    if language.catalog is None:
        return f"{value:,}"
    from babel import numbers

    return numbers.format_decimal(value, locale=_formats_locale(language))


def format_decimal(amount: int, digits: int, *, has_separators: bool = True) -> str:
    """Format an amount that is given in units of the last of `digits` decimal places, such as a price in cents.

    `has_separators` separates thousands."""
    language = _current_language.get()
    value = Decimal(amount).scaleb(-digits)
    if language.catalog is None:
        return f"{value:{',' if has_separators else ''}.{digits}f}"
    from babel import numbers

    pattern = ("#,##0" if has_separators else "0") + ("." + "0" * digits if digits else "")
    return numbers.format_decimal(value, format=pattern, locale=_formats_locale(language))


@functools.cache
def _formats_locale(language: Language) -> "Locale":
    """Return the locale of dates and numbers: with the region if Babel knows it, else of the catalogue."""
    from babel import Locale, UnknownLocaleError

    assert language.catalog is not None
    try:
        return Locale.parse(language.tag, sep="-")
    except (UnknownLocaleError, ValueError):
        return load_translations(language.catalog).locale


def template_functions() -> Mapping[str, Any]:
    """Return the functions for templates, as arguments of the method of a Jinja environment that installs them."""
    return {"gettext": gettext, "ngettext": ngettext, "newstyle": True}

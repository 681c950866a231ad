"""Full-text search in the reference: an entry matches when it contains all query words or their synonyms."""

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from hubbub.protocol import changes
from hubbub.server.transports.docstrings import CHANGES_PATH, parse_docstring, plain_text, summary
from hubbub.server.transports.web.reference.catalogue import EVENTS_PATH, OBJECTS_PATH, RESOURCES_PATH, Catalogue
from hubbub.server.transports.web.reference.search_words import (
    KEYWORDS,
    OPTIONAL_WORDS,
    STOP_WORDS,
    SYNONYM_STEMS,
    list_stems,
    replace_phrases,
    stem,
)

QUERY_MAX: Final = 100
"""Maximum length of a query in characters; the rest is ignored."""
WORDS_MAX: Final = 8
RESULTS_MAX: Final = 60

KIND_DISTANCES: Final = {
    "operation": 0.0,
    "resource": 1.0,
    "object": 1.5,
    "event": 1.6,
    "error": 1.7,
    "enum": 1.8,
    "flags": 1.8,
    "value": 2.0,
    "change": 2.2,
}
"""Distance of each kind of entry from any query; entries with a smaller distance come first."""

# Distances of a query word from an entry, by where the entry contains it: as a keyword, as a synonym in the name, as a
# synonym among the keywords, in the text, as the start of a word of the name, as a part of any word, or nowhere
# (optional words only).
_KEYWORD_DISTANCE: Final = 0.2
_SYNONYM_DISTANCE: Final = 0.25
_SYNONYM_KEYWORD_DISTANCE: Final = 0.45
_TEXT_DISTANCE: Final = 0.6
_PREFIX_DISTANCE: Final = 0.7
_PART_DISTANCE: Final = 3.0
_MISSING_DISTANCE: Final = 1.0
_PREFIX_LENGTH_MIN: Final = 3
"""Minimum length in characters of a query word that is compared with the starts of words."""

_OTHER_SUBJECT_DISTANCE: Final = 0.8
"""Additional distance of an entry whose `subject` is not in the query: `list_guild_roles` for "list guilds"."""
_EXTRA_WORD_DISTANCE: Final = 0.5
"""Additional distance of an entry for each word of its name that is not in the query."""
_WEAK_WORD_DISTANCES: Final = {"my": 0.05, "guild": 0.1, "application": 0.1, "creat": 0.15, "list": 0.2, "get": 0.2}
"""Additional distance for words of a name that are not in the query, where it is not `_EXTRA_WORD_DISTANCE`."""
_FIRST_VERB_DISTANCE: Final = -0.4
"""Additional distance of an operation whose verb is the first word of the query: `ban_user_from_guild` for "ban someone".

Verbs with synonyms have no such distance: "send" may mean several operations."""
_DEPRECATED_DISTANCE: Final = 2.0
"""Additional distance of a deprecated operation."""
_PREPOSITIONS: Final = frozenset({"by", "for", "from", "in", "of", "to", "with"})
_PUNCTUATION: Final = "?!,;:\"'"
_EQUAL_NAME_DISTANCE: Final = -10.0
"""Additional distance of an entry whose name equals the query."""
_STARTS_NAME_DISTANCE: Final = -1.0
"""Additional distance of an entry whose name starts with the query."""


class Entry(NamedTuple):
    """A page or an item of the reference that the search can find."""

    kind: str
    title: str
    href: str
    text: str
    search_text: str
    """Lowercase text that query words are searched in."""
    name_stems: tuple[str, ...]
    """Stems of the words of the title, in order."""
    subject: str
    """Stem of the word before the first preposition of the title, or of its last word: `user` of `ban_user_from_guild`."""
    keywords: frozenset[str]
    """Stems of the entry's keywords."""
    description_stems: frozenset[str]
    """Stems of the text, the route and the text that is searched but not shown."""
    route: str
    """Method and path of an operation; empty for other entries."""
    is_deprecated: bool


class QueryWord(NamedTuple):
    """A word of a query, in the forms that are compared with entries."""

    text: str
    stem: str
    synonyms: frozenset[str]
    is_optional: bool = False


def entries(catalogue: Catalogue) -> list[Entry]:
    """Return all searchable entries."""
    return list(_generate_entries(catalogue))


def find(entries: list[Entry], query: str) -> list[Entry]:
    """Return at most `RESULTS_MAX` entries that contain all query words or their synonyms, best matches first.

    An entry with an equal name comes first. Stop words, and words that no entry contains, are ignored. An entry may lack
    optional words.
    """
    query_texts = [word.strip(_PUNCTUATION) or word for word in query.lower().split()[:WORDS_MAX]]
    if not query_texts:
        return []
    joined_query = "_".join(query_texts)
    words = _parse_words(query_texts)
    distances = [[_distance(word, entry) for entry in entries] for word in words]
    used_distances = [
        word_distances for word_distances in distances if any(value is not None for value in word_distances)
    ]
    used_words = [
        word
        for word, word_distances in zip(words, distances, strict=True)
        if any(value is not None for value in word_distances)
    ]
    matches: list[tuple[float, int, Entry]] = []
    for entry, entry_distances in (
        zip(entries, zip(*used_distances, strict=True), strict=True) if used_distances else ()
    ):
        if any(value is None for value in entry_distances):
            continue
        distance = sum(entry_distances) + _common_distance(used_words, entry)
        name = entry.title.lower()
        if name == joined_query:
            distance += _EQUAL_NAME_DISTANCE
        elif name.startswith(joined_query):
            distance += _STARTS_NAME_DISTANCE
        matches.append((distance, len(name), entry))
    matches.sort(key=lambda value: value[:2])
    return [entry for _, _, entry in matches[:RESULTS_MAX]]


def _parse_words(texts: Sequence[str]) -> list[QueryWord]:
    """Return the words of a query, with phrases replaced and stop words removed, unless all are stop words."""
    replaced_words = replace_phrases(texts)[:WORDS_MAX]
    meaningful_words = [word for word in replaced_words if word not in STOP_WORDS] or replaced_words
    has_only_optional = OPTIONAL_WORDS.issuperset(meaningful_words)
    return [
        QueryWord(
            word,
            stem(word),
            SYNONYM_STEMS.get(stem(word), frozenset()),
            word in OPTIONAL_WORDS and not has_only_optional,
        )
        for word in dict.fromkeys(meaningful_words)
    ]


def _distance(word: QueryWord, entry: Entry) -> float | None:
    """Return the distance of a word from an entry, or None if the entry does not contain it and it is not optional."""
    if word.stem in entry.name_stems:
        return 0.0
    if word.stem in entry.keywords:
        return _KEYWORD_DISTANCE
    if not word.synonyms.isdisjoint(entry.name_stems):
        return _SYNONYM_DISTANCE
    if not word.synonyms.isdisjoint(entry.keywords):
        return _SYNONYM_KEYWORD_DISTANCE
    if word.stem in entry.description_stems:
        return _TEXT_DISTANCE
    if word.text not in entry.search_text:
        return _MISSING_DISTANCE if word.is_optional else None
    if len(word.text) >= _PREFIX_LENGTH_MIN and any(name_stem.startswith(word.text) for name_stem in entry.name_stems):
        return _PREFIX_DISTANCE
    return _PART_DISTANCE


def _common_distance(words: Sequence[QueryWord], entry: Entry) -> float:
    """Return the part of an entry's distance that depends on its kind and on the query as a whole."""
    query_stems: set[str] = set()
    for word in words:
        query_stems.add(word.stem)
        query_stems |= word.synonyms
    distance = KIND_DISTANCES[entry.kind] + (_DEPRECATED_DISTANCE if entry.is_deprecated else 0.0)
    if entry.subject not in query_stems and not all(word.stem in entry.keywords for word in words):
        distance += _OTHER_SUBJECT_DISTANCE
    if entry.kind == "operation" and len(words) > 1 and entry.name_stems[0] == words[0].stem and not words[0].synonyms:
        distance += _FIRST_VERB_DISTANCE
    for name_stem in entry.name_stems:
        if name_stem not in query_stems and name_stem not in _PREPOSITIONS:
            distance += _WEAK_WORD_DISTANCES.get(name_stem, _EXTRA_WORD_DISTANCE)
    return distance


def _build_entry(
    kind: str, title: str, href: str, text: str, hidden_text: str, *, route: str = "", is_deprecated: bool = False
) -> Entry:
    """Build an entry. `hidden_text` is searched but not shown."""
    name_stems = list_stems(title)
    preposition_indexes = [index for index, name_stem in enumerate(name_stems) if index and name_stem in _PREPOSITIONS]
    subject = name_stems[preposition_indexes[0] - 1] if preposition_indexes else name_stems[-1] if name_stems else ""
    keywords = frozenset(list_stems(KEYWORDS.get(title, ""))) if kind == "operation" else frozenset[str]()
    description_stems = frozenset(list_stems(f"{hidden_text} {text} {route}"))
    search_text = f"{title} {hidden_text} {text} {route}".lower()
    return Entry(
        kind,
        title,
        href,
        text,
        search_text,
        tuple(name_stems),
        subject,
        keywords,
        description_stems,
        route,
        is_deprecated,
    )


def _field_names(body: Any) -> str:
    """Return the names of the fields of a request body as words."""
    return " ".join(getattr(body, "__struct_encode_fields__", ())).replace("_", " ")


def _generate_entries(catalogue: Catalogue) -> Iterator[Entry]:
    for name, endpoints in catalogue.resources.items():
        yield _build_entry(
            "resource",
            name,
            f"{RESOURCES_PATH}/{name}",
            plain_text(catalogue.resource_descriptions[name]),
            name.replace("_", " "),
        )
        for endpoint in endpoints:
            operation = endpoint.operation
            yield _build_entry(
                "operation",
                endpoint.name,
                catalogue.operation_href(endpoint),
                plain_text(summary(endpoint.function)),
                f"{endpoint.name.replace('_', ' ')} {_field_names(operation.body)}",
                route=f"{operation.method} {operation.path}",
                is_deprecated=bool(operation.replaced_by),
            )
    for name, model in catalogue.objects.items():
        fields = " ".join(model.__struct_encode_fields__)
        yield _build_entry("object", name, f"{OBJECTS_PATH}/{name}", plain_text(summary(model)), fields)
    for enum in catalogue.enums.values():
        kind = "flags" if enum.is_flags else "enum"
        yield _build_entry(kind, enum.name, enum.href, plain_text(enum.summary), "")
        for value in enum.values:
            yield _build_entry(
                "value", value.name, value.href, f"{value.value} in {enum.name}. {plain_text(value.note)}", ""
            )
    for event in catalogue.events:
        text = plain_text(parse_docstring(event.summary))
        yield _build_entry("event", event.name, f"{EVENTS_PATH}#{event.name}", text, event.name.replace("_", " "))
    for error in catalogue.errors:
        yield _build_entry(
            "error",
            error.name,
            error.href,
            f"{error.error_code.code}: {error.error_code.message}",
            str(error.error_code.status),
        )
    for change in changes.ALL.values():
        yield _build_entry(
            "change", change.name, f"{CHANGES_PATH}#{change.name}", change.after, change.date.isoformat()
        )

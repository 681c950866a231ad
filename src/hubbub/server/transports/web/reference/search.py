"""Full-text search in the reference: an entry matches when it contains all query words."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from hubbub.protocol import changes
from hubbub.server.transports.docstrings import CHANGES, plain_text, summary
from hubbub.server.transports.web.reference import catalogue as urls
from hubbub.server.transports.web.reference.catalogue import Catalogue

QUERY_MAX: Final = 100
"""Maximum length of a query; the rest is ignored."""
WORDS_MAX: Final = 8
RESULTS_MAX: Final = 60


KINDS: Final = ("resource", "operation", "object", "event", "error", "enum", "flags", "value", "change")
"""Kinds of entries in ranking order."""


class Entry(NamedTuple):
    """One searchable entry."""

    kind: str
    title: str
    href: str
    text: str
    key: str
    """Lowercase text that query words are searched in."""


def entries(catalogue: Catalogue) -> list[Entry]:
    """Return all searchable entries."""
    return [
        Entry(kind, title, href, text, f"{title} {more} {text}".lower())
        for kind, title, href, text, more in _things(catalogue)
    ]


def find(entries: list[Entry], query: str) -> list[Entry]:
    """Return the entries that contain all query words.

    Best matches come first: an equal name, a name that starts with the query, a name that contains all words.
    """
    words = query.lower().split()[:WORDS_MAX]
    if not words:
        return []
    whole = "_".join(words)
    matches = [entry for entry in entries if all(word in entry.key for word in words)]

    def distance(entry: Entry) -> tuple[int, int, int]:
        name = entry.title.lower()
        has_all = all(word in name for word in words)
        near = 0 if name == whole else 1 if name.startswith(whole) else 2 if has_all else 3
        return near, KINDS.index(entry.kind), len(name)

    return sorted(matches, key=distance)[:RESULTS_MAX]


def _things(catalogue: Catalogue) -> Iterator[tuple[str, str, str, str, str]]:
    for name, endpoints in catalogue.resources.items():
        yield "resource", name, f"{urls.RESOURCES}/{name}", plain_text(catalogue.subjects[name]), name.replace("_", " ")
        for endpoint in endpoints:
            operation = endpoint.operation
            text = f"{operation.method} {operation.path}"
            words = f"{endpoint.name.replace('_', ' ')} {plain_text(summary(endpoint.function))}"
            yield "operation", endpoint.name, catalogue.operation_href(endpoint), text, words
    for name, model in catalogue.objects.items():
        fields = " ".join(model.__struct_encode_fields__)
        yield "object", name, f"{urls.OBJECTS}/{name}", plain_text(summary(model)), fields
    for enum in catalogue.enums.values():
        kind = "flags" if enum.is_flags else "enum"
        yield kind, enum.name, enum.href, plain_text(enum.summary), ""
        for value in enum.values:
            yield "value", value.name, value.href, f"{value.value} in {enum.name}. {plain_text(value.note)}", ""
    for event in catalogue.events:
        text = plain_text(summary(event.payload))
        yield "event", event.name, f"{urls.EVENTS}#{event.name}", text, event.name.replace("_", " ")
    for error in catalogue.errors:
        yield "error", error.name, error.href, f"{error.kind.code}: {error.kind.message}", str(error.kind.status)
    for change in changes.ALL.values():
        yield "change", change.name, f"{CHANGES}#{change.name}", change.after, change.date.isoformat()

"""Finding things of the reference by words: each thing is one line, and a line with all the words is found."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from hubbub.protocol import changes
from hubbub.server.transports.web.reference import catalogue as places
from hubbub.server.transports.web.reference.catalogue import Catalogue
from hubbub.server.transports.web.reference.words import CHANGES, plain, summary

QUERY_MAX: Final = 100
"""Characters that are read of what somebody looks for."""
WORDS_MAX: Final = 8
FOUND_MAX: Final = 60


KINDS: Final = ("resource", "operation", "object", "event", "error", "enum", "flags", "value", "change")
"""What can be found, the likeliest to be meant first."""


class Entry(NamedTuple):
    """One thing that can be found."""

    kind: str
    title: str
    href: str
    said: str
    key: str
    """What words are looked for in."""


def entries(catalogue: Catalogue) -> list[Entry]:
    """Everything that can be found."""
    return [
        Entry(kind, title, href, said, f"{title} {more} {said}".lower())
        for kind, title, href, said, more in _things(catalogue)
    ]


def find(entries: list[Entry], query: str) -> list[Entry]:
    """What has all the words, the nearest first: a name that is the query, one that begins with it, one that has it."""
    words = query.lower().split()[:WORDS_MAX]
    if not words:
        return []
    whole = "_".join(words)
    hits = [entry for entry in entries if all(word in entry.key for word in words)]

    def distance(entry: Entry) -> tuple[int, int, int]:
        name = entry.title.lower()
        has_all = all(word in name for word in words)
        near = 0 if name == whole else 1 if name.startswith(whole) else 2 if has_all else 3
        return near, KINDS.index(entry.kind), len(name)

    return sorted(hits, key=distance)[:FOUND_MAX]


def _things(catalogue: Catalogue) -> Iterator[tuple[str, str, str, str, str]]:
    for name, endpoints in catalogue.resources.items():
        yield "resource", name, f"{places.RESOURCES}/{name}", plain(catalogue.subjects[name]), name.replace("_", " ")
        for endpoint in endpoints:
            operation = endpoint.operation
            said = f"{operation.method} {operation.path}"
            words = f"{endpoint.name.replace('_', ' ')} {plain(summary(endpoint.function))}"
            yield "operation", endpoint.name, catalogue.operation_href(endpoint), said, words
    for name, model in catalogue.objects.items():
        fields = " ".join(model.__struct_encode_fields__)
        yield "object", name, f"{places.OBJECTS}/{name}", plain(summary(model)), fields
    for enum in catalogue.enums.values():
        kind = "flags" if enum.is_flags else "enum"
        yield kind, enum.name, enum.href, plain(enum.summary), ""
        for value in enum.values:
            yield "value", value.name, value.href, f"{value.value} in {enum.name}. {plain(value.note)}", ""
    for event in catalogue.events:
        said = plain(summary(event.payload))
        yield "event", event.name, f"{places.EVENTS}#{event.name}", said, event.name.replace("_", " ")
    for error in catalogue.errors:
        yield "error", error.name, error.href, f"{error.kind.code}: {error.kind.message}", str(error.kind.status)
    for change in changes.ALL.values():
        yield "change", change.name, f"{CHANGES}#{change.name}", change.subject, change.date.isoformat()

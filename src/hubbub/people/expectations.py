"""Expected events: names of events, comparison of fields, and the differences to events that arrived instead."""

import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from hubbub.people.errors import InvalidArgument
from hubbub.people.named_objects import suggest
from hubbub.protocol import resources
from hubbub.protocol.control.expectations import Difference
from hubbub.protocol.operation import Event, PayloadT, events_of


@cache
def events_by_name() -> dict[str, Event[Any]]:
    """Return all gateway events by name."""
    modules = [
        importlib.import_module(f"{resources.__name__}.{module.name}")
        for module in pkgutil.iter_modules(resources.__path__)
    ]
    return {event.name: event for module in modules for event in events_of(module)}


def resolve_event(event: Event[PayloadT] | str) -> Event[PayloadT]:
    """Return the declared event with a name; raise `InvalidArgument` if there is none. A declared event is returned unchanged."""
    if not isinstance(event, str):
        return event
    if event not in events_by_name():
        raise InvalidArgument("event", f"there is no event {event!r}{suggest(event.upper(), events_by_name())}")
    return events_by_name()[event]


def contains_fields(fields: Mapping[str, Any], data: Any) -> bool:
    """Return whether the data contains the values of `fields`; objects are compared recursively, extra keys are ignored."""
    return isinstance(data, Mapping) and next(find_differences(fields, data), None) is None


def find_differences(fields: Mapping[str, Any], data: Any, prefix: str = "") -> Iterator[Difference]:
    """Yield the fields whose values differ in the data."""
    for key, expected in fields.items():
        received = data.get(key) if isinstance(data, Mapping) else None
        if isinstance(expected, Mapping):
            yield from find_differences(expected, received, f"{prefix}{key}.")
        elif received != expected:
            yield Difference(path=f"{prefix}{key}", expected=expected, received=received)


def format_difference(difference: Difference) -> str:
    """Return a difference as one line of text."""
    return f"{difference.path}: expected {difference.expected!r}, received {difference.received!r}"

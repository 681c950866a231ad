"""Events that a person received, and expected events."""

from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

TIMEOUT_MS_MAX: Final = 300_000
"""Maximum time in milliseconds that an operation waits."""
DEFAULT_TIMEOUT_MS: Final = 10_000

Name = Annotated[str, Meta(min_length=1, max_length=256)]
Timeout = Annotated[int, Meta(ge=0, le=TIMEOUT_MS_MAX)]


class EventsQuery(msgspec.Struct, kw_only=True):
    """Query parameters for listing received events."""

    event: str | None = None
    """Name of the events; null for all events."""


class EventOfPerson(msgspec.Struct, kw_only=True):
    """An event that a person received."""

    event: str
    """Name of the event."""
    data: Any
    """Payload of the event."""


class Expect(msgspec.Struct, kw_only=True):
    """An expected event."""

    event: Name
    """Name of the event, such as `MESSAGE_CREATE`."""
    fields: dict[str, Any] = {}
    """Values that the event must contain; objects are compared recursively, and other fields are ignored."""
    timeout_ms: Timeout = DEFAULT_TIMEOUT_MS
    """Time in milliseconds to wait for the event."""


class ExpectNone(msgspec.Struct, kw_only=True):
    """An event that the person must not have received."""

    event: Name
    """Name of the event, such as `MESSAGE_CREATE`."""
    fields: dict[str, Any] = {}
    """Values that identify the event; objects are compared recursively."""


class ExpectMessage(msgspec.Struct, kw_only=True):
    """An expected message."""

    channel: Name | None = None
    """Name or ID of the channel, such as `general`; null for any channel."""
    author: Name | None = None
    """Name of the user or application that sends the message; null for any author."""
    content: str | None = None
    """Exact text; null for any text."""
    fields: dict[str, Any] = {}
    """Other values that the message must contain; objects are compared recursively."""
    timeout_ms: Timeout = DEFAULT_TIMEOUT_MS
    """Time in milliseconds to wait for the message."""


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """A field of an event that differs from the expected value."""

    path: str
    """Path of the field, such as `author.username`."""
    expected: Any
    received: Any = None
    """The received value; null if the field is absent."""


class FailedExpectation(msgspec.Struct, kw_only=True):
    """The error of an expectation that was not met."""

    code: int
    message: str
    """Text with the events that arrived, and reasons from the delivery trace."""
    differences: list[Difference] = []
    """Differences of the most similar event with the same name; empty if none arrived."""
    received: list[EventOfPerson] = []
    """Events that arrived and that no operation returned, at most 30."""

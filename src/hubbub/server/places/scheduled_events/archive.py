"""Scheduled events, their exceptions and the responses to them in the archive of a guild."""

from typing import Final

from hubbub.protocol.resources.scheduled_events import RecurrenceRule
from hubbub.server.core.archives import (
    FLAG,
    GUILD,
    ID,
    OPTIONAL_IMAGE,
    OPTIONAL_REFERENCE,
    OPTIONAL_TIME,
    OPTIONAL_USER,
    REFERENCE,
    TIME,
    USER,
    ArchiveTable,
    number,
    optional_json,
    optional_markdown,
    optional_text,
    text,
)

ARCHIVE: Final = (
    ArchiveTable(
        name="scheduled_events",
        key=("id",),
        columns={
            "id": ID,
            "guild_id": GUILD,
            "creator_id": OPTIONAL_USER,
            "name": text(100),
            "start_ms": TIME,
            "end_ms": OPTIONAL_TIME,
            "entity_type": number(3),
            "status": number(4),
            "channel_id": OPTIONAL_REFERENCE,
            "location": optional_text(100),
            "description": optional_markdown(1000),
            "image": OPTIONAL_IMAGE,
            "recurrence": optional_json(RecurrenceRule),
        },
    ),
    ArchiveTable(
        name="scheduled_event_exceptions",
        parent="scheduled_events",
        parent_column="event_id",
        key=("event_id", "id"),
        # The ID encodes the time of the occurrence, so it does not change.
        columns={
            "event_id": REFERENCE,
            "id": number(),
            "start_ms": OPTIONAL_TIME,
            "end_ms": OPTIONAL_TIME,
            "canceled": FLAG,
        },
    ),
    ArchiveTable(
        name="scheduled_event_users",
        parent="scheduled_events",
        parent_column="event_id",
        key=("event_id", "exception_id", "user_id"),
        columns={"event_id": REFERENCE, "exception_id": number(), "user_id": USER, "response": number(2)},
    ),
)

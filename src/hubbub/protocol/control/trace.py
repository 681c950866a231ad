"""The delivery trace: recipients of events, with reasons for non-delivery, rejected requests and closed connections."""

from typing import Annotated, Final

import msgspec
from msgspec import Meta

from hubbub.protocol.control.declaration import control_operation
from hubbub.protocol.delivery_outcomes import DELIVERED, REDACTED
from hubbub.protocol.ids import ChannelId, GuildId, Snowflake, Timestamp, UserId


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of an event for one session."""

    session_id: str
    user_id: UserId
    outcome: str
    """`delivered`, `delivered without message content`, or the reason why it was not delivered."""

    @property
    def delivered(self) -> bool:
        """Whether the session received the event in any form."""
        return self.outcome in (DELIVERED, REDACTED)


class TracedEvent(msgspec.Struct, frozen=True, kw_only=True):
    """An event that this node's gateway processed, with its outcomes."""

    number: int
    """Sequence number, shared by all kinds of entries, so that they can be ordered."""
    at: Timestamp
    event: str
    guild_id: GuildId | None
    channel_id: ChannelId | None
    outcomes: list[Outcome]


class RejectedRequest(msgspec.Struct, frozen=True, kw_only=True):
    """An HTTP request that got an error response."""

    number: int
    """Sequence number, shared by all kinds of entries, so that they can be ordered."""
    at: Timestamp
    method: str
    route: str
    """The path template, since an actual path may contain a token."""
    parameters: dict[str, Snowflake] = {}
    """The IDs in the path by parameter; other parameters may be tokens."""
    user_id: UserId | None
    status: int
    body: msgspec.Raw
    """The body of the error response."""


class ClosedConnection(msgspec.Struct, frozen=True, kw_only=True):
    """A gateway connection that the platform closed."""

    number: int
    """Sequence number, shared by all kinds of entries, so that they can be ordered."""
    at: Timestamp
    user_id: UserId | None
    """The user; null if the connection had not identified."""
    code: int
    reason: str
    cause: str | None
    """Explanation that the client did not receive; null if the reason is sufficient."""


class SetTrace(msgspec.Struct, kw_only=True):
    """Whether to trace deliveries."""

    on: bool


class ExplainedRequest(RejectedRequest, frozen=True, kw_only=True):
    """A rejected request with its cause."""

    cause: str | None
    """The permission, role or member because of which the request failed, as a sentence; null if it is unknown.

    It is never null for MISSING_PERMISSIONS. Other causes describe the current state of the platform."""


class TraceState(msgspec.Struct, kw_only=True):
    """The latest events with their outcomes, rejected requests, and closed gateway connections."""

    on: bool
    """Whether deliveries are traced now."""
    events: list[TracedEvent]
    refused: list[ExplainedRequest]
    closed: list[ClosedConnection]


class TraceQuery(msgspec.Struct, kw_only=True):
    """Query parameters for reading the delivery trace."""

    event: str | None = None
    """Name of the events; null for all events."""
    user_id: UserId | None = None
    """ID of the user of the entries; null for all users."""
    after: Annotated[int, Meta(ge=0)] = 0
    """Number after which entries are returned."""


GET_TRACE: Final = control_operation("GET", "/trace", query=TraceQuery, result=TraceState)
SET_TRACE: Final = control_operation("POST", "/trace", body=SetTrace, result=TraceState)
CLEAR_TRACE: Final = control_operation("DELETE", "/trace")

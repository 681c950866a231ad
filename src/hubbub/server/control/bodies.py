"""Request and response bodies of the control API, except those of people, traffic and emulated identity providers."""

from datetime import datetime
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from hubbub.protocol.ids import ApplicationId, Timestamp, UserId
from hubbub.protocol.resources.accounts import PASSWORD_MAX
from hubbub.server.core.faults import ActiveFault
from hubbub.server.core.rate_limits import RateLimitHit
from hubbub.server.core.trace import ClosedConnection, RejectedRequest, TracedEvent
from hubbub.server.ready_document import ReadyDocument

CENTURY_MS = 100 * 366 * 86_400_000
"""At least one hundred years, in milliseconds."""


class SetClock(msgspec.Struct, kw_only=True):
    """The time to set."""

    now: datetime


class AdvanceClock(msgspec.Struct, kw_only=True):
    """The number of milliseconds by which to advance the clock."""

    ms: Annotated[int, Meta(ge=0, le=CENTURY_MS)]


class ClockState(msgspec.Struct, kw_only=True):
    """The time of the clock, and whether the clock is running."""

    now: Timestamp
    now_ms: int
    running: bool


class CreateUser(msgspec.Struct, kw_only=True):
    """A new user."""

    username: str
    global_name: str | None = None
    password: Annotated[str, Meta(min_length=1, max_length=PASSWORD_MAX)] | None = None
    """The password; by default a random one."""


class Token(msgspec.Struct, kw_only=True):
    """A new token of a user."""

    user_id: UserId
    token: str


class BanUser(msgspec.Struct, kw_only=True):
    """The end and the reason of an account ban."""

    until: datetime | None = None
    """The end of the ban; null for a permanent ban."""
    reason: Annotated[str, Meta(max_length=512)] | None = None


class LinkPublisher(msgspec.Struct, kw_only=True):
    """The publisher that an application is linked to."""

    parent_id: ApplicationId


class SnapshotState(msgspec.Struct, kw_only=True):
    """A snapshot of the world."""

    id: str
    at: Timestamp
    """The time of the world's clock."""
    bytes: int
    """The size of the database and the files."""
    parent_id: str | None
    """The snapshot that was taken or restored last before this one; null if there was none."""
    current: bool
    """Whether the snapshot was taken or restored last."""


class CreateFork(msgspec.Struct, kw_only=True):
    """The origin and the settings of a fork."""

    snapshot_id: str | None = None
    """The snapshot to start from; null starts from the current state."""

    now: datetime | None = None
    """The time of the fork's clock; null keeps the time of the snapshot."""
    rate_limits: Literal["off", "real", "report"] | None = None
    """Enforcement of rate limits in the fork; null copies the setting of the original platform."""


class Fork(ReadyDocument, kw_only=True):
    """The ready document of a fork: a second platform that starts from the state of the first."""

    fork_id: str


class ForkState(msgspec.Struct, kw_only=True):
    """An open fork."""

    fork_id: str
    web: str
    """The URL of the fork."""
    snapshot_id: str | None
    """The snapshot that the fork descends from; null if there is none."""


class SessionState(msgspec.Struct, kw_only=True):
    """A gateway session."""

    session_id: str
    user_id: UserId
    shard: tuple[int, int]
    """Shard ID and number of shards."""
    intents: int
    connected: bool
    """Whether the session has a connection now; a session without a connection can be resumed."""


class FaultResult(msgspec.Struct, kw_only=True):
    """The result of adding a fault: the number of sessions affected immediately, or the fault that is now active."""

    sessions: int
    """The number of sessions to which the fault was applied immediately."""
    waiting: ActiveFault | None
    """The fault, if it waits for matching requests or sessions; null if it was applied immediately."""


class SetTrace(msgspec.Struct, kw_only=True):
    """Whether to trace deliveries."""

    on: bool


class ExplainedRequest(RejectedRequest, frozen=True, kw_only=True):
    """A rejected request with its cause."""

    cause: str | None
    """The permission, role or member because of which the request failed, as a sentence; null if it is unknown.

    It describes the current state of the platform."""


class TraceState(msgspec.Struct, kw_only=True):
    """The latest events with their outcomes, rejected requests, and closed gateway connections."""

    on: bool
    """Whether deliveries are traced now."""
    events: list[TracedEvent]
    refused: list[ExplainedRequest]
    closed: list[ClosedConnection]


class RateLimitReport(msgspec.Struct, kw_only=True):
    """Requests that exceeded a rate limit."""

    mode: str
    """Enforcement of rate limits: `off`, `real` or `report`."""
    refusals: list[RateLimitHit]

"""What is asked of the control API, and what it answers."""

from datetime import datetime
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from hubbub.protocol.ids import ApplicationId, Timestamp, UserId
from hubbub.protocol.resources.accounts import PASSWORD_MAX
from hubbub.server.core.faults import Waiting
from hubbub.server.core.rate_limits import Refusal
from hubbub.server.core.trace import ClosedConnection, RefusedCall, Traced
from hubbub.server.ready import Ready

CENTURY_MS = 100 * 366 * 86_400_000


class SetClock(msgspec.Struct, kw_only=True):
    """A time to show."""

    now: datetime


class AdvanceClock(msgspec.Struct, kw_only=True):
    """How far to go forward."""

    ms: Annotated[int, Meta(ge=0, le=CENTURY_MS)]


class ClockState(msgspec.Struct, kw_only=True):
    """What time it is, and whether it passes by itself."""

    now: Timestamp
    now_ms: int
    running: bool


class CreateUser(msgspec.Struct, kw_only=True):
    """A new person."""

    username: str
    global_name: str | None = None
    password: Annotated[str, Meta(min_length=1, max_length=PASSWORD_MAX)] | None = None
    """By default a random one."""


class Token(msgspec.Struct, kw_only=True):
    """A new token of a person."""

    user_id: UserId
    token: str


class BanUser(msgspec.Struct, kw_only=True):
    """How long an account is to be closed."""

    until: datetime | None = None
    """Null: for good."""
    reason: Annotated[str, Meta(max_length=512)] | None = None


class LinkPublisher(msgspec.Struct, kw_only=True):
    """Whose game an application becomes."""

    parent_id: ApplicationId


class SnapshotState(msgspec.Struct, kw_only=True):
    """A kept state of the world."""

    id: str
    at: Timestamp
    """What time it was in the world."""
    bytes: int


class CreateFork(msgspec.Struct, kw_only=True):
    """From which snapshot; null: from the world as it is now."""

    snapshot_id: str | None = None
    now: datetime | None = None
    """What time it is there; null: as in the snapshot."""
    rate_limits: Literal["off", "real", "report"] | None = None
    """What is done about limits there; null: what is done here."""


class Fork(Ready, kw_only=True):
    """A second world that begins as the first one was."""

    fork_id: str


class ForkState(msgspec.Struct, kw_only=True):
    """A fork that is open."""

    fork_id: str
    web: str


class SessionState(msgspec.Struct, kw_only=True):
    """A gateway session."""

    session_id: str
    user_id: UserId
    shard: tuple[int, int]
    intents: int
    connected: bool
    """Whether it has a connection now; without one it waits for a resume."""


class Inflicted(msgspec.Struct, kw_only=True):
    """What became of a fault: how many sessions it hit at once, or what waits now."""

    sessions: int
    waiting: Waiting | None


class SetTrace(msgspec.Struct, kw_only=True):
    """Whether deliveries are to be traced."""

    on: bool


class TraceState(msgspec.Struct, kw_only=True):
    """The latest events and what became of them, calls that were refused, and gateway connections that were closed."""

    on: bool
    events: list[Traced]
    refused: list[RefusedCall]
    closed: list[ClosedConnection]


class RateLimitReport(msgspec.Struct, kw_only=True):
    """Calls that a limit refused, or would have refused."""

    mode: str
    refusals: list[Refusal]

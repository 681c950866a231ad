"""Snapshots of a rehearsal, and forks: platforms that start from a snapshot."""

from datetime import datetime
from typing import Final, Literal

import msgspec

from hubbub.protocol import errors
from hubbub.protocol.control.clock import ClockState
from hubbub.protocol.control.declaration import control_operation
from hubbub.protocol.control.ready import ReadyDocument
from hubbub.protocol.ids import Timestamp

RateLimitEnforcement = Literal["off", "real", "report"]
"""Enforcement of rate limits: none, rejection, or counting without rejection."""


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
    rate_limits: RateLimitEnforcement | None = None
    """Enforcement of rate limits in the fork; null copies the setting of the original platform."""
    trace: bool = False
    """Whether the fork starts with its delivery trace enabled."""


class Fork(ReadyDocument, frozen=True, kw_only=True):
    """The ready document of a fork: a second platform that starts from the state of the first."""

    fork_id: str


class ForkState(msgspec.Struct, kw_only=True):
    """An open fork."""

    fork_id: str
    web: str
    """The URL of the fork."""
    snapshot_id: str | None
    """The snapshot that the fork descends from; null if there is none."""


LIST_SNAPSHOTS: Final = control_operation("GET", "/snapshots", result=list[SnapshotState])
CREATE_SNAPSHOT: Final = control_operation("POST", "/snapshots", errors.BAD_REQUEST, result=SnapshotState)
RESTORE_SNAPSHOT: Final = control_operation(
    "POST", "/snapshots/{snapshot_id}/restore", errors.NOT_FOUND, result=ClockState
)
DELETE_SNAPSHOT: Final = control_operation("DELETE", "/snapshots/{snapshot_id}", errors.NOT_FOUND)
LIST_FORKS: Final = control_operation("GET", "/forks", result=list[ForkState])
CREATE_FORK: Final = control_operation("POST", "/forks", errors.NOT_FOUND, body=CreateFork, result=Fork)
DELETE_FORK: Final = control_operation("DELETE", "/forks/{fork_id}", errors.NOT_FOUND)

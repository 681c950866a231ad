"""Gateway sessions of a rehearsal, and faults: failures that a test requests from the HTTP server and the gateway."""

from typing import Annotated, Final, Literal, TypeAlias, cast

import msgspec
from msgspec import Meta

from hubbub.protocol import errors
from hubbub.protocol.control.declaration import control_operation
from hubbub.protocol.ids import UserId

Times = Annotated[int, Meta(ge=1, le=1_000_000)]
Milliseconds = Annotated[int, Meta(ge=1, le=600_000)]


class SessionState(msgspec.Struct, kw_only=True):
    """A gateway session."""

    session_id: str
    user_id: UserId
    shard: tuple[int, int]
    """Shard ID and number of shards."""
    intents: int
    connected: bool
    """Whether the session has a connection now; a session without a connection can be resumed."""


class HttpFault(msgspec.Struct, kw_only=True, tag_field="transport", tag="http", forbid_unknown_fields=True):
    """A fault of HTTP requests."""

    effect: Literal["status", "delay", "drop"]
    """`status`: respond with an error; `delay`: respond late; `drop`: close the connection without a response."""
    method: str | None = None
    """The method: GET, POST, ...; null matches any."""
    route: str | None = None
    """The path template after /api/v10, such as `/channels/{channel_id}/messages`; null matches any."""
    user_id: UserId | None = None
    """The user or bot that sends the request; null matches any."""
    times: Times | None = 1
    """Number of times that the fault occurs; null: until it is removed."""
    moment: Literal["before", "after"] = "before"
    """Whether the fault occurs before or after the operation is performed."""
    status: Annotated[int, Meta(ge=400, le=599)] = 500
    """The status for effect `status`."""
    retry_after: Annotated[float, Meta(ge=0, le=3600)] = 1.0
    """The value of Retry-After, in seconds, for status 429."""
    scope: Literal["user", "global", "shared"] = "user"
    """The scope of the rate limit for status 429."""
    delay_ms: Milliseconds = 1000
    """The delay in milliseconds for effect `delay`."""


class GatewayFault(msgspec.Struct, kw_only=True, tag_field="transport", tag="gateway", forbid_unknown_fields=True):
    """A fault of gateway sessions."""

    effect: Literal["close", "invalid_session", "drop", "delay"]
    """`close`: close with a code; `invalid_session`: end the session; `drop`: disconnect; `delay`: send events late."""
    user_id: UserId | None = None
    """The user or bot of the session; null matches any."""
    session_id: str | None = None
    """The ID of the session; null matches any."""
    moment: Literal["now", "identify"] = "now"
    """`now`: existing sessions; `identify`: the next session that identifies or resumes."""
    times: Times | None = 1
    """Number of times that a fault at `identify` occurs; null: until it is removed."""
    code: Annotated[int, Meta(ge=1000, le=4999)] = 4000
    """The close code for effect `close`."""
    resumable: bool = False
    """Whether the client may resume after effect `invalid_session`."""
    delay_ms: Milliseconds = 1000
    """For effect `delay`: the delay in milliseconds of every later message of the connection."""


Fault: TypeAlias = HttpFault | GatewayFault


class ActiveFault(msgspec.Struct, kw_only=True):
    """A requested fault and how often it has occurred."""

    id: str
    fault: Fault
    occurrences: int = 0
    """Number of times that the fault has occurred."""
    remaining_occurrences: int | None
    """Number of times that the fault will still occur; null: until it is removed."""


class FaultResult(msgspec.Struct, kw_only=True):
    """The result of adding a fault: the number of sessions affected immediately, or the fault that is now active."""

    affected_sessions: int
    """The number of sessions to which the fault was applied immediately; 0 for a fault that waits."""
    active_fault: ActiveFault | None
    """The fault, if it waits for matching requests or sessions; null if it was applied immediately."""


LIST_SESSIONS: Final = control_operation("GET", "/sessions", result=list[SessionState])
# Returns when all events of earlier actions have been sent.
SETTLE: Final = control_operation("POST", "/settle")
LIST_FAULTS: Final = control_operation("GET", "/faults", result=list[ActiveFault])
# A union is not a type for type checkers.
CREATE_FAULT: Final = control_operation("POST", "/faults", body=cast("type[Fault]", Fault), result=FaultResult)
DELETE_FAULTS: Final = control_operation("DELETE", "/faults")
DELETE_FAULT: Final = control_operation("DELETE", "/faults/{fault_id}", errors.NOT_FOUND)

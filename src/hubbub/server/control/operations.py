"""Operations of the control API, except those of people (`people_operations`) and of the console (`traffic_operations`)."""

from types import NoneType
from typing import Annotated, Any, Final

import msgspec
from msgspec import UNSET, Meta, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.ids import WIDE_MAX, UserId
from hubbub.protocol.operation import Auth, Operation
from hubbub.server.control import bodies
from hubbub.server.control.emulated_providers import CreateCredential, Credential
from hubbub.server.control.lint import LintReport
from hubbub.server.core.faults import ActiveFault, Fault
from hubbub.server.core.mail import ReceivedMail
from hubbub.server.ready_document import ReadyDocument
from hubbub.server.worlds.builder import BuiltUser
from hubbub.server.worlds.schema import World


class LoadWorldQuery(msgspec.Struct, kw_only=True):
    """Query parameters for loading a world."""

    seed: Annotated[int, Meta(ge=0, le=WIDE_MAX)] | UnsetType = UNSET
    """Number that determines the IDs and tokens of the world; absent for the seed of the server."""


class MailQuery(msgspec.Struct, kw_only=True):
    """Query parameters for listing mail."""

    to: str | None = None
    """Address of the recipient; null for all recipients."""


class TraceQuery(msgspec.Struct, kw_only=True):
    """Query parameters for reading the delivery trace."""

    event: str | None = None
    """Name of the events; null for all events."""
    user_id: UserId | None = None
    """ID of the user of the entries; null for all users."""
    after: Annotated[int, Meta(ge=0)] = 0
    """Number after which entries are returned."""


def control_operation(
    method: str, path: str, *raises: errors.ErrorCode, body: Any = NoneType, result: Any = NoneType, **options: Any
) -> Operation[Any, Any]:
    """Return an operation of the control API, which has no rate limit and whose body may be absent if no field is required."""
    if body is not NoneType:
        raises = (errors.INVALID_FORM_BODY, *raises)
    is_struct = isinstance(body, type) and issubclass(body, msgspec.Struct)
    return Operation(
        method,
        path,
        body=body,
        result=result,
        raises=raises,
        auth=Auth.NONE,
        limit=None,
        optional_body=is_struct and not any(field.required for field in msgspec.structs.fields(body)),
        **options,
    )


GET_READY_DOCUMENT: Final = control_operation("GET", "", result=ReadyDocument)

GET_CLOCK: Final = control_operation("GET", "/clock", result=bodies.ClockState)
SET_CLOCK: Final = control_operation("POST", "/clock/set", body=bodies.SetClock, result=bodies.ClockState)
ADVANCE_CLOCK: Final = control_operation("POST", "/clock/advance", body=bodies.AdvanceClock, result=bodies.ClockState)
FREEZE_CLOCK: Final = control_operation("POST", "/clock/freeze", result=bodies.ClockState)
RESUME_CLOCK: Final = control_operation("POST", "/clock/resume", result=bodies.ClockState)

LOAD_WORLD: Final = control_operation("POST", "/worlds", body=World, query=LoadWorldQuery, result=ReadyDocument)
CREATE_USER: Final = control_operation("POST", "/users", body=bodies.CreateUser, result=BuiltUser)
CREATE_TOKEN: Final = control_operation(
    "POST", "/users/{user_id}/tokens", errors.UNKNOWN_USER, errors.BOTS_CANNOT_USE_ENDPOINT, result=bodies.Token
)
BAN_USER: Final = control_operation("POST", "/users/{user_id}/ban", errors.UNKNOWN_USER, body=bodies.BanUser)
UNBAN_USER: Final = control_operation("DELETE", "/users/{user_id}/ban", errors.NOT_FOUND)

LINK_PUBLISHER: Final = control_operation(
    "POST", "/applications/{application_id}/publisher", errors.UNKNOWN_APPLICATION, body=bodies.LinkPublisher
)
CREATE_CREDENTIAL: Final = control_operation(
    "POST", "/issuers/{provider}/tokens", errors.NOT_FOUND, body=CreateCredential, result=Credential
)
ROTATE_KEYS: Final = control_operation("POST", "/issuers/{provider}/rotate", errors.NOT_FOUND)

LIST_SNAPSHOTS: Final = control_operation("GET", "/snapshots", result=list[bodies.SnapshotState])
CREATE_SNAPSHOT: Final = control_operation("POST", "/snapshots", errors.BAD_REQUEST, result=bodies.SnapshotState)
RESTORE_SNAPSHOT: Final = control_operation(
    "POST", "/snapshots/{snapshot_id}/restore", errors.NOT_FOUND, result=bodies.ClockState
)
DELETE_SNAPSHOT: Final = control_operation("DELETE", "/snapshots/{snapshot_id}", errors.NOT_FOUND)
LIST_FORKS: Final = control_operation("GET", "/forks", result=list[bodies.ForkState])
CREATE_FORK: Final = control_operation("POST", "/forks", errors.NOT_FOUND, body=bodies.CreateFork, result=bodies.Fork)
DELETE_FORK: Final = control_operation("DELETE", "/forks/{fork_id}", errors.NOT_FOUND)

LIST_SESSIONS: Final = control_operation("GET", "/sessions", result=list[bodies.SessionState])
SETTLE: Final = control_operation("POST", "/settle")
LIST_FAULTS: Final = control_operation("GET", "/faults", result=list[ActiveFault])
CREATE_FAULT: Final = control_operation("POST", "/faults", body=Fault, result=bodies.FaultResult)
DELETE_FAULTS: Final = control_operation("DELETE", "/faults")
DELETE_FAULT: Final = control_operation("DELETE", "/faults/{fault_id}", errors.NOT_FOUND)

GET_TRACE: Final = control_operation("GET", "/trace", query=TraceQuery, result=bodies.TraceState)
SET_TRACE: Final = control_operation("POST", "/trace", body=bodies.SetTrace, result=bodies.TraceState)
CLEAR_TRACE: Final = control_operation("DELETE", "/trace")
GET_REPORT: Final = control_operation("GET", "/report", result=LintReport)
LIST_MAIL: Final = control_operation("GET", "/mail", errors.NOT_FOUND, query=MailQuery, result=list[ReceivedMail])
CLEAR_MAIL: Final = control_operation("DELETE", "/mail", errors.NOT_FOUND)
GET_RATE_LIMITS: Final = control_operation("GET", "/rate-limits", result=bodies.RateLimitReport)
CLEAR_RATE_LIMITS: Final = control_operation("DELETE", "/rate-limits")

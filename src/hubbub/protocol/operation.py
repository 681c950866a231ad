"""Declarations of HTTP operations, gateway events and gateway commands.

An `Operation` is the whole contract of an HTTP call. The HTTP server takes routing, decoding, authentication, the
permission check and the rate limit from it; the SDK takes the URL, the body and the result type; the API reference and
the OpenAPI file take everything. Its documented ID is the constant's name in lower case (`CREATE_MESSAGE` is
`create_message`), which `operations_of` reads from the module that declares it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Flag, auto
from string import Formatter
from types import ModuleType, NoneType
from typing import TYPE_CHECKING, Any, Final, Generic

from hubbub.protocol.errors import ErrorCode
from hubbub.protocol.images import ImageData

if TYPE_CHECKING:
    # Only type checkers need the defaults of type variables, so the SDK does not depend on typing_extensions.
    from typing_extensions import TypeVar

    # Importing the enums at run time would slow down the start of games that do not use them.
    from hubbub.protocol.enums import AuditLogAction
    from hubbub.protocol.operator_roles import OperatorRole

    BodyT = TypeVar("BodyT", default=None)
    ResultT = TypeVar("ResultT", default=None)
    PayloadT = TypeVar("PayloadT", default=Any)
else:
    from typing import TypeVar

    BodyT, ResultT, PayloadT = map(TypeVar, ("BodyT", "ResultT", "PayloadT"))


class Auth(Flag):
    """Kinds of callers that an operation accepts."""

    NONE = 0
    """No authentication: the server ignores a token. For operations whose path or body contains the credentials."""
    BOT = auto()
    USER = auto()
    """A user's own token, sent without a prefix."""
    BEARER = auto()
    """An OAuth2 access token; if the operation has `scopes`, with one of them."""
    ANONYMOUS = auto()
    """Callers without a token; an invalid token is rejected."""


@dataclass(frozen=True, slots=True)
class RateLimit:
    """A maximum number of calls of one caller per time window, counted for each value of a path parameter."""

    calls: int
    """Number of calls allowed per window."""
    seconds: float
    """Length of the window in seconds."""
    per: str | None = None
    """Path parameter whose values have separate limits; None for the first of MAJOR_PARAMETERS in the path."""
    bucket: str | None = None
    """Name of a bucket that several operations share; None for a bucket of its own."""
    code: ErrorCode | None = None
    """Error code in the 429 response; None for the generic one."""
    age_thresholds_seconds: tuple[float, ...] = ()
    """Ages in seconds that divide the objects named by the last ID of the path into separate buckets."""


DEFAULT_LIMIT = RateLimit(5, 5.0)
"""Rate limit of operations that declare no other."""

MAJOR_PARAMETERS: Final = ("channel_id", "guild_id", "webhook_id")
"""Path parameters whose values have separate rate limits by default; the first in the path applies (spec/http.md#1.14)."""
APPROVAL_WINDOW_SECONDS = 7200
"""Window in seconds of the limits that apply before approval (spec/sdk.md#16)."""


@dataclass(frozen=True, slots=True)
class Uploads:
    """File uploads of an operation with a multipart body: `payload_json` or flat fields, and files."""

    field: str = "files"
    """Name of the file part; `files` accepts `files[n]` and the legacy `file`."""
    files_max: int = 10
    """Maximum number of files."""
    stores_files: bool = True
    """Whether the HTTP server stores the files; False if the handler only reads their content."""
    file_bytes_max: int = 0
    """Maximum file size in bytes for any caller; 0 for the configured limit.

    The handler checks the exact limit of the caller.
    """
    is_required: bool = False
    """Whether a file is required; a missing file is reported together with the errors of the body."""
    image: type[ImageData] | None = None
    """Image type of the file; None for other files.

    The HTTP server re-encodes the image, stores it under its hash and passes it as `Upload.image`.
    """


@dataclass(frozen=True, eq=False)
class Operation(Generic[BodyT, ResultT]):
    """An HTTP call: its route, models, accepted callers, possible outcomes and limits."""

    method: str
    """HTTP method in upper case."""
    path: str
    """Path below the API version, with parameters in braces."""
    body: type[BodyT] = NoneType  # type: ignore[assignment]
    """Type of the request body; NoneType for no body."""
    result: type[ResultT] = NoneType  # type: ignore[assignment]
    """Type of the response body; NoneType for no body."""
    query: Any = NoneType
    """Struct of the query parameters; NoneType for none."""
    status: int = 0
    """Status of a success; 0 for 200, or 204 without a result."""
    other_statuses: tuple[int, ...] = ()
    """Other success statuses that the handler may return, such as 202 for a result that is not ready yet."""
    auth: Auth = Auth.BOT | Auth.USER
    """Kinds of callers that the operation accepts."""
    scopes: tuple[str, ...] = ()
    """OAuth2 scopes, one of which a bearer token must have; empty if any bearer token is accepted."""
    accepts_publishers: bool = False
    """Whether a publisher's own token is accepted (spec/sdk.md#8.7).

    Otherwise such a token can only obtain tokens for the publisher's games.
    """
    needs: int = 0
    """Permissions that the caller must have in the channel or guild of the path."""
    operator: "OperatorRole | None" = None
    """Operator role that the caller must have, together with two-factor authentication; None for any caller."""
    raises: tuple[ErrorCode, ...] = ()
    """Error codes that the operation may raise."""
    error_model: Any = NoneType
    """Model of an additional error response format; NoneType for none."""
    emits: tuple["Event[Any]", ...] = ()
    """Events that a success may cause.

    Audit log events, GUILD_CREATE and GUILD_DELETE to a user who joined or left, and events that other resources emit
    in reaction are not listed.
    """
    audits: tuple["AuditLogAction", ...] = ()
    """Audit log entries that a success may create."""
    limit: RateLimit | None = DEFAULT_LIMIT
    """Rate limit; None for no bucket and no bucket headers."""
    unapproved_calls_max: int = 0
    """Maximum number of calls per APPROVAL_WINDOW_SECONDS before social layer approval; 0 for no limit."""
    uploads: Uploads | None = None
    """File uploads; None if the operation accepts none."""
    is_form: bool = False
    """Whether the body is application/x-www-form-urlencoded instead of JSON."""
    optional_body: bool = False
    """Whether an absent body is treated as an empty object."""
    headers: tuple[str, ...] = ()
    """Request headers that the handler reads from `call.headers`."""
    body_condition: tuple[str, frozenset[str]] | None = None
    """A header and the values for which the body is decoded; for other values the handler receives None."""
    media_type: str = "application/json"
    """Media type of a success; if it is not JSON, the handler returns bytes."""
    tags: tuple[str, ...] = ()
    """Tags in the OpenAPI file; empty for the tag of the resource."""
    other_methods: tuple[str, ...] = ()
    """Undocumented methods that client libraries use instead of `method`."""
    replaced_by: str = ""
    """Replacement of a deprecated operation, for example "`list_pins`"; empty if the operation is current."""

    @property
    def success(self) -> int:
        """Default status of a success."""
        return self.status or (204 if self.result is NoneType else 200)

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the path parameters, in order."""
        return tuple(name for _, name, _, _ in Formatter().parse(self.path) if name)

    def url(self, **values: object) -> str:
        """Return the path with its parameters filled in."""
        return self.path.format(**values)


@dataclass(frozen=True, eq=False)
class Event(Generic[PayloadT]):
    """A gateway dispatch event: its payload, and the conditions under which sessions receive it."""

    name: str
    """Name of the event, such as MESSAGE_CREATE."""
    payload: type[PayloadT]
    """Type of the payload."""
    summary: str = ""
    """Condition under which the event is sent, as a sentence for the API reference; empty for internal events."""
    intents: int = 0
    """Intents, one of which is required in guilds; 0 for none."""
    dm_intents: int | None = None
    """Intents, one of which is required outside guilds; None for the same as in guilds."""
    scope: str = ""
    """OAuth2 scope that an OAuth2 session requires to receive the event; empty for none."""
    is_webhook_event: bool = False
    """Whether the event is also sent as a webhook event."""


@dataclass(frozen=True, eq=False)
class Command(Generic[PayloadT]):
    """A gateway command that a client may send after Identify."""

    name: str
    """Name of the command, such as REQUEST_GUILD_MEMBERS."""
    opcode: int
    """Opcode of the frames that contain the command; a `GatewayOpcode`."""
    payload: type[PayloadT]
    """Type of the payload."""
    allows_bots: bool = True
    """Whether bots may send the command; if False, their connection is closed with UNKNOWN_OPCODE."""


def operations_of(module: ModuleType) -> Iterator[tuple[str, Operation[Any, Any]]]:
    """Yield the operations that a module declares, with their documented IDs."""
    for name, member in vars(module).items():
        if isinstance(member, Operation):
            yield name.lower(), member


def events_of(module: ModuleType) -> Iterator[Event[Any]]:
    """Yield the events that a module declares."""
    for member in vars(module).values():
        if isinstance(member, Event):
            yield member

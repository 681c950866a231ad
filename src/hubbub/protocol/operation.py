"""What can be said, as data: operations (HTTP), events and commands (gateway).

An `Operation` states the whole contract of one HTTP call. The HTTP door takes routing, decoding, authentication, the permission
check and the rate-limit bucket from it; the SDK takes the URL, the body and the result type; the reference and the OpenAPI file
take everything. Its documented id is the constant's name in lower case (`CREATE_MESSAGE` is `create_message`), which
`operations_of` reads from the module that holds it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Flag, auto
from string import Formatter
from types import ModuleType, NoneType
from typing import TYPE_CHECKING, Any, Generic

from hubbub.protocol.errors import ErrorCode
from hubbub.protocol.images import ImageData

if TYPE_CHECKING:
    # Only checkers need the defaults, which Python has itself from 3.13 on: no reason to make games carry a library.
    from typing_extensions import TypeVar

    # And a game that names no enum need not make them all.
    from hubbub.protocol.enums import AuditLogAction

    BodyT = TypeVar("BodyT", default=None)
    ResultT = TypeVar("ResultT", default=None)
    PayloadT = TypeVar("PayloadT", default=Any)
else:
    from typing import TypeVar

    BodyT, ResultT, PayloadT = map(TypeVar, ("BodyT", "ResultT", "PayloadT"))


class Auth(Flag):
    """Which kinds of caller an operation admits."""

    NONE = 0
    BOT = auto()
    USER = auto()
    """A person's own token, sent without a prefix."""
    BEARER = auto()
    """An OAuth2 access token; `scopes` says which one suffices."""
    ANYONE = auto()
    """Also nobody: the call works without a token."""


@dataclass(frozen=True, slots=True)
class RateLimit:
    """So many calls in so many seconds, counted for each value of a path parameter."""

    calls: int
    seconds: float
    per: str | None = None
    """`channel_id`, `guild_id`, `webhook_id`; None takes the first of these that the path has."""
    bucket: str | None = None
    """Operations that name the same bucket share it."""
    code: ErrorCode | None = None
    """The error code in the 429 body, where the platform gives one."""
    ages: tuple[float, ...] = ()
    """Seconds: below, between and above these, the thing that the path's last id names has a bucket of its own by its age."""


DEFAULT_LIMIT = RateLimit(5, 5.0)

APPROVAL_WINDOW_SECONDS = 7200
"""What caps before approval are counted in (sdk.md 16)."""


@dataclass(frozen=True, slots=True)
class Uploads:
    """That an operation takes multipart bodies: `payload_json` or flat fields, and files."""

    field: str = "files"
    """`files` admits `files[n]` (and the old `file`); another word admits exactly that part."""
    most: int = 10
    keep: bool = True
    """Whether the door puts the files into the file store; False where their content is only read."""
    largest: int = 0
    """Bytes of a file that some caller may send where that is more than the configured limit; the operation then decides."""
    required: bool = False
    """Whether there must be a file: its absence is told together with what is wrong with the body."""
    image: type[ImageData] | None = None
    """That a file is a picture of this kind: the door writes it anew, keeps it under its hash and gives it as `Upload.image`."""


@dataclass(frozen=True, eq=False)
class Operation(Generic[BodyT, ResultT]):
    """One HTTP call: its method, path, shapes, who may make it, and what may come of it."""

    method: str
    path: str
    body: type[BodyT] = NoneType  # type: ignore[assignment]
    """The JSON body's type; NoneType where there is none."""
    result: type[ResultT] = NoneType  # type: ignore[assignment]
    """What a success carries; NoneType answers 204."""
    query: Any = NoneType
    """A Struct of query parameters."""
    status: int = 0
    """The success status; 0 means 200, or 204 without a result."""
    also: tuple[int, ...] = ()
    """Further statuses of success that the handler may choose: 204 for what is there already, 202 for what takes time."""
    auth: Auth = Auth.BOT | Auth.USER
    scopes: tuple[str, ...] = ()
    """Any of these admits a bearer token."""
    publishers: bool = False
    """Whether a publisher's own token suffices, which otherwise only gets its games theirs (sdk.md 8.7)."""
    needs: int = 0
    """Permission bits the caller must all hold in the channel (or guild) of the path."""
    raises: tuple[ErrorCode, ...] = ()
    refusal: Any = NoneType
    """A form that refusals may have besides the platform's own."""
    emits: tuple["Event[Any]", ...] = ()
    """The events that a success may say. Not among them: the audit log's entry, GUILD_CREATE or GUILD_DELETE to one who came or
    went, and what other resources make of the fact."""
    audits: tuple["AuditLogAction", ...] = ()
    """The entries that a success may write into the guild's audit log."""
    limit: RateLimit | None = DEFAULT_LIMIT
    """None: no bucket and no bucket headers."""
    cap: int = 0
    """Calls in APPROVAL_WINDOW_SECONDS that an application makes before it is approved for the social layer; 0: no matter."""
    uploads: Uploads | None = None
    form: bool = False
    """Takes application/x-www-form-urlencoded instead of JSON."""
    optional_body: bool = False
    """An absent body means an empty object."""
    headers: tuple[str, ...] = ()
    """Headers of the request that the handler reads from `call.headers`."""
    body_of: tuple[str, frozenset[str]] | None = None
    """A header, and the values with which the body is read; with another it may be anything, and the handler is given None."""
    media_type: str = "application/json"
    """What a success is; anything but JSON means the handler returns bytes."""
    tags: tuple[str, ...] = field(default=())

    @property
    def success(self) -> int:
        """The status of a plain success."""
        return self.status or (204 if self.result is NoneType else 200)

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names in the path, in order."""
        return tuple(name for _, name, _, _ in Formatter().parse(self.path) if name)

    def url(self, **values: object) -> str:
        """The path with its parameters filled in."""
        return self.path.format(**values)


@dataclass(frozen=True, eq=False)
class Event(Generic[PayloadT]):
    """One gateway dispatch: its name, its payload, and the intents that ask for it."""

    name: str
    payload: type[PayloadT]
    intents: int = 0
    """Any of these bits suffices in a guild; 0: sent to everybody concerned."""
    dm_intents: int | None = None
    """The bits outside guilds; None: the same as in guilds."""
    scope: str = ""
    """What an OAuth2 session must have been granted to hear it, where it names users."""
    webhook: bool = False
    """Also leaves as an outgoing webhook event."""


@dataclass(frozen=True, eq=False)
class Command(Generic[PayloadT]):
    """One thing a client may say on the gateway after it identified."""

    name: str
    opcode: int
    payload: type[PayloadT]
    bots: bool = True
    """False: only people's and OAuth2 sessions; a bot is closed with 4001."""


def operations_of(module: ModuleType) -> Iterator[tuple[str, Operation[Any, Any]]]:
    """The operations a module declares, with their documented ids."""
    for name, value in vars(module).items():
        if isinstance(value, Operation):
            yield name.lower(), value


def events_of(module: ModuleType) -> Iterator[Event[Any]]:
    """The events a module declares."""
    for value in vars(module).values():
        if isinstance(value, Event):
            yield value

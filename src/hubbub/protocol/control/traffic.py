"""The traffic of a rehearsal, dated changes, the world without tokens, and links: the operations of the console."""

from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from hubbub.protocol import errors
from hubbub.protocol.control.declaration import control_operation
from hubbub.protocol.control.trace import Outcome
from hubbub.protocol.ids import ApplicationId, ChannelId, GuildId, Timestamp, UserId

TRAFFIC_ENTRIES_MAX: Final = 10_000
"""Maximum number of stored entries."""

TrafficKind = Literal["http", "gateway", "interaction", "webhook", "voice", "control"]
"""The part of the platform that an entry belongs to."""


class RateLimitBudget(msgspec.Struct, frozen=True, kw_only=True):
    """The rate limit of a route, from the headers of the response."""

    bucket: str
    limit: int
    remaining: int
    """Number of further requests until the reset."""
    reset_after: float
    """Seconds until the reset."""


class TrafficEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A request, event, frame or closed connection, without its payload."""

    id: int
    """Number of the entry; later entries have higher numbers."""
    at: Timestamp
    """Time of the platform's clock."""
    kind: TrafficKind
    direction: Literal["in", "out"]
    """`in` for requests and frames of clients, `out` for events, frames to one client, closes and requests to applications."""
    summary: str
    """Method and path template, name of the event, or name of the frame."""
    user_id: UserId | None = None
    """The user or bot that sent the request or frame, or to which the frame was sent; null if there is none."""
    status: int | None = None
    """HTTP status or close code; null for events and frames, and for requests without a response."""
    milliseconds: float | None = None
    """Duration of a request; null for other entries."""
    bytes: int = 0
    """Size of the payload in bytes; for a request, of both bodies."""
    request_id: str | None = None
    """The X-Request-Id of the request; null for other entries."""
    cause: str | None = None
    """The X-Request-Id of the request that caused an event; null if it is unknown."""
    guild_id: GuildId | None = None
    channel_id: ChannelId | None = None
    delivered: int | None = None
    """Number of sessions that received an event; null for other entries."""
    missed: int | None = None
    """Number of sessions in the guild, or of the user, that did not receive an event; null for other entries."""
    rate_limit: RateLimitBudget | None = None
    """The rate limit after a request; null if the route has none."""
    note: str | None = None
    """An error, the reason of a close, or the number of the repeated entry; null for most entries."""


class TrafficQuery(msgspec.Struct, kw_only=True):
    """Query parameters for reading the traffic."""

    after: Annotated[int, Meta(ge=0)] = 0
    """ID of the entry after which entries are returned."""
    kinds: str = ""
    """Kinds of the entries, separated by commas; empty for all kinds."""
    user_id: UserId | None = None
    """ID of the user or bot that sent, received or missed the entries; null for all users."""
    text: Annotated[str, Meta(max_length=200)] = ""
    """Text that the summary contains, in any letter case."""
    failed: bool = False
    """Whether only rejected and failed requests, closed connections and events that a session missed are returned."""
    limit: Annotated[int, Meta(ge=1, le=TRAFFIC_ENTRIES_MAX)] = TRAFFIC_ENTRIES_MAX
    """Maximum number of entries; the newest are returned."""


class RevealQuery(msgspec.Struct, kw_only=True):
    """Query parameters for reading an entry."""

    reveal: bool = False
    """Whether tokens, passwords and other secrets are returned instead of masked."""


class SetTraffic(msgspec.Struct, kw_only=True):
    """Whether to record the traffic."""

    on: bool


class TrafficState(msgspec.Struct, kw_only=True):
    """The state of the recording of traffic."""

    on: bool
    """Whether traffic is recorded now."""
    last_id: int
    """ID of the newest entry; 0 if there is none."""


class TrafficMessage(msgspec.Struct, kw_only=True):
    """A request or a response."""

    headers: dict[str, str] = {}
    body: str = ""
    """The body as text; binary data is replaced."""


class NamedOutcome(Outcome, frozen=True, kw_only=True):
    """The outcome of an event for one session, with the name of its user."""

    name: str
    """Name of the user or application in the world; the ID of other users."""


class Copies(msgspec.Struct, kw_only=True):
    """An entry in other forms; null for forms that it does not have."""

    curl: str | None
    python: str | None
    javascript: str | None


class TrafficDetails(msgspec.Struct, kw_only=True):
    """An entry of the traffic with its payload."""

    entry: TrafficEntry
    method: str
    """Method of a request; empty for other entries."""
    path: str
    """Path and query of an incoming request, or the URL of an outgoing one; empty for other entries."""
    request: TrafficMessage
    """The request, the payload of the event, or the data of the frame."""
    response: TrafficMessage | None
    """The response; null for entries that are not requests."""
    outcomes: list[NamedOutcome]
    """The sessions that received or missed an event, with the reason."""
    cause: str | None
    """The permission, role or member because of which a request failed, as a sentence; null if it is unknown."""
    can_replay: bool
    """Whether the entry can be sent again."""
    copies: Copies


class ReplayResult(msgspec.Struct, kw_only=True):
    """The result of sending an entry again."""

    status: int | None
    """The HTTP status of the repeated request; null for an event."""


class DatedChange(msgspec.Struct, kw_only=True):
    """A change of the platform's behavior that takes effect on a date."""

    name: str
    at: Timestamp
    at_ms: int
    before: str
    after: str
    active: bool
    """Whether the change is in effect at the time of the clock."""


class SummaryUser(msgspec.Struct, kw_only=True):
    """A user or bot of the world."""

    id: UserId
    name: str
    bot: bool
    application_id: ApplicationId | None
    """ID of the application of a bot; null for users."""
    connected: bool
    """Whether a gateway session of the user has a connection."""


class SummaryChannel(msgspec.Struct, kw_only=True):
    """A channel of a guild."""

    id: ChannelId
    name: str
    type: int


class SummaryGuild(msgspec.Struct, kw_only=True):
    """A guild of the world."""

    id: GuildId
    name: str
    owner_id: UserId
    channels: list[SummaryChannel]
    member_ids: list[UserId]
    """IDs of the members among the users of the world."""


class WorldSummary(msgspec.Struct, kw_only=True):
    """The users, bots and guilds of the world, without tokens."""

    users: list[SummaryUser]
    guilds: list[SummaryGuild]


class ConsoleLink(msgspec.Struct, kw_only=True):
    """A link that opens a page in a browser once."""

    url: str


LIST_TRAFFIC: Final = control_operation("GET", "/traffic", query=TrafficQuery, result=list[TrafficEntry])
SET_TRAFFIC: Final = control_operation("POST", "/traffic", body=SetTraffic, result=TrafficState)
CLEAR_TRAFFIC: Final = control_operation("DELETE", "/traffic")
GET_TRAFFIC_ENTRY: Final = control_operation(
    "GET", "/traffic/{entry_id}", errors.NOT_FOUND, query=RevealQuery, result=TrafficDetails
)
REPLAY_TRAFFIC_ENTRY: Final = control_operation(
    "POST", "/traffic/{entry_id}/replay", errors.NOT_FOUND, errors.BAD_REQUEST, result=ReplayResult
)
LIST_CHANGES: Final = control_operation("GET", "/changes", result=list[DatedChange])
GET_WORLD: Final = control_operation("GET", "/world", result=WorldSummary)
CREATE_CONSOLE_LINK: Final = control_operation("POST", "/console-links", result=ConsoleLink)
CREATE_FORK_CONSOLE_LINK: Final = control_operation(
    "POST", "/forks/{fork_id}/console-links", errors.NOT_FOUND, result=ConsoleLink
)
CREATE_WINDOW: Final = control_operation("POST", "/people/{name}/windows", errors.NOT_FOUND, result=ConsoleLink)

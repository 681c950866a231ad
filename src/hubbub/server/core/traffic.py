"""The traffic of a rehearsal: requests, events, frames and closes in one timeline, for the console and recordings.

It is disabled by default, and transports then only check `is_enabled`. Entries are bounded by number and by size. Readers
keep the ID of the last entry that they have read, so a slow reader needs no memory and misses entries instead.
"""

import asyncio
import itertools
from collections import OrderedDict, deque
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from hubbub.protocol import codec
from hubbub.protocol.control.trace import Outcome
from hubbub.protocol.control.traffic import TRAFFIC_ENTRIES_MAX, TrafficEntry, TrafficKind
from hubbub.protocol.ids import ChannelId, GuildId, Snowflake, UserId
from hubbub.server.core.denials import Denial
from hubbub.server.core.event_dispatch import Dispatch

STORED_BYTES_MAX: Final = 32 * 1024 * 1024
"""Maximum size of all stored bodies in bytes; the oldest entries are removed first."""
BODY_BYTES_MAX: Final = 256 * 1024
"""Maximum size of a stored body in bytes; the rest of a longer body is not stored."""
CAUSES_MAX: Final = 4096
"""Maximum number of events whose request is known until they are delivered."""

PERSON_HEADER: Final = "X-Hubbub-Person"
"""Header of the requests and connections of people of the control API."""


class TrafficStart(msgspec.Struct, frozen=True):
    """The moment at which a request or frame arrived."""

    newest_entry_id: int
    """ID of the newest entry of the traffic; 0 if there is none."""
    now_ms: int
    """Time of the platform's clock in Unix milliseconds."""


class TrafficContent(msgspec.Struct, frozen=True, kw_only=True):
    """The payload of an entry, and everything that is needed to send it again. It may contain secrets."""

    method: str = ""
    path: str = ""
    """Path and query of an incoming request, or the URL of an outgoing one."""
    route: str = ""
    """Path template of an incoming request."""
    parameters: Mapping[str, Snowflake] = {}
    """IDs in the path of an incoming request, by parameter."""
    denial: Denial | None = None
    """Why the caller of an incoming request lacked permission; None for other requests."""
    headers: Mapping[str, str] = {}
    """Headers of the request that are needed to send it again."""
    body: bytes = b""
    """Body of a request, payload of an event, or data of a frame."""
    response_headers: Mapping[str, str] = {}
    response_body: bytes = b""
    outcomes: tuple[Outcome, ...] = ()
    """The outcomes of an event for each session."""
    dispatch: Dispatch | None = None
    """The event; None for other entries."""
    connection: int = 0
    """Number of the connection of a frame; 0 for other entries."""
    start: TrafficStart | None = None
    """The moment at which a request or frame arrived, or at which an outgoing request was sent; None for other entries."""
    is_person: bool = False
    """Whether a person of the control API sent the request or frame, so that a control request caused it."""


class TrafficRecord(msgspec.Struct, frozen=True):
    """An entry with its content."""

    entry: TrafficEntry
    content: TrafficContent


class Traffic:
    """The latest entries of one process, oldest first."""

    def __init__(
        self,
        now_ms: Callable[[], int],
        entries_max: int = TRAFFIC_ENTRIES_MAX,
        stored_bytes_max: int = STORED_BYTES_MAX,
    ) -> None:
        """Create a disabled traffic log; `now_ms` returns the time of the platform's clock in Unix milliseconds."""
        self.is_enabled = False
        self._now_ms = now_ms
        self._records: deque[TrafficRecord] = deque()
        self._entries_max = entries_max
        self._stored_bytes_max = stored_bytes_max
        self._stored_bytes = 0
        self._last_id = 0
        self._causes_by_dispatch_id: OrderedDict[int, tuple[Dispatch, str]] = OrderedDict()
        self._follower_wakeups: set[asyncio.Event] = set()
        self.listeners: list[Callable[[TrafficRecord], None]] = []
        """Functions that are called with each new record and its complete bodies, such as the one that writes a recording."""

    @property
    def last_id(self) -> int:
        """The ID of the newest entry, or 0."""
        return self._last_id

    def mark_start(self) -> TrafficStart:
        """Return the current moment, for a request or frame that arrives now."""
        return TrafficStart(self._last_id, self._now_ms())

    def add(self, content: TrafficContent, **fields: Any) -> TrafficEntry:
        """Add an entry; `fields` are those of `TrafficEntry` except the ID, the time and the size."""
        self._last_id += 1
        payload_bytes = len(content.body) + len(content.response_body)
        entry = TrafficEntry(id=self._last_id, at=codec.timestamp(self._now_ms()), bytes=payload_bytes, **fields)
        record = TrafficRecord(entry, _shorten(content))
        for listener in self.listeners:
            listener(TrafficRecord(entry, content))
        self._records.append(record)
        self._stored_bytes += _stored_bytes_of(record)
        while len(self._records) > self._entries_max or self._stored_bytes > self._stored_bytes_max:
            self._stored_bytes -= _stored_bytes_of(self._records.popleft())
        for wakeup in self._follower_wakeups:
            wakeup.set()
        return entry

    def add_event(
        self, dispatch: Dispatch, guild_id: int | None, channel_id: int | None, outcomes: list[Outcome]
    ) -> None:
        """Add an event with its outcomes."""
        dispatch_and_request_id = self._causes_by_dispatch_id.get(id(dispatch))
        delivered_count = sum(outcome.delivered for outcome in outcomes)
        self.add(
            TrafficContent(body=dispatch.body, outcomes=tuple(outcomes), dispatch=dispatch),
            kind=_event_kind(dispatch.event),
            direction="out",
            summary=dispatch.event,
            cause=dispatch_and_request_id[1]
            if dispatch_and_request_id is not None and dispatch_and_request_id[0] is dispatch
            else None,
            guild_id=None if guild_id is None else GuildId(guild_id),
            channel_id=None if channel_id is None else ChannelId(channel_id),
            delivered=delivered_count,
            missed=len(outcomes) - delivered_count,
        )

    def add_frame(
        self,
        kind: TrafficKind,
        name: str,
        user_id: UserId | None,
        data: bytes,
        *,
        connection: int,
        is_person: bool = False,
    ) -> None:
        """Add a frame that a client sent; `connection` identifies its connection."""
        content = TrafficContent(body=data, connection=connection, start=self.mark_start(), is_person=is_person)
        self.add(content, kind=kind, direction="in", summary=name, user_id=user_id)

    def add_sent_frame(
        self,
        kind: TrafficKind,
        name: str,
        user_id: int | None,
        data: bytes,
        *,
        connection: int,
        note: str | None = None,
    ) -> None:
        """Add a frame that the platform sent to one client; `connection` identifies its connection."""
        self.add(
            TrafficContent(body=data, connection=connection),
            kind=kind,
            direction="out",
            summary=name,
            user_id=None if user_id is None else UserId(user_id),
            note=note,
        )

    def add_outbound(
        self, content: TrafficContent, *, status: int | None, milliseconds: float, note: str | None
    ) -> None:
        """Add an outbound request, such as an interaction or a webhook event that is sent to an application."""
        host = urlsplit(content.path).netloc
        # Only interactions and webhook events are signed, and only interactions have a token.
        is_interaction = b'"token":' in content.body
        is_signed = any(name.lower() == "x-signature-ed25519" for name in content.headers)
        self.add(
            content,
            kind="interaction" if is_signed and is_interaction else "webhook" if is_signed else "http",
            direction="out",
            summary=f"{content.method} {host}",
            status=status,
            milliseconds=milliseconds,
            note=note,
        )

    def add_close(self, kind: TrafficKind, user_id: UserId | None, code: int | None, reason: str) -> None:
        """Add a connection that the platform closed."""
        self.add(
            TrafficContent(),
            kind=kind,
            direction="out",
            summary="Connection closed",
            user_id=user_id,
            status=code,
            note=reason or None,
        )

    def attribute(self, dispatches: Iterable[Dispatch], request_id: str) -> None:
        """Record the request that caused events, before they are published."""
        for dispatch in dispatches:
            # The dispatch is stored too, so that no other object gets its identity.
            self._causes_by_dispatch_id[id(dispatch)] = (dispatch, request_id)
        while len(self._causes_by_dispatch_id) > CAUSES_MAX:
            self._causes_by_dispatch_id.popitem(last=False)

    def clear(self) -> None:
        """Remove all entries. Their IDs are not used again."""
        self._records.clear()
        self._causes_by_dispatch_id.clear()
        self._stored_bytes = 0

    def find(self, entry_id: int) -> TrafficRecord | None:
        """Return the record of an entry, or None if it is unknown or was removed."""
        if not self._records:
            return None
        index = entry_id - self._records[0].entry.id
        return self._records[index] if 0 <= index < len(self._records) else None

    def after(self, entry_id: int) -> list[TrafficRecord]:
        """Return the stored records after an entry, oldest first."""
        if not self._records:
            return []
        first_index = max(entry_id + 1 - self._records[0].entry.id, 0)
        return list(itertools.islice(self._records, first_index, None))

    async def follow(self, entry_id: int) -> AsyncGenerator[list[TrafficRecord]]:
        """Yield the records after an entry: first the stored ones, possibly none, then new ones as they are added. Never end."""
        wakeup = asyncio.Event()
        self._follower_wakeups.add(wakeup)
        try:
            while True:
                wakeup.clear()
                records = self.after(entry_id)
                if records:
                    entry_id = records[-1].entry.id
                yield records
                await wakeup.wait()
        finally:
            self._follower_wakeups.discard(wakeup)


def request_kind(route: str) -> TrafficKind:
    """Return the kind of a request by its path template."""
    if route.startswith("/interactions/"):
        return "interaction"
    return "webhook" if route.startswith("/webhooks/") else "http"


def _event_kind(event: str) -> TrafficKind:
    if event.startswith("INTERACTION_"):
        return "interaction"
    return "voice" if event.startswith("VOICE_") else "gateway"


def _shorten(content: TrafficContent) -> TrafficContent:
    """Return content whose bodies have at most `BODY_BYTES_MAX` bytes."""
    if len(content.body) <= BODY_BYTES_MAX and len(content.response_body) <= BODY_BYTES_MAX:
        return content
    return msgspec.structs.replace(
        content, body=content.body[:BODY_BYTES_MAX], response_body=content.response_body[:BODY_BYTES_MAX]
    )


def _stored_bytes_of(record: TrafficRecord) -> int:
    return len(record.content.body) + len(record.content.response_body)

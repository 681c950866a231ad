"""The delivery trace: recipients of events, with reasons for non-delivery, rejected requests and closed connections.

It also counts events, requests and intents. It is disabled by default and holds only the latest entries. The gateway and the
HTTP server fill it; while it is disabled they only check `is_enabled`.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from hubbub.protocol.change_uses import ALL_USES
from hubbub.protocol.control.trace import ClosedConnection, Outcome, RejectedRequest, TracedEvent
from hubbub.protocol.ids import ChannelId, GuildId, Snowflake, Timestamp, UserId
from hubbub.protocol.intents import INTENTS_BY_NAME
from hubbub.server.core.denials import Denial
from hubbub.server.core.event_dispatch import Dispatch
from hubbub.server.core.traffic import Traffic

TRACE_ENTRIES_MAX: Final = 1000
"""Maximum number of stored events, and of stored rejected requests and closed connections each."""


class TracedRejection(RejectedRequest, frozen=True, kw_only=True):
    """A rejected request with the facts because of which the caller lacked permission."""

    denial: Denial | None = None
    """The facts; None for other errors."""


class Trace:
    """The latest events with their outcomes, rejected requests and closed connections."""

    def __init__(self, now_ms: Callable[[], int] = lambda: 0, entries_max: int = TRACE_ENTRIES_MAX) -> None:
        """Create a disabled trace; `now_ms` returns the time of the platform's clock for the traffic."""
        self.is_enabled = False
        self.traffic = Traffic(now_ms)
        """The timeline of the console; it receives events only while the trace is enabled."""
        self._events: deque[TracedEvent] = deque(maxlen=entries_max)
        self._rejected_requests: deque[TracedRejection] = deque(maxlen=entries_max)
        self._closed_connections: deque[ClosedConnection] = deque(maxlen=entries_max)
        self._last_number = 0
        self.events: Counter[str] = Counter()
        """Number of events by name, not limited to the latest entries."""
        self.requests: Counter[tuple[str, str, int | None]] = Counter()
        """Number of requests by method, path template and user, not limited to the latest entries."""
        self.requested_intents: dict[int, int] = {}
        """Intents of all sessions of each user, by user ID."""
        self.used_intents: dict[int, int] = {}
        """Intents of the events that were delivered to each user, by user ID."""
        self.delivered_events: dict[int, Counter[str]] = {}
        """Number of events with an intent that were delivered to each user, by user ID and name."""
        self.answered_events: dict[int, set[str]] = {}
        """Names of events after which a user sent a request, by user ID."""
        self.uses: dict[int | None, set[str]] = {}
        """Uses of the platform by user ID, as in `protocol/change_uses.py`; None for requests without a user."""
        self._unanswered_events: dict[int, set[str]] = {}
        """Names of events that were delivered to a user since the latest request of the user, by user ID."""

    def count_request(self, method: str, route: str, user_id: int | None) -> None:
        """Record a request of any status, also of callers that are not users of the world."""
        self.requests[method, route, user_id] += 1
        if user_id in self.delivered_events:
            self.answered_events.setdefault(user_id, set()).update(self._unanswered_events.pop(user_id, ()))

    def record_uses(self, user_id: int | None, uses: Iterable[str]) -> None:
        """Record uses of the platform that a dated change concerns; ignore other uses, of which clients can invent any number."""
        self.uses.setdefault(user_id, set()).update(use for use in uses if use in ALL_USES)

    def record_intents(self, user_id: int, intents: int) -> None:
        """Record the intents of a new session."""
        self.requested_intents[user_id] = self.requested_intents.get(user_id, 0) | intents
        self.record_uses(user_id, (f"intent {name}" for name, bit in INTENTS_BY_NAME.items() if intents & bit))

    def count_delivery(self, user_id: int, event: str, intents: int) -> None:
        """Record the name and the intents of an event that was delivered to a user.

        An event without an intent is only recorded as a use, because no application can do without it."""
        self.record_uses(user_id, (f"event {event}",))
        if intents:
            self.used_intents[user_id] = self.used_intents.get(user_id, 0) | intents
            self.delivered_events.setdefault(user_id, Counter())[event] += 1
            self._unanswered_events.setdefault(user_id, set()).add(event)

    def add(
        self,
        at: Timestamp,
        dispatch: Dispatch,
        guild_id: int | None,
        channel_id: int | None,
        outcomes: Iterable[Outcome],
    ) -> None:
        """Record an event."""
        self._last_number += 1
        self.events[dispatch.event] += 1
        outcomes = list(outcomes)
        if self.traffic.is_enabled:
            self.traffic.add_event(dispatch, guild_id, channel_id, outcomes)
        self._events.append(
            TracedEvent(
                number=self._last_number,
                at=at,
                event=dispatch.event,
                guild_id=None if guild_id is None else GuildId(guild_id),
                channel_id=None if channel_id is None else ChannelId(channel_id),
                outcomes=outcomes,
            )
        )

    def add_rejected(
        self,
        at: Timestamp,
        method: str,
        route: str,
        parameters: dict[str, Snowflake],
        user_id: int | None,
        status: int,
        body: bytes | None,
        denial: Denial | None = None,
    ) -> None:
        """Record a rejected request; `denial` is why the caller lacked permission, or None for other errors."""
        self._last_number += 1
        self._rejected_requests.append(
            TracedRejection(
                number=self._last_number,
                at=at,
                method=method,
                route=route,
                parameters=parameters,
                user_id=None if user_id is None else UserId(user_id),
                status=status,
                body=msgspec.Raw(body or b"null"),
                denial=denial,
            )
        )

    def add_closed(self, at: Timestamp, user_id: int | None, code: int, reason: str, cause: str | None) -> None:
        """Record a closed connection."""
        self._last_number += 1
        user = None if user_id is None else UserId(user_id)
        self._closed_connections.append(
            ClosedConnection(number=self._last_number, at=at, user_id=user, code=code, reason=reason, cause=cause)
        )

    def clear(self) -> None:
        """Remove all entries and reset all counters; the traffic is kept."""
        for entries in (self._events, self._rejected_requests, self._closed_connections):
            entries.clear()
        for counts in (self.events, self.requests, self.requested_intents, self.used_intents):
            counts.clear()
        for names in (self.delivered_events, self.answered_events, self._unanswered_events):
            names.clear()
        self.uses.clear()

    def find_closed(self, *, user_id: int | None = None, after: int = 0) -> list[ClosedConnection]:
        """Return closed connections, oldest first, optionally only of one user and after a number."""
        return [
            connection
            for connection in self._closed_connections
            if connection.number > after and user_id in (None, connection.user_id)
        ]

    def find_rejected(self, *, user_id: int | None = None, after: int = 0) -> list[TracedRejection]:
        """Return rejected requests, oldest first, optionally only of one user and after a number."""
        return [
            request
            for request in self._rejected_requests
            if request.number > after and user_id in (None, request.user_id)
        ]

    def find(self, *, event: str | None = None, user_id: int | None = None, after: int = 0) -> list[TracedEvent]:
        """Return events after a number, oldest first, optionally only of one name and with the outcomes of one user."""
        traced_events = [
            traced_event
            for traced_event in self._events
            if traced_event.number > after and (event is None or traced_event.event == event)
        ]
        if user_id is None:
            return traced_events
        return [
            msgspec.structs.replace(
                traced_event, outcomes=[outcome for outcome in traced_event.outcomes if outcome.user_id == user_id]
            )
            for traced_event in traced_events
        ]

"""The delivery trace: which sessions got an event, and why the others did not; and which calls were refused and
which connections closed.

It is off until somebody asks, keeps the latest only, and is filled by the gateway and the HTTP door, which look at `on` and at
nothing else while it is off.
"""

from collections import deque
from collections.abc import Iterable
from typing import Final

import msgspec

from hubbub.protocol.ids import ChannelId, GuildId, Timestamp, UserId

MOST: Final = 1000
"""Events that are remembered, and as many refused calls and closed connections."""

DELIVERED: Final = "delivered"
REDACTED: Final = "delivered without message content"


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What became of an event for one session."""

    session_id: str
    user_id: UserId
    outcome: str
    """`delivered`, `delivered without message content`, or why it was not."""

    @property
    def delivered(self) -> bool:
        """Whether the session got it in some form."""
        return self.outcome in (DELIVERED, REDACTED)


class Traced(msgspec.Struct, frozen=True, kw_only=True):
    """An event as this node's gateway handled it."""

    number: int
    at: Timestamp
    event: str
    guild_id: GuildId | None
    channel_id: ChannelId | None
    outcomes: list[Outcome]


class RefusedCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call over HTTP that was answered with an error."""

    number: int
    """Counted together with the events, so that one can tell what came first."""
    at: Timestamp
    method: str
    route: str
    """As the reference writes it, since a path may hold a token."""
    user_id: UserId | None
    status: int
    body: msgspec.Raw
    """What the caller was told."""


class ClosedConnection(msgspec.Struct, frozen=True, kw_only=True):
    """A gateway connection that the platform closed."""

    number: int
    at: Timestamp
    user_id: UserId | None
    """Null: nobody had identified."""
    code: int
    reason: str


class Trace:
    """The latest events and what became of them."""

    def __init__(self, most: int = MOST) -> None:
        self.on = False
        self._events: deque[Traced] = deque(maxlen=most)
        self._refused: deque[RefusedCall] = deque(maxlen=most)
        self._closed: deque[ClosedConnection] = deque(maxlen=most)
        self._number = 0

    def add(
        self, at: Timestamp, event: str, guild_id: int | None, channel_id: int | None, outcomes: Iterable[Outcome]
    ) -> None:
        """Remember an event."""
        self._number += 1
        self._events.append(
            Traced(
                number=self._number,
                at=at,
                event=event,
                guild_id=None if guild_id is None else GuildId(guild_id),
                channel_id=None if channel_id is None else ChannelId(channel_id),
                outcomes=list(outcomes),
            )
        )

    def add_refused(
        self, at: Timestamp, method: str, route: str, user_id: int | None, status: int, body: bytes | None
    ) -> None:
        """Remember a call that was refused."""
        self._number += 1
        self._refused.append(
            RefusedCall(
                number=self._number,
                at=at,
                method=method,
                route=route,
                user_id=None if user_id is None else UserId(user_id),
                status=status,
                body=msgspec.Raw(body or b"null"),
            )
        )

    def add_closed(self, at: Timestamp, user_id: int | None, code: int, reason: str) -> None:
        """Remember a connection that was closed."""
        self._number += 1
        who = None if user_id is None else UserId(user_id)
        self._closed.append(ClosedConnection(number=self._number, at=at, user_id=who, code=code, reason=reason))

    def clear(self) -> None:
        """Forget everything."""
        self._events.clear()
        self._refused.clear()
        self._closed.clear()

    def find_closed(self, *, user_id: int | None = None, after: int = 0) -> list[ClosedConnection]:
        """The closed connections, oldest first: of one user, after a number."""
        return [one for one in self._closed if one.number > after and user_id in (None, one.user_id)]

    def find_refused(self, *, user_id: int | None = None, after: int = 0) -> list[RefusedCall]:
        """The refused calls, oldest first: of one user, after a number."""
        return [one for one in self._refused if one.number > after and user_id in (None, one.user_id)]

    def find(self, *, event: str | None = None, user_id: int | None = None, after: int = 0) -> list[Traced]:
        """The events, oldest first: of one name, as far as they concern one user, after a number."""
        found = [one for one in self._events if one.number > after and (event is None or one.event == event)]
        if user_id is None:
            return found
        return [
            msgspec.structs.replace(one, outcomes=[each for each in one.outcomes if each.user_id == user_id])
            for one in found
        ]

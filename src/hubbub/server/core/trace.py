"""The delivery trace: which sessions got an event, and why the others did not.

It is off until somebody asks, keeps the latest events only, and is filled by the gateway, which looks at `on` and at nothing
else while it is off.
"""

from collections import deque
from collections.abc import Iterable
from typing import Final

import msgspec

from hubbub.protocol.ids import ChannelId, GuildId, Timestamp, UserId

MOST: Final = 1000
"""Events that are remembered."""

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


class Trace:
    """The latest events and what became of them."""

    def __init__(self, most: int = MOST) -> None:
        self.on = False
        self._events: deque[Traced] = deque(maxlen=most)
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

    def clear(self) -> None:
        """Forget all events."""
        self._events.clear()

    def find(self, *, event: str | None = None, user_id: int | None = None, after: int = 0) -> list[Traced]:
        """The events, oldest first: of one name, as far as they concern one user, after a number."""
        found = [one for one in self._events if one.number > after and (event is None or one.event == event)]
        if user_id is None:
            return found
        return [
            msgspec.structs.replace(one, outcomes=[each for each in one.outcomes if each.user_id == user_id])
            for one in found
        ]

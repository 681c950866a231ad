"""Outcomes of events in the delivery trace and the traffic."""

import msgspec

from hubbub.protocol.delivery_outcomes import DELIVERED, REDACTED
from hubbub.protocol.ids import UserId


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of an event for one session."""

    session_id: str
    user_id: UserId
    outcome: str
    """`delivered`, `delivered without message content`, or the reason why it was not delivered."""

    @property
    def delivered(self) -> bool:
        """Whether the session received the event in any form."""
        return self.outcome in (DELIVERED, REDACTED)

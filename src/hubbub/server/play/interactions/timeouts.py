"""Timeouts of unanswered interactions; one job fails all interactions of the same interval."""

from typing import Final

import msgspec

from hubbub.protocol.resources.interactions import RESPONSE_TIMEOUT_MS
from hubbub.server.core.call import Call

EXPIRE: Final = "interactions.expire"
GRANULARITY_MS: Final = 250
"""Granularity of the timeout that users see; applications get the exact limit."""


class InteractionExpiry(msgspec.Struct):
    """Payload of the timeout job: interactions created before this time must have been answered."""

    asked_before_ms: int


def due_ms(now: int) -> int:
    """Return when an interaction created now times out.

    Times are rounded up so that one job serves many interactions; one job per interaction would double its cost."""
    return -(-(now + RESPONSE_TIMEOUT_MS + 1) // GRANULARITY_MS) * GRANULARITY_MS


def job_key(due_ms: int) -> str:
    """Return the job key of a timeout interval."""
    return f"interactions-{due_ms}"


def schedule(call: Call) -> None:
    """Schedule the timeout of interactions created now.

    The caller has already checked that the job does not exist (`store.load_invocation`)."""
    due = due_ms(call.now)
    call.tx.enqueue(EXPIRE, InteractionExpiry(asked_before_ms=due - RESPONSE_TIMEOUT_MS), due_ms=due, key=job_key(due))

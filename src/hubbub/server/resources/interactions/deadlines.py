"""Timeouts of unanswered interactions; one job fails all interactions of the same interval."""

from typing import Final

import msgspec

from hubbub.protocol.resources.interactions import ANSWER_MS
from hubbub.server.core.call import Call

EXPIRE: Final = "interactions.expire"
TOGETHER_MS: Final = 250
"""Granularity of the timeout that users see; applications get the exact limit."""


class Expiry(msgspec.Struct):
    """Payload of the timeout job: interactions created before this time must have been answered."""

    asked_before_ms: int


def due_ms(now: int) -> int:
    """Return when an interaction created now times out.

    Times are rounded up so that one job serves many interactions; one job per interaction would double its cost."""
    return -(-(now + ANSWER_MS + 1) // TOGETHER_MS) * TOGETHER_MS


def key(due_ms: int) -> str:
    """Return the job key of a timeout interval."""
    return f"interactions-{due_ms}"


def watch(call: Call) -> None:
    """Schedule the timeout of interactions created now.

    The caller has already checked that the job does not exist (`store.reach`)."""
    due = due_ms(call.now)
    call.tx.enqueue(EXPIRE, Expiry(asked_before_ms=due - ANSWER_MS), due_ms=due, key=key(due))

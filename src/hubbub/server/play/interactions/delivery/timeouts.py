"""Timeouts of unanswered interactions; one job fails all interactions of the same interval."""

from typing import Final

import msgspec

from hubbub.protocol.resources.interactions import RESPONSE_TIMEOUT_MS
from hubbub.server.core.call import Call

EXPIRE_JOB: Final = "interactions.expire"
"""Kind of the job that fails unanswered interactions."""
GRANULARITY_MS: Final = 250
"""Granularity in milliseconds of the timeout that users see; for applications the limit is exact."""


class InteractionExpiry(msgspec.Struct):
    """Payload of the timeout job."""

    created_before_ms: int
    """Unix time in milliseconds. The job fails unanswered interactions created shortly before this time."""


def compute_due_ms(now_ms: int) -> int:
    """Return the Unix time in milliseconds when an interaction created at `now_ms` times out.

    Times are rounded up so that one job serves many interactions; a job per interaction would double the cost of an
    interaction."""
    return -(-(now_ms + RESPONSE_TIMEOUT_MS + 1) // GRANULARITY_MS) * GRANULARITY_MS


def job_key(due_ms: int) -> str:
    """Return the key of the timeout job that runs at `due_ms`."""
    return f"interactions-{due_ms}"


def schedule(call: Call) -> None:
    """Schedule the timeout of interactions created now.

    The calling code must have checked that the job does not exist (`store.load_invocation`)."""
    due_at_ms = compute_due_ms(call.now_ms)
    call.tx.enqueue(
        EXPIRE_JOB,
        InteractionExpiry(created_before_ms=due_at_ms - RESPONSE_TIMEOUT_MS),
        due_ms=due_at_ms,
        key=job_key(due_at_ms),
    )

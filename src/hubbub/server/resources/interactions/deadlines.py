"""When what was asked must have been answered: one job gives up all that was asked within a moment and was not."""

from typing import Final

import msgspec

from hubbub.protocol.resources.interactions import ANSWER_MS
from hubbub.server.core.call import Call

EXPIRE: Final = "interactions.expire"
TOGETHER_MS: Final = 250
"""So finely the three seconds are counted for the person; for the app they are exact."""


class Expiry(msgspec.Struct):
    """Until when what was asked shortly before must have been answered by now."""

    asked_before_ms: int


def due_ms(now: int) -> int:
    """When what is asked now is given up: most is answered, and a job for each would cost as much as the rest."""
    return -(-(now + ANSWER_MS + 1) // TOGETHER_MS) * TOGETHER_MS


def key(due_ms: int) -> str:
    """The key of the job of a moment."""
    return f"interactions-{due_ms}"


def watch(call: Call) -> None:
    """Give up later what is asked now; whether the job for it waits already was asked before (`store.reach`)."""
    due = due_ms(call.now)
    call.tx.enqueue(EXPIRE, Expiry(asked_before_ms=due - ANSWER_MS), due_ms=due, key=key(due))

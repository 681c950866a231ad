"""Rejections with side effects: the operation is rolled back, and then the side effects are committed.

A message that auto moderation blocks must leave nothing behind (no thread, no nonce, no event), but the alert to the
moderators and the author's timeout must be stored. So the operation raises a `RejectedWithSideEffects` with a callback. The
code that ran the transaction runs the callback in another transaction before it reports the error to the caller.
"""

from collections.abc import Callable
from typing import Any

from hubbub.protocol.errors import ApiError, ErrorCode
from hubbub.server.core.call import Call
from hubbub.server.core.store import Database, Tx


class RejectedWithSideEffects(ApiError):
    """An API error with side effects: `raise RejectedWithSideEffects(errors.X, callback)`.

    The callback `side_effects` runs after the rollback, with a call of the same actor and time. The state may have changed
    by then, so the callback must load the rows that it needs. Like any unit of work it may run more than once."""

    def __init__(self, error_code: ErrorCode, side_effects: Callable[[Call], None], **extra: Any) -> None:
        super().__init__(error_code, extra=extra)
        self.side_effects = side_effects


async def run_side_effects(
    rejection: RejectedWithSideEffects, database: Database, make_call: Callable[[Tx], Call]
) -> None:
    """Commit the side effects of a rejection; the caller then raises the rejection."""
    await database.write(lambda tx: rejection.side_effects(make_call(tx)))

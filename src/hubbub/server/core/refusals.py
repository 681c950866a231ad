"""A refusal that something follows from: the operation is undone as always, and then what the platform does about it is kept.

A message that auto moderation blocks must leave nothing behind (no thread that was opened for it, no nonce, no event), yet the
moderators' alert and the sender's timeout must stay. So the operation raises a `Refusal` with its aftermath; whoever ran the
transaction runs the aftermath in another one, and only then lets the caller know.
"""

from collections.abc import Callable
from typing import Any

from hubbub.protocol.errors import ApiError, ErrorCode
from hubbub.server.core.call import Call
from hubbub.server.core.store import Database, Tx


class Refusal(ApiError):
    """A refusal with an aftermath: `raise Refusal(errors.X, aftermath)`.

    The aftermath runs once the operation is undone, over a call of the same actor and moment; by then the world may have moved on,
    so it looks again for what it needs. Like any unit of work it may run more than once."""

    def __init__(self, kind: ErrorCode, aftermath: Callable[[Call], None], **extra: Any) -> None:
        super().__init__(kind, extra=extra)
        self.aftermath = aftermath


async def follow(refusal: Refusal, database: Database, make_call: Callable[[Tx], Call]) -> None:
    """Do what follows from a refusal, durably; the caller then raises it."""
    await database.write(lambda tx: refusal.aftermath(make_call(tx)))

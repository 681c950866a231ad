"""Rare deeds, counted durably: what a person or a channel may do only a few times in a long while.

The doors count requests in memory (`core.rate_limits`). A limit such as two renames in ten minutes concerns what a request does,
not that it came, so the operation itself counts it, in its own transaction: a refused or failed deed is not counted.
"""

from hubbub.protocol import errors
from hubbub.protocol.operation import RateLimit
from hubbub.server.core.call import Call


def take(call: Call, kind: str, owner_id: int, limit: RateLimit, *, user_id: int = 0) -> None:
    """Count one deed of this kind; raises the limit's own error (or the general one) where it is one too many.

    Each of the window's places is a row of `slowmodes`, so the table never grows beyond the limit."""
    if call.config.rate_limits != "real":
        return
    window_ms = int(limit.seconds * 1000)
    rows = call.tx.all(
        "SELECT kind, last_ms FROM slowmodes WHERE channel_id = ? AND user_id = ? AND kind LIKE ?",
        owner_id,
        user_id,
        f"{kind}:%",
    )
    moments = dict(rows)
    earliest, place = min((moments.get(f"{kind}:{number}", 0), f"{kind}:{number}") for number in range(limit.calls))
    if earliest + window_ms > call.now:
        refusal = limit.code or errors.RATE_LIMITED
        raise refusal(retry_after=(earliest + window_ms - call.now) / 1000, **{"global": False})
    call.tx.run(
        "INSERT INTO slowmodes (channel_id, user_id, kind, last_ms) VALUES (?, ?, ?, ?) "
        "ON CONFLICT (channel_id, user_id, kind) DO UPDATE SET last_ms = excluded.last_ms",
        owner_id,
        user_id,
        place,
        call.now,
    )

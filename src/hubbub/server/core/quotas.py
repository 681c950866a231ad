"""Durable quotas: actions that a user or a channel may take only a few times within a long period.

The transports count requests in memory (`core.rate_limits`). A limit such as two renames in ten minutes applies to the
action, so the operation counts it in its own transaction: rejected and failed actions are not counted.
"""

from hubbub.protocol import errors
from hubbub.protocol.operation import RateLimit
from hubbub.server.core.call import Call


def consume(call: Call, kind: str, owner_id: int, limit: RateLimit, *, user_id: int = 0) -> None:
    """Count one action of this kind. Raise the limit's own error (or RATE_LIMITED) if the quota is exhausted.

    Each slot of the quota is a row, so the table never grows beyond the limit."""
    if call.config.rate_limits != "real":
        return
    window_ms = int(limit.seconds * 1000)
    rows = call.tx.all(
        "SELECT slot, last_ms FROM quotas WHERE owner_id = ? AND user_id = ? AND slot LIKE ?",
        owner_id,
        user_id,
        f"{kind}:%",
    )
    last_uses = dict(rows)
    earliest, slot = min((last_uses.get(f"{kind}:{number}", 0), f"{kind}:{number}") for number in range(limit.calls))
    if earliest + window_ms > call.now:
        error = limit.code or errors.RATE_LIMITED
        raise error(retry_after=(earliest + window_ms - call.now) / 1000, **{"global": False})
    call.tx.run(
        "INSERT INTO quotas (owner_id, user_id, slot, last_ms) VALUES (?, ?, ?, ?) "
        "ON CONFLICT (owner_id, user_id, slot) DO UPDATE SET last_ms = excluded.last_ms",
        owner_id,
        user_id,
        slot,
        call.now,
    )

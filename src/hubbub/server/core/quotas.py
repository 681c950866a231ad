"""Durable quotas: actions that are allowed only a few times per user or channel within a long period.

The transports count requests in memory (`core.rate_limits`). A limit such as two renames in ten minutes applies to the
action, so the operation counts it in its own transaction: rejected and failed actions are not counted.
"""

from hubbub.protocol import errors
from hubbub.protocol.operation import RateLimit
from hubbub.server.core.call import Call
from hubbub.server.core.store import Tx


def consume_quota(call: Call, kind: str, owner_id: int, limit: RateLimit, *, user_id: int = 0) -> None:
    """Count one action of a kind. Raise the limit's own error (or RATE_LIMITED) if the quota is exhausted.

    Do nothing unless the setting `rate_limits` is `real`. `owner_id` is the ID of the object that has the quota, such
    as a user or channel; with `user_id` each user has a separate quota for it. Each use that the limit allows is a row, which
    is reused after the window, so the table does not grow with the number of actions."""
    if call.config.rate_limits != "real":
        return
    window_ms = int(limit.seconds * 1000)
    rows = call.tx.all(
        "SELECT slot, last_ms FROM quotas WHERE owner_id = ? AND user_id = ? AND slot LIKE ?",
        owner_id,
        user_id,
        f"{kind}:%",
    )
    last_use_by_slot = dict(rows)
    oldest_use_ms, slot = min(
        (last_use_by_slot.get(f"{kind}:{number}", 0), f"{kind}:{number}") for number in range(limit.calls)
    )
    if oldest_use_ms + window_ms > call.now_ms:
        error = limit.code or errors.RATE_LIMITED
        raise error(retry_after=(oldest_use_ms + window_ms - call.now_ms) / 1000, **{"global": False})
    call.tx.run(
        "INSERT INTO quotas (owner_id, user_id, slot, last_ms) VALUES (?, ?, ?, ?) "
        "ON CONFLICT (owner_id, user_id, slot) DO UPDATE SET last_ms = excluded.last_ms",
        owner_id,
        user_id,
        slot,
        call.now_ms,
    )


def delete_quotas(tx: Tx, user_id: int) -> None:
    """Delete the counted actions of a deleted user."""
    tx.run("DELETE FROM quotas WHERE owner_id = ?", user_id)
    tx.run("DELETE FROM quotas WHERE user_id = ?", user_id)

"""Read-only SQL for the audit_log table; `core.audit` writes it."""

from typing import Any, NamedTuple

from hubbub.protocol.resources.audit_log import oldest_entry_id
from hubbub.server.core.store import Tx


class EntryRow(NamedTuple):
    """An audit log entry."""

    id: int
    user_id: int | None
    target_id: int | None
    action_type: int
    changes: str | None
    """JSON list of `AuditLogChange`."""
    options: str | None
    reason: str | None


COLUMNS = ", ".join(EntryRow._fields)


def page(
    tx: Tx,
    guild_id: int,
    now: int,
    *,
    filters: dict[str, int],
    before: int | None,
    after: int | None,
    limit: int,
) -> list[EntryRow]:
    """Return a page of a guild's log.

    Newest first; ascending with `after`. `before` takes precedence over `after` (spec/http.md#1.10)."""
    ascending = after is not None and before is None
    where = ["guild_id = ?", "id >= ?"]
    values: list[Any] = [guild_id, oldest_entry_id(now)]
    for column, value in filters.items():
        where.append(f"{column} = ?")
        values.append(value)
    if before is not None:
        where.append("id < ?")
        values.append(before)
    elif after is not None:
        where.append("id > ?")
        values.append(after)
    order = "ASC" if ascending else "DESC"
    return tx.fetch(
        EntryRow,
        f"SELECT {COLUMNS} FROM audit_log WHERE {' AND '.join(where)} ORDER BY id {order} LIMIT ?",
        *values,
        limit,
    )

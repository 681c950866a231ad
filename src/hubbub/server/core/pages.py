"""Pages of rows by ID, between the bounds `before` and `after` of a request."""

from collections.abc import Sequence
from typing import Any, TypeVar

from hubbub.server.core.store import Tx

RowT = TypeVar("RowT")


def fetch_page(
    tx: Tx,
    row_type: type[RowT],
    select: str,
    where: Sequence[str],
    parameters: Sequence[Any],
    *,
    before: int | None,
    after: int | None,
    limit: int,
) -> list[RowT]:
    """Return the rows of a query that meet all conditions of `where`, in ascending order of their IDs.

    `before` and `after` are exclusive bounds of the ID. With `before` alone, the last `limit` rows before it are returned,
    otherwise the first `limit` rows."""
    conditions, bound_parameters = list(where), list(parameters)
    if before is not None:
        conditions.append("id < ?")
        bound_parameters.append(before)
    if after is not None:
        conditions.append("id > ?")
        bound_parameters.append(after)
    is_descending = before is not None and after is None
    order = "DESC" if is_descending else "ASC"
    rows = tx.fetch(
        row_type, f"{select} WHERE {' AND '.join(conditions)} ORDER BY id {order} LIMIT ?", *bound_parameters, limit
    )
    return rows[::-1] if is_descending else rows

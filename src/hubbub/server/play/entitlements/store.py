"""SQL for the entitlements table."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from hubbub.server.core.pages import fetch_page
from hubbub.server.core.personal_data import Erasure, PersonalColumn
from hubbub.server.core.store import Tx, placeholders

TABLES: Final = ("entitlements",)
"""Tables that only this slice writes."""
PERSONAL_DATA: Final = (
    PersonalColumn(
        column="entitlements.user_id",
        erasure=Erasure.DELETED,
        reason="An entitlement of a guild stays until it ends.",
        export="entitlements",
    ),
)
"""Columns of these tables that contain IDs of users."""


class EntitlementRow(NamedTuple):
    """A stored entitlement: the access of a user or guild to a SKU."""

    id: int
    application_id: int
    sku_id: int
    user_id: int
    """The buyer, also if the entitlement belongs to a guild."""
    guild_id: int | None
    """The guild that may use the SKU, or None if the buyer may."""
    type: int
    """Value of `EntitlementType`."""
    starts_ms: int | None = None
    """Start in Unix milliseconds, or None if the entitlement has always been valid."""
    ends_ms: int | None = None
    """End in Unix milliseconds, or None if there is none."""
    consumed: int = 0
    """1 if the buyer used up a one-time purchase, otherwise 0."""
    deleted: int = 0
    """1 if the entitlement was refunded or deleted, otherwise 0."""
    is_test: int = 0
    """1 if the application created the entitlement for testing and may delete it, otherwise 0."""
    subscription_id: int | None = None
    """The subscription that pays for the entitlement, or None."""


COLUMNS = ", ".join(EntitlementRow._fields)

# The definition of an active entitlement (spec/webhooks-and-interactions.md#7.2). Both parameters of _IS_RUNNING_SQL are the
# current time in milliseconds.
_IS_RUNNING_SQL = "(starts_ms IS NULL OR starts_ms <= ?) AND (ends_ms IS NULL OR ends_ms > ?)"
_IS_ACTIVE_SQL = f"deleted = 0 AND consumed = 0 AND {_IS_RUNNING_SQL}"


def find(tx: Tx, entitlement_id: int) -> EntitlementRow | None:
    """Return an entitlement, deleted ones included, or None."""
    return tx.find(EntitlementRow, f"SELECT {COLUMNS} FROM entitlements WHERE id = ?", entitlement_id)


def insert(tx: Tx, row: EntitlementRow) -> None:
    tx.run(f"INSERT INTO entitlements ({COLUMNS}) VALUES ({placeholders(row)})", *row)


def update(tx: Tx, row: EntitlementRow) -> None:
    """Update the type, the end and the flags of an entitlement."""
    tx.run(
        "UPDATE entitlements SET type = ?, ends_ms = ?, consumed = ?, deleted = ? WHERE id = ?",
        row.type,
        row.ends_ms,
        row.consumed,
        row.deleted,
        row.id,
    )


def list_page(
    tx: Tx,
    application_id: int,
    now_ms: int,
    *,
    user_id: int | None = None,
    guild_id: int | None = None,
    sku_ids: Sequence[int] | None = None,
    before: int | None = None,
    after: int | None = None,
    limit: int,
    excludes_ended: bool = False,
    excludes_deleted: bool = True,
    only_active: bool = False,
) -> list[EntitlementRow]:
    """Return a page of an application's entitlements by ascending ID.

    With `before` and without `after`, the page ends just before the ID `before`. None for `user_id`, `guild_id` and
    `sku_ids` means any. `excludes_ended` and `excludes_deleted` leave such entitlements out; `only_active` also leaves out
    consumed ones and those that have not started."""
    conditions, parameters = ["application_id = ?"], list[Any]([application_id])
    for column, value in (("user_id", user_id), ("guild_id", guild_id)):
        if value is not None:
            conditions.append(f"{column} = ?")
            parameters.append(value)
    if sku_ids is not None:
        conditions.append(f"sku_id IN ({placeholders(sku_ids)})" if sku_ids else "1 = 0")
        parameters += sku_ids
    if excludes_ended:
        conditions.append("(ends_ms IS NULL OR ends_ms > ?)")
        parameters.append(now_ms)
    if excludes_deleted:
        conditions.append("deleted = 0")
    if only_active:
        conditions.append(_IS_ACTIVE_SQL)
        parameters += [now_ms, now_ms]
    select = f"SELECT {COLUMNS} FROM entitlements"
    return fetch_page(tx, EntitlementRow, select, conditions, parameters, before=before, after=after, limit=limit)


def list_active(tx: Tx, application_id: int, user_id: int, guild_id: int | None, now_ms: int) -> list[EntitlementRow]:
    """List the active entitlements of a user and, if `guild_id` is not None, of a guild, by ascending ID."""
    sql = f"SELECT {COLUMNS} FROM entitlements WHERE user_id = ? AND application_id = ? AND guild_id IS NULL AND {_IS_ACTIVE_SQL}"
    parameters = [user_id, application_id, now_ms, now_ms]
    if guild_id is not None:
        sql += f" UNION ALL SELECT {COLUMNS} FROM entitlements WHERE guild_id = ? AND application_id = ? AND {_IS_ACTIVE_SQL}"
        parameters += [guild_id, application_id, now_ms, now_ms]
    return sorted(tx.fetch(EntitlementRow, sql, *parameters))


def list_usable_user_entitlements(
    tx: Tx, application_id: int, user_id: int, now_ms: int, *, sku_ids: Sequence[int] | None, excludes_consumed: bool
) -> list[EntitlementRow]:
    """List a user's own entitlements that have started, have not ended and are not deleted, by ascending ID.

    None for `sku_ids` means any SKU. `excludes_consumed` leaves consumed entitlements out."""
    rows = tx.fetch(
        EntitlementRow,
        f"SELECT {COLUMNS} FROM entitlements WHERE user_id = ? AND application_id = ? AND guild_id IS NULL"
        f" AND deleted = 0 AND {_IS_RUNNING_SQL} ORDER BY id",
        user_id,
        application_id,
        now_ms,
        now_ms,
    )
    return [
        row for row in rows if (sku_ids is None or row.sku_id in sku_ids) and not (excludes_consumed and row.consumed)
    ]


def has_active(tx: Tx, sku_id: int, user_id: int, guild_id: int | None, now_ms: int) -> bool:
    """Return whether a guild, or a user if `guild_id` is None, has an active entitlement to a SKU."""
    holder_condition, holder_id = (
        ("guild_id = ?", guild_id) if guild_id is not None else ("guild_id IS NULL AND user_id = ?", user_id)
    )
    sql = f"SELECT 1 FROM entitlements WHERE sku_id = ? AND {holder_condition} AND {_IS_ACTIVE_SQL} LIMIT 1"
    return tx.value(sql, sku_id, holder_id, now_ms, now_ms) is not None


def list_by_buyer(tx: Tx, user_id: int) -> list[EntitlementRow]:
    """Return all entitlements that a user bought, deleted ones included, by ascending ID."""
    return tx.fetch(EntitlementRow, f"SELECT {COLUMNS} FROM entitlements WHERE user_id = ? ORDER BY id", user_id)


def delete(tx: Tx, entitlement_id: int) -> None:
    tx.run("DELETE FROM entitlements WHERE id = ?", entitlement_id)

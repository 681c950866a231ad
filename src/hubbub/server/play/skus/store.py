"""SQL for the skus table."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from hubbub.protocol.enums import SkuType
from hubbub.protocol.flags import SkuFlags
from hubbub.protocol.ids import ApplicationId, SkuId
from hubbub.server.core.store import Tx, placeholders

TABLES: Final = ("skus",)
"""Tables that only this slice writes."""


UNPUBLISHED: Final = 0
PUBLISHED: Final = 1
DELETED: Final = 2


class SkuRow(NamedTuple):
    """A stored SKU."""

    id: SkuId
    application_id: ApplicationId
    type: int
    name: str
    description: str | None
    flags: int
    price: int
    currency: str
    state: int
    listed: int
    group_id: int | None = None
    """The SUBSCRIPTION_GROUP of a subscription, or None."""

    @property
    def for_guilds(self) -> bool:
        """Return whether the SKU is bought for a guild."""
        return bool(self.flags & SkuFlags.GUILD_SUBSCRIPTION)

    @property
    def is_subscription(self) -> bool:
        """Return whether the SKU is paid every month."""
        return self.type == SkuType.SUBSCRIPTION


COLUMNS = ", ".join(SkuRow._fields)


def find(tx: Tx, sku_id: int) -> SkuRow | None:
    """Return a SKU, or None."""
    row = tx.one(f"SELECT {COLUMNS} FROM skus WHERE id = ?", sku_id)
    return None if row is None else _row(row)


def find_many(tx: Tx, sku_ids: Iterable[int]) -> dict[int, SkuRow]:
    """Return those of the SKUs that exist, by ID."""
    wanted = list(dict.fromkeys(sku_ids))
    if not wanted:
        return {}
    rows = tx.all(f"SELECT {COLUMNS} FROM skus WHERE id IN ({placeholders(wanted)})", *wanted)
    return {row.id: row for row in map(_row, rows)}


def list_of_application(tx: Tx, application_id: int) -> list[SkuRow]:
    """Return all SKUs of an application by ascending ID, including groups and deleted SKUs."""
    return [
        _row(row) for row in tx.all(f"SELECT {COLUMNS} FROM skus WHERE application_id = ? ORDER BY id", application_id)
    ]


def insert(tx: Tx, row: SkuRow) -> None:
    """Insert a SKU."""
    tx.run(f"INSERT INTO skus ({COLUMNS}) VALUES ({placeholders(row)})", *row)


def update(tx: Tx, row: SkuRow) -> None:
    """Update a SKU. Its group gets the same name and state."""
    tx.run(
        "UPDATE skus SET name = ?, description = ?, price = ?, currency = ?, state = ?, listed = ? WHERE id = ?",
        row.name,
        row.description,
        row.price,
        row.currency,
        row.state,
        row.listed,
        row.id,
    )
    if row.group_id is not None:
        tx.run("UPDATE skus SET name = ?, state = ? WHERE id = ?", row.name, row.state, row.group_id)


def _row(row: tuple[object, ...]) -> SkuRow:
    found = SkuRow(*row)  # type: ignore[arg-type]
    return found._replace(id=SkuId(found.id), application_id=ApplicationId(found.application_id))

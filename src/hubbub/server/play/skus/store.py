"""SQL for the skus table."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from hubbub.protocol.enums import SkuType
from hubbub.protocol.flags import SkuFlags
from hubbub.protocol.ids import ApplicationId, SkuId
from hubbub.server.core.store import Tx, placeholders

TABLES: Final = ("skus",)
"""Tables that only this slice writes."""


# Values of `SkuRow.state`.
UNPUBLISHED: Final = 0
PUBLISHED: Final = 1
DELETED: Final = 2


class SkuRow(NamedTuple):
    """A SKU of an application: a one-time purchase, a subscription, or the group of a subscription."""

    id: SkuId
    application_id: ApplicationId
    type: int
    """Value of `SkuType`."""
    name: str
    description: str | None
    flags: int
    """SkuFlags without AVAILABLE, which follows from the state."""
    price: int
    """Price in the smallest unit of the currency, per month for subscriptions."""
    currency: str
    state: int
    """UNPUBLISHED, PUBLISHED or DELETED."""
    listed: int
    """1 if the store shows the SKU while it is on sale, otherwise 0."""
    group_id: int | None = None
    """ID of the SUBSCRIPTION_GROUP of a subscription; None for other SKUs."""

    @property
    def for_guilds(self) -> bool:
        """Whether the SKU is bought for a guild."""
        return bool(self.flags & SkuFlags.GUILD_SUBSCRIPTION)

    @property
    def is_subscription(self) -> bool:
        """Whether the SKU is paid every month."""
        return self.type == SkuType.SUBSCRIPTION


COLUMNS = ", ".join(SkuRow._fields)


def find(tx: Tx, sku_id: int) -> SkuRow | None:
    row = tx.one(f"SELECT {COLUMNS} FROM skus WHERE id = ?", sku_id)
    return None if row is None else _sku_row(row)


def find_many(tx: Tx, sku_ids: Iterable[int]) -> dict[int, SkuRow]:
    """Return the SKUs with the IDs `sku_ids` that exist, by ID."""
    unique_ids = list(dict.fromkeys(sku_ids))
    if not unique_ids:
        return {}
    rows = tx.all(f"SELECT {COLUMNS} FROM skus WHERE id IN ({placeholders(unique_ids)})", *unique_ids)
    return {row.id: row for row in map(_sku_row, rows)}


def list_application_skus(tx: Tx, application_id: int) -> list[SkuRow]:
    """Return all SKUs of an application by ascending ID, including groups and deleted SKUs."""
    return [
        _sku_row(row)
        for row in tx.all(f"SELECT {COLUMNS} FROM skus WHERE application_id = ? ORDER BY id", application_id)
    ]


def insert(tx: Tx, row: SkuRow) -> None:
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


def _sku_row(columns: tuple[object, ...]) -> SkuRow:
    """Build a row from the columns of a query, with typed IDs."""
    sku = SkuRow(*columns)  # type: ignore[arg-type]
    return sku._replace(id=SkuId(sku.id), application_id=ApplicationId(sku.application_id))

"""Build the wire models of SKUs and stores."""

import re
from typing import Any

from hubbub.protocol.enums import SkuType
from hubbub.protocol.flags import SkuFlags
from hubbub.protocol.ids import ApplicationId, SkuId
from hubbub.protocol.resources import skus as wire
from hubbub.server.identity.applications import ApplicationRow
from hubbub.server.play.skus import store
from hubbub.server.play.skus.store import SkuRow

_SEPARATOR_PATTERN = re.compile(r"[\W_]+")
_STATES: dict[int, Any] = {store.UNPUBLISHED: "unpublished", store.PUBLISHED: "published", store.DELETED: "deleted"}


def sku(row: SkuRow) -> wire.Sku:
    """Return a SKU without its price and state."""
    return wire.Sku(**_common_fields(row))


def store_sku(row: SkuRow) -> wire.StoreSku:
    """Return a SKU with its price and state."""
    return wire.StoreSku(
        **_common_fields(row),
        description=row.description,
        price=row.price,
        currency=row.currency,
        state=_STATES[row.state],
        listed=bool(row.listed),
    )


def store_application(row: ApplicationRow) -> wire.StoreApplication:
    """Return the application that sells a SKU."""
    return wire.StoreApplication(id=ApplicationId(row.id), name=row.name, icon=row.icon, description=row.description)


def store_view(application: ApplicationRow, rows: list[SkuRow]) -> wire.Store:
    """Return the store of an application with the SKUs `rows`."""
    return wire.Store(application=store_application(application), skus=[store_sku(row) for row in rows])


def _common_fields(row: SkuRow) -> dict[str, Any]:
    """Return the fields that `wire.Sku` and `wire.StoreSku` have in common."""
    return {
        "id": SkuId(row.id),
        "type": SkuType(row.type),
        "application_id": ApplicationId(row.application_id),
        "name": row.name,
        "slug": _SEPARATOR_PATTERN.sub("-", row.name.lower()).strip("-"),
        "flags": row.flags | (SkuFlags.AVAILABLE if row.state == store.PUBLISHED else 0),
    }

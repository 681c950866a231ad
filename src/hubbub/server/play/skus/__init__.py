"""SKUs: products that applications sell."""

from collections.abc import Iterable

from hubbub.server.core.call import Call
from hubbub.server.core.slices import Slice
from hubbub.server.play.skus import routes
from hubbub.server.play.skus.actions import create
from hubbub.server.play.skus.rules import can_offer, is_on_sale
from hubbub.server.play.skus.store import SkuRow, find, find_many
from hubbub.server.play.skus.views import store_application, store_sku


def find_offerable(call: Call, application_id: int, sku_ids: Iterable[int]) -> set[int]:
    """Return the IDs among `sku_ids` that an application may offer with a premium button."""
    return {sku_id for sku_id in sku_ids if can_offer(call.tx, application_id, sku_id)}


SLICE = Slice(name="skus", modules=(routes,))

__all__ = [
    "SLICE",
    "SkuRow",
    "can_offer",
    "create",
    "find",
    "find_many",
    "find_offerable",
    "is_on_sale",
    "store_application",
    "store_sku",
]

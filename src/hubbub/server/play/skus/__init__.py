"""SKUs: products that applications sell."""

from hubbub.server.core.call import Call
from hubbub.server.core.slices import Slice
from hubbub.server.play.skus import routes
from hubbub.server.play.skus.actions import create
from hubbub.server.play.skus.rules import is_active, is_on_sale
from hubbub.server.play.skus.store import SkuRow, find, find_many
from hubbub.server.play.skus.views import store_application, store_sku
from hubbub.server.talk.messages import SkusReferenced


def _mark_active(call: Call, signal: SkusReferenced) -> None:
    if signal.application_id is not None:
        signal.active.update(each for each in signal.sku_ids if is_active(call.tx, signal.application_id, each))


SLICE = Slice(name="skus", modules=(routes,), listeners={SkusReferenced: _mark_active})

__all__ = [
    "SLICE",
    "SkuRow",
    "create",
    "find",
    "find_many",
    "is_active",
    "is_on_sale",
    "store_application",
    "store_sku",
]

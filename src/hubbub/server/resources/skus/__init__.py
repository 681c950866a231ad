"""SKUs: what applications sell."""

from hubbub.server.core.slices import Slice
from hubbub.server.resources.skus import routes
from hubbub.server.resources.skus.actions import create
from hubbub.server.resources.skus.rules import is_active, is_on_sale
from hubbub.server.resources.skus.store import SkuRow, find

SLICE = Slice(name="skus", modules=(routes,))

__all__ = ["SLICE", "SkuRow", "create", "find", "is_active", "is_on_sale"]

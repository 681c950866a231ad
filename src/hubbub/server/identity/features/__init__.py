"""Features of the server that operators enable and disable while it runs."""

from hubbub.server.core.slices import Slice
from hubbub.server.identity.features import routes
from hubbub.server.identity.features.switches import is_enabled, list_features, require_enabled, switch

SLICE = Slice(name="features", modules=(routes,))

__all__ = ["SLICE", "is_enabled", "list_features", "require_enabled", "switch"]

"""External identities, and the provisional accounts that stand for them."""

from hubbub.server.core.slices import Slice
from hubbub.server.resources.identities.facts import AccountsMerged, AccountUnmerged

SLICE = Slice(name="identities", modules=())

__all__ = ["SLICE", "AccountUnmerged", "AccountsMerged"]

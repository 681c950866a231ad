"""The list of voice regions, of which this server has one."""

from hubbub.server.core.slices import Slice
from hubbub.server.places.voice_regions import routes
from hubbub.server.places.voice_regions.routes import REGIONS

SLICE = Slice(name="voice_regions", modules=(routes,))

__all__ = ["REGIONS", "SLICE"]

"""The gateway URL, the recommended number of shards and the session start limit of a bot."""

from hubbub.server.core.slices import Slice
from hubbub.server.places.gateway_info import ports, routes
from hubbub.server.places.gateway_info.routes import build_gateway_url

SLICE = Slice(name="gateway_info", modules=(ports, routes))

__all__ = ["SLICE", "build_gateway_url", "ports"]

"""Stickers of guilds and of the standard pack."""

from hubbub.server.core.slices import Slice
from hubbub.server.places.stickers import routes
from hubbub.server.places.stickers.packs import find_file
from hubbub.server.places.stickers.rules import require_sendable
from hubbub.server.places.stickers.store import StickerRow, find
from hubbub.server.places.stickers.views import list_of_guild

SLICE = Slice(name="stickers", modules=(routes,), assets={"stickers": find_file})

__all__ = ["SLICE", "StickerRow", "find", "list_of_guild", "require_sendable"]

"""Reads for gateway nodes: the states of guilds and members, and the guilds, friends and application families of users.

The slice has no handlers: `App` passes its reader to the gateway."""

from hubbub.server.core.slices import Slice
from hubbub.server.places.guild_state.views import StoreGuildReader

SLICE = Slice(name="guild_state", modules=())

__all__ = ["SLICE", "StoreGuildReader"]

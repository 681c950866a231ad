"""Widgets: the public view of a guild that other websites can embed."""

from hubbub.server.core.call import Call
from hubbub.server.core.slices import Slice
from hubbub.server.places.guilds import GuildDeleted
from hubbub.server.places.widgets import routes, store


def _on_guild_deleted(call: Call, signal: GuildDeleted) -> None:
    store.put_invite_code(call.tx, signal.guild_id, None)


SLICE = Slice(name="widgets", modules=(routes,), listeners={GuildDeleted: _on_guild_deleted})

__all__ = ["SLICE"]

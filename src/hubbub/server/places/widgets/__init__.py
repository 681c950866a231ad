"""Widgets: the public view of a guild that other websites can embed."""

from hubbub.server.core.call import Call
from hubbub.server.core.slices import Slice
from hubbub.server.places.guilds import GuildDeleting
from hubbub.server.places.widgets import routes, store


def _on_guild_deleting(call: Call, signal: GuildDeleting) -> None:
    store.put_invite_code(call.tx, signal.guild_id, None)


SLICE = Slice(name="widgets", modules=(routes,), listeners={GuildDeleting: _on_guild_deleting})

__all__ = ["SLICE"]

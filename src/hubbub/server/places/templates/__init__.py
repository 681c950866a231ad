"""Guild templates: snapshots of a guild's structure from which new guilds are created."""

from hubbub.server.core.call import Call
from hubbub.server.core.slices import Slice
from hubbub.server.places.guilds import GuildDeleting
from hubbub.server.places.templates import routes, store
from hubbub.server.places.templates.routes import export_data
from hubbub.server.places.templates.store import find


def _on_guild_deleting(call: Call, signal: GuildDeleting) -> None:
    store.delete_guild_template(call.tx, signal.guild_id)


SLICE = Slice(name="templates", modules=(routes,), listeners={GuildDeleting: _on_guild_deleting})

__all__ = ["SLICE", "export_data", "find"]

"""Welcome screens of guilds, and their new member guides."""

from hubbub.server.core.call import Call
from hubbub.server.core.slices import Slice
from hubbub.server.places.guilds import GuildDeleted
from hubbub.server.places.welcome_screens import routes, store
from hubbub.server.places.welcome_screens.archive import ARCHIVE


def _on_guild_deleted(call: Call, signal: GuildDeleted) -> None:
    store.delete_guild_screen(call.tx, signal.guild_id)


SLICE = Slice(name="welcome_screens", archive=ARCHIVE, modules=(routes,), listeners={GuildDeleted: _on_guild_deleted})

__all__ = ["SLICE"]

"""Welcome screens of guilds, and their new member guides."""

from hubbub.server.core.call import Call
from hubbub.server.core.slices import Slice
from hubbub.server.places.guilds import GuildDeleting
from hubbub.server.places.welcome_screens import routes, store
from hubbub.server.places.welcome_screens.archive import ARCHIVE


def _on_guild_deleting(call: Call, signal: GuildDeleting) -> None:
    store.delete_guild_screen(call.tx, signal.guild_id)


SLICE = Slice(name="welcome_screens", archive=ARCHIVE, modules=(routes,), listeners={GuildDeleting: _on_guild_deleting})

__all__ = ["SLICE"]

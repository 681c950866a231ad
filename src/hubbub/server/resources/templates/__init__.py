"""Guild templates: the shape of a guild, from which others can be made."""

from hubbub.server.core.call import Call
from hubbub.server.core.slices import Slice
from hubbub.server.resources.guilds import GuildDeleted
from hubbub.server.resources.templates import routes, store


def _guild_deleted(call: Call, fact: GuildDeleted) -> None:
    store.delete_of_guild(call.tx, fact.guild_id)


SLICE = Slice(name="templates", modules=(routes,), hears={GuildDeleted: _guild_deleted})

__all__ = ["SLICE"]

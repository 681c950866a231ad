"""Widgets: what a guild shows on other people's pages."""

from hubbub.server.core.call import Call
from hubbub.server.core.slices import Slice
from hubbub.server.resources.guilds import GuildDeleted
from hubbub.server.resources.widgets import routes, store


def _guild_deleted(call: Call, fact: GuildDeleted) -> None:
    store.put_invite(call.tx, fact.guild_id, None)


SLICE = Slice(name="widgets", modules=(routes,), hears={GuildDeleted: _guild_deleted})

__all__ = ["SLICE"]

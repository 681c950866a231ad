"""Onboarding: the questions a guild asks newcomers."""

from hubbub.server.core.call import Call
from hubbub.server.core.slices import Slice
from hubbub.server.resources.guilds import GuildDeleted
from hubbub.server.resources.onboarding import routes, store


def _guild_deleted(call: Call, fact: GuildDeleted) -> None:
    store.delete_of_guild(call.tx, fact.guild_id)


SLICE = Slice(name="onboarding", modules=(routes,), hears={GuildDeleted: _guild_deleted})

__all__ = ["SLICE"]

"""Vanity URLs: an invite code of a guild's own choice."""

from hubbub.protocol.enums import GuildFeature
from hubbub.server.core.call import Call
from hubbub.server.core.slices import Slice
from hubbub.server.resources.guilds import FeaturesLost, GuildDeleted
from hubbub.server.resources.vanity_urls import routes, store
from hubbub.server.resources.vanity_urls.store import VanityRow, find, use


def _guild_deleted(call: Call, fact: GuildDeleted) -> None:
    store.delete_of_guild(call.tx, fact.guild_id)


def _features_lost(call: Call, fact: FeaturesLost) -> None:
    if GuildFeature.VANITY_URL in fact.features:
        store.delete_of_guild(call.tx, fact.guild_id)


SLICE = Slice(name="vanity_urls", modules=(routes,), hears={GuildDeleted: _guild_deleted, FeaturesLost: _features_lost})

__all__ = ["SLICE", "VanityRow", "find", "use"]

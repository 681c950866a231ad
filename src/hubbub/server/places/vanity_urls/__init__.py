"""Vanity URLs: custom invite codes of guilds."""

from hubbub.protocol.enums import GuildFeature
from hubbub.server.core.call import Call
from hubbub.server.core.slices import Slice
from hubbub.server.places.guilds import FeaturesRemoved, GuildDeleting
from hubbub.server.places.vanity_urls import routes, store
from hubbub.server.places.vanity_urls.store import VanityRow, find, increment_uses


def _on_guild_deleting(call: Call, signal: GuildDeleting) -> None:
    store.delete_guild_code(call.tx, signal.guild_id)


def _on_features_removed(call: Call, signal: FeaturesRemoved) -> None:
    if GuildFeature.VANITY_URL in signal.features:
        store.delete_guild_code(call.tx, signal.guild_id)


SLICE = Slice(
    name="vanity_urls",
    modules=(routes,),
    listeners={GuildDeleting: _on_guild_deleting, FeaturesRemoved: _on_features_removed},
)

__all__ = ["SLICE", "VanityRow", "find", "increment_uses"]

"""Guilds: creation, settings, features, suspension and deletion."""

from hubbub.server.core.slices import Slice
from hubbub.server.places.guilds import ports, routes
from hubbub.server.places.guilds.actions import publish_update, update
from hubbub.server.places.guilds.contents.archive import ARCHIVE
from hubbub.server.places.guilds.interface import administration, creation, maintenance, membership
from hubbub.server.places.guilds.rules import reject_guild_owner
from hubbub.server.places.guilds.signals import FeaturesRemoved, GuildDeleting
from hubbub.server.places.guilds.store import GuildRow, find, find_many
from hubbub.server.places.guilds.views import guild

SLICE = Slice(name="guilds", archive=ARCHIVE, modules=(routes, ports))

__all__ = [
    "FeaturesRemoved",
    "GuildDeleting",
    "GuildRow",
    "SLICE",
    "administration",
    "creation",
    "find",
    "find_many",
    "guild",
    "maintenance",
    "membership",
    "ports",
    "publish_update",
    "reject_guild_owner",
    "update",
]

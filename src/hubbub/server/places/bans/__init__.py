"""Bans of users from guilds."""

from hubbub.server.core.slices import Slice
from hubbub.server.places.bans import routes
from hubbub.server.places.bans.actions import delete_guild_bans
from hubbub.server.places.bans.archive import ARCHIVE
from hubbub.server.places.bans.signals import UserBanned

SLICE = Slice(name="bans", archive=ARCHIVE, modules=(routes,))

__all__ = ["SLICE", "UserBanned", "delete_guild_bans"]

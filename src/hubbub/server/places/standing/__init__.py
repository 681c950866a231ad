"""Standing: the roles and permissions of users in guilds and channels.

Slices check permissions with the functions of `access`."""

from hubbub.server.core.slices import Slice
from hubbub.server.places.standing import access
from hubbub.server.places.standing.models import ChannelAccess, ChannelRef, GuildAccess
from hubbub.server.places.standing.store import GuildMembership, channel_ref

SLICE = Slice(
    name="standing",
    modules=(),
    guards={"channel_id": access.require_channel, "guild_id": access.require_guild},
)

__all__ = ["SLICE", "ChannelAccess", "ChannelRef", "GuildAccess", "GuildMembership", "access", "channel_ref"]

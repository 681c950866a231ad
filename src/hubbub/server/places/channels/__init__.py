"""Guild channels, and the rows and views that threads and private channels share with them."""

from hubbub.server.core.slices import Slice
from hubbub.server.identity.users.signals import UserDeleting
from hubbub.server.places import guilds, roles
from hubbub.server.places.channels import routes, signals, thread_members, views
from hubbub.server.places.channels.actions import on_guild_deleting, on_role_deleted, on_user_deleting
from hubbub.server.places.channels.archive import ARCHIVE
from hubbub.server.places.channels.interface import (
    creation,
    joined_channels,
    overwrites,
    private_channels,
    thread_channels,
    usage,
)
from hubbub.server.places.channels.store import (
    ChannelRow,
    find,
    find_many,
    list_guild_channels,
    update,
)

SLICE = Slice(
    name="channels",
    archive=ARCHIVE,
    modules=(routes,),
    listeners={
        roles.RoleDeleted: on_role_deleted,
        guilds.GuildDeleting: on_guild_deleting,
        UserDeleting: on_user_deleting,
    },
)

__all__ = [
    "ChannelRow",
    "SLICE",
    "creation",
    "find",
    "find_many",
    "joined_channels",
    "list_guild_channels",
    "overwrites",
    "private_channels",
    "signals",
    "thread_channels",
    "thread_members",
    "update",
    "usage",
    "views",
]

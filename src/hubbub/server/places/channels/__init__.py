"""Guild channels, and the rows and views that threads and private channels share with them."""

from hubbub.server.core.slices import Slice
from hubbub.server.places import guilds, roles
from hubbub.server.places.channels import routes
from hubbub.server.places.channels.actions import (
    change_group,
    close,
    create,
    delete,
    guild_deleted,
    link_lobby,
    private_for,
    role_deleted,
    split_permissions,
)
from hubbub.server.places.channels.routes import delete_guild_channel, update_guild_channel
from hubbub.server.places.channels.rules import can_link_lobby, require_rename
from hubbub.server.places.channels.signals import ChannelsDeleted, LinkedChannelChanged
from hubbub.server.places.channels.store import COLUMNS as CHANNEL_COLUMNS
from hubbub.server.places.channels.store import TEXT_COLUMNS as TEXT_CHANNEL_COLUMNS
from hubbub.server.places.channels.store import (
    ChannelRow,
    OverwriteRow,
    ThreadMemberRow,
    find,
    find_many,
    find_thread_member,
    insert,
    list_of_guild,
    overwrites_of,
    overwrites_of_guild,
    overwrites_of_many,
    recipients_of,
    ref,
    set_last_pin,
    update,
)
from hubbub.server.places.channels.views import (
    FORUM_TYPES,
    any_channel,
    channel,
    created_thread,
    obfuscated,
    partial,
    private,
    tags,
    thread,
    thread_member,
)

SLICE = Slice(
    name="channels",
    modules=(routes,),
    listeners={roles.RoleDeleted: role_deleted, guilds.GuildDeleted: guild_deleted},
)

__all__ = [
    "CHANNEL_COLUMNS",
    "FORUM_TYPES",
    "SLICE",
    "TEXT_CHANNEL_COLUMNS",
    "ChannelRow",
    "ChannelsDeleted",
    "LinkedChannelChanged",
    "OverwriteRow",
    "ThreadMemberRow",
    "any_channel",
    "can_link_lobby",
    "change_group",
    "channel",
    "close",
    "create",
    "created_thread",
    "delete",
    "delete_guild_channel",
    "find",
    "find_many",
    "find_thread_member",
    "obfuscated",
    "insert",
    "link_lobby",
    "list_of_guild",
    "overwrites_of",
    "overwrites_of_guild",
    "overwrites_of_many",
    "partial",
    "private",
    "private_for",
    "recipients_of",
    "ref",
    "require_rename",
    "set_last_pin",
    "split_permissions",
    "tags",
    "thread",
    "thread_member",
    "update",
    "update_guild_channel",
]

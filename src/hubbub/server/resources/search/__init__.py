"""Search: an index of messages that jobs maintain, the search for messages in it, and the search for threads."""

from hubbub.server.core.slices import Slice
from hubbub.server.resources import channels, guilds, messages
from hubbub.server.resources.search import indexing, routes

SLICE = Slice(
    name="search",
    modules=(routes,),
    jobs={
        indexing.BUILD: indexing.build,
        indexing.CATCH_UP: indexing.catch_up,
        indexing.FORGET: indexing.forget,
    },
    hears={
        messages.MessageCreated: indexing.hear_message,
        messages.MessageChanged: indexing.hear_message,
        messages.MessagePinned: indexing.hear_message,
        messages.MessagesDeleted: indexing.hear_deletion,
        channels.ChannelsDeleted: indexing.hear_channels_deleted,
        guilds.GuildDeleted: indexing.hear_guild_deleted,
    },
)

__all__ = ["SLICE"]

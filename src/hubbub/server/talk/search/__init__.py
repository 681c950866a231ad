"""Search: an index of messages that jobs maintain, the search for messages in it, and the search for threads."""

from hubbub.server.core.slices import Slice
from hubbub.server.places import channels, guilds
from hubbub.server.talk import messages
from hubbub.server.talk.search import index_jobs, routes
from hubbub.server.talk.search.index_jobs import reassign_messages

SLICE = Slice(
    name="search",
    modules=(routes,),
    jobs={
        index_jobs.BUILD_JOB: index_jobs.build_index,
        index_jobs.CATCH_UP_JOB: index_jobs.index_pending_changes,
        index_jobs.REMOVE_JOB: index_jobs.remove_channel_documents,
    },
    listeners={
        messages.signals.MessageCreated: index_jobs.on_message_changed,
        messages.signals.MessageChanged: index_jobs.on_message_changed,
        messages.signals.MessagePinned: index_jobs.on_message_changed,
        messages.signals.MessagesDeleted: index_jobs.on_messages_deleted,
        channels.signals.ChannelsDeleting: index_jobs.on_channels_deleting,
        guilds.GuildDeleting: index_jobs.on_guild_deleting,
    },
)

__all__ = ["SLICE", "reassign_messages"]

"""Messages: user and system messages of all channel types."""

from hubbub.server.core.slices import Slice
from hubbub.server.identity.users.signals import UserDeleting
from hubbub.server.places.bans import UserBanned
from hubbub.server.places.channels.signals import ChannelsDeleting
from hubbub.server.places.members.signals import MemberAdded
from hubbub.server.talk.messages import actions, authors, content, files, ports, routes, signals, views
from hubbub.server.talk.messages.actions import audience
from hubbub.server.talk.messages.content.records import Author, MessageRow
from hubbub.server.talk.messages.drafts import creation, system_messages, validation
from hubbub.server.talk.messages.files import jobs
from hubbub.server.talk.messages.reads import data_export, history
from hubbub.server.talk.messages.reads.archive import ARCHIVE
from hubbub.server.talk.messages.revisions import changes

SLICE = Slice(
    name="messages",
    archive=ARCHIVE,
    modules=(routes, data_export, ports),
    jobs={jobs.DELETE_CHANNEL_MESSAGES_JOB: jobs.delete_channel_messages, jobs.DELETE_FILES_JOB: jobs.delete_files},
    listeners={
        MemberAdded: system_messages.on_member_added,
        UserBanned: actions.on_user_banned,
        UserDeleting: files.on_user_deleting,
        ChannelsDeleting: jobs.on_channels_deleting,
        signals.MessagesImported: files.on_messages_imported,
    },
)

__all__ = [
    "Author",
    "MessageRow",
    "SLICE",
    "audience",
    "authors",
    "changes",
    "content",
    "creation",
    "files",
    "history",
    "ports",
    "signals",
    "system_messages",
    "validation",
    "views",
]

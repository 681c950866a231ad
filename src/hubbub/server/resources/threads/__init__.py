"""Threads and forum posts."""

from hubbub.server.core.slices import Slice
from hubbub.server.resources import channels, members, messages
from hubbub.server.resources.threads import edits, jobs, listeners, routes, views
from hubbub.server.resources.threads.actions import ARCHIVE_JOB
from hubbub.server.resources.threads.facts import TitleDrafted
from hubbub.server.resources.threads.posts import create_unattended

SLICE = Slice(
    name="threads",
    modules=(routes, edits),
    jobs={ARCHIVE_JOB: jobs.archive},
    hears={
        messages.MessageCreated: listeners.hear_message,
        messages.MessagesDeleted: listeners.hear_deletion,
        channels.ChannelsDeleted: listeners.hear_channels_deleted,
        members.MemberRemoved: listeners.hear_member_removed,
    },
    guild=views.snapshot,
)

__all__ = ["SLICE", "TitleDrafted", "create_unattended"]

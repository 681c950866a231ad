"""Polls: votes, and the end of a poll. The messages slice stores and shows the poll itself."""

from hubbub.server.core.slices import Slice
from hubbub.server.talk import messages
from hubbub.server.talk.polls import actions, jobs, routes
from hubbub.server.talk.polls.actions import delete_by_user, export_data, reassign_votes
from hubbub.server.talk.polls.archive import ARCHIVE

SLICE = Slice(
    name="polls",
    archive=ARCHIVE,
    modules=(routes,),
    jobs={actions.EXPIRE_JOB: jobs.expire_poll},
    listeners={
        messages.signals.MessageCreated: actions.schedule_end,
        messages.signals.DeferredMessageCompleted: actions.schedule_end,
        messages.signals.MessagesImported: actions.on_messages_imported,
        messages.signals.MessagesDeleted: actions.on_messages_deleted,
    },
)

__all__ = ["SLICE", "delete_by_user", "export_data", "reassign_votes"]

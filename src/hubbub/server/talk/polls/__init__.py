"""Polls: votes, and the end of a poll. The messages slice stores and shows the poll itself."""

from hubbub.server.core.slices import Slice
from hubbub.server.talk import messages
from hubbub.server.talk.polls import actions, jobs, routes

SLICE = Slice(
    name="polls",
    modules=(routes,),
    jobs={actions.EXPIRE_JOB: jobs.expire_poll},
    listeners={
        messages.signals.MessageCreated: actions.schedule_end,
        messages.signals.DeferredMessageCompleted: actions.schedule_end,
        messages.signals.MessagesDeleted: actions.on_messages_deleted,
    },
)

__all__ = ["SLICE"]

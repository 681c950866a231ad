"""Polls: votes, and the end of a poll. The messages slice stores and shows the poll itself."""

from hubbub.server.core.slices import Slice
from hubbub.server.talk import messages
from hubbub.server.talk.polls import actions, jobs, routes

SLICE = Slice(
    name="polls",
    modules=(routes,),
    jobs={actions.EXPIRE_JOB: jobs.expire_poll},
    listeners={
        messages.MessageCreated: actions.schedule_end,
        messages.DeferredMessageCompleted: actions.schedule_end,
        messages.MessagesDeleted: actions.on_messages_deleted,
    },
)

__all__ = ["SLICE"]

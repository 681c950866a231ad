"""Web Push: subscriptions of browsers, and notifications about messages while the chat client is closed."""

from hubbub.server.core.slices import Slice
from hubbub.server.identity import users
from hubbub.server.talk.messages.signals import DeferredMessageCompleted, MessageCreated
from hubbub.server.talk.push_subscriptions import actions, jobs, routes
from hubbub.server.talk.push_subscriptions.actions import export_data, prefetch

SLICE = Slice(
    name="push_subscriptions",
    modules=(routes,),
    jobs={jobs.FAN_OUT_JOB: jobs.fan_out, jobs.SEND_JOB: jobs.send},
    listeners={
        MessageCreated: jobs.on_message_created,
        DeferredMessageCompleted: jobs.on_message_created,
        users.signals.UserDeleting: actions.on_user_deleting,
    },
)

__all__ = ["SLICE", "export_data", "prefetch"]

"""Messages between players: what games send for them, the invites among it, and what moderation says of it."""

from hubbub.server.core.call import Call
from hubbub.server.core.jobs import Job
from hubbub.server.core.slices import Slice
from hubbub.server.resources.messages import MessageChanged, MessageCreated, MessagesDeleted
from hubbub.server.resources.user_messages import actions, routes
from hubbub.server.resources.users import UserDeleted


def _forget(call: Call, _: Job) -> None:
    actions.forget(call)


SLICE = Slice(
    name="user_messages",
    modules=(routes,),
    jobs={actions.FORGET: _forget},
    hears={
        MessageCreated: actions.created,
        MessageChanged: actions.changed,
        MessagesDeleted: actions.deleted,
        UserDeleted: actions.user_deleted,
    },
)

__all__ = ["SLICE"]

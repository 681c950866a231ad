"""Messages between players that games send, their invites and moderation metadata, and disclosures of games."""

from typing import Any

from hubbub.protocol.enums import Scope
from hubbub.server.core.call import Call
from hubbub.server.core.jobs import Job
from hubbub.server.core.slices import Slice
from hubbub.server.identity.users.signals import UserDeleting
from hubbub.server.play.user_messages import actions, routes, views
from hubbub.server.talk.messages.signals import MessageChanged, MessageCreated, MessagesDeleted


def _delete_expired(call: Call, _: Job) -> None:
    actions.delete_expired(call)


def _ready_fields(call: Call) -> dict[str, Any]:
    """Return the pending invites of a player in the calling game for READY (spec/sdk.md#5.4)."""
    actor = call.actor
    if actor.kind != "bearer" or actor.family_id is None or Scope.ACTIVITIES_READ not in actor.scopes:
        return {}
    return {"game_invites": views.list_pending_invites(call, actor.family_id)}


SLICE = Slice(
    name="user_messages",
    modules=(routes,),
    jobs={actions.SWEEP_JOB: _delete_expired},
    listeners={
        MessageCreated: actions.on_message_created,
        MessageChanged: actions.on_message_changed,
        MessagesDeleted: actions.on_messages_deleted,
        UserDeleting: actions.on_user_deleting,
    },
    ready=_ready_fields,
)

__all__ = ["SLICE"]

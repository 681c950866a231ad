"""Private calls: voice calls in direct messages and group channels.

The voice states slice stores the participants; the voice server forwards the media."""

from hubbub.server.core.call import Call
from hubbub.server.core.slices import Slice
from hubbub.server.identity.relationships import UserBlocked
from hubbub.server.places.voice_states.signals import ParticipantDisplaced, PendingJoinsCanceled
from hubbub.server.talk.direct_messages import RecipientAdded, RecipientRemoving
from hubbub.server.talk.private_calls import actions, commands, routes, views
from hubbub.server.talk.private_calls.actions import remove_participant
from hubbub.server.talk.private_calls.commands import set_voice_state

SLICE = Slice(
    name="private_calls",
    modules=(routes, commands),
    jobs={commands.JOIN_JOB: commands.join_after_delay, actions.RING_TIMEOUT_JOB: actions.expire_rings},
    listeners={
        ParticipantDisplaced: actions.on_participant_displaced,
        PendingJoinsCanceled: commands.on_pending_joins_canceled,
        RecipientAdded: actions.on_recipient_added,
        RecipientRemoving: actions.on_recipient_removing,
        UserBlocked: actions.on_user_blocked,
    },
    ready=views.ready_fields,
)


def reset(call: Call) -> None:
    """End all private calls when a single-process server starts or a snapshot is restored, before voice states are reset."""
    actions.reset(call)


__all__ = ["SLICE", "remove_participant", "reset", "set_voice_state"]

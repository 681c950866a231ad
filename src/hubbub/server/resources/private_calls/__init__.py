"""Private calls: voice calls in direct messages and group channels.

The voice states slice stores the participants; the voice server carries the media."""

from hubbub.server.core.call import Call
from hubbub.server.core.slices import Slice
from hubbub.server.resources.direct_messages import RecipientCame, RecipientGoes
from hubbub.server.resources.private_calls import actions, commands, routes, views
from hubbub.server.resources.relationships import UserBlocked
from hubbub.server.resources.voice_states import CallerDisplaced, CallerLeaves, PrivateVoiceAsked, WaitingForgotten

SLICE = Slice(
    name="private_calls",
    modules=(routes, commands),
    jobs={commands.JOIN: commands.join_at_last, actions.SILENCE: actions.silence},
    hears={
        PrivateVoiceAsked: commands.set_private_voice_state,
        CallerLeaves: actions.caller_leaves,
        CallerDisplaced: actions.caller_displaced,
        WaitingForgotten: commands.forget_waiting,
        RecipientCame: actions.recipient_came,
        RecipientGoes: actions.recipient_goes,
        UserBlocked: actions.user_blocked,
    },
    ready=views.ready,
)


def reset(call: Call) -> None:
    """End all calls at the start of a single-process server. Call this before the reset of voice states."""
    actions.reset(call)


__all__ = ["SLICE", "reset"]

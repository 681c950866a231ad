"""Private calls: people who speak with each other in direct message channels and groups. The voice server itself is a door; who
is in a call is kept by voice states."""

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
    """A platform of one process starts with nobody in a call; before voice states are reset."""
    actions.reset(call)


__all__ = ["SLICE", "reset"]

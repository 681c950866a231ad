"""Lobby calls: voice calls of lobby members.

The voice server is a transport; the voice_states slice stores the participants."""

from hubbub.server.core.slices import Slice
from hubbub.server.places.voice_states.signals import ParticipantDisplaced, PendingJoinsCanceled
from hubbub.server.play.lobbies import LobbyMembersLeaving
from hubbub.server.play.lobby_calls import actions, commands
from hubbub.server.play.lobby_calls.actions import remove_participant

SLICE = Slice(
    name="lobby_calls",
    modules=(commands,),
    jobs={commands.JOIN_JOB: commands.join_delayed},
    listeners={
        LobbyMembersLeaving: actions.on_members_leaving,
        ParticipantDisplaced: actions.on_participant_displaced,
        PendingJoinsCanceled: commands.on_pending_joins_canceled,
    },
)

__all__ = ["SLICE", "remove_participant"]

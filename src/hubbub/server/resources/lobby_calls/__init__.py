"""Lobby calls: voice calls of lobby members.

The voice server is a transport; the voice_states slice stores the participants."""

from hubbub.server.core.slices import Slice
from hubbub.server.resources.lobbies import LobbyMembersLeave
from hubbub.server.resources.lobby_calls import actions, commands
from hubbub.server.resources.voice_states import CallerDisplaced, CallerLeaves, WaitingForgotten

SLICE = Slice(
    name="lobby_calls",
    modules=(commands,),
    jobs={commands.JOIN: commands.join_at_last},
    hears={
        LobbyMembersLeave: actions.members_leave,
        CallerLeaves: actions.caller_leaves,
        CallerDisplaced: actions.caller_displaced,
        WaitingForgotten: commands.forget_waiting,
    },
)

__all__ = ["SLICE"]

"""Live handles: they read what the client knows now, whenever they are asked (sdk.md 1.1).

A handle has no data of its own, so later changes show through it. When its client is gone it answers with defaults.
"""

from hubbub.sdk.handles.lobbies import (
    CallInfoHandle,
    LobbyHandle,
    LobbyMemberHandle,
    VoiceStateHandle,
    find_lobby,
    participants,
    voice_state,
)
from hubbub.sdk.handles.messages import SENT_FROM_GAME, ChannelHandle, MessageHandle, find_channel
from hubbub.sdk.handles.people import (
    RelationshipHandle,
    UserApplicationProfileHandle,
    UserHandle,
    find_user,
    profiles,
)

__all__ = [
    "SENT_FROM_GAME",
    "CallInfoHandle",
    "ChannelHandle",
    "LobbyHandle",
    "LobbyMemberHandle",
    "MessageHandle",
    "RelationshipHandle",
    "UserApplicationProfileHandle",
    "UserHandle",
    "VoiceStateHandle",
    "find_channel",
    "find_lobby",
    "find_user",
    "participants",
    "profiles",
    "voice_state",
]

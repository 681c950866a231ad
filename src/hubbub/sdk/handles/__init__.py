"""Live handles, which read the client's cache on every access (sdk.md 1.1).

A handle holds no data, so later changes are visible through it. After its client is destroyed a handle returns default
values.
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

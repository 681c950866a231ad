"""Live handles, which read the client's cache on every access (spec/sdk.md#1.1), and functions that look them up.

A handle holds no copy of the data, so later changes are visible through it. After its client is destroyed a handle
returns default values. `hubbub.sdk` exports the handles to games; the functions are for other modules of the SDK.
"""

from hubbub.sdk.handles.lobbies import (
    CallInfoHandle,
    LobbyHandle,
    LobbyMemberHandle,
    VoiceStateHandle,
    find_lobby,
    find_voice_state,
    list_participant_ids,
)
from hubbub.sdk.handles.messages import SENT_FROM_GAME_FLAG, ChannelHandle, MessageHandle, find_channel
from hubbub.sdk.handles.users import (
    RelationshipHandle,
    UserApplicationProfileHandle,
    UserHandle,
    find_user,
    user_profiles,
)

__all__ = [
    "SENT_FROM_GAME_FLAG",
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
    "list_participant_ids",
    "user_profiles",
    "find_voice_state",
]

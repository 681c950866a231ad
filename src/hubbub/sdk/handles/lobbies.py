"""Handles of lobbies, lobby members, lobby calls and voice states (spec/sdk.md#12.1)."""

from hubbub.protocol.flags import LobbyMemberFlags
from hubbub.sdk.arguments import checks_arguments
from hubbub.sdk.cache import CachedLobby, CachedMember, CachedVoiceState
from hubbub.sdk.core import Core
from hubbub.sdk.handles.base import Handle
from hubbub.sdk.handles.users import UserHandle, find_user
from hubbub.sdk.objects import Copyable
from hubbub.sdk.records import LinkedChannel


class VoiceStateHandle(Copyable):
    """The mute and deaf state of a participant in a lobby's call."""

    def __init__(self, core: Core, lobby_id: int, user_id: int) -> None:
        super().__init__()
        self._core, self._lobby_id, self._user_id = core, lobby_id, user_id

    def _find_cached_voice_state(self) -> CachedVoiceState | None:
        with self._core.lock:
            lobby = self._core.cache.lobbies.get(self._lobby_id)
            return lobby.voice_states.get(self._user_id) if lobby else None

    @property
    def self_mute(self) -> bool:
        """Whether the participant muted their own microphone."""
        cached_voice_state = self._find_cached_voice_state()
        return bool(cached_voice_state and cached_voice_state.self_mute)

    @property
    def self_deaf(self) -> bool:
        """Whether the participant deafened themselves: no sound of the call is played to them."""
        cached_voice_state = self._find_cached_voice_state()
        return bool(cached_voice_state and cached_voice_state.self_deaf)


class CallInfoHandle(Copyable):
    """The call of a lobby, whether or not the current user takes part in it."""

    def __init__(self, core: Core, lobby_id: int) -> None:
        super().__init__()
        self._core, self._lobby_id = core, lobby_id

    @property
    def channel_id(self) -> int:
        """ID of the lobby."""
        return 0 if self._core.is_destroyed else self._lobby_id

    @property
    def guild_id(self) -> int:
        """ID of the lobby, the same as `channel_id`."""
        return self.channel_id

    def get_participants(self) -> list[int]:
        """Return the user IDs of the call's participants."""
        return list_participant_ids(self._core, self._lobby_id)

    @checks_arguments
    def get_voice_state_handle(self, user_id: int) -> VoiceStateHandle | None:
        """Return the voice state of a participant, or None if the user is not in the call."""
        return find_voice_state(self._core, self._lobby_id, user_id)


class LobbyMemberHandle(Handle):
    """A user in a lobby, with the metadata that the game stored."""

    def __init__(self, core: Core, id: int, lobby_id: int) -> None:
        super().__init__(core, id)
        self._lobby_id = lobby_id

    def _find_cached_member(self) -> CachedMember | None:
        with self._core.lock:
            lobby = self._core.cache.lobbies.get(self._lobby_id) if self._is_alive else None
            return lobby.members.get(self._id) if lobby else None

    @property
    def user(self) -> UserHandle | None:
        """The user, or None if the client does not have it cached."""
        return find_user(self._core, self._id)

    @property
    def connected(self) -> bool:
        """Whether the member has a gateway session in the game."""
        cached_member = self._find_cached_member()
        return bool(cached_member and cached_member.is_connected)

    @property
    def can_link_lobby(self) -> bool:
        """Whether the member may link a channel to the lobby."""
        cached_member = self._find_cached_member()
        return bool(cached_member and cached_member.flags & LobbyMemberFlags.CAN_LINK_LOBBY)

    @property
    def metadata(self) -> dict[str, str]:
        """Metadata that the game stored for this member."""
        cached_member = self._find_cached_member()
        return dict(cached_member.metadata) if cached_member else {}


class LobbyHandle(Handle):
    """A lobby that the current user is a member of."""

    def _find_cached_lobby(self) -> CachedLobby | None:
        with self._core.lock:
            return self._core.cache.lobbies.get(self._id) if self._is_alive else None

    @property
    def metadata(self) -> dict[str, str]:
        """Metadata that the game stored for the lobby."""
        cached_lobby = self._find_cached_lobby()
        return dict(cached_lobby.metadata) if cached_lobby else {}

    @property
    def lobby_member_ids(self) -> list[int]:
        """User IDs of the lobby's members."""
        with self._core.lock:
            cached_lobby = self._find_cached_lobby()
            return list(cached_lobby.members) if cached_lobby else []

    @property
    def lobby_members(self) -> list[LobbyMemberHandle]:
        """Handles of the lobby's members, including the current user."""
        return [self._core.make(LobbyMemberHandle, self._core, user_id, self._id) for user_id in self.lobby_member_ids]

    @checks_arguments
    def get_lobby_member_handle(self, member_id: int) -> LobbyMemberHandle | None:
        """Return a member of the lobby by user ID, or None."""
        cached_lobby = self._find_cached_lobby()
        if cached_lobby is None or member_id not in cached_lobby.members:
            return None
        return self._core.make(LobbyMemberHandle, self._core, member_id, self._id)

    @property
    def linked_channel(self) -> LinkedChannel | None:
        """The channel that the lobby is linked to, or None."""
        cached_lobby = self._find_cached_lobby()
        channel = cached_lobby.linked_channel if cached_lobby else None
        if channel is None:
            return None
        return self._core.make(LinkedChannel, id=channel.id, name=channel.name, guild_id=channel.guild_id)

    def get_call_info_handle(self) -> CallInfoHandle | None:
        """Return the call of the lobby, or None if it has no participants."""
        cached_lobby = self._find_cached_lobby()
        return (
            self._core.make(CallInfoHandle, self._core, self._id)
            if cached_lobby and cached_lobby.voice_states
            else None
        )


def find_lobby(core: Core, lobby_id: int) -> LobbyHandle | None:
    """Return the handle of a cached lobby, or None."""
    with core.lock:
        return core.make(LobbyHandle, core, lobby_id) if lobby_id in core.cache.lobbies else None


def list_participant_ids(core: Core, lobby_id: int) -> list[int]:
    """Return the user IDs of the participants in a lobby's call."""
    with core.lock:
        lobby = core.cache.lobbies.get(lobby_id)
        return list(lobby.voice_states) if lobby else []


def find_voice_state(core: Core, lobby_id: int, user_id: int) -> VoiceStateHandle | None:
    """Return the voice state of a participant in a lobby's call, or None if the user is not in it."""
    if user_id not in list_participant_ids(core, lobby_id):
        return None
    return core.make(VoiceStateHandle, core, lobby_id, user_id)

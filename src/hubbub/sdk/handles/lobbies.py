"""Handles of lobbies, of their members, and of who is in their calls (sdk.md 12.1)."""

from typing import Final

from hubbub.sdk.cache import Lobby
from hubbub.sdk.core import Core
from hubbub.sdk.handles.base import Handle
from hubbub.sdk.handles.people import UserHandle, find_user
from hubbub.sdk.objects import Copyable
from hubbub.sdk.payloads import MemberPayload, VoiceStatePayload
from hubbub.sdk.records import LinkedChannel

CAN_LINK_LOBBY: Final = 1 << 0


class VoiceStateHandle(Copyable):
    """Somebody in a call."""

    def __init__(self, core: Core, lobby_id: int, user_id: int) -> None:
        super().__init__()
        self._core, self._lobby_id, self._user_id = core, lobby_id, user_id

    def _data(self) -> VoiceStatePayload | None:
        with self._core.lock:
            lobby = self._core.cache.lobbies.get(self._lobby_id)
            return lobby.voice_states.get(self._user_id) if lobby else None

    @property
    def self_mute(self) -> bool:
        """Whether they muted themselves."""
        data = self._data()
        return bool(data and data.self_mute)

    @property
    def self_deaf(self) -> bool:
        """Whether they hear nobody."""
        data = self._data()
        return bool(data and data.self_deaf)


class CallInfoHandle(Copyable):
    """Who is in a lobby's call."""

    def __init__(self, core: Core, lobby_id: int) -> None:
        super().__init__()
        self._core, self._lobby_id = core, lobby_id

    @property
    def channel_id(self) -> int:
        """The lobby."""
        return 0 if self._core.destroyed else self._lobby_id

    @property
    def guild_id(self) -> int:
        """The lobby again."""
        return self.channel_id

    def get_participants(self) -> list[int]:
        """Who is in it."""
        return participants(self._core, self._lobby_id)

    def get_voice_state_handle(self, user_id: int) -> VoiceStateHandle | None:
        """How one of them is."""
        return voice_state(self._core, self._lobby_id, user_id)


class LobbyMemberHandle(Handle):
    """Somebody in a lobby."""

    def __init__(self, core: Core, id: int, lobby_id: int) -> None:
        super().__init__(core, id)
        self._lobby_id = lobby_id

    def _data(self) -> MemberPayload | None:
        with self._core.lock:
            lobby = self._core.cache.lobbies.get(self._lobby_id) if self._alive else None
            return lobby.members.get(self._id) if lobby else None

    @property
    def user(self) -> UserHandle | None:
        """The person."""
        return find_user(self._core, self._id)

    @property
    def connected(self) -> bool:
        """Whether a session of theirs is attached to the lobby."""
        data = self._data()
        return bool(data and data.connected)

    @property
    def can_link_lobby(self) -> bool:
        """Whether they may link a channel."""
        data = self._data()
        return bool(data and data.flags & CAN_LINK_LOBBY)

    @property
    def metadata(self) -> dict[str, str]:
        """What the game keeps of them here."""
        data = self._data()
        return dict(data.metadata or {}) if data else {}


class LobbyHandle(Handle):
    """A lobby."""

    def _data(self) -> Lobby | None:
        with self._core.lock:
            return self._core.cache.lobbies.get(self._id) if self._alive else None

    @property
    def metadata(self) -> dict[str, str]:
        """What the game keeps of it."""
        data = self._data()
        return dict(data.metadata) if data else {}

    @property
    def lobby_member_ids(self) -> list[int]:
        """Who is in it."""
        with self._core.lock:
            data = self._data()
            return list(data.members) if data else []

    @property
    def lobby_members(self) -> list[LobbyMemberHandle]:
        """Who is in it, as handles."""
        return [self._core.make(LobbyMemberHandle, self._core, each, self._id) for each in self.lobby_member_ids]

    def get_lobby_member_handle(self, member_id: int) -> LobbyMemberHandle | None:
        """One of them."""
        data = self._data()
        if data is None or member_id not in data.members:
            return None
        return self._core.make(LobbyMemberHandle, self._core, member_id, self._id)

    @property
    def linked_channel(self) -> LinkedChannel | None:
        """The channel it is linked to."""
        data = self._data()
        linked = data.linked_channel if data else None
        if linked is None:
            return None
        return self._core.make(LinkedChannel, id=linked.id, name=linked.name or "", guild_id=linked.guild_id or 0)

    def get_call_info_handle(self) -> CallInfoHandle | None:
        """Its call, where there is one."""
        data = self._data()
        return self._core.make(CallInfoHandle, self._core, self._id) if data and data.voice_states else None


def find_lobby(core: Core, lobby_id: int) -> LobbyHandle | None:
    """The handle of a lobby that we are in."""
    with core.lock:
        return core.make(LobbyHandle, core, lobby_id) if lobby_id in core.cache.lobbies else None


def participants(core: Core, lobby_id: int) -> list[int]:
    """Who is in a lobby's call."""
    with core.lock:
        lobby = core.cache.lobbies.get(lobby_id)
        return list(lobby.voice_states) if lobby else []


def voice_state(core: Core, lobby_id: int, user_id: int) -> VoiceStateHandle | None:
    """How somebody is in a lobby's call."""
    if user_id not in participants(core, lobby_id):
        return None
    return core.make(VoiceStateHandle, core, lobby_id, user_id)

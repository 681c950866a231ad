"""Live handles: they read what the client knows now, whenever they are asked (sdk.md 1.1).

A handle has no data of its own, so later changes show through it. When its client is gone it answers with defaults.
"""

import re
from typing import Any, Final, TypeVar

from msgspec import UNSET

from hubbub.protocol.ids import EPOCH_MS
from hubbub.sdk.activities import Activity, from_wire
from hubbub.sdk.cache import Lobby, Message, Relation, recipients
from hubbub.sdk.core import Core
from hubbub.sdk.enums import (
    AdditionalContentType,
    AvatarType,
    ChannelType,
    DisclosureTypes,
    ExternalIdentityProviderType,
    RelationshipType,
    StatusType,
    known,
    to_string,
)
from hubbub.sdk.objects import Copyable
from hubbub.sdk.payloads import ChannelPayload, MemberPayload, ProfilePayload, UserPayload, VoiceStatePayload
from hubbub.sdk.records import AdditionalContent, LinkedChannel

T = TypeVar("T")

PROVISIONAL: Final = 1 << 23
CAN_LINK_LOBBY: Final = 1 << 0
SENT_FROM_GAME: Final = 1 << 16
DEFAULT_AVATARS: Final = 6
STATUSES: Final = {
    "online": StatusType.ONLINE,
    "idle": StatusType.IDLE,
    "dnd": StatusType.DND,
    "offline": StatusType.OFFLINE,
    "streaming": StatusType.STREAMING,
    "invisible": StatusType.INVISIBLE,
}
_MENTION: Final = re.compile(r"<@!?(\d{1,20})>")
_EMOJI: Final = re.compile(r"<a?:(\w{1,64}):\d{1,20}>")


class Handle(Copyable):
    """A look at something the client knows."""

    def __init__(self, core: Core, id: int) -> None:
        super().__init__()
        self._core = core
        self._id = id

    @property
    def _alive(self) -> bool:
        return not self._core.destroyed

    @property
    def id(self) -> int:
        """Whose handle this is; 0 once the client is gone."""
        return self._id if self._alive else 0

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash((type(self), self.__dict__.get("_id")))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.__dict__.get('_id', 'nullobj')}>"


class UserHandle(Handle):
    """A person."""

    def _data(self) -> UserPayload | None:
        with self._core.lock:
            return self._core.cache.users.get(self._id) if self._alive else None

    @property
    def username(self) -> str:
        """The unique name; provisional accounts have a generated one."""
        data = self._data()
        return (data.username or "") if data else ""

    @property
    def global_name(self) -> str | None:
        """The name they chose to be shown with."""
        data = self._data()
        return data.global_name if data and data.global_name is not UNSET else None

    @property
    def display_name(self) -> str:
        """The name to show."""
        return self.global_name or self.username

    @property
    def avatar(self) -> str | None:
        """The hash of their picture."""
        data = self._data()
        return data.avatar if data and data.avatar is not UNSET else None

    def avatar_url(self, animated_type: AvatarType = AvatarType.GIF, static_type: AvatarType = AvatarType.PNG) -> str:
        """Where their picture is; everybody has one, if only a default."""
        if not self._alive:
            return ""
        cdn, hash = f"{self._core.web_base}/cdn", self.avatar
        if hash is None:
            return f"{cdn}/embed/avatars/{(self._id >> 22) % DEFAULT_AVATARS}.png"
        kind = animated_type if hash.startswith("a_") else static_type
        return f"{cdn}/avatars/{self._id}/{hash}.{kind.name.lower()}"

    @property
    def is_provisional(self) -> bool:
        """Whether the account belongs to the game alone."""
        data = self._data()
        return bool(data and ((data.flags or 0) | (data.public_flags or 0)) & PROVISIONAL)

    @property
    def status(self) -> StatusType:
        """Whether they are there."""
        if not self._alive:
            return StatusType.OFFLINE
        with self._core.lock:
            presence = self._core.cache.presences.get(self._id)
        return STATUSES.get(presence.status, StatusType.UNKNOWN) if presence else StatusType.OFFLINE

    @property
    def game_activity(self) -> Activity | None:
        """What they play, of this game or a sibling."""
        if not self._alive:
            return None
        core = self._core
        with core.lock:
            played = core.cache.activity_of(self._id, frozenset({core.application_id}), core.parent_id)
        return from_wire(played, core.make) if played else None

    @property
    def relationship(self) -> "RelationshipHandle":
        """How they stand to us."""
        return self._core.make(RelationshipHandle, self._core, self._id)

    @property
    def user_application_profiles(self) -> "list[UserApplicationProfileHandle]":
        """Who they are in the game, at most once per application."""
        with self._core.lock:
            return profiles(self._core, self._id)

    @staticmethod
    def avatar_type_to_string(type: AvatarType) -> str:
        """The name of a format."""
        return to_string(AvatarType, type)


class RelationshipHandle(Handle):
    """How somebody stands to us."""

    def _data(self) -> Relation:
        with self._core.lock:
            found = self._core.cache.relations.get(self._id) if self._alive else None
        return found or Relation()

    @property
    def platform_relationship_type(self) -> RelationshipType:
        """Everywhere."""
        return known(RelationshipType, self._data().platform, RelationshipType.NONE)

    @property
    def game_relationship_type(self) -> RelationshipType:
        """In this game."""
        return known(RelationshipType, self._data().game, RelationshipType.NONE)

    @property
    def is_spam_request(self) -> bool:
        """Whether the platform takes their request for spam."""
        return self._data().spam

    @property
    def user(self) -> UserHandle | None:
        """The person."""
        return find_user(self._core, self._id)


class UserApplicationProfileHandle(Handle):
    """Who somebody is in a game."""

    def __init__(self, core: Core, id: int, index: int) -> None:
        super().__init__(core, id)
        self._index = index

    def _data(self) -> ProfilePayload:
        with self._core.lock:
            found = self._core.cache.profiles.get(self._id, []) if self._alive else []
        return found[self._index] if self._index < len(found) else ProfilePayload()

    @property
    def username(self) -> str:
        """Their name there."""
        return self._data().username or ""

    @property
    def avatar_hash(self) -> str:
        """Their picture there."""
        return self._data().avatar_hash or ""

    @property
    def metadata(self) -> str:
        """What the game keeps of them, as JSON."""
        metadata = self._data().metadata
        if isinstance(metadata, str):
            return metadata
        return "" if metadata is None else _json(metadata)

    @property
    def provider_id(self) -> str | None:
        """Which configuration of the provider knows them."""
        external = self._data().external_id
        return external.provider_id if external else None

    @property
    def provider_issued_user_id(self) -> str:
        """Their id at the provider."""
        external = self._data().external_id
        return (external.provider_issued_user_id or "") if external else ""

    @property
    def provider_type(self) -> ExternalIdentityProviderType:
        """Who vouches for them."""
        external = self._data().external_id
        if external is None or external.provider_type is None:
            return ExternalIdentityProviderType.NONE
        told = external.provider_type
        if isinstance(told, int):
            return known(ExternalIdentityProviderType, told, ExternalIdentityProviderType.UNKNOWN)
        return ExternalIdentityProviderType.__members__.get(told, ExternalIdentityProviderType.UNKNOWN)


class ChannelHandle(Handle):
    """A conversation."""

    def _data(self) -> ChannelPayload | None:
        with self._core.lock:
            return self._core.cache.channels.get(self._id) if self._alive else None

    @property
    def name(self) -> str:
        """Its name."""
        data = self._data()
        return (data.name or "") if data else ""

    @property
    def type(self) -> ChannelType:
        """Its kind."""
        data = self._data()
        return known(ChannelType, data.type, ChannelType.DM) if data else ChannelType.DM

    @property
    def recipients(self) -> list[int]:
        """Who it is with."""
        data = self._data()
        return list(recipients(data)) if data else []


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


class MessageHandle(Handle):
    """A message."""

    def __init__(self, core: Core, message: Message) -> None:
        super().__init__(core, message.payload.id)
        self._message = message

    def _read(self, name: str, otherwise: T) -> T:
        found: T | None = getattr(self._message.payload, name) if self._alive else None
        return otherwise if found is None or found is UNSET else found

    @property
    def author_id(self) -> int:
        """Who wrote it."""
        author: UserPayload | None = self._read("author", None)
        return author.id if author else 0

    @property
    def author(self) -> UserHandle | None:
        """Who wrote it."""
        return find_user(self._core, self.author_id)

    @property
    def channel_id(self) -> int:
        """Where it was written."""
        return self._read("channel_id", 0) or self._read("lobby_id", 0)

    @property
    def channel(self) -> ChannelHandle | None:
        """Where it was written; None for an ephemeral conversation."""
        return find_channel(self._core, self.channel_id)

    @property
    def content(self) -> str:
        """The text, with names in place of mentions and emoji."""
        return _EMOJI.sub(r":\1:", _MENTION.sub(self._named, self.raw_content))

    def _named(self, match: re.Match[str]) -> str:
        user = find_user(self._core, int(match[1]))
        return f"@{user.display_name}" if user else match[0]

    @property
    def raw_content(self) -> str:
        """The text as it was written."""
        return self._read("content", "")

    @property
    def sent_timestamp(self) -> int:
        """When it was written, in Unix milliseconds."""
        return (self.id >> 22) + EPOCH_MS if self.id else 0

    @property
    def edited_timestamp(self) -> int:
        """When it was last edited, in Unix milliseconds; 0 if never."""
        return _ms(self._read("edited_timestamp", ""))

    @property
    def lobby(self) -> LobbyHandle | None:
        """The lobby it was written in."""
        return find_lobby(self._core, self._read("lobby_id", 0))

    @property
    def recipient_id(self) -> int:
        """The other side of a conversation of two, whoever wrote; 0 elsewhere."""
        return self._message.other if self._alive else 0

    @property
    def recipient(self) -> UserHandle | None:
        """The other side of a conversation of two."""
        return find_user(self._core, self.recipient_id)

    @property
    def metadata(self) -> dict[str, str]:
        """What the game sent along."""
        return dict(self._read("metadata", {}))

    @property
    def moderation_metadata(self) -> dict[str, str]:
        """What the game's backend says of it."""
        return dict(self._read("moderation_metadata", {}))

    @property
    def additional_content(self) -> AdditionalContent | None:
        """What it has besides its text."""
        if not self._alive:
            return None
        told = self._message.payload
        kinds: tuple[tuple[AdditionalContentType, str | None, int], ...] = (
            (AdditionalContentType.POLL, told.poll.question.text if told.poll and told.poll.question else None, 1)
            if told.poll
            else (AdditionalContentType.POLL, None, 0),
            (AdditionalContentType.THREAD, told.thread.name if told.thread else None, int(bool(told.thread))),
            (
                AdditionalContentType.VOICE_MESSAGE if told.flags & VOICE_MESSAGE else AdditionalContentType.ATTACHMENT,
                None,
                len(told.attachments or ()),
            ),
            (AdditionalContentType.STICKER, None, len(told.sticker_items or ())),
            (AdditionalContentType.EMBED, None, len(told.embeds or ())),
        )
        for kind, title, count in kinds:
            if count:
                return self._core.make(AdditionalContent, type=kind, title=title, count=min(count, 255))
        return None

    @property
    def additional_name(self) -> str | None:
        """The author's other name in the lobby, as it was then."""
        member = self._message.payload.lobby_member if self._alive else None
        return member.additional_name if member else None

    @property
    def application_id(self) -> int | None:
        """The game it was sent from."""
        return self._message.payload.application_id if self._alive else None

    @property
    def sent_from_game(self) -> bool:
        """Whether it was sent from this game or a sibling."""
        return bool(self._read("flags", 0) & SENT_FROM_GAME)

    @property
    def disclosure_type(self) -> DisclosureTypes | None:
        """Set where the SDK put the message there itself."""
        told = self._message.disclosure if self._alive else None
        return None if told is None else DisclosureTypes(told)


VOICE_MESSAGE: Final = 1 << 13


def find_user(core: Core, user_id: int) -> UserHandle | None:
    """The handle of somebody known; nothing goes over the network."""
    with core.lock:
        return core.make(UserHandle, core, user_id) if user_id in core.cache.users else None


def find_lobby(core: Core, lobby_id: int) -> LobbyHandle | None:
    """The handle of a lobby that we are in."""
    with core.lock:
        return core.make(LobbyHandle, core, lobby_id) if lobby_id in core.cache.lobbies else None


def find_channel(core: Core, channel_id: int) -> ChannelHandle | None:
    """The handle of a conversation; a lobby is one, too."""
    with core.lock:
        return core.make(ChannelHandle, core, channel_id) if channel_id in core.cache.channels else None


def profiles(core: Core, user_id: int) -> list[UserApplicationProfileHandle]:
    """Who somebody is in the game; the caller holds the lock."""
    return [
        core.make(UserApplicationProfileHandle, core, user_id, index)
        for index in range(len(core.cache.profiles.get(user_id, ())))
    ]


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


def _ms(moment: str) -> int:
    from datetime import datetime

    return int(datetime.fromisoformat(moment).timestamp() * 1000) if moment else 0


def _json(value: Any) -> str:
    import json

    return json.dumps(value)

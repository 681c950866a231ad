"""Handles of people: who they are, how they stand to us, and who they are in the game (sdk.md 9.1)."""

import json
from typing import Final

from msgspec import UNSET

from hubbub.sdk.activities import Activity, from_wire
from hubbub.sdk.cache import Relation
from hubbub.sdk.core import Core
from hubbub.sdk.enums import (
    AvatarType,
    ExternalIdentityProviderType,
    RelationshipType,
    StatusType,
    known,
    to_string,
)
from hubbub.sdk.handles.base import Handle
from hubbub.sdk.payloads import ProfilePayload, UserPayload

PROVISIONAL: Final = 1 << 23
DEFAULT_AVATARS: Final = 6
STATUSES: Final = {
    "online": StatusType.ONLINE,
    "idle": StatusType.IDLE,
    "dnd": StatusType.DND,
    "offline": StatusType.OFFLINE,
    "streaming": StatusType.STREAMING,
    "invisible": StatusType.INVISIBLE,
}


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
        return "" if metadata is None else json.dumps(metadata)

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


def find_user(core: Core, user_id: int) -> UserHandle | None:
    """The handle of somebody known; nothing goes over the network."""
    with core.lock:
        return core.make(UserHandle, core, user_id) if user_id in core.cache.users else None


def profiles(core: Core, user_id: int) -> list[UserApplicationProfileHandle]:
    """Who somebody is in the game; the caller holds the lock."""
    return [
        core.make(UserApplicationProfileHandle, core, user_id, index)
        for index in range(len(core.cache.profiles.get(user_id, ())))
    ]

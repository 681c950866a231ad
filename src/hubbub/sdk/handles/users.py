"""Handles of users, relationships and application profiles (spec/sdk.md#9.1)."""

from typing import TYPE_CHECKING, Final

from hubbub.protocol.flags import UserFlags
from hubbub.protocol.images import DEFAULT_AVATAR_COUNT
from hubbub.sdk.activities import Activity, from_wire
from hubbub.sdk.arguments import checks_arguments
from hubbub.sdk.cache import CachedRelationship, CachedUser
from hubbub.sdk.core import Core
from hubbub.sdk.enums import (
    AvatarType,
    ExternalIdentityProviderType,
    RelationshipType,
    StatusType,
    member_or_default,
    to_string,
)
from hubbub.sdk.handles.base import Handle

if TYPE_CHECKING:
    from hubbub.protocol.resources.identities import ExternalId, UserApplicationProfile

STATUSES_BY_WIRE_VALUE: Final = {
    "online": StatusType.ONLINE,
    "idle": StatusType.IDLE,
    "dnd": StatusType.DND,
    "offline": StatusType.OFFLINE,
    "streaming": StatusType.STREAMING,
    "invisible": StatusType.INVISIBLE,
}
"""Online statuses by their value on the wire."""


class UserHandle(Handle):
    """A user in the client's cache."""

    def _find_cached_user(self) -> CachedUser | None:
        with self._core.lock:
            return self._core.cache.users.get(self._id) if self._is_alive else None

    @property
    def username(self) -> str:
        """Unique username; provisional accounts have a generated one."""
        cached_user = self._find_cached_user()
        return cached_user.username if cached_user else ""

    @property
    def global_name(self) -> str | None:
        """Display name that the user chose, or None."""
        cached_user = self._find_cached_user()
        return cached_user.global_name if cached_user else None

    @property
    def display_name(self) -> str:
        """Name to display: the global name, or the username if there is none."""
        return self.global_name or self.username

    @property
    def avatar(self) -> str | None:
        """Hash of the avatar image; None for a default avatar."""
        cached_user = self._find_cached_user()
        return cached_user.avatar if cached_user else None

    @checks_arguments
    def avatar_url(self, animated_type: AvatarType = AvatarType.GIF, static_type: AvatarType = AvatarType.PNG) -> str:
        """Return the URL of the avatar image; a user without an avatar has a default image.

        `animated_type` is the format of an animated avatar, `static_type` the format of any other."""
        if not self._is_alive:
            return ""
        cdn, avatar_hash = f"{self._core.web_base}/cdn", self.avatar
        if avatar_hash is None:
            return f"{cdn}/embed/avatars/{(self._id >> 22) % DEFAULT_AVATAR_COUNT}.png"
        image_type = animated_type if avatar_hash.startswith("a_") else static_type
        return f"{cdn}/avatars/{self._id}/{avatar_hash}.{image_type.name.lower()}"

    @property
    def is_provisional(self) -> bool:
        """Whether this is a provisional account, which exists in this game only."""
        cached_user = self._find_cached_user()
        return bool(cached_user and (cached_user.flags | cached_user.public_flags) & UserFlags.PROVISIONAL_ACCOUNT)

    @property
    def status(self) -> StatusType:
        """Online status of the user; `OFFLINE` without a presence, `UNKNOWN` for a status that the SDK does not know."""
        if not self._is_alive:
            return StatusType.OFFLINE
        with self._core.lock:
            presence = self._core.cache.presences.get(self._id)
        return STATUSES_BY_WIRE_VALUE.get(presence.status, StatusType.UNKNOWN) if presence else StatusType.OFFLINE

    @property
    def game_activity(self) -> Activity | None:
        """Activity of the user in this game or another game of the same publisher, or None."""
        if not self._is_alive:
            return None
        core = self._core
        with core.lock:
            activity = core.cache.activity_of(self._id, frozenset({core.application_id}), core.parent_application_id)
        return from_wire(activity, core.make) if activity else None

    @property
    def relationship(self) -> "RelationshipHandle":
        """Relationship of the current user to this user."""
        return self._core.make(RelationshipHandle, self._core, self._id)

    @property
    def user_application_profiles(self) -> "list[UserApplicationProfileHandle]":
        """Profiles of the user in the game, at most one per application."""
        with self._core.lock:
            return user_profiles(self._core, self._id)

    @staticmethod
    def avatar_type_to_string(type: AvatarType) -> str:
        """Return the specification's name of an image format."""
        return to_string(AvatarType, type)


class RelationshipHandle(Handle):
    """The relationship of the current user to another user; `id` is the other user's ID."""

    def _get_cached_relationship(self) -> CachedRelationship:
        with self._core.lock:
            relationship = self._core.cache.relationships.get(self._id) if self._is_alive else None
        return relationship or CachedRelationship()

    @property
    def platform_relationship_type(self) -> RelationshipType:
        """Relationship on the whole platform."""
        return member_or_default(RelationshipType, self._get_cached_relationship().platform, RelationshipType.NONE)

    @property
    def game_relationship_type(self) -> RelationshipType:
        """Relationship in this game only."""
        return member_or_default(RelationshipType, self._get_cached_relationship().game, RelationshipType.NONE)

    @property
    def is_spam_request(self) -> bool:
        """Whether the platform classified the incoming friend request as spam."""
        return self._get_cached_relationship().is_spam

    @property
    def user(self) -> UserHandle | None:
        """The other user, or None if the client does not have it cached."""
        return find_user(self._core, self._id)


class UserApplicationProfileHandle(Handle):
    """The profile of a user in a game, with an identity from an external provider.

    `index` is the position of the profile in the list of the user's profiles."""

    def __init__(self, core: Core, id: int, index: int) -> None:
        super().__init__(core, id)
        self._index = index

    def _find_profile(self) -> "UserApplicationProfile | None":
        with self._core.lock:
            profiles = self._core.cache.profiles.get(self._id, []) if self._is_alive else []
        return profiles[self._index] if self._index < len(profiles) else None

    def _external_id(self) -> "ExternalId | None":
        profile = self._find_profile()
        return (profile.external_id or None) if profile else None

    @property
    def username(self) -> str:
        """Name of the user in the game."""
        profile = self._find_profile()
        return (profile.username or "") if profile else ""

    @property
    def avatar_hash(self) -> str:
        """Hash of the user's avatar image in the game."""
        profile = self._find_profile()
        return (profile.avatar_hash or "") if profile else ""

    @property
    def metadata(self) -> str:
        """Metadata that the game stored for the user, as JSON text; empty if there is none."""
        profile = self._find_profile()
        return (profile.metadata or "") if profile else ""

    @property
    def provider_id(self) -> str | None:
        """ID of the identity provider configuration, or None."""
        external_id = self._external_id()
        return (external_id.provider_id or None) if external_id else None

    @property
    def provider_issued_user_id(self) -> str:
        """ID of the user at the identity provider; empty if there is none."""
        external_id = self._external_id()
        return (external_id.provider_issued_user_id or "") if external_id else ""

    @property
    def provider_type(self) -> ExternalIdentityProviderType:
        """Kind of identity provider; `NONE` without an external identity, `UNKNOWN` for a kind that the SDK does not know."""
        external_id = self._external_id()
        if external_id is None or not external_id.provider_type:
            return ExternalIdentityProviderType.NONE
        provider_type = external_id.provider_type
        if provider_type.isdecimal():
            return member_or_default(
                ExternalIdentityProviderType, int(provider_type), ExternalIdentityProviderType.UNKNOWN
            )
        return ExternalIdentityProviderType.__members__.get(provider_type, ExternalIdentityProviderType.UNKNOWN)


def find_user(core: Core, user_id: int) -> UserHandle | None:
    """Return the handle of a cached user, or None."""
    with core.lock:
        return core.make(UserHandle, core, user_id) if user_id in core.cache.users else None


def user_profiles(core: Core, user_id: int) -> list[UserApplicationProfileHandle]:
    """Return the application profiles of a user; the caller must hold the client's lock."""
    return [
        core.make(UserApplicationProfileHandle, core, user_id, index)
        for index in range(len(core.cache.profiles.get(user_id, ())))
    ]

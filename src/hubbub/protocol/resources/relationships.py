"""Relationships: friends, friend requests and blocks, on the platform or in the games of one family (spec/sdk.md#9)."""

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.enums import Scope
from hubbub.protocol.ids import ApplicationId, Timestamp, UserId
from hubbub.protocol.intents import Intents
from hubbub.protocol.operation import Auth, Event, Operation
from hubbub.protocol.resources.identities import UserApplicationProfile
from hubbub.protocol.resources.presence import PRESENCE_UPDATE
from hubbub.protocol.resources.users import User

FRIENDS_MAX = 1000
"""Maximum number of friends and outgoing requests on the platform; friends in games are not limited."""
BLOCKED_MAX = 5000
"""Maximum number of blocked users."""
NICKNAME_MAX = 32
"""Maximum length of a friend's nickname, in characters."""
USERNAME_REQUEST_MAX = 128
"""Maximum length of a username in a friend request, in characters."""

ACCEPT_OR_REQUEST_TYPE = -1
"""Relationship type with which a client accepts a pending friend request or, if there is none, sends one."""


class Relationship(Struct, kw_only=True):
    """The user's relationship with another user on the platform."""

    id: UserId
    """ID of the other user."""
    type: int
    """Type of the relationship: 1 friend, 2 blocked, 3 incoming request, 4 outgoing request."""
    user: User | UnsetType = UNSET
    """Other user. Absent in READY with `Capabilities.DEDUPE_USER_OBJECTS`."""
    nickname: str | None = None
    """Nickname that the user gave a friend; null if there is none."""
    user_ignored: bool = False
    """Whether the user ignores the other user; always false."""
    is_spam_request: bool | UnsetType = UNSET
    """Whether an incoming request comes from a user who is flagged as a spammer; absent otherwise."""
    origin_application_id: ApplicationId | UnsetType = UNSET
    """ID of the game in which the relationship was created; absent otherwise."""
    since: Timestamp | UnsetType = UNSET
    """Time at which the relationship was created."""
    has_played_game: bool | UnsetType = UNSET
    """Whether the other user plays a game of the application's family; sent in OAuth2 sessions only."""


class AddedRelationship(Relationship, kw_only=True):
    """A relationship that is new or changed its type."""

    should_notify: bool | UnsetType = UNSET
    """Whether clients should notify the user of a new or accepted request; absent otherwise."""
    user_application_profiles: list[UserApplicationProfile] | UnsetType = UNSET
    """Profiles of the other user in the application's family; sent in OAuth2 sessions only."""


class RelationshipChange(Struct, kw_only=True):
    """Changes to a relationship or to its user; absent fields are unchanged."""

    id: UserId
    """ID of the other user."""
    type: int | UnsetType = UNSET
    """Type of the relationship: 1 friend, 2 blocked, 3 incoming request, 4 outgoing request."""
    nickname: str | None | UnsetType = UNSET
    """Nickname that the user gave a friend; null if there is none."""
    user_ignored: bool | UnsetType = UNSET
    """Whether the user ignores the other user."""
    since: Timestamp | UnsetType = UNSET
    """Time at which the relationship was created."""
    user: User | UnsetType = UNSET
    """Other user after a change of name or avatar.
    No other field is sent then, so that all friends receive the same payload."""


class RemovedRelationship(Struct, kw_only=True):
    """A relationship that was removed."""

    id: UserId
    """ID of the other user."""
    type: int
    """Type of the relationship before it was removed."""
    nickname: str | None = None
    """Nickname that the user gave a friend; null if there was none."""


class GameRelationship(Struct, kw_only=True):
    """The user's relationship with another user in the games of one family; it cannot be a block."""

    id: UserId
    """ID of the other user."""
    application_id: ApplicationId
    """ID of the game in which the relationship was created."""
    type: int
    """Type of the relationship: 1 friend, 3 incoming request, 4 outgoing request."""
    since: Timestamp
    """Time at which the relationship was created."""
    dm_access_type: int = 0
    """Access to direct messages; always 0."""
    user_id: UserId
    """ID of the user who receives this object; `id` is the other user."""
    user: User | UnsetType = UNSET
    """Other user. Absent over HTTP with an OAuth2 token, and in READY with `Capabilities.DEDUPE_USER_OBJECTS`."""
    user_application_profiles: list[UserApplicationProfile] | UnsetType = UNSET
    """Profiles of the other user in the family; sent in OAuth2 sessions for a new relationship."""


class RequestFriend(Struct, kw_only=True):
    """A user to send a friend request to, by name."""

    username: Annotated[str, Meta(min_length=1, max_length=USERNAME_REQUEST_MAX)]
    """Username of the user."""
    discriminator: str | int | None = None
    """Discriminator of legacy usernames: null, 0 or absent; any other value matches no user."""


class SetRelationship(Struct, kw_only=True):
    """The relationship to create."""

    type: int | None | UnsetType = UNSET
    """1, -1, null or absent accepts a pending friend request or sends one; 2 blocks the user."""
    confirm_stranger_request: bool | None | UnsetType = UNSET
    """Whether the user confirmed a request to a stranger; accepted and ignored."""
    from_friend_suggestion: bool | None | UnsetType = UNSET
    """Whether the request comes from a friend suggestion; accepted and ignored."""


class SetGameRelationship(Struct, kw_only=True):
    """The relationship to create in the game."""

    type: int | None | UnsetType = UNSET
    """1, -1, null or absent accepts a pending friend request or sends one; other values are rejected."""


class UpdateRelationship(Struct, kw_only=True):
    """Changes to a friend's relationship."""

    nickname: Annotated[str, Meta(max_length=NICKNAME_MAX)] | None
    """Nickname of the friend, visible only to the caller; null or empty removes it."""


RELATIONSHIP_ADD = Event(
    "RELATIONSHIP_ADD",
    AddedRelationship,
    "Sent when a relationship is created or changes its type.",
    intents=Intents.USER_RELATIONSHIPS,
    scope=Scope.RELATIONSHIPS_READ,
)
RELATIONSHIP_UPDATE = Event(
    "RELATIONSHIP_UPDATE",
    RelationshipChange,
    "Sent when the nickname of a friend, or a friend's own user, changes.",
    intents=Intents.USER_RELATIONSHIPS,
    scope=Scope.RELATIONSHIPS_READ,
)
RELATIONSHIP_REMOVE = Event(
    "RELATIONSHIP_REMOVE",
    RemovedRelationship,
    "Sent when a relationship is removed.",
    intents=Intents.USER_RELATIONSHIPS,
    scope=Scope.RELATIONSHIPS_READ,
)
GAME_RELATIONSHIP_ADD = Event(
    "GAME_RELATIONSHIP_ADD",
    GameRelationship,
    "Sent when a relationship in a game is created or changes its type.",
    intents=Intents.USER_RELATIONSHIPS,
    scope=Scope.RELATIONSHIPS_READ,
)
GAME_RELATIONSHIP_REMOVE = Event(
    "GAME_RELATIONSHIP_REMOVE",
    GameRelationship,
    "Sent when a relationship in a game is removed.",
    intents=Intents.USER_RELATIONSHIPS,
    scope=Scope.RELATIONSHIPS_READ,
)

_USER_AUTH = Auth.USER | Auth.BEARER
_READ_SCOPES = (Scope.RELATIONSHIPS_READ.value,)
_WRITE_SCOPES = (Scope.RELATIONSHIPS_WRITE.value,)
_REQUEST_ERRORS = (
    errors.UNKNOWN_USER,
    errors.CANNOT_BEFRIEND_SELF,
    errors.BOTS_CANNOT_HAVE_FRIENDS,
    errors.FRIEND_REQUEST_BLOCKED,
    errors.FRIEND_REQUESTS_DISABLED,
    errors.ALREADY_FRIENDS,
)

LIST_MY_RELATIONSHIPS = Operation(
    "GET", "/users/@me/relationships", result=list[Relationship], auth=_USER_AUTH, scopes=_READ_SCOPES
)

REQUEST_FRIEND = Operation(
    "POST",
    "/users/@me/relationships",
    body=RequestFriend,
    auth=_USER_AUTH,
    scopes=_WRITE_SCOPES,
    raises=(*_REQUEST_ERRORS, errors.NO_USER_WITH_TAG, errors.MAX_FRIENDS),
    emits=(RELATIONSHIP_ADD,),
)

SET_RELATIONSHIP = Operation(
    "PUT",
    "/users/@me/relationships/{user_id}",
    body=SetRelationship,
    auth=_USER_AUTH,
    scopes=_WRITE_SCOPES,
    optional_body=True,
    raises=(*_REQUEST_ERRORS, errors.MAX_FRIENDS, errors.INVALID_FORM_BODY),
    emits=(RELATIONSHIP_ADD, RELATIONSHIP_REMOVE, GAME_RELATIONSHIP_REMOVE, PRESENCE_UPDATE),
)

UPDATE_RELATIONSHIP = Operation(
    "PATCH",
    "/users/@me/relationships/{user_id}",
    body=UpdateRelationship,
    auth=_USER_AUTH,
    scopes=_WRITE_SCOPES,
    raises=(errors.UNKNOWN_USER,),
    emits=(RELATIONSHIP_UPDATE,),
)

DELETE_RELATIONSHIP = Operation(
    "DELETE",
    "/users/@me/relationships/{user_id}",
    auth=_USER_AUTH,
    scopes=_WRITE_SCOPES,
    raises=(errors.UNKNOWN_USER,),
    emits=(RELATIONSHIP_REMOVE, PRESENCE_UPDATE),
)

LIST_MY_GAME_RELATIONSHIPS = Operation(
    "GET", "/users/@me/game-relationships", result=list[GameRelationship], auth=_USER_AUTH, scopes=_READ_SCOPES
)

REQUEST_GAME_FRIEND = Operation(
    "POST",
    "/users/@me/game-relationships",
    body=RequestFriend,
    auth=Auth.BEARER,
    scopes=_WRITE_SCOPES,
    raises=(*_REQUEST_ERRORS, errors.NO_USER_WITH_TAG),
    emits=(GAME_RELATIONSHIP_ADD,),
)

SET_GAME_RELATIONSHIP = Operation(
    "PUT",
    "/users/@me/game-relationships/{user_id}",
    body=SetGameRelationship,
    auth=Auth.BEARER,
    scopes=_WRITE_SCOPES,
    optional_body=True,
    raises=(*_REQUEST_ERRORS, errors.INVALID_FORM_BODY),
    emits=(GAME_RELATIONSHIP_ADD, PRESENCE_UPDATE),
)

DELETE_GAME_RELATIONSHIP = Operation(
    "DELETE",
    "/users/@me/game-relationships/{user_id}",
    auth=Auth.BEARER,
    scopes=_WRITE_SCOPES,
    raises=(errors.UNKNOWN_USER,),
    emits=(GAME_RELATIONSHIP_REMOVE,),
)

"""Relationships: friends, requests and blocks, on the whole platform or in the games of one family (sdk.md 9)."""

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
"""Friends and requests that wait for an answer, on the platform; game friends are not limited."""
BLOCKED_MAX = 5000
NICKNAME_MAX = 32
USERNAME_SENT_MAX = 128
"""Longer is nobody's name."""

DEFAULT_TYPE = -1
"""Accept if the other asked, else ask."""


class Relationship(Struct, kw_only=True):
    """What somebody is to the reader, on the whole platform."""

    id: UserId
    """The other's id."""
    type: int
    """A `RelationshipType`: 1 friend, 2 blocked, 3 the other asked, 4 the reader asked."""
    user: User | UnsetType = UNSET
    """Absent in READY where users are told once (`Capabilities.DEDUPE_USER_OBJECTS`)."""
    nickname: str | None = None
    user_ignored: bool = False
    is_spam_request: bool | UnsetType = UNSET
    """That a request comes from somebody marked as a spammer."""
    origin_application_id: ApplicationId | UnsetType = UNSET
    """The game it was made in."""
    since: Timestamp | UnsetType = UNSET
    has_played_game: bool | UnsetType = UNSET
    """OAuth2 only: whether the other plays a game of the application's family."""


class AddedRelationship(Relationship, kw_only=True):
    """A relationship that is new, or of another type than before."""

    should_notify: bool | UnsetType = UNSET
    """That somebody asked or accepted, and the reader would like to know."""
    user_application_profiles: list[UserApplicationProfile] | UnsetType = UNSET
    """In OAuth2 sessions: who the other is in the application's family, as READY has it."""


class RelationshipChange(Struct, kw_only=True):
    """What changed of a relationship besides its type; what is absent stayed."""

    id: UserId
    type: int | UnsetType = UNSET
    nickname: str | None | UnsetType = UNSET
    user_ignored: bool | UnsetType = UNSET
    since: Timestamp | UnsetType = UNSET
    user: User | UnsetType = UNSET
    """The other, where they have another name or picture; then nothing else is told, so that all their friends hear the same."""


class RemovedRelationship(Struct, kw_only=True):
    """A relationship that is over; the type is what it was."""

    id: UserId
    type: int
    nickname: str | None = None


class GameRelationship(Struct, kw_only=True):
    """What somebody is to the reader in the games of one family; there are no blocks among them."""

    id: UserId
    """The other's id."""
    application_id: ApplicationId
    """The game it was made in."""
    type: int
    since: Timestamp
    dm_access_type: int = 0
    user_id: UserId
    """The reader's own id."""
    user: User | UnsetType = UNSET
    """The other; absent over HTTP with an OAuth2 token, and in READY where users are told once."""
    user_application_profiles: list[UserApplicationProfile] | UnsetType = UNSET
    """In OAuth2 sessions, where the relationship is new: who the other is in the family."""


class RequestFriend(Struct, kw_only=True):
    """Whom to ask, by name."""

    username: Annotated[str, Meta(min_length=1, max_length=USERNAME_SENT_MAX)]
    discriminator: str | int | None = None
    """Of the time before unique names; null, 0 or absent."""


class SetRelationship(Struct, kw_only=True):
    """What somebody shall be to the caller."""

    type: int | None | UnsetType = UNSET
    """1 or DEFAULT_TYPE to ask or accept (so where it is absent), 2 to block."""
    confirm_stranger_request: bool | None | UnsetType = UNSET
    from_friend_suggestion: bool | None | UnsetType = UNSET


class SetGameRelationship(Struct, kw_only=True):
    """What somebody shall be to the caller in the game."""

    type: int | None | UnsetType = UNSET
    """1 or DEFAULT_TYPE to ask or accept (so where it is absent)."""


class UpdateRelationship(Struct, kw_only=True):
    """How the caller calls a friend."""

    nickname: Annotated[str, Meta(max_length=NICKNAME_MAX)] | None


RELATIONSHIP_ADD = Event(
    "RELATIONSHIP_ADD", AddedRelationship, intents=Intents.USER_RELATIONSHIPS, scope=Scope.RELATIONSHIPS_READ
)
RELATIONSHIP_UPDATE = Event(
    "RELATIONSHIP_UPDATE", RelationshipChange, intents=Intents.USER_RELATIONSHIPS, scope=Scope.RELATIONSHIPS_READ
)
RELATIONSHIP_REMOVE = Event(
    "RELATIONSHIP_REMOVE", RemovedRelationship, intents=Intents.USER_RELATIONSHIPS, scope=Scope.RELATIONSHIPS_READ
)
GAME_RELATIONSHIP_ADD = Event(
    "GAME_RELATIONSHIP_ADD", GameRelationship, intents=Intents.USER_RELATIONSHIPS, scope=Scope.RELATIONSHIPS_READ
)
GAME_RELATIONSHIP_REMOVE = Event(
    "GAME_RELATIONSHIP_REMOVE", GameRelationship, intents=Intents.USER_RELATIONSHIPS, scope=Scope.RELATIONSHIPS_READ
)

_PEOPLE = Auth.USER | Auth.BEARER
_READ = (Scope.RELATIONSHIPS_READ.value,)
_WRITE = (Scope.RELATIONSHIPS_WRITE.value,)
_REFUSALS = (
    errors.UNKNOWN_USER,
    errors.CANNOT_BEFRIEND_SELF,
    errors.BOTS_CANNOT_HAVE_FRIENDS,
    errors.FRIEND_REQUEST_BLOCKED,
    errors.FRIEND_REQUESTS_DISABLED,
    errors.ALREADY_FRIENDS,
)

LIST_MY_RELATIONSHIPS = Operation(
    "GET", "/users/@me/relationships", result=list[Relationship], auth=_PEOPLE, scopes=_READ
)

REQUEST_FRIEND = Operation(
    "POST",
    "/users/@me/relationships",
    body=RequestFriend,
    auth=_PEOPLE,
    scopes=_WRITE,
    raises=(*_REFUSALS, errors.NO_USER_WITH_TAG, errors.MAX_FRIENDS),
    emits=(RELATIONSHIP_ADD,),
)

SET_RELATIONSHIP = Operation(
    "PUT",
    "/users/@me/relationships/{user_id}",
    body=SetRelationship,
    auth=_PEOPLE,
    scopes=_WRITE,
    optional_body=True,
    raises=(*_REFUSALS, errors.MAX_FRIENDS, errors.INVALID_FORM_BODY),
    emits=(RELATIONSHIP_ADD, RELATIONSHIP_REMOVE, GAME_RELATIONSHIP_REMOVE, PRESENCE_UPDATE),
)

UPDATE_RELATIONSHIP = Operation(
    "PATCH",
    "/users/@me/relationships/{user_id}",
    body=UpdateRelationship,
    auth=_PEOPLE,
    scopes=_WRITE,
    raises=(errors.UNKNOWN_USER,),
    emits=(RELATIONSHIP_UPDATE,),
)

DELETE_RELATIONSHIP = Operation(
    "DELETE",
    "/users/@me/relationships/{user_id}",
    auth=_PEOPLE,
    scopes=_WRITE,
    raises=(errors.UNKNOWN_USER,),
    emits=(RELATIONSHIP_REMOVE, PRESENCE_UPDATE),
)

LIST_MY_GAME_RELATIONSHIPS = Operation(
    "GET", "/users/@me/game-relationships", result=list[GameRelationship], auth=_PEOPLE, scopes=_READ
)

REQUEST_GAME_FRIEND = Operation(
    "POST",
    "/users/@me/game-relationships",
    body=RequestFriend,
    auth=Auth.BEARER,
    scopes=_WRITE,
    raises=(*_REFUSALS, errors.NO_USER_WITH_TAG),
    emits=(GAME_RELATIONSHIP_ADD,),
)

SET_GAME_RELATIONSHIP = Operation(
    "PUT",
    "/users/@me/game-relationships/{user_id}",
    body=SetGameRelationship,
    auth=Auth.BEARER,
    scopes=_WRITE,
    optional_body=True,
    raises=(*_REFUSALS, errors.INVALID_FORM_BODY),
    emits=(GAME_RELATIONSHIP_ADD, PRESENCE_UPDATE),
)

DELETE_GAME_RELATIONSHIP = Operation(
    "DELETE",
    "/users/@me/game-relationships/{user_id}",
    auth=Auth.BEARER,
    scopes=_WRITE,
    raises=(errors.UNKNOWN_USER,),
    emits=(GAME_RELATIONSHIP_REMOVE,),
)

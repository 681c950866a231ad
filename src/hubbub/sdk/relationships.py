"""Friends and blocked users, on the platform and in the game (spec/sdk.md#9)."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from hubbub.sdk import resources
from hubbub.sdk.core import Core
from hubbub.sdk.drivers import Completion
from hubbub.sdk.enums import RelationshipGroupType, RelationshipType
from hubbub.sdk.handles import RelationshipHandle, UserHandle, find_user
from hubbub.sdk.results import ClientResult, validation_error

if TYPE_CHECKING:
    from hubbub.protocol.operation import Operation

ResultCallback = Callable[[ClientResult], object]
Kind = Literal["platform", "game"]
"""Kind of a relationship: on the platform, or in this game only."""
PLATFORM: Final = "platform"
GAME: Final = "game"
EDIT_DISTANCE_MAX: Final = 3
"""Maximum edit distance of a match in a search."""
CHARACTERS_PER_EDIT: Final = 3
"""Number of characters of the query that allow one edit: a short query must match more exactly."""


class RelationshipOperations(NamedTuple):
    """Operations on relationships of one kind."""

    request: "Operation[Any, Any]"
    """Operation that sends a friend request to a username."""
    set: "Operation[Any, Any]"
    """Operation that sends or accepts a friend request, or blocks a user."""
    delete: "Operation[Any, Any]"
    """Operation that removes a relationship."""


class Relationships:
    """Component of the client that manages friends, friend requests and blocked users."""

    def __init__(self, core: Core) -> None:
        self._core = core

    # Sending requests

    def send_platform_friend_request(self, username: str, callback: ResultCallback | None = None) -> Completion[None]:
        """Send a friend request to a user by username.

        If that user already sent a request to the current user, both become friends immediately."""
        return self._core.run_in_session(
            "SendPlatformFriendRequest", callback, (), self._request_friend, PLATFORM, username
        )

    def send_platform_friend_request_by_id(
        self, user_id: int, callback: ResultCallback | None = None
    ) -> Completion[None]:
        """Send a friend request to a user by ID.

        If that user already sent a request to the current user, both become friends immediately."""
        return self._core.run_in_session(
            "SendPlatformFriendRequestById", callback, (), self._put_relationship, PLATFORM, user_id
        )

    def send_game_friend_request(self, username: str, callback: ResultCallback | None = None) -> Completion[None]:
        """Send a friend request for this game only to a user by username."""
        return self._core.run_in_session("SendGameFriendRequest", callback, (), self._request_friend, GAME, username)

    def send_game_friend_request_by_id(self, user_id: int, callback: ResultCallback | None = None) -> Completion[None]:
        """Send a friend request for this game only to a user by ID."""
        return self._core.run_in_session(
            "SendGameFriendRequestById", callback, (), self._put_relationship, GAME, user_id
        )

    # Responding to requests

    def accept_platform_friend_request(self, user_id: int, callback: ResultCallback | None = None) -> Completion[None]:
        """Accept a user's friend request."""
        return self._core.run_in_session(
            "AcceptPlatformFriendRequest", callback, (), self._accept_request, PLATFORM, user_id
        )

    def accept_game_friend_request(self, user_id: int, callback: ResultCallback | None = None) -> Completion[None]:
        """Accept a user's friend request for this game."""
        return self._core.run_in_session("AcceptGameFriendRequest", callback, (), self._accept_request, GAME, user_id)

    def reject_platform_friend_request(self, user_id: int, callback: ResultCallback | None = None) -> Completion[None]:
        """Reject a user's friend request."""
        expected = RelationshipType.PENDING_INCOMING
        return self._core.run_in_session(
            "RejectPlatformFriendRequest", callback, (), self._remove_relationship, PLATFORM, user_id, expected
        )

    def reject_game_friend_request(self, user_id: int, callback: ResultCallback | None = None) -> Completion[None]:
        """Reject a user's friend request for this game."""
        expected = RelationshipType.PENDING_INCOMING
        return self._core.run_in_session(
            "RejectGameFriendRequest", callback, (), self._remove_relationship, GAME, user_id, expected
        )

    def cancel_platform_friend_request(self, user_id: int, callback: ResultCallback | None = None) -> Completion[None]:
        """Cancel a friend request that the current user sent."""
        expected = RelationshipType.PENDING_OUTGOING
        return self._core.run_in_session(
            "CancelPlatformFriendRequest", callback, (), self._remove_relationship, PLATFORM, user_id, expected
        )

    def cancel_game_friend_request(self, user_id: int, callback: ResultCallback | None = None) -> Completion[None]:
        """Cancel a friend request for this game that the current user sent."""
        expected = RelationshipType.PENDING_OUTGOING
        return self._core.run_in_session(
            "CancelGameFriendRequest", callback, (), self._remove_relationship, GAME, user_id, expected
        )

    # Removing and blocking

    def remove_platform_and_game_friend(self, user_id: int, callback: ResultCallback | None = None) -> Completion[None]:
        """Remove a user from the platform friends and from the friends of this game."""
        return self._core.run_in_session("RemovePlatformAndGameFriend", callback, (), self._remove_friend, user_id)

    def remove_game_friend(self, user_id: int, callback: ResultCallback | None = None) -> Completion[None]:
        """Remove a user from the friends of this game; a platform friendship remains."""
        expected = RelationshipType.FRIEND
        return self._core.run_in_session(
            "RemoveGameFriend", callback, (), self._remove_relationship, GAME, user_id, expected
        )

    def block_user(self, user_id: int, callback: ResultCallback | None = None) -> Completion[None]:
        """Block a user on the whole platform; every other relationship to that user is removed."""
        return self._core.run_in_session(
            "BlockUser",
            callback,
            (),
            self._put_relationship,
            PLATFORM,
            user_id,
            RelationshipType.BLOCKED,
        )

    def unblock_user(self, user_id: int, callback: ResultCallback | None = None) -> Completion[None]:
        """Unblock a user; earlier relationships are not restored."""
        expected = RelationshipType.BLOCKED
        return self._core.run_in_session(
            "UnblockUser", callback, (), self._remove_relationship, PLATFORM, user_id, expected
        )

    # Reading

    def get_relationship_handle(self, user_id: int) -> RelationshipHandle:
        """Return the relationship to a user; never None, even without a relationship."""
        return self._core.make(RelationshipHandle, self._core, user_id)

    def get_relationships(self) -> list[RelationshipHandle]:
        """Return all relationships of the current user."""
        with self._core.lock:
            return [self.get_relationship_handle(user_id) for user_id in self._core.cache.relationships]

    def get_relationships_by_group(self, group_type: RelationshipGroupType) -> list[RelationshipHandle]:
        """Return the friends in one section of the friends list, in display order."""
        core = self._core
        with core.lock:
            application_ids = frozenset({core.application_id})
            sort_keys: list[tuple[bool, str, int]] = []
            for user_id, relationship in core.cache.relationships.items():
                if not core.cache.is_friend(user_id):
                    continue
                presence = core.cache.presences.get(user_id)
                is_playing = core.cache.activity_of(user_id, application_ids, core.parent_application_id) is not None
                if presence is None or presence.status in ("offline", "invisible"):
                    group = RelationshipGroupType.OFFLINE
                elif is_playing:
                    group = RelationshipGroupType.ONLINE_PLAYING_GAME
                else:
                    group = RelationshipGroupType.ONLINE_ELSEWHERE
                if group != group_type:
                    continue
                has_played = relationship.has_played or bool(presence and presence.has_played_game)
                sorts_last = group is RelationshipGroupType.ONLINE_ELSEWHERE and not has_played
                user = find_user(core, user_id)
                sort_keys.append((sorts_last, user.display_name.casefold() if user else "", user_id))
        return [self.get_relationship_handle(user_id) for _, _, user_id in sorted(sort_keys)]

    def search_friends_by_username(self, search_str: str) -> list[UserHandle]:
        """Return the friends whose username or display name is similar to a text, best match first.

        This does not send a request."""
        query = search_str.strip().casefold()
        if not query:
            return []
        matches: list[tuple[int, str, UserHandle]] = []
        with self._core.lock:
            friend_ids = [user_id for user_id in self._core.cache.relationships if self._core.cache.is_friend(user_id)]
        for user_id in friend_ids:
            user = find_user(self._core, user_id)
            if user is None:
                continue
            names = {user.username.casefold(), user.display_name.casefold()}
            distance = min(_edit_distance(query, name) for name in names)
            if distance <= min(EDIT_DISTANCE_MAX, len(query) // CHARACTERS_PER_EDIT):
                matches.append((distance, user.display_name.casefold(), user))
        return [user for _, _, user in sorted(matches, key=lambda match: match[:2])]

    def set_relationship_created_callback(self, callback: Callable[[int, bool], object]) -> None:
        """Set the callback for new and changed relationships.

        It receives the user ID, and True for a platform relationship or False for a game relationship."""
        self._core.set_callback("relationship_created", callback)

    def set_relationship_deleted_callback(self, callback: Callable[[int, bool], object]) -> None:
        """Set the callback for removed relationships.

        It receives the user ID, and True for a platform relationship or False for a game relationship."""
        self._core.set_callback("relationship_deleted", callback)

    def set_relationship_groups_updated_callback(self, callback: Callable[[int], object]) -> None:
        """Set the callback for changes that affect the friends list, which should then be redrawn.

        It receives the ID of the user who changed."""
        self._core.set_callback("relationship_groups_updated", callback)

    # Implementation

    def _relationship_type(self, kind: Kind, user_id: int) -> RelationshipType:
        """Return the type of the platform or game relationship to a user, depending on the kind."""
        handle = self.get_relationship_handle(user_id)
        return handle.platform_relationship_type if kind == PLATFORM else handle.game_relationship_type

    async def _request_friend(self, kind: Kind, username: str) -> None:
        if not username:
            raise validation_error("A username is required")
        body = resources.relationships.RequestFriend(username=username)
        await self._core.request(_operations_of(kind).request, body=body)

    async def _put_relationship(self, kind: Kind, user_id: int, type: RelationshipType | None = None) -> None:
        """Create a relationship of a type, or send or accept a friend request if `type` is None."""
        operation = _operations_of(kind).set
        body = operation.body() if type is None else operation.body(type=int(type))
        await self._core.request(operation, body=body, user_id=user_id)

    async def _accept_request(self, kind: Kind, user_id: int) -> None:
        if self._relationship_type(kind, user_id) is not RelationshipType.PENDING_INCOMING:
            raise validation_error("The user has not sent a friend request")
        await self._put_relationship(kind, user_id)

    async def _remove_relationship(self, kind: Kind, user_id: int, expected: RelationshipType) -> None:
        """Remove a relationship; raise a validation error if it is not of the expected type."""
        if self._relationship_type(kind, user_id) is not expected:
            raise validation_error(f"The relationship to the user is not of type {expected.label}")
        await self._core.request(_operations_of(kind).delete, user_id=user_id)

    async def _remove_friend(self, user_id: int) -> None:
        kinds: tuple[Kind, ...] = (PLATFORM, GAME)
        friend_kinds = [kind for kind in kinds if self._relationship_type(kind, user_id) is RelationshipType.FRIEND]
        if not friend_kinds:
            raise validation_error("The user is not a friend")
        for kind in friend_kinds:
            await self._core.request(_operations_of(kind).delete, user_id=user_id)


def _operations_of(kind: Kind) -> RelationshipOperations:
    """Return the operations on platform relationships or game relationships."""
    relationships = resources.relationships
    if kind == PLATFORM:
        return RelationshipOperations(
            relationships.REQUEST_FRIEND, relationships.SET_RELATIONSHIP, relationships.DELETE_RELATIONSHIP
        )
    return RelationshipOperations(
        relationships.REQUEST_GAME_FRIEND, relationships.SET_GAME_RELATIONSHIP, relationships.DELETE_GAME_RELATIONSHIP
    )


def _edit_distance(query: str, name: str) -> int:
    """Return the Levenshtein distance of a name to the query; 0 if the name starts with the query."""
    if name.startswith(query):
        return 0
    distances = list(range(len(name) + 1))
    for query_position, query_letter in enumerate(query, 1):
        diagonal, distances[0] = distances[0], query_position
        for name_position, name_letter in enumerate(name, 1):
            diagonal, distances[name_position] = (
                distances[name_position],
                min(
                    distances[name_position] + 1,
                    distances[name_position - 1] + 1,
                    diagonal + (query_letter != name_letter),
                ),
            )
    return distances[-1]

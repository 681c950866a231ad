"""HTTP handlers for relationships on the platform and in games."""

from msgspec import UNSET

from hubbub.protocol import errors
from hubbub.protocol.ids import UserId
from hubbub.protocol.resources import relationships as wire
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.identity import users
from hubbub.server.identity.relationships import actions, rules, store, views
from hubbub.server.identity.relationships.store import PLATFORM
from hubbub.server.identity.users import UserRow

REQUEST_TYPES = (None, UNSET, wire.ACCEPT_OR_REQUEST_TYPE, rules.FRIEND)
"""Values of `type` in a request body that send or accept a friend request."""


@handles(wire.LIST_MY_RELATIONSHIPS)
def list_my_relationships(call: Call) -> list[wire.Relationship]:
    """List the current user's relationships.

    OAuth2 sessions receive friends only."""
    return views.list_platform_relationships(call)


@handles(wire.REQUEST_FRIEND)
def request_friend(call: Call, body: wire.RequestFriend) -> None:
    """Send a friend request by username.

    If the other user has sent a request, that request is accepted."""
    _send_or_accept_request(call, rules.require_user_by_name(call, body))


@handles(wire.SET_RELATIONSHIP)
def set_relationship(call: Call, user_id: UserId, body: wire.SetRelationship) -> None:
    """Create a relationship.

    Send or accept a friend request, or block the user, depending on `type`."""
    if body.type not in (*REQUEST_TYPES, rules.BLOCKED):
        raise errors.invalid(
            "type", *errors.choices((wire.ACCEPT_OR_REQUEST_TYPE, int(rules.FRIEND), int(rules.BLOCKED)))
        )
    other_user = rules.require_user(call, user_id)
    if body.type != rules.BLOCKED:
        _send_or_accept_request(call, other_user)
        return
    if other_user.id == call.user_id:
        raise errors.CANNOT_BEFRIEND_SELF()
    row = store.find(call.tx, call.user_id, other_user.id)
    if row is None or row.type != rules.BLOCKED:
        rules.require_blocks_below_max(call)
        actions.block(call, other_user.id)


def _send_or_accept_request(call: Call, other_user: UserRow, family_id: int = PLATFORM) -> None:
    rules.require_befriendable(call, other_user)
    row = store.find(call.tx, call.user_id, other_user.id, family_id)
    if row is not None and row.type == rules.FRIEND:
        raise errors.ALREADY_FRIENDS()
    if family_id == PLATFORM:
        rules.require_unrestricted(call, other_user)
    if row is None:
        rules.require_requests_accepted(call, other_user, family_id)
    if row is None or row.type == rules.INCOMING:
        if family_id == PLATFORM:
            rules.require_friends_below_max(call)
        elif row is None:
            rules.require_player(call, other_user, family_id)
    actions.send_request(call, other_user, family_id)


@handles(wire.UPDATE_RELATIONSHIP)
def update_relationship(call: Call, user_id: UserId, body: wire.UpdateRelationship) -> None:
    """Update a relationship.

    Set the nickname of a friend."""
    row = store.find(call.tx, call.user_id, user_id)
    if row is None or row.type != rules.FRIEND:
        raise errors.UNKNOWN_USER()
    actions.set_nickname(call, row, users.names.clean_name(body.nickname or "") or None)


@handles(wire.DELETE_RELATIONSHIP)
def delete_relationship(call: Call, user_id: UserId) -> None:
    """Delete a relationship.

    Remove a friend, decline or cancel a request, or unblock a user. Do nothing if there is no relationship."""
    rules.require_user(call, user_id)
    actions.remove(call, user_id)


@handles(wire.LIST_MY_GAME_RELATIONSHIPS)
def list_my_game_relationships(call: Call) -> list[wire.GameRelationship]:
    """List the current user's game relationships.

    OAuth2 sessions receive the relationships of their own family; users receive those of all games."""
    return views.list_game_relationships(call, with_users=call.actor.kind == "user")


@handles(wire.REQUEST_GAME_FRIEND)
def request_game_friend(call: Call, body: wire.RequestFriend) -> None:
    """Send a game friend request by username."""
    _send_or_accept_request(call, rules.require_user_by_name(call, body), _require_family_id(call))


@handles(wire.SET_GAME_RELATIONSHIP)
def set_game_relationship(call: Call, user_id: UserId, body: wire.SetGameRelationship) -> None:
    """Create a game relationship.

    Send a game friend request, or accept one."""
    if body.type not in REQUEST_TYPES:
        raise errors.invalid("type", *errors.choices((wire.ACCEPT_OR_REQUEST_TYPE, int(rules.FRIEND))))
    _send_or_accept_request(call, rules.require_user(call, user_id), _require_family_id(call))


@handles(wire.DELETE_GAME_RELATIONSHIP)
def delete_game_relationship(call: Call, user_id: UserId) -> None:
    """Delete a game relationship.

    Remove a game friend, or decline or cancel a request."""
    rules.require_user(call, user_id)
    actions.remove(call, user_id, _require_family_id(call))


def _require_family_id(call: Call) -> int:
    """Return the ID of the head of the calling game's family, or raise UNAUTHORIZED."""
    if call.actor.family_id is None:
        raise errors.UNAUTHORIZED()
    return int(call.actor.family_id)

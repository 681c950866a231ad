"""HTTP handlers for relationships, of users and of OAuth2 sessions of games."""

from msgspec import UNSET

from hubbub.protocol import errors
from hubbub.protocol.ids import UserId
from hubbub.protocol.resources import relationships as wire
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.resources import users
from hubbub.server.resources.relationships import actions, rules, store, views
from hubbub.server.resources.relationships.store import PLATFORM
from hubbub.server.resources.users import UserRow

ASKING = (None, UNSET, wire.DEFAULT_TYPE, rules.FRIEND)


@handles(wire.LIST_MY_RELATIONSHIPS)
def list_my_relationships(call: Call) -> list[wire.Relationship]:
    """List the current user's relationships.

    OAuth2 sessions receive friends only."""
    return views.listed(call)


@handles(wire.REQUEST_FRIEND)
def request_friend(call: Call, body: wire.RequestFriend) -> None:
    """Send a friend request by username.

    Accepts the other user's request if there is one."""
    _ask(call, rules.require_named(call, body))


@handles(wire.SET_RELATIONSHIP)
def set_relationship(call: Call, user_id: UserId, body: wire.SetRelationship) -> None:
    """Create a relationship.

    Sends or accepts a friend request, or blocks the user, depending on `type`."""
    if body.type not in (*ASKING, rules.BLOCKED):
        raise errors.invalid("type", *errors.choices((wire.DEFAULT_TYPE, int(rules.FRIEND), int(rules.BLOCKED))))
    other = rules.require_person(call, user_id)
    if body.type != rules.BLOCKED:
        _ask(call, other)
        return
    if other.id == call.user_id:
        raise errors.CANNOT_BEFRIEND_SELF()
    known = store.find(call.tx, call.user_id, other.id)
    if known is None or known.type != rules.BLOCKED:
        rules.require_room_for_block(call)
        actions.block(call, other.id)


def _ask(call: Call, other: UserRow, family_id: int = PLATFORM) -> None:
    rules.require_askable(call, other)
    known = store.find(call.tx, call.user_id, other.id, family_id)
    if known is not None and known.type == rules.FRIEND:
        raise errors.ALREADY_FRIENDS()
    if known is None:
        rules.require_welcome(call, other, family_id)
    if known is None or known.type == rules.INCOMING:
        if family_id == PLATFORM:
            rules.require_room_for_friend(call)
        elif known is None:
            rules.require_player(call, other, family_id)
    actions.ask(call, other, family_id)


@handles(wire.UPDATE_RELATIONSHIP)
def update_relationship(call: Call, user_id: UserId, body: wire.UpdateRelationship) -> None:
    """Update a relationship.

    Sets the nickname of a friend."""
    known = store.find(call.tx, call.user_id, user_id)
    if known is None or known.type != rules.FRIEND:
        raise errors.UNKNOWN_USER()
    actions.call_by(call, known, users.clean_name(body.nickname or "") or None)


@handles(wire.DELETE_RELATIONSHIP)
def delete_relationship(call: Call, user_id: UserId) -> None:
    """Delete a relationship.

    Removes a friend, declines or cancels a request, or unblocks a user. Does nothing if there is no relationship."""
    rules.require_person(call, user_id)
    actions.let_go(call, user_id)


@handles(wire.LIST_MY_GAME_RELATIONSHIPS)
def list_my_game_relationships(call: Call) -> list[wire.GameRelationship]:
    """List the current user's game relationships.

    OAuth2 sessions receive the relationships of their own family; users receive those of all games."""
    return views.games_listed(call, with_users=call.actor.kind == "user")


@handles(wire.REQUEST_GAME_FRIEND)
def request_game_friend(call: Call, body: wire.RequestFriend) -> None:
    """Send a game friend request by username."""
    _ask(call, rules.require_named(call, body), _family(call))


@handles(wire.SET_GAME_RELATIONSHIP)
def set_game_relationship(call: Call, user_id: UserId, body: wire.SetGameRelationship) -> None:
    """Create a game relationship.

    Sends a game friend request, or accepts one."""
    if body.type not in ASKING:
        raise errors.invalid("type", *errors.choices((wire.DEFAULT_TYPE, int(rules.FRIEND))))
    _ask(call, rules.require_person(call, user_id), _family(call))


@handles(wire.DELETE_GAME_RELATIONSHIP)
def delete_game_relationship(call: Call, user_id: UserId) -> None:
    """Delete a game relationship.

    Removes a game friend, or declines or cancels a request."""
    rules.require_person(call, user_id)
    actions.let_go(call, user_id, _family(call))


def _family(call: Call) -> int:
    if call.actor.family_id is None:
        raise errors.UNAUTHORIZED()
    return int(call.actor.family_id)

"""Checks of friend requests and blocks, the merge of relationships, and the players of a family of games."""

from collections.abc import Collection
from typing import Final, NamedTuple

from hubbub.protocol import errors
from hubbub.protocol.enums import RelationshipType
from hubbub.protocol.resources import relationships as wire
from hubbub.server.core.call import Call
from hubbub.server.core.store import Tx
from hubbub.server.identity import applications, identities, oauth2, user_settings, users
from hubbub.server.identity.relationships import ports, store
from hubbub.server.identity.users import UserRow

NONE: Final = RelationshipType.NONE
FRIEND: Final = RelationshipType.FRIEND
BLOCKED: Final = RelationshipType.BLOCKED
INCOMING: Final = RelationshipType.PENDING_INCOMING
OUTGOING: Final = RelationshipType.PENDING_OUTGOING


class RelationshipPair(NamedTuple):
    """The relationship types of two users, one for each side. Both are values of `RelationshipType`."""

    first: int = NONE
    """Type on the side of the first user."""
    second: int = NONE
    """Type on the side of the second user."""


FRIENDS: Final = RelationshipPair(FRIEND, FRIEND)
REQUESTED: Final = RelationshipPair(OUTGOING, INCOMING)
"""The first user has sent a friend request to the second user."""
UNRELATED: Final = RelationshipPair()
"""The users have no relationship."""


def merge_pairs(existing_pair: RelationshipPair, moved_pair: RelationshipPair) -> RelationshipPair:
    """Return the relationship of an account with a user after another account with the relationship `moved_pair` is merged.

    A block takes precedence over everything, a friendship over a request, and crossing requests become a friendship
    (spec/sdk.md#8.5)."""
    blocks = RelationshipPair(
        *(BLOCKED if BLOCKED in sides else NONE for sides in zip(existing_pair, moved_pair, strict=True))
    )
    if blocks != UNRELATED:
        return blocks
    if FRIENDS in (existing_pair, moved_pair) or {existing_pair.first, moved_pair.first} == {INCOMING, OUTGOING}:
        return FRIENDS
    return existing_pair if existing_pair != UNRELATED else moved_pair


def require_user(call: Call, user_id: int) -> UserRow:
    """Return a user, or raise UNKNOWN_USER."""
    user = users.find(call.tx, user_id)
    if user is None:
        raise errors.UNKNOWN_USER()
    return user


def require_user_by_name(call: Call, body: wire.RequestFriend) -> UserRow:
    """Return a user by name, or raise NO_USER_WITH_TAG.

    Names are unique, so a legacy discriminator matches no user."""
    user = None
    if body.discriminator in (None, 0, "0", ""):
        user = users.names.find_by_username(call.tx, body.username.lower())
    if user is None:
        raise errors.NO_USER_WITH_TAG()
    return user


def require_befriendable(call: Call, other_user: UserRow) -> None:
    """Raise an error if the caller cannot befriend this user, on the platform or in a game."""
    if other_user.id == call.user_id:
        raise errors.CANNOT_BEFRIEND_SELF()
    if other_user.bot:
        raise errors.BOTS_CANNOT_HAVE_FRIENDS()
    if other_user.system:
        raise errors.FRIEND_REQUESTS_DISABLED()
    # A block by the caller counts as well: a friend request does not unblock (decisions/0040).
    if store.is_blocked_between(call.tx, call.user_id, other_user.id):
        raise errors.FRIEND_REQUEST_BLOCKED()


def require_unrestricted(call: Call, other_user: UserRow) -> None:
    """Raise FRIEND_REQUESTS_DISABLED if a ban restricts the caller or the other user to a game (spec/sdk.md#8.6)."""
    if any(identities.is_restricted(call, user_id) for user_id in (call.user_id, other_user.id)):
        raise errors.FRIEND_REQUESTS_DISABLED()


def require_requests_accepted(call: Call, other_user: UserRow, family_id: int) -> None:
    """Raise FRIEND_REQUESTS_DISABLED if a user's settings do not accept friend requests from the caller."""
    friend_sources = user_settings.read(call.tx, other_user.id).friend_source_flags
    if friend_sources.all:
        return
    if friend_sources.mutual_friends and store.have_mutual_friend(call.tx, call.user_id, other_user.id, family_id):
        return
    if friend_sources.mutual_guilds and ports.have_mutual_guild(call, call.user_id, other_user.id):
        return
    raise errors.FRIEND_REQUESTS_DISABLED()


def require_friends_below_max(call: Call) -> None:
    """Raise MAX_FRIENDS at 1000 friends (spec/sdk.md#9.3).

    Outgoing requests count as well, so that every acceptance fits."""
    if store.count(call.tx, call.user_id, (FRIEND, OUTGOING)) >= wire.FRIENDS_MAX:
        raise errors.MAX_FRIENDS()


def require_blocks_below_max(call: Call) -> None:
    """Raise MAX_FRIENDS at 5000 blocked users (spec/sdk.md#9.3)."""
    if store.count(call.tx, call.user_id, (BLOCKED,)) >= wire.BLOCKED_MAX:
        # The specification does not name an error code. The code for friends is used with another message
        # (decisions/0040).
        raise errors.MAX_FRIENDS(message=f"Maximum number of blocked users reached ({wire.BLOCKED_MAX})")


def require_player(call: Call, other_user: UserRow, family_id: int) -> None:
    """Raise FRIEND_REQUESTS_DISABLED unless the target of a game friend request plays a game of the family (spec/sdk.md#9.3)."""
    if not is_player(call.tx, other_user.id, family_id):
        raise errors.FRIEND_REQUESTS_DISABLED()


def is_player(tx: Tx, user_id: int, family_id: int) -> bool:
    """Return whether a user plays a game of a family.

    A player has authorized one of its applications or has an identity in it."""
    return user_id in filter_players(tx, [user_id], family_id)


def filter_players(tx: Tx, user_ids: Collection[int], family_id: int) -> set[int]:
    """Return the IDs of the given users who play a game of a family."""
    identity_holder_ids = {
        user_id
        for user_id, identity_family_id in identities.list_user_families(tx, user_ids)
        if identity_family_id == family_id
    }
    return identity_holder_ids | oauth2.authorizations.filter_authorized(
        tx, applications.families.list_family_ids(tx, family_id), set(user_ids) - identity_holder_ids
    )

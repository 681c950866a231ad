"""Who may ask whom, and what becomes of two relationships that meet."""

from collections.abc import Collection
from typing import Final, NamedTuple

from hubbub.protocol import errors
from hubbub.protocol.enums import RelationshipType
from hubbub.protocol.resources import relationships as wire
from hubbub.server.core.call import Call
from hubbub.server.core.store import Tx
from hubbub.server.resources import applications, identities, oauth2, user_settings, users
from hubbub.server.resources.relationships import store
from hubbub.server.resources.users import UserRow

NONE: Final = RelationshipType.NONE
FRIEND: Final = RelationshipType.FRIEND
BLOCKED: Final = RelationshipType.BLOCKED
INCOMING: Final = RelationshipType.PENDING_INCOMING
OUTGOING: Final = RelationshipType.PENDING_OUTGOING


class Pair(NamedTuple):
    """What two users are to each other, seen from each side."""

    mine: int = NONE
    theirs: int = NONE


FRIENDS: Final = Pair(FRIEND, FRIEND)
ASKED: Final = Pair(OUTGOING, INCOMING)
STRANGERS: Final = Pair()


def joined(kept: Pair, moved: Pair) -> Pair:
    """What two users are when one of them takes over what another account had with the same user: a block outlives
    everything, a friend more than a request, and requests that cross make friends (sdk.md 8.5)."""
    blocks = Pair(*(BLOCKED if BLOCKED in sides else NONE for sides in zip(kept, moved, strict=True)))
    if blocks != STRANGERS:
        return blocks
    if FRIENDS in (kept, moved) or {kept.mine, moved.mine} == {INCOMING, OUTGOING}:
        return FRIENDS
    return kept if kept != STRANGERS else moved


def require_person(call: Call, user_id: int) -> UserRow:
    """Somebody else who is there."""
    found = users.find(call.tx, user_id)
    if found is None:
        raise errors.UNKNOWN_USER()
    return found


def require_named(call: Call, body: wire.RequestFriend) -> UserRow:
    """Somebody by name; names are unique, so a discriminator of old finds nobody."""
    found = None
    if body.discriminator in (None, 0, "0", ""):
        found = users.find_person(call.tx, body.username.lower())
    if found is None:
        raise errors.NO_USER_WITH_TAG()
    return found


def require_askable(call: Call, other: UserRow) -> None:
    """Whether the caller may ask somebody to be a friend, of either kind."""
    if other.id == call.user_id:
        raise errors.CANNOT_BEFRIEND_SELF()
    if other.bot:
        raise errors.BOTS_CANNOT_HAVE_FRIENDS()
    if other.system:
        raise errors.FRIEND_REQUESTS_DISABLED()
    # Also for those whom the caller blocks: nobody is unblocked by the way (decisions/0040).
    if store.is_blocked_between(call.tx, call.user_id, other.id):
        raise errors.FRIEND_REQUEST_BLOCKED()


def require_welcome(call: Call, other: UserRow, family_id: int) -> None:
    """Raise where somebody does not want to be asked by the caller."""
    wanted = user_settings.find(call.tx, other.id).friend_source_flags
    if wanted.all:
        return
    if wanted.mutual_friends and store.have_a_friend_in_common(call.tx, call.user_id, other.id, family_id):
        return
    if wanted.mutual_guilds and store.share_a_guild(call.tx, call.user_id, other.id):
        return
    raise errors.FRIEND_REQUESTS_DISABLED()


def require_room_for_friend(call: Call) -> None:
    """sdk.md 9.3: 1000 friends; requests that wait for an answer count, so that an answer always fits."""
    if store.count(call.tx, call.user_id, (FRIEND, OUTGOING)) >= wire.FRIENDS_MAX:
        raise errors.MAX_FRIENDS()


def require_room_for_block(call: Call) -> None:
    """sdk.md 9.3: 5000 blocked."""
    if store.count(call.tx, call.user_id, (BLOCKED,)) >= wire.BLOCKED_MAX:
        # Open in the spec: the code. We take the one for friends, with words of its own (decisions/0040).
        raise errors.MAX_FRIENDS(message=f"Maximum number of blocked users reached ({wire.BLOCKED_MAX})")


def require_player(call: Call, other: UserRow, family_id: int) -> None:
    """sdk.md 9.3: a game friend request needs the target to have authorized the same application."""
    if not plays(call.tx, other.id, family_id):
        raise errors.FRIEND_REQUESTS_DISABLED()


def plays(tx: Tx, user_id: int, family_id: int) -> bool:
    """Whether somebody plays a game of a family: they let one of its applications in, or are known to it by an identity."""
    return user_id in players_among(tx, [user_id], family_id)


def players_among(tx: Tx, user_ids: Collection[int], family_id: int) -> set[int]:
    """Those of these users who play a game of a family."""
    known = {user_id for user_id, family in identities.players(tx, user_ids) if family == family_id}
    return known | oauth2.players_among(tx, applications.family(tx, family_id), set(user_ids) - known)

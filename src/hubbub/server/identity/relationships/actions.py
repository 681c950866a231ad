"""Create and remove friendships, friend requests and blocks, and update them when accounts change: store, publish."""

from collections.abc import Iterable, Iterator

from hubbub.protocol.enums import Scope
from hubbub.protocol.ids import UserId
from hubbub.protocol.resources import presence as presence_wire
from hubbub.protocol.resources import relationships as wire
from hubbub.server.core import presences
from hubbub.server.core.call import Call
from hubbub.server.core.event_dispatch import Audience
from hubbub.server.identity import identities, users
from hubbub.server.identity.relationships import rules, store, views
from hubbub.server.identity.relationships.rules import Pair
from hubbub.server.identity.relationships.signals import UserBlocked
from hubbub.server.identity.relationships.store import PLATFORM, RelationshipRow
from hubbub.server.identity.relationships.views import PlayerDirectory
from hubbub.server.identity.users import UserRow


class RelationshipSet:
    """The relationships among some users, loaded at once and synchronized with the store."""

    def __init__(self, call: Call, rows: Iterable[RelationshipRow], user_ids: Iterable[int]) -> None:
        self._tx = call.tx
        self._rows = {(row.user_id, row.family_id, row.other_id): row for row in rows}
        self.directory = PlayerDirectory(call.tx, user_ids)

    def __iter__(self) -> Iterator[RelationshipRow]:
        return iter(list(self._rows.values()))

    def find_side(self, user_id: int, family_id: int, other_id: int) -> RelationshipRow | None:
        """Return one side of a relationship, or None."""
        return self._rows.get((user_id, family_id, other_id))

    def find_pair(self, user_id: int, family_id: int, other_id: int) -> Pair:
        """Return the types of both sides of a relationship."""
        mine, theirs = self.find_side(user_id, family_id, other_id), self.find_side(other_id, family_id, user_id)
        return Pair(mine.type if mine else rules.NONE, theirs.type if theirs else rules.NONE)

    def list_of_user(self, user_id: int) -> list[tuple[int, int]]:
        """Return (family ID, other user's ID) of each of a user's relationships; platform relationships come first."""
        keys = {
            (family, other if one == user_id else one) for one, family, other in self._rows if user_id in (one, other)
        }
        return sorted(keys)

    def put(self, row: RelationshipRow) -> None:
        """Store one side of a relationship."""
        store.put(self._tx, row)
        self._rows[row.user_id, row.family_id, row.other_id] = row

    def remove(self, row: RelationshipRow) -> None:
        """Delete one side of a relationship."""
        store.remove(self._tx, row)
        del self._rows[row.user_id, row.family_id, row.other_id]


def _book(call: Call, one: int, other: int) -> RelationshipSet:
    return RelationshipSet(call, store.list_between(call.tx, one, other), (one, other))


def send_request(call: Call, other: UserRow, family_id: int = PLATFORM) -> None:
    """Send a friend request, or accept the other user's request.

    A request that is already pending stays unchanged."""
    book = _book(call, call.user_id, other.id)
    current = book.find_pair(call.user_id, family_id, other.id).mine
    if current != rules.OUTGOING:
        pair = rules.FRIENDS if current == rules.INCOMING else rules.REQUESTED
        _set_pair(call, book, (call.user_id, other.id), family_id, pair, _calling_application(call))


def befriend(call: Call, one: int, other: int) -> None:
    """Make two users friends without a request, as a world file declares."""
    _set_pair(call, _book(call, one, other), (one, other), PLATFORM, rules.FRIENDS)


def block(call: Call, other_id: int) -> None:
    """Block a user and end all other relationships with them, on the platform and in games (spec/sdk.md#9.3)."""
    book = _book(call, call.user_id, other_id)
    for family_id, _ in book.list_of_user(call.user_id):
        if family_id != PLATFORM:
            _set_pair(call, book, (call.user_id, other_id), family_id, rules.UNRELATED)
    theirs = book.find_pair(call.user_id, PLATFORM, other_id).theirs
    remaining = rules.BLOCKED if theirs == rules.BLOCKED else rules.NONE
    _set_pair(call, book, (call.user_id, other_id), PLATFORM, Pair(rules.BLOCKED, remaining))
    call.notify(UserBlocked(user_id=call.user_id, other_id=UserId(other_id)))


def remove(call: Call, other_id: int, family_id: int = PLATFORM) -> None:
    """End a friendship, withdraw or decline a request, or remove the caller's block."""
    book = _book(call, call.user_id, other_id)
    theirs = book.find_pair(call.user_id, family_id, other_id).theirs
    # Unblocking a user does not remove the other user's block.
    remaining = rules.BLOCKED if theirs == rules.BLOCKED else rules.NONE
    _set_pair(call, book, (call.user_id, other_id), family_id, Pair(rules.NONE, remaining))


def set_nickname(call: Call, row: RelationshipRow, nickname: str | None) -> None:
    """Set the caller's nickname for a friend and publish it if it changed."""
    changed = row._replace(nickname=nickname)
    if changed != row:
        store.put(call.tx, changed)
        call.tx.emit(wire.RELATIONSHIP_UPDATE, views.change(changed), Audience.of_users(row.user_id))


# Account changes


def on_user_changed(call: Call, signal: users.UserChanged) -> None:
    """Publish a user's changed name or avatar to related users.

    Recipients are friends, users with a pending request, and users who block the changed user. Game friends receive the
    platform's event in that game, since games have no event of their own (spec/sdk.md#9.6); so do users who
    share a private channel with the changed user."""
    if signal.tag_only:
        return
    related = store.list_related_by_family(call.tx, signal.row.id)
    friends = related.pop(PLATFORM, set()).union(store.list_blockers(call.tx, signal.row.id))
    payload = wire.RelationshipChange(id=UserId(signal.row.id), user=users.user(signal.row))
    if friends:
        call.tx.emit(wire.RELATIONSHIP_UPDATE, payload, Audience.of_users(*friends))
    for family_id, others in related.items():
        if game_friends := others - friends:
            call.tx.emit(
                wire.RELATIONSHIP_UPDATE,
                payload,
                Audience.of_users(*game_friends, family_id=family_id, oauth2_only=True),
            )
    if others := store.list_private_channel_partners(call.tx, signal.row.id) - friends:
        # The event belongs to a private channel, so only OAuth2 sessions that may read private channels receive it.
        audience = Audience.of_users(*others, oauth2_only=True, with_scope=Scope.DM_CHANNELS_READ)
        call.tx.emit(wire.RELATIONSHIP_UPDATE, payload, audience)


def merge_accounts(call: Call, signal: identities.AccountsMerged) -> None:
    """Move the relationships of a merged provisional account to the full account, blocks included (spec/sdk.md#8.5)."""
    source, target = int(signal.source_id), int(signal.user_id)
    moved = store.list_all(call.tx, source)
    if not moved:
        return
    rows = {*moved, *store.list_all(call.tx, target)}
    book = RelationshipSet(
        call, rows, {source, target} | {row.other_id for row in rows} | {row.user_id for row in rows}
    )
    # Platform relationships are processed first, so that a moved block is effective when game relationships follow.
    for family_id, other in book.list_of_user(source):
        side = book.find_side(source, family_id, other) or book.find_side(other, family_id, source)
        pair = book.find_pair(source, family_id, other)
        _set_pair(call, book, (source, other), family_id, rules.UNRELATED)
        if other == target:
            continue
        wanted = rules.merge(book.find_pair(target, family_id, other), pair)
        if family_id != PLATFORM and rules.BLOCKED in book.find_pair(target, PLATFORM, other):
            wanted = rules.UNRELATED
        _set_pair(call, book, (target, other), family_id, wanted, side.application_id if side else None)
        if rules.BLOCKED in wanted:
            for game, known_id in book.list_of_user(target):
                if known_id == other and game != PLATFORM:
                    _set_pair(call, book, (target, other), game, rules.UNRELATED)


def copy_to_provisional(call: Call, signal: identities.AccountUnmerged) -> None:
    """Copy relationships from a full account to the provisional account that replaces it in a game (spec/sdk.md#8.6).

    Copied are the game friends, the platform friends who use the application, and the blocks."""
    full, provisional, family = int(signal.user_id), int(signal.provisional_id), int(signal.family_id)
    rows = store.list_all(call.tx, full)
    book = RelationshipSet(
        call, rows, {provisional, full} | {row.other_id for row in rows} | {row.user_id for row in rows}
    )
    for family_id, other in book.list_of_user(full):
        pair = book.find_pair(full, family_id, other)
        friends = pair == rules.FRIENDS and (
            family_id == family or (family_id == PLATFORM and family in book.directory.families(other))
        )
        if other != provisional and (friends or rules.BLOCKED in pair):
            side = book.find_side(full, family_id, other) or book.find_side(other, family_id, full)
            _set_pair(call, book, (provisional, other), family_id, pair, side.application_id if side else None)


def on_profile_changed(call: Call, signal: identities.ProfileChanged) -> None:
    """Publish a user's changed profile in a game to their friends there."""
    related = store.list_related_by_family(call.tx, signal.profile.user_id)
    friends = related.get(PLATFORM, set()) | related.get(int(signal.profile.application_id), set())
    identities.publish_profile(call, signal.profile, friends)


def forget(call: Call, signal: users.UserDeleted) -> None:
    """Delete all relationships of a deleted user and publish their removal."""
    rows = store.list_all(call.tx, signal.user_id)
    store.remove_user(call.tx, signal.user_id)
    cast = PlayerDirectory(call.tx, [signal.user_id])
    for row in rows:
        if row.user_id != signal.user_id:
            _publish_removed(call, row, cast)


def forget_family(call: Call, signal: identities.FamilyJoined) -> None:
    """Delete the game relationships of an application that joins a publisher (spec/sdk.md#8.7)."""
    rows = store.list_family(call.tx, signal.application_id)
    store.remove_family(call.tx, signal.application_id)
    cast = PlayerDirectory(call.tx, [row.other_id for row in rows])
    for row in rows:
        _publish_removed(call, row, cast)


# Both sides of a relationship


def _calling_application(call: Call) -> int | None:
    actor = call.actor_or_none
    return int(actor.application_id) if actor is not None and actor.kind == "bearer" and actor.application_id else None


def _set_pair(
    call: Call,
    book: RelationshipSet,
    two: tuple[int, int],
    family_id: int,
    pair: Pair,
    application_id: int | None = None,
) -> None:
    """Store both sides of a relationship and publish each side that changed.

    The first user of `two` is the one who acts; only the other one is notified."""
    one, other = two
    before = book.find_pair(one, family_id, other)
    if before == pair:
        return
    for user_id, other_id, type in ((one, other, pair.mine), (other, one, pair.theirs)):
        previous = book.find_side(user_id, family_id, other_id)
        if type == (previous.type if previous else rules.NONE):
            continue
        if type == rules.NONE:
            assert previous is not None
            book.remove(previous)
            _publish_removed(call, previous, book.directory)
            continue
        row = RelationshipRow(
            user_id=user_id,
            family_id=family_id,
            other_id=other_id,
            type=type,
            nickname=previous.nickname if previous and type == rules.FRIEND else None,
            application_id=previous.application_id if previous and previous.application_id else application_id,
            since_ms=call.now,
        )
        book.put(row)
        _publish_added(call, row, book.directory, notify=user_id == other and type in (rules.INCOMING, rules.FRIEND))
    if pair == rules.FRIENDS:
        for user_id, friend_id in (two, two[::-1]):
            if family_id == PLATFORM or book.find_pair(one, PLATFORM, other) != rules.FRIENDS:
                _publish_presence(call, user_id, friend_id, family_id, book.directory)
    elif family_id == PLATFORM and before == rules.FRIENDS:
        # Remaining game friendships expose less of each other's presence from now on.
        for game, known_id in book.list_of_user(one):
            if known_id == other and game != PLATFORM and book.find_pair(one, game, other) == rules.FRIENDS:
                for user_id, friend_id in (two, two[::-1]):
                    _publish_presence(call, user_id, friend_id, game, book.directory, even_offline=True)


def _publish_added(call: Call, row: RelationshipRow, cast: PlayerDirectory, *, notify: bool) -> None:
    other = cast.users.get(row.other_id)
    if other is None:
        return
    if row.is_game:
        audience = Audience.of_users(row.user_id, family_id=row.family_id)
        in_game = views.game(row, other, cast.profiles(row.other_id, row.family_id))
        call.tx.emit(wire.GAME_RELATIONSHIP_ADD, views.game(row, other), audience, oauth2_payloads={0: in_game})
        return
    call.tx.emit(
        wire.RELATIONSHIP_ADD,
        views.added(row, other, notify=notify),
        Audience.of_users(row.user_id),
        oauth2_payloads={
            0: views.added(row, other, notify=notify, played=False),
            **{
                family_id: views.added(
                    row, other, notify=notify, played=True, profiles=cast.profiles(row.other_id, family_id)
                )
                for family_id in cast.families(row.other_id)
            },
        },
    )


def _publish_removed(call: Call, row: RelationshipRow, cast: PlayerDirectory) -> None:
    if row.is_game:
        audience = Audience.of_users(row.user_id, family_id=row.family_id)
        call.tx.emit(wire.GAME_RELATIONSHIP_REMOVE, views.game(row, cast.users.get(row.other_id)), audience)
    else:
        call.tx.emit(wire.RELATIONSHIP_REMOVE, views.removed(row), Audience.of_users(row.user_id))


def _publish_presence(
    call: Call, user_id: int, friend_id: int, family_id: int, cast: PlayerDirectory, *, even_offline: bool = False
) -> None:
    """Publish a user's presence to a friend.

    With `even_offline`, an offline presence is published as well."""
    if family_id == PLATFORM:
        presence, audience = call.presences.find(user_id), Audience.of_users(friend_id)
    else:
        presence = call.presences.find(user_id, family_id=family_id)
        audience = Audience.of_users(friend_id, family_id=family_id, oauth2_only=True)
    if presence is not None or even_offline:
        call.tx.emit(
            presence_wire.PRESENCE_UPDATE,
            presences.presence_update(user_id, presence),
            audience,
            oauth2_payloads=presences.oauth2_presence_updates(user_id, presence, cast.families(user_id)),
        )

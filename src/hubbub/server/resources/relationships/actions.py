"""Asking, accepting, letting go and blocking; and what follows when accounts are merged, split or deleted: write, publish."""

from collections.abc import Iterable, Iterator

from hubbub.protocol.enums import Scope
from hubbub.protocol.ids import UserId
from hubbub.protocol.resources import presence as presence_wire
from hubbub.protocol.resources import relationships as wire
from hubbub.server.core import presences
from hubbub.server.core.call import Call
from hubbub.server.core.dispatches import Audience
from hubbub.server.resources import identities, users
from hubbub.server.resources.relationships import rules, store, views
from hubbub.server.resources.relationships.facts import UserBlocked
from hubbub.server.resources.relationships.rules import Pair
from hubbub.server.resources.relationships.store import PLATFORM, RelationshipRow
from hubbub.server.resources.relationships.views import Cast
from hubbub.server.resources.users import UserRow


class Book:
    """What some users are to each other, read at once, and the people it is about."""

    def __init__(self, call: Call, rows: Iterable[RelationshipRow], people: Iterable[int]) -> None:
        self._tx = call.tx
        self._rows = {(row.user_id, row.family_id, row.other_id): row for row in rows}
        self.cast = Cast(call.tx, people)

    def __iter__(self) -> Iterator[RelationshipRow]:
        return iter(list(self._rows.values()))

    def side(self, user_id: int, family_id: int, other_id: int) -> RelationshipRow | None:
        """One side of a relationship."""
        return self._rows.get((user_id, family_id, other_id))

    def pair(self, user_id: int, family_id: int, other_id: int) -> Pair:
        """Both sides, as types."""
        mine, theirs = self.side(user_id, family_id, other_id), self.side(other_id, family_id, user_id)
        return Pair(mine.type if mine else rules.NONE, theirs.type if theirs else rules.NONE)

    def with_user(self, user_id: int) -> list[tuple[int, int]]:
        """The family and the other of each relationship that a user is in, the platform's first."""
        keys = {
            (family, other if one == user_id else one) for one, family, other in self._rows if user_id in (one, other)
        }
        return sorted(keys)

    def put(self, row: RelationshipRow) -> None:
        """Keep a side."""
        store.put(self._tx, row)
        self._rows[row.user_id, row.family_id, row.other_id] = row

    def remove(self, row: RelationshipRow) -> None:
        """Forget a side."""
        store.remove(self._tx, row)
        del self._rows[row.user_id, row.family_id, row.other_id]


def _book(call: Call, one: int, other: int) -> Book:
    return Book(call, store.between(call.tx, one, other), (one, other))


def ask(call: Call, other: UserRow, family_id: int = PLATFORM) -> None:
    """Ask somebody to be a friend, or accept if they asked; asking twice changes nothing."""
    book = _book(call, call.user_id, other.id)
    asked = book.pair(call.user_id, family_id, other.id).mine
    if asked != rules.OUTGOING:
        pair = rules.FRIENDS if asked == rules.INCOMING else rules.ASKED
        _become(call, book, (call.user_id, other.id), family_id, pair, _application(call))


def befriend(call: Call, one: int, other: int) -> None:
    """Make two users friends without asking: a world's file says that they are."""
    _become(call, _book(call, one, other), (one, other), PLATFORM, rules.FRIENDS)


def block(call: Call, other_id: int) -> None:
    """Block somebody: whatever the two were to each other, on the platform and in games, is over (sdk.md 9.3)."""
    book = _book(call, call.user_id, other_id)
    for family_id, _ in book.with_user(call.user_id):
        if family_id != PLATFORM:
            _become(call, book, (call.user_id, other_id), family_id, rules.STRANGERS)
    theirs = book.pair(call.user_id, PLATFORM, other_id).theirs
    kept = rules.BLOCKED if theirs == rules.BLOCKED else rules.NONE
    _become(call, book, (call.user_id, other_id), PLATFORM, Pair(rules.BLOCKED, kept))
    call.tell(UserBlocked(user_id=call.user_id, other_id=UserId(other_id)))


def let_go(call: Call, other_id: int, family_id: int = PLATFORM) -> None:
    """End a friendship, a request or one's own block."""
    book = _book(call, call.user_id, other_id)
    theirs = book.pair(call.user_id, family_id, other_id).theirs
    # Who unblocks is not unblocked by it.
    kept = rules.BLOCKED if theirs == rules.BLOCKED else rules.NONE
    _become(call, book, (call.user_id, other_id), family_id, Pair(rules.NONE, kept))


def call_by(call: Call, row: RelationshipRow, nickname: str | None) -> None:
    """Give a friend a name of one's own."""
    changed = row._replace(nickname=nickname)
    if changed != row:
        store.put(call.tx, changed)
        call.tx.emit(wire.RELATIONSHIP_UPDATE, views.change(changed), Audience.of_users(row.user_id))


# What becomes of accounts


def user_changed(call: Call, fact: users.UserChanged) -> None:
    """Somebody has another name or picture: their friends see it, those with whom a request is open, and those who block them.
    Friends of a game see it in that game; it has no event of its own for this, so theirs is the platform's (sdk.md 9.6), and so
    is that of those with whom they write."""
    if fact.tag_only:
        return
    known = store.acquaintances(call.tx, fact.row.id)
    friends = known.pop(PLATFORM, set()).union(store.blocked_by(call.tx, fact.row.id))
    told = wire.RelationshipChange(id=UserId(fact.row.id), user=users.user(fact.row))
    if friends:
        call.tx.emit(wire.RELATIONSHIP_UPDATE, told, Audience.of_users(*friends))
    for family_id, others in known.items():
        if fellows := others - friends:
            call.tx.emit(
                wire.RELATIONSHIP_UPDATE, told, Audience.of_users(*fellows, family_id=family_id, games_only=True)
            )
    if others := store.correspondents(call.tx, fact.row.id) - friends:
        # The name is that of a conversation, so only games that may see conversations hear it.
        audience = Audience.of_users(*others, games_only=True, granted=Scope.DM_CHANNELS_READ)
        call.tx.emit(wire.RELATIONSHIP_UPDATE, told, audience)


def move(call: Call, fact: identities.AccountsMerged) -> None:
    """A provisional account became part of a full one: its friends are the other's, and so are blocks (sdk.md 8.5)."""
    source, target = int(fact.source_id), int(fact.user_id)
    moved = store.list_all(call.tx, source)
    if not moved:
        return
    rows = {*moved, *store.list_all(call.tx, target)}
    book = Book(call, rows, {source, target} | {row.other_id for row in rows} | {row.user_id for row in rows})
    # The platform comes first, so a block that moves is known when games follow.
    for family_id, other in book.with_user(source):
        side = book.side(source, family_id, other) or book.side(other, family_id, source)
        pair = book.pair(source, family_id, other)
        _become(call, book, (source, other), family_id, rules.STRANGERS)
        if other == target:
            continue
        wanted = rules.joined(book.pair(target, family_id, other), pair)
        if family_id != PLATFORM and rules.BLOCKED in book.pair(target, PLATFORM, other):
            wanted = rules.STRANGERS
        _become(call, book, (target, other), family_id, wanted, side.application_id if side else None)
        if rules.BLOCKED in wanted:
            for game, known in book.with_user(target):
                if known == other and game != PLATFORM:
                    _become(call, book, (target, other), game, rules.STRANGERS)


def copy(call: Call, fact: identities.AccountUnmerged) -> None:
    """A full account left a game: the provisional one that stands for it there has its game friends, those platform friends who
    use the application, and its blocks (sdk.md 8.6)."""
    full, provisional, family = int(fact.user_id), int(fact.provisional_id), int(fact.family_id)
    rows = store.list_all(call.tx, full)
    book = Book(call, rows, {provisional, full} | {row.other_id for row in rows} | {row.user_id for row in rows})
    for family_id, other in book.with_user(full):
        pair = book.pair(full, family_id, other)
        friends = pair == rules.FRIENDS and (
            family_id == family or (family_id == PLATFORM and family in book.cast.families(other))
        )
        if other != provisional and (friends or rules.BLOCKED in pair):
            side = book.side(full, family_id, other) or book.side(other, family_id, full)
            _become(call, book, (provisional, other), family_id, pair, side.application_id if side else None)


def profile_changed(call: Call, fact: identities.ProfileChanged) -> None:
    """A game knows somebody otherwise: their friends in it see that."""
    known = store.acquaintances(call.tx, fact.told.user_id)
    friends = known.get(PLATFORM, set()) | known.get(int(fact.told.application_id), set())
    identities.show_profile(call, fact.told, friends)


def forget(call: Call, fact: users.UserDeleted) -> None:
    """An account is gone: nobody has it as a friend any more."""
    rows = store.list_all(call.tx, fact.user_id)
    store.remove_user(call.tx, fact.user_id)
    cast = Cast(call.tx, [fact.user_id])
    for row in rows:
        if row.user_id != fact.user_id:
            _tell_removed(call, row, cast)


def forget_family(call: Call, fact: identities.FamilyJoined) -> None:
    """A game joined a publisher: its own game relationships are deleted (sdk.md 8.7)."""
    rows = store.list_family(call.tx, fact.application_id)
    store.remove_family(call.tx, fact.application_id)
    cast = Cast(call.tx, [row.other_id for row in rows])
    for row in rows:
        _tell_removed(call, row, cast)


# Both sides


def _application(call: Call) -> int | None:
    actor = call.find_actor
    return int(actor.application_id) if actor is not None and actor.kind == "bearer" and actor.application_id else None


def _become(
    call: Call, book: Book, two: tuple[int, int], family_id: int, pair: Pair, application_id: int | None = None
) -> None:
    """Keep what two users are to each other from now on, and tell each what is new; the first of them did it."""
    one, other = two
    before = book.pair(one, family_id, other)
    if before == pair:
        return
    for user_id, other_id, type in ((one, other, pair.mine), (other, one, pair.theirs)):
        was = book.side(user_id, family_id, other_id)
        if type == (was.type if was else rules.NONE):
            continue
        if type == rules.NONE:
            assert was is not None
            book.remove(was)
            _tell_removed(call, was, book.cast)
            continue
        row = RelationshipRow(
            user_id=user_id,
            family_id=family_id,
            other_id=other_id,
            type=type,
            nickname=was.nickname if was and type == rules.FRIEND else None,
            application_id=was.application_id if was and was.application_id else application_id,
            since_ms=call.now,
        )
        book.put(row)
        _tell_added(call, row, book.cast, notify=user_id == other and type in (rules.INCOMING, rules.FRIEND))
    if pair == rules.FRIENDS:
        for user_id, friend_id in (two, two[::-1]):
            if family_id == PLATFORM or book.pair(one, PLATFORM, other) != rules.FRIENDS:
                _introduce(call, user_id, friend_id, family_id, book.cast)
    elif family_id == PLATFORM and before == rules.FRIENDS:
        # What they still are in games shows them less of each other from now on.
        for game, known in book.with_user(one):
            if known == other and game != PLATFORM and book.pair(one, game, other) == rules.FRIENDS:
                for user_id, friend_id in (two, two[::-1]):
                    _introduce(call, user_id, friend_id, game, book.cast, gone=True)


def _tell_added(call: Call, row: RelationshipRow, cast: Cast, *, notify: bool) -> None:
    other = cast.users.get(row.other_id)
    if other is None:
        return
    if row.is_game:
        to = Audience.of_users(row.user_id, family_id=row.family_id)
        inside = views.game(row, other, cast.profiles(row.other_id, row.family_id))
        call.tx.emit(wire.GAME_RELATIONSHIP_ADD, views.game(row, other), to, games={0: inside})
        return
    call.tx.emit(
        wire.RELATIONSHIP_ADD,
        views.added(row, other, notify=notify),
        Audience.of_users(row.user_id),
        games={
            0: views.added(row, other, notify=notify, played=False),
            **{
                family_id: views.added(
                    row, other, notify=notify, played=True, profiles=cast.profiles(row.other_id, family_id)
                )
                for family_id in cast.families(row.other_id)
            },
        },
    )


def _tell_removed(call: Call, row: RelationshipRow, cast: Cast) -> None:
    if row.is_game:
        to = Audience.of_users(row.user_id, family_id=row.family_id)
        call.tx.emit(wire.GAME_RELATIONSHIP_REMOVE, views.game(row, cast.users.get(row.other_id)), to)
    else:
        call.tx.emit(wire.RELATIONSHIP_REMOVE, views.removed(row), Audience.of_users(row.user_id))


def _introduce(call: Call, user_id: int, friend_id: int, family_id: int, cast: Cast, *, gone: bool = False) -> None:
    """Show a new friend whether somebody is there; `gone` where that they are not is news as well."""
    if family_id == PLATFORM:
        seen, to = call.presences.find(user_id), Audience.of_users(friend_id)
    else:
        seen = call.presences.find(user_id, family_id=family_id)
        to = Audience.of_users(friend_id, family_id=family_id, games_only=True)
    if seen is not None or gone:
        call.tx.emit(
            presence_wire.PRESENCE_UPDATE,
            presences.shown(user_id, seen),
            to,
            games=presences.for_games(user_id, seen, cast.families(user_id)),
        )

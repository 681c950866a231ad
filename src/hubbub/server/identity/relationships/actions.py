"""Store and publish friendships, friend requests and blocks, and update them when accounts change."""

from collections.abc import Iterable, Iterator

from hubbub.protocol.enums import Scope
from hubbub.protocol.ids import UserId
from hubbub.protocol.resources import presence as presence_wire
from hubbub.protocol.resources import relationships as wire
from hubbub.server.core import presences
from hubbub.server.core.call import Call
from hubbub.server.core.event_dispatch import GameFilter, UserAudience
from hubbub.server.identity import identities, users
from hubbub.server.identity.relationships import ports, rules, store, views
from hubbub.server.identity.relationships.rules import RelationshipPair
from hubbub.server.identity.relationships.signals import UserBlocked
from hubbub.server.identity.relationships.store import PLATFORM, RelationshipRow
from hubbub.server.identity.relationships.views import PlayerDirectory
from hubbub.server.identity.users import UserRow


class RelationshipSet:
    """The relationships among some users, loaded together. Changes are also written to the store."""

    def __init__(self, call: Call, rows: Iterable[RelationshipRow], user_ids: Iterable[int]) -> None:
        self._tx = call.tx
        self._rows = {(row.user_id, row.family_id, row.other_id): row for row in rows}
        self.directory = PlayerDirectory(call.tx, user_ids)

    def __iter__(self) -> Iterator[RelationshipRow]:
        return iter(list(self._rows.values()))

    def find_side(self, user_id: int, family_id: int, other_id: int) -> RelationshipRow | None:
        """Return one side of a relationship, or None."""
        return self._rows.get((user_id, family_id, other_id))

    def read_pair(self, user_id: int, family_id: int, other_id: int) -> RelationshipPair:
        """Return the types of both sides of a relationship."""
        own_side, other_side = (
            self.find_side(user_id, family_id, other_id),
            self.find_side(other_id, family_id, user_id),
        )
        return RelationshipPair(
            own_side.type if own_side else rules.NONE, other_side.type if other_side else rules.NONE
        )

    def list_user_relationships(self, user_id: int) -> list[tuple[int, int]]:
        """Return (family ID, other user's ID) of each of a user's relationships; platform relationships come first."""
        family_and_other_ids = {
            (family_id, second_id if first_id == user_id else first_id)
            for first_id, family_id, second_id in self._rows
            if user_id in (first_id, second_id)
        }
        return sorted(family_and_other_ids)

    def put(self, row: RelationshipRow) -> None:
        """Store one side of a relationship."""
        store.put(self._tx, row)
        self._rows[row.user_id, row.family_id, row.other_id] = row

    def remove(self, row: RelationshipRow) -> None:
        """Delete one side of a relationship."""
        store.remove(self._tx, row)
        del self._rows[row.user_id, row.family_id, row.other_id]


def _load_relationships_between(call: Call, user_id: int, other_id: int) -> RelationshipSet:
    """Load all relationships between two users, on the platform and in games."""
    return RelationshipSet(call, store.list_between(call.tx, user_id, other_id), (user_id, other_id))


def send_request(call: Call, other_user: UserRow, family_id: int = PLATFORM) -> None:
    """Send a friend request of the caller, or accept the other user's request.

    A request of the caller that is already pending stays unchanged."""
    relationships = _load_relationships_between(call, call.user_id, other_user.id)
    own_type = relationships.read_pair(call.user_id, family_id, other_user.id).first
    if own_type != rules.OUTGOING:
        pair = rules.FRIENDS if own_type == rules.INCOMING else rules.REQUESTED
        _set_pair(call, relationships, (call.user_id, other_user.id), family_id, pair, _calling_application_id(call))


def befriend(call: Call, user_id: int, other_id: int) -> None:
    """Make two users friends without a request, as a world file declares."""
    _set_pair(call, _load_relationships_between(call, user_id, other_id), (user_id, other_id), PLATFORM, rules.FRIENDS)


def block(call: Call, other_id: int) -> None:
    """Block a user and end all other relationships with them, on the platform and in games (spec/sdk.md#9.3)."""
    relationships = _load_relationships_between(call, call.user_id, other_id)
    for family_id, _ in relationships.list_user_relationships(call.user_id):
        if family_id != PLATFORM:
            _set_pair(call, relationships, (call.user_id, other_id), family_id, rules.UNRELATED)
    other_type = relationships.read_pair(call.user_id, PLATFORM, other_id).second
    remaining_type = rules.BLOCKED if other_type == rules.BLOCKED else rules.NONE
    _set_pair(call, relationships, (call.user_id, other_id), PLATFORM, RelationshipPair(rules.BLOCKED, remaining_type))
    call.notify(UserBlocked(user_id=call.user_id, other_id=UserId(other_id)))


def remove(call: Call, other_id: int, family_id: int = PLATFORM) -> None:
    """End a friendship, withdraw or decline a request, or remove the caller's block."""
    relationships = _load_relationships_between(call, call.user_id, other_id)
    other_type = relationships.read_pair(call.user_id, family_id, other_id).second
    # Unblocking a user does not remove the other user's block.
    remaining_type = rules.BLOCKED if other_type == rules.BLOCKED else rules.NONE
    _set_pair(call, relationships, (call.user_id, other_id), family_id, RelationshipPair(rules.NONE, remaining_type))


def set_nickname(call: Call, row: RelationshipRow, nickname: str | None) -> None:
    """Set the caller's nickname for a friend and publish it if it changed."""
    changed_row = row._replace(nickname=nickname)
    if changed_row != row:
        store.put(call.tx, changed_row)
        call.tx.emit(wire.RELATIONSHIP_UPDATE, views.relationship_change(changed_row), UserAudience.of(row.user_id))


# Account changes


def on_user_changed(call: Call, signal: users.signals.UserChanged) -> None:
    """Publish a user's changed profile to related users, unless only the guild tag changed.

    Recipients are friends, users with a pending request, and users who block the changed user. Game friends receive the
    platform's event in their game, since games have no event of their own (spec/sdk.md#9.6). Users who share a private
    channel with the changed user also receive the platform's event."""
    if signal.is_tag_only:
        return
    related_ids_by_family = store.list_related_ids_by_family(call.tx, signal.row.id)
    platform_ids = related_ids_by_family.pop(PLATFORM, set()).union(store.list_blocker_ids(call.tx, signal.row.id))
    payload = wire.RelationshipChange(id=UserId(signal.row.id), user=users.user_view(signal.row))
    if platform_ids:
        call.tx.emit(wire.RELATIONSHIP_UPDATE, payload, UserAudience.of(*platform_ids))
    for family_id, related_ids in related_ids_by_family.items():
        if game_ids := related_ids - platform_ids:
            call.tx.emit(
                wire.RELATIONSHIP_UPDATE,
                payload,
                UserAudience.of(*game_ids, game_filter=GameFilter(family_id=family_id, oauth2_only=True)),
            )
    if partner_ids := ports.list_private_channel_partners(call, signal.row.id) - platform_ids:
        # The event belongs to a private channel, so only OAuth2 sessions that may read private channels receive it.
        game_filter = GameFilter(oauth2_only=True, with_scope=Scope.DM_CHANNELS_READ)
        audience = UserAudience.of(*partner_ids, game_filter=game_filter)
        call.tx.emit(wire.RELATIONSHIP_UPDATE, payload, audience)


def on_accounts_merged(call: Call, signal: identities.AccountsMerged) -> None:
    """Move the relationships of a merged provisional account to the full account, blocks included (spec/sdk.md#8.5)."""
    source_id, target_id = int(signal.source_id), int(signal.user_id)
    moved_rows = store.list_from_both_sides(call.tx, source_id)
    if not moved_rows:
        return
    rows = {*moved_rows, *store.list_from_both_sides(call.tx, target_id)}
    relationships = RelationshipSet(
        call, rows, {source_id, target_id} | {row.other_id for row in rows} | {row.user_id for row in rows}
    )
    # Platform relationships are processed first, so that a moved block is effective when game relationships follow.
    for family_id, other_id in relationships.list_user_relationships(source_id):
        side = relationships.find_side(source_id, family_id, other_id) or relationships.find_side(
            other_id, family_id, source_id
        )
        pair = relationships.read_pair(source_id, family_id, other_id)
        _set_pair(call, relationships, (source_id, other_id), family_id, rules.UNRELATED)
        if other_id == target_id:
            continue
        merged_pair = rules.merge_pairs(relationships.read_pair(target_id, family_id, other_id), pair)
        if family_id != PLATFORM and rules.BLOCKED in relationships.read_pair(target_id, PLATFORM, other_id):
            merged_pair = rules.UNRELATED
        _set_pair(
            call, relationships, (target_id, other_id), family_id, merged_pair, side.application_id if side else None
        )
        if rules.BLOCKED in merged_pair:
            for game_family_id, related_id in relationships.list_user_relationships(target_id):
                if related_id == other_id and game_family_id != PLATFORM:
                    _set_pair(call, relationships, (target_id, other_id), game_family_id, rules.UNRELATED)


def on_account_unmerged(call: Call, signal: identities.AccountUnmerged) -> None:
    """Copy relationships from a full account to the provisional account that replaces it in a game (spec/sdk.md#8.6).

    Game friends, platform friends who use the application, and blocks are copied. An account that a ban restricts to
    the game gets no platform friends."""
    full_id, provisional_id, unmerged_family_id = int(signal.user_id), int(signal.provisional_id), int(signal.family_id)
    rows = store.list_from_both_sides(call.tx, full_id)
    relationships = RelationshipSet(
        call, rows, {provisional_id, full_id} | {row.other_id for row in rows} | {row.user_id for row in rows}
    )
    for family_id, other_id in relationships.list_user_relationships(full_id):
        pair = relationships.read_pair(full_id, family_id, other_id)
        are_friends = pair == rules.FRIENDS and (
            family_id == unmerged_family_id
            or (
                family_id == PLATFORM
                and not signal.is_restricted
                and unmerged_family_id in relationships.directory.find_family_ids(other_id)
            )
        )
        if other_id != provisional_id and (are_friends or rules.BLOCKED in pair):
            side = relationships.find_side(full_id, family_id, other_id) or relationships.find_side(
                other_id, family_id, full_id
            )
            _set_pair(
                call, relationships, (provisional_id, other_id), family_id, pair, side.application_id if side else None
            )


def on_profile_changed(call: Call, signal: identities.ProfileChanged) -> None:
    """Publish a user's changed profile in a game to friends and users with a pending request, on the platform and in the game."""
    related_ids_by_family = store.list_related_ids_by_family(call.tx, signal.user_id)
    friend_ids = related_ids_by_family.get(PLATFORM, set()) | related_ids_by_family.get(int(signal.family_id), set())
    identities.publish_profile(call, signal.family_id, signal.user_id, friend_ids)


def on_user_deleting(call: Call, signal: users.signals.UserDeleting) -> None:
    """Delete all relationships of a deleted user and publish their removal."""
    rows = store.list_from_both_sides(call.tx, signal.user_id)
    store.remove_user(call.tx, signal.user_id)
    directory = PlayerDirectory(call.tx, [signal.user_id])
    for row in rows:
        if row.user_id != signal.user_id:
            _publish_removed_side(call, row, directory)


def on_family_joined(call: Call, signal: identities.FamilyJoined) -> None:
    """Delete the game relationships of an application that joins a publisher (spec/sdk.md#8.7)."""
    rows = store.list_family(call.tx, signal.application_id)
    store.remove_family(call.tx, signal.application_id)
    directory = PlayerDirectory(call.tx, [row.other_id for row in rows])
    for row in rows:
        _publish_removed_side(call, row, directory)


# Both sides of a relationship


def _calling_application_id(call: Call) -> int | None:
    """Return the ID of the application of the caller's OAuth2 token, or None for other callers."""
    actor = call.actor_or_none
    return int(actor.application_id) if actor is not None and actor.kind == "bearer" and actor.application_id else None


def _set_pair(
    call: Call,
    relationships: RelationshipSet,
    user_ids: tuple[int, int],
    family_id: int,
    pair: RelationshipPair,
    application_id: int | None = None,
) -> None:
    """Store both sides of a relationship and publish each side that changed.

    The first of the `user_ids` is the acting user, whose type is `pair.first`. Only the second user is notified.
    `application_id` is the application in which the relationship is created, or None."""
    acting_id, target_id = user_ids
    previous_pair = relationships.read_pair(acting_id, family_id, target_id)
    if previous_pair == pair:
        return
    # Write the sides in the order of user IDs, because both users may change their relationship at the same time.
    sides = sorted(((acting_id, target_id, pair.first), (target_id, acting_id, pair.second)))
    for user_id, other_id, side_type in sides:
        previous_side = relationships.find_side(user_id, family_id, other_id)
        if side_type == (previous_side.type if previous_side else rules.NONE):
            continue
        if side_type == rules.NONE:
            assert previous_side is not None
            relationships.remove(previous_side)
            _publish_removed_side(call, previous_side, relationships.directory)
            continue
        row = RelationshipRow(
            user_id=user_id,
            family_id=family_id,
            other_id=other_id,
            type=side_type,
            nickname=previous_side.nickname if previous_side and side_type == rules.FRIEND else None,
            application_id=previous_side.application_id
            if previous_side and previous_side.application_id
            else application_id,
            since_ms=call.now_ms,
        )
        relationships.put(row)
        _publish_added_side(
            call,
            row,
            relationships.directory,
            should_notify=user_id == target_id and side_type in (rules.INCOMING, rules.FRIEND),
        )
    if pair == rules.FRIENDS:
        for user_id, friend_id in (user_ids, user_ids[::-1]):
            if family_id == PLATFORM or relationships.read_pair(acting_id, PLATFORM, target_id) != rules.FRIENDS:
                _publish_presence(call, user_id, friend_id, family_id, relationships.directory)
    elif family_id == PLATFORM and previous_pair == rules.FRIENDS:
        # Remaining game friendships expose less of each other's presence from now on.
        for game_family_id, related_id in relationships.list_user_relationships(acting_id):
            if (
                related_id == target_id
                and game_family_id != PLATFORM
                and relationships.read_pair(acting_id, game_family_id, target_id) == rules.FRIENDS
            ):
                for user_id, friend_id in (user_ids, user_ids[::-1]):
                    _publish_presence(
                        call, user_id, friend_id, game_family_id, relationships.directory, includes_offline=True
                    )


def _publish_added_side(call: Call, row: RelationshipRow, directory: PlayerDirectory, *, should_notify: bool) -> None:
    other_user = directory.users_by_id.get(row.other_id)
    if other_user is None:
        return
    if row.is_game:
        audience = UserAudience.of(row.user_id, game_filter=GameFilter(family_id=row.family_id))
        oauth2_payload = views.game_relationship(row, other_user, directory.find_profiles(row.other_id, row.family_id))
        call.tx.emit(
            wire.GAME_RELATIONSHIP_ADD,
            views.game_relationship(row, other_user),
            audience,
            # Key 0 is the payload for the OAuth2 sessions of all applications.
            oauth2_payloads={0: oauth2_payload},
        )
        return
    call.tx.emit(
        wire.RELATIONSHIP_ADD,
        views.added_relationship(row, other_user, should_notify=should_notify),
        UserAudience.of(row.user_id),
        oauth2_payloads={
            # Key 0 is the payload for games that the other user does not play.
            0: views.added_relationship(row, other_user, should_notify=should_notify, has_played_game=False),
            **{
                family_id: views.added_relationship(
                    row,
                    other_user,
                    should_notify=should_notify,
                    has_played_game=True,
                    profiles=directory.find_profiles(row.other_id, family_id),
                )
                for family_id in directory.find_family_ids(row.other_id)
            },
        },
    )


def _publish_removed_side(call: Call, row: RelationshipRow, directory: PlayerDirectory) -> None:
    if row.is_game:
        audience = UserAudience.of(row.user_id, game_filter=GameFilter(family_id=row.family_id))
        call.tx.emit(
            wire.GAME_RELATIONSHIP_REMOVE,
            views.game_relationship(row, directory.users_by_id.get(row.other_id)),
            audience,
        )
    else:
        call.tx.emit(wire.RELATIONSHIP_REMOVE, views.removed_relationship(row), UserAudience.of(row.user_id))


def _publish_presence(
    call: Call,
    user_id: int,
    friend_id: int,
    family_id: int,
    directory: PlayerDirectory,
    *,
    includes_offline: bool = False,
) -> None:
    """Publish a user's presence to a friend.

    With `includes_offline`, an offline presence is published as well."""
    if family_id == PLATFORM:
        presence, audience = call.presences.find(user_id), UserAudience.of(friend_id)
    else:
        presence = call.presences.find(user_id, family_id=family_id)
        audience = UserAudience.of(friend_id, game_filter=GameFilter(family_id=family_id, oauth2_only=True))
    if presence is not None or includes_offline:
        call.tx.emit(
            presence_wire.PRESENCE_UPDATE,
            presences.presence_update(user_id, presence),
            audience,
            oauth2_payloads=presences.oauth2_presence_updates(user_id, presence, directory.find_family_ids(user_id)),
        )

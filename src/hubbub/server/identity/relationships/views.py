"""Build the wire models of relationships, the fields of READY, and the relationships of a data export."""

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import UNSET, UnsetType

from hubbub.protocol.codec import timestamp
from hubbub.protocol.enums import Scope
from hubbub.protocol.flags import UserFlags
from hubbub.protocol.ids import ApplicationId, UserId
from hubbub.protocol.resources import relationships as wire
from hubbub.protocol.resources.identities import UserApplicationProfile
from hubbub.server.core import presences
from hubbub.server.core.call import Call
from hubbub.server.core.store import Tx
from hubbub.server.identity import applications, identities, oauth2, users
from hubbub.server.identity.relationships import rules, store
from hubbub.server.identity.relationships.store import RelationshipRow
from hubbub.server.identity.users import UserRow

Profiles = list[UserApplicationProfile]


class PlayerDirectory:
    """Users, and the families of games that each of them plays, loaded once.

    `users_by_id` contains the users that exist, by ID."""

    def __init__(self, tx: Tx, user_ids: Iterable[int]) -> None:
        unique_ids = list(dict.fromkeys(user_ids))
        self.users_by_id: Mapping[int, UserRow] = users.find_many(tx, unique_ids)
        user_application_pairs = oauth2.authorizations.list_user_applications(tx, unique_ids)
        applications_by_id = applications.find_many(
            tx, {application_id for _, application_id in user_application_pairs}
        )
        self._family_ids_by_user: dict[int, set[int]] = {}
        for user_id, application_id in user_application_pairs:
            if (row := applications_by_id.get(application_id)) is not None:
                self._family_ids_by_user.setdefault(user_id, set()).add(int(row.family_id))
        self._tx = tx
        self._identity_pairs = set(identities.list_user_families(tx, unique_ids))
        for user_id, family_id in self._identity_pairs:
            self._family_ids_by_user.setdefault(user_id, set()).add(family_id)

    def find_family_ids(self, user_id: int) -> set[int]:
        """Return the IDs of the families of games that a user plays."""
        return self._family_ids_by_user.get(user_id, set())

    def find_profiles(self, user_id: int, family_id: int) -> Profiles | UnsetType:
        """Return a user's profiles in a family of games; UNSET if the user has no identity there."""
        if (user_id, family_id) not in self._identity_pairs:
            return UNSET
        return identities.profiles(self._tx, family_id, [user_id]).get(str(int(user_id)), UNSET)


def relationship(
    row: RelationshipRow, other_user: UserRow, *, has_played_game: bool | None = None
) -> wire.Relationship:
    """Build a platform relationship.

    For an OAuth2 session, `has_played_game` is whether the other user plays a game of its family; otherwise it is None."""
    return wire.Relationship(**_common_fields(row, other_user, has_played_game))


def added_relationship(
    row: RelationshipRow,
    other_user: UserRow,
    *,
    should_notify: bool = False,
    has_played_game: bool | None = None,
    profiles: Profiles | UnsetType = UNSET,
) -> wire.AddedRelationship:
    """Build the event payload of a new platform relationship.

    `should_notify` is whether clients notify the user. For an OAuth2 session, `has_played_game` is whether the other user plays
    a game of its family, and `profiles` are the other user's profiles there."""
    return wire.AddedRelationship(
        should_notify=True if should_notify else UNSET,
        user_application_profiles=profiles,
        **_common_fields(row, other_user, has_played_game),
    )


def _common_fields(row: RelationshipRow, other_user: UserRow, has_played_game: bool | None) -> dict[str, Any]:
    is_spam = row.type == rules.INCOMING and bool(other_user.flags & UserFlags.SPAMMER)
    return {
        "id": UserId(row.other_id),
        "type": row.type,
        "user": users.user_view(other_user),
        "nickname": row.nickname,
        "is_spam_request": True if is_spam else UNSET,
        "origin_application_id": UNSET if row.application_id is None else ApplicationId(row.application_id),
        "since": timestamp(row.since_ms),
        "has_played_game": UNSET if has_played_game is None else has_played_game,
    }


def relationship_change(row: RelationshipRow) -> wire.RelationshipChange:
    """Build the event payload of an updated platform relationship."""
    return wire.RelationshipChange(
        id=UserId(row.other_id), type=row.type, nickname=row.nickname, user_ignored=False, since=timestamp(row.since_ms)
    )


def removed_relationship(row: RelationshipRow) -> wire.RemovedRelationship:
    """Build the event payload of a removed platform relationship."""
    return wire.RemovedRelationship(id=UserId(row.other_id), type=row.type, nickname=row.nickname)


def game_relationship(
    row: RelationshipRow, other_user: UserRow | None, profiles: Profiles | UnsetType = UNSET
) -> wire.GameRelationship:
    """Build a game relationship. Without `other_user`, it does not contain the other user."""
    return wire.GameRelationship(
        id=UserId(row.other_id),
        application_id=ApplicationId(row.application_id or row.family_id),
        type=row.type,
        since=timestamp(row.since_ms),
        user_id=UserId(row.user_id),
        user=UNSET if other_user is None else users.user_view(other_user),
        user_application_profiles=profiles,
    )


def list_platform_relationships(call: Call) -> list[wire.Relationship]:
    """Return the caller's platform relationships; OAuth2 sessions receive friends only (spec/sdk.md#9.6)."""
    is_oauth2 = call.actor.kind == "bearer"
    return _platform_relationships(
        call, store.list_user_relationships(call.tx, call.user_id, type=rules.FRIEND if is_oauth2 else None)
    )


def _platform_relationships(call: Call, rows: list[RelationshipRow]) -> list[wire.Relationship]:
    users_by_id = users.find_many(call.tx, [row.other_id for row in rows])
    player_ids = filter_calling_game_players(call, [row.other_id for row in rows])
    return [
        relationship(
            row, users_by_id[row.other_id], has_played_game=None if player_ids is None else row.other_id in player_ids
        )
        for row in rows
        if row.other_id in users_by_id
    ]


def filter_calling_game_players(call: Call, user_ids: list[int]) -> set[int] | None:
    """Return the IDs of the given users who play a game of the calling game's family.

    Return None if the caller has no OAuth2 token."""
    if call.actor.kind != "bearer" or call.actor.family_id is None:
        return None
    return rules.filter_players(call.tx, user_ids, call.actor.family_id)


def list_game_relationships(call: Call, *, with_users: bool) -> list[wire.GameRelationship]:
    """Return the caller's game relationships: in the calling game's family, or for a user token in all games.

    With `with_users`, they contain the other users."""
    if call.actor.kind == "bearer":
        rows = (
            store.list_user_relationships(call.tx, call.user_id, call.actor.family_id) if call.actor.family_id else []
        )
    else:
        rows = store.list_in_games(call.tx, call.user_id)
    users_by_id = users.find_many(call.tx, [row.other_id for row in rows])
    return [
        game_relationship(row, users_by_id[row.other_id] if with_users else None)
        for row in rows
        if row.other_id in users_by_id
    ]


def ready_fields(call: Call) -> dict[str, Any]:
    """Return the READY fields: relationships and presences of friends (spec/sdk.md#5.4); none for bots.

    OAuth2 sessions that may read relationships also receive the profiles of related users in their family."""
    actor = call.actor
    if actor.is_bot:
        return {}
    if actor.kind == "bearer" and Scope.RELATIONSHIPS_READ not in actor.scopes:
        return {"relationships": [], "game_relationships": [], "merged_presences": {"guilds": [], "friends": []}}
    platform_relationships = _platform_relationships(call, store.list_user_relationships(call.tx, call.user_id))
    game_relationships = list_game_relationships(call, with_users=True)
    friend_presences: dict[int, Any] = {}
    for platform_view in platform_relationships:
        if platform_view.type == rules.FRIEND and (presence := call.presences.find(platform_view.id)) is not None:
            has_played_game = None if platform_view.has_played_game is UNSET else bool(platform_view.has_played_game)
            friend_presences[platform_view.id] = presences.presence_update(
                platform_view.id, presence, has_played_game=has_played_game
            )
    if actor.kind == "bearer" and actor.family_id is not None:
        for game_view in game_relationships:
            if game_view.type == rules.FRIEND and game_view.id not in friend_presences:
                presence = call.presences.find(game_view.id, family_id=actor.family_id)
                if presence is not None:
                    friend_presences[game_view.id] = presences.presence_update(
                        game_view.id, presence, has_played_game=True
                    )
    fields: dict[str, Any] = {
        "relationships": platform_relationships,
        "game_relationships": game_relationships,
        "merged_presences": {"guilds": [], "friends": list(friend_presences.values())},
    }
    if actor.kind == "bearer" and actor.family_id is not None:
        related_ids = {
            *(int(platform_view.id) for platform_view in platform_relationships),
            *(int(game_view.id) for game_view in game_relationships),
        }
        fields["user_application_profiles"] = identities.profiles(call.tx, actor.family_id, related_ids)
    return fields


def export_data(call: Call, user_id: int) -> dict[str, Any]:
    """Return a user's own sides of relationships for the export of their data."""
    rows = [*store.list_user_relationships(call.tx, user_id), *store.list_in_games(call.tx, user_id)]
    relationships = [
        {
            "id": str(row.other_id),
            "type": row.type,
            "nickname": row.nickname,
            "game": str(row.family_id) if row.is_game else None,
            "since": timestamp(row.since_ms),
        }
        for row in rows
    ]
    return {"relationships": relationships}

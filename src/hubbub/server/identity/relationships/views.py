"""Build the wire models of relationships."""

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
    """Some users with the families of games that each of them plays, loaded once."""

    def __init__(self, tx: Tx, user_ids: Iterable[int]) -> None:
        wanted = list(dict.fromkeys(user_ids))
        self.users: Mapping[int, UserRow] = users.find_many(tx, wanted)
        grants = oauth2.applications_of(tx, wanted)
        known = applications.find_many(tx, {application_id for _, application_id in grants})
        self._families: dict[int, set[int]] = {}
        for user_id, application_id in grants:
            if (row := known.get(application_id)) is not None:
                self._families.setdefault(user_id, set()).add(int(row.family_id))
        self._tx = tx
        self._known = set(identities.list_user_families(tx, wanted))
        for user_id, family_id in self._known:
            self._families.setdefault(user_id, set()).add(family_id)

    def families(self, user_id: int) -> set[int]:
        """Return the families of games that a user plays."""
        return self._families.get(user_id, set())

    def profiles(self, user_id: int, family_id: int) -> Profiles | UnsetType:
        """Return a user's profiles in a family of games, or UNSET."""
        if (user_id, family_id) not in self._known:
            return UNSET
        return identities.profiles(self._tx, family_id, [user_id]).get(str(int(user_id)), UNSET)


def relationship(row: RelationshipRow, other: UserRow, *, played: bool | None = None) -> wire.Relationship:
    """Return a platform relationship. `played` is set only for games."""
    return wire.Relationship(**_common(row, other, played))


def added(
    row: RelationshipRow,
    other: UserRow,
    *,
    notify: bool = False,
    played: bool | None = None,
    profiles: Profiles | UnsetType = UNSET,
) -> wire.AddedRelationship:
    """Return the payload of a new relationship."""
    return wire.AddedRelationship(
        should_notify=True if notify else UNSET, user_application_profiles=profiles, **_common(row, other, played)
    )


def _common(row: RelationshipRow, other: UserRow, played: bool | None) -> dict[str, Any]:
    spam = row.type == rules.INCOMING and bool(other.flags & UserFlags.SPAMMER)
    return {
        "id": UserId(row.other_id),
        "type": row.type,
        "user": users.user(other),
        "nickname": row.nickname,
        "is_spam_request": True if spam else UNSET,
        "origin_application_id": UNSET if row.application_id is None else ApplicationId(row.application_id),
        "since": timestamp(row.since_ms),
        "has_played_game": UNSET if played is None else played,
    }


def change(row: RelationshipRow) -> wire.RelationshipChange:
    """Return the payload of an updated relationship."""
    return wire.RelationshipChange(
        id=UserId(row.other_id), type=row.type, nickname=row.nickname, user_ignored=False, since=timestamp(row.since_ms)
    )


def removed(row: RelationshipRow) -> wire.RemovedRelationship:
    """Return the payload of a removed relationship."""
    return wire.RemovedRelationship(id=UserId(row.other_id), type=row.type, nickname=row.nickname)


def game(row: RelationshipRow, other: UserRow | None, profiles: Profiles | UnsetType = UNSET) -> wire.GameRelationship:
    """Return a game relationship."""
    return wire.GameRelationship(
        id=UserId(row.other_id),
        application_id=ApplicationId(row.application_id or row.family_id),
        type=row.type,
        since=timestamp(row.since_ms),
        user_id=UserId(row.user_id),
        user=UNSET if other is None else users.user(other),
        user_application_profiles=profiles,
    )


def list_platform(call: Call) -> list[wire.Relationship]:
    """Return the caller's platform relationships; OAuth2 sessions receive friends only (spec/sdk.md#9.6)."""
    bearer = call.actor.kind == "bearer"
    return _platform(call, store.list_of_user(call.tx, call.user_id, type=rules.FRIEND if bearer else None))


def _platform(call: Call, rows: list[RelationshipRow]) -> list[wire.Relationship]:
    found = users.find_many(call.tx, [row.other_id for row in rows])
    playing = players(call, [row.other_id for row in rows])
    return [
        relationship(row, found[row.other_id], played=None if playing is None else row.other_id in playing)
        for row in rows
        if row.other_id in found
    ]


def players(call: Call, user_ids: list[int]) -> set[int] | None:
    """Return those of the users who play the calling game's family, or None if the caller is not an OAuth2 session."""
    if call.actor.kind != "bearer" or call.actor.family_id is None:
        return None
    return rules.filter_players(call.tx, user_ids, call.actor.family_id)


def list_games(call: Call, *, with_users: bool) -> list[wire.GameRelationship]:
    """Return the caller's game relationships: in the calling game's family, or for a user in all games."""
    if call.actor.kind == "bearer":
        rows = store.list_of_user(call.tx, call.user_id, call.actor.family_id) if call.actor.family_id else []
    else:
        rows = store.list_in_games(call.tx, call.user_id)
    found = users.find_many(call.tx, [row.other_id for row in rows])
    return [game(row, found[row.other_id] if with_users else None) for row in rows if row.other_id in found]


def ready(call: Call) -> dict[str, Any]:
    """Return the READY fields: relationships, and the presences of friends (spec/sdk.md#5.4)."""
    actor = call.actor
    if actor.is_bot:
        return {}
    if actor.kind == "bearer" and Scope.RELATIONSHIPS_READ not in actor.scopes:
        return {"relationships": [], "game_relationships": [], "merged_presences": {"guilds": [], "friends": []}}
    mine = _platform(call, store.list_of_user(call.tx, call.user_id))
    games = list_games(call, with_users=True)
    friend_presences: dict[int, Any] = {}
    for one in mine:
        if one.type == rules.FRIEND and (presence := call.presences.find(one.id)) is not None:
            played = None if one.has_played_game is UNSET else bool(one.has_played_game)
            friend_presences[one.id] = presences.presence_update(one.id, presence, has_played_game=played)
    if actor.kind == "bearer" and actor.family_id is not None:
        for other in games:
            if other.type == rules.FRIEND and other.id not in friend_presences:
                presence = call.presences.find(other.id, family_id=actor.family_id)
                if presence is not None:
                    friend_presences[other.id] = presences.presence_update(other.id, presence, has_played_game=True)
    parts: dict[str, Any] = {
        "relationships": mine,
        "game_relationships": games,
        "merged_presences": {"guilds": [], "friends": list(friend_presences.values())},
    }
    if actor.kind == "bearer" and actor.family_id is not None:
        related_ids = {*(int(one.id) for one in mine), *(int(one.id) for one in games)}
        parts["user_application_profiles"] = identities.profiles(call.tx, actor.family_id, related_ids)
    return parts


def export_data(call: Call, user_id: int) -> dict[str, Any]:
    """Return a user's own sides of relationships for the export of their data."""
    rows = [*store.list_of_user(call.tx, user_id), *store.list_in_games(call.tx, user_id)]
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

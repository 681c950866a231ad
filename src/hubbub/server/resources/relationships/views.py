"""Relationships as their owner sees them."""

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import UNSET, UnsetType

from hubbub.protocol.enums import Scope
from hubbub.protocol.flags import UserFlags
from hubbub.protocol.ids import ApplicationId, UserId
from hubbub.protocol.resources import relationships as wire
from hubbub.protocol.resources.identities import UserApplicationProfile
from hubbub.protocol.wire import timestamp
from hubbub.server.core import presences
from hubbub.server.core.call import Call
from hubbub.server.core.store import Tx
from hubbub.server.resources import applications, identities, oauth2, users
from hubbub.server.resources.relationships import rules, store
from hubbub.server.resources.relationships.store import RelationshipRow
from hubbub.server.resources.users import UserRow

Profiles = list[UserApplicationProfile]


class Cast:
    """Some users, and the families of games each of them plays; read once for all."""

    def __init__(self, tx: Tx, user_ids: Iterable[int]) -> None:
        wanted = list(dict.fromkeys(user_ids))
        self.users: Mapping[int, UserRow] = users.find_many(tx, wanted)
        acting = oauth2.applications_of(tx, wanted)
        known = applications.find_many(tx, {application_id for _, application_id in acting})
        self._families: dict[int, set[int]] = {}
        for user_id, application_id in acting:
            if (row := known.get(application_id)) is not None:
                self._families.setdefault(user_id, set()).add(int(row.family_id))
        self._tx = tx
        self._known = set(identities.players(tx, wanted))
        for user_id, family_id in self._known:
            self._families.setdefault(user_id, set()).add(family_id)

    def families(self, user_id: int) -> set[int]:
        """The families of games that somebody plays."""
        return self._families.get(user_id, set())

    def profiles(self, user_id: int, family_id: int) -> Profiles | UnsetType:
        """Who somebody is in a family of games, where it knows them."""
        if (user_id, family_id) not in self._known:
            return UNSET
        return identities.profiles(self._tx, family_id, [user_id]).get(str(int(user_id)), UNSET)


def relationship(row: RelationshipRow, other: UserRow, *, played: bool | None = None) -> wire.Relationship:
    """A relationship of the platform; `played` is told to games."""
    return wire.Relationship(**_common(row, other, played))


def added(
    row: RelationshipRow,
    other: UserRow,
    *,
    notify: bool = False,
    played: bool | None = None,
    profiles: Profiles | UnsetType = UNSET,
) -> wire.AddedRelationship:
    """A relationship that is new to its owner."""
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
    """A relationship whose type stayed."""
    return wire.RelationshipChange(
        id=UserId(row.other_id), type=row.type, nickname=row.nickname, user_ignored=False, since=timestamp(row.since_ms)
    )


def removed(row: RelationshipRow) -> wire.RemovedRelationship:
    """A relationship that is over."""
    return wire.RemovedRelationship(id=UserId(row.other_id), type=row.type, nickname=row.nickname)


def game(row: RelationshipRow, other: UserRow | None, profiles: Profiles | UnsetType = UNSET) -> wire.GameRelationship:
    """A relationship in a game."""
    return wire.GameRelationship(
        id=UserId(row.other_id),
        application_id=ApplicationId(row.application_id or row.family_id),
        type=row.type,
        since=timestamp(row.since_ms),
        user_id=UserId(row.user_id),
        user=UNSET if other is None else users.user(other),
        user_application_profiles=profiles,
    )


def listed(call: Call) -> list[wire.Relationship]:
    """The caller's relationships on the platform; to a game only friends (sdk.md 9.6)."""
    bearer = call.actor.kind == "bearer"
    return _platform(call, store.list_of(call.tx, call.user_id, type=rules.FRIEND if bearer else None))


def _platform(call: Call, rows: list[RelationshipRow]) -> list[wire.Relationship]:
    found = users.find_many(call.tx, [row.other_id for row in rows])
    playing = players(call, [row.other_id for row in rows])
    return [
        relationship(row, found[row.other_id], played=None if playing is None else row.other_id in playing)
        for row in rows
        if row.other_id in found
    ]


def players(call: Call, user_ids: list[int]) -> set[int] | None:
    """Who of these plays the calling game's family; None where no game asks."""
    if call.actor.kind != "bearer" or call.actor.family_id is None:
        return None
    return rules.players_among(call.tx, user_ids, call.actor.family_id)


def games_listed(call: Call, *, with_users: bool) -> list[wire.GameRelationship]:
    """The caller's relationships in games: in the calling game's family, or to a person in all."""
    if call.actor.kind == "bearer":
        rows = store.list_of(call.tx, call.user_id, call.actor.family_id) if call.actor.family_id else []
    else:
        rows = store.list_in_games(call.tx, call.user_id)
    found = users.find_many(call.tx, [row.other_id for row in rows])
    return [game(row, found[row.other_id] if with_users else None) for row in rows if row.other_id in found]


def ready(call: Call) -> dict[str, Any]:
    """What READY tells: all relationships, and who of the friends is there (sdk.md 5.4)."""
    actor = call.actor
    if actor.is_bot:
        return {}
    if actor.kind == "bearer" and Scope.RELATIONSHIPS_READ not in actor.scopes:
        return {"relationships": [], "game_relationships": [], "merged_presences": {"guilds": [], "friends": []}}
    mine = _platform(call, store.list_of(call.tx, call.user_id))
    games = games_listed(call, with_users=True)
    told: dict[int, Any] = {}
    for one in mine:
        if one.type == rules.FRIEND and (seen := call.presences.find(one.id)) is not None:
            played = None if one.has_played_game is UNSET else bool(one.has_played_game)
            told[one.id] = presences.shown(one.id, seen, has_played_game=played)
    if actor.kind == "bearer" and actor.family_id is not None:
        for other in games:
            if other.type == rules.FRIEND and other.id not in told:
                seen = call.presences.find(other.id, family_id=actor.family_id)
                if seen is not None:
                    told[other.id] = presences.shown(other.id, seen, has_played_game=True)
    parts: dict[str, Any] = {
        "relationships": mine,
        "game_relationships": games,
        "merged_presences": {"guilds": [], "friends": list(told.values())},
    }
    if actor.kind == "bearer" and actor.family_id is not None:
        named = {*(int(one.id) for one in mine), *(int(one.id) for one in games)}
        parts["user_application_profiles"] = identities.profiles(call.tx, actor.family_id, named)
    return parts


def harvest(call: Call, asked: users.DataAsked) -> None:
    """What others are to a person, for their copy of all that is kept of them; what they are to others is others' own."""
    rows = [*store.list_of(call.tx, asked.user_id), *store.list_in_games(call.tx, asked.user_id)]
    asked.records["relationships"] = [
        {
            "id": str(row.other_id),
            "type": row.type,
            "nickname": row.nickname,
            "game": str(row.family_id) if row.is_game else None,
            "since": timestamp(row.since_ms),
        }
        for row in rows
    ]

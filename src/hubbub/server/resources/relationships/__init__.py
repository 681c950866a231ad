"""Relationships: friends, friend requests and blocks, on the platform and within families of games."""

from hubbub.server.core.slices import Slice
from hubbub.server.resources import identities, users
from hubbub.server.resources.relationships import actions, routes, views
from hubbub.server.resources.relationships.actions import befriend
from hubbub.server.resources.relationships.facts import UserBlocked
from hubbub.server.resources.relationships.rules import players_among, plays
from hubbub.server.resources.relationships.store import (
    PLATFORM,
    RelationshipRow,
    are_friends,
    between,
    blocked_by,
    blocks_among,
    find,
    friend_ids,
    friends,
    is_blocked_between,
)
from hubbub.server.resources.relationships.views import Cast

SLICE = Slice(
    name="relationships",
    modules=(routes,),
    hears={
        identities.AccountsMerged: actions.move,
        identities.AccountUnmerged: actions.copy,
        identities.FamilyJoined: actions.forget_family,
        identities.ProfileChanged: actions.profile_changed,
        users.DataAsked: views.harvest,
        users.UserChanged: actions.user_changed,
        users.UserDeleted: actions.forget,
    },
    ready=views.ready,
)

__all__ = [
    "PLATFORM",
    "SLICE",
    "Cast",
    "RelationshipRow",
    "UserBlocked",
    "are_friends",
    "befriend",
    "between",
    "blocked_by",
    "blocks_among",
    "find",
    "friend_ids",
    "friends",
    "is_blocked_between",
    "players_among",
    "plays",
]

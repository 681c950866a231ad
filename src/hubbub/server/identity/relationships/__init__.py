"""Relationships: friends, friend requests and blocks, on the platform and within families of games."""

from hubbub.server.core.slices import Slice
from hubbub.server.identity import identities, users
from hubbub.server.identity.relationships import actions, ports, routes, views
from hubbub.server.identity.relationships.actions import befriend
from hubbub.server.identity.relationships.rules import filter_players, is_player
from hubbub.server.identity.relationships.signals import UserBlocked
from hubbub.server.identity.relationships.store import (
    are_friends,
    filter_blocked,
    find,
    is_blocked_between,
    list_blocked_ids,
    list_blocker_ids,
    list_friend_ids,
    list_friends,
)
from hubbub.server.identity.relationships.views import PlayerDirectory, export_data

SLICE = Slice(
    name="relationships",
    modules=(routes, ports),
    listeners={
        identities.AccountsMerged: actions.on_accounts_merged,
        identities.AccountUnmerged: actions.on_account_unmerged,
        identities.FamilyJoined: actions.on_family_joined,
        identities.ProfileChanged: actions.on_profile_changed,
        users.signals.UserChanged: actions.on_user_changed,
        users.signals.UserDeleting: actions.on_user_deleting,
    },
    ready=views.ready_fields,
)

__all__ = [
    "PlayerDirectory",
    "SLICE",
    "UserBlocked",
    "are_friends",
    "befriend",
    "export_data",
    "filter_blocked",
    "filter_players",
    "find",
    "is_blocked_between",
    "is_player",
    "list_blocked_ids",
    "list_blocker_ids",
    "list_friend_ids",
    "list_friends",
]

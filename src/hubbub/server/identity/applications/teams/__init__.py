"""Rows, roles and wire models of teams, for the rights on applications and for the handlers of the slice `teams`."""

from hubbub.server.identity.applications.teams.store import (
    TeamMemberRow,
    TeamRow,
    delete,
    delete_member,
    delete_user,
    find,
    find_member,
    has_role,
    list_members,
    list_user_teams,
    save,
    save_member,
)
from hubbub.server.identity.applications.teams.views import team, team_member, teams

__all__ = [
    "TeamMemberRow",
    "TeamRow",
    "delete",
    "delete_member",
    "delete_user",
    "find",
    "find_member",
    "has_role",
    "list_members",
    "list_user_teams",
    "save",
    "save_member",
    "team",
    "team_member",
    "teams",
]

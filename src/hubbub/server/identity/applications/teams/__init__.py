"""Teams of developers, as the rights on applications need them. The slice `teams` has the operations."""

from hubbub.server.identity.applications.teams.store import (
    TeamMemberRow,
    TeamRow,
    count_owned,
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
from hubbub.server.identity.applications.teams.views import team, team_member, team_user, teams

__all__ = [
    "TeamMemberRow",
    "TeamRow",
    "count_owned",
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
    "team_user",
    "teams",
]

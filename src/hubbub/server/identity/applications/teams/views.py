"""Build the wire models of teams."""

from collections.abc import Sequence

from hubbub.protocol.enums import TeamMembershipState, TeamRole
from hubbub.protocol.flags import UserFlags
from hubbub.protocol.ids import TeamId, UserId
from hubbub.protocol.resources.applications import Team, TeamMember
from hubbub.protocol.resources.users import User
from hubbub.server.core.store import Tx
from hubbub.server.identity import users
from hubbub.server.identity.applications.teams import store
from hubbub.server.identity.applications.teams.store import TeamMemberRow, TeamRow


def team(tx: Tx, row: TeamRow) -> Team:
    """Build a team with its members."""
    return teams(tx, [row])[0]


def teams(tx: Tx, rows: Sequence[TeamRow]) -> list[Team]:
    """Build teams with their members. The owner is the first member, as an admin."""
    member_rows = store.list_members(tx, [row.id for row in rows])
    users_by_id = users.find_many(tx, {row.owner_id for row in rows} | {row.user_id for row in member_rows})
    team_views = []
    for row in rows:
        owner = TeamMemberRow(row.id, row.owner_id, TeamMembershipState.ACCEPTED, TeamRole.ADMIN, 0)
        team_member_rows = [owner, *(member for member in member_rows if member.team_id == row.id)]
        team_views.append(
            Team(
                id=TeamId(row.id),
                icon=row.icon,
                name=row.name,
                owner_user_id=UserId(row.owner_id),
                members=[
                    team_member(users.user_view(users_by_id[member.user_id]), member)
                    for member in team_member_rows
                    if member.user_id in users_by_id
                ],
            )
        )
    return team_views


def team_member(user: User, row: TeamMemberRow) -> TeamMember:
    """Build a member of a team, who is the user `user`, or an invitation of this user."""
    return TeamMember(
        user=user, team_id=TeamId(row.team_id), membership_state=row.state, role=row.role, permissions=["*"]
    )


def team_user(row: TeamRow) -> User:
    """Build the user that represents a team as the owner of its applications."""
    flags = UserFlags.TEAM_PSEUDO_USER
    return users.user_view(
        users.UserRow(id=UserId(row.id), username=f"team{row.id:d}", discriminator="0000", public_flags=flags)
    )

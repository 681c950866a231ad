"""HTTP handlers for teams of developers, the transfer of applications to teams, and the data export of teams."""

from typing import Any

from hubbub.protocol import codec, errors
from hubbub.protocol.enums import TeamMembershipState, TeamRole
from hubbub.protocol.ids import ApplicationId, TeamId, UserId
from hubbub.protocol.resources import teams as wire
from hubbub.protocol.resources.applications import Application, PublicApplication, Team, TeamMember
from hubbub.protocol.resources.features import Feature
from hubbub.server.core.async_operation import AsyncOperation
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.identity import accounts, applications, features, oauth2, users
from hubbub.server.identity.applications.teams import TeamMemberRow, TeamRow
from hubbub.server.identity.teams import rules


@handles(wire.LIST_TEAMS)
def list_teams(call: Call) -> list[Team]:
    """List the teams of the current user.

    Teams that the user is invited to are included; their list of members contains only the user."""
    team_views = applications.teams.teams(call.tx, applications.teams.list_user_teams(call.tx, call.user_id))
    for team_view in team_views:
        own_members = [member for member in team_view.members if member.user.id == call.user_id]
        if own_members and own_members[0].membership_state == TeamMembershipState.INVITED:
            team_view.members = own_members
    return team_views


def export_data(call: Call, user_id: UserId) -> dict[str, Any]:
    """Return the teams of a user for the data export: those that the user owns, is a member of or is invited to."""
    team_records = []
    for row in applications.teams.list_user_teams(call.tx, user_id):
        member = applications.teams.find_member(call.tx, row.id, user_id)
        team_records.append(
            {
                "id": str(int(row.id)),
                "name": row.name,
                "role": "owner" if member is None else member.role,
                "is_accepted": member is None or member.state == TeamMembershipState.ACCEPTED,
                "invited_at": None if member is None else codec.timestamp(member.created_ms),
            }
        )
    return {"teams": team_records}


@handles(wire.CREATE_TEAM)
def create_team(call: Call, body: wire.CreateTeam) -> Team:
    """Create a team."""
    features.require_enabled(call, Feature.APPLICATIONS)
    own_teams = applications.teams.list_user_teams(call.tx, call.user_id)
    if sum(row.owner_id == call.user_id for row in own_teams) >= wire.TEAMS_MAX:
        raise errors.invalid("name", "TEAM_LIMIT", f"You can own at most {wire.TEAMS_MAX} teams.")
    row = TeamRow(call.new_id(TeamId), body.name.strip(), None, call.user_id)
    applications.teams.save(call.tx, row)
    return applications.teams.team(call.tx, row)


@handles(wire.GET_TEAM)
def get_team(call: Call, team_id: TeamId) -> Team:
    """Get a team.

    The caller must own the team or be a member."""
    return applications.teams.team(call.tx, rules.require_member(call, team_id))


@handles(wire.UPDATE_TEAM)
def update_team(call: Call, team_id: TeamId, body: wire.UpdateTeam) -> Team:
    """Update a team.

    The caller must own the team or have the role `admin`.
    """
    row = rules.require_admin(call, team_id)
    if isinstance(body.name, str):
        row = row._replace(name=body.name.strip())
        applications.teams.save(call.tx, row)
    return applications.teams.team(call.tx, row)


@handles(wire.DELETE_TEAM)
def delete_team(call: Call, team_id: TeamId) -> None:
    """Delete a team.

    A team that owns applications cannot be deleted.

    Only the owner of the team may delete it.
    """
    row = rules.require_owner(call, team_id)
    if applications.management.list_team_applications(call.tx, team_id):
        message = "Delete the applications of the team, or transfer them to another team, first."
        raise errors.invalid("team_id", "TEAM_HAS_APPLICATIONS", message)
    applications.teams.delete(call.tx, row.id)


@handles(wire.LIST_TEAM_APPLICATIONS)
def list_team_applications(call: Call, team_id: TeamId) -> list[PublicApplication]:
    """List the applications of a team.

    The caller must own the team or be a member."""
    rules.require_member(call, team_id)
    rows = applications.management.list_team_applications(call.tx, team_id)
    return oauth2.public_applications(call.tx, rows, call.now_ms)


# Members


@handles(wire.ADD_TEAM_MEMBER)
def add_team_member(call: Call, team_id: TeamId, body: wire.InviteTeamMember) -> TeamMember:
    """Invite a user to a team.

    The caller must own the team or have the role `admin`.
    """
    row = rules.require_admin(call, team_id)
    user = rules.require_invitable(call, row, body.username)
    member = TeamMemberRow(row.id, user.id, TeamMembershipState.INVITED, body.role, call.now_ms)
    applications.teams.save_member(call.tx, member)
    return applications.teams.team_member(users.user_view(user), member)


@handles(wire.UPDATE_TEAM_MEMBER)
def update_team_member(call: Call, team_id: TeamId, user_id: UserId, body: wire.UpdateTeamMember) -> TeamMember:
    """Change the role of a team member.

    The caller must own the team or have the role `admin`.
    """
    rules.require_admin(call, team_id)
    member = applications.teams.find_member(call.tx, team_id, user_id)
    user = users.find(call.tx, user_id)
    if member is None or user is None:
        raise errors.UNKNOWN_USER()
    member = member._replace(role=body.role)
    applications.teams.save_member(call.tx, member)
    return applications.teams.team_member(users.user_view(user), member)


@handles(wire.DELETE_TEAM_MEMBER)
def delete_team_member(call: Call, team_id: TeamId, user_id: UserId) -> None:
    """Remove a member from a team.

    Members can remove themselves, and invited users decline in this way.

    To remove another member, the caller must own the team or have the role `admin`.
    """
    if user_id != call.user_id:
        rules.require_admin(call, team_id)
    if not applications.teams.delete_member(call.tx, team_id, user_id):
        raise errors.UNKNOWN_USER() if user_id != call.user_id else errors.NOT_FOUND()


@handles(wire.ACCEPT_TEAM_INVITATION)
def accept_team_invitation(call: Call, team_id: TeamId) -> Team:
    """Accept an invitation to a team."""
    row = applications.teams.find(call.tx, team_id)
    member = applications.teams.find_member(call.tx, team_id, call.user_id)
    if row is None or member is None:
        raise errors.NOT_FOUND()
    applications.teams.save_member(call.tx, member._replace(state=TeamMembershipState.ACCEPTED))
    return applications.teams.team(call.tx, row)


# Ownership


@handles(wire.TRANSFER_TEAM)
async def transfer_team(operation: AsyncOperation, team_id: TeamId, body: wire.TransferTeam) -> Team:
    """Transfer a team and its applications to another member.

    The request must contain an MFA code if the owner has enabled two-factor authentication.

    Only the owner of the team may transfer it.
    """

    def require_transfer_allowed(call: Call) -> TeamRow:
        row = rules.require_owner(call, team_id)
        rules.require_new_owner(call, row, body.user_id)
        return row

    def transfer(call: Call) -> Team:
        row = require_transfer_allowed(call)
        applications.teams.delete_member(call.tx, team_id, body.user_id)
        former_owner = TeamMemberRow(
            row.id, row.owner_id, TeamMembershipState.ACCEPTED, TeamRole.ADMIN.value, call.now_ms
        )
        applications.teams.save_member(call.tx, former_owner)
        row = row._replace(owner_id=body.user_id)
        applications.teams.save(call.tx, row)
        for application in applications.management.list_team_applications(call.tx, team_id):
            applications.management.update(call, application._replace(owner_id=body.user_id))
        return applications.teams.team(call.tx, row)

    await operation.read(require_transfer_allowed)
    return await accounts.logins.run_with_mfa(operation, body.code, transfer)


@handles(wire.TRANSFER_APPLICATION)
async def transfer_application(
    operation: AsyncOperation, application_id: ApplicationId, body: wire.TransferApplication
) -> Application:
    """Transfer an application to a team.

    The caller must own the application, and own or administer the team. The request must contain an MFA code if the caller
    has enabled two-factor authentication."""

    def require_transfer_allowed(call: Call) -> TeamRow:
        applications.access.require_owner(call, application_id)
        try:
            return rules.require_admin(call, body.team_id)
        except errors.ApiError as error:
            message = "You must own or administer the team."
            raise errors.invalid("team_id", "TEAM_NOT_MANAGED", message) from error

    def transfer(call: Call) -> Application:
        team = require_transfer_allowed(call)
        row = applications.access.require_owner(call, application_id)
        row = row._replace(team_id=team.id, owner_id=UserId(team.owner_id))
        applications.management.update(call, row)
        return applications.management.application_view(call, row, for_user=True)

    await operation.read(require_transfer_allowed)
    return await accounts.logins.run_with_mfa(operation, body.code, transfer)

"""Rules for the management of teams."""

from hubbub.protocol import errors
from hubbub.protocol.enums import TeamMembershipState, TeamRole
from hubbub.protocol.resources import teams as wire
from hubbub.server.core.call import Call
from hubbub.server.core.denials import Denial, PermissionDenied
from hubbub.server.identity import applications, users
from hubbub.server.identity.applications.teams import TeamRow
from hubbub.server.identity.users import UserRow


def require_member(call: Call, team_id: int) -> TeamRow:
    """Return a team of which the caller is the owner or a member; raise NOT_FOUND otherwise."""
    row = applications.teams.find(call.tx, team_id)
    if row is None or not (
        row.owner_id == call.user_id or applications.teams.has_role(call.tx, team_id, call.user_id, TeamRole.READ_ONLY)
    ):
        raise errors.NOT_FOUND()
    return row


def require_admin(call: Call, team_id: int) -> TeamRow:
    """Return a team whose members the caller manages: as its owner, or with the role admin. Otherwise raise."""
    row = require_member(call, team_id)
    if row.owner_id != call.user_id and not applications.teams.has_role(call.tx, team_id, call.user_id, TeamRole.ADMIN):
        raise PermissionDenied(Denial(reason="{caller} is neither the owner nor an admin of the team."))
    return row


def require_owner(call: Call, team_id: int) -> TeamRow:
    """Return a team, or raise if the caller does not own it."""
    row = require_member(call, team_id)
    if row.owner_id != call.user_id:
        raise PermissionDenied(Denial(reason="{caller} does not own the team."))
    return row


def require_invitable(call: Call, row: TeamRow, username: str) -> UserRow:
    """Return the user to invite to a team, or raise a form error."""
    user = users.names.find_by_username(call.tx, username.strip().lower())
    if user is None or user.bot:
        raise errors.invalid("username", "TEAM_USER_UNKNOWN", "No user has this username.")
    if user.id == row.owner_id or applications.teams.find_member(call.tx, row.id, user.id) is not None:
        raise errors.invalid("username", "TEAM_USER_ALREADY_INVITED", "This user is already a member or invited.")
    if len(applications.teams.list_members(call.tx, [row.id])) + 1 >= wire.TEAM_MEMBERS_MAX:
        message = f"A team can have at most {wire.TEAM_MEMBERS_MAX} members."
        raise errors.invalid("username", "TEAM_FULL", message)
    return user


def require_new_owner(call: Call, row: TeamRow, user_id: int) -> None:
    """Reject a new owner of a team who is not a member."""
    member = applications.teams.find_member(call.tx, row.id, user_id)
    if member is None or member.state != TeamMembershipState.ACCEPTED:
        raise errors.invalid("user_id", "TEAM_OWNER_NOT_MEMBER", "The new owner must be a member of the team.")

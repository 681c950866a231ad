"""Teams of developers: members with roles, and the applications that the team owns.

These routes are first-party; the published API only has the team of an application (decisions/0150).
"""

from typing import Annotated, Final

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.enums import TeamRole
from hubbub.protocol.ids import TeamId, UserId
from hubbub.protocol.operation import Auth, Operation
from hubbub.protocol.resources.applications import Application, PublicApplication, Team, TeamMember
from hubbub.protocol.resources.developers import CONFIRMATION_CODE_MAX
from hubbub.protocol.resources.users import USERNAME_MAX

TEAMS_MAX: Final = 20
"""Maximum number of teams that a user may own."""
TEAM_MEMBERS_MAX: Final = 50
"""Maximum number of members of a team, including invited users."""

TeamName = Annotated[str, Meta(min_length=2, max_length=32)]
ConfirmationCode = Annotated[str, Meta(max_length=CONFIRMATION_CODE_MAX)]


class CreateTeam(Struct, kw_only=True):
    """Request body for creating a team."""

    name: TeamName
    """Name of the team, 2 to 32 characters."""


class UpdateTeam(Struct, kw_only=True):
    """Request body for updating a team; absent fields keep their value."""

    name: TeamName | UnsetType = UNSET
    """Name of the team, 2 to 32 characters."""


class InviteTeamMember(Struct, kw_only=True):
    """Request body for inviting a user to a team."""

    username: Annotated[str, Meta(min_length=1, max_length=USERNAME_MAX)]
    """Username of the user, 1 to 32 characters."""
    role: TeamRole = TeamRole.DEVELOPER
    """Role of the user in the team; developer if absent."""


class UpdateTeamMember(Struct, kw_only=True):
    """Request body for changing the role of a team member."""

    role: TeamRole
    """Role of the member in the team."""


class TransferTeam(Struct, kw_only=True):
    """Request body for transferring a team and its applications to another member."""

    user_id: UserId
    """ID of the member who becomes the owner; the current owner becomes an admin."""
    code: ConfirmationCode | UnsetType = UNSET
    """Code of the caller's authenticator app, or a backup code; absent if two-factor authentication is disabled."""


class TransferApplication(Struct, kw_only=True):
    """Request body for transferring an application to a team."""

    team_id: TeamId
    """ID of the team, which the caller owns or administers; the owner of the team becomes the owner of the application."""
    code: ConfirmationCode | UnsetType = UNSET
    """Code of the caller's authenticator app, or a backup code; absent if two-factor authentication is disabled."""


_ROLE_ERRORS: Final = (errors.NOT_FOUND, errors.MISSING_PERMISSIONS)

LIST_TEAMS = Operation("GET", "/teams", result=list[Team], auth=Auth.USER)

CREATE_TEAM = Operation(
    "POST",
    "/teams",
    body=CreateTeam,
    result=Team,
    status=201,
    auth=Auth.USER,
    raises=(errors.INVALID_FORM_BODY, errors.FEATURE_DISABLED),
)

GET_TEAM = Operation("GET", "/teams/{team_id}", result=Team, auth=Auth.USER, raises=(errors.NOT_FOUND,))

UPDATE_TEAM = Operation("PATCH", "/teams/{team_id}", body=UpdateTeam, result=Team, auth=Auth.USER, raises=_ROLE_ERRORS)

DELETE_TEAM = Operation("DELETE", "/teams/{team_id}", auth=Auth.USER, raises=(*_ROLE_ERRORS, errors.INVALID_FORM_BODY))

LIST_TEAM_APPLICATIONS = Operation(
    "GET",
    "/teams/{team_id}/applications",
    result=list[PublicApplication],
    auth=Auth.USER,
    raises=(errors.NOT_FOUND,),
)

ADD_TEAM_MEMBER = Operation(
    "POST",
    "/teams/{team_id}/members",
    body=InviteTeamMember,
    result=TeamMember,
    status=201,
    auth=Auth.USER,
    raises=(*_ROLE_ERRORS, errors.INVALID_FORM_BODY),
)

UPDATE_TEAM_MEMBER = Operation(
    "PATCH",
    "/teams/{team_id}/members/{user_id}",
    body=UpdateTeamMember,
    result=TeamMember,
    auth=Auth.USER,
    raises=(*_ROLE_ERRORS, errors.UNKNOWN_USER),
)

DELETE_TEAM_MEMBER = Operation(
    "DELETE",
    "/teams/{team_id}/members/{user_id}",
    auth=Auth.USER,
    raises=(*_ROLE_ERRORS, errors.UNKNOWN_USER),
)

ACCEPT_TEAM_INVITATION = Operation(
    "PUT", "/users/@me/teams/{team_id}", result=Team, auth=Auth.USER, raises=(errors.NOT_FOUND,)
)

TRANSFER_TEAM = Operation(
    "POST",
    "/teams/{team_id}/transfer",
    body=TransferTeam,
    result=Team,
    auth=Auth.USER,
    raises=(*_ROLE_ERRORS, errors.INVALID_FORM_BODY, errors.TWO_FACTOR_REQUIRED),
)

TRANSFER_APPLICATION = Operation(
    "POST",
    "/applications/{application_id}/transfer",
    body=TransferApplication,
    result=Application,
    auth=Auth.USER,
    raises=(
        errors.UNKNOWN_APPLICATION,
        errors.NOT_AUTHORIZED_ON_APPLICATION,
        errors.INVALID_FORM_BODY,
        errors.TWO_FACTOR_REQUIRED,
    ),
)

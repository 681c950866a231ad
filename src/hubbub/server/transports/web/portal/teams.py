"""Portal pages for teams of developers: invitations, members, roles and ownership, and the transfer of an application."""

from typing import Any, Final

from aiohttp import web

from hubbub.protocol import errors
from hubbub.protocol.enums import TeamMembershipState, TeamRole
from hubbub.protocol.errors import ApiError
from hubbub.protocol.resources import teams
from hubbub.protocol.resources.applications import Team
from hubbub.server.core.translation import gettext, gettext_noop
from hubbub.server.transports.web.page_requests import PageRequest, page
from hubbub.server.transports.web.portal.common import (
    APPLICATION_PATH,
    PORTAL_PATH,
    load_application,
    render_errors,
    section_path,
)

TEAMS_PATH: Final = PORTAL_PATH + "/teams"
TEAM_PATH: Final = TEAMS_PATH + r"/{team_id:\d{1,19}}"
MEMBER_PATH: Final = TEAM_PATH + r"/members/{user_id:\d{1,19}}"

ROLE_HINT: Final = gettext_noop(
    "Read-only members see the settings of applications. Developers change them, reset secrets and read the log. Admins also "
    "manage members. Only the owner deletes and transfers applications."
)
ROLE_LABELS: Final = {
    "admin": gettext_noop("Admin"),
    "developer": gettext_noop("Developer"),
    "read_only": gettext_noop("Read-only"),
}
INVITATION_LABELS: Final = {
    "admin": gettext_noop("Invited as admin"),
    "developer": gettext_noop("Invited as developer"),
    "read_only": gettext_noop("Invited as read-only"),
}


@page("GET", TEAMS_PATH)
async def show_teams(request: PageRequest) -> web.Response:
    """List the user's teams and invitations."""
    return request.render("portal/teams.html", **await _teams_context(request))


@page("POST", TEAMS_PATH)
async def create_team(request: PageRequest) -> web.Response:
    """Create a team with the entered name, and open its page."""
    try:
        team = await request.call(teams.CREATE_TEAM, body={"name": request.form.trimmed("name")})
    except ApiError as error:
        return request.render_errors("portal/teams.html", error, fields=("name",), **await _teams_context(request))
    return request.redirect(
        f"{TEAMS_PATH}/{team.id:d}", notice=gettext("{name} was created. Next, invite members.", name=team.name)
    )


@page("POST", TEAM_PATH + "/answer")
async def answer_invitation(request: PageRequest) -> web.Response:
    """Accept or decline an invitation, or leave a team."""
    team_id = request.path_parameter("team_id")
    accepts = request.form.text("answer") == "accept"
    try:
        if accepts:
            await request.call(teams.ACCEPT_TEAM_INVITATION, team_id)
        else:
            await request.call(teams.DELETE_TEAM_MEMBER, team_id, request.required_actor.user_id)
    except ApiError as error:
        if error.kind is not errors.NOT_FOUND:
            raise
        return request.redirect(TEAMS_PATH, notice=gettext("This invitation no longer exists."))
    if accepts:
        return request.redirect(f"{TEAMS_PATH}/{team_id}", notice=gettext("You are now a member of the team."))
    has_left = request.form.text("answer") == "leave"
    return request.redirect(
        TEAMS_PATH, notice=gettext("You left the team.") if has_left else gettext("You declined the invitation.")
    )


async def _teams_context(request: PageRequest) -> dict[str, Any]:
    my_teams = await request.call(teams.LIST_TEAMS)
    user_id = request.required_actor.user_id
    invited_state = TeamMembershipState.INVITED
    invitations = [
        team
        for team in my_teams
        if any(member.user.id == user_id and member.membership_state == invited_state for member in team.members)
    ]
    return {"teams": [team for team in my_teams if team not in invitations], "invitations": invitations}


# One team


@page("GET", TEAM_PATH)
async def show_team(request: PageRequest) -> web.Response:
    """Show the members and applications of a team."""
    return request.render("portal/team.html", **await _team_context(request))


@page("POST", TEAM_PATH)
async def rename_team(request: PageRequest) -> web.Response:
    """Change the name of a team."""
    body = {"name": request.form.trimmed("name")}
    return await _run_on_team(request, teams.UPDATE_TEAM, fields=("name",), body=body, notice=gettext("Saved."))


@page("POST", TEAM_PATH + "/members")
async def invite_member(request: PageRequest) -> web.Response:
    """Invite a user by username."""
    body = {"username": request.form.trimmed("username"), "role": request.form.text("role")}
    notice = gettext("Invited. The invitation is listed in their developer portal.")
    return await _run_on_team(request, teams.ADD_TEAM_MEMBER, fields=("username", "role"), body=body, notice=notice)


@page("POST", MEMBER_PATH + "/role")
async def change_role(request: PageRequest) -> web.Response:
    """Change the role of a member."""
    body = {"role": request.form.text("role")}
    user_id = request.path_parameter("user_id")
    return await _run_on_team(
        request, teams.UPDATE_TEAM_MEMBER, user_id, fields=(), body=body, notice=gettext("Role changed.")
    )


@page("POST", MEMBER_PATH + "/remove")
async def remove_member(request: PageRequest) -> web.Response:
    """Remove a member from a team."""
    user_id = request.path_parameter("user_id")
    return await _run_on_team(request, teams.DELETE_TEAM_MEMBER, user_id, fields=(), notice=gettext("Member removed."))


@page("POST", TEAM_PATH + "/transfer")
async def transfer_team(request: PageRequest) -> web.Response:
    """Transfer the team and its applications to another member."""
    body = {"user_id": request.form.text("user_id"), **_two_factor_code_field(request)}
    notice = gettext("The team was transferred. You are now an admin of it.")
    return await _run_on_team(request, teams.TRANSFER_TEAM, fields=("user_id", "code"), body=body, notice=notice)


@page("POST", TEAM_PATH + "/delete")
async def delete_team(request: PageRequest) -> web.Response:
    """Delete a team, and show the list of teams."""
    try:
        await request.call(teams.DELETE_TEAM, request.path_parameter("team_id"))
    except ApiError as error:
        return request.render_errors("portal/team.html", error, **await _team_context(request))
    return request.redirect(TEAMS_PATH, notice=gettext("The team was deleted."))


async def _run_on_team(
    request: PageRequest,
    operation: Any,
    *path_values: str,
    fields: tuple[str, ...],
    notice: str,
    body: dict[str, Any] | None = None,
) -> web.Response:
    """Call an operation on the team of the path and show its page again, with the notice or with the errors."""
    try:
        await request.call(operation, request.path_parameter("team_id"), *path_values, body=body)
    except ApiError as error:
        if error.kind is errors.TWO_FACTOR_REQUIRED:
            error = errors.invalid("code", *errors.required())
        return request.render_errors("portal/team.html", error, fields=fields, **await _team_context(request))
    return request.redirect(f"{TEAMS_PATH}/{request.path_parameter('team_id')}", notice=notice)


def _two_factor_code_field(request: PageRequest) -> dict[str, str]:
    code = request.form.trimmed("code")
    return {"code": code} if code else {}


async def _team_context(request: PageRequest) -> dict[str, Any]:
    team_id = request.path_parameter("team_id")
    team = await request.call(teams.GET_TEAM, team_id)
    user_id = request.required_actor.user_id
    return {
        "team": team,
        "applications": await request.call(teams.LIST_TEAM_APPLICATIONS, team_id),
        "role_hint": gettext(ROLE_HINT),
        "role_labels": {role: gettext(label) for role, label in ROLE_LABELS.items()},
        "invitation_labels": {role: gettext(label) for role, label in INVITATION_LABELS.items()},
        "is_owner": team.owner_user_id == user_id,
        "is_admin": any(member.user.id == user_id and member.role == TeamRole.ADMIN for member in team.members),
        "possible_owners": _list_possible_owners(team),
        "me": await request.current_user(),
        "members_max": teams.TEAM_MEMBERS_MAX,
    }


def _list_possible_owners(team: Team) -> list[tuple[str, str]]:
    """Return ID and name of the members who can become the owner of the team."""
    return [
        (f"{member.user.id:d}", member.user.global_name or member.user.username)
        for member in team.members
        if member.user.id != team.owner_user_id and member.membership_state == TeamMembershipState.ACCEPTED
    ]


# An application


@page("POST", APPLICATION_PATH + "/transfer")
async def transfer_application(request: PageRequest) -> web.Response:
    """Transfer an application to a team."""
    application = await load_application(request)
    body = {"team_id": request.form.text("team_id"), **_two_factor_code_field(request)}
    try:
        await request.call(teams.TRANSFER_APPLICATION, application.id, body=body)
    except ApiError as error:
        context = await transfer_context(request)
        return render_errors(request, "general.html", error, application, fields=("team_id", "code"), **context)
    return request.redirect(section_path(request), notice=gettext("The application was transferred to the team."))


async def transfer_context(request: PageRequest) -> dict[str, Any]:
    """Return the context of the general page that concerns ownership: the teams that the user manages."""
    user_id = request.required_actor.user_id
    managed_teams = [
        (f"{team.id:d}", team.name)
        for team in await request.call(teams.LIST_TEAMS)
        if any(
            member.user.id == user_id
            and member.role == TeamRole.ADMIN
            and member.membership_state == TeamMembershipState.ACCEPTED
            for member in team.members
        )
    ]
    return {"me": await request.current_user(), "managed_teams": managed_teams}

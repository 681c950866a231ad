"""Portal pages for testers of an application, and for test users in a rehearsal."""

from typing import Any

from aiohttp import web

from hubbub.protocol import errors
from hubbub.protocol.errors import ApiError
from hubbub.protocol.resources import developers
from hubbub.server.core.translation import gettext
from hubbub.server.transports.web.page_requests import PageRequest, page
from hubbub.server.transports.web.portal.common import (
    APPLICATION_PATH,
    load_application,
    render,
    render_errors,
    render_secret,
    section_path,
)

PATH = APPLICATION_PATH + "/testers"


@page("GET", PATH)
async def show_testers(request: PageRequest) -> web.Response:
    """List the testers and pending invitations."""
    return render(request, "testers.html", await load_application(request), **await _testers_context(request))


@page("POST", PATH)
async def invite_tester(request: PageRequest) -> web.Response:
    """Invite a user by username."""
    body = {"username": request.form.trimmed("username")}
    try:
        tester = await request.call(
            developers.INVITE_APPLICATION_TESTER, request.path_parameter("application_id"), body=body
        )
    except ApiError as error:
        context = await _testers_context(request)
        return render_errors(
            request, "testers.html", error, await load_application(request), fields=("username",), **context
        )
    notice = gettext(
        "{name} was invited. The invitation is listed in their developer portal.", name=tester.user.username
    )
    return request.redirect(section_path(request, "/testers"), notice=notice)


@page("POST", PATH + "/{user_id:[0-9]{1,19}}/remove")
async def remove_tester(request: PageRequest) -> web.Response:
    """Remove a tester, or do nothing if the user is not a tester."""
    try:
        await request.call(
            developers.DELETE_APPLICATION_TESTER,
            request.path_parameter("application_id"),
            request.path_parameter("user_id"),
        )
    except ApiError as error:
        if error.kind is not errors.UNKNOWN_USER:
            raise
    return request.redirect(section_path(request, "/testers"), notice=gettext("Tester removed."))


@page("POST", PATH + "/test-users")
async def create_test_user(request: PageRequest) -> web.Response:
    """Create a test user and show their credentials once."""
    body = {"username": request.form.trimmed("test_username")}
    try:
        test_user = await request.call(developers.CREATE_TEST_USER, request.path_parameter("application_id"), body=body)
    except ApiError as error:
        form_field_names, context = {"username": "test_username"}, await _testers_context(request)
        application = await load_application(request)
        return render_errors(
            request,
            "testers.html",
            error,
            application,
            fields=("test_username",),
            form_field_names=form_field_names,
            **context,
        )
    return render_secret(
        request,
        await load_application(request),
        title=gettext("Test user {name}", name=test_user.user.username),
        secrets=[
            (gettext("User ID"), f"{test_user.user.id:d}"),
            (gettext("Password"), test_user.password),
            (gettext("Token"), test_user.token),
        ],
        text=gettext("Log in with the username and password, or call the API with the token."),
        back_path=section_path(request, "/testers"),
    )


async def _testers_context(request: PageRequest) -> dict[str, Any]:
    testers = await request.call(developers.LIST_APPLICATION_TESTERS, request.path_parameter("application_id"))
    return {"testers": testers, "testers_max": developers.APPLICATION_TESTERS_MAX}

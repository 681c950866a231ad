"""Who tries an application before it is approved, and people made up for a rehearsal."""

from typing import Any

from aiohttp import web

from hubbub.protocol import errors
from hubbub.protocol.errors import ApiError
from hubbub.protocol.resources import developers
from hubbub.server.transports.web.portal.common import ONE, address, load, refuse, show, show_secret
from hubbub.server.transports.web.visits import Visit, page

HERE = ONE + "/testers"


@page("GET", HERE)
async def show_testers(visit: Visit) -> web.Response:
    """Everybody, invited or there."""
    return show(visit, "testers.html", await load(visit), **await _testers(visit))


@page("POST", HERE)
async def invite_tester(visit: Visit) -> web.Response:
    """Invite somebody by name."""
    body = {"username": visit.form.line("username")}
    try:
        made = await visit.ask(developers.INVITE_APPLICATION_TESTER, visit.path("application_id"), body=body)
    except ApiError as error:
        context = await _testers(visit)
        return refuse(visit, "testers.html", error, await load(visit), fields=("username",), **context)
    return visit.go(address(visit, "/testers"), say=f"{made.user.username} is invited, and finds it under Developers.")


@page("POST", HERE + "/{user_id:[0-9]{1,19}}/remove")
async def remove_tester(visit: Visit) -> web.Response:
    """One less."""
    try:
        await visit.ask(developers.DELETE_APPLICATION_TESTER, visit.path("application_id"), visit.path("user_id"))
    except ApiError as error:
        if error.kind is not errors.UNKNOWN_USER:
            raise
    return visit.go(address(visit, "/testers"), say="Removed.")


@page("POST", HERE + "/test-users")
async def make_test_user(visit: Visit) -> web.Response:
    """Make a person up, and show how to be them."""
    body = {"username": visit.form.line("test_username")}
    try:
        made = await visit.ask(developers.CREATE_TEST_USER, visit.path("application_id"), body=body)
    except ApiError as error:
        names, context = {"username": "test_username"}, await _testers(visit)
        application = await load(visit)
        return refuse(visit, "testers.html", error, application, fields=("test_username",), names=names, **context)
    return show_secret(
        visit,
        await load(visit),
        title=f"Test user {made.user.username}",
        secrets=[("User id", f"{made.user.id:d}"), ("Password", made.password), ("Token", made.token)],
        words="Log in with name and password, or call the API with the token.",
        back=address(visit, "/testers"),
    )


async def _testers(visit: Visit) -> dict[str, Any]:
    found = await visit.ask(developers.LIST_APPLICATION_TESTERS, visit.path("application_id"))
    return {"testers": found, "testers_max": developers.APPLICATION_TESTERS_MAX}

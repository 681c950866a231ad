"""The applications of one's own, and what is general about each."""

from typing import Any, Final

from aiohttp import web

from hubbub.protocol import errors
from hubbub.protocol.errors import ApiError
from hubbub.protocol.resources import developers
from hubbub.server.transports.web.portal.common import HOME, ONE, address, change, load, numbered, refuse, show
from hubbub.server.transports.web.visits import Visit, page

FIELDS: Final = ("name", "description", "tags", "icon", "terms_of_service_url", "privacy_policy_url")
TAGS_SHOWN: Final = 20


@page("GET", HOME)
async def list_applications(visit: Visit) -> web.Response:
    """What is there, what one is asked to try, and a form for another."""
    return visit.show("portal/applications.html", **await _overview(visit))


@page("POST", HOME)
async def create_application(visit: Visit) -> web.Response:
    """Make an application."""
    try:
        made = await visit.ask(developers.CREATE_APPLICATION, body={"name": visit.form.line("name")})
    except ApiError as error:
        return visit.refuse("portal/applications.html", error, fields=("name",), **await _overview(visit))
    return visit.go(
        f"{HOME}/{made.id:d}", say=f"{made.name} is there. Give it a face, a bot, or a place to send people back to."
    )


async def _overview(visit: Visit) -> dict[str, Any]:
    return {
        "applications": await visit.ask(developers.LIST_APPLICATIONS),
        "invitations": await visit.ask(developers.LIST_MY_TESTER_INVITATIONS),
    }


@page("POST", HOME + r"/testing/{application_id:\d{1,19}}")
async def answer_invitation(visit: Visit) -> web.Response:
    """Become a tester, or be none."""
    accepts = visit.form.text("answer") == "accept"
    operation = developers.ACCEPT_TESTER_INVITATION if accepts else developers.DELETE_TESTER_INVITATION
    try:
        await visit.ask(operation, visit.path("application_id"))
    except ApiError as error:
        if error.kind is not errors.UNKNOWN_APPLICATION:
            raise
        return visit.go(HOME, say="That invitation is no longer there.")
    return visit.go(HOME, say="You are a tester now." if accepts else "You are no tester of it.")


# One application


@page("GET", ONE)
async def show_application(visit: Visit) -> web.Response:
    """Its face, and the way to be rid of it."""
    return show(visit, "general.html", await load(visit), me=await visit.me())


@page("POST", ONE, file="icon")
async def change_application(visit: Visit) -> web.Response:
    """Change its face."""
    form = visit.form
    tags = [tag for part in form.line("tags").split(",") if (tag := part.strip())]
    body: dict[str, Any] = {
        "name": form.line("name"),
        "description": form.text("description").strip(),
        "tags": tags,
        "terms_of_service_url": form.optional("terms_of_service_url"),
        "privacy_policy_url": form.optional("privacy_policy_url"),
    }
    picture = form.data_uri("icon")
    if picture is not None:
        body["icon"] = picture
    elif form.ticked("remove_icon"):
        body["icon"] = None
    try:
        await change(visit, body)
    except ApiError as error:
        names = numbered("tags", "tags", TAGS_SHOWN)
        application, me = await load(visit), await visit.me()
        return refuse(visit, "general.html", error, application, fields=FIELDS, names=names, me=me)
    return visit.go(address(visit), say="Saved.")


@page("POST", ONE + "/delete")
async def delete_application(visit: Visit) -> web.Response:
    """Delete it, if its name was typed."""
    application = await load(visit)
    try:
        if visit.form.line("confirm") != application.name:
            raise errors.invalid("confirm", "NAME_DIFFERS", "Type the name of the application exactly.")
        code = visit.form.line("code")
        await visit.ask(developers.DELETE_APPLICATION, application.id, body={"code": code} if code else {})
    except ApiError as error:
        me = await visit.me()
        return refuse(visit, "general.html", error, application, fields=("confirm", "code"), me=me)
    return visit.go(HOME, say=f"{application.name} is deleted.")

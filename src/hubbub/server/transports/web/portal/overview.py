"""Portal pages for the list of a user's applications and tester invitations, and for an application's general settings."""

from typing import Any, Final

from aiohttp import web

from hubbub.protocol import errors
from hubbub.protocol.errors import ApiError
from hubbub.protocol.resources import developers
from hubbub.server.core.translation import gettext
from hubbub.server.transports.web.page_requests import PageRequest, page
from hubbub.server.transports.web.portal.common import (
    APPLICATION_PATH,
    PORTAL_PATH,
    list_item_fields,
    load_application,
    render,
    render_errors,
    section_path,
    update_application,
)
from hubbub.server.transports.web.portal.teams import transfer_context

FIELDS: Final = ("name", "description", "tags", "icon", "terms_of_service_url", "privacy_policy_url")
MAPPED_TAGS_MAX: Final = 20
"""Maximum number of submitted tags whose errors are shown beside the field; more than an application can have."""


@page("GET", PORTAL_PATH)
async def list_applications(request: PageRequest) -> web.Response:
    """List the user's applications and tester invitations."""
    return request.render("portal/applications.html", **await _overview_context(request))


@page("POST", PORTAL_PATH)
async def create_application(request: PageRequest) -> web.Response:
    """Create an application with the entered name, and open its settings."""
    try:
        application = await request.call(developers.CREATE_APPLICATION, body={"name": request.form.trimmed("name")})
    except ApiError as error:
        return request.render_errors(
            "portal/applications.html", error, fields=("name",), **await _overview_context(request)
        )
    return request.redirect(
        f"{PORTAL_PATH}/{application.id:d}",
        notice=gettext("{name} was created. Next, add an icon, a bot or a redirect URI.", name=application.name),
    )


async def _overview_context(request: PageRequest) -> dict[str, Any]:
    return {
        "applications": await request.call(developers.LIST_APPLICATIONS),
        "invitations": await request.call(developers.LIST_MY_TESTER_INVITATIONS),
    }


@page("POST", PORTAL_PATH + r"/testing/{application_id:\d{1,19}}")
async def answer_invitation(request: PageRequest) -> web.Response:
    """Accept or decline a tester invitation."""
    accepts = request.form.text("answer") == "accept"
    operation = developers.ACCEPT_TESTER_INVITATION if accepts else developers.DELETE_TESTER_INVITATION
    try:
        await request.call(operation, request.path_parameter("application_id"))
    except ApiError as error:
        if error.kind is not errors.UNKNOWN_APPLICATION:
            raise
        return request.redirect(PORTAL_PATH, notice=gettext("This invitation no longer exists."))
    return request.redirect(
        PORTAL_PATH,
        notice=gettext("You are now a tester.") if accepts else gettext("You are not a tester of this application."),
    )


# One application


@page("GET", APPLICATION_PATH)
async def show_application(request: PageRequest) -> web.Response:
    """Show the general settings of an application."""
    return render(request, "general.html", await load_application(request), **await transfer_context(request))


@page("POST", APPLICATION_PATH, file_field="icon")
async def change_application(request: PageRequest) -> web.Response:
    """Update the general settings of an application."""
    form = request.form
    tags = [tag for tag_text in form.trimmed("tags").split(",") if (tag := tag_text.strip())]
    body: dict[str, Any] = {
        "name": form.trimmed("name"),
        "description": form.text("description").strip(),
        "tags": tags,
        "terms_of_service_url": form.optional("terms_of_service_url"),
        "privacy_policy_url": form.optional("privacy_policy_url"),
    }
    icon = form.data_uri("icon")
    if icon is not None:
        body["icon"] = icon
    elif form.checked("remove_icon"):
        body["icon"] = None
    try:
        await update_application(request, body)
    except ApiError as error:
        form_field_names = list_item_fields("tags", "tags", MAPPED_TAGS_MAX)
        application, context = await load_application(request), await transfer_context(request)
        return render_errors(
            request, "general.html", error, application, fields=FIELDS, form_field_names=form_field_names, **context
        )
    return request.redirect(section_path(request), notice=gettext("Saved."))


@page("POST", APPLICATION_PATH + "/delete")
async def delete_application(request: PageRequest) -> web.Response:
    """Delete an application after its name was typed to confirm."""
    application = await load_application(request)
    try:
        if request.form.trimmed("confirm") != application.name:
            raise errors.invalid("confirm", "NAME_DIFFERS", gettext("Type the application's name exactly as shown."))
        code = request.form.trimmed("code")
        await request.call(developers.DELETE_APPLICATION, application.id, body={"code": code} if code else {})
    except ApiError as error:
        context = await transfer_context(request)
        return render_errors(request, "general.html", error, application, fields=("confirm", "code"), **context)
    return request.redirect(PORTAL_PATH, notice=gettext("{name} was deleted.", name=application.name))

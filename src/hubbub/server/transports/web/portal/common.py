"""Definitions shared by the portal's pages: paths, sections, and functions that load, update and render an application."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from aiohttp import web

from hubbub.protocol import errors
from hubbub.protocol.errors import ApiError
from hubbub.protocol.permissions import PERMISSIONS_BY_NAME
from hubbub.protocol.resources import applications
from hubbub.protocol.resources.applications import Application
from hubbub.server.core.translation import gettext, gettext_noop
from hubbub.server.transports.web.consent import permission_label
from hubbub.server.transports.web.page_requests import PageRequest

PORTAL_PATH: Final = "/developers"
APPLICATION_PATH: Final = PORTAL_PATH + r"/{application_id:\d{1,19}}"
"""Route pattern of an application's pages."""

SECTIONS: Final = (
    ("", gettext_noop("General")),
    ("/bot", gettext_noop("Bot")),
    ("/oauth2", gettext_noop("OAuth2")),
    ("/installation", gettext_noop("Installation")),
    ("/approvals", gettext_noop("Approvals")),
    ("/identity", gettext_noop("Identity")),
    ("/webhooks", gettext_noop("Webhook events")),
    ("/interactions", gettext_noop("Interactions")),
    ("/keys", gettext_noop("Keys")),
    ("/log", gettext_noop("Log")),
    ("/commands", gettext_noop("Commands")),
    ("/pictures", gettext_noop("Emoji and art")),
    ("/testers", gettext_noop("Testers")),
    ("/store", gettext_noop("Store")),
)
"""Path suffix and title of each section of an application's pages."""


APPLICATION_PAGE_CSP: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; base-uri 'none'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
"""Content-Security-Policy of an application's pages: one script of this server adds copy buttons."""


def list_permissions() -> list[tuple[str, str]]:
    """Return the name and the label of each permission, for lists of checkboxes."""
    return [(name, gettext(permission_label(name))) for name in PERMISSIONS_BY_NAME]


def section_path(request: PageRequest, section: str = "") -> str:
    """Return the path of a section of the current application."""
    return f"{PORTAL_PATH}/{request.path_parameter('application_id')}{section}"


async def load_application(request: PageRequest) -> Application:
    """Return the application whose ID is in the path; raise UNKNOWN_APPLICATION if the user may not see it."""
    try:
        return await request.call(applications.GET_APPLICATION, request.path_parameter("application_id"))
    except ApiError as error:
        if error.kind is errors.NOT_AUTHORIZED_ON_APPLICATION:
            raise errors.UNKNOWN_APPLICATION() from error
        raise


async def update_application(request: PageRequest, body: Mapping[str, Any]) -> Application:
    """Update the fields in `body` of the application whose ID is in the path."""
    return await request.call(applications.UPDATE_APPLICATION, request.path_parameter("application_id"), body=body)


def render(request: PageRequest, template: str, application: Application, **context: Any) -> web.Response:
    """Render a page of an application."""
    return request.render(
        f"portal/{template}",
        application=application,
        policy=APPLICATION_PAGE_CSP,
        **_layout_context(request, application),
        **context,
    )


def render_errors(
    request: PageRequest,
    template: str,
    error: ApiError,
    application: Application,
    *,
    fields: Sequence[str],
    form_field_names: Mapping[str, str] | None = None,
    **context: Any,
) -> web.Response:
    """Render a form of an application with its errors. A missing second factor becomes an error of the field `code`.

    `fields` and `form_field_names` are those of `PageRequest.render_errors`."""
    if error.kind is errors.TWO_FACTOR_REQUIRED:
        error = errors.invalid("code", *errors.required())
    return request.render_errors(
        f"portal/{template}",
        error,
        fields=fields,
        form_field_names=form_field_names,
        application=application,
        policy=APPLICATION_PAGE_CSP,
        **_layout_context(request, application),
        **context,
    )


def render_secret(request: PageRequest, application: Application, **context: Any) -> web.Response:
    """Render a secret directly in the response to the POST, so that no URL and no notice ever contains it."""
    return render(request, "secret.html", application, **context)


def list_item_fields(name: str, form_field: str, count: int) -> dict[str, str]:
    """Map errors of list items (`name.0`, `name.1`, ...) to the one form field that holds the list."""
    return {f"{name}.{number}": form_field for number in range(count)}


def _layout_context(request: PageRequest, application: Application) -> dict[str, Any]:
    """Return the template context that all pages of an application share: navigation, and the user's role.

    `role` is None for the owner."""
    user_id = request.required_actor.user_id
    team = application.team
    members = [] if team is None else team.members
    return {
        "sections": [(path, gettext(title)) for path, title in SECTIONS],
        "home": section_path(request),
        "is_owner": team is None or team.owner_user_id == user_id,
        "role": next((member.role for member in members if member.user.id == user_id), None),
    }

"""The list of authorized applications, where the user can revoke their access."""

from aiohttp import web

from hubbub.protocol import errors
from hubbub.protocol.errors import ApiError
from hubbub.protocol.resources import oauth2
from hubbub.protocol.scopes import SCOPES
from hubbub.server.transports.web.page_requests import PageRequest, page

PATH = "/settings/apps"


@page("GET", PATH)
async def show_apps(request: PageRequest) -> web.Response:
    """List the authorized applications with their scopes."""
    authorizations = await request.call(oauth2.LIST_OAUTH2_AUTHORIZATIONS)
    return request.render("apps.html", authorizations=authorizations, describe_scope=describe_scope)


@page("POST", PATH + r"/{authorization_id:\d+}/remove")
async def remove_app(request: PageRequest) -> web.Response:
    """Revoke an authorization. All its tokens end at once."""
    try:
        await request.call(oauth2.DELETE_OAUTH2_AUTHORIZATION, request.path_parameter("authorization_id"))
    except ApiError as error:
        # Already removed, by a second submit or in another window.
        if error.kind is not errors.UNKNOWN_TOKEN:
            raise
    return request.redirect(PATH, notice="Access revoked. The app can no longer use your account.")


def describe_scope(scope: str) -> str:
    """Return the description of a scope."""
    rule = SCOPES.get(scope)
    return rule.description if rule is not None else scope

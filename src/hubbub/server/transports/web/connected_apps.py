"""The page with the applications that the user authorized or added to guilds, where the user can remove them."""

from typing import Any

from aiohttp import web

from hubbub.protocol import errors
from hubbub.protocol.errors import ApiError
from hubbub.protocol.resources import integrations, oauth2
from hubbub.protocol.scopes import SCOPES
from hubbub.server.core.translation import gettext
from hubbub.server.transports.web.page_requests import PageRequest, page

PATH = "/settings/apps"


@page("GET", PATH)
async def show_apps(request: PageRequest) -> web.Response:
    """List the authorized applications with their scopes, and the applications that the user added to guilds."""
    return await _show_apps(request)


async def _show_apps(request: PageRequest, error: ApiError | None = None) -> web.Response:
    context: dict[str, Any] = {
        "authorizations": await request.call(oauth2.LIST_OAUTH2_AUTHORIZATIONS),
        "added": await request.call(integrations.LIST_MY_INTEGRATIONS),
        "describe_scope": describe_scope,
    }
    if error is None:
        return request.render("apps.html", **context)
    return request.render_errors("apps.html", error, **context)


@page("POST", PATH + r"/{authorization_id:\d+}/remove")
async def remove_app(request: PageRequest) -> web.Response:
    """Revoke an authorization and all its tokens."""
    try:
        await request.call(oauth2.DELETE_OAUTH2_AUTHORIZATION, request.path_parameter("authorization_id"))
    except ApiError as error:
        # The authorization was already removed by a second submit or in another window.
        if error.kind is not errors.UNKNOWN_TOKEN:
            raise
    return request.redirect(PATH, notice=gettext("Access revoked. The app can no longer use your account."))


@page("POST", PATH + r"/guilds/{guild_id:\d+}/{integration_id:\d+}/remove")
async def remove_from_guild(request: PageRequest) -> web.Response:
    """Remove an application that the user added from a guild. Its bot leaves the guild."""
    guild_and_integration_id = (request.path_parameter("guild_id"), request.path_parameter("integration_id"))
    try:
        await request.call(integrations.DELETE_GUILD_INTEGRATION, *guild_and_integration_id)
    except ApiError as error:
        if error.kind is not errors.UNKNOWN_INTEGRATION:
            return await _show_apps(request, error)
    return request.redirect(PATH, notice=gettext("App removed from the guild."))


def describe_scope(scope: str) -> str:
    rule = SCOPES.get(scope)
    return rule.description if rule is not None else scope

"""The applications that a person let in, and the way to send them away."""

from aiohttp import web

from hubbub.protocol import errors
from hubbub.protocol.errors import ApiError
from hubbub.protocol.resources import oauth2
from hubbub.protocol.scopes import SCOPES
from hubbub.server.transports.web.visits import Visit, page

HERE = "/settings/apps"


@page("GET", HERE)
async def show_apps(visit: Visit) -> web.Response:
    """What each may do, in words."""
    granted = await visit.ask(oauth2.LIST_OAUTH2_AUTHORIZATIONS)
    return visit.show("apps.html", granted=granted, words=words)


@page("POST", HERE + r"/{authorization_id:\d+}/remove")
async def remove_app(visit: Visit) -> web.Response:
    """Send one away: all its tokens end at once."""
    try:
        await visit.ask(oauth2.DELETE_OAUTH2_AUTHORIZATION, visit.path("authorization_id"))
    except ApiError as error:
        # Pressed twice, or removed elsewhere: it is gone, which is what was wanted.
        if error.kind is not errors.UNKNOWN_TOKEN:
            raise
    return visit.go(HERE, say="Removed. It can no longer do anything for you.")


def words(scope: str) -> str:
    """What a scope lets an application do."""
    rule = SCOPES.get(scope)
    return rule.words if rule is not None else scope

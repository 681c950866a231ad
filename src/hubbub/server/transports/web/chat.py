"""The token endpoint of the chat client (decisions/0057)."""

from typing import Final

from aiohttp import web

from hubbub.protocol import codec, errors
from hubbub.server.transports.web.conversations import PATH
from hubbub.server.transports.web.page_requests import PageRequest, page

TOKEN_PATH: Final = f"{PATH}/token"

_HEADERS: Final = {
    "Content-Type": "application/json",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
}


@page("POST", TOKEN_PATH)
async def get_token(request: PageRequest) -> web.Response:
    """Return the session cookie's token and the user's ID to a script on a page of this server."""
    # A form submitted as a navigation would display the token on screen and keep it in the history.
    if request.http_request.headers.get("Sec-Fetch-Dest", "empty") != "empty":
        raise errors.FORBIDDEN(message="Only the chat client can request this resource.")
    body = codec.encode({"token": request.session.token, "user_id": str(int(request.required_actor.user_id))})
    return web.Response(body=body, headers=_HEADERS)

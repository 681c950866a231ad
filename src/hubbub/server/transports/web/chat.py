"""What the chat client needs of the web door: the person's token, for a script of ours on a page of theirs (decisions/0057)."""

from typing import Final

from aiohttp import web

from hubbub.protocol import errors, wire
from hubbub.server.transports.web.conversations import HERE
from hubbub.server.transports.web.visits import Visit, page

TOKEN: Final = f"{HERE}/token"

_HEADERS: Final = {
    "Content-Type": "application/json",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
}


@page("POST", TOKEN)
async def give_token(visit: Visit) -> web.Response:
    """The token that the cookie holds: only to a script, on a page that this browser was shown, which keeps it in memory."""
    # A form that is sent as a page of its own would show the token to whoever looks over the shoulder, or sees the history.
    if visit.request.headers.get("Sec-Fetch-Dest", "empty") != "empty":
        raise errors.FORBIDDEN(message="This is for the chat client.")
    body = wire.encode({"token": visit.session.token, "user_id": str(int(visit.signed_in.user_id))})
    return web.Response(body=body, headers=_HEADERS)

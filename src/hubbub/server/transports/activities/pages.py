"""Errors of the activity proxy, and the error pages that users see in the activity's frame."""

from html import escape
from typing import Final

from aiohttp import web

ERROR_TEXTS: Final = {
    400: ("Bad request", "This request is not valid for an activity."),
    403: ("Access denied", "The application's server did not allow you to connect."),
    404: (
        "Activity not found",
        "There is no activity at this address, or its application has no mapping for this path.",
    ),
    405: ("Method not allowed", "Activities do not accept this kind of request."),
    408: ("Request timed out", "Your request did not arrive in time. Try again."),
    413: ("Request too large", "Your request is larger than an activity may receive."),
    429: ("Too many requests", "Your network requested too many activities that do not exist. Try again in a minute."),
    500: ("Something went wrong", "An error occurred on our side and was logged. Try again later."),
    502: ("Activity unavailable", "The application's server cannot be reached. Try again later."),
    503: ("Activity busy", "This activity is very busy. Try again in a moment."),
    504: ("Activity timed out", "The application's server did not respond in time. Try again later."),
}

_PAGE_TEMPLATE: Final = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>{title}</title>
<h1>{title}</h1>
<p>{text}</p>
</html>
"""


class ProxyError(Exception):
    """Raised to respond with a status and an error page of the proxy."""

    def __init__(self, status: int, text: str | None = None) -> None:
        super().__init__(text or ERROR_TEXTS[status][1])
        self.status = status


class ClientDisconnected(Exception):
    """Raised when the client has disconnected or its connection was aborted, so that no response can be sent."""


def error_page(error: ProxyError, frame_ancestors: str) -> web.Response:
    """Return an error page without scripts or styles. `frame_ancestors` are the sources that may embed it.

    The page is sandboxed, so that the activity, which has the same host, cannot change it.
    """
    status = error.status
    html = _PAGE_TEMPLATE.format(title=escape(ERROR_TEXTS[status][0]), text=escape(str(error)))
    headers = {
        "Cache-Control": "no-store",
        "Content-Security-Policy": f"default-src 'none'; sandbox; frame-ancestors {frame_ancestors}",
        "X-Content-Type-Options": "nosniff",
    }
    if status == 503:
        headers["Retry-After"] = "1"
    return web.Response(status=status, text=html, content_type="text/html", headers=headers)

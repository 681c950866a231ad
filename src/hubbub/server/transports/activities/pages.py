"""What the proxy says itself, to somebody who looks into an activity's frame."""

from html import escape
from typing import Final

from aiohttp import web

WORDS: Final = {
    400: ("Not understood", "No activity is asked in this way."),
    403: ("Not for you", "The application's own server did not let you in."),
    404: ("Not here", "There is no activity at this address, or its application has not said where this path leads."),
    405: ("Not allowed", "Activities are not asked in this way."),
    408: ("Too slow", "The request did not arrive in time."),
    413: ("Too large", "More was sent than is passed on to an activity."),
    500: ("Something broke", "Something broke on our side, and was written down."),
    502: ("The activity does not answer", "The application's own server cannot be reached. Try again later."),
    503: ("Too many at once", "This activity is very busy. Try again in a moment."),
    504: ("The activity takes too long", "The application's own server did not answer in time. Try again later."),
}

_PAGE: Final = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>{title}</title>
<h1>{title}</h1>
<p>{words}</p>
</html>
"""


class Refusal(Exception):
    """The proxy answers itself, with a status and a page."""

    def __init__(self, status: int, words: str | None = None) -> None:
        super().__init__(words or WORDS[status][1])
        self.status = status


class ClientGone(Exception):
    """Nobody is there to be answered."""


def plain(refusal: Refusal, ancestors: str) -> web.Response:
    """A page without anything in it that could be used; `ancestors` may show it in a frame."""
    status = refusal.status
    text = _PAGE.format(title=escape(WORDS[status][0]), words=escape(str(refusal)))
    headers = {
        "Cache-Control": "no-store",
        "Content-Security-Policy": f"default-src 'none'; frame-ancestors {ancestors}",
        "X-Content-Type-Options": "nosniff",
    }
    if status == 503:
        headers["Retry-After"] = "1"
    return web.Response(status=status, text=text, content_type="text/html", headers=headers)

"""The mailbox of a rehearsal: mail that a server would send, with its links.

Links in mail reset passwords, so only a browser on the machine of the server can open the mailbox.
"""

from typing import Final

from aiohttp import web

from hubbub.protocol import errors
from hubbub.server.core.mail import Mailbox
from hubbub.server.core.translation import gettext
from hubbub.server.transports.web.local_requests import is_local_request
from hubbub.server.transports.web.page_requests import PageRequest, page

PATH: Final = "/mailbox"
_MAIL_HEADERS: Final = {
    "Content-Type": "text/html; charset=utf-8",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; form-action 'none'; base-uri 'none'; "
        "sandbox allow-popups allow-top-navigation-by-user-activation"
    ),
}


@page("GET", PATH, is_public=True)
async def show_mailbox(request: PageRequest) -> web.Response:
    """List all mail, newest first."""
    return request.render("mailbox.html", mails=list(_require_mailbox(request))[::-1])


@page("GET", PATH + r"/{mail_id:\d{1,9}}", is_public=True)
async def show_mail(request: PageRequest) -> web.Response:
    """Show the HTML of a mail."""
    mail = _require_mailbox(request).find(int(request.path_parameter("mail_id")))
    if mail is None:
        raise errors.NOT_FOUND(message=gettext("The mailbox does not contain this mail."))
    return web.Response(body=mail.html.encode(), headers=_MAIL_HEADERS)


def _require_mailbox(request: PageRequest) -> Mailbox:
    if request.mailbox is None:
        raise errors.NOT_FOUND(message=gettext("This server has no mailbox."))
    if not is_local_request(request.http_request):
        raise errors.FORBIDDEN(message=gettext("Only a browser on the machine of this server can open the mailbox."))
    return request.mailbox

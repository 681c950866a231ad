"""The dismissal of announcements on pages."""

from aiohttp import web

from hubbub.protocol.resources import announcements
from hubbub.server.transports.web.page_requests import PageRequest, page


@page("POST", r"/announcements/{announcement_id:\d{1,19}}/dismiss")
async def dismiss_announcement(request: PageRequest) -> web.Response:
    """Dismiss an announcement and show the page again."""
    await request.call(announcements.DISMISS_ANNOUNCEMENT, request.path_parameter("announcement_id"))
    return request.redirect(request.next_path or "/")

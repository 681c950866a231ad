"""The first page: what this is, and where to go from here; and what is said where no page is."""

from typing import Final

from aiohttp import web

from hubbub.protocol import errors
from hubbub.server.transports.web.visits import HOME, Page, Visit, page

HERE: Final = "/"
LOST: Final = Page("GET", "/{lost}", anyone=True)


@page("GET", HERE, anyone=True)
async def show_home(visit: Visit) -> web.Response:
    """For whoever types the bare address."""
    root = visit.config.web_url
    addresses = [
        ("API", f"{root}/api/v10"),
        ("Gateway", f"ws{root.removeprefix('http')}/gateway"),
        ("Files", visit.config.cdn_url),
    ]
    return visit.show("home.html", addresses=addresses)


@page("GET", "/settings", anyone=True)
async def show_settings(visit: Visit) -> web.Response:
    """The first of them."""
    return visit.go(HOME)


async def show_lost(visit: Visit) -> web.Response:
    """Nothing."""
    raise errors.NOT_FOUND(message="There is no page at this address.")

"""The first page: what this is, and where to go from here."""

from typing import Final

from aiohttp import web

from hubbub.server.transports.web.visits import Visit, page

HERE: Final = "/"


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

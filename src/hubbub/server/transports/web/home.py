"""The home page with its field for invites, `robots.txt`, the redirect from `/settings`, and the page shown for unknown paths."""

from typing import Final
from urllib.parse import quote

from aiohttp import web

from hubbub.protocol import errors
from hubbub.server.core.translation import gettext
from hubbub.server.transports.web.page_requests import Page, PageRequest, page

PATH: Final = "/"
UNINDEXED_PATHS: Final = (
    "/admin", "/api/", "/app", "/cdn/", "/confirm-email", "/developers", "/invite/", "/login", "/oauth2/", "/register",
    "/reset-password", "/settings",
)  # fmt: skip
"""Paths for search engines to leave out: they need a login, contain secrets in links, or belong to programs."""
NOT_FOUND_PAGE: Final = Page("GET", "/{unknown_path}", is_public=True)
"""Page for paths that have no other page. Its path is never matched; it is the route label in metrics and logs."""


@page("GET", PATH, is_public=True)
async def show_home(request: PageRequest) -> web.Response:
    """Show the home page with the URLs of the API, the gateway and the files."""
    base_url = request.config.web_url
    endpoints = [
        ("API", f"{base_url}/api/v10"),
        ("Gateway", f"ws{base_url.removeprefix('http')}/gateway"),
        (gettext("Files"), request.config.cdn_url),
    ]
    return request.render("home.html", endpoints=endpoints)


@page("GET", "/invite", is_public=True)
async def open_invite(request: PageRequest) -> web.Response:
    """Redirect from the field of the home page to the page of an invite; the field contains its code or its whole link."""
    code_or_link = request.query_parameter("code").strip().rstrip("/")
    code = code_or_link.rpartition("/")[2].partition("?")[0]
    return request.redirect(f"/invite/{quote(code, safe='')}" if code else PATH)


@page("GET", "/robots.txt", is_public=True)
async def show_robots(request: PageRequest) -> web.Response:
    """Return the paths that search engines must not visit."""
    lines = ["User-agent: *", *(f"Disallow: {path}" for path in UNINDEXED_PATHS)]
    return web.Response(text="\n".join(lines) + "\n", content_type="text/plain")


@page("GET", "/settings", is_public=True)
async def show_settings(request: PageRequest) -> web.Response:
    """Redirect to the first settings page."""
    return request.redirect("/settings/account")


async def show_not_found(request: PageRequest) -> web.Response:
    """Raise NOT_FOUND, which the web server shows as an error page."""
    raise errors.NOT_FOUND(message=gettext("This page does not exist. Check the URL."))

"""The console of a rehearsal at `/console`, and the windows in which the chat client runs as users of the world.

A browser gets access with a link that works once, and keeps it in a cookie. Requests to the control API with this cookie
also need a header that pages of other sites cannot send (decisions/0139).
"""

import hmac
import re
import secrets
from typing import Final, Protocol
from urllib.parse import urlsplit

from aiohttp import web

from hubbub.protocol import errors
from hubbub.server.app import App
from hubbub.server.core import auth
from hubbub.server.core.call import Call
from hubbub.server.transports.web.local_requests import PEOPLE_HOST, is_local_request
from hubbub.server.transports.web.sessions import SESSION_SECONDS, Cookies
from hubbub.server.transports.web.static_files import load_static_files
from hubbub.server.worlds import BuiltWorld

CONSOLE_PATH: Final = "/console"
CONSOLE_HEADER: Final = "X-Hubbub-Console"
"""Header of every request of the console. Pages of other origins cannot send it without a preflight request."""
LINKS_MAX: Final = 32
"""Maximum number of unused links; the oldest becomes invalid."""
BROWSERS_MAX: Final = 64
"""Maximum number of browsers with access; the oldest loses it."""
ENTRY_MODULE: Final = "rehearsal/main.js"

_NON_HOST_CHARACTER_PATTERN: Final = re.compile(r"[^a-z0-9]+")
_CONTENT_SECURITY_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)


class ConsolePlatform(Protocol):
    """The part of the control API that the console uses."""

    app: App
    token: str
    built_world: BuiltWorld


class Console:
    """The page of the console and the access of browsers to it."""

    def __init__(self, control: ConsolePlatform) -> None:
        self._control = control
        self._app = control.app
        self._link_keys: dict[str, str | None] = {}
        """Names of users by the keys of links to their windows; None for links to the console."""
        self._cookie_values: dict[str, None] = {}
        """Values of the cookies of browsers with access, oldest first."""

    def routes(self) -> list[web.RouteDef]:
        """Return the routes of the console, of links that open it, and of its login form."""
        return [
            web.get(CONSOLE_PATH, self._show_console),
            web.get(CONSOLE_PATH + "/open/{key}", self._open),
            web.get(CONSOLE_PATH + "/side-by-side", self._show_side_by_side),
            web.post(CONSOLE_PATH, self._log_in),
        ]

    # Access

    def create_link(self) -> str:
        """Return a URL that gives one browser access to the console."""
        return f"{self._app.config.web_url}{CONSOLE_PATH}/open/{self._create_key(None)}"

    def create_window(self, name: str) -> str:
        """Return a URL that opens the chat client as a user.

        Each user has a separate host name below `PEOPLE_HOST`, so the sessions of several users do not share cookies. Raise
        NOT_FOUND if the world has no user of this name.
        """
        users = self._control.built_world.users
        if name not in users:
            raise errors.NOT_FOUND(message=f"This world has no user {name!r}")
        parts = urlsplit(self._app.config.web_url)
        label = _NON_HOST_CHARACTER_PATTERN.sub("-", name.lower()).strip("-")[:40]
        if label != name:
            # Different names must not share a host.
            label = f"{label}-{int(users[name].id)}".strip("-")
        port = "" if parts.port is None else f":{parts.port}"
        return f"{parts.scheme}://{label}.{PEOPLE_HOST}{port}{CONSOLE_PATH}/open/{self._create_key(name)}"

    def _create_key(self, user_name: str | None) -> str:
        key = secrets.token_urlsafe(24)
        self._link_keys[key] = user_name
        while len(self._link_keys) > LINKS_MAX:
            del self._link_keys[next(iter(self._link_keys))]
        return key

    def has_access(self, request: web.Request) -> bool:
        """Return whether a page of the console sent a request, from a browser with access."""
        origin = request.headers.get("Origin")
        return (
            CONSOLE_HEADER in request.headers
            and request.headers.get("Sec-Fetch-Site", "same-origin") == "same-origin"
            and (origin is None or origin.partition("://")[2] == request.host)
            and self._is_known_browser(request)
        )

    def _is_known_browser(self, request: web.Request) -> bool:
        cookie_value = request.cookies.get(self._cookie_name, "").encode("utf-8", "replace")
        return any(hmac.compare_digest(cookie_value, known_value.encode()) for known_value in self._cookie_values)

    @property
    def _cookie_name(self) -> str:
        # Browsers send cookies to all ports of a host, and forks have other ports.
        return f"hubbub_console_{urlsplit(self._app.config.web_url).port or 0}"

    def _grant_access(self, response: web.Response) -> web.Response:
        cookie_value = secrets.token_urlsafe(32)
        self._cookie_values[cookie_value] = None
        while len(self._cookie_values) > BROWSERS_MAX:
            del self._cookie_values[next(iter(self._cookie_values))]
        is_secure = self._app.config.web_url.startswith("https://")
        response.set_cookie(self._cookie_name, cookie_value, path="/", httponly=True, samesite="Lax", secure=is_secure)
        return response

    # Pages

    async def _open(self, request: web.Request) -> web.Response:
        """Use a link: give the browser access to the console, or log it in as a user."""
        key = request.match_info["key"]
        if key not in self._link_keys:
            return self._render("rehearsal_console_login.html", 403, has_expired=True)
        name = self._link_keys.pop(key)
        if name is None:
            return self._grant_access(_redirect(CONSOLE_PATH))
        user = self._control.built_world.users.get(name)
        if user is None or not is_local_request(request, allows_subdomains=True):
            return self._render("rehearsal_console_login.html", 403, has_expired=True)

        def issue(call: Call) -> str:
            return auth.issue(call.tx, kind="user", user_id=user.id, now=call.now_ms, ids=call.ids)

        token = await self._app.database.write(lambda tx: issue(self._app.make_call(tx)))
        response = _redirect("/app")
        cookies = Cookies(self._app.config)
        cookies.set(response, cookies.session, token, SESSION_SECONDS)
        return response

    async def _show_console(self, request: web.Request) -> web.Response:
        if not self._is_known_browser(request):
            return self._render("rehearsal_console_login.html", 403)
        return self._render("rehearsal_console.html", 200)

    async def _show_side_by_side(self, request: web.Request) -> web.Response:
        """Show two windows of users in frames; the query has the URLs of `create_window`.

        The page is on `PEOPLE_HOST`, of which the hosts of users are subdomains, so that browsers send the cookies of frames.
        """
        parts = urlsplit(self._app.config.web_url)
        port = "" if parts.port is None else f":{parts.port}"
        urls = [request.query.get("left", ""), request.query.get("right", "")]
        url_pattern = re.compile(
            rf"{parts.scheme}://[a-z0-9-]+\.{re.escape(PEOPLE_HOST)}{port}{CONSOLE_PATH}/open/[A-Za-z0-9_-]+"
        )
        if not all(url_pattern.fullmatch(url) for url in urls):
            return self._render("rehearsal_console_login.html", 403, has_expired=True)
        policy = (
            f"default-src 'none'; style-src 'self'; img-src 'self'; frame-src {parts.scheme}://*.{PEOPLE_HOST}{port}; "
            "base-uri 'none'; frame-ancestors 'none'"
        )
        return self._render("rehearsal_side_by_side.html", 200, policy=policy, urls=urls)

    async def _log_in(self, request: web.Request) -> web.Response:
        """Give access to a browser whose user enters the control token."""
        if request.headers.get("Sec-Fetch-Site", "same-origin") != "same-origin":
            return self._render("rehearsal_console_login.html", 403)
        form = await request.post() if (request.content_length or 0) <= 4096 else {}
        token = str(form.get("token", "")).strip().encode("utf-8", "replace")
        if not hmac.compare_digest(token, self._control.token.encode()):
            return self._render("rehearsal_console_login.html", 403, is_wrong=True)
        return self._grant_access(_redirect(CONSOLE_PATH))

    def _render(
        self, template: str, status: int, policy: str = _CONTENT_SECURITY_POLICY, **context: object
    ) -> web.Response:
        # A rehearsal without browsers starts faster without the modules of pages.
        from hubbub.server.transports.web.page_requests import page_headers
        from hubbub.server.transports.web.templating import template_environment

        assets, client_files, catalogs = load_static_files()
        page = (
            template_environment(assets, client_files, catalogs)
            .get_template(template)
            .render(
                entry=client_files.source_url(ENTRY_MODULE),
                scripts=[client_files.source_url(name) for name in client_files.list_start_modules(ENTRY_MODULE)[:-1]],
                notice=None,
                **context,
            )
        )
        return web.Response(status=status, body=page.encode(), headers=page_headers(policy=policy))


def _redirect(path: str) -> web.Response:
    return web.Response(status=303, headers={"Location": path, "Cache-Control": "no-store"})

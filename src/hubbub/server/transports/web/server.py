"""Web server: routes page requests to page functions and turns results and errors into responses.

A request passes these steps: authenticate, check the origin and token of a form, call the page function, set cookies.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from types import ModuleType
from typing import Final
from urllib.parse import urlsplit

from aiohttp import web

from hubbub.protocol import errors
from hubbub.protocol.errors import ApiError
from hubbub.server.core.auth import Authenticator
from hubbub.server.core.config import Config
from hubbub.server.core.mail import Mailbox
from hubbub.server.core.metrics import Metrics
from hubbub.server.core.rate_limits import LookupKind
from hubbub.server.core.store import StoreUnavailable
from hubbub.server.core.translation import gettext
from hubbub.server.transports import request_observation
from hubbub.server.transports.http import HttpServer, fault_injection, request_limits
from hubbub.server.transports.http.shared_routes import Pages
from hubbub.server.transports.web import (
    account,
    account_deletion,
    activities,
    announcements,
    appeals,
    chat,
    claims,
    connected_apps,
    consent,
    console,
    conversations,
    devices,
    documents,
    email,
    forms,
    guild_templates,
    home,
    invitations,
    login,
    mailbox,
    portal,
    provider_login,
    registration_invites,
    storefront,
    subscriptions,
)
from hubbub.server.transports.web.installation import InstallationFiles
from hubbub.server.transports.web.page_requests import Page, PageRequest, find_pages
from hubbub.server.transports.web.reference import ApiReference
from hubbub.server.transports.web.sessions import Cookies, WebSession
from hubbub.server.transports.web.static_files import STATIC_PATH, load_static_files
from hubbub.server.transports.web.templating import template_environment

log = logging.getLogger(__name__)
requests_log = logging.getLogger("hubbub.http")

PAGE_MODULES: Final[tuple[ModuleType, ...]] = (
    home,
    login,
    documents,
    provider_login,
    registration_invites,
    consent,
    devices,
    account,
    appeals,
    claims,
    account_deletion,
    announcements,
    email,
    mailbox,
    connected_apps,
    storefront,
    subscriptions,
    activities,
    invitations,
    conversations,
    chat,
    guild_templates,
    *portal.PAGE_MODULES,
    *console.PAGE_MODULES,
)
"""Modules that define pages."""

STYLED_PATHS: Final = ("/admin", "/app", "/settings")
"""Prefixes of the paths of pages that have the appearance that the user chose."""

ANNOUNCING_PATHS: Final = ("/app", "/developers", "/settings")
"""Prefixes of the paths of pages that show announcements."""

PageFunction = Callable[[PageRequest], Awaitable[web.Response]]


class WebServer:
    """Serves the HTML pages and the static files of the chat client."""

    def __init__(
        self,
        *,
        http: HttpServer,
        authenticator: Authenticator,
        config: Config,
        metrics: Metrics,
        mailbox: Mailbox | None = None,
    ) -> None:
        """Create the server of the pages; `mailbox` is that of a rehearsal, or None."""
        self._http = http
        self._authenticator = authenticator
        self._config = config
        self._metrics = metrics
        self._mailbox = mailbox
        self._cookies = Cookies(config)
        self._assets, self._client_files, self._catalogs = load_static_files()
        self._installation_files = InstallationFiles()
        self._templates = template_environment(self._assets, self._client_files, self._catalogs)
        self._reference = ApiReference(table=http.table, now_ms=http.now_ms, config=config, templates=self._templates)
        self._origin = _url_origin(config.web_url)

    def pages(self) -> Pages:
        """Return the routes of all pages and static files for the HTTP server."""
        routes = [
            web.get(f"{STATIC_PATH}/{{name}}", self._assets.serve),
            web.get(
                rf"{STATIC_PATH}/app/{{version_hash:[0-9a-f]{{12}}}}/{{name:[\w/]+\.\w+}}", self._client_files.serve
            ),
            web.get(rf"{STATIC_PATH}/messages/{{name:[\w-]+}}.{{digest:[0-9a-f]{{16}}}}.json", self._catalogs.serve),
            *self._installation_files.routes(),
        ]
        pages = [
            page_and_function for module in PAGE_MODULES for page_and_function in find_pages(module)
        ] + self._reference.pages()
        for page, function in pages:
            routes.append(web.route(page.method, page.path, self._new_handler(page, function)))
        return Pages(routes, self._new_handler(home.NOT_FOUND_PAGE, home.show_not_found))

    def _new_handler(
        self, page: Page, function: PageFunction
    ) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        """Return the aiohttp handler of a page, which also records metrics and logs the request."""
        route = page.path

        async def handle(request: web.Request) -> web.StreamResponse:
            loop = asyncio.get_running_loop()
            started_at = loop.time()
            with self._http.count_running():
                page_request, response = await self._serve(page, function, request)
            seconds = loop.time() - started_at
            self._metrics.http_requests(page.method, route, str(response.status)).inc()
            self._metrics.http_seconds(page.method, route).observe(seconds)
            if self._config.log.requests:
                # Log the route, not the URL: the query may hold OAuth2 parameters and device codes.
                requests_log.info(
                    "%s %s %d",
                    page.method,
                    route,
                    response.status,
                    extra={
                        "milliseconds": round(seconds * 1000, 1),
                        "client_address": self._http.client_address(request),
                        "user_id": None if page_request.actor is None else page_request.actor.user_id,
                    },
                )
            return response

        return request_observation.observe(self._http.observer, "page", handle, route)

    async def _serve(
        self, page: Page, function: PageFunction, request: web.Request
    ) -> tuple[PageRequest, web.StreamResponse]:
        """Return the response to a page request; every error becomes an error page or a redirect."""
        session = WebSession(self._cookies, request)
        page_request = PageRequest(
            request,
            operation_runner=self._http,
            config=self._config,
            templates=self._templates,
            session=session,
            actor=None,
            mailbox=self._mailbox,
        )
        try:
            await page_request.select_language()
            response = await self._dispatch(page, function, page_request)
        except ApiError as error:
            if error.status == 401 and page_request.actor is not None:
                # The token was revoked while the page was being built.
                page_request.actor = None
                session.sign_out()
                response = page_request.redirect_to_login()
            else:
                response = page_request.error_page(error)
        except StoreUnavailable as error:
            log.warning("The store is unavailable: %s", error)
            response = page_request.error_page(
                errors.UNAVAILABLE(message=gettext("Temporarily unavailable. Try again in a moment."))
            )
            response.headers["Retry-After"] = "1"
        except fault_injection.ConnectionDropped:
            response = page_request.error_page(errors.UNAVAILABLE())
        except Exception:
            log.exception("%s failed", page.path)
            response = page_request.error_page(
                errors.INTERNAL(
                    message=gettext("Something went wrong on the server. The error was logged; try again in a moment.")
                )
            )
        session.write_cookies(response)
        return page_request, response

    async def _dispatch(self, page: Page, function: PageFunction, page_request: PageRequest) -> web.Response:
        """Authenticate the request, check its form, and call the page function.

        Redirect instead to the login, or to the documents that the user has to accept, if one of them must come first.
        """
        session, request = page_request.session, page_request.http_request
        if session.token:
            rate_limits, ip = self._http.rate_limits, self._http.client_address(request)
            request_limits.require_allowed(rate_limits.check_lookups(ip, LookupKind.SESSION))
            actor = await self._authenticator.find_by_token(session.token)
            if actor is not None and actor.kind == "user":
                page_request.actor = actor
            else:
                rate_limits.record_failed_lookup(ip, LookupKind.SESSION)
                session.sign_out()
        if page_request.actor is not None:
            await page_request.select_language()
        if request.method == "POST":
            if not self._is_same_origin(request):
                return page_request.error_page(
                    errors.FORBIDDEN(message=gettext("This form was sent from another site."))
                )
            page_request.form = await forms.read(request, page.file_field)
            if page_request.actor is None and not page.is_public:
                return page_request.redirect_to_login()
            if not session.verify_form_token(page_request.form.text(forms.CSRF_FIELD)):
                return page_request.error_page(
                    errors.FORBIDDEN(message=gettext("This form has expired. Open the page again and resubmit it.")),
                    title=gettext("Form expired"),
                    back_path=request.rel_url.path,
                )
        elif page_request.actor is None and not page.is_public:
            return page_request.redirect_to_login()
        if page_request.actor is not None and request.path.startswith(STYLED_PATHS):
            await page_request.load_user_settings()
        if page_request.actor is not None and page.method == "GET" and request.path.startswith(ANNOUNCING_PATHS):
            await page_request.load_announcements()
        if page_request.actor is not None and page.method == "GET" and request.path.startswith(conversations.PATH):
            # Sessions of browsers in use do not expire, so new documents cannot wait for the next login.
            path = await documents.find_acceptance_path(page_request)
            if path is not None:
                return page_request.redirect(path)
        return await function(page_request)

    def _is_same_origin(self, request: web.Request) -> bool:
        """Return whether a form was sent from a page of this server, judging by the browser's request headers."""
        if request.headers.get("Sec-Fetch-Site", "same-origin") not in ("same-origin", "none"):
            return False
        origin = request.headers.get("Origin")
        if origin is None:
            return True
        # Behind a proxy the Host header differs from the public URL; without one, the machine may have several names.
        authority = origin.partition("://")[2]
        return origin == self._origin or (bool(authority) and authority == request.host)


def _url_origin(url: str) -> str:
    """Return the scheme and host of a URL."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"

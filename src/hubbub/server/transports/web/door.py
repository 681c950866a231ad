"""The web door: from a request for a page to its function, and from the function to an answer that a browser can be trusted with.

find out who it is -> check that the form is ours -> the page asks through operations -> render -> cookies
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
from hubbub.server.core.metrics import Metrics
from hubbub.server.core.store import StoreUnavailable
from hubbub.server.transports.http import HttpDoor, failing
from hubbub.server.transports.web import (
    account,
    activities,
    chat,
    connected_apps,
    consent,
    conversations,
    devices,
    forms,
    guild_templates,
    home,
    invitations,
    portal,
    signing_in,
    storefront,
    subscriptions,
)
from hubbub.server.transports.web.reference import Reference
from hubbub.server.transports.web.sessions import Cookies, Session
from hubbub.server.transports.web.templating import STATIC, Assets, Modules, environment
from hubbub.server.transports.web.visits import Page, Visit, pages_of

log = logging.getLogger(__name__)
requests_log = logging.getLogger("hubbub.http")

MODULES: Final[tuple[ModuleType, ...]] = (
    home,
    signing_in,
    consent,
    devices,
    account,
    connected_apps,
    storefront,
    subscriptions,
    activities,
    invitations,
    conversations,
    chat,
    guild_templates,
    *portal.MODULES,
)
"""Where the pages are."""

PageFunction = Callable[[Visit], Awaitable[web.Response]]


class WebDoor:
    """Serves the pages."""

    def __init__(self, *, http: HttpDoor, authenticator: Authenticator, config: Config, metrics: Metrics) -> None:
        self._http = http
        self._authenticator = authenticator
        self._config = config
        self._metrics = metrics
        self._cookies = Cookies(config)
        self._assets = Assets()
        self._modules = Modules()
        self._templates = environment(self._assets, self._modules)
        self._reference = Reference(table=http.table, now_ms=http.now_ms, config=config, templates=self._templates)
        self._origin = _origin(config.web_url)
        self.lost = self._handler(home.LOST, home.show_lost)
        """For whoever opens an address of ours where no page is."""

    def routes(self) -> list[web.RouteDef]:
        """What the HTTP door serves for us."""
        routes = [
            web.get(f"{STATIC}/{{name}}", self._assets.serve),
            web.get(rf"{STATIC}/app/{{edition:[0-9a-f]{{12}}}}/{{name:[\w/]+\.\w+}}", self._modules.serve),
        ]
        pages = [each for module in MODULES for each in pages_of(module)] + self._reference.pages()
        for page, function in pages:
            routes.append(web.route(page.method, page.path, self._handler(page, function)))
        return routes

    def _handler(self, page: Page, function: PageFunction) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        route = page.path

        async def handle(request: web.Request) -> web.StreamResponse:
            loop = asyncio.get_running_loop()
            started = loop.time()
            with self._http.busy():
                visit, response = await self._serve(page, function, request)
            seconds = loop.time() - started
            self._metrics.http_requests(page.method, route, str(response.status)).inc()
            self._metrics.http_seconds(page.method, route).observe(seconds)
            if self._config.log.requests:
                # The route and not the address: that holds what applications ask for, and codes of devices.
                requests_log.info(
                    "%s %s %d",
                    page.method,
                    route,
                    response.status,
                    extra={
                        "milliseconds": round(seconds * 1000, 1),
                        "user_id": None if visit.actor is None else visit.actor.user_id,
                    },
                )
            return response

        return handle

    async def _serve(
        self, page: Page, function: PageFunction, request: web.Request
    ) -> tuple[Visit, web.StreamResponse]:
        session = Session(self._cookies, request)
        visit = Visit(
            request, http=self._http, config=self._config, templates=self._templates, session=session, actor=None
        )
        try:
            response = await self._answer(page, function, visit)
        except ApiError as error:
            if error.status == 401 and visit.actor is not None:
                # The token ended while we were at it.
                visit.actor = None
                session.sign_out()
                response = visit.to_login()
            else:
                response = visit.problem(error)
        except StoreUnavailable as error:
            log.warning("the store is unavailable: %s", error)
            response = visit.problem(
                errors.UNAVAILABLE(message="The platform is resting for a moment. Try again soon.")
            )
            response.headers["Retry-After"] = "1"
        except failing.Dropped:
            response = visit.problem(errors.UNAVAILABLE())
        except Exception:
            log.exception("%s failed", page.path)
            response = visit.problem(errors.INTERNAL(message="Something broke on our side, and was written down."))
        session.put(response)
        return visit, response

    async def _answer(self, page: Page, function: PageFunction, visit: Visit) -> web.Response:
        session, request = visit.session, visit.request
        if session.token:
            actor = await self._authenticator.by_token(session.token)
            if actor is not None and actor.kind == "user":
                visit.actor = actor
            else:
                session.sign_out()
        if request.method == "POST":
            if not self._is_ours(request):
                return visit.problem(errors.FORBIDDEN(message="This form was sent from another site."))
            visit.form = await forms.read(request, page.file)
            if visit.actor is None and not page.anyone:
                return visit.to_login()
            if not session.owns(visit.form.text(forms.CSRF_FIELD)):
                return visit.problem(
                    errors.FORBIDDEN(message="This form is too old, or was not made for you. Open it again."),
                    title="Once more, please",
                    back=request.rel_url.path,
                )
        elif visit.actor is None and not page.anyone:
            return visit.to_login()
        return await function(visit)

    def _is_ours(self, request: web.Request) -> bool:
        """Whether a form can have come from a page of ours, by what the browser says of where it was."""
        if request.headers.get("Sec-Fetch-Site", "same-origin") not in ("same-origin", "none"):
            return False
        origin = request.headers.get("Origin")
        if origin is None:
            return True
        # Behind a proxy we go by another name than the public one, and a person may call this machine by any of its names.
        return origin == self._origin or (origin != "null" and urlsplit(origin).netloc == request.host)


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"

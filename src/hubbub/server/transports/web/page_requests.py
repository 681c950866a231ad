"""Requests for pages: the object that page functions receive, the decorator that registers them, and the page headers."""

import asyncio
import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Final, Protocol, TypeVar
from urllib.parse import quote, urlsplit

from aiohttp import web
from jinja2 import Environment

from hubbub.protocol import errors, rpc
from hubbub.protocol.errors import ApiError
from hubbub.protocol.operation import BodyT, Operation, ResultT
from hubbub.protocol.resources import announcements, user_settings, users
from hubbub.protocol.resources.announcements import Announcement
from hubbub.protocol.resources.user_settings import UserSettings
from hubbub.protocol.resources.users import MyUser
from hubbub.server.core import pseudo_locales, translation
from hubbub.server.core.call import Actor
from hubbub.server.core.config import Config
from hubbub.server.core.mail import Mailbox
from hubbub.server.core.translation import gettext
from hubbub.server.transports.web.forms import CSRF_FIELD, Form, FormProblems
from hubbub.server.transports.web.local_requests import PEOPLE_HOST
from hubbub.server.transports.web.sessions import WebSession

DEFAULT_PAGE: Final = "/app"
"""Page to show after login when the user did not request another page."""

# `default-src 'none'` blocks every script, including scripts of this server: these pages need none.
PAGE_POLICY: Final = (
    "default-src 'none'; style-src 'self'; img-src 'self' data:; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS: Final = {
    "Content-Type": "text/html; charset=utf-8",
    "Cache-Control": "no-store",
    "Vary": "Accept-Language, Cookie",
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    # The policy is not `no-referrer`, because browsers then send `Origin: null` with same-origin forms.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}
SECRET_PARAMETERS: Final = frozenset({"code", "invite", "state", "ticket", "token", "user_code"})
"""Query parameters that contain secrets. Pages with one send no path as referrer, not even to this server: logs of proxies
contain referrers."""
_CLIENT_PERMISSIONS: Final = (
    "camera=(self), display-capture=(self), geolocation=(), microphone=(self), payment=(), usb=()"
)
"""Permissions-Policy of the chat client, which makes calls. Frames of activities get none of these."""

ENGLISH_PATHS: Final = ("/docs",)
"""Prefixes of the paths of pages that are in English: the API reference (decisions/0136)."""

F = TypeVar("F", bound=Callable[..., Any])


def page_headers(*, allows_external_redirect: bool = False, policy: str = PAGE_POLICY) -> dict[str, str]:
    """Return the headers of a page with the Content-Security-Policy `policy`.

    Set `allows_external_redirect` when the form of the page may redirect to another site: browsers check that against
    form-action (decisions/0038).
    """
    return {
        **_HEADERS,
        "Content-Security-Policy": policy if allows_external_redirect else f"{policy}; form-action 'self'",
    }


def client_headers(config: Config, host: str, *, allows_external_redirect: bool = False) -> dict[str, str]:
    """Return the headers of the chat client's pages, which may use microphone, camera and screen.

    `host` is the Host header. In a rehearsal, the page on `PEOPLE_HOST`, which shows two users side by side, may embed the
    chat client from its subdomains in frames (decisions/0139)."""
    headers = page_headers(allows_external_redirect=allows_external_redirect, policy=client_policy(config))
    name, separator, port = host.rpartition(":") if ":" in host else (host, "", "")
    if config.control and name.endswith(f".{PEOPLE_HOST}"):
        scheme = urlsplit(config.web_url).scheme
        headers["Content-Security-Policy"] = headers["Content-Security-Policy"].replace(
            "frame-ancestors 'none'", f"frame-ancestors {scheme}://{PEOPLE_HOST}{separator}{port}"
        )
        del headers["X-Frame-Options"]
    return {**headers, "Permissions-Policy": _CLIENT_PERMISSIONS}


def client_policy(config: Config) -> str:
    """Return the Content-Security-Policy of the chat client's pages (decisions/0057, 0085).

    Scripts are loaded from this server only, and Trusted Types keep text from becoming markup or script. Each policy
    of Trusted Types allows the URL of one worker. Voice servers of other processes have other ports or hosts.
    """
    gateway_origin = config.web_url.replace("http", "ws", 1)
    socket_sources = (
        [gateway_origin] if config.gateway.resume_url is None else [gateway_origin, config.gateway.resume_url]
    )
    socket_sources.append(f"wss://{urlsplit(config.web_url).hostname}:*")
    # Allow the agent on the user's machine, which starts games (decisions/0118).
    socket_sources.extend(f"ws://127.0.0.1:{port}" for port in rpc.WEBSOCKET_PORTS)
    if config.voice.endpoint is not None:
        socket_sources.append(f"wss://{config.voice.endpoint}")
    frame_sources = config.activity_origins or "'none'"
    return (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; "
        "media-src 'self' blob:; "
        f"worker-src 'self'; connect-src 'self' {' '.join(socket_sources)}; frame-src {frame_sources}; "
        "manifest-src 'self'; base-uri 'none'; frame-ancestors 'none'; "
        "require-trusted-types-for 'script'; trusted-types voice-worker service-worker"
    )


class OperationRunner(Protocol):
    """The part of the HTTP server that pages use."""

    async def run_operation(
        self,
        request: web.Request,
        operation: Operation[BodyT, ResultT],
        *path_parameters: object,
        actor: Actor | None = None,
        body: Mapping[str, Any] | None = None,
        query: Mapping[str, Sequence[str]] | None = None,
    ) -> ResultT:
        """Execute an operation in process and return its result."""
        ...


@dataclass(frozen=True, slots=True)
class Page:
    """The route of a page function."""

    method: str
    path: str
    is_public: bool = False
    """Whether the page is shown to users who are not logged in."""
    file_field: str | None = None
    """Name of the form field that accepts a file, or None."""


def page(method: str, path: str, *, is_public: bool = False, file_field: str | None = None) -> Callable[[F], F]:
    """Register `async def (request: PageRequest) -> web.Response` as the handler of a path.

    `path` is an aiohttp pattern (`{id:[0-9]+}`). Users who are not logged in are redirected to the login page unless
    `is_public` is set. A POST is rejected unless its form has a valid form token. `file_field` is the name of the form field
    that accepts a file.
    """

    def mark(function: F) -> F:
        function.__page__ = Page(method, path, is_public, file_field)  # type: ignore[attr-defined]
        return function

    return mark


@functools.cache
def find_pages(module: ModuleType) -> tuple[tuple[Page, Callable[["PageRequest"], Any]], ...]:
    """Return the page functions of a module with their routes; cached, because each App reads the same modules."""
    return tuple(
        (member.__page__, member)
        for member in vars(module).values()
        if hasattr(member, "__page__") and member.__module__ == module.__name__
    )


class PageRequest:
    """One request for a page."""

    def __init__(
        self,
        request: web.Request,
        *,
        operation_runner: OperationRunner,
        config: Config,
        templates: Environment,
        session: WebSession,
        actor: Actor | None,
        mailbox: Mailbox | None = None,
    ) -> None:
        self.http_request = request
        self.config = config
        self.session = session
        self.actor = actor
        """The logged-in user, or None."""
        self.mailbox = mailbox
        """The mailbox of a rehearsal, or None."""
        self.user_settings: UserSettings | None = None
        """Settings of the logged-in user, from which the page takes its appearance; None for the default appearance."""
        self.announcements: list[Announcement] = []
        """Announcements that the page shows above its content."""
        self.form = Form()
        """The submitted form of a POST; empty otherwise."""
        self._operation_runner = operation_runner
        self._templates = templates
        self._current_user: MyUser | None = None

    # Reading the request and calling operations

    async def call(
        self,
        operation: Operation[BodyT, ResultT],
        *path_parameters: object,
        body: Mapping[str, Any] | None = None,
        query: Mapping[str, Sequence[str]] | None = None,
    ) -> ResultT:
        """Execute an operation as the logged-in user: `await request.call(wire.DELETE_THING, thing_id, body={...})`.

        `body` is the JSON body; omit the keys that a PATCH must not change. Raise ApiError when the operation is
        rejected.
        """
        return await self._operation_runner.run_operation(
            self.http_request, operation, *path_parameters, actor=self.actor, body=body, query=query
        )

    async def select_language(self) -> None:
        """Set the language of the page: the user's, else the browser's, else that of the configuration (decisions/0136).

        Pages below `ENGLISH_PATHS` are in English. In a rehearsal the browser may request a pseudo-locale.
        """
        if self.http_request.path.startswith(ENGLISH_PATHS):
            translation.set_language(translation.ENGLISH)
            return
        language = None
        accept_language = self.http_request.headers.get("Accept-Language", "")
        if self.config.control:
            language = pseudo_locales.find_language(accept_language)
        if language is None and self.actor is not None:
            try:
                language = translation.find_language((await self.current_user()).locale)
            except ApiError:
                language = None
        if language is None:
            language = translation.negotiate_language(accept_language)
        if language is None:
            language = translation.find_language(self.config.web.default_locale) or translation.ENGLISH
        if not translation.is_loaded(language):
            await asyncio.to_thread(translation.load, language)
        translation.set_language(language)

    async def load_user_settings(self) -> None:
        """Read the settings of the user. A page that cannot read them has the default appearance."""
        try:
            self.user_settings = await self.call(user_settings.GET_USER_SETTINGS)
        except ApiError:
            self.user_settings = None

    async def load_announcements(self) -> None:
        """Read the announcements that the user has not dismissed. A page that cannot read them shows none."""
        try:
            self.announcements = await self.call(announcements.LIST_MY_ANNOUNCEMENTS)
        except ApiError:
            self.announcements = []

    async def current_user(self) -> MyUser:
        """Return the account of the logged-in user."""
        if self._current_user is None:
            self._current_user = await self.call(users.GET_MY_USER)
        return self._current_user

    def path_parameter(self, name: str) -> str:
        return self.http_request.match_info[name]

    def query_parameter(self, name: str) -> str:
        """Return a query parameter, or an empty string."""
        return self.http_request.query.get(name, "")

    @property
    def next_path(self) -> str:
        """Local path to open after this page, such as after a login, or an empty string."""
        path = self.form.text("next") or self.query_parameter("next")
        return path if is_local_path(path) else ""

    @property
    def required_actor(self) -> Actor:
        """The logged-in user; raises UNAUTHORIZED when there is none."""
        if self.actor is None:
            raise errors.UNAUTHORIZED()
        return self.actor

    # Building the response

    def render(
        self,
        template: str,
        *,
        status: int = 200,
        allows_external_redirect: bool = False,
        loads_client: bool = False,
        policy: str = PAGE_POLICY,
        **context: Any,
    ) -> web.Response:
        """Render a template.

        Set `allows_external_redirect` when the form of the page may redirect to another site, which browsers check against
        form-action (decisions/0038). Set `loads_client` on pages that load the chat client's modules (decisions/0057), and
        `policy` on pages that need another Content-Security-Policy.
        """
        context.setdefault("problems", FormProblems())
        context.setdefault("form", self.form)
        html = self._templates.get_template(template).render(
            request=self,
            config=self.config,
            is_logged_in=self.actor is not None,
            notice=self.session.take_notice(),
            form_field=CSRF_FIELD,
            loads_client=loads_client,
            **context,
        )
        if loads_client:
            headers = client_headers(
                self.config, self.http_request.host, allows_external_redirect=allows_external_redirect
            )
        else:
            headers = page_headers(allows_external_redirect=allows_external_redirect, policy=policy)
        headers["Content-Language"] = translation.current_language().tag
        if SECRET_PARAMETERS & self.http_request.query.keys():
            headers["Referrer-Policy"] = "strict-origin"
        return web.Response(status=status, body=html.encode("utf-8", "replace"), headers=headers)

    def render_errors(
        self,
        template: str,
        error: ApiError,
        *,
        fields: Sequence[str] = (),
        form_field_names: Mapping[str, str] | None = None,
        allows_external_redirect: bool = False,
        loads_client: bool = False,
        **context: Any,
    ) -> web.Response:
        """Render a form again with its errors.

        Errors of a field in `fields` are shown beside it, all others above the form. `form_field_names` maps API field
        names to form field names where they differ. Errors with the status 401, 500 or 503 are re-raised.
        """
        if error.status in (401, 500, 503):
            raise error
        problems = FormProblems(error).rename(form_field_names or {}).generalize_unknown(fields)
        return self.render(
            template,
            status=error.status,
            allows_external_redirect=allows_external_redirect,
            loads_client=loads_client,
            problems=problems,
            **context,
        )

    def redirect(self, path: str, notice: str | None = None) -> web.Response:
        """Redirect to another page, which shows `notice` once."""
        if notice is not None:
            self.session.set_notice(notice)
        return web.Response(status=303, headers={"Location": path, "Cache-Control": "no-store"})

    def error_page(self, error: ApiError, *, title: str | None = None, back_path: str | None = None) -> web.Response:
        """Render an error page. `back_path` is the path of a link to another page, or None."""
        titles = {
            401: gettext("Log in again"),
            403: gettext("Not allowed"),
            404: gettext("Not found"),
            429: gettext("Too many requests"),
        }
        return self.render(
            "problem.html",
            status=error.status,
            title=title or titles.get(error.status, gettext("Something went wrong")),
            problems=FormProblems(error),
            back_path=back_path,
        )

    def redirect_to_login(self) -> web.Response:
        """Redirect to the login page, which redirects back to the requested path after the login."""
        url = self.http_request.rel_url
        target = str(url) if self.http_request.method in ("GET", "HEAD") else url.path
        return self.redirect(f"/login?next={quote(target, safe='/')}" if is_local_path(target) else "/login")


def is_local_path(path: str) -> bool:
    """Return whether a redirect target is a path of this server for every browser, to prevent open redirects."""
    if not path.startswith("/") or path.startswith(("//", "/\\")) or len(path) > 4096:
        return False
    if "\\" in path or any(character <= " " or character == "\x7f" for character in path):
        return False
    try:
        parts = urlsplit(path)
    except ValueError:
        return False
    return not parts.scheme and not parts.netloc

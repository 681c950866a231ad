"""One request for a page: what a page function is given, and what it answers with."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Final, Protocol, TypeVar
from urllib.parse import quote, urlsplit

from aiohttp import web
from jinja2 import Environment

from hubbub.protocol import errors
from hubbub.protocol.errors import ApiError
from hubbub.protocol.operation import BodyT, Operation, ResultT
from hubbub.protocol.resources import users
from hubbub.protocol.resources.users import MyUser
from hubbub.server.core.call import Actor
from hubbub.server.core.config import Config
from hubbub.server.transports.web.forms import CSRF_FIELD, Form, Problems
from hubbub.server.transports.web.sessions import Session

HOME: Final = "/settings/account"
"""Where somebody lands who came for nothing in particular."""

# `default-src 'none'`: no script at all, ours included, so there is nothing that a smuggled one could hide among.
_POLICY: Final = "default-src 'none'; style-src 'self'; img-src 'self' data:; base-uri 'none'; frame-ancestors 'none'"
_HEADERS: Final = {
    "Content-Type": "text/html; charset=utf-8",
    "Cache-Control": "no-store",
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    # Not `no-referrer`: with that, browsers send `Origin: null` with our own forms.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}

F = TypeVar("F", bound=Callable[..., Any])


def page_headers(*, leaves: bool = False, policy: str = _POLICY) -> dict[str, str]:
    """What every page is sent with. `leaves` where its form may end on another site, which browsers check (decisions/0038)."""
    return {**_HEADERS, "Content-Security-Policy": policy if leaves else f"{policy}; form-action 'self'"}


def client_policy(config: Config) -> str:
    """What the pages of the chat client may load: our own modules, and nobody's markup becomes script (decisions/0057)."""
    socket = config.web_url.replace("http", "ws", 1)
    sockets = [socket] if config.gateway.resume_url is None else [socket, config.gateway.resume_url]
    frames = config.activity_origins or "'none'"
    return (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; media-src 'self' blob:; "
        f"connect-src 'self' {' '.join(sockets)}; frame-src {frames}; "
        "manifest-src 'self'; base-uri 'none'; frame-ancestors 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    )


class Asks(Protocol):
    """The HTTP door, as far as pages know it."""

    async def ask(
        self,
        request: web.Request,
        operation: Operation[BodyT, ResultT],
        *values: object,
        actor: Actor | None = None,
        body: Mapping[str, Any] | None = None,
        query: Mapping[str, Sequence[str]] | None = None,
    ) -> ResultT:
        """Do an operation."""
        ...


@dataclass(frozen=True, slots=True)
class Page:
    """Where a page function stands, and who may see it."""

    method: str
    path: str
    anyone: bool = False
    """Whether it is there for people who have not signed in."""
    file: str | None = None
    """The field of its form that may hold a file."""


def page(method: str, path: str, *, anyone: bool = False, file: str | None = None) -> Callable[[F], F]:
    """Mark `async def (visit: Visit) -> web.Response` as what answers a path (aiohttp's patterns: `{id:[0-9]+}`).

    People who are not signed in are asked to, unless `anyone`. A POST comes with a form that this browser was shown, or does not
    come at all."""

    def mark(function: F) -> F:
        function.__page__ = Page(method, path, anyone, file)  # type: ignore[attr-defined]
        return function

    return mark


def pages_of(module: ModuleType) -> list[tuple[Page, Callable[["Visit"], Any]]]:
    """The pages that a module holds."""
    return [
        (value.__page__, value)
        for value in vars(module).values()
        if hasattr(value, "__page__") and value.__module__ == module.__name__
    ]


class Visit:
    """One request for a page."""

    def __init__(
        self,
        request: web.Request,
        *,
        http: Asks,
        config: Config,
        templates: Environment,
        session: Session,
        actor: Actor | None,
    ) -> None:
        self.request = request
        self.config = config
        self.session = session
        self.actor = actor
        """Who is signed in, or None."""
        self.form = Form()
        """What came with a POST."""
        self._http = http
        self._templates = templates
        self._me: MyUser | None = None

    # Asking

    async def ask(
        self,
        operation: Operation[BodyT, ResultT],
        *values: object,
        body: Mapping[str, Any] | None = None,
        query: Mapping[str, Sequence[str]] | None = None,
    ) -> ResultT:
        """Do an operation as the person who is here: `await visit.ask(wire.DELETE_THING, thing_id, body={...})`.

        `body` is what the JSON would be; leave a key out where a PATCH shall not touch it. Refusals are raised as ApiError."""
        return await self._http.ask(self.request, operation, *values, actor=self.actor, body=body, query=query)

    async def me(self) -> MyUser:
        """The account that is signed in."""
        if self._me is None:
            self._me = await self.ask(users.GET_MY_USER)
        return self._me

    def path(self, name: str) -> str:
        """A parameter of the page's path."""
        return self.request.match_info[name]

    def query(self, name: str) -> str:
        """A parameter of the address, or nothing."""
        return self.request.query.get(name, "")

    @property
    def next(self) -> str:
        """Where the person was going before we stopped them; only ever a path of ours."""
        asked = self.form.text("next") or self.query("next")
        return asked if is_own_path(asked) else ""

    # Answering

    def show(
        self, template: str, *, status: int = 200, leaves: bool = False, client: bool = False, **context: Any
    ) -> web.Response:
        """A page. `leaves` where its form may end on another site, which browsers check against form-action (decisions/0038);
        `client` where the chat client takes its place, so that our own modules run (decisions/0057)."""
        context.setdefault("problems", Problems())
        context.setdefault("form", self.form)
        text = self._templates.get_template(template).render(
            visit=self,
            config=self.config,
            signed_in=self.actor is not None,
            notice=self.session.take_notice(),
            form_field=CSRF_FIELD,
            client=client,
            **context,
        )
        headers = page_headers(leaves=leaves, policy=client_policy(self.config) if client else _POLICY)
        return web.Response(status=status, body=text.encode("utf-8", "replace"), headers=headers)

    def refuse(
        self,
        template: str,
        error: ApiError,
        *,
        fields: Sequence[str] = (),
        names: Mapping[str, str] | None = None,
        leaves: bool = False,
        client: bool = False,
        **context: Any,
    ) -> web.Response:
        """The page of a form again, with what was wrong beside its fields; what belongs to none of them is said above.

        `names` maps the API's fields to the form's where they differ."""
        if error.status in (401, 500, 503):
            raise error
        problems = Problems(error).rename(names or {}).gather(fields)
        return self.show(template, status=error.status, leaves=leaves, client=client, problems=problems, **context)

    def go(self, path: str, say: str | None = None) -> web.Response:
        """See another page, and a sentence on it."""
        if say is not None:
            self.session.say(say)
        return web.Response(status=303, headers={"Location": path, "Cache-Control": "no-store"})

    def problem(self, error: ApiError, *, title: str | None = None, back: str | None = None) -> web.Response:
        """A page that says what is wrong."""
        titles = {401: "Please log in again", 403: "Not allowed", 404: "Not here", 429: "A moment, please"}
        return self.show(
            "problem.html",
            status=error.status,
            title=title or titles.get(error.status, "That did not work"),
            problems=Problems(error),
            back=back,
        )

    def to_login(self) -> web.Response:
        """Ask the person to sign in, and bring them back afterwards."""
        here = self.request.rel_url
        target = str(here) if self.request.method in ("GET", "HEAD") else here.path
        return self.go(f"/login?next={quote(target, safe='/')}" if is_own_path(target) else "/login")

    @property
    def signed_in(self) -> Actor:
        """Who is here, on a page for people who are."""
        if self.actor is None:
            raise errors.UNAUTHORIZED()
        return self.actor


def is_own_path(text: str) -> bool:
    """Whether an address is one of our own pages and cannot be read as any other by any browser (open redirect)."""
    if not text.startswith("/") or text.startswith(("//", "/\\")) or len(text) > 4096:
        return False
    if "\\" in text or any(character <= " " or character == "\x7f" for character in text):
        return False
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return not parts.scheme and not parts.netloc

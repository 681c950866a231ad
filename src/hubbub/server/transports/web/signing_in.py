"""Log in, with a second step where there is an authenticator; register; log out."""

from typing import Final
from urllib.parse import quote

from aiohttp import web

from hubbub.protocol import errors
from hubbub.protocol.errors import ApiError
from hubbub.protocol.resources import accounts
from hubbub.server.transports.web.visits import HOME, Visit, page

LOGIN_FIELDS: Final = ("login", "password")
CODE_FIELDS: Final = ("code",)
REGISTER_FIELDS: Final = ("username", "global_name", "email", "password")

SECRETIVE: Final = frozenset({"INVALID_LOGIN", "BASE_TYPE_BAD_LENGTH"})
"""What a login may be refused with that must not tell one name from another."""

AUTHORIZING: Final = ("/oauth2/authorize?", "/oauth2/authorize#")


def _leaves(visit: Visit) -> bool:
    """An application that the person knows already may get them back right after the login (`prompt=none`)."""
    return visit.next.startswith(AUTHORIZING)


@page("GET", "/login", anyone=True)
async def show_login(visit: Visit) -> web.Response:
    """Name and password."""
    if visit.actor is not None:
        return visit.go(visit.next or HOME)
    return visit.show("login.html", next=visit.next, leaves=_leaves(visit))


@page("POST", "/login", anyone=True)
async def log_in(visit: Visit) -> web.Response:
    """Sign in, or ask for the second step."""
    form = visit.form
    try:
        result = await visit.ask(
            accounts.AUTH_LOGIN, body={"login": form.line("login"), "password": form.text("password")}
        )
    except ApiError as error:
        return visit.refuse(
            "login.html", _one_answer(error), fields=LOGIN_FIELDS, next=visit.next, leaves=_leaves(visit)
        )
    if result.token is None:
        return visit.show("login_code.html", ticket=result.ticket, next=visit.next, leaves=_leaves(visit))
    return _enter(visit, result.token)


@page("POST", "/login/code", anyone=True)
async def log_in_with_code(visit: Visit) -> web.Response:
    """The second step."""
    form = visit.form
    ticket = form.text("ticket")
    try:
        result = await visit.ask(
            accounts.AUTH_LOGIN_WITH_TOTP, body={"ticket": ticket, "code": form.line("code").replace(" ", "")}
        )
    except ApiError as error:
        if error.errors and "ticket" in error.errors:
            return visit.go(_login_address(visit), say="That took a little long. Please log in again.")
        return visit.refuse(
            "login_code.html", error, fields=CODE_FIELDS, ticket=ticket, next=visit.next, leaves=_leaves(visit)
        )
    return _enter(visit, result.token)


@page("GET", "/register", anyone=True)
async def show_register(visit: Visit) -> web.Response:
    """A new account."""
    if visit.actor is not None:
        return visit.go(visit.next or HOME)
    return visit.show("register.html", next=visit.next, leaves=_leaves(visit))


@page("POST", "/register", anyone=True)
async def register(visit: Visit) -> web.Response:
    """Make an account and sign in."""
    form = visit.form
    body = {"username": form.line("username"), "password": form.text("password")}
    for optional in ("global_name", "email"):
        if form.line(optional):
            body[optional] = form.line(optional)
    try:
        result = await visit.ask(accounts.AUTH_REGISTER, body=body)
    except ApiError as error:
        return visit.refuse("register.html", error, fields=REGISTER_FIELDS, next=visit.next, leaves=_leaves(visit))
    return _enter(visit, result.token)


@page("POST", "/logout", anyone=True)
async def log_out(visit: Visit) -> web.Response:
    """End this session, here and on the platform."""
    if visit.actor is not None:
        await visit.ask(accounts.AUTH_LOGOUT)
    target = _login_address(visit)
    visit.session.sign_out()
    visit.actor = None
    return visit.go(target, say="You are logged out.")


def _enter(visit: Visit, token: str) -> web.Response:
    visit.session.sign_in(token)
    return visit.go(visit.next or HOME)


def _login_address(visit: Visit) -> str:
    return f"/login?next={quote(visit.next, safe='/')}" if visit.next else "/login"


def _one_answer(error: ApiError) -> ApiError:
    """The same sentence whatever was wrong with name or password, said once and above both (user enumeration)."""
    told = {code for leaf in (error.errors or {}).values() for code in (each["code"] for each in leaf["_errors"])}
    if told & SECRETIVE:
        return errors.invalid("", "INVALID_LOGIN", "That name and password do not belong together.")
    return error

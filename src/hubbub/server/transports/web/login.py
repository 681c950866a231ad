"""Login with a password and an optional second step or with a passkey, registration and logout."""

from typing import Any, Final
from urllib.parse import quote

from aiohttp import web

from hubbub.protocol import codec, errors
from hubbub.protocol.errors import ApiError
from hubbub.protocol.resources import accounts, features, legal_documents, passkeys, registration
from hubbub.server.core import relying_party, translation
from hubbub.server.core.translation import gettext
from hubbub.server.transports.web import documents
from hubbub.server.transports.web.page_requests import DEFAULT_PAGE, PageRequest, page

LOGIN_FIELDS: Final = ("login", "password")
CODE_FIELDS: Final = ("code",)
REGISTER_FIELDS: Final = ("username", "global_name", "email", "password", "invite", "message", "accepted")

MASKED_ERROR_CODES: Final = frozenset({"INVALID_LOGIN", "BASE_TYPE_BAD_LENGTH"})
"""Codes of form errors that are replaced at login, because they would reveal whether the username exists."""

SCRIPT_POLICY: Final = (
    "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; img-src 'self' data:; base-uri 'none'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
"""Content-Security-Policy of the login pages: one script of this server uses passkeys. The forms work without it."""

AUTHORIZE_PREFIXES: Final = ("/oauth2/authorize?", "/oauth2/authorize#")


def _may_leave_site(request: PageRequest) -> bool:
    """Return whether this login may redirect to an application that the user has authorized before (`prompt=none`)."""
    return request.next_path.startswith(AUTHORIZE_PREFIXES)


def login_context(request: PageRequest) -> dict[str, Any]:
    """Return the values that every page of the login needs."""
    context: dict[str, Any] = {
        "next": request.next_path,
        "allows_external_redirect": _may_leave_site(request),
        "has_passkeys": False,
        "is_suspended": False,
        "provider_id": read_provider_id(request),
        "left_provider": request.config.login.find(request.query_parameter("left")),
    }
    if relying_party.find_relying_party(request.config.web_url) is not None:
        context |= {"has_passkeys": True, "policy": SCRIPT_POLICY}
    return context


def read_provider_id(request: PageRequest) -> str:
    """Return the ID of the provider of the form, or an empty string."""
    provider = request.config.login.find(request.form.text("provider"))
    return "" if provider is None else provider.id


@page("GET", "/login", is_public=True)
async def show_login(request: PageRequest) -> web.Response:
    """Show the login form."""
    if request.actor is not None:
        return request.redirect(request.next_path or DEFAULT_PAGE)
    published_documents = await request.call(legal_documents.LIST_DOCUMENTS)
    return request.render("login.html", documents=published_documents, **login_context(request))


@page("POST", "/login", is_public=True)
async def log_in(request: PageRequest) -> web.Response:
    """Log in, or show the second step when the account has an authenticator."""
    form = request.form
    try:
        login_result = await request.call(
            accounts.AUTH_LOGIN, body={"login": form.trimmed("login"), "password": form.text("password")}
        )
    except ApiError as error:
        return request.render_errors(
            "login.html",
            mask_login_error(error),
            fields=LOGIN_FIELDS,
            **login_context(request) | {"is_suspended": _is_suspended(error)},
        )
    if login_result.token is None:
        return request.render("login_code.html", ticket=login_result.ticket, **login_context(request))
    return await _start_session(request, login_result.token)


@page("POST", "/login/code", is_public=True)
async def log_in_with_code(request: PageRequest) -> web.Response:
    """Complete the second step of a login."""
    form = request.form
    ticket = form.text("ticket")
    try:
        login_result = await request.call(
            accounts.AUTH_LOGIN_WITH_TOTP, body={"ticket": ticket, "code": form.trimmed("code").replace(" ", "")}
        )
    except ApiError as error:
        if error.errors and "ticket" in error.errors:
            return request.redirect(_login_path(request), notice=gettext("Your login timed out. Log in again."))
        return request.render_errors(
            "login_code.html", error, fields=CODE_FIELDS, ticket=ticket, **login_context(request)
        )
    return await _start_session(request, login_result.token)


@page("POST", "/login/passkey", is_public=True)
async def log_in_with_passkey(request: PageRequest) -> web.Response:
    """Log in with the passkey that the script of the page requested from the browser."""
    form = request.form
    try:
        credential = codec.decode(form.text("credential").encode(), dict[str, Any])
    except ValueError:
        credential = {}
    try:
        login_result = await request.call(
            passkeys.AUTH_LOGIN_WITH_PASSKEY, body={"ticket": form.text("ticket") or "-", "credential": credential}
        )
    except ApiError as error:
        return request.render_errors("login.html", _without_field(error), **login_context(request))
    return await _start_session(request, login_result.token)


@page("GET", "/register", is_public=True)
async def show_register(request: PageRequest) -> web.Response:
    """Show the registration form."""
    if request.actor is not None:
        return request.redirect(request.next_path or DEFAULT_PAGE)
    return request.render("register.html", **await _register_context(request))


async def _register_context(request: PageRequest) -> dict[str, Any]:
    settings = await request.call(registration.GET_REGISTRATION_SETTINGS)
    is_closed = settings.mode is registration.RegistrationMode.CLOSED
    return {
        "next": request.next_path,
        "mode": settings.mode,
        "email_required": settings.email_required,
        "invite": request.query_parameter("invite"),
        "documents": await request.call(legal_documents.LIST_DOCUMENTS),
        "registration_providers": [
            provider for provider in request.config.login.providers if provider.auto_register or not is_closed
        ],
        "closed_reason": await _find_closed_reason(request, settings.mode),
        "allows_external_redirect": _may_leave_site(request),
    }


async def _find_closed_reason(request: PageRequest, mode: registration.RegistrationMode) -> str | None:
    """Return the reason why users cannot register, or None if they can."""
    if mode is registration.RegistrationMode.CLOSED:
        return gettext("Registration is disabled on this server.")
    for feature in await request.call(features.LIST_FEATURES):
        if feature.name is features.Feature.REGISTRATION and not feature.enabled:
            reason = gettext("Registration is switched off on this server.")
            return f"{reason} {feature.message or ''}".strip()
    return None


@page("POST", "/register", is_public=True)
async def register(request: PageRequest) -> web.Response:
    """Create an account and log in, or show that the account waits for approval."""
    form = request.form
    body: dict[str, Any] = {"username": form.trimmed("username"), "password": form.text("password")}
    for field_name in ("global_name", "email", "invite", "message"):
        if form.trimmed(field_name):
            body[field_name] = form.trimmed(field_name)
    if (locale := translation.find_user_locale(translation.current_language())) is not None:
        body["locale"] = locale
    if form.checked("accepted"):
        body["accepted"] = documents.read_versions(request)
    try:
        registration_result = await request.call(accounts.AUTH_REGISTER, body=body)
    except ApiError as error:
        return request.render_errors("register.html", error, fields=REGISTER_FIELDS, **await _register_context(request))
    if registration_result.token is None:
        return request.render("registration_pending.html")
    return await _start_session(request, registration_result.token)


@page("POST", "/logout", is_public=True)
async def log_out(request: PageRequest) -> web.Response:
    """End the login session."""
    if request.actor is not None:
        await request.call(accounts.AUTH_LOGOUT)
    target = _login_path(request)
    provider = request.config.login.find(request.session.provider_id)
    if provider is not None:
        # The session at the provider continues; the login page links to the page that ends it.
        target = f"{target}{'&' if '?' in target else '?'}left={provider.id}"
    request.session.sign_out()
    request.actor = None
    response = request.redirect(target, notice=gettext("You have been logged out."))
    # Removes drafts, which the chat client stores in the browser (decisions/0121).
    response.headers["Clear-Site-Data"] = '"storage"'
    return response


async def _start_session(request: PageRequest, token: str) -> web.Response:
    request.session.sign_in(token, read_provider_id(request))
    return request.redirect(await documents.choose_start_path(request, request.next_path))


def _login_path(request: PageRequest) -> str:
    return f"/login?next={quote(request.next_path, safe='/')}" if request.next_path else "/login"


def _without_field(error: ApiError) -> ApiError:
    """Return the error without its field, because the form with a passkey has no visible fields."""
    if not error.errors:
        return error
    _, messages = next(iter(error.messages_by_field()))
    return errors.invalid("", "PASSKEY_INVALID", messages[0])


def _is_suspended(error: ApiError) -> bool:
    return any(
        field_error["code"] == "ACCOUNT_DISABLED"
        for leaf in (error.errors or {}).values()
        for field_error in leaf["_errors"]
    )


def mask_login_error(error: ApiError) -> ApiError:
    """Replace an error that would reveal whether a username exists by one that does not (user enumeration)."""
    codes = {field_error["code"] for leaf in (error.errors or {}).values() for field_error in leaf["_errors"]}
    if codes & MASKED_ERROR_CODES:
        return errors.invalid("", "INVALID_LOGIN", gettext("Incorrect username or password."))
    return error

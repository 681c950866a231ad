"""Login at external providers: start, response, registration, links of an account, and logout at the provider."""

from typing import Any, Final

from aiohttp import web

from hubbub.protocol import errors
from hubbub.protocol.errors import ApiError
from hubbub.protocol.resources import accounts, legal_documents, login_providers
from hubbub.server.core import translation
from hubbub.server.core.translation import gettext
from hubbub.server.transports.web import documents
from hubbub.server.transports.web.account import PATH as ACCOUNT_PATH
from hubbub.server.transports.web.login import login_context, read_provider_id
from hubbub.server.transports.web.page_requests import DEFAULT_PAGE, PageRequest, is_local_path, page
from hubbub.server.transports.web.sessions import ProviderLogin

LOGIN_PATH: Final = r"/login/with/{provider_id:[a-z0-9-]{1,32}}"
ADD_PATH: Final = ACCOUNT_PATH + r"/logins/add/{provider_id:[a-z0-9-]{1,32}}"
REMOVE_PATH: Final = ACCOUNT_PATH + r"/logins/{identity_id:\d{1,19}}/remove"
CALLBACK_PATH: Final = r"/login/callback/{provider_id:[a-z0-9-]{1,32}}"

# Login


@page("GET", LOGIN_PATH, is_public=True)
async def start_login(request: PageRequest) -> web.Response:
    """Redirect to a provider."""
    if request.actor is not None:
        return request.redirect(request.next_path or DEFAULT_PAGE)
    provider_id = request.path_parameter("provider_id")
    try:
        provider_login = await request.call(login_providers.START_PROVIDER_LOGIN, provider_id)
    except ApiError as error:
        return _show_login_error(request, error)
    invite = request.query_parameter("invite")[: accounts.INVITE_CODE_MAX]
    request.session.start_provider_login(ProviderLogin(provider_login.ticket, request.next_path, invite))
    return request.redirect(provider_login.url)


@page("GET", CALLBACK_PATH, is_public=True)
async def complete_login(request: PageRequest) -> web.Response:
    """Complete a login or a link with the response of a provider."""
    login = request.session.take_provider_login()
    provider_id = request.path_parameter("provider_id")
    body = {
        "ticket": login.ticket or "-",
        "provider_id": provider_id,
        "state": request.query_parameter("state") or "-",
        "code": request.query_parameter("code") or "-",
    }
    if request.query_parameter("iss"):
        body["iss"] = request.query_parameter("iss")
    has_error = bool(request.query_parameter("error"))
    if request.actor is not None:
        return await _complete_link(request, body, has_error=has_error)
    if has_error:
        return _show_login_error(request, _rejected_error())
    try:
        login_result = await request.call(login_providers.AUTH_LOGIN_WITH_PROVIDER, body=body)
    except ApiError as error:
        return _show_login_error(request, error)
    next_path = login.next_path if is_local_path(login.next_path) else ""
    if login_result.registration is not None:
        return request.render(
            "provider_register.html",
            next=next_path,
            ticket=login_result.registration.ticket,
            username=login_result.registration.username,
            global_name=login_result.registration.global_name,
            invite=login.invite,
            **await _provider_context(request, provider_id),
        )
    if login_result.token is None:
        context = login_context(request) | {"next": next_path, "provider_id": provider_id}
        return request.render("login_code.html", ticket=login_result.ticket, **context)
    request.session.sign_in(login_result.token, provider_id)
    return request.redirect(await documents.choose_start_path(request, next_path))


async def _complete_link(request: PageRequest, body: dict[str, str], *, has_error: bool) -> web.Response:
    try:
        if has_error:
            raise _rejected_error()
        await request.call(login_providers.CREATE_LOGIN_IDENTITY, body=body)
    except ApiError as error:
        return request.error_page(
            _without_field(error), title=gettext("The login was not linked"), back_path=ACCOUNT_PATH
        )
    return request.redirect(ACCOUNT_PATH, notice=gettext("Login linked."))


@page("POST", "/login/new-account", is_public=True)
async def register(request: PageRequest) -> web.Response:
    """Create an account for an identity at a provider and log in, or show that the account waits for approval."""
    form = request.form
    body: dict[str, Any] = {"ticket": form.text("ticket") or "-", "username": form.trimmed("username")}
    for field_name in ("global_name", "invite", "message"):
        if form.trimmed(field_name):
            body[field_name] = form.trimmed(field_name)
    if form.checked("accepted"):
        body["accepted"] = documents.read_versions(request)
    if (locale := translation.find_user_locale(translation.current_language())) is not None:
        body["locale"] = locale
    provider_id = read_provider_id(request)
    try:
        registration_result = await request.call(login_providers.AUTH_REGISTER_WITH_PROVIDER, body=body)
    except ApiError as error:
        if error.errors and "ticket" in error.errors:
            return request.redirect("/login", notice=gettext("Your login timed out. Log in again."))
        return request.render_errors(
            "provider_register.html",
            error,
            fields=("username", "global_name", "invite", "message", "accepted"),
            next=request.next_path,
            ticket=form.text("ticket"),
            username="",
            global_name="",
            invite="",
            **await _provider_context(request, provider_id),
        )
    if registration_result.token is None:
        return request.render("registration_pending.html")
    request.session.sign_in(registration_result.token, provider_id)
    return request.redirect(request.next_path or DEFAULT_PAGE)


@page("GET", LOGIN_PATH + "/logout", is_public=True)
async def log_out_of_provider(request: PageRequest) -> web.Response:
    """Redirect to the page of a provider that ends the session there."""
    provider_id = request.path_parameter("provider_id")
    try:
        logout = await request.call(login_providers.GET_PROVIDER_LOGOUT, provider_id)
    except ApiError as error:
        return _show_login_error(request, error)
    if logout.url is None:
        notice = gettext("This service has no page to log out. Log out on its own website.")
        return request.redirect("/login", notice=notice)
    return request.redirect(logout.url)


# Links of an account


@page("GET", ADD_PATH)
async def show_link(request: PageRequest) -> web.Response:
    """Show the form that links a login."""
    return await _show_link(request)


@page("POST", ADD_PATH)
async def start_link(request: PageRequest) -> web.Response:
    """Redirect to a provider to link a login."""
    provider_id = request.path_parameter("provider_id")
    body = {"provider_id": provider_id, **_password_field(request)}
    try:
        provider_login = await request.call(login_providers.START_IDENTITY_LINK, body=body)
    except ApiError as error:
        return await _show_link(request, error)
    request.session.start_provider_login(ProviderLogin(provider_login.ticket))
    return request.redirect(provider_login.url)


async def _show_link(request: PageRequest, error: ApiError | None = None) -> web.Response:
    provider = request.config.login.find(request.path_parameter("provider_id"))
    if provider is None:
        return request.redirect(ACCOUNT_PATH)
    methods = await request.call(login_providers.GET_LOGIN_METHODS)
    # The form redirects to the provider, so the policy of the page must allow a redirect to another server.
    context: dict[str, Any] = {"provider": provider, "has_password": methods.has_password}
    if error is None:
        return request.render("link_login.html", allows_external_redirect=True, **context)
    fields = ("password",) if methods.has_password else ()
    return request.render_errors("link_login.html", error, fields=fields, allows_external_redirect=True, **context)


@page("GET", REMOVE_PATH)
async def show_unlink(request: PageRequest) -> web.Response:
    """Show the form that unlinks a login."""
    return await _show_unlink(request)


@page("POST", REMOVE_PATH)
async def unlink(request: PageRequest) -> web.Response:
    """Unlink a login."""
    try:
        await request.call(
            login_providers.DELETE_LOGIN_IDENTITY,
            request.path_parameter("identity_id"),
            body=_password_field(request),
        )
    except ApiError as error:
        return await _show_unlink(request, error)
    return request.redirect(ACCOUNT_PATH, notice=gettext("Login unlinked."))


async def _show_unlink(request: PageRequest, error: ApiError | None = None) -> web.Response:
    methods = await request.call(login_providers.GET_LOGIN_METHODS)
    identity_id = request.path_parameter("identity_id")
    matching_identities = [identity for identity in methods.identities if str(int(identity.id)) == identity_id]
    if not matching_identities:
        return request.redirect(ACCOUNT_PATH)
    context: dict[str, Any] = {"identity": matching_identities[0], "has_password": methods.has_password}
    if error is None:
        return request.render("unlink_login.html", **context)
    fields = ("password",) if methods.has_password else ()
    return request.render_errors("unlink_login.html", error, fields=fields, **context)


def _password_field(request: PageRequest) -> dict[str, str]:
    password = request.form.text("password")
    return {"password": password} if password else {}


async def _provider_context(request: PageRequest, provider_id: str) -> dict[str, Any]:
    provider = request.config.login.find(provider_id)
    return {
        "provider_id": provider_id,
        "provider_name": provider_id if provider is None else provider.name,
        "documents": await request.call(legal_documents.LIST_DOCUMENTS),
        "auto_register": provider is not None and provider.auto_register,
    }


def _rejected_error() -> ApiError:
    return errors.invalid("", "PROVIDER_REJECTED", gettext("The login was canceled or rejected. Start again."))


def _show_login_error(request: PageRequest, error: ApiError) -> web.Response:
    return request.render_errors("login.html", _without_field(error), **login_context(request))


def _without_field(error: ApiError) -> ApiError:
    """Return the error without its field, because these pages have no fields of the provider's response."""
    if not error.errors:
        return error
    _, messages = next(iter(error.messages_by_field()))
    return errors.invalid("", "PROVIDER_LOGIN_FAILED", messages[0])

"""Portal page for an application as an OAuth2 client: ID, secret, redirect URIs and authorization URL generator."""

from typing import Any, Final
from urllib.parse import urlencode

from aiohttp import web

from hubbub.protocol.errors import ApiError
from hubbub.protocol.flags import ApplicationFlags
from hubbub.protocol.permissions import PERMISSIONS_BY_NAME
from hubbub.protocol.resources import developers
from hubbub.protocol.resources.applications import REDIRECT_URIS_MAX, Application
from hubbub.protocol.resources.oauth2 import REDIRECT_SCHEME_PREFIX
from hubbub.protocol.scopes import INSTALL_SCOPES, SCOPES
from hubbub.server.core.translation import gettext, gettext_noop
from hubbub.server.transports.web.page_requests import PageRequest, page
from hubbub.server.transports.web.portal.common import (
    APPLICATION_PATH,
    list_item_fields,
    list_permissions,
    load_application,
    render,
    render_errors,
    render_secret,
    section_path,
    update_application,
)

PATH = APPLICATION_PATH + "/oauth2"
SECRET_WARNING = gettext_noop("Keep the secret on your server. Never ship it in a game or app that users download.")

COMMON_SCOPES: Final = (
    "identify",
    "email",
    "openid",
    "guilds",
    "guilds.members.read",
    "connections",
    "bot",
    "applications.commands",
)
"""The most common scopes, listed first."""


@page("GET", PATH)
async def show_client(request: PageRequest) -> web.Response:
    """Show the OAuth2 settings, and the generated URL if scopes are selected."""
    application = await load_application(request)
    return render(request, "oauth2.html", application, **await _client_context(request, application))


@page("POST", PATH + "/reset")
async def reset_secret(request: PageRequest) -> web.Response:
    """Reset the client secret and show the new one once."""
    application = await load_application(request)
    code = request.form.trimmed("code")
    try:
        new_secret = await request.call(
            developers.RESET_CLIENT_SECRET, application.id, body={"code": code} if code else {}
        )
    except ApiError as error:
        context = await _client_context(request, application)
        return render_errors(request, "oauth2.html", error, application, fields=("code",), **context)
    return render_secret(
        request,
        application,
        title=gettext("Client secret"),
        secrets=[(gettext("Client ID"), f"{application.id:d}"), (gettext("Client secret"), new_secret.secret)],
        text=gettext(SECRET_WARNING),
        back_path=section_path(request, "/oauth2"),
    )


@page("POST", PATH + "/redirects/add")
async def add_redirect(request: PageRequest) -> web.Response:
    """Add a redirect URI."""
    application = await load_application(request)
    try:
        await update_application(
            request, {"redirect_uris": [*application.redirect_uris, request.form.trimmed("redirect_uri")]}
        )
    except ApiError as error:
        form_field_names = list_item_fields("redirect_uris", "redirect_uri", REDIRECT_URIS_MAX + 1) | {
            "redirect_uris": "redirect_uri"
        }
        context = await _client_context(request, application)
        return render_errors(
            request,
            "oauth2.html",
            error,
            application,
            fields=("redirect_uri",),
            form_field_names=form_field_names,
            **context,
        )
    return request.redirect(section_path(request, "/oauth2"), notice=gettext("Redirect URI added."))


@page("POST", PATH + "/redirects/remove")
async def remove_redirect(request: PageRequest) -> web.Response:
    """Remove a redirect URI."""
    application = await load_application(request)
    removed_uri = request.form.text("redirect_uri")
    await update_application(
        request, {"redirect_uris": [uri for uri in application.redirect_uris if uri != removed_uri]}
    )
    return request.redirect(section_path(request, "/oauth2"), notice=gettext("Redirect URI removed."))


@page("POST", PATH + "/public")
async def set_public_client(request: PageRequest) -> web.Response:
    """Set whether the application is a public OAuth2 client."""
    await update_application(request, {"public_client": request.form.checked("public_client")})
    return request.redirect(section_path(request, "/oauth2"), notice=gettext("Saved."))


async def _client_context(request: PageRequest, application: Application) -> dict[str, Any]:
    scopes = [scope for scope in request.http_request.query.getall("scope", []) if scope in SCOPES]
    permissions = [name for name in request.http_request.query.getall("permission", []) if name in PERMISSIONS_BY_NAME]
    redirect_uri = request.query_parameter("redirect_uri")
    other_scopes = [
        name for name, rule in SCOPES.items() if name not in COMMON_SCOPES and not rule.client_credentials_only
    ]
    return {
        "me": await request.current_user(),
        "public": bool(application.flags & ApplicationFlags.PUBLIC_OAUTH2_CLIENT),
        "mobile_redirect_uri": f"{REDIRECT_SCHEME_PREFIX}-{application.id:d}:/authorize/callback",
        "common_scopes": [(name, gettext(SCOPES[name].description)) for name in COMMON_SCOPES],
        "other_scopes": [(str(name), gettext(SCOPES[name].description)) for name in other_scopes],
        "permissions": list_permissions(),
        "chosen_scopes": scopes,
        "chosen_permissions": permissions,
        "chosen_redirect_uri": redirect_uri if redirect_uri in application.redirect_uris else "",
        "generated_url": _authorization_url(request, application, scopes, permissions, redirect_uri)
        if scopes
        else None,
    }


def _authorization_url(
    request: PageRequest, application: Application, scopes: list[str], permissions: list[str], redirect_uri: str
) -> str:
    """Return the URL at which users authorize the application with these scopes and permissions."""
    fields = {"client_id": f"{application.id:d}", "scope": " ".join(scopes)}
    if "bot" in scopes:
        fields["permissions"] = str(sum(PERMISSIONS_BY_NAME[name] for name in set(permissions)))
    if not INSTALL_SCOPES.issuperset(scopes):
        fields["response_type"] = "code"
    if redirect_uri in application.redirect_uris:
        fields["redirect_uri"] = redirect_uri
    return f"{request.config.web_url}/oauth2/authorize?{urlencode(fields)}"

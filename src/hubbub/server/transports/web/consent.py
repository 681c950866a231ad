"""The OAuth2 consent page: shows the requested scopes and permissions and sends the user's decision (decisions/0038)."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from aiohttp import web
from msgspec import UNSET

from hubbub.protocol import errors, permissions
from hubbub.protocol.enums import ApplicationIntegrationType, Scope
from hubbub.protocol.errors import ApiError
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import channels, guilds, oauth2
from hubbub.protocol.resources.oauth2 import AuthorizationPreview
from hubbub.protocol.resources.webhooks import WEBHOOK_CHANNEL_TYPES
from hubbub.server.core.translation import gettext
from hubbub.server.transports.http.decoding import split_fields
from hubbub.server.transports.web.error_texts import translate_error
from hubbub.server.transports.web.page_requests import PageRequest, page

PATH: Final = "/oauth2/authorize"
FIELDS: Final = ("guild_id", "webhook_channel_id", "permissions")
"""Form fields that show their own errors."""

DANGEROUS_PERMISSIONS: Final = Permissions.ELEVATED | Permissions.MENTION_EVERYONE | Permissions.MODERATE_MEMBERS
"""Permissions marked as dangerous on the consent page."""

_ABBREVIATIONS: Final = {"Tts": "text-to-speech", "Vad": "voice activity"}


@page("GET", PATH)
async def show_consent(request: PageRequest) -> web.Response:
    """Show an authorization request.

    With `prompt=none`, redirect immediately if the user has authorized the application before. With a
    `next_path` on this server, the user returns there and not to the application: the chat client uses this.
    """
    try:
        query = _authorize_query(request)
        preview = await request.call(oauth2.PREVIEW_OAUTH2_AUTHORIZATION, query=query)
        if preview.prompt == "none" and preview.authorized:
            authorization = await request.call(
                oauth2.AUTHORIZE_OAUTH2_APPLICATION, query=query, body={"authorize": True}
            )
            return _return_to_application(request, authorization.url, preview)
    except ApiError as error:
        return _show_bad_request(request, error)
    return await _show_request(request, preview, query)


@page("POST", PATH)
async def answer_consent(request: PageRequest) -> web.Response:
    """Submit the user's decision."""
    try:
        query = _authorize_query(request)
        preview = await request.call(oauth2.PREVIEW_OAUTH2_AUTHORIZATION, query=query)
    except ApiError as error:
        return _show_bad_request(request, error)
    try:
        body = _decision_body(request, preview)
        authorization = await request.call(oauth2.AUTHORIZE_OAUTH2_APPLICATION, query=query, body=body)
    except ApiError as error:
        if error.body().get("error"):
            return _show_bad_request(request, error)
        return await _show_request(request, preview, query, error)
    return _return_to_application(request, authorization.url, preview)


@page("GET", "/oauth2/authorized", is_public=True)
async def show_authorized(request: PageRequest) -> web.Response:
    """Show the end of an installation that has no redirect URI."""
    return request.render("authorized.html", denied=request.query_parameter("error") == oauth2.ACCESS_DENIED)


def _authorize_query(request: PageRequest) -> dict[str, list[str]]:
    """Return the request's parameters: empty ones count as absent, repeated ones are an error (RFC 6749 3.1)."""
    parameters = split_fields(request.http_request.rel_url.raw_query_string)
    for name, values in parameters.items():
        if len(values) > 1 and name in oauth2.AuthorizeQuery.__struct_fields__:
            raise errors.invalid(name, "DUPLICATE", gettext("This parameter must not be repeated."))
    return {name: values for name, values in parameters.items() if values[-1] and name != "next"}


def _decision_body(request: PageRequest, preview: AuthorizationPreview) -> dict[str, Any]:
    """Return the body of the authorization request for the submitted form."""
    form = request.form
    body: dict[str, Any] = {"authorize": form.text("answer") == "allow"}
    if not body["authorize"]:
        return body
    if preview.integration_type is not UNSET:
        body["integration_type"] = preview.integration_type
    for name in ("guild_id", "webhook_channel_id"):
        if form.trimmed(name):
            body[name] = form.trimmed(name)
    if "choose_permissions" in form:
        selected_bits = [int(bit) for bit in form.all("permission") if bit.isdecimal() and int(bit) < 64]
        body["permissions"] = str(sum(1 << bit for bit in set(selected_bits)))
    return body


async def _show_request(
    request: PageRequest, preview: AuthorizationPreview, query: dict[str, list[str]], error: ApiError | None = None
) -> web.Response:
    requested_permissions = 0 if preview.permissions is UNSET else int(preview.permissions)
    guild_id = (query.get("guild_id") or [""])[-1]
    scopes = [scope.name for scope in preview.scopes]
    context: dict[str, Any] = {
        "preview": preview,
        "links": _policy_links(preview),
        "returns_to": gettext("the chat") if request.next_path else _redirect_label(preview.redirect_uri),
        "permissions": _permission_choices(requested_permissions),
        "guilds": _guild_choices(preview, guild_id, (query.get("disable_guild_select") or [""])[-1]),
        "guild_id": guild_id,
        "wants_guild": preview.integration_type == ApplicationIntegrationType.GUILD_INSTALL,
        "wants_webhook": Scope.WEBHOOK_INCOMING in scopes,
        "webhook_guilds": [],
        "webhook_channels": [],
        "channel_id": (query.get("channel_id") or [""])[-1],
        "query": [(name, values[-1]) for name, values in query.items() if name != "guild_id"],
    }
    if context["wants_webhook"]:
        context["webhook_guilds"], context["webhook_channels"] = await _webhook_targets(request, guild_id)
    if error is None:
        return request.render("consent.html", allows_external_redirect=True, **context)
    return request.render_errors("consent.html", error, fields=FIELDS, allows_external_redirect=True, **context)


def _guild_choices(preview: AuthorizationPreview, guild_id: str, disable_guild_select: str) -> list[tuple[str, str]]:
    """Return ID and name of the guilds that the form offers."""
    guild_choices = [] if preview.guilds is UNSET else [(str(int(guild.id)), guild.name) for guild in preview.guilds]
    if guild_id and disable_guild_select.lower() in ("true", "1"):
        return [(key, name) for key, name in guild_choices if key == guild_id]
    return guild_choices


async def _webhook_targets(request: PageRequest, guild_id: str) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Return the guilds where the user can create webhooks, and the channels of the selected guild."""
    my_guilds = await request.call(guilds.LIST_MY_GUILDS)
    required_permissions = Permissions.MANAGE_WEBHOOKS | Permissions.ADMINISTRATOR
    guild_choices = [
        (str(int(guild.id)), guild.name)
        for guild in my_guilds
        if guild.owner or guild.permissions & required_permissions
    ]
    selected_guild_id = (
        guild_id
        if any(key == guild_id for key, _ in guild_choices)
        else guild_choices[0][0]
        if len(guild_choices) == 1
        else ""
    )
    if not selected_guild_id:
        return guild_choices, []
    guild_channels = await request.call(channels.LIST_GUILD_CHANNELS, selected_guild_id)
    return guild_choices, [
        (str(int(channel.id)), f"#{channel.name}")
        for channel in guild_channels
        if int(channel.type) in WEBHOOK_CHANNEL_TYPES
    ]


class PermissionChoice(NamedTuple):
    """A checkbox of the consent page for a requested permission."""

    bit: int
    """Index of the permission's bit."""
    label: str
    is_dangerous: bool


def permission_label(name: str) -> str:
    """Return the English name of a permission for users."""
    label = " ".join(_ABBREVIATIONS.get(word, word) for word in name.replace("_", " ").title().split())
    return label[:1].upper() + label[1:].lower()


def _permission_choices(requested_permissions: int) -> list[PermissionChoice]:
    """Return the choices for the requested permissions, dangerous ones first."""
    choices = []
    for name in permissions.permission_names(requested_permissions):
        permission = int(getattr(Permissions, name))
        label = gettext(permission_label(name))
        is_dangerous = bool(permission & DANGEROUS_PERMISSIONS)
        choices.append(PermissionChoice(permission.bit_length() - 1, label, is_dangerous))
    return sorted(choices, key=lambda choice: (not choice.is_dangerous, choice.bit))


def _policy_links(preview: AuthorizationPreview) -> list[tuple[str, str]]:
    """Return the application's privacy policy and terms of service, if they are web URLs."""
    links = (
        (gettext("Privacy policy"), preview.application.privacy_policy_url),
        (gettext("Terms of service"), preview.application.terms_of_service_url),
    )
    return [(label, url) for label, url in links if isinstance(url, str) and is_web_url(url)]


def is_web_url(url: str) -> bool:
    """Return whether a URL from another party may become a link."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname)


def _redirect_label(redirect_uri: str | None) -> str | None:
    """Describe the redirect target in terms that a user recognizes; return None without a redirect URI."""
    if redirect_uri is None:
        return None
    parts = urlsplit(redirect_uri)
    if parts.scheme not in ("http", "https"):
        return gettext("an app on this device")
    return gettext("an app on this computer") if parts.hostname in ("127.0.0.1", "::1", "localhost") else parts.netloc


def _return_to_application(request: PageRequest, url: str, preview: AuthorizationPreview) -> web.Response:
    """Return the decision to the application, or the user to `next_path`.

    A redirect has the status 303, so that browsers do not resend the form (RFC 9700 4.12).
    """
    if request.next_path:
        return request.redirect(request.next_path)
    if urlsplit(url).scheme in ("http", "https"):
        return request.redirect(url)
    # A browser that hands a URL to another program stays on the current page, so show one.
    return request.render("handoff.html", url=url, application=preview.application)


def _show_bad_request(request: PageRequest, error: ApiError) -> web.Response:
    """Show an invalid authorization request; re-raise errors with the status 401, 429, 500 or 503.

    The redirect back is a link, never automatic: otherwise any registered application could use this server as an open
    redirector (RFC 9700 4.11.2).
    """
    body = error.body()
    if error.status in (401, 429, 500, 503):
        raise error
    messages: Sequence[str] = ()
    # The descriptions of OAuth errors are in English, because they are for the developer of the application.
    description = body.get("error_description")
    if error.errors:
        messages = [
            f"{name}: {translate_error(leaf['_errors'][0]['message'])}"
            for name, leaf in error.errors.items()
            if "_errors" in leaf
        ]
    elif description is None:
        messages = [translate_error(str(body.get("message")))]
    return request.render(
        "bad_request.html",
        status=error.status,
        error_code=body.get("error"),
        messages=messages,
        description=description,
        url=body.get("return_url"),
        allows_external_redirect=True,
    )

"""May this application ...? Who asks, for what, with which account; and a person's answer (decisions/0038)."""

from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import urlsplit

from aiohttp import web
from msgspec import UNSET

from hubbub.protocol import errors, permissions
from hubbub.protocol.enums import Scope
from hubbub.protocol.errors import ApiError
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import channels, guilds, oauth2
from hubbub.protocol.resources.oauth2 import AuthorizationPreview
from hubbub.server.transports.http.forms import split_fields
from hubbub.server.transports.web.visits import Visit, page

HERE: Final = "/oauth2/authorize"
FIELDS: Final = ("guild_id", "webhook_channel_id", "permissions")
SPEAKABLE: Final = frozenset({0, 2, 5, 13, 15})
"""Channel types that can have a webhook."""

GRAVE: Final = Permissions.ELEVATED | Permissions.MENTION_EVERYONE | Permissions.MODERATE_MEMBERS
"""What a person should think about twice before a bot gets it."""

_WORDS: Final = {"Tts": "text-to-speech", "Vad": "voice activity"}


@page("GET", HERE)
async def show_consent(visit: Visit) -> web.Response:
    """What an application asks for; who answered before and need not be asked again is sent on (`prompt=none`)."""
    try:
        query = _query(visit)
        preview = await visit.ask(oauth2.PREVIEW_OAUTH2_AUTHORIZATION, query=query)
        if preview.prompt == "none" and preview.authorized:
            answer = await visit.ask(oauth2.AUTHORIZE_OAUTH2_APPLICATION, query=query, body={"authorize": True})
            return _leave(visit, answer.url, preview)
    except ApiError as error:
        return _bad_request(visit, error)
    return await _show(visit, preview, query)


@page("POST", HERE)
async def answer_consent(visit: Visit) -> web.Response:
    """Yes or no."""
    try:
        query = _query(visit)
        preview = await visit.ask(oauth2.PREVIEW_OAUTH2_AUTHORIZATION, query=query)
    except ApiError as error:
        return _bad_request(visit, error)
    try:
        body = _body(visit, preview)
        answer = await visit.ask(oauth2.AUTHORIZE_OAUTH2_APPLICATION, query=query, body=body)
    except ApiError as error:
        if error.body().get("error"):
            return _bad_request(visit, error)
        return await _show(visit, preview, query, error)
    return _leave(visit, answer.url, preview)


@page("GET", "/oauth2/authorized", anyone=True)
async def show_authorized(visit: Visit) -> web.Response:
    """The end of an installation that has nowhere else to go."""
    return visit.show("authorized.html", denied=visit.query("error") == oauth2.ACCESS_DENIED)


def _query(visit: Visit) -> dict[str, list[str]]:
    """The request's parameters: an empty one counts as absent, one that comes twice is an error (RFC 6749 3.1)."""
    given = split_fields(visit.request.rel_url.raw_query_string)
    for name, values in given.items():
        if len(values) > 1 and name in oauth2.AuthorizeQuery.__struct_fields__:
            raise errors.invalid(name, "DUPLICATE", "This parameter came more than once.")
    return {name: values for name, values in given.items() if values[-1]}


def _body(visit: Visit, preview: AuthorizationPreview) -> dict[str, Any]:
    form = visit.form
    body: dict[str, Any] = {"authorize": form.text("answer") == "allow"}
    if not body["authorize"]:
        return body
    if preview.integration_type is not UNSET:
        body["integration_type"] = preview.integration_type
    for name in ("guild_id", "webhook_channel_id"):
        if form.line(name):
            body[name] = form.line(name)
    if "choose_permissions" in form:
        ticked = [int(bit) for bit in form.all("permission") if bit.isdecimal() and int(bit) < 64]
        body["permissions"] = str(sum(1 << bit for bit in set(ticked)))
    return body


async def _show(
    visit: Visit, preview: AuthorizationPreview, query: dict[str, list[str]], error: ApiError | None = None
) -> web.Response:
    wanted = 0 if preview.permissions is UNSET else int(preview.permissions)
    guild_id = (query.get("guild_id") or [""])[-1]
    scopes = [scope.name for scope in preview.scopes]
    context: dict[str, Any] = {
        "preview": preview,
        "links": _links(preview),
        "returns_to": _place(preview.redirect_uri),
        "bits": _bits(wanted),
        "guilds": _guilds(preview, guild_id, (query.get("disable_guild_select") or [""])[-1]),
        "guild_id": guild_id,
        "wants_guild": preview.integration_type == 0,
        "wants_webhook": Scope.WEBHOOK_INCOMING in scopes,
        "webhook_guilds": [],
        "webhook_channels": [],
        "channel_id": (query.get("channel_id") or [""])[-1],
        "query": [(name, values[-1]) for name, values in query.items() if name != "guild_id"],
    }
    if context["wants_webhook"]:
        context["webhook_guilds"], context["webhook_channels"] = await _webhook_places(visit, guild_id)
    if error is None:
        return visit.show("consent.html", leaves=True, **context)
    return visit.refuse("consent.html", error, fields=FIELDS, leaves=True, **context)


def _guilds(preview: AuthorizationPreview, guild_id: str, fixed: str) -> list[tuple[str, str]]:
    offered = [] if preview.guilds is UNSET else [(str(int(guild.id)), guild.name) for guild in preview.guilds]
    if guild_id and fixed.lower() in ("true", "1"):
        return [(key, name) for key, name in offered if key == guild_id]
    return offered


async def _webhook_places(visit: Visit, guild_id: str) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """The guilds where the person may make webhooks, and the channels of the one that is chosen."""
    mine = await visit.ask(guilds.LIST_MY_GUILDS)
    may = Permissions.MANAGE_WEBHOOKS | Permissions.ADMINISTRATOR
    offered = [(str(int(guild.id)), guild.name) for guild in mine if guild.owner or guild.permissions & may]
    chosen = guild_id if any(key == guild_id for key, _ in offered) else offered[0][0] if len(offered) == 1 else ""
    if not chosen:
        return offered, []
    found = await visit.ask(channels.LIST_GUILD_CHANNELS, chosen)
    return offered, [(str(int(each.id)), f"#{each.name}") for each in found if int(each.type) in SPEAKABLE]


def _bits(wanted: int) -> list[tuple[int, str, bool]]:
    """The permissions that a bot asks for: bit, words, and whether to think twice."""
    found = []
    for name in permissions.names(wanted):
        bit = int(getattr(Permissions, name))
        words = " ".join(_WORDS.get(word, word) for word in name.replace("_", " ").title().split())
        found.append((bit.bit_length() - 1, words[:1].upper() + words[1:].lower(), bool(bit & GRAVE)))
    return sorted(found, key=lambda each: (not each[2], each[0]))


def _links(preview: AuthorizationPreview) -> list[tuple[str, str]]:
    """What the application says about itself, where the address is one that a browser only opens."""
    named = (
        ("Privacy policy", preview.application.privacy_policy_url),
        ("Terms of service", preview.application.terms_of_service_url),
    )
    return [(words, url) for words, url in named if isinstance(url, str) and is_web_address(url)]


def is_web_address(url: str) -> bool:
    """Whether an address that somebody else gave may be a link."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname)


def _place(redirect_uri: str | None) -> str | None:
    """Where the answer goes, as a person would recognise it."""
    if redirect_uri is None:
        return None
    parts = urlsplit(redirect_uri)
    if parts.scheme not in ("http", "https"):
        return "an app on this device"
    return "a program on this computer" if parts.hostname in ("127.0.0.1", "::1", "localhost") else parts.netloc


def _leave(visit: Visit, url: str, preview: AuthorizationPreview) -> web.Response:
    """Take the answer to the application. 303, so that no browser sends the form on (RFC 9700 4.12)."""
    if urlsplit(url).scheme in ("http", "https"):
        return visit.go(url)
    # A browser stays where it is when it hands an address to a program, so there must be something to see.
    return visit.show("handoff.html", url=url, application=preview.application)


def _bad_request(visit: Visit, error: ApiError) -> web.Response:
    """A request that is wrong in itself. The way back is offered, never taken: whoever registers an application could else use us
    to send people anywhere (RFC 9700 4.11.2)."""
    body = error.body()
    if error.status in (401, 429, 500, 503):
        raise error
    told: Sequence[str]
    if error.errors:
        told = [f"{name}: {leaf['_errors'][0]['message']}" for name, leaf in error.errors.items() if "_errors" in leaf]
    else:
        told = [str(body.get("error_description") or body.get("message"))]
    return visit.show(
        "bad_request.html",
        status=error.status,
        word=body.get("error"),
        told=told,
        url=body.get("return_url"),
        leaves=True,
    )

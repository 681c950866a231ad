"""The application as an OAuth2 client: its id and secret, where people are sent back to, and addresses to send them to."""

from typing import Any, Final
from urllib.parse import urlencode

from aiohttp import web

from hubbub.protocol.errors import ApiError
from hubbub.protocol.flags import ApplicationFlags
from hubbub.protocol.permissions import BITS
from hubbub.protocol.resources import developers
from hubbub.protocol.resources.applications import REDIRECT_URIS_MAX, Application
from hubbub.protocol.resources.oauth2 import STANDARD_SCHEME
from hubbub.protocol.scopes import INSTALLING, SCOPES
from hubbub.server.transports.web.portal.common import (
    ONE,
    PERMISSIONS,
    address,
    change,
    load,
    numbered,
    refuse,
    show,
    show_secret,
)
from hubbub.server.transports.web.visits import Visit, page

HERE = ONE + "/oauth2"
SECRET = "With it anybody can be your application. It belongs on a server, never into a game that others download."

USUAL: Final = (
    "identify",
    "email",
    "openid",
    "guilds",
    "guilds.members.read",
    "connections",
    "bot",
    "applications.commands",
)
"""The scopes that most ask for, first."""


@page("GET", HERE)
async def show_client(visit: Visit) -> web.Response:
    """All of it, and an address if one was asked for."""
    application = await load(visit)
    return show(visit, "oauth2.html", application, **await _client(visit, application))


@page("POST", HERE + "/reset")
async def reset_secret(visit: Visit) -> web.Response:
    """Another secret, shown once."""
    application = await load(visit)
    code = visit.form.line("code")
    try:
        made = await visit.ask(developers.RESET_CLIENT_SECRET, application.id, body={"code": code} if code else {})
    except ApiError as error:
        context = await _client(visit, application)
        return refuse(visit, "oauth2.html", error, application, fields=("code",), **context)
    return show_secret(
        visit,
        application,
        title="Client secret",
        secrets=[("Client id", f"{application.id:d}"), ("Client secret", made.secret)],
        words=SECRET,
        back=address(visit, "/oauth2"),
    )


@page("POST", HERE + "/redirects/add")
async def add_redirect(visit: Visit) -> web.Response:
    """Another address to send people back to."""
    application = await load(visit)
    try:
        await change(visit, {"redirect_uris": [*application.redirect_uris, visit.form.line("redirect_uri")]})
    except ApiError as error:
        names = numbered("redirect_uris", "redirect_uri", REDIRECT_URIS_MAX + 1) | {"redirect_uris": "redirect_uri"}
        context = await _client(visit, application)
        return refuse(visit, "oauth2.html", error, application, fields=("redirect_uri",), names=names, **context)
    return visit.go(address(visit, "/oauth2"), say="Added.")


@page("POST", HERE + "/redirects/remove")
async def remove_redirect(visit: Visit) -> web.Response:
    """One less."""
    application = await load(visit)
    gone = visit.form.text("redirect_uri")
    await change(visit, {"redirect_uris": [uri for uri in application.redirect_uris if uri != gone]})
    return visit.go(address(visit, "/oauth2"), say="Removed.")


@page("POST", HERE + "/public")
async def change_public(visit: Visit) -> web.Response:
    """Whether it can keep a secret."""
    await change(visit, {"public_client": visit.form.ticked("public_client")})
    return visit.go(address(visit, "/oauth2"), say="Saved.")


async def _client(visit: Visit, application: Application) -> dict[str, Any]:
    chosen = [scope for scope in visit.request.query.getall("scope", []) if scope in SCOPES]
    permissions = [name for name in visit.request.query.getall("permission", []) if name in BITS]
    redirect = visit.query("redirect_uri")
    others = [name for name, rule in SCOPES.items() if name not in USUAL and not rule.client_credentials_only]
    return {
        "me": await visit.me(),
        "public": bool(application.flags & ApplicationFlags.PUBLIC_OAUTH2_CLIENT),
        "standard": f"{STANDARD_SCHEME}-{application.id:d}:/authorize/callback",
        "usual": [(name, SCOPES[name].words) for name in USUAL],
        "others": [(str(name), SCOPES[name].words) for name in others],
        "permissions": PERMISSIONS,
        "chosen": chosen,
        "chosen_permissions": permissions,
        "chosen_redirect": redirect if redirect in application.redirect_uris else "",
        "generated": _generated(visit, application, chosen, permissions, redirect) if chosen else None,
    }


def _generated(visit: Visit, application: Application, scopes: list[str], permissions: list[str], redirect: str) -> str:
    fields = {"client_id": f"{application.id:d}", "scope": " ".join(scopes)}
    if "bot" in scopes:
        fields["permissions"] = str(sum(BITS[name] for name in set(permissions)))
    if not INSTALLING.issuperset(scopes):
        fields["response_type"] = "code"
    if redirect in application.redirect_uris:
        fields["redirect_uri"] = redirect
    return f"{visit.config.web_url}/oauth2/authorize?{urlencode(fields)}"

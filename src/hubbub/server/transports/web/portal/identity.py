"""Whom an application believes when they say who a player is, and the family of a publisher."""

from typing import Any, Final

from aiohttp import web
from msgspec import UNSET

from hubbub.protocol import errors
from hubbub.protocol.errors import ApiError
from hubbub.protocol.resources import developers, identities, identity_providers
from hubbub.protocol.resources.identity_providers import CLIENTS_MAX, ProviderClient, ProviderConfiguration
from hubbub.server.transports.web.portal.common import ONE, address, load, numbered, refuse, show
from hubbub.server.transports.web.visits import Visit, page

HERE = ONE + "/identity"

PROVIDERS: Final = {
    "OIDC": "OpenID Connect",
    "EPIC_ONLINE_SERVICES": "Epic Online Services",
    "STEAM": "Steam",
    "UNITY": "Unity",
    "APPLE": "Apple",
    "PLAYSTATION_NETWORK": "PlayStation Network",
}


@page("GET", HERE)
async def show_identity(visit: Visit) -> web.Response:
    """Every provider, and the publisher."""
    return show(visit, "identity.html", await load(visit), **await _identity(visit))


@page("POST", HERE)
async def set_provider(visit: Visit) -> web.Response:
    """Believe a provider."""
    form = visit.form
    kind = form.text("type")
    clients = [{"id": line} for line in form.lines("clients")]
    issuer = form.optional("oidc_issuer_url")
    try:
        if kind not in PROVIDERS:
            raise errors.invalid("type", *errors.choices(PROVIDERS))
        kept = await _find(visit, kind)
        body: dict[str, Any] = {"clients": [_keeping(each, kept) for each in clients]}
        if kind == "OIDC" or issuer is not None:
            body["oidc_issuer_url"] = issuer
        operation = identity_providers.SET_EXTERNAL_IDENTITY_PROVIDER_CONFIGURATION
        await visit.ask(operation, visit.path("application_id"), kind, body=body)
    except ApiError as error:
        if error.kind in (errors.OIDC_DISCOVERY_UNREACHABLE, errors.OIDC_KEYS_UNREACHABLE):
            error = errors.invalid("oidc_issuer_url", "OIDC_ISSUER_UNREACHABLE", str(error.body()["message"]))
        names = numbered("clients", "clients", CLIENTS_MAX + 1)
        names |= {f"clients.{number}.id": "clients" for number in range(CLIENTS_MAX + 1)}
        fields = ("type", "clients", "oidc_issuer_url")
        context = await _identity(visit)
        return refuse(visit, "identity.html", error, await load(visit), fields=fields, names=names, **context)
    return visit.go(address(visit, "/identity"), say=f"{PROVIDERS[kind]} is believed from now on.")


@page("POST", HERE + "/delete")
async def delete_provider(visit: Visit) -> web.Response:
    """Believe one no longer."""
    operation = identity_providers.DELETE_EXTERNAL_IDENTITY_PROVIDER_CONFIGURATION
    try:
        await visit.ask(operation, visit.path("application_id"), visit.form.text("type"))
    except ApiError as error:
        # Pressed twice: it is gone, which is what was wanted.
        if error.kind is not errors.NOT_FOUND:
            raise
    return visit.go(address(visit, "/identity"), say="Removed. Players who came by it stay who they are.")


def _keeping(client: dict[str, str], kept: ProviderConfiguration | None) -> dict[str, Any]:
    """A client with what the API was told of it and this form does not show."""
    known = {each.id: each for each in kept.clients} if kept is not None else {}
    found: ProviderClient | None = known.get(client["id"])
    if found is None:
        return dict(client)
    more = {name: getattr(found, name) for name in ("oidc_issuer_url", "description", "environment")}
    return dict(client) | {name: value for name, value in more.items() if value is not UNSET}


async def _find(visit: Visit, kind: str) -> ProviderConfiguration | None:
    operation = identity_providers.LIST_EXTERNAL_IDENTITY_PROVIDER_CONFIGURATIONS
    found = await visit.ask(operation, visit.path("application_id"))
    return next((each for each in found if each.type == kind), None)


async def _identity(visit: Visit) -> dict[str, Any]:
    application_id = visit.path("application_id")
    operation = identity_providers.LIST_EXTERNAL_IDENTITY_PROVIDER_CONFIGURATIONS
    mine = {each.id: each.name for each in await visit.ask(developers.LIST_APPLICATIONS)}
    link = await visit.ask(identities.GET_PUBLISHER_LINK, application_id)
    return {
        "configured": await visit.ask(operation, application_id),
        "providers": PROVIDERS,
        "link": link,
        "titles": mine,
        "clients_max": CLIENTS_MAX,
    }

"""Portal page for the identity providers that an application trusts, and for its publisher."""

from typing import Any, Final

from aiohttp import web
from msgspec import UNSET

from hubbub.protocol import errors
from hubbub.protocol.errors import ApiError
from hubbub.protocol.resources import developers, identities, identity_providers
from hubbub.protocol.resources.identity_providers import CLIENTS_MAX, ProviderClient, ProviderConfiguration
from hubbub.server.core.translation import gettext
from hubbub.server.transports.web.page_requests import PageRequest, page
from hubbub.server.transports.web.portal.common import (
    APPLICATION_PATH,
    list_item_fields,
    load_application,
    render,
    render_errors,
    section_path,
)

PATH = APPLICATION_PATH + "/identity"

PROVIDERS: Final = {
    "OIDC": "OpenID Connect",
    "EPIC_ONLINE_SERVICES": "Epic Online Services",
    "STEAM": "Steam",
    "UNITY": "Unity",
    "APPLE": "Apple",
    "PLAYSTATION_NETWORK": "PlayStation Network",
}


@page("GET", PATH)
async def show_identity(request: PageRequest) -> web.Response:
    """Show the identity providers and the publisher."""
    return render(request, "identity.html", await load_application(request), **await _identity_context(request))


@page("POST", PATH)
async def set_provider(request: PageRequest) -> web.Response:
    """Add or replace an identity provider."""
    form = request.form
    provider_type = form.text("type")
    clients = [{"id": line} for line in form.lines("clients")]
    issuer = form.optional("oidc_issuer_url")
    try:
        if provider_type not in PROVIDERS:
            raise errors.invalid("type", *errors.choices(PROVIDERS))
        stored_provider = await _find_provider(request, provider_type)
        body: dict[str, Any] = {"clients": [_merge_client(client, stored_provider) for client in clients]}
        if provider_type == "OIDC" or issuer is not None:
            body["oidc_issuer_url"] = issuer
        operation = identity_providers.SET_EXTERNAL_IDENTITY_PROVIDER_CONFIGURATION
        await request.call(operation, request.path_parameter("application_id"), provider_type, body=body)
    except ApiError as error:
        if error.kind in (errors.OIDC_DISCOVERY_UNREACHABLE, errors.OIDC_KEYS_UNREACHABLE):
            error = errors.invalid("oidc_issuer_url", "OIDC_ISSUER_UNREACHABLE", str(error.body()["message"]))
        form_field_names = list_item_fields("clients", "clients", CLIENTS_MAX + 1)
        form_field_names |= {f"clients.{number}.id": "clients" for number in range(CLIENTS_MAX + 1)}
        fields = ("type", "clients", "oidc_issuer_url")
        context = await _identity_context(request)
        return render_errors(
            request,
            "identity.html",
            error,
            await load_application(request),
            fields=fields,
            form_field_names=form_field_names,
            **context,
        )
    return request.redirect(
        section_path(request, "/identity"), notice=gettext("{name} was saved.", name=PROVIDERS[provider_type])
    )


@page("POST", PATH + "/delete")
async def delete_provider(request: PageRequest) -> web.Response:
    """Remove an identity provider."""
    operation = identity_providers.DELETE_EXTERNAL_IDENTITY_PROVIDER_CONFIGURATION
    try:
        await request.call(operation, request.path_parameter("application_id"), request.form.text("type"))
    except ApiError as error:
        # The provider was already removed by a second submit.
        if error.kind is not errors.NOT_FOUND:
            raise
    return request.redirect(
        section_path(request, "/identity"),
        notice=gettext("Provider removed. Players who signed in with it keep their accounts."),
    )


def _merge_client(client: dict[str, str], stored_provider: ProviderConfiguration | None) -> dict[str, Any]:
    """Return the client with the stored settings that this form does not show."""
    clients_by_id = (
        {stored_item.id: stored_item for stored_item in stored_provider.clients} if stored_provider is not None else {}
    )
    stored_client: ProviderClient | None = clients_by_id.get(client["id"])
    if stored_client is None:
        return dict(client)
    settings = {name: getattr(stored_client, name) for name in ("oidc_issuer_url", "description", "environment")}
    return dict(client) | {name: value for name, value in settings.items() if value is not UNSET}


async def _find_provider(request: PageRequest, provider_type: str) -> ProviderConfiguration | None:
    operation = identity_providers.LIST_EXTERNAL_IDENTITY_PROVIDER_CONFIGURATIONS
    configurations = await request.call(operation, request.path_parameter("application_id"))
    return next((configuration for configuration in configurations if configuration.type == provider_type), None)


async def _identity_context(request: PageRequest) -> dict[str, Any]:
    application_id = request.path_parameter("application_id")
    operation = identity_providers.LIST_EXTERNAL_IDENTITY_PROVIDER_CONFIGURATIONS
    my_applications = {
        application.id: application.name for application in await request.call(developers.LIST_APPLICATIONS)
    }
    link = await request.call(identities.GET_PUBLISHER_LINK, application_id)
    return {
        "configured": await request.call(operation, application_id),
        "providers": PROVIDERS,
        "link": link,
        "titles": my_applications,
        "clients_max": CLIENTS_MAX,
    }

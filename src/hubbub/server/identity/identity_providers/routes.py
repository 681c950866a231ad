"""HTTP handlers for identity provider configurations."""

from typing import get_args

from hubbub.protocol import errors
from hubbub.protocol.ids import ApplicationId
from hubbub.protocol.resources import identity_providers as wire
from hubbub.server.core.async_operation import AsyncOperation
from hubbub.server.core.call import Call
from hubbub.server.core.config import Config
from hubbub.server.core.slices import handles
from hubbub.server.identity import applications
from hubbub.server.identity.identity_providers import actions, store
from hubbub.server.identity.identity_providers.actions import ProviderSettings
from hubbub.server.identity.identity_providers.store import ProviderRow
from hubbub.server.identity.identity_providers.tokens import issuers, oidc
from hubbub.server.identity.identity_providers.tokens.issuers import IssuerValidation

PROVIDER_TYPES = get_args(wire.ProviderType)
"""Provider types that applications can configure."""


@handles(wire.LIST_EXTERNAL_IDENTITY_PROVIDER_CONFIGURATIONS)
def list_external_identity_provider_configurations(
    call: Call, application_id: ApplicationId
) -> list[wire.ProviderConfiguration]:
    """List the identity providers of an application."""
    applications.access.require_viewer(call, application_id)
    return [_configuration_view(call.config, row) for row in store.list_application_providers(call.tx, application_id)]


@handles(wire.SET_EXTERNAL_IDENTITY_PROVIDER_CONFIGURATION)
async def set_external_identity_provider_configuration(
    operation: AsyncOperation, application_id: ApplicationId, type: str, body: wire.SetProviderConfiguration
) -> wire.ProviderConfiguration:
    """Set an identity provider of an application.

    An OIDC issuer must be reachable and valid when it is saved. Its discovery document and keys are fetched without the
    cache."""

    def check_request(call: Call) -> tuple[Config, int]:
        _require_manager_and_type(call, application_id, type)
        return call.config, call.now_ms

    config, now_ms = await operation.read(check_request)
    validation = IssuerValidation.choose(now_ms, allows_any_host=config.identity.allow_any_issuer)
    settings = ProviderSettings(clients=body.clients, oidc_issuer_url=body.oidc_issuer_url or None)
    _require_distinct_clients(settings)
    if type == "OIDC":
        for issuer_url in _require_issuers(settings, config, is_strict=validation.is_strict):
            await oidc.require_valid_issuer(operation, issuer_url, now_ms, validation)
    elif settings.oidc_issuer_url or any(client.oidc_issuer_url for client in settings.clients):
        raise errors.invalid(
            "oidc_issuer_url", "OIDC_ISSUER_NOT_ALLOWED", "Only OIDC providers can have an issuer URL."
        )

    def save(call: Call) -> wire.ProviderConfiguration:
        _require_manager_and_type(call, application_id, type)
        row = actions.save_provider(call, application_id, type, settings, validation)
        return _configuration_view(call.config, row)

    return await operation.write(save)


@handles(wire.DELETE_EXTERNAL_IDENTITY_PROVIDER_CONFIGURATION)
def delete_external_identity_provider_configuration(call: Call, application_id: ApplicationId, type: str) -> None:
    """Delete an identity provider of an application.

    Existing identities of players are kept."""
    _require_manager_and_type(call, application_id, type)
    if not store.delete(call.tx, application_id, type):
        raise errors.NOT_FOUND()


def _require_manager_and_type(call: Call, application_id: int, type: str) -> None:
    """Raise unless the caller manages the application and it can configure the provider type."""
    applications.access.require_manager(call, application_id)
    if type not in PROVIDER_TYPES:
        raise errors.invalid("type", *errors.choices(list(PROVIDER_TYPES)))


def _require_distinct_clients(settings: ProviderSettings) -> None:
    client_ids: set[str] = set()
    for index, client in enumerate(settings.clients):
        if client.id in client_ids:
            raise errors.invalid(("clients", index, "id"), "CLIENT_ID_REPEATED", "Each client can be listed only once.")
        client_ids.add(client.id)


def _require_issuers(settings: ProviderSettings, config: Config, *, is_strict: bool) -> list[str]:
    """Return the URLs of all issuers, each once, or raise form errors for missing and invalid issuers."""
    form = errors.FormErrors()
    issuer_urls: dict[str, None] = {}
    if settings.oidc_issuer_url:
        _add_issuer_or_error(
            form, ("oidc_issuer_url",), settings.oidc_issuer_url, config, issuer_urls, is_strict=is_strict
        )
    for index, client in enumerate(settings.clients):
        if client.oidc_issuer_url:
            path = ("clients", index, "oidc_issuer_url")
            _add_issuer_or_error(form, path, client.oidc_issuer_url, config, issuer_urls, is_strict=is_strict)
        elif not settings.oidc_issuer_url:
            form.add("oidc_issuer_url", *errors.required())
            break
    form.raise_if_any()
    return list(issuer_urls)


def _add_issuer_or_error(
    form: errors.FormErrors,
    path: tuple[str | int, ...],
    url: str,
    config: Config,
    issuer_urls: dict[str, None],
    *,
    is_strict: bool,
) -> None:
    """Add the URL of a valid issuer to `issuer_urls`, or add a form error."""
    issuer_url = issuers.resolve_issuer_url(config, url)
    problem = issuers.find_issuer_problem(issuer_url, is_strict=is_strict)
    if problem is None:
        issuer_urls[issuer_url] = None
    else:
        form.add(path, "OIDC_ISSUER_INVALID", problem)


def _configuration_view(config: Config, row: ProviderRow) -> wire.ProviderConfiguration:
    settings = actions.decode_settings(row)
    issuer_url = settings.oidc_issuer_url
    return wire.ProviderConfiguration(
        type=row.type,
        clients=settings.clients,
        oidc_issuer_url=None if issuer_url is None else issuers.resolve_issuer_url(config, issuer_url),
    )

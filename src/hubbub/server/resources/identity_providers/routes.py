"""Identity providers over HTTP, for whoever manages the application."""

from typing import get_args

from hubbub.protocol import changes, errors
from hubbub.protocol.ids import ApplicationId
from hubbub.protocol.resources import identity_providers as wire
from hubbub.server.core.call import Call
from hubbub.server.core.config import Config
from hubbub.server.core.slices import handles
from hubbub.server.core.work import Work
from hubbub.server.resources import applications
from hubbub.server.resources.identity_providers import actions, issuers, oidc, store
from hubbub.server.resources.identity_providers.actions import Settings
from hubbub.server.resources.identity_providers.store import ProviderRow

TYPES = get_args(wire.ProviderType)


@handles(wire.LIST_EXTERNAL_IDENTITY_PROVIDER_CONFIGURATIONS)
def list_external_identity_provider_configurations(
    call: Call, application_id: ApplicationId
) -> list[wire.ProviderConfiguration]:
    """Whom an application believes."""
    applications.require_manager(call, application_id)
    return [_shown(call.config, row) for row in store.list_all(call.tx, application_id)]


@handles(wire.SET_EXTERNAL_IDENTITY_PROVIDER_CONFIGURATION)
async def set_external_identity_provider_configuration(
    work: Work, application_id: ApplicationId, type: str, body: wire.SetProviderConfiguration
) -> wire.ProviderConfiguration:
    """Believe a provider; an OIDC issuer must be there and look sound now."""
    config, now = await work.read(lambda call: _require(call, application_id, type))
    strict = not config.identity.any_issuer and changes.OIDC_STRICT_ISSUER.active(now)
    settings = Settings(clients=body.clients, oidc_issuer_url=body.oidc_issuer_url or None)
    _require_distinct(settings)
    if type == "OIDC":
        for issuer in _require_issuers(settings, config, strict=strict):
            await oidc.require_issuer(work, issuer, now, strict=strict)
    elif settings.oidc_issuer_url or any(client.oidc_issuer_url for client in settings.clients):
        raise errors.invalid("oidc_issuer_url", "OIDC_ISSUER_NOT_ALLOWED", "Only OIDC has issuers of one's own.")

    def keep(call: Call) -> wire.ProviderConfiguration:
        _require(call, application_id, type)
        row = actions.keep(call, application_id, type, settings, strict=strict)
        return _shown(call.config, row)

    return await work.write(keep)


@handles(wire.DELETE_EXTERNAL_IDENTITY_PROVIDER_CONFIGURATION)
def delete_external_identity_provider_configuration(call: Call, application_id: ApplicationId, type: str) -> None:
    """Believe a provider no longer; players who came by it stay who they are."""
    _require(call, application_id, type)
    if not store.delete(call.tx, application_id, type):
        raise errors.NOT_FOUND()


def _require(call: Call, application_id: int, type: str) -> tuple[Config, int]:
    applications.require_manager(call, application_id)
    if type not in TYPES:
        raise errors.invalid("type", *errors.choices(list(TYPES)))
    return call.config, call.now


def _require_distinct(settings: Settings) -> None:
    seen: set[str] = set()
    for number, client in enumerate(settings.clients):
        if client.id in seen:
            raise errors.invalid(("clients", number, "id"), "CLIENT_ID_REPEATED", "A client can be named once only.")
        seen.add(client.id)


def _require_issuers(settings: Settings, config: Config, *, strict: bool) -> list[str]:
    """The addresses of all issuers, each once; form errors where they cannot be any."""
    form = errors.FormErrors()
    found: dict[str, None] = {}
    if settings.oidc_issuer_url:
        _judge(form, ("oidc_issuer_url",), settings.oidc_issuer_url, config, found, strict=strict)
    for number, client in enumerate(settings.clients):
        if client.oidc_issuer_url:
            path = ("clients", number, "oidc_issuer_url")
            _judge(form, path, client.oidc_issuer_url, config, found, strict=strict)
        elif not settings.oidc_issuer_url:
            form.add("oidc_issuer_url", *errors.required())
            break
    form.raise_if_any()
    return list(found)


def _judge(
    form: errors.FormErrors,
    path: tuple[str | int, ...],
    url: str,
    config: Config,
    found: dict[str, None],
    *,
    strict: bool,
) -> None:
    address = issuers.address_of(config, url)
    problem = issuers.find_problem(address, strict=strict)
    if problem is None:
        found[address] = None
    else:
        form.add(path, "OIDC_ISSUER_INVALID", problem)


def _shown(config: Config, row: ProviderRow) -> wire.ProviderConfiguration:
    settings = actions.settings(row)
    issuer = settings.oidc_issuer_url
    return wire.ProviderConfiguration(
        type=row.type,
        clients=settings.clients,
        oidc_issuer_url=None if issuer is None else issuers.address_of(config, issuer),
    )

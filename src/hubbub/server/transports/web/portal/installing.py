"""Where an application can be installed, and what it asks for there."""

from typing import Any, Final

from aiohttp import web
from msgspec import UNSET

from hubbub.protocol.errors import ApiError
from hubbub.protocol.permissions import BITS, names
from hubbub.protocol.resources.applications import Application, IntegrationTypeConfiguration
from hubbub.protocol.scopes import SCOPES
from hubbub.server.transports.web.portal.common import ONE, PERMISSIONS, address, change, load, refuse, show
from hubbub.server.transports.web.visits import Visit, page

HERE = ONE + "/installation"

CONTEXTS: Final = (
    ("0", "guild", "In guilds", "Somebody who manages a guild adds it there, for everybody."),
    ("1", "user", "For people", "A person takes it along, wherever they are."),
)


@page("GET", HERE)
async def show_installation(visit: Visit) -> web.Response:
    """Both contexts."""
    application = await load(visit)
    return show(visit, "installation.html", application, **_settings(visit, application))


@page("POST", HERE)
async def change_installation(visit: Visit) -> web.Response:
    """Keep what was ticked."""
    form = visit.form
    config: dict[str, Any] = {}
    for key, name, _, _ in CONTEXTS:
        if form.ticked(f"{name}_on"):
            params = {
                "scopes": form.line(f"{name}_scopes").split(),
                "permissions": str(sum(BITS[each] for each in set(form.all(f"{name}_permission")) & set(BITS))),
            }
            config[key] = {"oauth2_install_params": params} if params["scopes"] else {}
    body = {"integration_types_config": config, "custom_install_url": form.optional("custom_install_url")}
    try:
        await change(visit, body)
    except ApiError as error:
        application = await load(visit)
        to = {
            f"integration_types_config.{key}.oauth2_install_params.scopes.{number}": f"{name}_scopes"
            for key, name, _, _ in CONTEXTS
            for number in range(len(SCOPES))
        }
        fields = ("guild_scopes", "user_scopes", "custom_install_url")
        context = _settings(visit, application)
        return refuse(visit, "installation.html", error, application, fields=fields, names=to, **context)
    return visit.go(address(visit, "/installation"), say="Saved.")


def _settings(visit: Visit, application: Application) -> dict[str, Any]:
    config = application.integration_types_config
    contexts = []
    for key, name, title, words in CONTEXTS:
        kept = config.get(key) if isinstance(config, dict) else None
        params = None
        if isinstance(kept, IntegrationTypeConfiguration) and kept.oauth2_install_params is not UNSET:
            params = kept.oauth2_install_params
        contexts.append(
            {
                "name": name,
                "title": title,
                "words": words,
                "on": kept is not None,
                "scopes": " ".join(params.scopes) if params is not None else "",
                "permissions": names(int(params.permissions)) if params is not None else [],
            }
        )
    return {
        "contexts": contexts,
        "permissions": PERMISSIONS,
        "link": f"{visit.config.web_url}/oauth2/authorize?client_id={application.id:d}",
    }

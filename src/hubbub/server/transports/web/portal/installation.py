"""Portal page for the installation contexts of an application, with the scopes and permissions requested in each."""

from typing import Any, Final, NamedTuple

from aiohttp import web
from msgspec import UNSET

from hubbub.protocol.errors import ApiError
from hubbub.protocol.permissions import PERMISSIONS_BY_NAME, permission_names
from hubbub.protocol.resources.applications import Application, IntegrationTypeConfiguration
from hubbub.protocol.scopes import SCOPES
from hubbub.server.core.translation import gettext, gettext_noop
from hubbub.server.transports.web.page_requests import PageRequest, page
from hubbub.server.transports.web.portal.common import (
    APPLICATION_PATH,
    list_permissions,
    load_application,
    render,
    render_errors,
    section_path,
    update_application,
)

PATH: Final = APPLICATION_PATH + "/installation"


class InstallationContext(NamedTuple):
    """A place in which an application can be installed."""

    key: str
    """Key in `integration_types_config`."""
    prefix: str
    """Prefix of the names of form fields."""
    title: str
    description: str


INSTALLATION_CONTEXTS: Final = (
    InstallationContext(
        "0", "guild", gettext_noop("Guild install"), gettext_noop("A guild manager adds the app for all members.")
    ),
    InstallationContext(
        "1",
        "user",
        gettext_noop("User install"),
        gettext_noop("A user adds the app to their account and can use it everywhere."),
    ),
)


@page("GET", PATH)
async def show_installation(request: PageRequest) -> web.Response:
    """Show the installation settings."""
    application = await load_application(request)
    return render(request, "installation.html", application, **_template_variables(request, application))


@page("POST", PATH)
async def change_installation(request: PageRequest) -> web.Response:
    """Save the installation settings."""
    form = request.form
    config: dict[str, Any] = {}
    for context in INSTALLATION_CONTEXTS:
        if form.checked(f"{context.prefix}_on"):
            install_params = {
                "scopes": form.trimmed(f"{context.prefix}_scopes").split(),
                "permissions": str(
                    sum(
                        PERMISSIONS_BY_NAME[permission]
                        for permission in set(form.all(f"{context.prefix}_permission")) & set(PERMISSIONS_BY_NAME)
                    )
                ),
            }
            config[context.key] = {"oauth2_install_params": install_params} if install_params["scopes"] else {}
    body = {"integration_types_config": config, "custom_install_url": form.optional("custom_install_url")}
    try:
        await update_application(request, body)
    except ApiError as error:
        application = await load_application(request)
        # The API reports an invalid scope by its index; all scopes of a context belong to one form field. Only a
        # list that repeats scopes has higher indexes.
        field_names = {
            f"integration_types_config.{context.key}.oauth2_install_params.scopes.{index}": f"{context.prefix}_scopes"
            for context in INSTALLATION_CONTEXTS
            for index in range(len(SCOPES))
        }
        fields = ("guild_scopes", "user_scopes", "custom_install_url")
        variables = _template_variables(request, application)
        return render_errors(
            request, "installation.html", error, application, fields=fields, form_field_names=field_names, **variables
        )
    return request.redirect(section_path(request, "/installation"), notice=gettext("Saved."))


def _template_variables(request: PageRequest, application: Application) -> dict[str, Any]:
    config = application.integration_types_config
    contexts = []
    for context in INSTALLATION_CONTEXTS:
        stored_config = config.get(context.key) if isinstance(config, dict) else None
        install_params = None
        if isinstance(stored_config, IntegrationTypeConfiguration) and stored_config.oauth2_install_params is not UNSET:
            install_params = stored_config.oauth2_install_params
        contexts.append(
            {
                "prefix": context.prefix,
                "title": gettext(context.title),
                "description": gettext(context.description),
                "is_enabled": stored_config is not None,
                "scopes": " ".join(install_params.scopes) if install_params is not None else "",
                "permissions": permission_names(int(install_params.permissions)) if install_params is not None else [],
            }
        )
    return {
        "contexts": contexts,
        "permissions": list_permissions(),
        "link": f"{request.config.web_url}/oauth2/authorize?client_id={application.id:d}",
    }

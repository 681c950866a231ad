"""Portal page for the installation contexts of an application, with the scopes and permissions requested in each."""

from typing import Any, Final

from aiohttp import web
from msgspec import UNSET

from hubbub.protocol.errors import ApiError
from hubbub.protocol.permissions import PERMISSIONS_BY_NAME, permission_names
from hubbub.protocol.resources.applications import Application, IntegrationTypeConfiguration
from hubbub.protocol.scopes import SCOPES
from hubbub.server.transports.web.page_requests import PageRequest, page
from hubbub.server.transports.web.portal.common import (
    APPLICATION_PATH,
    PERMISSIONS,
    load_application,
    render,
    render_errors,
    section_path,
    update_application,
)

PATH = APPLICATION_PATH + "/installation"

CONTEXTS: Final = (
    ("0", "guild", "Guild install", "A guild manager adds the app for all members."),
    ("1", "user", "User install", "A user adds the app to their account and can use it everywhere."),
)
"""Key in `integration_types_config`, prefix of the form fields, title and description of each context."""


@page("GET", PATH)
async def show_installation(request: PageRequest) -> web.Response:
    """Show the installation settings."""
    application = await load_application(request)
    return render(request, "installation.html", application, **_settings_context(request, application))


@page("POST", PATH)
async def change_installation(request: PageRequest) -> web.Response:
    """Save the installation settings."""
    form = request.form
    config: dict[str, Any] = {}
    for key, name, _, _ in CONTEXTS:
        if form.checked(f"{name}_on"):
            install_params = {
                "scopes": form.trimmed(f"{name}_scopes").split(),
                "permissions": str(
                    sum(
                        PERMISSIONS_BY_NAME[permission]
                        for permission in set(form.all(f"{name}_permission")) & set(PERMISSIONS_BY_NAME)
                    )
                ),
            }
            config[key] = {"oauth2_install_params": install_params} if install_params["scopes"] else {}
    body = {"integration_types_config": config, "custom_install_url": form.optional("custom_install_url")}
    try:
        await update_application(request, body)
    except ApiError as error:
        application = await load_application(request)
        field_names = {
            f"integration_types_config.{key}.oauth2_install_params.scopes.{number}": f"{name}_scopes"
            for key, name, _, _ in CONTEXTS
            for number in range(len(SCOPES))
        }
        fields = ("guild_scopes", "user_scopes", "custom_install_url")
        context = _settings_context(request, application)
        return render_errors(
            request, "installation.html", error, application, fields=fields, form_field_names=field_names, **context
        )
    return request.redirect(section_path(request, "/installation"), notice="Saved.")


def _settings_context(request: PageRequest, application: Application) -> dict[str, Any]:
    config = application.integration_types_config
    contexts = []
    for key, name, title, description in CONTEXTS:
        stored_config = config.get(key) if isinstance(config, dict) else None
        install_params = None
        if isinstance(stored_config, IntegrationTypeConfiguration) and stored_config.oauth2_install_params is not UNSET:
            install_params = stored_config.oauth2_install_params
        contexts.append(
            {
                "name": name,
                "title": title,
                "description": description,
                "on": stored_config is not None,
                "scopes": " ".join(install_params.scopes) if install_params is not None else "",
                "permissions": permission_names(int(install_params.permissions)) if install_params is not None else [],
            }
        )
    return {
        "contexts": contexts,
        "permissions": PERMISSIONS,
        "link": f"{request.config.web_url}/oauth2/authorize?client_id={application.id:d}",
    }

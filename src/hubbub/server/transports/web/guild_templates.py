"""The page behind a guild template link, where a user previews the template and creates a guild from it."""

from typing import Any, Final

from aiohttp import web

from hubbub.protocol import errors
from hubbub.protocol.enums import ChannelType
from hubbub.protocol.errors import ApiError
from hubbub.protocol.resources import templates as wire
from hubbub.server.core.translation import gettext, gettext_noop
from hubbub.server.transports.web.conversations import PATH as CONVERSATIONS_PATH
from hubbub.server.transports.web.message_views import display_name
from hubbub.server.transports.web.page_requests import PageRequest, page

TEMPLATE_PATH: Final = "/template/{code}"

ERROR_TEXTS: Final = {
    errors.UNKNOWN_GUILD_TEMPLATE: gettext_noop("This template does not exist or was deleted."),
    errors.MAX_GUILDS: gettext_noop("You have reached the maximum number of guilds. Leave a guild first."),
    errors.MORE_BOOSTS_NEEDED: gettext_noop("This template needs features that a new guild does not have."),
}
"""Texts for users that replace the API's error messages."""


@page("GET", TEMPLATE_PATH, is_public=True)
async def show_template(request: PageRequest) -> web.Response:
    """Show the preview of a guild template and the form that creates a guild from it."""
    return await _show_preview(request)


@page("POST", TEMPLATE_PATH)
async def create_guild(request: PageRequest) -> web.Response:
    """Create a guild from the template."""
    try:
        guild = await request.call(
            wire.CREATE_GUILD_FROM_TEMPLATE, request.path_parameter("code"), body={"name": request.form.trimmed("name")}
        )
    except ApiError as error:
        return await _show_preview(request, _with_user_text(error))
    return request.redirect(
        f"{CONVERSATIONS_PATH}/channels/{int(guild.id)}", notice=gettext("{name} was created.", name=guild.name)
    )


async def _show_preview(request: PageRequest, error: ApiError | None = None) -> web.Response:
    try:
        template = await request.call(wire.GET_GUILD_TEMPLATE, request.path_parameter("code"))
    except ApiError as load_error:
        return request.error_page(_with_user_text(load_error))
    source_guild = template.serialized_source_guild
    context: dict[str, Any] = {
        "guild_template": template,
        "creator": display_name(template.creator) if template.creator else None,
        # Role 0 of a template is @everyone.
        "roles": [role.name for role in source_guild.roles if role.id != 0],
        "channels": [
            channel.name
            for channel in source_guild.channels
            if channel.type != ChannelType.GUILD_CATEGORY and channel.name
        ],
    }
    if error is None:
        return request.render("guild_template.html", **context)
    return request.render_errors("guild_template.html", error, fields=("name",), **context)


def _with_user_text(error: ApiError) -> ApiError:
    return error.kind(message=gettext(ERROR_TEXTS[error.kind])) if error.kind in ERROR_TEXTS else error

"""The page behind a guild template's link: what a guild of that shape has, and making one."""

from typing import Any, Final

from aiohttp import web

from hubbub.protocol import errors
from hubbub.protocol.enums import ChannelType
from hubbub.protocol.errors import ApiError
from hubbub.protocol.resources import templates as wire
from hubbub.server.transports.web.conversations import HERE as CONVERSATIONS
from hubbub.server.transports.web.spoken import name_of
from hubbub.server.transports.web.visits import Visit, page

TEMPLATE: Final = "/template/{code}"

WORDS: Final = {
    errors.UNKNOWN_GUILD_TEMPLATE: "There is no such template, or not any more.",
    errors.MAX_GUILDS: "You are in as many guilds as one can be in. Leave one first.",
    errors.MORE_BOOSTS_NEEDED: "A new guild cannot have all that this template asks for.",
}
"""What a person is told instead of the API's sentence."""


@page("GET", TEMPLATE, anyone=True)
async def show_template(visit: Visit) -> web.Response:
    """What it would make."""
    return await _show(visit)


@page("POST", TEMPLATE)
async def make_guild(visit: Visit) -> web.Response:
    """Make a guild of this shape."""
    try:
        guild = await visit.ask(
            wire.CREATE_GUILD_FROM_TEMPLATE, visit.path("code"), body={"name": visit.form.line("name")}
        )
    except ApiError as error:
        return await _show(visit, _told(error))
    return visit.go(f"{CONVERSATIONS}/channels/{int(guild.id)}", say=f"{guild.name} is yours.")


async def _show(visit: Visit, error: ApiError | None = None) -> web.Response:
    try:
        template = await visit.ask(wire.GET_GUILD_TEMPLATE, visit.path("code"))
    except ApiError as gone:
        return visit.problem(_told(gone))
    source = template.serialized_source_guild
    context: dict[str, Any] = {
        "shape": template,
        "creator": name_of(template.creator) if template.creator else None,
        # The first role of a template is everybody's.
        "roles": [role.name for role in source.roles if role.id != 0],
        "channels": [each.name for each in source.channels if each.type != ChannelType.GUILD_CATEGORY and each.name],
    }
    if error is None:
        return visit.show("guild_template.html", **context)
    return visit.refuse("guild_template.html", error, fields=("name",), **context)


def _told(error: ApiError) -> ApiError:
    return error.kind(message=WORDS[error.kind]) if error.kind in WORDS else error

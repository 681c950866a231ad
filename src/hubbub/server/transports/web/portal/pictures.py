"""Emoji that only the application uses, and pictures that its players' activities name."""

from typing import Any

from aiohttp import web

from hubbub.protocol import errors
from hubbub.protocol.errors import ApiError
from hubbub.protocol.resources import developers, emojis
from hubbub.server.transports.web.portal.common import ONE, address, load, refuse, show
from hubbub.server.transports.web.visits import Visit, page

HERE = ONE + "/pictures"


@page("GET", HERE)
async def show_pictures(visit: Visit) -> web.Response:
    """Both kinds."""
    return show(visit, "pictures.html", await load(visit), **await _pictures(visit))


@page("POST", HERE + "/emoji", file="emoji_image")
async def add_emoji(visit: Visit) -> web.Response:
    """Another emoji."""
    body = {"name": visit.form.line("emoji_name"), "image": visit.form.data_uri("emoji_image")}
    return await _add(visit, emojis.CREATE_APPLICATION_EMOJI, body, "emoji")


@page("POST", HERE + "/art", file="art_image")
async def add_art(visit: Visit) -> web.Response:
    """Another picture for rich presence."""
    body = {"name": visit.form.line("art_name"), "image": visit.form.data_uri("art_image")}
    return await _add(visit, developers.CREATE_APPLICATION_ASSET, body, "art")


async def _add(visit: Visit, operation: Any, body: dict[str, Any], kind: str) -> web.Response:
    names = {"name": f"{kind}_name", "image": f"{kind}_image"}
    try:
        if body["image"] is None:
            raise errors.invalid("image", "BASE_TYPE_REQUIRED", "Choose a picture.")
        await visit.ask(operation, visit.path("application_id"), body=body)
    except ApiError as error:
        fields = tuple(names.values())
        context = await _pictures(visit)
        return refuse(visit, "pictures.html", error, await load(visit), fields=fields, names=names, **context)
    return visit.go(address(visit, "/pictures"), say="Added.")


@page("POST", HERE + "/emoji/{picture_id:[0-9]{1,19}}/delete")
async def delete_emoji(visit: Visit) -> web.Response:
    """One emoji less."""
    return await _delete(visit, emojis.DELETE_APPLICATION_EMOJI, errors.UNKNOWN_EMOJI)


@page("POST", HERE + "/art/{picture_id:[0-9]{1,19}}/delete")
async def delete_art(visit: Visit) -> web.Response:
    """One picture less."""
    return await _delete(visit, developers.DELETE_APPLICATION_ASSET, errors.UNKNOWN_ASSET)


async def _delete(visit: Visit, operation: Any, unknown: errors.ErrorCode) -> web.Response:
    try:
        await visit.ask(operation, visit.path("application_id"), visit.path("picture_id"))
    except ApiError as error:
        # Pressed twice: it is gone, which is what was wanted.
        if error.kind is not unknown:
            raise
    return visit.go(address(visit, "/pictures"), say="Deleted.")


async def _pictures(visit: Visit) -> dict[str, Any]:
    application_id = visit.path("application_id")
    return {
        "emojis": (await visit.ask(emojis.LIST_APPLICATION_EMOJIS, application_id)).items,
        "art": await visit.ask(developers.LIST_APPLICATION_ASSETS, application_id),
        "emojis_max": emojis.APPLICATION_EMOJIS_MAX,
        "art_max": developers.APPLICATION_ASSETS_MAX,
    }

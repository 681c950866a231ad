"""Portal page for the images of an application: emoji, and art assets for rich presence."""

from typing import Any

from aiohttp import web

from hubbub.protocol import errors
from hubbub.protocol.errors import ApiError
from hubbub.protocol.resources import developers, emojis
from hubbub.server.core.translation import gettext
from hubbub.server.transports.web.page_requests import PageRequest, page
from hubbub.server.transports.web.portal.common import (
    APPLICATION_PATH,
    load_application,
    render,
    render_errors,
    section_path,
)

PATH = APPLICATION_PATH + "/pictures"


@page("GET", PATH)
async def show_images(request: PageRequest) -> web.Response:
    """Show the emoji and art assets."""
    return render(request, "pictures.html", await load_application(request), **await _images_context(request))


@page("POST", PATH + "/emoji", file_field="emoji_image")
async def add_emoji(request: PageRequest) -> web.Response:
    """Add an emoji from an uploaded image."""
    body = {"name": request.form.trimmed("emoji_name"), "image": request.form.data_uri("emoji_image")}
    return await _add_image(request, emojis.CREATE_APPLICATION_EMOJI, body, "emoji")


@page("POST", PATH + "/art", file_field="art_image")
async def add_art(request: PageRequest) -> web.Response:
    """Add an art asset."""
    body = {"name": request.form.trimmed("art_name"), "image": request.form.data_uri("art_image")}
    return await _add_image(request, developers.CREATE_APPLICATION_ASSET, body, "art")


async def _add_image(request: PageRequest, operation: Any, body: dict[str, Any], kind: str) -> web.Response:
    """Create an emoji or an art asset. `kind` is the prefix of the form's fields."""
    form_field_names = {"name": f"{kind}_name", "image": f"{kind}_image"}
    try:
        if body["image"] is None:
            raise errors.invalid("image", "BASE_TYPE_REQUIRED", gettext("Choose an image."))
        await request.call(operation, request.path_parameter("application_id"), body=body)
    except ApiError as error:
        fields = tuple(form_field_names.values())
        context = await _images_context(request)
        return render_errors(
            request,
            "pictures.html",
            error,
            await load_application(request),
            fields=fields,
            form_field_names=form_field_names,
            **context,
        )
    return request.redirect(section_path(request, "/pictures"), notice=gettext("Image added."))


@page("POST", PATH + "/emoji/{image_id:[0-9]{1,19}}/delete")
async def delete_emoji(request: PageRequest) -> web.Response:
    """Delete an emoji of the application."""
    return await _delete_image(request, emojis.DELETE_APPLICATION_EMOJI, errors.UNKNOWN_EMOJI)


@page("POST", PATH + "/art/{image_id:[0-9]{1,19}}/delete")
async def delete_art(request: PageRequest) -> web.Response:
    """Delete an art asset."""
    return await _delete_image(request, developers.DELETE_APPLICATION_ASSET, errors.UNKNOWN_ASSET)


async def _delete_image(request: PageRequest, operation: Any, unknown_error: errors.ErrorCode) -> web.Response:
    """Delete an image; `unknown_error` means that it is already deleted."""
    try:
        await request.call(operation, request.path_parameter("application_id"), request.path_parameter("image_id"))
    except ApiError as error:
        # The image was already deleted by a second submit.
        if error.kind is not unknown_error:
            raise
    return request.redirect(section_path(request, "/pictures"), notice=gettext("Image deleted."))


async def _images_context(request: PageRequest) -> dict[str, Any]:
    application_id = request.path_parameter("application_id")
    return {
        "emojis": (await request.call(emojis.LIST_APPLICATION_EMOJIS, application_id)).items,
        "art": await request.call(developers.LIST_APPLICATION_ASSETS, application_id),
        "emojis_max": emojis.APPLICATION_EMOJIS_MAX,
        "art_max": developers.APPLICATION_ASSETS_MAX,
    }

"""Portal pages for the SKUs of an application, where they are created, changed, published, unpublished and deleted."""

import contextlib
from typing import Any, Final

from aiohttp import web

from hubbub.protocol import errors
from hubbub.protocol.enums import SkuType
from hubbub.protocol.errors import ApiError
from hubbub.protocol.flags import SkuFlags
from hubbub.protocol.resources import skus
from hubbub.server.core.translation import gettext, gettext_noop
from hubbub.server.transports.web.forms import Form
from hubbub.server.transports.web.page_requests import PageRequest, page
from hubbub.server.transports.web.portal.common import (
    APPLICATION_PATH,
    load_application,
    render,
    render_errors,
    section_path,
)
from hubbub.server.transports.web.prices import InvalidPriceError, parse_price

PATH: Final = APPLICATION_PATH + "/store"
SKU_PATH: Final = PATH + r"/{sku_id:\d{1,19}}"
FIELDS: Final = ("name", "description", "kind", "price", "currency")

KINDS: Final = {
    "durable": (SkuType.DURABLE, 0, gettext_noop("One-time purchase")),
    "consumable": (SkuType.CONSUMABLE, 0, gettext_noop("Consumable")),
    "users": (SkuType.SUBSCRIPTION, int(SkuFlags.USER_SUBSCRIPTION), gettext_noop("Monthly subscription for users")),
    "guilds": (SkuType.SUBSCRIPTION, int(SkuFlags.GUILD_SUBSCRIPTION), gettext_noop("Monthly subscription for guilds")),
}
"""SKU type, flags and label of each choice in the form."""


@page("GET", PATH)
async def show_store(request: PageRequest) -> web.Response:
    """List the application's SKUs."""
    return render(request, "store.html", await load_application(request), **await _skus_context(request))


@page("POST", PATH)
async def create_sku(request: PageRequest) -> web.Response:
    """Create a SKU, and publish it if the checkbox is checked."""
    form = request.form
    sku_type, flags, _ = KINDS.get(form.trimmed("kind"), (0, 0, ""))
    body = {"type": int(sku_type), "flags": flags, "published": form.checked("published"), **_read_fields(form)}
    try:
        sku = await request.call(skus.CREATE_SKU, request.path_parameter("application_id"), body=body)
    except ApiError as error:
        form_field_names, context = {"type": "kind", "flags": "kind"}, await _skus_context(request)
        error = _explain_price(error, form)
        return render_errors(
            request,
            "store.html",
            error,
            await load_application(request),
            fields=FIELDS,
            form_field_names=form_field_names,
            **context,
        )
    notice = (
        gettext("{name} was published.", name=sku.name)
        if body["published"]
        else gettext("{name} was created.", name=sku.name)
    )
    return request.redirect(section_path(request, "/store"), notice=notice)


@page("GET", SKU_PATH)
async def show_sku(request: PageRequest) -> web.Response:
    """Show the form that changes a SKU."""
    return render(request, "sku.html", await load_application(request), sku=await _load_sku(request))


@page("POST", SKU_PATH)
async def change_sku(request: PageRequest) -> web.Response:
    """Change the name, description, price and listing of a SKU."""
    ids = request.path_parameter("application_id"), request.path_parameter("sku_id")
    try:
        sku = await request.call(skus.UPDATE_SKU, *ids, body=_read_fields(request.form))
    except ApiError as error:
        if error.kind is not errors.INVALID_FORM_BODY:
            raise
        application, sku = await load_application(request), await _load_sku(request)
        error = _explain_price(error, request.form)
        return render_errors(request, "sku.html", error, application, fields=FIELDS, sku=sku)
    return request.redirect(section_path(request, "/store"), notice=gettext("{name} was saved.", name=sku.name))


@page("POST", SKU_PATH + "/delete")
async def delete_sku(request: PageRequest) -> web.Response:
    """Delete a SKU. Its owners keep it."""
    ids = request.path_parameter("application_id"), request.path_parameter("sku_id")
    await request.call(skus.DELETE_SKU, *ids)
    return request.redirect(section_path(request, "/store"), notice=gettext("The SKU was deleted. Its owners keep it."))


@page("POST", SKU_PATH + "/publish")
async def publish(request: PageRequest) -> web.Response:
    """Publish a SKU."""
    sku = await _update_published(request, is_published=True)
    return request.redirect(section_path(request, "/store"), notice=gettext("{name} was published.", name=sku.name))


@page("POST", SKU_PATH + "/unpublish")
async def unpublish(request: PageRequest) -> web.Response:
    """Unpublish a SKU."""
    sku = await _update_published(request, is_published=False)
    notice = gettext(
        "{name} was unpublished. Owners keep it; subscriptions end with the paid period.",
        name=sku.name,
    )
    return request.redirect(section_path(request, "/store"), notice=notice)


async def _update_published(request: PageRequest, *, is_published: bool) -> skus.StoreSku:
    """Publish or unpublish the SKU of the path, and return it."""
    ids = request.path_parameter("application_id"), request.path_parameter("sku_id")
    return await request.call(skus.UPDATE_SKU, *ids, body={"published": is_published})


def _read_fields(form: Form) -> dict[str, Any]:
    """Return the fields of a SKU that can be changed. A price that cannot be read is sent as text, to be rejected."""
    currency = form.trimmed("currency").lower()
    price: int | str = form.trimmed("price")
    with contextlib.suppress(InvalidPriceError):
        price = parse_price(form.trimmed("price"), currency)
    return {
        "name": form.trimmed("name"),
        "description": form.optional("description"),
        "price": price,
        "currency": currency,
        "listed": form.checked("listed"),
    }


def _explain_price(error: ApiError, form: Form) -> ApiError:
    """Replace the error of a price that cannot be read by one that says what to enter."""
    try:
        parse_price(form.trimmed("price"), form.trimmed("currency").lower())
    except InvalidPriceError as problem:
        price = errors.invalid("price", "PRICE_INVALID", str(problem))
        return ApiError(error.kind, errors=(error.errors or {}) | (price.errors or {}), extra=error.extra)
    return error


async def _load_sku(request: PageRequest) -> skus.StoreSku:
    """Return the SKU of the path; raise UNKNOWN_SKU if it does not exist or was deleted."""
    store_skus = await request.call(skus.LIST_STORE_SKUS, request.path_parameter("application_id"))
    matching_sku = next((sku for sku in store_skus if f"{sku.id:d}" == request.path_parameter("sku_id")), None)
    if matching_sku is None:
        raise errors.UNKNOWN_SKU()
    return matching_sku


async def _skus_context(request: PageRequest) -> dict[str, Any]:
    store_skus = await request.call(skus.LIST_STORE_SKUS, request.path_parameter("application_id"))
    labels = {(sku_type, flags): label for sku_type, flags, label in KINDS.values()}
    skus_with_kind = [(sku, gettext(labels[sku.type, sku.flags & ~SkuFlags.AVAILABLE])) for sku in store_skus]
    return {"skus": skus_with_kind, "kinds": [(key, gettext(label)) for key, (_, _, label) in KINDS.items()]}

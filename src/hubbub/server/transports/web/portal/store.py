"""Portal page for the SKUs of an application, where they are created, published and unpublished."""

from typing import Any, Final

from aiohttp import web

from hubbub.protocol.enums import SkuType
from hubbub.protocol.errors import ApiError
from hubbub.protocol.flags import SkuFlags
from hubbub.protocol.resources import skus
from hubbub.server.transports.web.page_requests import PageRequest, page
from hubbub.server.transports.web.portal.common import (
    APPLICATION_PATH,
    load_application,
    render,
    render_errors,
    section_path,
)

PATH: Final = APPLICATION_PATH + "/store"
FIELDS: Final = ("name", "description", "kind", "price", "currency")

KINDS: Final = {
    "durable": (SkuType.DURABLE, 0, "One-time purchase"),
    "consumable": (SkuType.CONSUMABLE, 0, "Consumable"),
    "users": (SkuType.SUBSCRIPTION, int(SkuFlags.USER_SUBSCRIPTION), "Monthly subscription for users"),
    "guilds": (SkuType.SUBSCRIPTION, int(SkuFlags.GUILD_SUBSCRIPTION), "Monthly subscription for guilds"),
}
"""SKU type, flags and label of each choice in the form."""


@page("GET", PATH)
async def show_store(request: PageRequest) -> web.Response:
    """List the application's SKUs."""
    return render(request, "store.html", await load_application(request), **await _skus_context(request))


@page("POST", PATH)
async def create_sku(request: PageRequest) -> web.Response:
    """Create a SKU."""
    form = request.form
    sku_type, flags, _ = KINDS.get(form.trimmed("kind"), (0, 0, ""))
    price = form.trimmed("price")
    body = {
        "type": int(sku_type),
        "flags": flags,
        "name": form.trimmed("name"),
        "description": form.optional("description"),
        "price": int(price) if price.isascii() and price.isdigit() and len(price) < 20 else price,
        "currency": form.trimmed("currency").lower(),
        "published": form.checked("published"),
        "listed": form.checked("listed"),
    }
    try:
        sku = await request.call(skus.CREATE_SKU, request.path_parameter("application_id"), body=body)
    except ApiError as error:
        names, context = {"type": "kind", "flags": "kind"}, await _skus_context(request)
        return render_errors(
            request, "store.html", error, await load_application(request), fields=FIELDS, names=names, **context
        )
    return request.redirect(
        section_path(request, "/store"), notice=f"{sku.name} was {'published' if body['published'] else 'created'}."
    )


@page("POST", PATH + r"/{sku_id:\d{1,19}}/publish")
async def publish(request: PageRequest) -> web.Response:
    """Publish a SKU."""
    return await _set_published(request, is_published=True, result="was published.")


@page("POST", PATH + r"/{sku_id:\d{1,19}}/unpublish")
async def unpublish(request: PageRequest) -> web.Response:
    """Unpublish a SKU."""
    return await _set_published(
        request,
        is_published=False,
        result="was unpublished. Owners keep it; subscriptions end with the paid period.",
    )


async def _set_published(request: PageRequest, *, is_published: bool, result: str) -> web.Response:
    """Publish or unpublish a SKU; the notice is its name followed by `result`."""
    ids = request.path_parameter("application_id"), request.path_parameter("sku_id")
    sku = await request.call(skus.UPDATE_SKU, *ids, body={"published": is_published})
    return request.redirect(section_path(request, "/store"), notice=f"{sku.name} {result}")


async def _skus_context(request: PageRequest) -> dict[str, Any]:
    store_skus = await request.call(skus.LIST_STORE_SKUS, request.path_parameter("application_id"))
    labels = {(sku_type, flags): label for sku_type, flags, label in KINDS.values()}
    skus_with_kind = [(sku, labels[sku.type, sku.flags & ~SkuFlags.AVAILABLE]) for sku in store_skus]
    return {"skus": skus_with_kind, "kinds": [(key, label) for key, (_, _, label) in KINDS.items()]}

"""The public store of an application (spec/webhooks-and-interactions.md#7.1) and its checkout."""

from typing import Any, Final

from aiohttp import web

from hubbub.protocol import errors
from hubbub.protocol.enums import SkuType
from hubbub.protocol.errors import ApiError
from hubbub.protocol.flags import SkuFlags
from hubbub.protocol.ids import SkuId
from hubbub.protocol.resources import entitlements, guilds, skus, subscriptions
from hubbub.server.core.translation import gettext, gettext_noop
from hubbub.server.transports.web.page_requests import PageRequest, page

STORE_PATH: Final = r"/application-directory/{application_id:\d+}/store"
SKU_PATH: Final = STORE_PATH + r"/{sku_id:\d+}"

ERROR_TEXTS: Final = {
    errors.ENTITLEMENT_ALREADY_GRANTED: gettext_noop(
        "You already have a subscription of this application, or a payment is pending."
    ),
    errors.MONETIZATION_NOT_ENABLED: gettext_noop("Purchases are currently disabled."),
    errors.UNAVAILABLE: gettext_noop("Your payment is still being processed. You are charged only if it succeeds."),
}
"""Texts for users that replace the API's error messages."""


@page("GET", STORE_PATH, is_public=True)
async def show_store(request: PageRequest) -> web.Response:
    """List the SKUs on sale."""
    store = await request.call(skus.GET_STORE, request.path_parameter("application_id"))
    return request.render(
        "store.html",
        store=store,
        owned=await _owned_sku_ids(request),
        is_for_guilds=is_for_guilds,
        is_monthly=is_monthly,
    )


@page("GET", SKU_PATH, is_public=True)
async def show_sku(request: PageRequest) -> web.Response:
    """Show a SKU, whether or not the store lists it."""
    return await _render_sku(request)


@page("POST", SKU_PATH)
async def buy(request: PageRequest) -> web.Response:
    """Purchase the SKU as the logged-in user."""
    body = {"sku_id": request.path_parameter("sku_id"), "guild_id": request.form.optional("guild_id")}
    try:
        # Verify that the SKU belongs to this application, and get its name.
        sku = await request.call(
            skus.GET_STORE_SKU, request.path_parameter("application_id"), request.path_parameter("sku_id")
        )
        await request.call(subscriptions.CREATE_PURCHASE, body=body)
    except ApiError as error:
        return await _render_sku(request, error)
    return request.redirect(
        request.http_request.path, notice=gettext("You now own {name}. Thank you for your purchase.", name=sku.name)
    )


async def _render_sku(request: PageRequest, error: ApiError | None = None) -> web.Response:
    application_id = request.path_parameter("application_id")
    sku = await request.call(skus.GET_STORE_SKU, application_id, request.path_parameter("sku_id"))
    store = await request.call(skus.GET_STORE, application_id)
    my_guilds = await request.call(guilds.LIST_MY_GUILDS) if request.actor is not None and is_for_guilds(sku) else []
    context: dict[str, Any] = {
        "store": store,
        "sku": sku,
        "owned": await _owned_sku_ids(request),
        "guilds": [(int(guild.id), guild.name) for guild in my_guilds],
        "is_for_guilds": is_for_guilds,
        "is_monthly": is_monthly,
    }
    if error is None:
        return request.render("sku.html", **context)
    if error.kind in ERROR_TEXTS:
        error = error.kind(message=gettext(ERROR_TEXTS[error.kind]))
    return request.render_errors("sku.html", error, fields=("guild_id",), **context)


async def _owned_sku_ids(request: PageRequest) -> set[SkuId]:
    """Return the IDs of the application's SKUs that the user owns, without the SKUs of the user's guilds."""
    if request.actor is None:
        return set()
    application_id = request.path_parameter("application_id")
    user_entitlements = await request.call(entitlements.GET_CURRENT_USER_APPLICATION_ENTITLEMENTS, application_id)
    return {entitlement.sku_id for entitlement in user_entitlements}


def is_for_guilds(sku: skus.StoreSku) -> bool:
    """Return whether the SKU is purchased for a guild."""
    return bool(sku.flags & SkuFlags.GUILD_SUBSCRIPTION)


def is_monthly(sku: skus.StoreSku) -> bool:
    """Return whether the SKU is a monthly subscription."""
    return sku.type is SkuType.SUBSCRIPTION

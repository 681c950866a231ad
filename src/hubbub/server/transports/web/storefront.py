"""An application's store, as its links show it (webhooks-and-interactions.md 7.1), and buying there."""

from typing import Any, Final

from aiohttp import web

from hubbub.protocol import errors
from hubbub.protocol.enums import SkuType
from hubbub.protocol.errors import ApiError
from hubbub.protocol.flags import SkuFlags
from hubbub.protocol.ids import SkuId
from hubbub.protocol.resources import entitlements, guilds, skus, subscriptions
from hubbub.server.transports.web.visits import Visit, page

STORE: Final = r"/application-directory/{application_id:\d+}/store"
ONE: Final = STORE + r"/{sku_id:\d+}"

WORDS: Final = {
    errors.ENTITLEMENT_ALREADY_GRANTED: "This, or another subscription of this application, is yours already, or is being paid.",
    errors.MONETIZATION_NOT_ENABLED: "Nothing can be bought here at this time.",
    errors.UNAVAILABLE: "Whether it is paid is not known yet. We ask again by ourselves: it becomes yours, or you pay nothing.",
}
"""What a person is told instead of the API's sentence."""


@page("GET", STORE, anyone=True)
async def show_store(visit: Visit) -> web.Response:
    """Everything that is on sale."""
    shop = await visit.ask(skus.GET_STORE, visit.path("application_id"))
    return visit.show("store.html", shop=shop, owned=await _owned(visit), for_guilds=for_guilds, monthly=monthly)


@page("GET", ONE, anyone=True)
async def show_sku(visit: Visit) -> web.Response:
    """One thing, in the list of the store or not."""
    return await _show(visit)


@page("POST", ONE)
async def buy(visit: Visit) -> web.Response:
    """Buy it, as the person who is here."""
    body = {"sku_id": visit.path("sku_id"), "guild_id": visit.form.optional("guild_id")}
    try:
        # That it is this application's, and what it is called.
        sku = await visit.ask(skus.GET_STORE_SKU, visit.path("application_id"), visit.path("sku_id"))
        await visit.ask(subscriptions.CREATE_PURCHASE, body=body)
    except ApiError as error:
        return await _show(visit, error)
    return visit.go(visit.request.path, say=f"{sku.name} is yours. Thank you!")


async def _show(visit: Visit, error: ApiError | None = None) -> web.Response:
    application_id = visit.path("application_id")
    sku = await visit.ask(skus.GET_STORE_SKU, application_id, visit.path("sku_id"))
    shop = await visit.ask(skus.GET_STORE, application_id)
    mine = await visit.ask(guilds.LIST_MY_GUILDS) if visit.actor is not None and for_guilds(sku) else []
    context: dict[str, Any] = {
        "shop": shop,
        "sku": sku,
        "owned": await _owned(visit),
        "guilds": [(int(guild.id), guild.name) for guild in mine],
        "for_guilds": for_guilds,
        "monthly": monthly,
    }
    if error is None:
        return visit.show("sku.html", **context)
    told = error.kind(message=WORDS[error.kind]) if error.kind in WORDS else error
    return visit.refuse("sku.html", told, fields=("guild_id",), **context)


async def _owned(visit: Visit) -> set[SkuId]:
    """What the person who is here has of it already, apart from what their guilds have."""
    if visit.actor is None:
        return set()
    application_id = visit.path("application_id")
    found = await visit.ask(entitlements.GET_CURRENT_USER_APPLICATION_ENTITLEMENTS, application_id)
    return {each.sku_id for each in found}


def for_guilds(sku: skus.StoreSku) -> bool:
    """Whether it is bought for a guild."""
    return bool(sku.flags & SkuFlags.GUILD_SUBSCRIPTION)


def monthly(sku: skus.StoreSku) -> bool:
    """Whether it is paid every month."""
    return sku.type is SkuType.SUBSCRIPTION

"""What an application sells: made here, published, and taken back."""

from typing import Any, Final

from aiohttp import web

from hubbub.protocol.enums import SkuType
from hubbub.protocol.errors import ApiError
from hubbub.protocol.flags import SkuFlags
from hubbub.protocol.resources import skus
from hubbub.server.transports.web.portal.common import ONE, address, load, refuse, show
from hubbub.server.transports.web.visits import Visit, page

HERE: Final = ONE + "/store"
FIELDS: Final = ("name", "description", "kind", "price", "currency")

KINDS: Final = {
    "durable": (SkuType.DURABLE, 0, "Bought once and kept"),
    "consumable": (SkuType.CONSUMABLE, 0, "Used up, and bought again"),
    "users": (SkuType.SUBSCRIPTION, int(SkuFlags.USER_SUBSCRIPTION), "Paid every month, by people for themselves"),
    "guilds": (SkuType.SUBSCRIPTION, int(SkuFlags.GUILD_SUBSCRIPTION), "Paid every month, for a guild"),
}
"""Type and flags, and what they mean."""


@page("GET", HERE)
async def show_store(visit: Visit) -> web.Response:
    """Its SKUs, and the way to the store."""
    return show(visit, "store.html", await load(visit), **await _sold(visit))


@page("POST", HERE)
async def make_sku(visit: Visit) -> web.Response:
    """Something new."""
    form = visit.form
    kind, flags, _ = KINDS.get(form.line("kind"), (0, 0, ""))
    price = form.line("price")
    body = {
        "type": int(kind),
        "flags": flags,
        "name": form.line("name"),
        "description": form.optional("description"),
        "price": int(price) if price.isascii() and price.isdigit() and len(price) < 20 else price,
        "currency": form.line("currency").lower(),
        "published": form.ticked("published"),
        "listed": form.ticked("listed"),
    }
    try:
        made = await visit.ask(skus.CREATE_SKU, visit.path("application_id"), body=body)
    except ApiError as error:
        names, context = {"type": "kind", "flags": "kind"}, await _sold(visit)
        return refuse(visit, "store.html", error, await load(visit), fields=FIELDS, names=names, **context)
    return visit.go(address(visit, "/store"), say=f"{made.name} is {'on sale' if body['published'] else 'made'}.")


@page("POST", HERE + r"/{sku_id:\d{1,19}}/publish")
async def publish(visit: Visit) -> web.Response:
    """Sell it."""
    return await _publish(visit, True, "is on sale.")


@page("POST", HERE + r"/{sku_id:\d{1,19}}/unpublish")
async def unpublish(visit: Visit) -> web.Response:
    """Sell it no more, for now."""
    return await _publish(visit, False, "is no longer sold. Who has it keeps it, subscriptions end with what is paid.")


async def _publish(visit: Visit, published: bool, said: str) -> web.Response:
    where = visit.path("application_id"), visit.path("sku_id")
    changed = await visit.ask(skus.UPDATE_SKU, *where, body={"published": published})
    return visit.go(address(visit, "/store"), say=f"{changed.name} {said}")


async def _sold(visit: Visit) -> dict[str, Any]:
    found = await visit.ask(skus.LIST_STORE_SKUS, visit.path("application_id"))
    words = {(type, flags): text for type, flags, text in KINDS.values()}
    sold = [(each, words[each.type, each.flags & ~SkuFlags.AVAILABLE]) for each in found]
    return {"sold": sold, "kinds": [(key, text) for key, (_, _, text) in KINDS.items()]}

"""What an application sells."""

from aiohttp import web

from hubbub.protocol.enums import SkuType
from hubbub.protocol.resources import skus
from hubbub.server.transports.web.portal.common import ONE, load, show
from hubbub.server.transports.web.visits import Visit, page

KINDS = {SkuType.DURABLE: "Bought once", SkuType.CONSUMABLE: "Used up", SkuType.SUBSCRIPTION: "Paid every month"}


@page("GET", ONE + "/store")
async def show_store(visit: Visit) -> web.Response:
    """Its SKUs, and the way to the store."""
    application = await load(visit)
    found = await visit.ask(skus.LIST_SKUS, application.id)
    sold = [(each, KINDS[each.type]) for each in found if each.type in KINDS]
    return show(visit, "store.html", application, sold=sold)

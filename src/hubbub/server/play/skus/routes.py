"""HTTP handlers for SKUs and the stores that sell them."""

from msgspec import UNSET

from hubbub.protocol import errors
from hubbub.protocol.enums import SkuType
from hubbub.protocol.ids import ApplicationId, SkuId
from hubbub.protocol.resources import skus as wire
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.identity import applications
from hubbub.server.identity.applications import ApplicationRow
from hubbub.server.play.skus import actions, rules, store, views
from hubbub.server.play.skus.store import SkuRow


@handles(wire.LIST_SKUS)
def list_skus(call: Call, application_id: ApplicationId) -> list[wire.Sku]:
    """List the SKUs of an application.

    The list includes the groups of its subscriptions."""
    applications.access.require_viewer(call, application_id)
    return [views.sku(row) for row in store.list_application_skus(call.tx, application_id)]


@handles(wire.CREATE_SKU)
def create_sku(call: Call, application_id: ApplicationId, body: wire.CreateSku) -> wire.StoreSku:
    """Create a SKU."""
    applications.access.require_manager(call, application_id)
    return views.store_sku(actions.create(call, application_id, body))


@handles(wire.UPDATE_SKU)
def update_sku(call: Call, application_id: ApplicationId, sku_id: SkuId, body: wire.UpdateSku) -> wire.StoreSku:
    """Update a SKU.

    The field `published` publishes or unpublishes it."""
    row = _require_editable_sku(call, application_id, sku_id)
    if body.name is not UNSET:
        row = row._replace(name=body.name)
    if body.description is not UNSET:
        row = row._replace(description=body.description)
    if body.price is not UNSET:
        row = row._replace(price=body.price)
    if body.currency is not UNSET:
        row = row._replace(currency=body.currency)
    if body.published is not UNSET:
        row = row._replace(state=store.PUBLISHED if body.published else store.UNPUBLISHED)
    if body.listed is not UNSET:
        row = row._replace(listed=int(body.listed))
    actions.update(call, row)
    return views.store_sku(row)


@handles(wire.DELETE_SKU)
def delete_sku(call: Call, application_id: ApplicationId, sku_id: SkuId) -> None:
    """Delete a SKU.

    It is no longer sold, but stays in the list of the application's SKUs."""
    actions.update(call, _require_editable_sku(call, application_id, sku_id)._replace(state=store.DELETED))


@handles(wire.LIST_STORE_SKUS)
def list_store_skus(call: Call, application_id: ApplicationId) -> list[wire.StoreSku]:
    """List the SKUs that an application manages in its store.

    The list includes unpublished SKUs, but no subscription groups and no deleted SKUs.
    """
    applications.access.require_viewer(call, application_id)
    return [
        views.store_sku(row) for row in store.list_application_skus(call.tx, application_id) if rules.is_editable(row)
    ]


@handles(wire.GET_STORE)
def get_store(call: Call, application_id: ApplicationId) -> wire.Store:
    """Get the store of an application.

    The store contains the listed SKUs that are on sale."""
    application = _require_application(call, application_id)
    rows = store.list_application_skus(call.tx, application_id)
    return views.store_view(application, [row for row in rows if rules.is_on_sale(row) and row.listed])


@handles(wire.GET_STORE_SKU)
def get_store_sku(call: Call, application_id: ApplicationId, sku_id: SkuId) -> wire.StoreSku:
    """Get a SKU that is on sale.

    The SKU need not be listed in the store."""
    _require_application(call, application_id)
    row = store.find(call.tx, sku_id)
    if row is None or row.application_id != application_id or not rules.is_on_sale(row):
        raise errors.UNKNOWN_SKU()
    return views.store_sku(row)


def _require_application(call: Call, application_id: ApplicationId) -> ApplicationRow:
    row = applications.find(call.tx, application_id)
    if row is None:
        raise errors.UNKNOWN_APPLICATION()
    return row


def _require_editable_sku(call: Call, application_id: ApplicationId, sku_id: SkuId) -> SkuRow:
    """Return a SKU that the caller manages; raise INVALID_SKU for a group or a deleted SKU."""
    applications.access.require_manager(call, application_id)
    row = store.find(call.tx, sku_id)
    if row is None or row.application_id != application_id:
        raise errors.UNKNOWN_SKU()
    if row.type == SkuType.SUBSCRIPTION_GROUP or row.state == store.DELETED:
        raise errors.INVALID_SKU()
    return row

"""Create and update SKUs."""

from hubbub.protocol.enums import SkuType
from hubbub.protocol.ids import ApplicationId, SkuId
from hubbub.protocol.resources import skus as wire
from hubbub.server.core.call import Call
from hubbub.server.play.skus import rules, store
from hubbub.server.play.skus.store import SkuRow


def create(
    call: Call,
    application_id: ApplicationId,
    body: wire.CreateSku,
    *,
    sku_id: SkuId | None = None,
    group_id: SkuId | None = None,
) -> SkuRow:
    """Create a SKU; a subscription gets a SUBSCRIPTION_GROUP as well.

    `sku_id` and `group_id` are fixed IDs, for SKUs of a world file; None generates new ones."""
    rules.require_creatable(store.list_application_skus(call.tx, application_id), body)
    row = SkuRow(
        id=sku_id or call.new_id(SkuId),
        application_id=application_id,
        type=body.type,
        name=body.name,
        description=body.description,
        flags=body.flags,
        price=body.price,
        currency=body.currency,
        state=store.PUBLISHED if body.published else store.UNPUBLISHED,
        listed=int(body.listed),
    )
    if row.is_subscription:
        group = row._replace(
            id=group_id or call.new_id(SkuId), type=SkuType.SUBSCRIPTION_GROUP, description=None, price=0
        )
        row = row._replace(group_id=group.id)
        store.insert(call.tx, group)
    store.insert(call.tx, row)
    return row


def update(call: Call, row: SkuRow) -> None:
    """Store a changed SKU.

    If the SKU is no longer sold, subscribers keep it until their period ends."""
    store.update(call.tx, row)

"""Checks for the creation and the sale of SKUs."""

from hubbub.protocol import errors
from hubbub.protocol.enums import SkuType
from hubbub.protocol.flags import SkuFlags
from hubbub.protocol.resources import skus as wire
from hubbub.server.core.store import Tx
from hubbub.server.play.skus import store
from hubbub.server.play.skus.store import SkuRow

SUBSCRIPTION_FLAGS = SkuFlags.GUILD_SUBSCRIPTION | SkuFlags.USER_SUBSCRIPTION
"""Flags that say whether guilds or users buy a subscription."""


def is_on_sale(row: SkuRow) -> bool:
    """Return whether a SKU is published and not a group, so that it can be bought."""
    return row.state == store.PUBLISHED and row.type != SkuType.SUBSCRIPTION_GROUP


def is_editable(row: SkuRow) -> bool:
    """Return whether a SKU is listed in the developer portal and counts toward the limit: neither a group nor deleted."""
    return row.type != SkuType.SUBSCRIPTION_GROUP and row.state != store.DELETED


def can_offer(tx: Tx, application_id: int, sku_id: int) -> bool:
    """Return whether an application may offer a SKU with a premium button (an "active SKU" in the specification).

    The SKU must belong to the application and be on sale."""
    row = store.find(tx, sku_id)
    return row is not None and row.application_id == application_id and is_on_sale(row)


def require_creatable(existing_skus: list[SkuRow], body: wire.CreateSku) -> None:
    """Raise an error if an application may not create the SKU of `body` (spec/webhooks-and-interactions.md#7.1).

    `existing_skus` are all SKUs of the application, including groups and deleted ones. The number of SKUs is limited,
    and subscriptions are offered either to users or to guilds, not both. The platform creates the groups itself."""
    if body.type is SkuType.SUBSCRIPTION_GROUP:
        allowed_types = (int(SkuType.DURABLE), int(SkuType.CONSUMABLE), int(SkuType.SUBSCRIPTION))
        raise errors.invalid("type", *errors.choices(allowed_types))
    editable_skus = [row for row in existing_skus if is_editable(row)]
    if len(editable_skus) >= wire.SKUS_MAX:
        raise errors.invalid("type", "SKU_LIMIT_REACHED", f"An application can have at most {wire.SKUS_MAX} SKUs.")
    if body.type != SkuType.SUBSCRIPTION:
        if body.flags:
            raise errors.invalid("flags", "SKU_FLAGS_INVALID", "Only subscriptions can be for guilds or users.")
        return
    if body.flags not in (SkuFlags.GUILD_SUBSCRIPTION, SkuFlags.USER_SUBSCRIPTION):
        raise errors.invalid("flags", "SKU_FLAGS_INVALID", "A subscription must be for either guilds or users.")
    if any(row.is_subscription and row.flags & SUBSCRIPTION_FLAGS != body.flags for row in editable_skus):
        raise errors.invalid(
            "flags", "SKU_FLAGS_MIXED", "An application can offer subscriptions to users or to guilds, not both."
        )

"""A subscription as its application and its buyer see it."""

from msgspec import UNSET

from hubbub.protocol import changes
from hubbub.protocol import wire as json
from hubbub.protocol.enums import SubscriptionStatus
from hubbub.protocol.ids import EntitlementId, SkuId, SubscriptionId, UserId
from hubbub.protocol.resources import subscriptions as wire
from hubbub.server.resources.subscriptions.store import SubscriptionRow


def subscription(row: SubscriptionRow, now: int) -> wire.Subscription:
    """A subscription."""
    renews = row.status == SubscriptionStatus.ACTIVE
    shown = wire.Subscription(
        id=SubscriptionId(row.id),
        user_id=UserId(row.user_id),
        sku_ids=[SkuId(row.sku_id)],
        renewal_sku_ids=[SkuId(row.renewal_sku_id)] if renews else None,
        entitlement_ids=[] if row.entitlement_id is None else [EntitlementId(row.entitlement_id)],
        current_period_start=json.timestamp(row.period_start_ms),
        current_period_end=json.timestamp(row.period_end_ms),
        status=SubscriptionStatus(row.status),
        canceled_at=None if row.canceled_ms is None else json.timestamp(row.canceled_ms),
    )
    if not changes.RENEWAL_SKU_IDS.active(now):
        shown.renewal_sku_ids = UNSET
    return shown

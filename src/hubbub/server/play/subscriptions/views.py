"""Build the wire models of subscriptions."""

from collections.abc import Mapping

from msgspec import UNSET, structs

from hubbub.protocol import changes, codec
from hubbub.protocol.enums import SubscriptionStatus
from hubbub.protocol.ids import EntitlementId, GuildId, SkuId, SubscriptionId, UserId
from hubbub.protocol.resources import subscriptions as wire
from hubbub.server.identity.applications import ApplicationRow
from hubbub.server.play import skus
from hubbub.server.play.skus import SkuRow
from hubbub.server.play.subscriptions.store import SubscriptionRow


def my_subscription(
    row: SubscriptionRow, now_ms: int, skus_by_id: Mapping[int, SkuRow], seller: ApplicationRow | None
) -> wire.MySubscription:
    """Return a subscription with its SKUs and application, for its buyer.

    `skus_by_id` must contain its current and its next SKU; `seller` is None if the application was deleted."""
    is_renewing = row.status == SubscriptionStatus.ACTIVE
    return wire.MySubscription(
        **structs.asdict(subscription(row, now_ms)),
        application=None if seller is None else skus.store_application(seller),
        sku=skus.store_sku(skus_by_id[row.sku_id]),
        renewal_sku=skus.store_sku(skus_by_id[row.renewal_sku_id]) if is_renewing else None,
        guild_id=None if row.guild_id is None else GuildId(row.guild_id),
    )


def subscription(row: SubscriptionRow, now_ms: int) -> wire.Subscription:
    """Return a subscription; `now_ms` decides which dated fields it has."""
    is_renewing = row.status == SubscriptionStatus.ACTIVE
    view = wire.Subscription(
        id=SubscriptionId(row.id),
        user_id=UserId(row.user_id),
        sku_ids=[SkuId(row.sku_id)],
        renewal_sku_ids=[SkuId(row.renewal_sku_id)] if is_renewing else None,
        entitlement_ids=[] if row.entitlement_id is None else [EntitlementId(row.entitlement_id)],
        current_period_start=codec.timestamp(row.period_start_ms),
        current_period_end=codec.timestamp(row.period_end_ms),
        status=SubscriptionStatus(row.status),
        canceled_at=None if row.canceled_ms is None else codec.timestamp(row.canceled_ms),
    )
    if not changes.RENEWAL_SKU_IDS.is_active(now_ms):
        view.renewal_sku_ids = UNSET
    return view

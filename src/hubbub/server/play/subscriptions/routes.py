"""HTTP handlers for subscriptions and purchases."""

import logging

from msgspec import UNSET

from hubbub.protocol import errors
from hubbub.protocol.enums import SubscriptionStatus
from hubbub.protocol.ids import ApplicationId, EntitlementId, SkuId, SubscriptionId
from hubbub.protocol.resources import subscriptions as wire
from hubbub.server.core.async_operation import AsyncOperation
from hubbub.server.core.call import Call
from hubbub.server.core.payments import PaymentUncertain
from hubbub.server.core.slices import handles
from hubbub.server.identity import applications
from hubbub.server.play import entitlements, skus
from hubbub.server.play.subscriptions import actions, purchases, rules, store, views
from hubbub.server.play.subscriptions.store import PurchaseRow, SubscriptionRow

log = logging.getLogger(__name__)


@handles(wire.GET_SKU_SUBSCRIPTIONS)
def get_sku_subscriptions(call: Call, sku_id: SkuId, query: wire.GetSubscriptions) -> list[wire.Subscription]:
    """List a user's subscriptions to a SKU.

    The list is in ascending order of IDs. The token must belong to the SKU's application."""
    rules.require_own_sku(call, sku_id)
    if call.actor.kind == "bearer":
        user_id = call.user_id
    elif query.user_id is UNSET:
        raise errors.invalid("user_id", *errors.required())
    else:
        user_id = query.user_id
    rows = store.list_page(
        call.tx,
        sku_id,
        user_id,
        before=None if query.before is UNSET else query.before,
        after=None if query.after is UNSET else query.after,
        limit=query.limit,
    )
    return [views.subscription(row, call.now_ms) for row in rows]


@handles(wire.GET_SKU_SUBSCRIPTION)
def get_sku_subscription(call: Call, sku_id: SkuId, subscription_id: SubscriptionId) -> wire.Subscription:
    """Get a subscription to a SKU."""
    rules.require_own_sku(call, sku_id)
    row = store.find(call.tx, subscription_id)
    if row is None or row.sku_id != sku_id or (call.actor.kind == "bearer" and row.user_id != call.user_id):
        raise errors.NOT_FOUND()
    return views.subscription(row, call.now_ms)


@handles(wire.CREATE_PURCHASE)
async def create_purchase(operation: AsyncOperation, body: wire.CreatePurchase) -> wire.Purchase:
    """Create a purchase.

    The caller is charged and gets the entitlement or the subscription."""
    pending_purchase = await operation.write(lambda call: _create_pending_purchase(operation, call, body))
    completed_purchase = await _charge_and_grant(operation, pending_purchase)
    return await operation.read(lambda call: _purchase_view(call, completed_purchase))


def _create_pending_purchase(operation: AsyncOperation, call: Call, body: wire.CreatePurchase) -> PurchaseRow:
    sku = purchases.require_on_sale(call, body.sku_id)
    if not operation.payments.enabled:
        raise errors.MONETIZATION_NOT_ENABLED()
    return purchases.create(call, sku, body.guild_id)


async def _charge_and_grant(operation: AsyncOperation, pending_purchase: PurchaseRow) -> PurchaseRow:
    """Charge a pending purchase and return it after it was granted; raise an API error if the payment failed."""
    try:
        completed_purchase = await purchases.settle(operation, pending_purchase.id)
    except PaymentUncertain as error:
        # The job scheduled with the purchase retries the payment.
        log.exception("The payment provider failed", exc_info=error)
        raise errors.UNAVAILABLE() from None
    if completed_purchase is None:
        # spec/http.md#1.9 has one error code for a failed payment, and its default message is about gifts.
        raise errors.PAYMENT_SOURCE_REQUIRED(message="The payment was declined. Nothing was bought.")
    return completed_purchase


def _purchase_view(call: Call, purchase: PurchaseRow) -> wire.Purchase:
    entitlement_row = None if purchase.entitlement_id is None else entitlements.find(call.tx, purchase.entitlement_id)
    assert entitlement_row is not None
    view = wire.Purchase(entitlement=entitlements.entitlement(entitlement_row, call.now_ms))
    subscription = None if purchase.subscription_id is None else store.find(call.tx, purchase.subscription_id)
    if subscription is not None:
        view.subscription = views.subscription(subscription, call.now_ms)
    return view


@handles(wire.LIST_MY_SUBSCRIPTIONS)
def list_my_subscriptions(call: Call) -> list[wire.MySubscription]:
    """List the current user's subscriptions.

    The list includes subscriptions that have ended. Each has its SKUs and its application."""
    rows = store.list_user_subscriptions(call.tx, call.user_id)
    skus_by_id = skus.find_many(call.tx, [sku_id for row in rows for sku_id in (row.sku_id, row.renewal_sku_id)])
    applications_by_id = applications.find_many(call.tx, [row.application_id for row in rows])
    return [
        views.my_subscription(row, call.now_ms, skus_by_id, applications_by_id.get(row.application_id)) for row in rows
    ]


@handles(wire.CHANGE_MY_SUBSCRIPTION)
async def change_my_subscription(
    operation: AsyncOperation, subscription_id: SubscriptionId, body: wire.ChangeSubscription
) -> wire.Subscription:
    """Change the SKU of a subscription.

    An upgrade is charged and takes effect immediately. A downgrade, or a change to another currency, takes effect at
    the next renewal."""
    subscription_or_purchase = await operation.write(lambda call: _change_sku(operation, call, subscription_id, body))
    if isinstance(subscription_or_purchase, PurchaseRow):
        completed_purchase = await _charge_and_grant(operation, subscription_or_purchase)
        assert completed_purchase.subscription_id is not None
        # If the subscription ended meanwhile, the purchase started another one.
        subscription_id = SubscriptionId(completed_purchase.subscription_id)
    return await operation.read(lambda call: _subscription_view(call, rules.require_own(call, subscription_id)))


def _change_sku(
    operation: AsyncOperation, call: Call, subscription_id: SubscriptionId, body: wire.ChangeSubscription
) -> SubscriptionRow | PurchaseRow:
    """Change the SKU at the next renewal and return the subscription, or return the pending purchase of an upgrade."""
    row = rules.require_own(call, subscription_id)
    rules.require_not_ended(row)
    sku = purchases.require_on_sale(call, body.sku_id)
    rules.require_replacement(row, sku)
    current_sku = skus.find(call.tx, row.sku_id)
    # Prices in different currencies cannot be compared, so the change waits for the next renewal.
    if sku.id != row.sku_id and (
        current_sku is None or (sku.currency == current_sku.currency and sku.price >= current_sku.price)
    ):
        if not operation.payments.enabled:
            raise errors.MONETIZATION_NOT_ENABLED()
        return purchases.create_upgrade(call, row, sku)
    if sku.id == row.renewal_sku_id and row.status == SubscriptionStatus.ACTIVE:
        return row
    return actions.change_at_renewal(call, row, sku)


@handles(wire.CANCEL_MY_SUBSCRIPTION)
def cancel_my_subscription(call: Call, subscription_id: SubscriptionId) -> wire.Subscription:
    """Cancel a subscription.

    The subscription stays active until its period ends."""
    row = rules.require_own(call, subscription_id)
    rules.require_not_ended(row)
    return _subscription_view(call, actions.cancel(call, row) if row.status == SubscriptionStatus.ACTIVE else row)


@handles(wire.RESUME_MY_SUBSCRIPTION)
def resume_my_subscription(call: Call, subscription_id: SubscriptionId) -> wire.Subscription:
    """Resume a canceled subscription.

    A subscription can be resumed until its period ends."""
    row = rules.require_own(call, subscription_id)
    rules.require_not_ended(row)
    return _subscription_view(call, actions.resume(call, row) if row.status == SubscriptionStatus.ENDING else row)


@handles(wire.REFUND_ENTITLEMENT)
def refund_entitlement(call: Call, application_id: ApplicationId, entitlement_id: EntitlementId) -> None:
    """Refund an entitlement.

    The entitlement is removed immediately; the payment provider returns the money."""
    applications.access.require_manager(call, application_id)
    actions.refund(call, entitlements.require_entitlement(call, application_id, entitlement_id))


def _subscription_view(call: Call, row: SubscriptionRow) -> wire.Subscription:
    return views.subscription(row, call.now_ms)

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

    Ordered by ascending ID. Requires a token of the SKU's application."""
    rules.require_sku(call, sku_id)
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
    return [views.subscription(row, call.now) for row in rows]


@handles(wire.GET_SKU_SUBSCRIPTION)
def get_sku_subscription(call: Call, sku_id: SkuId, subscription_id: SubscriptionId) -> wire.Subscription:
    """Get a subscription to a SKU."""
    rules.require_sku(call, sku_id)
    row = store.find(call.tx, subscription_id)
    if row is None or row.sku_id != sku_id or (call.actor.kind == "bearer" and row.user_id != call.user_id):
        raise errors.NOT_FOUND()
    return views.subscription(row, call.now)


@handles(wire.CREATE_PURCHASE)
async def create_purchase(operation: AsyncOperation, body: wire.CreatePurchase) -> wire.Purchase:
    """Create a purchase.

    Charges the caller and grants the entitlement or the subscription."""
    pending = await operation.write(lambda call: _begin(operation, call, body))
    done = await _settle(operation, pending)
    return await operation.read(lambda call: _purchase_view(call, done))


def _begin(operation: AsyncOperation, call: Call, body: wire.CreatePurchase) -> PurchaseRow:
    sku = purchases.require_on_sale(call, body.sku_id)
    if not operation.payments.enabled:
        raise errors.MONETIZATION_NOT_ENABLED()
    return purchases.create(call, sku, body.guild_id)


async def _settle(operation: AsyncOperation, pending: PurchaseRow) -> PurchaseRow:
    try:
        completed = await purchases.settle(operation, pending.id)
    except PaymentUncertain as error:
        # The job scheduled with the purchase retries the payment.
        log.exception("The payment provider failed", exc_info=error)
        raise errors.UNAVAILABLE() from None
    if completed is None:
        # spec/http.md#1.9 has one code for a failed payment, and the platform's message for it is about gifts.
        raise errors.PAYMENT_SOURCE_REQUIRED(message="The payment was declined. Nothing was bought.")
    return completed


def _purchase_view(call: Call, done: PurchaseRow) -> wire.Purchase:
    entitlement = None if done.entitlement_id is None else entitlements.find(call.tx, done.entitlement_id)
    assert entitlement is not None
    view = wire.Purchase(entitlement=entitlements.entitlement(entitlement, call.now))
    row = None if done.subscription_id is None else store.find(call.tx, done.subscription_id)
    if row is not None:
        view.subscription = views.subscription(row, call.now)
    return view


@handles(wire.LIST_MY_SUBSCRIPTIONS)
def list_my_subscriptions(call: Call) -> list[wire.MySubscription]:
    """List the current user's subscriptions.

    Includes subscriptions that have ended, with their SKUs and applications."""
    rows = store.list_of_user(call.tx, call.user_id)
    sold = skus.find_many(call.tx, [each for row in rows for each in (row.sku_id, row.renewal_sku_id)])
    sellers = applications.find_many(call.tx, [row.application_id for row in rows])
    return [views.my_subscription(row, call.now, sold, sellers.get(row.application_id)) for row in rows]


@handles(wire.CHANGE_MY_SUBSCRIPTION)
async def change_my_subscription(
    operation: AsyncOperation, subscription_id: SubscriptionId, body: wire.ChangeSubscription
) -> wire.Subscription:
    """Change the SKU of a subscription.

    An upgrade is charged and takes effect at once; a downgrade takes effect at the next renewal."""
    changed = await operation.write(lambda call: _change(operation, call, subscription_id, body))
    if isinstance(changed, PurchaseRow):
        done = await _settle(operation, changed)
        assert done.subscription_id is not None
        # If the subscription ended meanwhile, the purchase started another one.
        subscription_id = SubscriptionId(done.subscription_id)
    return await operation.read(lambda call: _view(call, rules.require_own(call, subscription_id)))


def _change(
    operation: AsyncOperation, call: Call, subscription_id: SubscriptionId, body: wire.ChangeSubscription
) -> SubscriptionRow | PurchaseRow:
    row = rules.require_own(call, subscription_id)
    rules.require_not_ended(row)
    sku = purchases.require_on_sale(call, body.sku_id)
    rules.require_replacement(row, sku)
    current = skus.find(call.tx, row.sku_id)
    # Prices in different currencies cannot be compared, so the change waits for the next renewal.
    if sku.id != row.sku_id and (current is None or (sku.currency == current.currency and sku.price >= current.price)):
        if not operation.payments.enabled:
            raise errors.MONETIZATION_NOT_ENABLED()
        return purchases.create_upgrade(call, row, sku)
    if sku.id == row.renewal_sku_id and row.status == SubscriptionStatus.ACTIVE:
        return row
    return actions.change_at_renewal(call, row, sku)


@handles(wire.CANCEL_MY_SUBSCRIPTION)
def cancel_my_subscription(call: Call, subscription_id: SubscriptionId) -> wire.Subscription:
    """Cancel a subscription.

    It stays active until its period ends."""
    row = rules.require_own(call, subscription_id)
    rules.require_not_ended(row)
    return _view(call, actions.cancel(call, row) if row.status == SubscriptionStatus.ACTIVE else row)


@handles(wire.RESUME_MY_SUBSCRIPTION)
def resume_my_subscription(call: Call, subscription_id: SubscriptionId) -> wire.Subscription:
    """Resume a canceled subscription.

    Possible until its period ends."""
    row = rules.require_own(call, subscription_id)
    rules.require_not_ended(row)
    return _view(call, actions.resume(call, row) if row.status == SubscriptionStatus.ENDING else row)


@handles(wire.REFUND_ENTITLEMENT)
def refund_entitlement(call: Call, application_id: ApplicationId, entitlement_id: EntitlementId) -> None:
    """Refund an entitlement.

    The entitlement is removed at once; the payment provider returns the money."""
    applications.require_manager(call, application_id)
    actions.refund(call, entitlements.require_entitlement(call, application_id, entitlement_id))


def _view(call: Call, row: SubscriptionRow) -> wire.Subscription:
    return views.subscription(row, call.now)

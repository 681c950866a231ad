"""Subscriptions and purchases over HTTP."""

import logging

from msgspec import UNSET

from hubbub.protocol import errors
from hubbub.protocol.enums import SubscriptionStatus
from hubbub.protocol.ids import ApplicationId, EntitlementId, SkuId, SubscriptionId
from hubbub.protocol.resources import subscriptions as wire
from hubbub.server.core.call import Call
from hubbub.server.core.payments import PaymentUncertain
from hubbub.server.core.slices import handles
from hubbub.server.core.work import Work
from hubbub.server.resources import applications, entitlements, skus
from hubbub.server.resources.subscriptions import actions, purchases, rules, store, views
from hubbub.server.resources.subscriptions.store import PurchaseRow, SubscriptionRow

log = logging.getLogger(__name__)


@handles(wire.GET_SKU_SUBSCRIPTIONS)
def get_sku_subscriptions(call: Call, sku_id: SkuId, query: wire.GetSubscriptions) -> list[wire.Subscription]:
    """A user's subscriptions to one of the application's SKUs, by ascending id."""
    rules.require_sku(call, sku_id)
    if call.actor.kind == "bearer":
        user_id = call.user_id
    elif query.user_id is UNSET:
        raise errors.invalid("user_id", *errors.required())
    else:
        user_id = query.user_id
    rows = store.page(
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
    """One subscription to one of the application's SKUs."""
    rules.require_sku(call, sku_id)
    row = store.find(call.tx, subscription_id)
    if row is None or row.sku_id != sku_id or (call.actor.kind == "bearer" and row.user_id != call.user_id):
        raise errors.NOT_FOUND()
    return views.subscription(row, call.now)


@handles(wire.CREATE_PURCHASE)
async def create_purchase(work: Work, body: wire.CreatePurchase) -> wire.Purchase:
    """Buy something."""
    begun = await work.write(lambda call: _begin(work, call, body))
    done = await _settle(work, begun)
    return await work.read(lambda call: _bought(call, done))


def _begin(work: Work, call: Call, body: wire.CreatePurchase) -> PurchaseRow:
    sku = purchases.require_on_sale(call, body.sku_id)
    if not work.payments.enabled:
        raise errors.MONETIZATION_NOT_ENABLED()
    return purchases.begin(call, sku, body.guild_id)


async def _settle(work: Work, begun: PurchaseRow) -> PurchaseRow:
    try:
        done = await purchases.settle(work, begun.id)
    except PaymentUncertain as error:
        # The job that was left with the purchase asks again.
        log.exception("the payment provider failed", exc_info=error)
        raise errors.UNAVAILABLE() from None
    if done is None:
        # http.md 1.9 has one code for a payment that cannot be had, and the platform's words for it speak of gifts.
        raise errors.PAYMENT_SOURCE_REQUIRED(message="The payment was declined. Nothing was bought.")
    return done


def _bought(call: Call, done: PurchaseRow) -> wire.Purchase:
    owned = None if done.entitlement_id is None else entitlements.find(call.tx, done.entitlement_id)
    assert owned is not None
    bought = wire.Purchase(entitlement=entitlements.entitlement(owned, call.now))
    row = None if done.subscription_id is None else store.find(call.tx, done.subscription_id)
    if row is not None:
        bought.subscription = views.subscription(row, call.now)
    return bought


@handles(wire.LIST_MY_SUBSCRIPTIONS)
def list_my_subscriptions(call: Call) -> list[wire.MySubscription]:
    """What the caller pays for or paid for, with what it is."""
    rows = store.list_of_user(call.tx, call.user_id)
    sold = skus.find_many(call.tx, [each for row in rows for each in (row.sku_id, row.renewal_sku_id)])
    sellers = applications.find_many(call.tx, [row.application_id for row in rows])
    return [views.my_subscription(row, call.now, sold, sellers.get(row.application_id)) for row in rows]


@handles(wire.CHANGE_MY_SUBSCRIPTION)
async def change_my_subscription(
    work: Work, subscription_id: SubscriptionId, body: wire.ChangeSubscription
) -> wire.Subscription:
    """Subscribe to something else instead: dearer at once, cheaper from the next renewal on."""
    changed = await work.write(lambda call: _change(work, call, subscription_id, body))
    if isinstance(changed, PurchaseRow):
        done = await _settle(work, changed)
        assert done.subscription_id is not None
        # After a crash in between it may be another one that began.
        subscription_id = SubscriptionId(done.subscription_id)
    return await work.read(lambda call: _shown(call, rules.require_own(call, subscription_id)))


def _change(
    work: Work, call: Call, subscription_id: SubscriptionId, body: wire.ChangeSubscription
) -> SubscriptionRow | PurchaseRow:
    row = rules.require_own(call, subscription_id)
    rules.require_going_on(row)
    sku = purchases.require_on_sale(call, body.sku_id)
    rules.require_replacement(row, sku)
    now = skus.find(call.tx, row.sku_id)
    # What costs another currency is neither dearer nor cheaper, and can wait until something has to be paid.
    if sku.id != row.sku_id and (now is None or (sku.currency == now.currency and sku.price >= now.price)):
        if not work.payments.enabled:
            raise errors.MONETIZATION_NOT_ENABLED()
        return purchases.begin_upgrade(call, row, sku)
    if sku.id == row.renewal_sku_id and row.status == SubscriptionStatus.ACTIVE:
        return row
    return actions.change_at_renewal(call, row, sku)


@handles(wire.CANCEL_MY_SUBSCRIPTION)
def cancel_my_subscription(call: Call, subscription_id: SubscriptionId) -> wire.Subscription:
    """Pay no more; it goes on until the period ends."""
    row = rules.require_own(call, subscription_id)
    rules.require_going_on(row)
    return _shown(call, actions.cancel(call, row) if row.status == SubscriptionStatus.ACTIVE else row)


@handles(wire.RESUME_MY_SUBSCRIPTION)
def resume_my_subscription(call: Call, subscription_id: SubscriptionId) -> wire.Subscription:
    """Pay again before the period ends."""
    row = rules.require_own(call, subscription_id)
    rules.require_going_on(row)
    return _shown(call, actions.resume(call, row) if row.status == SubscriptionStatus.ENDING else row)


@handles(wire.REFUND_ENTITLEMENT)
def refund_entitlement(call: Call, application_id: ApplicationId, entitlement_id: EntitlementId) -> None:
    """Give the money back, as soon as the payment provider does, and take away what it bought."""
    applications.require_manager(call, application_id)
    actions.refund(call, entitlements.require_of(call, application_id, entitlement_id))


def _shown(call: Call, row: SubscriptionRow) -> wire.Subscription:
    return views.subscription(row, call.now)

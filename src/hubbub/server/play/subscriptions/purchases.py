"""Purchases: stored before they are paid, and completed by the buyer's request or, if interrupted, by a job."""

import logging
from typing import Any, Final

from hubbub.protocol import errors
from hubbub.protocol.enums import SubscriptionStatus
from hubbub.protocol.ids import GuildId, SkuId, Snowflake, UserId
from hubbub.server.core import jobs
from hubbub.server.core.async_operation import AsyncOperation
from hubbub.server.core.call import Call
from hubbub.server.core.payments import Charge, PaymentDeclined
from hubbub.server.core.personal_data import export_row
from hubbub.server.identity.users.signals import UserDeleting
from hubbub.server.places.standing import access
from hubbub.server.play import entitlements, skus
from hubbub.server.play.skus import SkuRow
from hubbub.server.play.subscriptions import actions, store
from hubbub.server.play.subscriptions.payments import ledger
from hubbub.server.play.subscriptions.store import PurchaseRow, SubscriptionRow

log = logging.getLogger(__name__)

SETTLEMENT_JOB: Final = "purchases.settle"
"""Kind of the job that completes an interrupted purchase."""
SETTLE_AFTER_MS: Final = 60_000
"""Delay in milliseconds before a job completes a purchase that the buyer's request did not."""
ABANDON_AFTER_MS: Final = 24 * 3_600_000
"""Time in milliseconds after which a purchase with an unresponsive provider is abandoned."""


def create(call: Call, sku: SkuRow, guild_id: GuildId | None) -> PurchaseRow:
    """Store a pending purchase of a SKU that the caller may buy and does not have yet.

    `guild_id` is the guild to buy the SKU for, or None to buy it for the caller."""
    _require_target(call, sku, guild_id)
    if _has_or_is_buying(call, sku, guild_id):
        raise errors.ENTITLEMENT_ALREADY_GRANTED()
    return _insert_pending(call, sku, guild_id, None)


def create_upgrade(call: Call, row: SubscriptionRow, sku: SkuRow) -> PurchaseRow:
    """Store a pending upgrade of a subscription to a SKU that is at least as expensive."""
    if any(purchase.subscription_id == row.id for purchase in _list_pending(call, sku)):
        raise errors.ENTITLEMENT_ALREADY_GRANTED()
    return _insert_pending(call, sku, None if row.guild_id is None else GuildId(row.guild_id), row.id)


def require_on_sale(call: Call, sku_id: SkuId) -> SkuRow:
    """Return a SKU that can be bought, or raise INVALID_SKU or UNKNOWN_SKU."""
    sku = skus.find(call.tx, sku_id)
    if sku is None:
        raise errors.UNKNOWN_SKU()
    if not skus.is_on_sale(sku):
        raise errors.INVALID_SKU()
    return sku


def _require_target(call: Call, sku: SkuRow, guild_id: GuildId | None) -> None:
    if sku.for_guilds:
        if guild_id is None:
            raise errors.invalid("guild_id", *errors.required())
        access.get_guild_standing(call, guild_id)
    elif guild_id is not None:
        raise errors.invalid("guild_id", "SKU_NOT_FOR_GUILDS", "This SKU is not sold to guilds.")


def _has_or_is_buying(call: Call, sku: SkuRow, guild_id: GuildId | None) -> bool:
    pending_purchases = [purchase for purchase in _list_pending(call, sku) if purchase.guild_id == guild_id]
    if sku.is_subscription:
        pending_sku = skus.find(call.tx, pending_purchases[0].sku_id) if pending_purchases else None
        is_subscribing = pending_sku is not None and pending_sku.is_subscription
        return is_subscribing or store.is_subscribed(call.tx, sku.application_id, call.user_id, guild_id)
    # spec/webhooks-and-interactions.md#7.1: a consumable can be bought again once it is consumed.
    is_buying = any(purchase.sku_id == sku.id for purchase in pending_purchases)
    return is_buying or entitlements.has_active(call.tx, sku.id, call.user_id, None, call.now_ms)


def _list_pending(call: Call, sku: SkuRow) -> list[PurchaseRow]:
    return store.list_pending_purchases(call.tx, sku.application_id, call.user_id)


def _insert_pending(call: Call, sku: SkuRow, guild_id: GuildId | None, subscription_id: int | None) -> PurchaseRow:
    row = PurchaseRow(
        id=call.new_id(Snowflake),
        application_id=sku.application_id,
        user_id=call.user_id,
        guild_id=guild_id,
        sku_id=sku.id,
        subscription_id=subscription_id,
        state=store.PENDING,
    )
    store.insert_purchase(call.tx, row)
    ledger.record_pending_charge(call, _payment_key(row.id), sku, row.user_id, row.guild_id, row.subscription_id)
    call.tx.enqueue(SETTLEMENT_JOB, int(row.id), due_ms=call.now_ms + SETTLE_AFTER_MS, key=_settlement_job_key(row))
    return row


async def settle(operation: AsyncOperation, purchase_id: int) -> PurchaseRow | None:
    """Charge a purchase and grant it; return None if the payment was declined or the purchase abandoned.

    Raise PaymentUncertain if the outcome of the charge is unknown. A purchase that is already completed is returned."""
    charge = await operation.read(lambda call: _find_charge(call, purchase_id))
    if charge is not None:
        try:
            await ledger.submit(operation, charge)
        except PaymentDeclined as error:
            log.info("Purchase %d was declined: %s", purchase_id, error)
            return await operation.write(lambda call: _record_declined(call, purchase_id))
    return await operation.write(lambda call: _grant_purchase(call, purchase_id, charge))


def postpone(call: Call, purchase_id: int) -> None:
    """Schedule another attempt for a purchase whose payment provider did not respond, or abandon it after a day.

    If an abandoned charge succeeded, it is refunded."""
    row = store.find_purchase(call.tx, purchase_id)
    if row is None or row.state != store.PENDING:
        return
    started_ms = Snowflake(row.id).created_ms
    if call.now_ms >= started_ms + ABANDON_AFTER_MS:
        abandon(call, row)
        return
    jobs.cancel_jobs(call.tx, SETTLEMENT_JOB, _settlement_job_key(row))
    call.tx.enqueue(
        SETTLEMENT_JOB,
        int(row.id),
        due_ms=ledger.compute_next_attempt_ms(call.now_ms, started_ms),
        key=_settlement_job_key(row),
    )


def abandon(call: Call, row: PurchaseRow) -> None:
    """Abandon a pending purchase, and refund its payment in case the charge succeeded."""
    ledger.abandon(call, store.find_payment(call.tx, _payment_key(row.id)))
    _update_and_cancel_job(call, row._replace(state=store.DECLINED))


def _find_charge(call: Call, purchase_id: int) -> Charge | None:
    """Return the charge of a pending purchase, or None if there is nothing to charge."""
    row = store.find_purchase(call.tx, purchase_id)
    payment = store.find_payment(call.tx, _payment_key(purchase_id))
    return None if row is None or payment is None or row.state != store.PENDING else ledger.build_charge(payment)


def _record_declined(call: Call, purchase_id: int) -> None:
    row = store.find_purchase(call.tx, purchase_id)
    if row is not None and row.state == store.PENDING:
        ledger.delete_declined(call, _payment_key(purchase_id))
        _update_and_cancel_job(call, row._replace(state=store.DECLINED))


def _grant_purchase(call: Call, purchase_id: int, charge: Charge | None) -> PurchaseRow | None:
    """Grant a purchase after its charge succeeded; return it, or None if it was declined or abandoned.

    `charge` is None if there was nothing to charge, because the purchase was not pending or has no payment."""
    row = store.find_purchase(call.tx, purchase_id)
    if row is None or row.state == store.DECLINED:
        if charge is not None:
            # The purchase was abandoned while the provider charged it.
            ledger.schedule_refund(call, charge)
        return None
    if row.state == store.COMPLETED:
        return row
    if charge is None:
        abandon(call, row)
        return None
    sku = skus.find(call.tx, row.sku_id)
    assert sku is not None
    current_subscription = None if row.subscription_id is None else store.find(call.tx, row.subscription_id)
    if sku.is_subscription:
        if current_subscription is None or current_subscription.status == SubscriptionStatus.INACTIVE:
            # An upgrade of a subscription that ended meanwhile also creates a subscription: a paid purchase is granted.
            subscription = actions.create(call, sku, row.user_id, row.guild_id)
        else:
            subscription = actions.upgrade(call, current_subscription, sku)
        row = row._replace(subscription_id=subscription.id, entitlement_id=subscription.entitlement_id)
    else:
        row = row._replace(entitlement_id=entitlements.grant(call, sku, row.user_id).id)
    ledger.record_payment(call, charge, row.entitlement_id)
    row = row._replace(state=store.COMPLETED)
    _update_and_cancel_job(call, row)
    return row


def _update_and_cancel_job(call: Call, row: PurchaseRow) -> None:
    store.update_purchase(call.tx, row)
    jobs.cancel_jobs(call.tx, SETTLEMENT_JOB, _settlement_job_key(row))


def _payment_key(purchase_id: int) -> str:
    return f"purchase/{purchase_id}"


def _settlement_job_key(row: PurchaseRow) -> str:
    return f"{SETTLEMENT_JOB}/{row.id}"


def on_user_deleting(call: Call, signal: UserDeleting) -> None:
    """Abandon the pending purchases of a deleted user, and delete their subscriptions, purchases and entitlements.

    Payments are kept, because they prove charges and refunds."""
    for purchase in store.list_all_pending_purchases(call.tx, signal.user_id):
        abandon(call, purchase)
    for subscription in store.list_user_subscriptions(call.tx, signal.user_id):
        actions.delete(call, subscription)
    store.delete_user_purchases(call.tx, signal.user_id)
    entitlements.delete_user_entitlements(call, signal.user_id)


def export_data(call: Call, user_id: UserId) -> dict[str, Any]:
    """Return a user's purchases, subscriptions and payments for the export of their data."""
    return {
        "purchases": [export_row(row, "user_id") for row in store.list_user_purchases(call.tx, user_id)],
        "subscriptions": [export_row(row, "user_id") for row in store.list_user_subscriptions(call.tx, user_id)],
        "payments": [export_row(row, "user_id", "key") for row in store.list_user_payments(call.tx, user_id)],
    }

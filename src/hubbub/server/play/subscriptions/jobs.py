"""Jobs that renew and end subscriptions and complete interrupted purchases."""

import logging
from typing import Final

from hubbub.protocol.enums import SubscriptionStatus
from hubbub.server.core.async_operation import AsyncOperation
from hubbub.server.core.call import Call
from hubbub.server.core.jobs import Job
from hubbub.server.core.payments import Charge, PaymentDeclined, PaymentUncertain
from hubbub.server.places import guilds
from hubbub.server.play import skus
from hubbub.server.play.skus import SkuRow
from hubbub.server.play.subscriptions import actions, purchases, store
from hubbub.server.play.subscriptions.actions import Renewal
from hubbub.server.play.subscriptions.payments import ledger
from hubbub.server.play.subscriptions.store import SubscriptionRow

log = logging.getLogger(__name__)

# spec/webhooks-and-interactions.md#7.3: a subscription stays active while its payment is retried. The number of
# retries is our choice (decisions/0033).
RETRY_INTERVAL_MS: Final = 24 * 3_600_000
"""Delay after a declined payment, in milliseconds. A charge with an unknown outcome is retried sooner."""
GRACE_PERIOD_MS: Final = 3 * RETRY_INTERVAL_MS
"""Time in milliseconds from the first payment attempt to the end of an unpaid subscription."""


async def renew(operation: AsyncOperation, job: Job) -> None:
    """Charge the next period of a subscription whose period is over, or end the subscription."""
    renewal = job.decode(Renewal)
    charge = await operation.write(lambda call: _prepare_charge(call, renewal))
    if charge is None:
        return
    try:
        await ledger.submit(operation, charge)
    except PaymentDeclined as error:
        log.info("Renewal of subscription %d was error: %s", renewal.subscription_id, error)
        await operation.write(lambda call: _handle_declined(call, renewal, charge))
    except PaymentUncertain as error:
        log.warning(
            "Payment of subscription %d has an unknown outcome; retrying", renewal.subscription_id, exc_info=error
        )
        await operation.write(lambda call: _handle_uncertain(call, renewal))
    else:
        await operation.write(lambda call: _complete_renewal(call, renewal, charge))


def _prepare_charge(call: Call, renewal: Renewal) -> Charge | None:
    """Return the charge for the next period, or None if the renewal is no longer due.

    If the subscription has nothing to renew to, end it and return None."""
    row = _find_due(call, renewal)
    if row is None:
        return None
    sku = _find_renewal_sku(call, row)
    if sku is None:
        actions.end(call, row)
        return None
    return ledger.record_pending_renewal_charge(call, actions.renewal_payment_prefix(row), sku, row)


def _find_due(call: Call, renewal: Renewal) -> SubscriptionRow | None:
    """Return the subscription unless it was renewed, upgraded or ended since the job was scheduled."""
    row = store.find(call.tx, renewal.subscription_id)
    if row is None or row.status == SubscriptionStatus.INACTIVE or row.period_end_ms != renewal.period_end_ms:
        return None
    return row


def _find_renewal_sku(call: Call, row: SubscriptionRow) -> SkuRow | None:
    """Return the SKU that the subscription renews to, or None if it ends."""
    if row.status != SubscriptionStatus.ACTIVE or (row.guild_id and guilds.find(call.tx, row.guild_id) is None):
        return None
    sku = skus.find(call.tx, row.renewal_sku_id)
    # spec/webhooks-and-interactions.md#7.1: a SKU that is no longer published is not renewed.
    return sku if sku is not None and skus.is_on_sale(sku) else None


def _complete_renewal(call: Call, renewal: Renewal, charge: Charge) -> None:
    """Renew the subscription after a successful charge, or refund the charge if the renewal is no longer due."""
    row = _find_due(call, renewal)
    sku = skus.find(call.tx, charge.sku_id)
    if row is None or sku is None:
        ledger.refund_unused(call, charge)
        return
    ledger.record_payment(call, charge, actions.renew(call, row, sku).entitlement_id)
    # A concurrent attempt with another key may have requested a second payment for the period.
    actions.abandon_renewal_payment(call, row)


def _handle_declined(call: Call, renewal: Renewal, charge: Charge) -> None:
    row = _find_due(call, renewal)
    if row is not None:
        ledger.delete_declined(call, charge.key)
        _retry_or_end(call, row, renewal.first_attempt_ms or call.now_ms, call.now_ms + RETRY_INTERVAL_MS)


def _handle_uncertain(call: Call, renewal: Renewal) -> None:
    row = _find_due(call, renewal)
    if row is not None:
        first_attempt_ms = renewal.first_attempt_ms or call.now_ms
        _retry_or_end(call, row, first_attempt_ms, ledger.compute_next_attempt_ms(call.now_ms, first_attempt_ms))


def _retry_or_end(call: Call, row: SubscriptionRow, first_attempt_ms: int, retry_ms: int) -> None:
    """Schedule another attempt at `retry_ms` within the grace period, or end the unpaid subscription after it.

    `first_attempt_ms` is the time of the first payment attempt; both times are in Unix milliseconds."""
    deadline_ms = first_attempt_ms + GRACE_PERIOD_MS
    if call.now_ms >= deadline_ms:
        actions.end(call, row)
    else:
        actions.schedule_renewal(call, row, min(retry_ms, deadline_ms), first_attempt_ms=first_attempt_ms)


async def settle(operation: AsyncOperation, job: Job) -> None:
    """Complete a purchase whose request was interrupted."""
    purchase_id = job.decode(int)
    try:
        await purchases.settle(operation, purchase_id)
    except PaymentUncertain as error:
        log.warning("Payment of purchase %d has an unknown outcome; retrying", purchase_id, exc_info=error)
        await operation.write(lambda call: purchases.postpone(call, purchase_id))


JOBS = {actions.RENEWAL_JOB: renew, purchases.SETTLEMENT_JOB: settle, ledger.REFUND_JOB: ledger.run_refund}

"""What happens by the clock: renewals, ends, and purchases that were cut off."""

import logging
from typing import Final

from hubbub.protocol.enums import SubscriptionStatus
from hubbub.server.core.call import Call
from hubbub.server.core.jobs import Job
from hubbub.server.core.payments import Charge, PaymentDeclined, PaymentUncertain
from hubbub.server.core.work import Work
from hubbub.server.resources import guilds, skus
from hubbub.server.resources.skus import SkuRow
from hubbub.server.resources.subscriptions import actions, ledger, purchases, store
from hubbub.server.resources.subscriptions.actions import Renewal
from hubbub.server.resources.subscriptions.store import SubscriptionRow

log = logging.getLogger(__name__)

# Spec, 7.3: it stays active while the payment is retried; how often is our choice (decisions/0033).
RETRY_MS: Final = 24 * 3_600_000
"""After a payment that was declined. Who does not answer at all is asked sooner."""
GRACE_MS: Final = 3 * RETRY_MS


async def renew(work: Work, job: Job) -> None:
    """A period is over: take the next payment, or end the subscription."""
    renewal = job.decode(Renewal)
    charge = await work.write(lambda call: _begin(call, renewal))
    if charge is None:
        return
    try:
        await ledger.take(work, charge)
    except PaymentDeclined as declined:
        log.info("renewal of subscription %d was declined: %s", renewal.subscription_id, declined)
        await work.write(lambda call: _declined(call, renewal, charge))
    except PaymentUncertain as error:
        log.warning("nobody knows whether subscription %d is paid", renewal.subscription_id, exc_info=error)
        await work.write(lambda call: _unanswered(call, renewal))
    else:
        await work.write(lambda call: _paid(call, renewal, charge))


def _begin(call: Call, renewal: Renewal) -> Charge | None:
    """What to pay; None where nothing is, and an end was made."""
    row = _due(call, renewal)
    if row is None:
        return None
    sku = _next(call, row)
    if sku is None:
        actions.end(call, row)
        return None
    return ledger.ask(call, actions.payment_key(row), sku, row.user_id, row.guild_id, row.id)


def _due(call: Call, renewal: Renewal) -> SubscriptionRow | None:
    """The subscription, unless it was renewed, upgraded or ended meanwhile."""
    row = store.find(call.tx, renewal.subscription_id)
    if row is None or row.status == SubscriptionStatus.INACTIVE or row.period_end_ms != renewal.period_end_ms:
        return None
    return row


def _next(call: Call, row: SubscriptionRow) -> SkuRow | None:
    """What the subscription renews into; None where it ends."""
    if row.status != SubscriptionStatus.ACTIVE or (row.guild_id and guilds.find(call.tx, row.guild_id) is None):
        return None
    sku = skus.find(call.tx, row.renewal_sku_id)
    # Spec, 7.1: what is no longer published is not renewed.
    return sku if sku is not None and skus.is_on_sale(sku) else None


def _paid(call: Call, renewal: Renewal, charge: Charge) -> None:
    row = _due(call, renewal)
    sku = skus.find(call.tx, charge.sku_id)
    if row is None or sku is None:
        ledger.useless(call, charge)
        return
    ledger.taken(call, charge, actions.renew(call, row, sku).entitlement_id)


def _declined(call: Call, renewal: Renewal, charge: Charge) -> None:
    row = _due(call, renewal)
    if row is not None:
        ledger.declined(call, charge.key)
        _unpaid(call, row, _since(call, renewal), call.now + RETRY_MS)


def _unanswered(call: Call, renewal: Renewal) -> None:
    row = _due(call, renewal)
    if row is not None:
        since_ms = _since(call, renewal)
        _unpaid(call, row, since_ms, ledger.again_ms(call.now, since_ms))


def _since(call: Call, renewal: Renewal) -> int:
    """When it was first tried; jobs of earlier releases do not say it."""
    return renewal.since_ms or call.now - renewal.declined * RETRY_MS


def _unpaid(call: Call, row: SubscriptionRow, since_ms: int, again_ms: int) -> None:
    """Try again, up to the end of the days that a payment has: nothing is given for ever that nobody paid."""
    last_ms = since_ms + GRACE_MS
    if call.now >= last_ms:
        actions.end(call, row)
    else:
        actions.renew_at(call, row, min(again_ms, last_ms), since_ms=since_ms)


async def settle(work: Work, job: Job) -> None:
    """Finish a purchase that its buyer's request did not."""
    purchase_id = job.decode(int)
    try:
        await purchases.settle(work, purchase_id)
    except PaymentUncertain as error:
        log.warning("nobody knows whether purchase %d is paid", purchase_id, exc_info=error)
        await work.write(lambda call: purchases.postpone(call, purchase_id))


JOBS = {actions.RENEW: renew, purchases.SETTLE: settle, ledger.GIVE_BACK: ledger.return_payment}

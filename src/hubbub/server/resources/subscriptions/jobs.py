"""What happens by the clock: renewals, ends, and purchases that were cut off."""

import logging
from typing import Final

from hubbub.protocol.enums import SubscriptionStatus
from hubbub.server.core.call import Call
from hubbub.server.core.jobs import Job
from hubbub.server.core.payments import Charge, PaymentDeclined
from hubbub.server.core.work import Work
from hubbub.server.resources import guilds, skus
from hubbub.server.resources.skus import SkuRow
from hubbub.server.resources.subscriptions import actions, purchases, store
from hubbub.server.resources.subscriptions.actions import Renewal
from hubbub.server.resources.subscriptions.store import SubscriptionRow

log = logging.getLogger(__name__)

# Spec, 7.3: it stays active while the payment is retried; how often is our choice (decisions/0033).
RETRY_MS: Final = 24 * 3_600_000
RETRIES: Final = 3


async def renew(work: Work, job: Job) -> None:
    """A period is over: take the next payment, or end the subscription."""
    renewal = job.decode(Renewal)
    charge = await work.write(lambda call: _begin(call, renewal))
    if charge is None:
        return
    try:
        await work.payments.charge(charge)
    except PaymentDeclined as declined:
        log.info("renewal of subscription %d was declined: %s", renewal.subscription_id, declined)
        await work.write(lambda call: _declined(call, renewal))
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
    key = f"{actions.RENEW}/{row.id}/{row.period_end_ms}"
    return purchases.charge(key, sku, row.user_id, row.guild_id, row.id)


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
    if row is not None and sku is not None:
        actions.renew(call, row, sku)


def _declined(call: Call, renewal: Renewal) -> None:
    row = _due(call, renewal)
    if row is None:
        return
    if renewal.declined >= RETRIES:
        actions.end(call, row)
    else:
        actions.renew_at(call, row, call.now + RETRY_MS, declined=renewal.declined + 1)


async def settle(work: Work, job: Job) -> None:
    """Finish a purchase that its buyer's request did not."""
    await purchases.settle(work, job.decode(int))


JOBS = {actions.RENEW: renew, purchases.SETTLE: settle}

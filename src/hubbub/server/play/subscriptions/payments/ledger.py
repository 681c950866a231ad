"""The ledger of payments: charges and refunds.

A payment is stored before its charge is submitted to the payment provider. If the outcome of a charge is unknown, the
identical charge is submitted again, with the same idempotency key. A charge that leads to no entitlement is refunded;
the refund is retried until the provider responds."""

import asyncio
import logging
from typing import Final

import msgspec

from hubbub.protocol.ids import ApplicationId, GuildId, SkuId, SubscriptionId, UserId
from hubbub.server.core import jobs
from hubbub.server.core.async_operation import AsyncOperation
from hubbub.server.core.call import Call
from hubbub.server.core.jobs import Job
from hubbub.server.core.payments import PROVIDER_TIMEOUT_SECONDS, Charge, PaymentDeclined, PaymentUncertain
from hubbub.server.play.skus import SkuRow
from hubbub.server.play.subscriptions import store
from hubbub.server.play.subscriptions.store import PaymentRow, SubscriptionRow

log = logging.getLogger(__name__)

REFUND_JOB: Final = "payments.refund"
"""Kind of the job that refunds a payment."""

RETRY_MIN_MS: Final = 60_000
"""Minimum delay in milliseconds before a request to an unresponsive payment provider is retried."""
RETRY_MAX_MS: Final = 3_600_000
"""Maximum delay in milliseconds before a request to an unresponsive payment provider is retried."""


class RefundJob(msgspec.Struct, frozen=True):
    """Payload of the refund job of a payment.

    Stored as JSON in jobs: add fields with a default, never rename."""

    key: str
    """Idempotency key of the payment."""
    scheduled_ms: int = msgspec.field(name="since_ms")
    """Unix milliseconds when the refund was first scheduled."""


def compute_next_attempt_ms(now_ms: int, first_attempt_ms: int) -> int:
    """Return the Unix milliseconds of the next attempt; the delay grows from RETRY_MIN_MS to RETRY_MAX_MS.

    `first_attempt_ms` is the time of the first attempt."""
    return now_ms + min(max(now_ms - first_attempt_ms, RETRY_MIN_MS), RETRY_MAX_MS)


def record_pending_charge(
    call: Call, payment_key: str, sku: SkuRow, user_id: int, guild_id: int | None, subscription_id: int | None
) -> Charge:
    """Return the charge to submit, and store its payment under a key that no stored payment has."""
    row = PaymentRow(
        key=payment_key,
        user_id=user_id,
        application_id=sku.application_id,
        sku_id=sku.id,
        guild_id=guild_id,
        subscription_id=subscription_id,
        amount=sku.price,
        currency=sku.currency,
        requested_ms=call.now_ms,
    )
    store.insert_payment(call.tx, row)
    return build_charge(row)


def record_pending_renewal_charge(call: Call, key_prefix: str, sku: SkuRow, subscription: SubscriptionRow) -> Charge:
    """Return the charge to submit for the next period of a subscription, and store its payment.

    If the outcome of an earlier charge for the period is unknown, return the earlier charge with its original amount. The
    idempotency key contains everything that may change between two attempts, so that each key stands for one charge."""
    row = store.find_pending_renewal_payment(call.tx, subscription, key_prefix)
    if row is not None:
        return build_charge(row)
    payment_key = f"{key_prefix}/{sku.id}/{sku.price}{sku.currency}"
    return record_pending_charge(call, payment_key, sku, subscription.user_id, subscription.guild_id, subscription.id)


def build_charge(row: PaymentRow) -> Charge:
    """Build the charge of a payment, which is sent to the payment provider."""
    return Charge(
        key=row.key,
        user_id=UserId(row.user_id),
        application_id=ApplicationId(row.application_id),
        sku_id=SkuId(row.sku_id),
        amount=row.amount,
        currency=row.currency,
        guild_id=None if row.guild_id is None else GuildId(row.guild_id),
        subscription_id=None if row.subscription_id is None else SubscriptionId(row.subscription_id),
    )


async def submit(operation: AsyncOperation, charge: Charge) -> None:
    """Submit a charge to the payment provider.

    Raise PaymentDeclined, or PaymentUncertain if the outcome is unknown."""
    try:
        # Wall-clock seconds: the provider is a remote system and does not follow the server's clock.
        async with asyncio.timeout(PROVIDER_TIMEOUT_SECONDS):
            await operation.payments.charge(charge)
    except PaymentDeclined:
        raise
    except Exception as error:
        raise PaymentUncertain(charge.key) from error


def record_payment(call: Call, charge: Charge, entitlement_id: int | None) -> None:
    """Record that a charge succeeded, with the entitlement that it paid for."""
    row = _find_or_insert(call, charge)
    store.update_payment(call.tx, row._replace(state=store.CHARGED, entitlement_id=entitlement_id))


def delete_declined(call: Call, payment_key: str) -> None:
    """Delete a declined payment, so that the next attempt is another charge at the current price."""
    store.delete_payment(call.tx, payment_key)


def abandon(call: Call, row: PaymentRow | None) -> None:
    """Refund a payment that is no longer needed and whose charge may have succeeded; do nothing for None."""
    if row is not None and row.state == store.CHARGE_PENDING:
        schedule_refund(call, build_charge(row))


def refund_unused(call: Call, charge: Charge) -> None:
    """Refund a charge that succeeded when it was no longer needed, unless it already paid for an entitlement."""
    row = store.find_payment(call.tx, charge.key)
    if row is None or row.state != store.CHARGED:
        schedule_refund(call, charge)


def refund_entitlement(call: Call, entitlement_id: int) -> None:
    """Refund the last payment of an entitlement."""
    row = store.find_last_payment(call.tx, entitlement_id)
    if row is not None:
        schedule_refund(call, build_charge(row))


def schedule_refund(call: Call, charge: Charge) -> None:
    """Schedule a refund, even after an earlier refund, since the charge may have succeeded in between."""
    store.update_payment(call.tx, _find_or_insert(call, charge)._replace(state=store.REFUNDING))
    _enqueue_refund(call, RefundJob(charge.key, call.now_ms), call.now_ms)


def _find_or_insert(call: Call, charge: Charge) -> PaymentRow:
    row = store.find_payment(call.tx, charge.key)
    if row is None:
        row = PaymentRow(**msgspec.structs.asdict(charge), requested_ms=call.now_ms)
        store.insert_payment(call.tx, row)
    return row


def _enqueue_refund(call: Call, refund_job: RefundJob, due_ms: int) -> None:
    job_key = f"{REFUND_JOB}/{refund_job.key}"
    jobs.cancel_jobs(call.tx, REFUND_JOB, job_key)
    call.tx.enqueue(REFUND_JOB, refund_job, due_ms=due_ms, key=job_key)


async def run_refund(operation: AsyncOperation, job: Job) -> None:
    """Refund a payment and reschedule the job until the provider responds."""
    refund_job = job.decode(RefundJob)
    charge_to_refund = await operation.read(lambda call: _find_pending_refund(call, refund_job.key))
    if charge_to_refund is None:
        return
    try:
        async with asyncio.timeout(PROVIDER_TIMEOUT_SECONDS):
            await operation.payments.refund(charge_to_refund)
    except PaymentDeclined as error:
        log.error("Refund of payment %s was declined: %s", refund_job.key, error)
        await operation.write(lambda call: _end_refund(call, job, refund_job.key, store.REFUND_DECLINED))
    except Exception as error:
        log.warning("Refund of payment %s failed; retrying", refund_job.key, exc_info=error)
        await operation.write(
            lambda call: _enqueue_refund(
                call, refund_job, compute_next_attempt_ms(call.now_ms, refund_job.scheduled_ms)
            )
        )
    else:
        await operation.write(lambda call: _end_refund(call, job, refund_job.key, store.REFUNDED))


def _find_pending_refund(call: Call, payment_key: str) -> Charge | None:
    """Return the charge to refund, or None if the payment is not being refunded."""
    row = store.find_payment(call.tx, payment_key)
    return build_charge(row) if row is not None and row.state == store.REFUNDING else None


def _end_refund(call: Call, job: Job, payment_key: str, state: int) -> None:
    """Record the outcome of a refund: REFUNDED or REFUND_DECLINED."""
    if jobs.has_successor(call.tx, job):
        return  # The charge succeeded meanwhile, and the next job refunds it.
    row = store.find_payment(call.tx, payment_key)
    if row is not None and row.state == store.REFUNDING:
        store.update_payment(call.tx, row._replace(state=state))

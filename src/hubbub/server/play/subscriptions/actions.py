"""The lifecycle of subscriptions: functions that store a change and publish it, and the scheduling of renewals.

The rules are in spec/webhooks-and-interactions.md#7.3.
"""

from typing import Final

import msgspec

from hubbub.protocol import changes
from hubbub.protocol.enums import EntitlementType, SubscriptionStatus
from hubbub.protocol.ids import SubscriptionId
from hubbub.protocol.operation import Event
from hubbub.protocol.resources import subscriptions as wire
from hubbub.server.core import jobs
from hubbub.server.core.call import Call
from hubbub.server.core.event_dispatch import UserAudience
from hubbub.server.identity import applications
from hubbub.server.play import entitlements
from hubbub.server.play.entitlements import EntitlementRow
from hubbub.server.play.skus import SkuRow
from hubbub.server.play.subscriptions import store, views
from hubbub.server.play.subscriptions.payments import ledger
from hubbub.server.play.subscriptions.payments.periods import day_of_month, next_month
from hubbub.server.play.subscriptions.store import SubscriptionRow

RENEWAL_JOB: Final = "subscriptions.renew"
"""Kind of the job that renews or ends a subscription."""


class Renewal(msgspec.Struct, frozen=True, omit_defaults=True):
    """Payload of the renewal job of a period.

    Stored as JSON in jobs: add fields with a default, never rename."""

    subscription_id: SubscriptionId
    period_end_ms: int
    """End of the period to renew in Unix milliseconds; the job does nothing if the period has another end."""
    first_attempt_ms: int = msgspec.field(default=0, name="since_ms")
    """Time of the first payment attempt in Unix milliseconds; 0 before it."""


def create(call: Call, sku: SkuRow, user_id: int, guild_id: int | None) -> SubscriptionRow:
    """Create a subscription and grant its entitlement. It is published as inactive before the grant, and then as active."""
    anchor_day = day_of_month(call.now_ms)
    row = SubscriptionRow(
        id=call.new_id(SubscriptionId),
        application_id=sku.application_id,
        user_id=user_id,
        guild_id=guild_id,
        sku_id=sku.id,
        renewal_sku_id=sku.id,
        entitlement_id=None,
        period_start_ms=call.now_ms,
        period_end_ms=next_month(call.now_ms, anchor_day),
        anchor_day=anchor_day,
        status=SubscriptionStatus.INACTIVE,
    )
    store.insert(call.tx, row)
    _publish(call, wire.SUBSCRIPTION_CREATE, row)
    entitlement = _grant_entitlement(call, row, sku)
    row = row._replace(entitlement_id=entitlement.id, status=SubscriptionStatus.ACTIVE)
    _update_and_publish(call, row)
    schedule_renewal(call, row, row.period_end_ms)
    return row


def renew(call: Call, row: SubscriptionRow, sku: SkuRow) -> SubscriptionRow:
    """Renew a subscription after the next month was paid; `sku` is the SKU that was paid.

    A changed SKU ends the current entitlement and grants another one."""
    start_ms = row.period_end_ms
    row = row._replace(period_start_ms=start_ms, period_end_ms=next_month(start_ms, row.anchor_day))
    entitlement = _find_entitlement(call, row)
    if sku.id != row.sku_id or entitlement is None:
        if entitlement is not None:
            entitlements.end(call, entitlement, start_ms)
        row = row._replace(sku_id=sku.id, renewal_sku_id=sku.id, entitlement_id=_grant_entitlement(call, row, sku).id)
    elif entitlement.type == EntitlementType.APPLICATION_SUBSCRIPTION:
        # spec/dated-changes.md#3, 2024-10-01: since that date a renewal removes the end of the entitlement; before, it
        # moved the end.
        if changes.SUBSCRIPTION_ENTITLEMENTS_MIGRATING.is_active(call.now_ms):
            entitlements.migrate(call, entitlement)
        else:
            entitlements.set_end(call, entitlement, row.period_end_ms)
    _update_and_publish(call, row)
    schedule_renewal(call, row, row.period_end_ms)
    return row


def cancel(call: Call, row: SubscriptionRow) -> SubscriptionRow:
    """Mark a subscription to end with its current period."""
    row = row._replace(status=SubscriptionStatus.ENDING, canceled_ms=call.now_ms)
    _update_and_publish(call, row)
    return row


def resume(call: Call, row: SubscriptionRow) -> SubscriptionRow:
    """Undo the cancellation of a subscription."""
    row = row._replace(status=SubscriptionStatus.ACTIVE, canceled_ms=None)
    _update_and_publish(call, row)
    return row


def end(call: Call, row: SubscriptionRow) -> SubscriptionRow:
    """End a subscription after its last period."""
    entitlement = _find_entitlement(call, row)
    if entitlement is not None:
        entitlements.end(call, entitlement, row.period_end_ms)
    row = row._replace(status=SubscriptionStatus.INACTIVE)
    _update_and_publish(call, row)
    _cancel_renewal(call, row)
    return row


def upgrade(call: Call, row: SubscriptionRow, sku: SkuRow) -> SubscriptionRow:
    """Replace the SKU by one that is at least as expensive, start a new period now, and undo a cancellation."""
    _cancel_renewal(call, row)
    entitlement = _find_entitlement(call, row)
    if entitlement is not None:
        entitlements.end(call, entitlement, call.now_ms)
    anchor_day = day_of_month(call.now_ms)
    row = row._replace(
        sku_id=sku.id,
        renewal_sku_id=sku.id,
        period_start_ms=call.now_ms,
        period_end_ms=next_month(call.now_ms, anchor_day),
        anchor_day=anchor_day,
        status=SubscriptionStatus.ACTIVE,
        canceled_ms=None,
    )
    row = row._replace(entitlement_id=_grant_entitlement(call, row, sku).id)
    _update_and_publish(call, row)
    schedule_renewal(call, row, row.period_end_ms)
    return row


def change_at_renewal(call: Call, row: SubscriptionRow, sku: SkuRow) -> SubscriptionRow:
    """Replace the SKU at the next renewal: by a cheaper one, by one in another currency, or back to the current one.

    A cancellation is undone."""
    row = row._replace(renewal_sku_id=sku.id, status=SubscriptionStatus.ACTIVE, canceled_ms=None)
    _update_and_publish(call, row)
    return row


def refund(call: Call, entitlement: EntitlementRow) -> None:
    """Refund the last payment of an entitlement and delete the entitlement.

    If it is the current entitlement of a subscription, the subscription ends."""
    ledger.refund_entitlement(call, entitlement.id)
    entitlements.delete(call, entitlement)
    row = None if entitlement.subscription_id is None else store.find(call.tx, entitlement.subscription_id)
    if row is not None and row.entitlement_id == entitlement.id and row.status != SubscriptionStatus.INACTIVE:
        _update_and_publish(call, row._replace(status=SubscriptionStatus.INACTIVE))
        _cancel_renewal(call, row)


def delete(call: Call, row: SubscriptionRow) -> None:
    """Delete the subscription of a deleted user.

    A guild keeps a paid entitlement until the period ends."""
    entitlement = _find_entitlement(call, row)
    if entitlement is not None and row.status != SubscriptionStatus.INACTIVE:
        paid_until_ms = row.period_end_ms
        entitlements.end(
            call, entitlement, paid_until_ms if row.guild_id is not None else min(paid_until_ms, call.now_ms)
        )
    store.delete(call.tx, row.id)
    _cancel_renewal(call, row)
    _publish(call, wire.SUBSCRIPTION_DELETE, row)


def schedule_renewal(call: Call, row: SubscriptionRow, due_ms: int, *, first_attempt_ms: int = 0) -> None:
    """Schedule the renewal or the end of a subscription, replacing an earlier schedule.

    `due_ms` is when the job runs, `first_attempt_ms` the time of the first payment attempt or 0; both in Unix milliseconds."""
    jobs.cancel_jobs(call.tx, RENEWAL_JOB, _renewal_job_key(row))
    renewal = Renewal(SubscriptionId(row.id), row.period_end_ms, first_attempt_ms=first_attempt_ms)
    call.tx.enqueue(RENEWAL_JOB, renewal, due_ms=due_ms, key=_renewal_job_key(row))


def abandon_renewal_payment(call: Call, row: SubscriptionRow) -> None:
    """Refund the payment for the next period if its charge may have succeeded."""
    ledger.abandon(call, store.find_pending_renewal_payment(call.tx, row, renewal_payment_prefix(row)))


def renewal_payment_prefix(row: SubscriptionRow) -> str:
    """Return the common prefix of the idempotency keys of all payments for the next period."""
    return f"{RENEWAL_JOB}/{row.id}/{row.period_end_ms}"


def _cancel_renewal(call: Call, row: SubscriptionRow) -> None:
    """Cancel a scheduled or ongoing renewal and refund its payment if the charge may have succeeded."""
    jobs.cancel_jobs(call.tx, RENEWAL_JOB, _renewal_job_key(row))
    abandon_renewal_payment(call, row)


def _renewal_job_key(row: SubscriptionRow) -> str:
    return f"{RENEWAL_JOB}/{row.id}"


def _grant_entitlement(call: Call, row: SubscriptionRow, sku: SkuRow) -> EntitlementRow:
    # spec/dated-changes.md#3, 2024-10-01: before that date, subscriptions granted type APPLICATION_SUBSCRIPTION with the
    # period's end.
    is_migrated = changes.SUBSCRIPTION_ENTITLEMENTS_MIGRATING.is_active(call.now_ms)
    return entitlements.grant(
        call,
        sku,
        row.user_id,
        row.guild_id,
        type=EntitlementType.PURCHASE if is_migrated else EntitlementType.APPLICATION_SUBSCRIPTION,
        starts_ms=row.period_start_ms,
        ends_ms=None if is_migrated else row.period_end_ms,
        subscription_id=row.id,
    )


def _find_entitlement(call: Call, row: SubscriptionRow) -> EntitlementRow | None:
    return None if row.entitlement_id is None else entitlements.find(call.tx, row.entitlement_id)


def _update_and_publish(call: Call, row: SubscriptionRow) -> None:
    store.update(call.tx, row)
    _publish(call, wire.SUBSCRIPTION_UPDATE, row)


def _publish(call: Call, event: Event[wire.Subscription], row: SubscriptionRow) -> None:
    application = applications.find(call.tx, row.application_id)
    if application is not None and application.bot_id is not None:
        call.tx.emit(event, views.subscription(row, call.now_ms), UserAudience.of(application.bot_id))

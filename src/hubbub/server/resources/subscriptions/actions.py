"""The life of a subscription: each step with its events, in the order that the spec gives (7.3)."""

from typing import Final

import msgspec

from hubbub.protocol import changes
from hubbub.protocol.enums import EntitlementType, SubscriptionStatus
from hubbub.protocol.ids import SubscriptionId
from hubbub.protocol.operation import Event
from hubbub.protocol.resources import subscriptions as wire
from hubbub.server.core import jobs
from hubbub.server.core.call import Call
from hubbub.server.core.dispatches import Audience
from hubbub.server.resources import applications, entitlements
from hubbub.server.resources.entitlements import EntitlementRow
from hubbub.server.resources.skus import SkuRow
from hubbub.server.resources.subscriptions import ledger, store, views
from hubbub.server.resources.subscriptions.periods import day_of, next_month
from hubbub.server.resources.subscriptions.store import SubscriptionRow

RENEW: Final = "subscriptions.renew"


class Renewal(msgspec.Struct, frozen=True, omit_defaults=True):
    """A period that ends. Stored as JSON in jobs: add fields with a default, never rename."""

    subscription_id: SubscriptionId
    period_end_ms: int
    declined: int = 0
    """How often the payment was declined, in jobs of earlier releases."""
    since_ms: int = 0
    """When the payment was first tried; 0 before."""


def begin(call: Call, sku: SkuRow, user_id: int, guild_id: int | None) -> SubscriptionRow:
    """Somebody subscribes: it is inactive until what they paid for is theirs."""
    day = day_of(call.now)
    row = SubscriptionRow(
        id=call.new_id(SubscriptionId),
        application_id=sku.application_id,
        user_id=user_id,
        guild_id=guild_id,
        sku_id=sku.id,
        renewal_sku_id=sku.id,
        entitlement_id=None,
        period_start_ms=call.now,
        period_end_ms=next_month(call.now, day),
        anchor_day=day,
        status=SubscriptionStatus.INACTIVE,
    )
    store.insert(call.tx, row)
    _tell(call, wire.SUBSCRIPTION_CREATE, row)
    granted = _grant(call, row, sku)
    row = row._replace(entitlement_id=granted.id, status=SubscriptionStatus.ACTIVE)
    _keep(call, row)
    renew_at(call, row, row.period_end_ms)
    return row


def renew(call: Call, row: SubscriptionRow, sku: SkuRow) -> SubscriptionRow:
    """The next month is paid. Only a change of the SKU changes the entitlement too."""
    start_ms = row.period_end_ms
    row = row._replace(period_start_ms=start_ms, period_end_ms=next_month(start_ms, row.anchor_day))
    owned = _entitlement(call, row)
    if sku.id != row.sku_id or owned is None:
        if owned is not None:
            entitlements.end(call, owned, start_ms)
        row = row._replace(sku_id=sku.id, renewal_sku_id=sku.id, entitlement_id=_grant(call, row, sku).id)
    elif owned.type == EntitlementType.APPLICATION_SUBSCRIPTION:
        # dated-changes.md, 2024-10-01: from then on each renewal gives a new entitlement that has no end; before, it moved the end.
        if changes.SUBSCRIPTION_ENTITLEMENTS_MIGRATING.active(call.now):
            row = row._replace(entitlement_id=_grant(call, row, sku).id)
        else:
            entitlements.extend(call, owned, row.period_end_ms)
    _keep(call, row)
    renew_at(call, row, row.period_end_ms)
    return row


def cancel(call: Call, row: SubscriptionRow) -> SubscriptionRow:
    """It will not renew."""
    row = row._replace(status=SubscriptionStatus.ENDING, canceled_ms=call.now)
    _keep(call, row)
    return row


def resume(call: Call, row: SubscriptionRow) -> SubscriptionRow:
    """It will renew after all."""
    row = row._replace(status=SubscriptionStatus.ACTIVE, canceled_ms=None)
    _keep(call, row)
    return row


def end(call: Call, row: SubscriptionRow) -> SubscriptionRow:
    """The last period is over."""
    owned = _entitlement(call, row)
    if owned is not None:
        entitlements.end(call, owned, row.period_end_ms)
    row = row._replace(status=SubscriptionStatus.INACTIVE)
    _keep(call, row)
    _renews_no_more(call, row)
    return row


def upgrade(call: Call, row: SubscriptionRow, sku: SkuRow) -> SubscriptionRow:
    """Something dearer instead, from now on."""
    _renews_no_more(call, row)
    owned = _entitlement(call, row)
    if owned is not None:
        entitlements.end(call, owned, call.now)
    day = day_of(call.now)
    row = row._replace(
        sku_id=sku.id,
        renewal_sku_id=sku.id,
        period_start_ms=call.now,
        period_end_ms=next_month(call.now, day),
        anchor_day=day,
        status=SubscriptionStatus.ACTIVE,
        canceled_ms=None,
    )
    row = row._replace(entitlement_id=_grant(call, row, sku).id)
    _keep(call, row)
    renew_at(call, row, row.period_end_ms)
    return row


def change_at_renewal(call: Call, row: SubscriptionRow, sku: SkuRow) -> SubscriptionRow:
    """Something cheaper instead, or the same as now, from the next renewal on."""
    row = row._replace(renewal_sku_id=sku.id, status=SubscriptionStatus.ACTIVE, canceled_ms=None)
    _keep(call, row)
    return row


def refund(call: Call, owned: EntitlementRow) -> None:
    """The money goes back, of a subscription that of its last payment, and what it bought is gone at once."""
    ledger.refund(call, owned.id)
    entitlements.remove(call, owned)
    row = None if owned.subscription_id is None else store.find(call.tx, owned.subscription_id)
    if row is not None and row.entitlement_id == owned.id and row.status != SubscriptionStatus.INACTIVE:
        _keep(call, row._replace(status=SubscriptionStatus.INACTIVE))
        _renews_no_more(call, row)


def delete(call: Call, row: SubscriptionRow) -> None:
    """Forget it: its user is gone. A guild keeps what was paid for it until the period is over."""
    owned = _entitlement(call, row)
    if owned is not None and row.status != SubscriptionStatus.INACTIVE:
        until_ms = row.period_end_ms
        entitlements.end(call, owned, until_ms if row.guild_id is not None else min(until_ms, call.now))
    store.delete(call.tx, row.id)
    _renews_no_more(call, row)
    _tell(call, wire.SUBSCRIPTION_DELETE, row)


def renew_at(call: Call, row: SubscriptionRow, due_ms: int, *, since_ms: int = 0) -> None:
    """Have it renewed, or ended, at a moment; one that was planned before is not."""
    jobs.cancel(call.tx, RENEW, _key(row))
    renewal = Renewal(SubscriptionId(row.id), row.period_end_ms, since_ms=since_ms)
    call.tx.enqueue(RENEW, renewal, due_ms=due_ms, key=_key(row))


def payment_key(row: SubscriptionRow) -> str:
    """The payment for the period after the present one."""
    return f"{RENEW}/{row.id}/{row.period_end_ms}"


def _renews_no_more(call: Call, row: SubscriptionRow) -> None:
    """A renewal that is planned or under way comes to nothing, and so does its payment."""
    jobs.cancel(call.tx, RENEW, _key(row))
    ledger.release(call, payment_key(row))


def _key(row: SubscriptionRow) -> str:
    return f"{RENEW}/{row.id}"


def _grant(call: Call, row: SubscriptionRow, sku: SkuRow) -> EntitlementRow:
    # dated-changes.md, 2024-10-01: before, subscriptions gave type 8 with the period's end.
    today = changes.SUBSCRIPTION_ENTITLEMENTS_MIGRATING.active(call.now)
    return entitlements.grant(
        call,
        sku,
        row.user_id,
        row.guild_id,
        type=EntitlementType.PURCHASE if today else EntitlementType.APPLICATION_SUBSCRIPTION,
        starts_ms=row.period_start_ms,
        ends_ms=None if today else row.period_end_ms,
        subscription_id=row.id,
    )


def _entitlement(call: Call, row: SubscriptionRow) -> EntitlementRow | None:
    return None if row.entitlement_id is None else entitlements.find(call.tx, row.entitlement_id)


def _keep(call: Call, row: SubscriptionRow) -> None:
    store.update(call.tx, row)
    _tell(call, wire.SUBSCRIPTION_UPDATE, row)


def _tell(call: Call, event: Event[wire.Subscription], row: SubscriptionRow) -> None:
    application = applications.find(call.tx, row.application_id)
    if application is not None and application.bot_id is not None:
        call.tx.emit(event, views.subscription(row, call.now), Audience.of_users(application.bot_id))

"""Granting, ending and taking away. The application hears of each on the gateway and by webhook."""

from hubbub.protocol.enums import EntitlementType, WebhookEventType
from hubbub.protocol.ids import ApplicationId, EntitlementId
from hubbub.protocol.operation import Event
from hubbub.protocol.resources import entitlements as wire
from hubbub.server.core.call import Call
from hubbub.server.core.dispatches import Audience
from hubbub.server.resources import applications, webhook_events
from hubbub.server.resources.entitlements import store, views
from hubbub.server.resources.entitlements.store import EntitlementRow
from hubbub.server.resources.skus import SkuRow


def grant(
    call: Call,
    sku: SkuRow,
    user_id: int,
    guild_id: int | None = None,
    *,
    type: EntitlementType = EntitlementType.PURCHASE,
    starts_ms: int | None = None,
    ends_ms: int | None = None,
    subscription_id: int | None = None,
    is_test: bool = False,
) -> EntitlementRow:
    """Give somebody what they bought, or a test of it."""
    row = EntitlementRow(
        id=call.new_id(EntitlementId),
        application_id=sku.application_id,
        sku_id=sku.id,
        user_id=user_id,
        guild_id=guild_id,
        type=type,
        starts_ms=starts_ms,
        ends_ms=ends_ms,
        is_test=int(is_test),
        subscription_id=subscription_id,
    )
    store.insert(call.tx, row)
    _tell(call, wire.ENTITLEMENT_CREATE, row)
    return row


def end(call: Call, row: EntitlementRow, at_ms: int) -> EntitlementRow:
    """It ends at a moment, as its subscription does; nothing happens to one that already does."""
    return extend(call, row, at_ms) if row.ends_ms is None else row


def extend(call: Call, row: EntitlementRow, ends_ms: int) -> EntitlementRow:
    """Set when it ends."""
    row = row._replace(ends_ms=ends_ms)
    store.update(call.tx, row)
    _tell(call, wire.ENTITLEMENT_UPDATE, row)
    return row


def consume(call: Call, row: EntitlementRow) -> None:
    """It is used up, and can be bought again."""
    row = row._replace(consumed=1)
    store.update(call.tx, row)
    _tell(call, wire.ENTITLEMENT_UPDATE, row)


def remove(call: Call, row: EntitlementRow) -> None:
    """Take it away: a refund, or the end of a test."""
    row = row._replace(deleted=1)
    store.update(call.tx, row)
    _tell(call, wire.ENTITLEMENT_DELETE, row)


def _tell(call: Call, event: Event[wire.Entitlement], row: EntitlementRow) -> None:
    shown = views.entitlement(row, call.now)
    application = applications.find(call.tx, row.application_id)
    bot_id = None if application is None else application.bot_id
    # The buyer hears too: the agent on their machine tells the game that waits for it (rpc.md 9).
    if hearers := [each for each in (bot_id, row.user_id) if each is not None]:
        call.tx.emit(event, shown, Audience.of_users(*hearers))
    if event.webhook:
        # In order for each buyer, so that the end of one thing comes before the next one they have instead.
        kind = WebhookEventType(event.name)
        webhook_events.send(call, ApplicationId(row.application_id), kind, shown, subject_id=row.user_id)

"""Grant, end, migrate, consume and delete entitlements, and publish each change.

All changes are published on the gateway; some are also sent as webhook events."""

from typing import Any

from hubbub.protocol.enums import EntitlementType, WebhookEventType
from hubbub.protocol.ids import ApplicationId, EntitlementId, UserId
from hubbub.protocol.operation import Event
from hubbub.protocol.resources import entitlements as wire
from hubbub.server.core.call import Call
from hubbub.server.core.event_dispatch import UserAudience
from hubbub.server.core.personal_data import export_row
from hubbub.server.identity import applications
from hubbub.server.play import webhook_events
from hubbub.server.play.entitlements import store, views
from hubbub.server.play.entitlements.store import EntitlementRow
from hubbub.server.play.skus import SkuRow


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
    """Grant an entitlement, purchased or for testing.

    `user_id` is the buyer. `guild_id` is the guild that may use the SKU, or None if the buyer may. `starts_ms` and
    `ends_ms` limit the entitlement, in Unix milliseconds; None means no limit. `subscription_id` is the subscription that
    pays for it, or None for a one-time purchase."""
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
    _publish(call, wire.ENTITLEMENT_CREATE, row)
    return row


def end(call: Call, row: EntitlementRow, ends_ms: int) -> EntitlementRow:
    """Set the end of an entitlement in Unix milliseconds, unless it already has one."""
    return set_end(call, row, ends_ms) if row.ends_ms is None else row


def set_end(call: Call, row: EntitlementRow, ends_ms: int) -> EntitlementRow:
    """Set the end of an entitlement in Unix milliseconds, replacing an earlier end."""
    row = row._replace(ends_ms=ends_ms)
    store.update(call.tx, row)
    _publish(call, wire.ENTITLEMENT_UPDATE, row)
    return row


def migrate(call: Call, row: EntitlementRow) -> None:
    """Turn an entitlement of type APPLICATION_SUBSCRIPTION into a PURCHASE without an end.

    It keeps its ID and start. The published ENTITLEMENT_CREATE does not mean a new entitlement."""
    row = row._replace(type=EntitlementType.PURCHASE, ends_ms=None)
    store.update(call.tx, row)
    _publish(call, wire.ENTITLEMENT_CREATE, row)


def consume(call: Call, row: EntitlementRow) -> None:
    """Mark an entitlement as consumed, so that the SKU can be bought again."""
    row = row._replace(consumed=1)
    store.update(call.tx, row)
    _publish(call, wire.ENTITLEMENT_UPDATE, row)


def delete(call: Call, row: EntitlementRow) -> None:
    """Mark an entitlement as deleted, after a refund or a test."""
    row = row._replace(deleted=1)
    store.update(call.tx, row)
    _publish(call, wire.ENTITLEMENT_DELETE, row)


def _publish(call: Call, event: Event[wire.Entitlement], row: EntitlementRow) -> None:
    """Publish an entitlement to the application's bot and to the buyer, and send the webhook event if there is one."""
    view = views.entitlement(row, call.now_ms)
    application = applications.find(call.tx, row.application_id)
    bot_id = None if application is None else application.bot_id
    # The buyer receives the event, too: the local agent passes it on to the game that waits for it (spec/rpc.md#9).
    if recipient_ids := [user_id for user_id in (bot_id, row.user_id) if user_id is not None]:
        call.tx.emit(event, view, UserAudience.of(*recipient_ids))
    if event.is_webhook_event:
        # Events are ordered per buyer, so that the end of an entitlement is delivered before its replacement.
        event_type = WebhookEventType(event.name)
        webhook_events.send(call, ApplicationId(row.application_id), event_type, view, subject_id=row.user_id)


def delete_user_entitlements(call: Call, user_id: UserId) -> None:
    """Delete the rows of a deleted user's own entitlements. Entitlements of guilds stay until they end."""
    for row in store.list_by_buyer(call.tx, user_id):
        if row.guild_id is None:
            if not row.deleted:
                delete(call, row)
            store.delete(call.tx, row.id)


def export_data(call: Call, user_id: UserId) -> dict[str, Any]:
    """Return the entitlements that a user bought for the export of their data."""
    return {"entitlements": [export_row(row, "user_id") for row in store.list_by_buyer(call.tx, user_id)]}

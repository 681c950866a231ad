"""Build the wire models of entitlements."""

from msgspec import UNSET

from hubbub.protocol import changes, codec
from hubbub.protocol.enums import EntitlementType
from hubbub.protocol.ids import ApplicationId, EntitlementId, GuildId, SkuId, SubscriptionId, UserId
from hubbub.protocol.resources import entitlements as wire
from hubbub.server.core.call import Call
from hubbub.server.play.entitlements import store
from hubbub.server.play.entitlements.store import EntitlementRow


def entitlement(row: EntitlementRow, now_ms: int) -> wire.Entitlement:
    """Build an entitlement as it is visible at `now_ms`."""
    row = _after_migration(row, now_ms)
    return wire.Entitlement(
        id=EntitlementId(row.id),
        sku_id=SkuId(row.sku_id),
        application_id=ApplicationId(row.application_id),
        user_id=UserId(row.user_id),
        # The client library hikari reads a guild ID wherever the key is present, so an entitlement without a guild has
        # no key.
        guild_id=UNSET if row.guild_id is None else GuildId(row.guild_id),
        type=EntitlementType(row.type),
        deleted=bool(row.deleted),
        consumed=bool(row.consumed),
        starts_at=None if row.starts_ms is None else codec.timestamp(row.starts_ms),
        ends_at=None if row.ends_ms is None else codec.timestamp(row.ends_ms),
        subscription_id=UNSET if row.subscription_id is None else SubscriptionId(row.subscription_id),
    )


def _after_migration(row: EntitlementRow, now_ms: int) -> EntitlementRow:
    """Return a subscription's entitlement as it appears after the migration window.

    spec/dated-changes.md#3: type 8 becomes PURCHASE, and an end in the future is hidden."""
    is_old_subscription_type = row.type == EntitlementType.APPLICATION_SUBSCRIPTION and row.subscription_id is not None
    if not is_old_subscription_type or not changes.SUBSCRIPTION_ENTITLEMENTS_MIGRATED.is_active(now_ms):
        return row
    ends_ms = None if row.ends_ms is not None and row.ends_ms > now_ms else row.ends_ms
    return row._replace(type=EntitlementType.PURCHASE, ends_ms=ends_ms)


def list_active_entitlements(
    call: Call, application_id: int, user_id: int, guild_id: int | None
) -> list[wire.Entitlement]:
    """Build the active entitlements of the user and guild of an interaction."""
    return [
        entitlement(row, call.now_ms)
        for row in store.list_active(call.tx, application_id, user_id, guild_id, call.now_ms)
    ]

"""Checks for reading and changing subscriptions, and for deleting an application that has subscriptions."""

from hubbub.protocol import errors
from hubbub.protocol.enums import SubscriptionStatus
from hubbub.server.core.call import Call
from hubbub.server.play import skus
from hubbub.server.play.skus import SkuRow
from hubbub.server.play.subscriptions import store
from hubbub.server.play.subscriptions.store import SubscriptionRow


def require_own_sku(call: Call, sku_id: int) -> None:
    """Raise NOT_AUTHORIZED_ON_APPLICATION or UNKNOWN_SKU unless the SKU belongs to the calling application."""
    sku = skus.find(call.tx, sku_id)
    if sku is None:
        raise errors.UNKNOWN_SKU()
    if call.actor.application_id != sku.application_id:
        raise errors.NOT_AUTHORIZED_ON_APPLICATION()


def require_own(call: Call, subscription_id: int) -> SubscriptionRow:
    """Return a subscription of the caller, or raise NOT_FOUND."""
    row = store.find(call.tx, subscription_id)
    if row is None or row.user_id != call.user_id:
        raise errors.NOT_FOUND()
    return row


def require_not_ended(row: SubscriptionRow) -> None:
    """Raise a form error if the status of the subscription is INACTIVE."""
    if row.status == SubscriptionStatus.INACTIVE:
        raise errors.invalid("subscription_id", "SUBSCRIPTION_INACTIVE", "This subscription has ended.")


def require_replacement(row: SubscriptionRow, sku: SkuRow) -> None:
    """Raise INVALID_SKU unless the SKU is a subscription of the same application for the same type of owner."""
    if sku.application_id != row.application_id or not sku.is_subscription or sku.for_guilds != bool(row.guild_id):
        raise errors.INVALID_SKU()


def require_deletable(call: Call, application_id: int) -> None:
    """Raise an error if an application has active subscriptions, so that it cannot be deleted."""
    if store.has_subscribers(call.tx, application_id):
        raise errors.invalid(
            "application_id", "APPLICATION_HAS_SUBSCRIPTIONS", "This application still has active subscriptions."
        )

"""SQL for the subscriptions, purchases and payments tables."""

from typing import Final, NamedTuple

from hubbub.protocol.enums import SubscriptionStatus
from hubbub.server.core.pages import fetch_page
from hubbub.server.core.personal_data import Erasure, PersonalColumn
from hubbub.server.core.store import Tx, placeholders

TABLES: Final = (
    "payments",
    "purchases",
    "subscriptions",
)
"""Tables that only this slice writes."""
PERSONAL_DATA: Final = (
    PersonalColumn(
        column="payments.user_id", erasure=Erasure.KEPT, reason="Proof of payments and refunds.", export="payments"
    ),
    PersonalColumn(column="purchases.user_id", erasure=Erasure.DELETED, export="purchases"),
    PersonalColumn(column="subscriptions.user_id", erasure=Erasure.DELETED, export="subscriptions"),
)
"""Columns of these tables that contain IDs of users."""


# Values of `PurchaseRow.state`.
PENDING: Final = 0
COMPLETED: Final = 1
DECLINED: Final = 2
"""The payment was declined, or the purchase was abandoned."""

# Values of `PaymentRow.state`.
CHARGE_PENDING: Final = 0
"""The charge may have been submitted; its outcome is unknown."""
CHARGED: Final = 1
"""The charge succeeded."""
REFUNDING: Final = 2
"""A refund is scheduled."""
REFUNDED: Final = 3
"""The refund succeeded."""
REFUND_DECLINED: Final = 4
"""The payment provider declined the refund."""


class SubscriptionRow(NamedTuple):
    """A monthly subscription of a user or guild to a SKU."""

    id: int
    application_id: int
    user_id: int
    """The buyer, also if the subscription is for a guild."""
    guild_id: int | None
    """The guild of a guild subscription; None for a user subscription."""
    sku_id: int
    renewal_sku_id: int
    """The SKU from the next renewal on; unused while the subscription is canceled."""
    entitlement_id: int | None
    """The current entitlement; None only while the subscription is being created."""
    period_start_ms: int
    period_end_ms: int
    anchor_day: int
    """Day of the month on which the subscription renews, 1 to 31."""
    status: int
    """Value of `SubscriptionStatus`."""
    canceled_ms: int | None = None
    """Time of the cancellation in Unix milliseconds, or None."""


class PurchaseRow(NamedTuple):
    """A purchase of a SKU or an upgrade of a subscription, pending, completed or declined."""

    id: int
    application_id: int
    user_id: int
    guild_id: int | None
    """The guild for which the SKU is bought; None if it is for the buyer."""
    sku_id: int
    subscription_id: int | None
    """The subscription to upgrade, or after completion the one that was started or upgraded; otherwise None."""
    state: int
    """PENDING, COMPLETED or DECLINED."""
    entitlement_id: int | None = None
    """The entitlement that was granted, or None before."""


class PaymentRow(NamedTuple):
    """A stored payment: the parameters of its charge, which are the same on each attempt."""

    key: str
    """Idempotency key, the same on each attempt."""
    user_id: int
    application_id: int
    sku_id: int
    guild_id: int | None
    """The guild for which the SKU is bought; None if it is for the buyer."""
    subscription_id: int | None
    """The subscription that is renewed or upgraded; None for other purchases."""
    amount: int
    """Amount in the smallest unit of the currency."""
    currency: str
    requested_ms: int
    """Unix milliseconds when the payment was stored."""
    state: int = CHARGE_PENDING
    """CHARGE_PENDING, CHARGED, REFUNDING, REFUNDED or REFUND_DECLINED."""
    entitlement_id: int | None = None
    """The entitlement that was paid for; None until the charge succeeded."""


COLUMNS = ", ".join(SubscriptionRow._fields)
_PURCHASE_COLUMNS = ", ".join(PurchaseRow._fields)
_PAYMENT_COLUMNS = ", ".join(PaymentRow._fields)


def find(tx: Tx, subscription_id: int) -> SubscriptionRow | None:
    """Return a subscription, or None if it does not exist."""
    return tx.find(SubscriptionRow, f"SELECT {COLUMNS} FROM subscriptions WHERE id = ?", subscription_id)


def insert(tx: Tx, row: SubscriptionRow) -> None:
    tx.run(f"INSERT INTO subscriptions ({COLUMNS}) VALUES ({placeholders(row)})", *row)


def update(tx: Tx, row: SubscriptionRow) -> None:
    assignments = ", ".join(f"{name} = ?" for name in SubscriptionRow._fields[1:])
    tx.run(f"UPDATE subscriptions SET {assignments} WHERE id = ?", *row[1:], row.id)


def delete(tx: Tx, subscription_id: int) -> None:
    tx.run("DELETE FROM subscriptions WHERE id = ?", subscription_id)


def list_user_subscriptions(tx: Tx, user_id: int) -> list[SubscriptionRow]:
    """Return all subscriptions of a user, oldest first."""
    return tx.fetch(SubscriptionRow, f"SELECT {COLUMNS} FROM subscriptions WHERE user_id = ? ORDER BY id", user_id)


def list_page(
    tx: Tx, sku_id: int, user_id: int, *, before: int | None, after: int | None, limit: int
) -> list[SubscriptionRow]:
    """Return a page of a user's subscriptions to a SKU by ascending ID.

    With `before` and without `after`, the page ends just before the ID `before`."""
    select, conditions = f"SELECT {COLUMNS} FROM subscriptions", ["sku_id = ?", "user_id = ?"]
    parameters = [sku_id, user_id]
    return fetch_page(tx, SubscriptionRow, select, conditions, parameters, before=before, after=after, limit=limit)


def is_subscribed(tx: Tx, application_id: int, user_id: int, guild_id: int | None) -> bool:
    """Return whether a guild, or a user if `guild_id` is None, has a subscription of an application that has not ended."""
    holder_condition, holder_id = (
        ("guild_id = ?", guild_id) if guild_id is not None else ("guild_id IS NULL AND user_id = ?", user_id)
    )
    sql = f"SELECT 1 FROM subscriptions WHERE {holder_condition} AND application_id = ? AND status <> ? LIMIT 1"
    return tx.value(sql, holder_id, application_id, SubscriptionStatus.INACTIVE) is not None


def has_subscribers(tx: Tx, application_id: int) -> bool:
    """Return whether an application has subscriptions that have not ended."""
    sql = "SELECT 1 FROM subscriptions WHERE application_id = ? AND status <> ? LIMIT 1"
    return tx.value(sql, application_id, int(SubscriptionStatus.INACTIVE)) is not None


def find_purchase(tx: Tx, purchase_id: int) -> PurchaseRow | None:
    return tx.find(PurchaseRow, f"SELECT {_PURCHASE_COLUMNS} FROM purchases WHERE id = ?", purchase_id)


def insert_purchase(tx: Tx, row: PurchaseRow) -> None:
    tx.run(f"INSERT INTO purchases ({_PURCHASE_COLUMNS}) VALUES ({placeholders(row)})", *row)


def update_purchase(tx: Tx, row: PurchaseRow) -> None:
    """Update the outcome of a purchase."""
    tx.run(
        "UPDATE purchases SET state = ?, subscription_id = ?, entitlement_id = ? WHERE id = ?",
        row.state,
        row.subscription_id,
        row.entitlement_id,
        row.id,
    )


def list_pending_purchases(tx: Tx, application_id: int, user_id: int) -> list[PurchaseRow]:
    """Return a user's pending purchases from an application."""
    return tx.fetch(
        PurchaseRow,
        f"SELECT {_PURCHASE_COLUMNS} FROM purchases WHERE user_id = ? AND application_id = ? AND state = {PENDING}",
        user_id,
        application_id,
    )


def list_all_pending_purchases(tx: Tx, user_id: int) -> list[PurchaseRow]:
    """Return a user's pending purchases from all applications, oldest first."""
    return tx.fetch(
        PurchaseRow,
        f"SELECT {_PURCHASE_COLUMNS} FROM purchases WHERE user_id = ? AND state = {PENDING} ORDER BY id",
        user_id,
    )


def find_payment(tx: Tx, payment_key: str) -> PaymentRow | None:
    return tx.find(PaymentRow, f"SELECT {_PAYMENT_COLUMNS} FROM payments WHERE key = ?", payment_key)


def find_pending_renewal_payment(tx: Tx, row: SubscriptionRow, key_prefix: str) -> PaymentRow | None:
    """Return the payment for a period of a subscription whose charge has an unknown outcome, or None.

    `key_prefix` is the part of its key that identifies the period; the key may continue after a slash."""
    payments = tx.fetch(
        PaymentRow,
        f"SELECT {_PAYMENT_COLUMNS} FROM payments WHERE user_id = ? AND subscription_id = ? AND state = {CHARGE_PENDING}",
        row.user_id,
        row.id,
    )
    return next((payment for payment in payments if f"{payment.key}/".startswith(f"{key_prefix}/")), None)


def find_last_payment(tx: Tx, entitlement_id: int) -> PaymentRow | None:
    """Return the last charge that succeeded for an entitlement and was not refunded, or None."""
    return tx.find(
        PaymentRow,
        f"SELECT {_PAYMENT_COLUMNS} FROM payments WHERE entitlement_id = ? AND state = {CHARGED}"
        " ORDER BY requested_ms DESC, key DESC LIMIT 1",
        entitlement_id,
    )


def insert_payment(tx: Tx, row: PaymentRow) -> None:
    tx.run(f"INSERT INTO payments ({_PAYMENT_COLUMNS}) VALUES ({placeholders(row)})", *row)


def update_payment(tx: Tx, row: PaymentRow) -> None:
    """Update the outcome of a payment."""
    tx.run("UPDATE payments SET state = ?, entitlement_id = ? WHERE key = ?", row.state, row.entitlement_id, row.key)


def delete_payment(tx: Tx, payment_key: str) -> None:
    tx.run("DELETE FROM payments WHERE key = ?", payment_key)


def list_user_purchases(tx: Tx, user_id: int) -> list[PurchaseRow]:
    """Return all purchases of a user, oldest first."""
    return tx.fetch(PurchaseRow, f"SELECT {_PURCHASE_COLUMNS} FROM purchases WHERE user_id = ? ORDER BY id", user_id)


def delete_user_purchases(tx: Tx, user_id: int) -> None:
    tx.run("DELETE FROM purchases WHERE user_id = ?", user_id)


def list_user_payments(tx: Tx, user_id: int) -> list[PaymentRow]:
    """Return all payments of a user, oldest first."""
    return tx.fetch(
        PaymentRow, f"SELECT {_PAYMENT_COLUMNS} FROM payments WHERE user_id = ? ORDER BY requested_ms, key", user_id
    )

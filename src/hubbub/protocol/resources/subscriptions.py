"""Subscriptions, which renew monthly, and purchases and refunds."""

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.enums import SubscriptionStatus
from hubbub.protocol.ids import EntitlementId, GuildId, SkuId, Snowflake, SubscriptionId, Timestamp, UserId
from hubbub.protocol.operation import Auth, Event, Operation
from hubbub.protocol.resources.entitlements import (
    ENTITLEMENT_CREATE,
    ENTITLEMENT_DELETE,
    ENTITLEMENT_UPDATE,
    Entitlement,
)
from hubbub.protocol.resources.skus import StoreApplication, StoreSku

SUBSCRIPTIONS_PAGE_MAX = 100
"""Maximum number of subscriptions on a page."""
SUBSCRIPTIONS_PAGE_DEFAULT = 50


class Subscription(Struct, kw_only=True):
    """A user's monthly subscription to SKUs."""

    id: SubscriptionId
    """ID of the subscription."""
    user_id: UserId
    """ID of the subscriber."""
    sku_ids: list[SkuId]
    """IDs of the subscribed SKUs."""
    renewal_sku_ids: list[SkuId] | None | UnsetType = UNSET
    """IDs of the SKUs after the next renewal; null if the subscription does not renew. Absent before 12 December 2024."""
    entitlement_ids: list[EntitlementId]
    """IDs of the entitlements granted by the subscription."""
    current_period_start: Timestamp
    """Start of the current period."""
    current_period_end: Timestamp
    """End of the current period."""
    status: SubscriptionStatus
    """Status of the subscription: 0 active, 1 inactive, 2 ending."""
    canceled_at: Timestamp | None
    """Time at which the subscription was canceled; null if it was not."""
    country: str | None | UnsetType = UNSET
    """Country of the payment source as an ISO 3166-1 code; never sent."""


class MySubscription(Subscription, kw_only=True):
    """The caller's own subscription, with its seller and SKUs."""

    application: StoreApplication | None
    """Application that sells the subscription; null if it was deleted."""
    sku: StoreSku
    """SKU of the current period."""
    renewal_sku: StoreSku | None
    """SKU of the next period, usually the same; null if the subscription does not renew."""
    guild_id: GuildId | None
    """ID of the guild that the subscription is for; null for user subscriptions."""


class GetSubscriptions(Struct, kw_only=True):
    """Page selection for the subscriptions of a SKU."""

    before: Snowflake | UnsetType = UNSET
    """Return subscriptions with a smaller ID."""
    after: Snowflake | UnsetType = UNSET
    """Return subscriptions with a greater ID."""
    limit: Annotated[int, Meta(ge=1, le=SUBSCRIPTIONS_PAGE_MAX)] = SUBSCRIPTIONS_PAGE_DEFAULT
    """Maximum number of subscriptions to return."""
    user_id: UserId | UnsetType = UNSET
    """ID of the subscriber; required, except with the user's own OAuth2 token."""


class CreatePurchase(Struct, kw_only=True):
    """The SKU to buy."""

    sku_id: SkuId
    """ID of the SKU to buy."""
    guild_id: GuildId | None = None
    """ID of the guild that the subscription is for; required for guild subscriptions, null otherwise."""


class Purchase(Struct, kw_only=True):
    """The result of a purchase."""

    entitlement: Entitlement
    """Entitlement that was granted."""
    subscription: Subscription | UnsetType = UNSET
    """Subscription that was started; absent for one-time purchases."""


class ChangeSubscription(Struct, kw_only=True):
    """A change to another SKU of the same application.

    The change takes effect immediately if the new SKU costs as much or more in the same currency, else at the next renewal.
    """

    sku_id: SkuId
    """ID of the new SKU."""


SUBSCRIPTION_CREATE = Event(
    "SUBSCRIPTION_CREATE", Subscription, "Sent when a user subscribes to a SKU of the application."
)
SUBSCRIPTION_UPDATE = Event(
    "SUBSCRIPTION_UPDATE", Subscription, "Sent when a subscription is renewed, changed, canceled or resumed, or ends."
)
SUBSCRIPTION_DELETE = Event("SUBSCRIPTION_DELETE", Subscription, "Sent when a subscription is deleted.")

GET_SKU_SUBSCRIPTIONS = Operation(
    "GET",
    "/skus/{sku_id}/subscriptions",
    query=GetSubscriptions,
    result=list[Subscription],
    auth=Auth.BOT | Auth.BEARER,
    raises=(errors.UNKNOWN_SKU, errors.NOT_AUTHORIZED_ON_APPLICATION),
)

GET_SKU_SUBSCRIPTION = Operation(
    "GET",
    "/skus/{sku_id}/subscriptions/{subscription_id}",
    result=Subscription,
    auth=Auth.BOT | Auth.BEARER,
    raises=(errors.UNKNOWN_SKU, errors.NOT_AUTHORIZED_ON_APPLICATION),
)

# First-party from here on: the published API has no purchases (decisions/0033).

CREATE_PURCHASE = Operation(
    "POST",
    "/users/@me/purchases",
    body=CreatePurchase,
    result=Purchase,
    status=201,
    auth=Auth.USER,
    raises=(
        errors.UNKNOWN_SKU,
        errors.UNKNOWN_GUILD,
        errors.MISSING_ACCESS,
        errors.INVALID_SKU,
        errors.ENTITLEMENT_ALREADY_GRANTED,
        errors.PAYMENT_SOURCE_REQUIRED,
        errors.MONETIZATION_NOT_ENABLED,
        errors.INVALID_FORM_BODY,
    ),
    emits=(SUBSCRIPTION_CREATE, ENTITLEMENT_CREATE, SUBSCRIPTION_UPDATE),
)

LIST_MY_SUBSCRIPTIONS = Operation("GET", "/users/@me/subscriptions", result=list[MySubscription], auth=Auth.USER)

CHANGE_MY_SUBSCRIPTION = Operation(
    "PATCH",
    "/users/@me/subscriptions/{subscription_id}",
    body=ChangeSubscription,
    result=Subscription,
    auth=Auth.USER,
    raises=(
        errors.UNKNOWN_SKU,
        errors.INVALID_SKU,
        errors.ENTITLEMENT_ALREADY_GRANTED,
        errors.PAYMENT_SOURCE_REQUIRED,
        errors.MONETIZATION_NOT_ENABLED,
        errors.INVALID_FORM_BODY,
    ),
    emits=(ENTITLEMENT_UPDATE, ENTITLEMENT_CREATE, SUBSCRIPTION_UPDATE),
)

CANCEL_MY_SUBSCRIPTION = Operation(
    "POST",
    "/users/@me/subscriptions/{subscription_id}/cancel",
    result=Subscription,
    auth=Auth.USER,
    raises=(errors.INVALID_FORM_BODY,),
    emits=(SUBSCRIPTION_UPDATE,),
)

RESUME_MY_SUBSCRIPTION = Operation(
    "POST",
    "/users/@me/subscriptions/{subscription_id}/resume",
    result=Subscription,
    auth=Auth.USER,
    raises=(errors.INVALID_FORM_BODY,),
    emits=(SUBSCRIPTION_UPDATE,),
)

REFUND_ENTITLEMENT = Operation(
    "POST",
    "/applications/{application_id}/entitlements/{entitlement_id}/refund",
    auth=Auth.USER,
    raises=(errors.UNKNOWN_APPLICATION, errors.NOT_AUTHORIZED_ON_APPLICATION, errors.UNKNOWN_ENTITLEMENT),
    emits=(ENTITLEMENT_DELETE, SUBSCRIPTION_UPDATE),
)

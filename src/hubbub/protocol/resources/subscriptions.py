"""Subscriptions: what renews itself every month, and the purchases that begin them."""

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

SUBSCRIPTIONS_MAX = 100
"""On one page."""
SUBSCRIPTIONS_DEFAULT = 50


class Subscription(Struct, kw_only=True):
    """That somebody pays for SKUs every month."""

    id: SubscriptionId
    user_id: UserId
    sku_ids: list[SkuId]
    renewal_sku_ids: list[SkuId] | None | UnsetType = UNSET
    """What it renews into; null while it will not renew."""
    entitlement_ids: list[EntitlementId]
    current_period_start: Timestamp
    current_period_end: Timestamp
    status: SubscriptionStatus
    canceled_at: Timestamp | None
    country: str | None | UnsetType = UNSET


class MySubscription(Subscription, kw_only=True):
    """One's own, with what one wants to know of it."""

    application: StoreApplication | None
    """Who sells it; null once the application is deleted."""
    sku: StoreSku
    """What is paid for now."""
    renewal_sku: StoreSku | None
    """What it becomes at the next renewal, mostly the same; null while it will not renew."""
    guild_id: GuildId | None
    """The guild that it is for."""


class GetSubscriptions(Struct, kw_only=True):
    """Which of a SKU's subscriptions."""

    before: Snowflake | UnsetType = UNSET
    after: Snowflake | UnsetType = UNSET
    limit: Annotated[int, Meta(ge=1, le=SUBSCRIPTIONS_MAX)] = SUBSCRIPTIONS_DEFAULT
    user_id: UserId | UnsetType = UNSET
    """Needed, except for a user's own token."""


class CreatePurchase(Struct, kw_only=True):
    """What a person buys."""

    sku_id: SkuId
    guild_id: GuildId | None = None
    """The guild that a guild subscription is for."""


class Purchase(Struct, kw_only=True):
    """What was bought."""

    entitlement: Entitlement
    subscription: Subscription | UnsetType = UNSET


class ChangeSubscription(Struct, kw_only=True):
    """Another SKU of the same application: at once if it costs as much or more in the same currency, else at the next renewal."""

    sku_id: SkuId


SUBSCRIPTION_CREATE = Event("SUBSCRIPTION_CREATE", Subscription)
SUBSCRIPTION_UPDATE = Event("SUBSCRIPTION_UPDATE", Subscription)
SUBSCRIPTION_DELETE = Event("SUBSCRIPTION_DELETE", Subscription)

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

# First-party from here on: how a person buys is the platform's own business (decisions/0033).

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

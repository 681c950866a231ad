"""Entitlements: ownership of an application's SKUs by users and guilds."""

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.enums import EntitlementOwnerType, EntitlementType
from hubbub.protocol.ids import (
    ApplicationId,
    EntitlementId,
    GuildId,
    SkuId,
    Snowflake,
    SubscriptionId,
    Timestamp,
    UserId,
)
from hubbub.protocol.operation import Auth, Event, Operation

ENTITLEMENTS_PAGE_MAX = 100
SKU_IDS_MAX = 100
"""Maximum number of SKU IDs in one query."""

# `comma` makes the query parameter a comma-separated list instead of a repeated parameter.
SkuIds = Annotated[list[SkuId], Meta(max_length=SKU_IDS_MAX, extra={"comma": True})]


class Entitlement(Struct, kw_only=True):
    """Ownership of a SKU by a user or guild."""

    id: EntitlementId
    """ID of the entitlement."""
    sku_id: SkuId
    """ID of the SKU."""
    application_id: ApplicationId
    """ID of the application."""
    user_id: UserId
    """ID of the user who owns the entitlement, or who bought it for a guild."""
    guild_id: GuildId | UnsetType = UNSET
    """ID of the guild that owns the entitlement; absent if a user owns it."""
    type: EntitlementType
    """Type of the entitlement: how it was acquired."""
    deleted: bool
    """Whether the entitlement was deleted."""
    consumed: bool
    """Whether the entitlement of a consumable SKU was consumed."""
    starts_at: Timestamp | None
    """Time from which the entitlement is valid; null for test entitlements without a start."""
    ends_at: Timestamp | None
    """Time until which the entitlement is valid; null if it has no end."""
    gift_code_flags: int = 0
    """Flags of the gift code; always 0."""
    promotion_id: Snowflake | None = None
    """ID of the promotion through which the entitlement was acquired; always null."""
    subscription_id: SubscriptionId | UnsetType = UNSET
    """ID of the subscription that grants the entitlement; absent if none."""


class GetEntitlements(Struct, kw_only=True):
    """Query parameters for listing entitlements of an application, in ascending order of IDs."""

    user_id: UserId | UnsetType = UNSET
    """Only entitlements of this user."""
    guild_id: GuildId | UnsetType = UNSET
    """Only entitlements of this guild."""
    sku_ids: SkuIds | UnsetType = UNSET
    """Only entitlements of these SKUs, as a comma-separated list of at most 100 IDs."""
    before: Snowflake | UnsetType = UNSET
    """Only entitlements with a lower ID than this; without `after`, the page ends just before this ID."""
    after: Snowflake | UnsetType = UNSET
    """Only entitlements with a higher ID than this."""
    limit: Annotated[int, Meta(ge=1, le=ENTITLEMENTS_PAGE_MAX)] = ENTITLEMENTS_PAGE_MAX
    """Maximum number of entitlements to return, 1 to 100; 100 if absent."""
    exclude_ended: bool = False
    """Whether to leave out entitlements that have ended."""
    exclude_deleted: bool = True
    """Whether to leave out deleted entitlements."""
    only_active: bool = False
    """Whether to return only entitlements that are valid at present."""


class GetMyEntitlements(Struct, kw_only=True):
    """Query parameters for listing the current user's valid entitlements to an application, in ascending order of IDs."""

    sku_ids: SkuIds | UnsetType = UNSET
    """Only entitlements of these SKUs, as a comma-separated list of at most 100 IDs."""
    exclude_consumed: bool = True
    """Whether to leave out consumed entitlements."""


class CreateEntitlement(Struct, kw_only=True):
    """Request body for creating a test entitlement, which grants a subscription without a purchase."""

    sku_id: SkuId
    """ID of the subscription SKU."""
    owner_id: Snowflake
    """ID of the guild or user that receives the entitlement."""
    owner_type: EntitlementOwnerType
    """Type of the owner: 1 guild, 2 user."""


ENTITLEMENT_CREATE = Event(
    "ENTITLEMENT_CREATE", Entitlement, "Sent to an application when an entitlement is created.", is_webhook_event=True
)
ENTITLEMENT_UPDATE = Event(
    "ENTITLEMENT_UPDATE",
    Entitlement,
    "Sent to an application when an entitlement is consumed, renewed or ends.",
    is_webhook_event=True,
)
ENTITLEMENT_DELETE = Event(
    "ENTITLEMENT_DELETE",
    Entitlement,
    "Sent to an application when an entitlement is deleted, such as by a refund; not sent when it ends.",
    is_webhook_event=True,
)

_APPLICATION_ERRORS = (errors.UNKNOWN_APPLICATION, errors.NOT_AUTHORIZED_ON_APPLICATION)
_SCOPES = ("applications.entitlements",)

GET_ENTITLEMENTS = Operation(
    "GET",
    "/applications/{application_id}/entitlements",
    query=GetEntitlements,
    result=list[Entitlement],
    auth=Auth.BOT | Auth.USER | Auth.BEARER,
    scopes=_SCOPES,
    raises=_APPLICATION_ERRORS,
)

CREATE_ENTITLEMENT = Operation(
    "POST",
    "/applications/{application_id}/entitlements",
    body=CreateEntitlement,
    result=Entitlement,
    raises=(
        *_APPLICATION_ERRORS,
        errors.UNKNOWN_SKU,
        errors.UNKNOWN_USER,
        errors.UNKNOWN_GUILD,
        errors.INVALID_SKU,
        errors.ENTITLEMENT_ALREADY_GRANTED,
        errors.INVALID_FORM_BODY,
    ),
    emits=(ENTITLEMENT_CREATE,),
)

GET_ENTITLEMENT = Operation(
    "GET",
    "/applications/{application_id}/entitlements/{entitlement_id}",
    result=Entitlement,
    auth=Auth.BOT | Auth.USER | Auth.BEARER,
    scopes=_SCOPES,
    raises=(*_APPLICATION_ERRORS, errors.UNKNOWN_ENTITLEMENT),
)

DELETE_ENTITLEMENT = Operation(
    "DELETE",
    "/applications/{application_id}/entitlements/{entitlement_id}",
    auth=Auth.BOT | Auth.USER | Auth.BEARER,
    scopes=_SCOPES,
    raises=(*_APPLICATION_ERRORS, errors.UNKNOWN_ENTITLEMENT, errors.CANNOT_DELETE_ENTITLEMENT),
    emits=(ENTITLEMENT_DELETE,),
)

CONSUME_ENTITLEMENT = Operation(
    "POST",
    "/applications/{application_id}/entitlements/{entitlement_id}/consume",
    auth=Auth.BOT | Auth.USER | Auth.BEARER,
    scopes=_SCOPES,
    raises=(*_APPLICATION_ERRORS, errors.UNKNOWN_ENTITLEMENT, errors.SKU_NOT_CONSUMABLE),
    emits=(ENTITLEMENT_UPDATE,),
)

GET_CURRENT_USER_APPLICATION_ENTITLEMENTS = Operation(
    "GET",
    "/users/@me/applications/{application_id}/entitlements",
    query=GetMyEntitlements,
    result=list[Entitlement],
    auth=Auth.USER | Auth.BEARER,
    raises=_APPLICATION_ERRORS,
)

"""Entitlements: that somebody owns what an application sells."""

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

ENTITLEMENTS_MAX = 100
"""On one page."""
SKU_IDS_MAX = 100

SkuIds = Annotated[list[SkuId], Meta(max_length=SKU_IDS_MAX, extra={"comma": True})]


class Entitlement(Struct, kw_only=True):
    """That a user, or a guild, owns a SKU."""

    id: EntitlementId
    sku_id: SkuId
    application_id: ApplicationId
    user_id: UserId
    """Who owns it; with a guild, who bought it."""
    guild_id: GuildId | UnsetType = UNSET
    """The guild that owns it."""
    type: EntitlementType
    deleted: bool
    consumed: bool
    starts_at: Timestamp | None
    ends_at: Timestamp | None
    """Null while it goes on."""
    gift_code_flags: int = 0
    promotion_id: Snowflake | None = None
    subscription_id: SubscriptionId | UnsetType = UNSET


class GetEntitlements(Struct, kw_only=True):
    """Which of an application's entitlements."""

    user_id: UserId | UnsetType = UNSET
    guild_id: GuildId | UnsetType = UNSET
    sku_ids: SkuIds | UnsetType = UNSET
    before: Snowflake | UnsetType = UNSET
    after: Snowflake | UnsetType = UNSET
    limit: Annotated[int, Meta(ge=1, le=ENTITLEMENTS_MAX)] = ENTITLEMENTS_MAX
    exclude_ended: bool = False
    exclude_deleted: bool = True
    only_active: bool = False


class GetMyEntitlements(Struct, kw_only=True):
    """Which of one's own entitlements."""

    sku_ids: SkuIds | UnsetType = UNSET
    exclude_consumed: bool = True


class CreateEntitlement(Struct, kw_only=True):
    """A test entitlement: what a buyer would have, without a purchase."""

    sku_id: SkuId
    owner_id: Snowflake
    owner_type: EntitlementOwnerType


ENTITLEMENT_CREATE = Event("ENTITLEMENT_CREATE", Entitlement, webhook=True)
ENTITLEMENT_UPDATE = Event("ENTITLEMENT_UPDATE", Entitlement, webhook=True)
ENTITLEMENT_DELETE = Event("ENTITLEMENT_DELETE", Entitlement, webhook=True)

_OWN = (errors.UNKNOWN_APPLICATION, errors.NOT_AUTHORIZED_ON_APPLICATION)
_SCOPES = ("applications.entitlements",)

GET_ENTITLEMENTS = Operation(
    "GET",
    "/applications/{application_id}/entitlements",
    query=GetEntitlements,
    result=list[Entitlement],
    auth=Auth.BOT | Auth.USER | Auth.BEARER,
    scopes=_SCOPES,
    raises=_OWN,
)

CREATE_ENTITLEMENT = Operation(
    "POST",
    "/applications/{application_id}/entitlements",
    body=CreateEntitlement,
    result=Entitlement,
    raises=(
        *_OWN,
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
    raises=(*_OWN, errors.UNKNOWN_ENTITLEMENT),
)

DELETE_ENTITLEMENT = Operation(
    "DELETE",
    "/applications/{application_id}/entitlements/{entitlement_id}",
    auth=Auth.BOT | Auth.USER | Auth.BEARER,
    scopes=_SCOPES,
    raises=(*_OWN, errors.UNKNOWN_ENTITLEMENT, errors.CANNOT_DELETE_ENTITLEMENT),
    emits=(ENTITLEMENT_DELETE,),
)

CONSUME_ENTITLEMENT = Operation(
    "POST",
    "/applications/{application_id}/entitlements/{entitlement_id}/consume",
    auth=Auth.BOT | Auth.USER | Auth.BEARER,
    scopes=_SCOPES,
    raises=(*_OWN, errors.UNKNOWN_ENTITLEMENT, errors.SKU_NOT_CONSUMABLE),
    emits=(ENTITLEMENT_UPDATE,),
)

GET_CURRENT_USER_APPLICATION_ENTITLEMENTS = Operation(
    "GET",
    "/users/@me/applications/{application_id}/entitlements",
    query=GetMyEntitlements,
    result=list[Entitlement],
    auth=Auth.USER | Auth.BEARER,
    raises=_OWN,
)

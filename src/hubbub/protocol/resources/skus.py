"""SKUs: what an application sells."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.enums import SkuType
from hubbub.protocol.ids import ApplicationId, SkuId, Timestamp
from hubbub.protocol.numbers import Bits
from hubbub.protocol.operation import Auth, Operation

SKU_NAME_MAX = 80
SKU_DESCRIPTION_MAX = 160
SKUS_MAX = 50
"""For each application, groups apart."""
SKU_PRICE_MAX = 10_000_000

SkuName = Annotated[str, Meta(min_length=1, max_length=SKU_NAME_MAX)]
SkuDescription = Annotated[str, Meta(max_length=SKU_DESCRIPTION_MAX)]
Price = Annotated[int, Meta(ge=0, le=SKU_PRICE_MAX)]
Currency = Annotated[str, Meta(pattern="^[a-z]{3}$")]


class Sku(Struct, kw_only=True):
    """Something for sale, or the group that a subscription belongs to."""

    id: SkuId
    type: SkuType
    application_id: ApplicationId
    name: str
    slug: str
    """The name as it stands in addresses."""
    flags: int
    """`SkuFlags`."""
    # Seen on the wire, the same for all that applications sell.
    dependent_sku_id: SkuId | None = None
    manifest_labels: list[str] | None = None
    access_type: int = 1
    features: list[int] = []
    release_date: Timestamp | None = None
    premium: bool = False
    show_age_gate: bool = False


class StoreSku(Sku, kw_only=True):
    """A SKU with what buyers and its owner see of it."""

    description: str | None
    price: int
    """For a month, or once; in the smallest unit of the currency."""
    currency: str
    state: Literal["unpublished", "published", "deleted"]
    listed: bool
    """Whether the store shows it; else it is sold only where the application offers it."""


class StoreApplication(Struct, kw_only=True):
    """Whose store it is."""

    id: ApplicationId
    name: str
    icon: str | None
    description: str


class Store(Struct, kw_only=True):
    """An application's store as anybody sees it."""

    application: StoreApplication
    skus: list[StoreSku]


class CreateSku(Struct, kw_only=True):
    """A new SKU."""

    type: SkuType
    """Groups come with their subscription and are not made."""
    name: SkuName
    description: SkuDescription | None = None
    flags: Bits = 0
    """A subscription is for guilds (1 << 7) or for users (1 << 8)."""
    price: Price = 0
    currency: Currency = "usd"
    published: bool = False
    listed: bool = True


class UpdateSku(Struct, kw_only=True):
    """What may change of a SKU."""

    name: SkuName | UnsetType = UNSET
    description: SkuDescription | None | UnsetType = UNSET
    price: Price | UnsetType = UNSET
    """Holds from the next payment on."""
    currency: Currency | UnsetType = UNSET
    published: bool | UnsetType = UNSET
    listed: bool | UnsetType = UNSET


LIST_SKUS = Operation(
    "GET",
    "/applications/{application_id}/skus",
    result=list[Sku],
    raises=(errors.UNKNOWN_APPLICATION, errors.NOT_AUTHORIZED_ON_APPLICATION),
)

# First-party from here on: the wire reads SKUs, and makes them in its portal only (decisions/0033).

CREATE_SKU = Operation(
    "POST",
    "/applications/{application_id}/skus",
    body=CreateSku,
    result=StoreSku,
    status=201,
    raises=(errors.UNKNOWN_APPLICATION, errors.NOT_AUTHORIZED_ON_APPLICATION, errors.INVALID_FORM_BODY),
)

UPDATE_SKU = Operation(
    "PATCH",
    "/applications/{application_id}/skus/{sku_id}",
    body=UpdateSku,
    result=StoreSku,
    raises=(
        errors.UNKNOWN_APPLICATION,
        errors.NOT_AUTHORIZED_ON_APPLICATION,
        errors.UNKNOWN_SKU,
        errors.INVALID_SKU,
        errors.INVALID_FORM_BODY,
    ),
)

DELETE_SKU = Operation(
    "DELETE",
    "/applications/{application_id}/skus/{sku_id}",
    raises=(
        errors.UNKNOWN_APPLICATION,
        errors.NOT_AUTHORIZED_ON_APPLICATION,
        errors.UNKNOWN_SKU,
        errors.INVALID_SKU,
    ),
)

LIST_STORE_SKUS = Operation(
    "GET",
    "/applications/{application_id}/store/skus",
    result=list[StoreSku],
    raises=(errors.UNKNOWN_APPLICATION, errors.NOT_AUTHORIZED_ON_APPLICATION),
)
"""What its owner has for sale and keeps back, as buyers see it or would."""

GET_STORE = Operation(
    "GET",
    "/applications/{application_id}/store",
    result=Store,
    auth=Auth.BOT | Auth.USER | Auth.BEARER | Auth.ANYONE,
    raises=(errors.UNKNOWN_APPLICATION,),
)

GET_STORE_SKU = Operation(
    "GET",
    "/applications/{application_id}/store/{sku_id}",
    result=StoreSku,
    auth=Auth.BOT | Auth.USER | Auth.BEARER | Auth.ANYONE,
    raises=(errors.UNKNOWN_APPLICATION, errors.UNKNOWN_SKU),
)

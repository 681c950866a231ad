"""SKUs: the products that an application sells, and its public store."""

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
"""Maximum number of SKUs per application, without subscription groups."""
SKU_PRICE_MAX = 10_000_000
"""Maximum price, in the smallest unit of the currency."""

SkuName = Annotated[str, Meta(min_length=1, max_length=SKU_NAME_MAX)]
SkuDescription = Annotated[str, Meta(max_length=SKU_DESCRIPTION_MAX)]
Price = Annotated[int, Meta(ge=0, le=SKU_PRICE_MAX)]
Currency = Annotated[str, Meta(pattern="^[a-z]{3}$")]


class Sku(Struct, kw_only=True):
    """A product for sale, or the group that the platform creates for a subscription."""

    id: SkuId
    """ID of the SKU."""
    type: SkuType
    """Type of the SKU: 2 durable, 3 consumable, 5 subscription, 6 subscription group."""
    application_id: ApplicationId
    """ID of the application that sells the SKU."""
    name: str
    """Name of the SKU."""
    slug: str
    """Name of the SKU in the form used in URLs."""
    flags: int
    """Flags of the SKU; a `SkuFlags` bit set."""
    # Constant fields that the public platform also sends.
    dependent_sku_id: SkuId | None = None
    """Always null."""
    manifest_labels: list[str] | None = None
    """Always null."""
    access_type: int = 1
    """Always 1."""
    features: list[int] = []
    """Always empty."""
    release_date: Timestamp | None = None
    """Always null."""
    premium: bool = False
    """Always false."""
    show_age_gate: bool = False
    """Always false."""


class StoreSku(Sku, kw_only=True):
    """A SKU in the form shown to buyers and to its owner."""

    description: str | None
    """Description of the SKU; null if there is none."""
    price: int
    """Price in the smallest unit of the currency, per month for subscriptions."""
    currency: str
    """Currency as a lowercase ISO 4217 code."""
    state: Literal["unpublished", "published", "deleted"]
    """Publication state of the SKU."""
    listed: bool
    """Whether the store shows the SKU; otherwise it is sold only where the application offers it."""


class StoreApplication(Struct, kw_only=True):
    """The application that owns a store."""

    id: ApplicationId
    """ID of the application."""
    name: str
    """Name of the application."""
    icon: str | None
    """Icon hash of the application; null if it has no icon."""
    description: str
    """Description of the application."""


class Store(Struct, kw_only=True):
    """The public store of an application."""

    application: StoreApplication
    """Application that owns the store."""
    skus: list[StoreSku]
    """SKUs in the store."""


class CreateSku(Struct, kw_only=True):
    """A new SKU."""

    type: SkuType
    """Type of the SKU: 2 durable, 3 consumable, 5 subscription, whose group is created with it."""
    name: SkuName
    """Name of the SKU."""
    description: SkuDescription | None = None
    """Description of the SKU."""
    flags: Bits = 0
    """Flags of a subscription: 1 << 7 for guilds, 1 << 8 for users."""
    price: Price = 0
    """Price in the smallest unit of the currency, per month for subscriptions."""
    currency: Currency = "usd"
    """Currency as a lowercase ISO 4217 code."""
    published: bool = False
    """Whether the SKU can be bought."""
    listed: bool = True
    """Whether the store shows the SKU."""


class UpdateSku(Struct, kw_only=True):
    """Changes to a SKU; absent fields keep their value."""

    name: SkuName | UnsetType = UNSET
    """Name of the SKU."""
    description: SkuDescription | None | UnsetType = UNSET
    """Description of the SKU; null removes it."""
    price: Price | UnsetType = UNSET
    """Price in the smallest unit of the currency; applies from the next payment on."""
    currency: Currency | UnsetType = UNSET
    """Currency as a lowercase ISO 4217 code."""
    published: bool | UnsetType = UNSET
    """Whether the SKU can be bought."""
    listed: bool | UnsetType = UNSET
    """Whether the store shows the SKU."""


LIST_SKUS = Operation(
    "GET",
    "/applications/{application_id}/skus",
    result=list[Sku],
    raises=(errors.UNKNOWN_APPLICATION, errors.NOT_AUTHORIZED_ON_APPLICATION),
)

# First-party from here on: the published API only lists SKUs (decisions/0033).

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

GET_STORE = Operation(
    "GET",
    "/applications/{application_id}/store",
    result=Store,
    auth=Auth.BOT | Auth.USER | Auth.BEARER | Auth.ANONYMOUS,
    raises=(errors.UNKNOWN_APPLICATION,),
)

GET_STORE_SKU = Operation(
    "GET",
    "/applications/{application_id}/store/{sku_id}",
    result=StoreSku,
    auth=Auth.BOT | Auth.USER | Auth.BEARER | Auth.ANONYMOUS,
    raises=(errors.UNKNOWN_APPLICATION, errors.UNKNOWN_SKU),
)

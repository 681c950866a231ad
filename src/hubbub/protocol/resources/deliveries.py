"""The log of requests that the platform sent to an application's endpoints: webhook events and interactions.

First-party: the public API has no such log (decisions/0149).
"""

from typing import Annotated, Final, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.ids import Snowflake, Timestamp
from hubbub.protocol.operation import Auth, Operation

DELIVERIES_MAX: Final = 200
"""Maximum number of logged deliveries of an application; older ones are deleted."""
DELIVERY_DAYS: Final = 7
"""Days after which a logged delivery is deleted."""
DELIVERY_PAGE_MAX: Final = 100
"""Maximum number of deliveries in one response."""

DeliveryKind = Literal["event", "interaction"]
DeliveryState = Literal["waiting", "delivered", "failed"]


class Delivery(Struct, kw_only=True):
    """A webhook event or interaction that was sent to an endpoint of the application, with its last attempt."""

    id: Snowflake
    """ID of the delivery; the ID of the interaction for an interaction."""
    kind: DeliveryKind
    """Kind of the delivery: `event` or `interaction`."""
    name: str
    """Type of the event, or type of the interaction and name of its command."""
    state: DeliveryState
    """State of the delivery: `waiting` for another attempt, `delivered` or `failed`."""
    url: str
    """URL of the last attempt."""
    created_at: Timestamp
    """Time of the first attempt."""
    attempted_at: Timestamp
    """Time of the last attempt."""
    next_attempt_at: Timestamp | None
    """Time of the next attempt; null if there is none."""
    attempts: int
    """Number of attempts."""
    duration_ms: int
    """Duration of the last attempt in milliseconds."""
    status: int | None
    """HTTP status of the last response; null if none arrived."""
    error: str | None
    """Cause of the failure of the last attempt; null if it succeeded."""
    resendable: bool
    """Whether the delivery can be sent again: webhook events with a completely stored body."""


class DeliveryDetails(Delivery, kw_only=True):
    """A delivery with the request and the beginning of the response."""

    request_headers: dict[str, str]
    """Headers of the last request."""
    body: str
    """Body of the request; tokens are removed."""
    response_headers: dict[str, str]
    """Headers of the last response, without cookies; empty if no response arrived."""
    response_body: str
    """Beginning of the last response's body, at most 1000 characters."""


class ListDeliveries(Struct, kw_only=True):
    """Query parameters for listing deliveries."""

    kind: DeliveryKind | UnsetType = UNSET
    """Only deliveries of this kind; all kinds if absent."""
    state: DeliveryState | UnsetType = UNSET
    """Only deliveries in this state; all states if absent."""
    before: Snowflake | UnsetType = UNSET
    """Only deliveries with a smaller ID."""
    limit: Annotated[int, Meta(ge=1, le=DELIVERY_PAGE_MAX)] = 50
    """Maximum number of deliveries, 1 to 100; 50 if absent."""


_ERRORS: Final = (errors.UNKNOWN_APPLICATION, errors.NOT_AUTHORIZED_ON_APPLICATION)

LIST_DELIVERIES = Operation(
    "GET",
    "/applications/{application_id}/deliveries",
    query=ListDeliveries,
    result=list[Delivery],
    auth=Auth.USER,
    raises=_ERRORS,
)

GET_DELIVERY = Operation(
    "GET",
    "/applications/{application_id}/deliveries/{delivery_id}",
    result=DeliveryDetails,
    auth=Auth.USER,
    raises=(*_ERRORS, errors.NOT_FOUND),
)

RESEND_DELIVERY = Operation(
    "POST",
    "/applications/{application_id}/deliveries/{delivery_id}/resend",
    auth=Auth.USER,
    raises=(*_ERRORS, errors.NOT_FOUND, errors.INVALID_FORM_BODY),
)

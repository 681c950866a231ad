"""HTTP handlers for the log of deliveries: requests that were sent to the endpoints of applications."""

from msgspec import UNSET

from hubbub.protocol import errors
from hubbub.protocol.ids import ApplicationId, Snowflake
from hubbub.protocol.resources import deliveries as wire
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.identity import applications
from hubbub.server.play.deliveries import store, views


@handles(wire.LIST_DELIVERIES)
def list_deliveries(call: Call, application_id: ApplicationId, query: wire.ListDeliveries) -> list[wire.Delivery]:
    """List the webhook events and interactions that were sent to an application.

    The newest delivery is first. Interactions over the gateway are not listed."""
    applications.access.require_manager(call, application_id)
    rows = store.list_page(
        call.tx,
        application_id,
        kind=None if query.kind is UNSET else query.kind,
        state=None if query.state is UNSET else query.state,
        before_id=None if query.before is UNSET else query.before,
        limit=query.limit,
    )
    return [views.delivery(row) for row in rows]


@handles(wire.GET_DELIVERY)
def get_delivery(call: Call, application_id: ApplicationId, delivery_id: Snowflake) -> wire.DeliveryDetails:
    """Get a delivery with its request and the beginning of the response."""
    applications.access.require_manager(call, application_id)
    row = store.find(call.tx, application_id, delivery_id)
    if row is None:
        raise errors.NOT_FOUND()
    return views.details(row)

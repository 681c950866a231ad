"""Build the wire models of deliveries: requests to webhook and interaction endpoints of applications."""

from typing import Any, cast

from hubbub.protocol import codec
from hubbub.protocol.ids import Snowflake
from hubbub.protocol.resources import deliveries as wire
from hubbub.server.play.deliveries.store import DeliveryRow


def delivery(row: DeliveryRow) -> wire.Delivery:
    """Build a delivery without its request and response."""
    return wire.Delivery(**_fields(row))


def details(row: DeliveryRow) -> wire.DeliveryDetails:
    """Build a delivery with its request and response."""
    return wire.DeliveryDetails(
        **_fields(row),
        request_headers=codec.decode(row.request_headers, dict[str, str]),
        body=row.body,
        response_headers=codec.decode(row.response_headers, dict[str, str]),
        response_body=row.response_body,
    )


def is_resendable(row: DeliveryRow) -> bool:
    """Return whether a delivery can be sent again: an event with a completely stored body."""
    return row.kind == "event" and bool(row.is_complete)


def _fields(row: DeliveryRow) -> dict[str, Any]:
    return {
        "id": Snowflake(row.id),
        "kind": cast(Any, row.kind),
        "name": row.name,
        "state": cast(Any, row.state),
        "url": row.url,
        "created_at": codec.timestamp(row.created_ms),
        "attempted_at": codec.timestamp(row.attempted_ms),
        "next_attempt_at": None if row.next_ms is None else codec.timestamp(row.next_ms),
        "attempts": row.attempts,
        "duration_ms": row.duration_ms,
        "status": row.status,
        "error": row.error,
        "resendable": is_resendable(row),
    }

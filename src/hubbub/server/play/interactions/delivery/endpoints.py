"""Delivery of interactions to HTTP endpoints of applications, and probing of these endpoints."""

import logging
from typing import Final

import msgspec

from hubbub.protocol import codec
from hubbub.protocol.ids import ApplicationId, InteractionId
from hubbub.protocol.resources import interactions as wire
from hubbub.server.core import jobs
from hubbub.server.core.call import Call
from hubbub.server.identity import applications
from hubbub.server.identity.applications.signals import InteractionsEndpointSet
from hubbub.server.play.interactions import store
from hubbub.server.play.interactions.store import InteractionApplication, InteractionRow

log = logging.getLogger(__name__)

DELIVER_JOB: Final = "interactions.deliver"
"""Kind of the job that delivers one interaction."""
PROBE_JOB: Final = "interactions.probe"
"""Kind of the job that checks whether an endpoint rejects a forged request."""

PROBE_INTERVAL_MS: Final = 24 * 3_600_000
"""Interval in milliseconds between checks that an endpoint rejects forged requests."""


class InteractionDelivery(msgspec.Struct, kw_only=True):
    """Job payload: an interaction to deliver.

    Stored as JSON. The job, and with it the token, is deleted after the last attempt."""

    interaction_id: InteractionId
    token: str
    """Response token of the interaction."""
    body: str
    """Request body, identical in each attempt."""


class EndpointTarget(msgspec.Struct, frozen=True, kw_only=True):
    """The endpoint of an application, with the key and the time of the signature and the time left for a response."""

    application_id: ApplicationId
    url: str
    signing_key: bytes
    """The application's private signing key."""
    now_ms: int
    """Unix time in milliseconds when the target was read, used as the time of the signature."""
    remaining_ms: int = wire.RESPONSE_TIMEOUT_MS
    """Time left for a response, in milliseconds."""


def has_endpoint(application: InteractionApplication) -> bool:
    """Return whether interactions go to an HTTP endpoint instead of the bot (spec/webhooks-and-interactions.md#2)."""
    # Defaults are not stored and few applications have an endpoint, so most settings need no decoding.
    return (
        "interactions_endpoint_url" in application.settings
        and applications.settings.decode_settings(application).interactions_endpoint_url is not None
    )


def enqueue_delivery(call: Call, row: InteractionRow, token: str, payload: wire.Interaction) -> None:
    """Enqueue the delivery of an interaction; it starts when the call's transaction commits."""
    delivery = InteractionDelivery(
        interaction_id=InteractionId(row.id), token=token, body=codec.encode(payload).decode()
    )
    # Use a key per interaction, so that deliveries to one application do not wait for each other.
    call.tx.enqueue(DELIVER_JOB, delivery, key=f"{DELIVER_JOB}/{row.application_id}/{row.id}")


def find_target(call: Call, application_id: int) -> EndpointTarget | None:
    """Return the current endpoint of an application, or None if it has none."""
    row = applications.find(call.tx, application_id)
    signing_key = applications.management.find_signing_key(call.tx, application_id)
    url = None if row is None else applications.settings.decode_settings(row).interactions_endpoint_url
    if url is None or signing_key is None:
        return None
    return EndpointTarget(
        application_id=ApplicationId(application_id), url=url, signing_key=signing_key, now_ms=call.now_ms
    )


def find_pending_target(call: Call, interaction_id: int) -> EndpointTarget | None:
    """Return the endpoint for a pending interaction, or None if the interaction was answered or has expired.

    The result is also None if the application no longer has an endpoint."""
    row = store.find(call.tx, interaction_id)
    if row is None or row.callback_type is not None:
        return None
    target = find_target(call, row.application_id)
    remaining_ms = compute_remaining_ms(call, interaction_id)
    return None if target is None or remaining_ms <= 0 else msgspec.structs.replace(target, remaining_ms=remaining_ms)


def compute_remaining_ms(call: Call, interaction_id: int) -> int:
    """Return the milliseconds left for the initial response."""
    return InteractionId(interaction_id).created_ms + wire.RESPONSE_TIMEOUT_MS - call.now_ms


# Probes


def on_endpoint_set(call: Call, signal: InteractionsEndpointSet) -> None:
    """Schedule probes for a new endpoint URL, or cancel them if the URL was removed."""
    if find_target(call, signal.application_id) is None:
        jobs.cancel_jobs(call.tx, PROBE_JOB, _probe_key(signal.application_id))
    else:
        schedule_probe(call, signal.application_id)


def schedule_probe(call: Call, application_id: int) -> None:
    """Schedule the next probe of the endpoint, replacing any scheduled one."""
    jobs.cancel_jobs(call.tx, PROBE_JOB, _probe_key(application_id))
    call.tx.enqueue(
        PROBE_JOB, ApplicationId(application_id), due_ms=call.now_ms + PROBE_INTERVAL_MS, key=_probe_key(application_id)
    )


def remove_endpoint(call: Call, application_id: int) -> None:
    """Remove the endpoint of an application that accepted a forged request, since it does not verify signatures.

    The application's interactions then go to the gateway."""
    row = applications.find(call.tx, application_id)
    if row is None:
        return
    log.warning(
        "application %d: removed the interactions endpoint because it accepted a forged request", application_id
    )
    settings = applications.settings.decode_settings(row)
    settings.interactions_endpoint_url = None
    applications.settings.update_settings(call, row, settings)


def _probe_key(application_id: int) -> str:
    return f"{PROBE_JOB}/{int(application_id)}"

"""Enqueue and resend webhook events, track the failures of their receivers, and schedule probes."""

import logging
from typing import Any, Final

import msgspec

from hubbub.protocol import changes, codec
from hubbub.protocol.enums import EventWebhooksStatus, WebhookEventType
from hubbub.protocol.ids import ApplicationId, Snowflake, Timestamp
from hubbub.protocol.resources import webhook_events as wire
from hubbub.server.core import job_queues, jobs
from hubbub.server.core.call import Call
from hubbub.server.identity import applications, users
from hubbub.server.identity.applications.signals import ApplicationDeleting, EventWebhooksSet
from hubbub.server.places import guilds, roles
from hubbub.server.play.deliveries import DeliveryRow
from hubbub.server.play.webhook_events import store

log = logging.getLogger(__name__)

DELIVER_JOB: Final = "webhook_events.deliver"
"""Kind of the job that delivers one event."""
PROBE_JOB: Final = "webhook_events.probe"
"""Kind of the job that checks whether an endpoint rejects a forged request."""

PROBE_INTERVAL_MS: Final = 24 * 3_600_000
"""Interval in milliseconds between probes that check whether an endpoint rejects a forged request."""

# spec/webhooks-and-interactions.md#1.2: a receiver is disabled after too many failures. Both limits must be reached;
# the numbers are our choice (decisions/0032).
FAILURES_MAX: Final = 100
"""Number of failed attempts in a row after which a receiver can be disabled."""
FAILING_MIN_MS: Final = 24 * 3_600_000
"""Time in milliseconds for which all attempts must have failed before a receiver is disabled."""


class Delivery(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Payload of the job that delivers one event.

    Stored as JSON in jobs: add fields with a default, never rename."""

    application_id: ApplicationId
    type: WebhookEventType
    body: str
    """The encoded payload that is posted, identical on each attempt."""
    url: str | None = None
    """Destination URL, or None for the URL in the application's settings."""
    delivery_id: Snowflake | None = None
    """ID of the delivery in the log; None for events that were enqueued before the log existed, which are not logged."""


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """The destination of a delivery and the key that signs it."""

    url: str
    signing_key: bytes
    """The application's private signing key."""
    now_ms: int
    """Unix milliseconds when the target was read, used as the time of the signature."""
    is_failing: bool
    """Whether the last attempt to deliver an event to the application's own URL failed."""


def send(
    call: Call,
    application_id: ApplicationId,
    event_type: WebhookEventType,
    event_data: Any = msgspec.UNSET,
    *,
    subject_id: int,
    url: str | None = None,
) -> None:
    """Send an event to an application that is subscribed to it.

    `event_data` is the wire model of the event, or UNSET. Events with the same `subject_id`, such as a user or a lobby, are
    delivered in order. `url` is the webhook of a lobby, which receives the lobby's events regardless of the
    application's subscriptions."""
    if not changes.WEBHOOK_EVENTS.is_active(call.now_ms):
        return
    if event_type is WebhookEventType.APPLICATION_DEAUTHORIZED and not changes.APPLICATION_DEAUTHORIZED_EVENT.is_active(
        call.now_ms
    ):
        return
    # Callers may pass the plain integer of a row.
    application_id = ApplicationId(application_id)
    if url is None and not _is_subscribed(call, application_id, event_type):
        return
    # spec/webhooks-and-interactions.md#1.2: the timestamp of webhook events has no UTC offset.
    event = wire.WebhookEventBody(
        type=event_type, timestamp=Timestamp(codec.timestamp(call.now_ms)[:26]), data=event_data
    )
    payload = wire.WebhookEventPayload(application_id=application_id, event=event)
    delivery = Delivery(
        application_id=application_id,
        type=event_type,
        body=codec.encode(payload).decode(),
        url=url,
        delivery_id=call.new_id(Snowflake),
    )
    call.tx.enqueue(DELIVER_JOB, delivery, key=f"{delivery_key_prefix(application_id)}{int(subject_id)}")


def resend(call: Call, row: DeliveryRow) -> None:
    """Send a logged event again: run its waiting or failed job now, or enqueue the same payload as a new delivery.

    The receiver may get an event a second time, as with any retry; its timestamp does not change."""
    if row.state == "waiting":
        job_queues.retry_now(call.tx, row.job_id, call.now_ms)
        return
    key_prefix = delivery_key_prefix(row.application_id)
    if row.state == "failed" and jobs.retry_failed(call.tx, row.job_id, kind=DELIVER_JOB, key_prefix=key_prefix):
        return
    delivery = Delivery(
        application_id=ApplicationId(row.application_id),
        type=WebhookEventType(row.name),
        body=row.body,
        # The URL of the application may have changed since; the URL of a lobby stays.
        url=None if row.is_own_url else row.url,
        delivery_id=call.new_id(Snowflake),
    )
    call.tx.enqueue(DELIVER_JOB, delivery, key=row.subject_key)


def delivery_key_prefix(application_id: int) -> str:
    """Return the common prefix of the job keys of an application's deliveries; the subject ID follows it in each key."""
    return f"{DELIVER_JOB}/{int(application_id)}/"


def _is_subscribed(call: Call, application_id: ApplicationId, event_type: WebhookEventType) -> bool:
    row = applications.find(call.tx, application_id)
    if row is None or row.disabled:
        return False
    settings = applications.settings.decode_settings(row)
    return (
        settings.event_webhooks_status == EventWebhooksStatus.ENABLED
        and settings.event_webhooks_url is not None
        and event_type in settings.event_webhooks_types
    )


def send_application_authorized(
    call: Call,
    application_id: ApplicationId,
    user_id: int,
    scopes: list[str],
    *,
    integration_type: int | None = None,
    guild_id: int | None = None,
) -> None:
    """Send the APPLICATION_AUTHORIZED event.

    `integration_type` is an ApplicationIntegrationType, or None if only scopes were authorized. `guild_id` is the guild
    that the application was installed in, or None."""
    user_row = users.find(call.tx, user_id)
    if user_row is None:
        return
    event_data = wire.ApplicationAuthorized(
        integration_type=msgspec.UNSET if integration_type is None else integration_type,
        user=users.user_view(user_row),
        scopes=scopes,
    )
    guild_row = None if guild_id is None else guilds.find(call.tx, guild_id)
    if guild_row is not None:
        event_data.guild = guilds.guild(
            call.tx, guild_row, roles.list_guild_roles(call.tx, guild_row.id), now_ms=call.now_ms
        )
    send(call, application_id, WebhookEventType.APPLICATION_AUTHORIZED, event_data, subject_id=user_id)


def send_application_deauthorized(call: Call, application_id: ApplicationId, user_id: int) -> None:
    """Send the APPLICATION_DEAUTHORIZED event.

    The user or the application revoked the authorization, or an unmerge or a ban removed it."""
    user_row = users.find(call.tx, user_id)
    if user_row is not None:
        event_data = wire.ApplicationDeauthorized(user=users.user_view(user_row))
        send(call, application_id, WebhookEventType.APPLICATION_DEAUTHORIZED, event_data, subject_id=user_id)


def find_target(call: Call, application_id: int, url: str | None = None) -> Target | None:
    """Return the current destination of an application's events, or None if it does not receive any.

    `url` is the destination of a delivery with its own URL; None means the URL in the application's settings."""
    row = applications.find(call.tx, application_id)
    signing_key = applications.management.find_signing_key(call.tx, application_id)
    if row is None or row.disabled or signing_key is None:
        return None
    if url is None:
        settings = applications.settings.decode_settings(row)
        url = settings.event_webhooks_url
        if url is None or settings.event_webhooks_status != EventWebhooksStatus.ENABLED:
            return None
    return Target(
        url=url,
        signing_key=signing_key,
        now_ms=call.now_ms,
        is_failing=store.find_failures(call.tx, application_id) is not None,
    )


def on_event_webhooks_set(call: Call, signal: EventWebhooksSet) -> None:
    """Reset the failures after the webhook URL or status was set. Schedule the probe, or cancel it if there is no URL."""
    store.delete_failures(call.tx, signal.application_id)
    row = applications.find(call.tx, signal.application_id)
    if row is None or applications.settings.decode_settings(row).event_webhooks_url is None:
        jobs.cancel_jobs(call.tx, PROBE_JOB, _probe_key(signal.application_id))
    else:
        schedule_probe(call, signal.application_id)


def on_application_deleting(call: Call, signal: ApplicationDeleting) -> None:
    """Delete the pending and failed events, the probe and the failures of an application that is being deleted."""
    jobs.delete_by_prefix(call.tx, DELIVER_JOB, delivery_key_prefix(signal.row.id))
    jobs.cancel_jobs(call.tx, PROBE_JOB, _probe_key(signal.row.id))
    store.delete_failures(call.tx, signal.row.id)


def is_deleted_or_disabled(call: Call, application_id: int) -> bool:
    """Return whether an application was deleted, or disabled by an operator."""
    row = applications.find(call.tx, application_id)
    return row is None or bool(row.disabled)


def record_success(call: Call, application_id: int) -> None:
    """Reset the failures of a receiver after a successful delivery."""
    store.delete_failures(call.tx, application_id)


def record_failure(call: Call, application_id: int) -> None:
    """Count a failed attempt and disable a receiver that has failed for too long."""
    if is_deleted_or_disabled(call, application_id):
        return
    failed_attempts, since_ms = store.record_failure(call.tx, application_id, call.now_ms)
    if failed_attempts >= FAILURES_MAX and call.now_ms - since_ms >= FAILING_MIN_MS:
        log.warning(
            "Disabled the event webhooks of application %d: %d attempts failed", application_id, failed_attempts
        )
        _disable_webhooks(call, application_id)


def disable_unverified(call: Call, application_id: int) -> None:
    """Disable a receiver that accepted a forged request (spec/webhooks-and-interactions.md#1.1).

    Such a receiver does not check signatures, so its URL is removed from the application's settings, too."""
    log.warning("Disabled the event webhooks of application %d: it accepted a forged request", application_id)
    _disable_webhooks(call, application_id, removes_url=True)


def _disable_webhooks(call: Call, application_id: int, *, removes_url: bool = False) -> None:
    row = applications.find(call.tx, application_id)
    if row is None:
        return
    settings = applications.settings.decode_settings(row)
    settings.event_webhooks_status = EventWebhooksStatus.DISABLED_BY_PLATFORM
    if removes_url:
        settings.event_webhooks_url = None
    applications.settings.update_settings(call, row, settings)
    store.delete_failures(call.tx, application_id)


def schedule_probe(call: Call, application_id: int) -> None:
    """Schedule the next probe of an application's endpoint, replacing an earlier schedule.

    Do nothing if the application was deleted or disabled."""
    if is_deleted_or_disabled(call, application_id):
        return
    jobs.cancel_jobs(call.tx, PROBE_JOB, _probe_key(application_id))
    call.tx.enqueue(
        PROBE_JOB, int(application_id), due_ms=call.now_ms + PROBE_INTERVAL_MS, key=_probe_key(application_id)
    )


def _probe_key(application_id: int) -> str:
    return f"{PROBE_JOB}/{int(application_id)}"

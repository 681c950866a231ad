"""Leaving events for applications, and keeping account of how their receivers do."""

import logging
from typing import Any, Final

import msgspec

from hubbub.protocol import changes
from hubbub.protocol import wire as json
from hubbub.protocol.enums import EventWebhooksStatus, WebhookEventType
from hubbub.protocol.ids import ApplicationId, Timestamp
from hubbub.protocol.resources import webhook_events as wire
from hubbub.server.core import jobs, signing
from hubbub.server.core.call import Call
from hubbub.server.resources import applications, guilds, roles, users
from hubbub.server.resources.applications import ApplicationDeleting, EventWebhooksChanged
from hubbub.server.resources.webhook_events import store

log = logging.getLogger(__name__)

DELIVER: Final = "webhook_events.deliver"
PROBE: Final = "webhook_events.probe"

PROBE_EVERY_MS: Final = 24 * 3_600_000
"""How often an endpoint is asked again whether it refuses a forged request."""

# Spec, 1.2: switched off after too many failures; the numbers are our choice (decisions/0032).
FAILURES_MAX: Final = 100
FAILING_MS: Final = 24 * 3_600_000


class Delivery(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One event on its way. Stored as JSON in jobs: add fields with a default, never rename."""

    application_id: ApplicationId
    type: WebhookEventType
    body: str
    """The payload as it is posted, the same at each attempt."""
    url: str | None = None
    """Where to, if not to the application's own address."""


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """Where to post, and what to sign with."""

    url: str
    key: bytes
    now: int
    failing: bool
    """Whether the last attempt failed."""


def send(
    call: Call,
    application_id: ApplicationId,
    type: WebhookEventType,
    data: Any = msgspec.UNSET,
    *,
    subject_id: int,
    url: str | None = None,
) -> None:
    """Tell an application of something, if it wants to hear of it. Events about one subject arrive in order.

    `url` is where a lobby wants its events instead, whatever the application subscribed to."""
    if not changes.WEBHOOK_EVENTS.active(call.now):
        return
    if type is WebhookEventType.APPLICATION_DEAUTHORIZED and not changes.APPLICATION_DEAUTHORIZED_EVENT.active(
        call.now
    ):
        return
    # Rows carry plain numbers.
    application_id = ApplicationId(application_id)
    if url is None and not _subscribed(call, application_id, type):
        return
    # Spec, 1.2: the timestamp of these events has no offset.
    happened = wire.WebhookEventBody(type=type, timestamp=Timestamp(json.timestamp(call.now)[:26]), data=data)
    payload = wire.WebhookEventPayload(application_id=application_id, event=happened)
    delivery = Delivery(application_id=application_id, type=type, body=json.encode(payload).decode(), url=url)
    call.tx.enqueue(DELIVER, delivery, key=f"{key_prefix(application_id)}{int(subject_id)}")


def key_prefix(application_id: int) -> str:
    """How the keys of an application's deliveries begin; the subject follows."""
    return f"{DELIVER}/{int(application_id)}/"


def _subscribed(call: Call, application_id: ApplicationId, type: WebhookEventType) -> bool:
    row = applications.find(call.tx, application_id)
    if row is None:
        return False
    kept = applications.settings(row)
    return (
        kept.event_webhooks_status == EventWebhooksStatus.ENABLED
        and kept.event_webhooks_url is not None
        and type in kept.event_webhooks_types
    )


def application_authorized(
    call: Call,
    application_id: ApplicationId,
    user_id: int,
    scopes: list[str],
    *,
    integration_type: int | None = None,
    guild_id: int | None = None,
) -> None:
    """Tell that a user authorized the application: for a guild (0), for themselves (1), or only to some scopes (None)."""
    person = users.find(call.tx, user_id)
    if person is None:
        return
    data = wire.ApplicationAuthorized(
        integration_type=msgspec.UNSET if integration_type is None else integration_type,
        user=users.user(person),
        scopes=scopes,
    )
    row = None if guild_id is None else guilds.find(call.tx, guild_id)
    if row is not None:
        data.guild = guilds.guild(call.tx, row, roles.list_of_guild(call.tx, row.id), now=call.now)
    send(call, application_id, WebhookEventType.APPLICATION_AUTHORIZED, data, subject_id=user_id)


def application_deauthorized(call: Call, application_id: ApplicationId, user_id: int) -> None:
    """Tell that a user's authorization is gone: taken back, revoked, unmerged or banned."""
    person = users.find(call.tx, user_id)
    if person is not None:
        data = wire.ApplicationDeauthorized(user=users.user(person))
        send(call, application_id, WebhookEventType.APPLICATION_DEAUTHORIZED, data, subject_id=user_id)


def find_target(call: Call, application_id: int, url: str | None = None) -> Target | None:
    """Where an application's events go now; None when it does not receive any."""
    row = applications.find(call.tx, application_id)
    key = signing.find_key(call.tx, application_id)
    if row is None or key is None:
        return None
    if url is None:
        kept = applications.settings(row)
        url = kept.event_webhooks_url
        if url is None or kept.event_webhooks_status != EventWebhooksStatus.ENABLED:
            return None
    return Target(url=url, key=key, now=call.now, failing=store.find_failures(call.tx, application_id) is not None)


def begin_anew(call: Call, fact: EventWebhooksChanged) -> None:
    """The owner saw to it: what failed before no longer counts."""
    store.forget_failures(call.tx, fact.application_id)
    row = applications.find(call.tx, fact.application_id)
    if row is None or applications.settings(row).event_webhooks_url is None:
        jobs.cancel(call.tx, PROBE, _probe_key(fact.application_id))
    else:
        probe_later(call, fact.application_id)


def application_deleting(call: Call, fact: ApplicationDeleting) -> None:
    """An application goes: nobody is left to read its events, or to look at those that were given up."""
    jobs.forget(call.tx, DELIVER, key_prefix(fact.row.id))
    jobs.cancel(call.tx, PROBE, _probe_key(fact.row.id))
    store.forget_failures(call.tx, fact.row.id)


def is_gone(call: Call, application_id: int) -> bool:
    """Whether an application was deleted, while something of it was on its way."""
    return applications.find(call.tx, application_id) is None


def succeeded(call: Call, application_id: int) -> None:
    """A receiver is well again."""
    store.forget_failures(call.tx, application_id)


def failed(call: Call, application_id: int) -> None:
    """An attempt failed; a receiver that is gone for long is no longer written to."""
    if is_gone(call, application_id):
        return
    attempts, since_ms = store.count_failure(call.tx, application_id, call.now)
    if attempts >= FAILURES_MAX and call.now - since_ms >= FAILING_MS:
        log.warning("event webhooks of application %d are switched off: %d attempts failed", application_id, attempts)
        _switch_off(call, application_id)


def caught(call: Call, application_id: int) -> None:
    """A receiver took a forged request: it does not check signatures, so it gets nothing any more (spec, 1.1)."""
    log.warning("event webhooks of application %d are switched off: a forged request was taken", application_id)
    _switch_off(call, application_id, remove=True)


def _switch_off(call: Call, application_id: int, *, remove: bool = False) -> None:
    row = applications.find(call.tx, application_id)
    if row is None:
        return
    kept = applications.settings(row)
    kept.event_webhooks_status = EventWebhooksStatus.DISABLED_BY_PLATFORM
    if remove:
        kept.event_webhooks_url = None
    applications.change_settings(call, row, kept)
    store.forget_failures(call.tx, application_id)


def probe_later(call: Call, application_id: int) -> None:
    """Have the endpoint probed tomorrow, once."""
    if is_gone(call, application_id):
        return
    jobs.cancel(call.tx, PROBE, _probe_key(application_id))
    call.tx.enqueue(PROBE, int(application_id), due_ms=call.now + PROBE_EVERY_MS, key=_probe_key(application_id))


def _probe_key(application_id: int) -> str:
    return f"{PROBE}/{int(application_id)}"

"""Log attempts to deliver events and interactions, and delete old deliveries."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from hubbub.protocol import codec
from hubbub.protocol.resources import deliveries as wire
from hubbub.server.core import endpoint_problems, jobs
from hubbub.server.core.call import Call
from hubbub.server.core.clock import DAY_MS
from hubbub.server.core.jobs import Job
from hubbub.server.core.outbound_http import OutboundResponse
from hubbub.server.identity.applications.signals import ApplicationDeleting
from hubbub.server.play.deliveries import store
from hubbub.server.play.deliveries.store import DeliveryRow

PRUNE_JOB: Final = "deliveries.prune"
"""Kind of the job that deletes old deliveries of one application."""
BODY_LENGTH_MAX: Final = 256 * 1024
"""Maximum number of characters of a stored request body; longer ones are cut and cannot be sent again."""
RESPONSE_LENGTH_MAX: Final = 1000
"""Maximum number of characters of a stored response body."""
HEADER_LENGTH_MAX: Final = 500
"""Maximum number of characters of a stored response header."""
HEADERS_MAX: Final = 40
"""Maximum number of stored headers of a response."""
HIDDEN_HEADERS: Final = frozenset({"authorization", "cookie", "proxy-authorization", "set-cookie"})
"""Response headers that are not stored."""
REMOVED_TEXT: Final = "removed"
"""Value that replaces a token in a stored body."""


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """One attempt to deliver a webhook event or an interaction."""

    delivery_id: int
    """ID of the delivery; all its attempts have the same."""
    application_id: int
    kind: wire.DeliveryKind
    name: str
    """Type of the event, or type of the interaction and name of its command."""
    job: Job
    url: str
    is_own_url: bool = True
    """Whether `url` is from the application's settings, not the URL of a lobby."""
    headers: Mapping[str, str]
    """Headers of the request."""
    body: str
    """Body of the request; `log_attempt` removes the token of an interaction."""
    started_ms: int
    """Unix milliseconds of the attempt."""
    duration_ms: int = 0
    response: OutboundResponse | None = None
    """The response; None if none arrived."""


def log_attempt(
    call: Call, attempt: Attempt, state: wire.DeliveryState, error: str | None, delay_ms: int | None = None
) -> None:
    """Log an attempt and its result, and delete the application's oldest deliveries above the maximum.

    `delay_ms` is the time until the next attempt, or None if there is none."""
    body = attempt.body if attempt.kind == "event" else _remove_token(attempt.body)
    response = attempt.response
    store.save(
        call.tx,
        DeliveryRow(
            id=attempt.delivery_id,
            application_id=attempt.application_id,
            kind=attempt.kind,
            name=attempt.name,
            state=state,
            url=attempt.url,
            is_own_url=int(attempt.is_own_url),
            created_ms=attempt.started_ms,
            attempted_ms=attempt.started_ms,
            next_ms=None if delay_ms is None else call.now_ms + delay_ms,
            attempts=attempt.job.attempts + 1,
            duration_ms=attempt.duration_ms,
            status=None if response is None else response.status,
            error=error,
            job_id=attempt.job.id,
            subject_key=attempt.job.key,
            is_complete=int(len(body) <= BODY_LENGTH_MAX),
            request_headers=codec.encode(dict(attempt.headers)).decode(),
            body=body[:BODY_LENGTH_MAX],
            response_headers="{}" if response is None else codec.encode(_stored_headers(response.headers)).decode(),
            response_body=""
            if response is None
            else endpoint_problems.read_excerpt(response.body, RESPONSE_LENGTH_MAX),
        ),
    )
    store.delete_beyond(call.tx, attempt.application_id, wire.DELIVERIES_MAX)
    _schedule_pruning(call, attempt.application_id)


def prune(call: Call, application_id: int) -> None:
    """Delete the old deliveries of an application, and schedule the next run while any are left."""
    store.delete_older(call.tx, application_id, call.now_ms - wire.DELIVERY_DAYS * DAY_MS)
    if store.has_any(call.tx, application_id):
        _schedule_pruning(call, application_id)


def on_application_deleting(call: Call, signal: ApplicationDeleting) -> None:
    """Delete the log of an application that is being deleted."""
    store.delete_all(call.tx, signal.row.id)
    jobs.cancel_jobs(call.tx, PRUNE_JOB, _prune_key(signal.row.id))


def _schedule_pruning(call: Call, application_id: int) -> None:
    jobs.enqueue_once(
        call.tx, PRUNE_JOB, int(application_id), due_ms=call.now_ms + DAY_MS, key=_prune_key(application_id)
    )


def _prune_key(application_id: int) -> str:
    return f"{PRUNE_JOB}:{int(application_id)}"


def _remove_token(body: str) -> str:
    """Replace the response token of an interaction, with which anyone could respond as the application."""
    payload = codec.decode(body, dict[str, Any])
    return codec.encode(payload | {"token": REMOVED_TEXT}).decode()


def _stored_headers(headers: Mapping[str, str]) -> dict[str, str]:
    stored_headers = [
        (name, value[:HEADER_LENGTH_MAX]) for name, value in headers.items() if name.lower() not in HIDDEN_HEADERS
    ]
    return dict(stored_headers[:HEADERS_MAX])

"""Applications that hear interactions at an address of their own: what is on the way there, and where it goes."""

import logging
from typing import Final

import msgspec

from hubbub.protocol import wire as json
from hubbub.protocol.ids import ApplicationId, InteractionId
from hubbub.protocol.resources import interactions as wire
from hubbub.server.core import jobs, signing
from hubbub.server.core.call import Call
from hubbub.server.resources import applications
from hubbub.server.resources.applications import InteractionsEndpointChanged
from hubbub.server.resources.interactions import store
from hubbub.server.resources.interactions.store import App, InteractionRow

log = logging.getLogger(__name__)

DELIVER: Final = "interactions.deliver"
PROBE: Final = "interactions.probe"

PROBE_EVERY_MS: Final = 24 * 3_600_000
"""How often an endpoint is asked again whether it refuses a forged request."""


class Delivery(msgspec.Struct, kw_only=True):
    """An interaction on its way. Stored as JSON in jobs, which end with the attempt: its token is never kept longer."""

    interaction_id: InteractionId
    token: str
    body: str
    """What is posted, the same at each attempt."""


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """Where to post, and what to sign with."""

    url: str
    key: bytes
    now: int
    left_ms: int = wire.ANSWER_MS
    """How long an answer is still good."""


def has_one(application: App) -> bool:
    """Whether interactions go to an address of the application's own instead of its bot (webhooks-and-interactions.md 2)."""
    # Defaults are not stored, and few have one.
    return (
        "interactions_endpoint_url" in application.settings
        and applications.settings(application).interactions_endpoint_url is not None
    )


def leave(call: Call, row: InteractionRow, token: str, shown: wire.Interaction) -> None:
    """Have an interaction posted, as soon as this transaction is committed."""
    delivery = Delivery(interaction_id=InteractionId(row.id), token=token, body=json.encode(shown).decode())
    # The key says whose it is; no two of an application wait for each other.
    call.tx.enqueue(DELIVER, delivery, key=f"{DELIVER}/{row.application_id}/{row.id}")


def find_target(call: Call, application_id: int) -> Target | None:
    """Where an application hears interactions now; None when it is not by an address."""
    row = applications.find(call.tx, application_id)
    key = signing.find_key(call.tx, application_id)
    url = None if row is None else applications.settings(row).interactions_endpoint_url
    return None if url is None or key is None else Target(url=url, key=key, now=call.now)


def find_waiting(call: Call, interaction_id: int) -> Target | None:
    """Where to post an interaction; None when it was answered, or can no longer be."""
    row = store.find(call.tx, interaction_id)
    if row is None or row.callback_type is not None:
        return None
    target = find_target(call, row.application_id)
    left_ms = left(call, interaction_id)
    return None if target is None or left_ms <= 0 else msgspec.structs.replace(target, left_ms=left_ms)


def left(call: Call, interaction_id: int) -> int:
    """Milliseconds in which an interaction can still be answered first."""
    return InteractionId(interaction_id).created_ms + wire.ANSWER_MS - call.now


# Probes


def begin_anew(call: Call, fact: InteractionsEndpointChanged) -> None:
    """An address is new, or none is left."""
    if find_target(call, fact.application_id) is None:
        jobs.cancel(call.tx, PROBE, _probe_key(fact.application_id))
    else:
        probe_later(call, fact.application_id)


def probe_later(call: Call, application_id: int) -> None:
    """Have the endpoint probed tomorrow, once."""
    jobs.cancel(call.tx, PROBE, _probe_key(application_id))
    call.tx.enqueue(
        PROBE, ApplicationId(application_id), due_ms=call.now + PROBE_EVERY_MS, key=_probe_key(application_id)
    )


def caught(call: Call, application_id: int) -> None:
    """An endpoint took a forged request: it does not check signatures, so the gateway is all that is left."""
    row = applications.find(call.tx, application_id)
    if row is None:
        return
    log.warning("application %d lost its interactions endpoint: a forged request was taken", application_id)
    kept = applications.settings(row)
    kept.interactions_endpoint_url = None
    applications.change_settings(call, row, kept)


def _probe_key(application_id: int) -> str:
    return f"{PROBE}/{int(application_id)}"

"""Store interactions, deliver them to applications, and publish their outcome to the invoking user."""

from collections import Counter
from typing import Any, Final

from msgspec import UNSET

from hubbub.protocol.ids import InteractionId, Snowflake
from hubbub.protocol.operation import Event
from hubbub.protocol.resources import interactions as wire
from hubbub.server.core.call import Call
from hubbub.server.core.event_dispatch import UserAudience
from hubbub.server.core.store import Tx
from hubbub.server.play.interactions import store
from hubbub.server.play.interactions.delivery import endpoints, timeouts
from hubbub.server.play.interactions.store import (
    InteractionApplication,
    InteractionRow,
    ResponseState,
)

INVALID_RESPONSE: Final = 1
"""Reason code of INTERACTION_FAILURE: the response was invalid."""

TIMED_OUT: Final = 2
"""Reason code of INTERACTION_FAILURE: the application did not respond in time."""

# The range is longer than one interval, because IDs may run slightly ahead of the clock that scheduled the job.
_FAILED_RANGE_MS: Final = 4 * timeouts.GRANULARITY_MS
"""One timeout job fails the interactions created within this time, in milliseconds."""


def create(call: Call, row: InteractionRow, state: ResponseState, token: str) -> None:
    """Store an interaction and publish its ID to the invoking user."""
    store.insert(call.tx, row, token, call.now_ms)
    notify_user(call, row, state, wire.INTERACTION_CREATE, result_payload(row, state))


def deliver(
    call: Call,
    row: InteractionRow,
    application: InteractionApplication,
    token: str,
    view: wire.Interaction,
    shard_guild_id: int | None,
) -> None:
    """Deliver an interaction to the application: to its HTTP endpoint if it has one, otherwise to its bot.

    Only the bot's session on the shard of the guild `shard_guild_id` receives it; None stands for shard 0."""
    if endpoints.has_endpoint(application):
        endpoints.enqueue_delivery(call, row, token, view)
        return
    # The guild's audience is not consulted (spec/gateway.md#4.2).
    audience = UserAudience.of(int(application.bot_id or 0), shard_guild_id=shard_guild_id)
    call.tx.emit(wire.INTERACTION_CREATE, view, audience)


def fail_unanswered(call: Call, created_before_ms: int) -> None:
    """Fail the unanswered interactions that were created shortly before `created_before_ms`, and publish the failures."""
    since_ms = created_before_ms - _FAILED_RANGE_MS
    for row in store.fail_range(call.tx, Snowflake.at(since_ms), Snowflake.at(created_before_ms)):
        publish_failure(call, row, TIMED_OUT)


def fail(call: Call, interaction_id: int, problem: str, reason_code: int) -> None:
    """Fail an interaction whose HTTP endpoint returned an error, an invalid response, or none.

    `problem` is the error text that the application's developers see; `reason_code` is INVALID_RESPONSE or TIMED_OUT."""
    row = store.find(call.tx, interaction_id)
    if row is not None and store.fail_one(call.tx, interaction_id, problem):
        publish_failure(call, row, reason_code)


def count_failures(tx: Tx, limit: int) -> Counter[tuple[int, str | None]]:
    """Count the latest failed interactions by application ID and name of the command; None for components and modals."""
    return Counter(
        (row.application_id, store.decode_response_state(row).interaction_metadata.name)
        for row in store.list_latest_failures(tx, limit)
    )


def publish_failure(call: Call, row: InteractionRow, reason_code: int) -> None:
    """Publish the failure of an interaction to the session that created it, or to all sessions of the user if it is unknown."""
    state = store.decode_response_state(row)
    payload = wire.InteractionFailed(
        id=InteractionId(row.id), nonce=UNSET if state.nonce is None else state.nonce, reason_code=reason_code
    )
    notify_user(call, row, state, wire.INTERACTION_FAILURE, payload)


def result_payload(row: InteractionRow, state: ResponseState) -> wire.InteractionResult:
    """Return the payload of the events about the creation and the success of an interaction."""
    return wire.InteractionResult(id=InteractionId(row.id), nonce=UNSET if state.nonce is None else state.nonce)


def notify_user(
    call: Call, row: InteractionRow, state: ResponseState, event: Event[Any], payload: wire.InteractionResult
) -> None:
    """Publish the creation or the outcome of an interaction to the session that created it.

    If that session is unknown, all sessions of the invoking user receive the event."""
    call.tx.emit(event, payload, UserAudience.of(row.user_id, session_id=state.session_id or None))

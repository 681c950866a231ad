"""Nonces, which let a client repeat a request without creating a second message."""

from collections.abc import Callable
from typing import Final, TypeVar

from msgspec import UNSET

from hubbub.protocol import changes, errors
from hubbub.protocol.resources import messages as wire
from hubbub.server.core.call import Call
from hubbub.server.talk.messages import store

RowT = TypeVar("RowT")

NONCE_WINDOW_MS: Final = round(wire.NONCE_WINDOW.total_seconds() * 1000)


def parse_nonce(body: wire.CreateMessage) -> int | str | None:
    """Return the nonce of a body, or None; raise if it is invalid."""
    nonce = body.nonce
    if nonce is UNSET or nonce is None or nonce == "":
        return None
    if not isinstance(nonce, int | str) or isinstance(nonce, bool):
        raise errors.invalid("nonce", *errors.nonce_type())
    if len(str(nonce)) > wire.NONCE_MAX:
        raise errors.invalid("nonce", *errors.nonce_length(wire.NONCE_MAX))
    return nonce


def _is_enforced(call: Call, body: wire.CreateMessage) -> bool:
    """Return whether a repeated nonce must return the earlier message."""
    if body.enforce_nonce is UNSET or body.enforce_nonce is None:
        return call.api_version >= changes.ENFORCE_NONCE_DEFAULT_VERSION
    return body.enforce_nonce and changes.ENFORCE_NONCE.is_active(call.now_ms)


def claim_nonce(
    call: Call, channel_id: int, body: wire.CreateMessage, message_id: int, find_message: Callable[[int], RowT | None]
) -> RowT | None:
    """Return the message of a channel or lobby that used the nonce of a body within `NONCE_WINDOW_MS`, or None.

    If there is none, the nonce is recorded for the new message `message_id`. A body without a nonce, or whose nonce is
    not enforced, always counts as new. `find_message` returns a message by ID."""
    nonce = parse_nonce(body)
    if nonce is None or not _is_enforced(call, body):
        return None
    nonce_key = (call.user_id, channel_id, str(nonce))
    earlier_message_id = store.claim_nonce(call.tx, *nonce_key, message_id, call.now_ms, NONCE_WINDOW_MS)
    if earlier_message_id is None:
        return None
    row = find_message(earlier_message_id)
    if row is None:
        # The earlier message was deleted, so the repeated one counts as new.
        store.replace_nonce(call.tx, *nonce_key, message_id, call.now_ms)
    return row

"""Calls that are no guild's: of lobbies and of private channels. Who is in them is kept here, with their tickets; the slices whose
calls they are say who may come, and tell whom it concerns."""

from typing import NamedTuple

from hubbub.protocol.ids import Snowflake, UserId
from hubbub.server.core.call import Call
from hubbub.server.core.dispatches import Audience
from hubbub.server.resources.voice_states import actions, rules, store, tickets
from hubbub.server.resources.voice_states.store import (
    CallKind,
    CallStateRow,
    all_callers,
    callers,
    failed_at,
    find_caller,
)


class Put(NamedTuple):
    """What came of somebody's wish to be in a call."""

    changed: bool
    """Whether there is something to tell of their state."""
    needs_ticket: bool
    """Whether they have to connect to the voice server (anew)."""


def waits_ms(call: Call, call_id: int, user_id: int) -> int:
    """How long somebody must wait whom the voice server refused before (voice.md 1)."""
    return rules.waits_ms(call, *store.failures(call.tx, call_id, user_id))


def put(call: Call, row: CallStateRow) -> Put:
    """Somebody comes into a call, or is in it in another way; who is there already keeps their place."""
    before = store.find_caller(call.tx, row.call_id, row.user_id)
    if before is not None:
        row = row._replace(joined_ms=before.joined_ms)
    if row != before:
        store.put_caller(call.tx, row)
    elsewhere = before is None or before.session_id != row.session_id
    return Put(row != before, elsewhere or tickets.is_lost(call, row.call_id, row.user_id))


def admit(call: Call, row: CallStateRow) -> tuple[str, str | None]:
    """A new ticket for who is in a call: its token, and where the voice server is, if anywhere."""
    return tickets.issue(call, row.call_id, row.user_id, row.call_id, row.session_id)


def holder(row: CallStateRow, **more: int) -> Audience:
    """The session that holds a place in a call."""
    return Audience.of_users(row.user_id, voice_session=row.session_id, **more)


def remove(call: Call, row: CallStateRow) -> None:
    """Somebody is in a call no more."""
    store.delete_caller(call.tx, row.call_id, row.user_id)
    store.delete_ticket(call.tx, row.call_id, row.user_id)


def tell_server(call: Call, row: CallStateRow, *, ended: bool = False) -> None:
    """Let the voice server look at somebody's ticket again, after everybody else was told: it closes the sockets of who has none.
    `ended`: nobody can be in the call, since what it belongs to is gone."""
    actions.tell_server(call, row.call_id, row.user_id, ended=ended)


def list_of_user(call: Call, kind: CallKind, user_id: int, session_id: str | None = None) -> list[CallStateRow]:
    """The calls of a kind that somebody is in, by one of their sessions or by any."""
    return [
        row
        for row in store.calls_of_user(call.tx, user_id)
        if row.kind == kind and session_id in (None, row.session_id)
    ]


def state(call_id: int, user_id: int, kind: CallKind, session_id: str, now: int, **traits: bool) -> CallStateRow:
    """How somebody wants to be in a call: `self_deaf`, `self_mute` and `self_video`."""
    return CallStateRow(
        call_id=Snowflake(call_id),
        user_id=UserId(user_id),
        kind=kind,
        session_id=session_id,
        joined_ms=now,
        **{name: int(value) for name, value in traits.items()},
    )


__all__ = [
    "CallKind",
    "CallStateRow",
    "Put",
    "admit",
    "all_callers",
    "callers",
    "failed_at",
    "find_caller",
    "holder",
    "list_of_user",
    "put",
    "remove",
    "state",
    "tell_server",
    "waits_ms",
]

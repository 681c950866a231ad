"""Voice calls outside guilds: lobby calls and private calls.

This module stores participants and tickets. The slices that own the calls check permissions and publish events."""

from typing import NamedTuple

from hubbub.protocol.ids import Snowflake, UserId
from hubbub.server.core.call import Call
from hubbub.server.core.event_dispatch import NO_FILTER, GameFilter, UserAudience
from hubbub.server.places.voice_states import actions, rules, store, tickets
from hubbub.server.places.voice_states.store import (
    VoiceCallKind,
    VoiceCallParticipantRow,
    find_participant,
    find_participants,
    list_all_participants,
    list_failed_server_ids,
)


class PutResult(NamedTuple):
    """The result of adding or updating a participant."""

    has_changed: bool
    """Whether the participant's state changed and must be published."""
    needs_ticket: bool
    """Whether the participant must connect to the voice server, possibly again."""


def compute_join_delay_ms(call: Call, voice_call_id: int, user_id: int) -> int:
    """Return the delay in milliseconds before a join, imposed after rejected voice connections (spec/voice.md#1)."""
    return rules.compute_join_delay_ms(call, *store.find_failures(call.tx, voice_call_id, user_id))


def put_participant(call: Call, row: VoiceCallParticipantRow) -> PutResult:
    """Add a participant or update their state; the time of joining is kept."""
    previous_row = store.find_participant(call.tx, row.voice_call_id, row.user_id)
    if previous_row is not None:
        row = row._replace(joined_ms=previous_row.joined_ms)
    if row != previous_row:
        store.put_participant(call.tx, row)
    is_new_session = previous_row is None or previous_row.session_id != row.session_id
    return PutResult(
        row != previous_row, is_new_session or tickets.needs_new_server(call, row.voice_call_id, row.user_id)
    )


def issue_ticket(call: Call, row: VoiceCallParticipantRow) -> tuple[str, str | None]:
    """Issue a new ticket for a participant and return its token and the voice server's endpoint, if any."""
    return tickets.issue(call, row.voice_call_id, row.user_id, row.voice_call_id, row.session_id)


def session_audience(row: VoiceCallParticipantRow, *, application_id: int | None = None) -> UserAudience:
    """Return the audience of the session through which a participant is connected.

    With `application_id` the session must belong to that application."""
    game_filter = NO_FILTER if application_id is None else GameFilter(application_id=application_id)
    return UserAudience.of(row.user_id, voice_session_id=row.session_id, game_filter=game_filter)


def remove_participant(call: Call, row: VoiceCallParticipantRow) -> None:
    """Remove a participant and their ticket."""
    store.delete_participant(call.tx, row.voice_call_id, row.user_id)
    store.delete_ticket(call.tx, row.voice_call_id, row.user_id)


def notify_voice_server(call: Call, row: VoiceCallParticipantRow, *, has_voice_call_ended: bool = False) -> None:
    """Make the voice server reload a participant's ticket. It closes the socket of a participant without a ticket.

    Call this after all other events are published. `has_voice_call_ended` is True if the voice call ended for all
    participants."""
    actions.notify_voice_server(call, row.voice_call_id, row.user_id, has_voice_call_ended=has_voice_call_ended)


def list_participations(
    call: Call, kind: VoiceCallKind, user_id: int, session_id: str | None = None
) -> list[VoiceCallParticipantRow]:
    """Return a user's participations in voice calls of a kind; with `session_id`, only those of that session."""
    return [
        row
        for row in store.list_participations_of_user(call.tx, user_id)
        if row.kind == kind and session_id in (None, row.session_id)
    ]


def new_participant(
    voice_call_id: int, user_id: int, kind: VoiceCallKind, session_id: str, now_ms: int, **flags: bool
) -> VoiceCallParticipantRow:
    """Return a new participant who joins at `now_ms` (Unix milliseconds).

    `flags` are `self_deaf`, `self_mute` and `self_video`."""
    return VoiceCallParticipantRow(
        voice_call_id=Snowflake(voice_call_id),
        user_id=UserId(user_id),
        kind=kind,
        session_id=session_id,
        joined_ms=now_ms,
        **{name: int(value) for name, value in flags.items()},
    )


__all__ = [
    "PutResult",
    "VoiceCallKind",
    "VoiceCallParticipantRow",
    "compute_join_delay_ms",
    "find_participant",
    "find_participants",
    "issue_ticket",
    "list_all_participants",
    "list_failed_server_ids",
    "list_participations",
    "new_participant",
    "notify_voice_server",
    "put_participant",
    "remove_participant",
    "session_audience",
]

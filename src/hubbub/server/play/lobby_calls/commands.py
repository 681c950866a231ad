"""Gateway commands of lobby calls: opcode 17 sets voice states, opcode 42 reports an unresponsive voice server."""

from typing import Final

import msgspec

from hubbub.protocol.enums import Scope
from hubbub.protocol.ids import LobbyId, UserId
from hubbub.protocol.resources import lobby_calls as wire
from hubbub.protocol.resources.features import Feature
from hubbub.server.core import jobs, voice
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles_command
from hubbub.server.identity import features
from hubbub.server.places import voice_states
from hubbub.server.places.voice_states.connections.calls import VoiceCallKind
from hubbub.server.places.voice_states.signals import PendingJoinsCanceled
from hubbub.server.play import lobbies
from hubbub.server.play.lobbies import LobbyRow
from hubbub.server.play.lobby_calls import actions, rules

JOIN_JOB: Final = "lobby_calls.join"
"""Kind of the job that joins a call after a delay."""


class LobbyCallRequest(msgspec.Struct, kw_only=True):
    """A user's request to join the call of a lobby, which is also the payload of the job for a delayed join."""

    lobby_id: LobbyId
    user_id: UserId
    session_id: str
    """Session ID as shown in voice states."""
    self_mute: bool
    self_deaf: bool
    self_video: bool


@handles_command(wire.SET_LOBBY_VOICE_STATES, writes=True)
def set_lobby_voice_states(call: Call, body: wire.SetLobbyVoiceStates) -> None:
    """Join the listed calls, and leave the session's other calls (spec/voice.md#1)."""
    own_lobbies = _find_own_lobbies(call)
    if own_lobbies is None:
        return
    session_id = voice.derive_session_id(call.session_id)
    # A new request replaces a delayed join that is still waiting.
    for lobby_id in voice_states.calls.list_failed_server_ids(call.tx, call.user_id):
        jobs.cancel_jobs(call.tx, JOIN_JOB, _join_job_key(lobby_id, call.user_id))
    requested_states = {int(requested_state.lobby_id): requested_state for requested_state in body}
    own_participations = voice_states.calls.list_participations(call, VoiceCallKind.LOBBY, call.user_id, session_id)
    actions.leave(call, [row for row in own_participations if row.voice_call_id not in requested_states])
    participants_by_lobby = voice_states.calls.find_participants(call.tx, list(requested_states))
    for lobby_id, requested_state in requested_states.items():
        request = LobbyCallRequest(
            lobby_id=LobbyId(lobby_id),
            user_id=call.user_id,
            session_id=session_id,
            self_mute=requested_state.self_mute,
            self_deaf=requested_state.self_deaf,
            self_video=requested_state.self_video,
        )
        lobby = own_lobbies.get(lobby_id)
        if (
            lobby is None
            or not rules.can_join(call.user_id, participants_by_lobby.get(lobby_id, ()))
            or not features.is_enabled(call, Feature.VOICE)
        ):
            _reject_join(call, request)
        elif delay_ms := voice_states.calls.compute_join_delay_ms(call, lobby_id, call.user_id):
            call.tx.enqueue(JOIN_JOB, request, due_ms=call.now_ms + delay_ms, key=_join_job_key(lobby_id, call.user_id))
        else:
            actions.join_or_update(call, lobby, _new_participant(call, request))


def _find_own_lobbies(call: Call) -> dict[int, LobbyRow] | None:
    """Return the lobbies whose calls the session may join, by ID; None if it may not use lobbies.

    A user's own client may join the calls of all lobbies that the user is in (decisions/0161)."""
    actor = call.actor
    if actor.kind == "user":
        rows = lobbies.list_user_lobbies_in_all_applications(call.tx, call.user_id)
    elif actor.application_id is not None and Scope.LOBBIES_WRITE in actor.scopes:
        rows = lobbies.list_user_lobbies(call.tx, actor.application_id, call.user_id)
    else:
        return None
    return {row.id: row for row in rows}


def _reject_join(call: Call, request: LobbyCallRequest) -> None:
    """Report to the requesting session alone that it did not join, so that the client need not wait."""
    call.replies.append(
        (wire.LOBBY_VOICE_STATE_UPDATE, lobbies.voice_state(_new_participant(call, request), has_left=True))
    )


def _new_participant(call: Call, request: LobbyCallRequest) -> voice_states.calls.VoiceCallParticipantRow:
    return voice_states.calls.new_participant(
        request.lobby_id,
        request.user_id,
        VoiceCallKind.LOBBY,
        request.session_id,
        call.now_ms,
        self_mute=request.self_mute,
        self_deaf=request.self_deaf,
        self_video=request.self_video,
    )


def join_delayed(call: Call, job: jobs.Job) -> None:
    """Join a call after the delay that follows rejected voice connections (spec/voice.md#1)."""
    request = job.decode(LobbyCallRequest)
    own_lobbies = lobbies.list_user_lobbies_in_all_applications(call.tx, request.user_id)
    lobby = next((row for row in own_lobbies if row.id == request.lobby_id), None)
    participants = voice_states.calls.find_participants(call.tx, [request.lobby_id]).get(request.lobby_id, ())
    if lobby is not None and rules.can_join(request.user_id, participants):
        actions.join_or_update(call, lobby, _new_participant(call, request))


@handles_command(wire.PING_LOBBY_VOICE_SERVER, writes=True)
def ping_lobby_voice_server(call: Call, body: wire.PingLobbyVoiceServer) -> None:
    """Check the voice server of a call that the session is in, and assign another one if it is lost."""
    session_id = voice.derive_session_id(call.session_id)
    row = voice_states.calls.find_participant(call.tx, body.lobby_id, call.user_id)
    if (
        row is not None
        and row.session_id == session_id
        and voice_states.tickets.needs_new_server(call, row.voice_call_id, row.user_id)
    ):
        actions.reassign_server(call, row)


def on_pending_joins_canceled(call: Call, signal: PendingJoinsCanceled) -> None:
    """Cancel the delayed joins of a user."""
    for lobby_id in signal.server_ids:
        jobs.cancel_jobs(call.tx, JOIN_JOB, _join_job_key(lobby_id, signal.user_id))


def _join_job_key(lobby_id: int, user_id: int) -> str:
    return f"{JOIN_JOB}:{int(lobby_id)}:{int(user_id)}"

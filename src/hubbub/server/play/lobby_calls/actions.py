"""Add participants to lobby calls, remove them, reassign voice servers, and publish changes to the lobby's members."""

from collections.abc import Sequence

from hubbub.protocol.ids import LobbyId
from hubbub.protocol.resources import lobby_calls as wire
from hubbub.server.core.call import Call
from hubbub.server.core.event_dispatch import UserAudience
from hubbub.server.places import voice_states
from hubbub.server.places.voice_states.connections.calls import VoiceCallKind, VoiceCallParticipantRow
from hubbub.server.places.voice_states.signals import ParticipantDisplaced
from hubbub.server.play import lobbies
from hubbub.server.play.lobbies import LobbyMembersLeaving, LobbyRow


def join_or_update(call: Call, lobby: LobbyRow, row: VoiceCallParticipantRow) -> None:
    """Add a member to a call or update their voice state; the first participant starts the call."""
    result = voice_states.calls.put_participant(call, row)
    if result.has_changed:
        _publish_state(call, _lobby_audience(call, lobby), row)
    if result.needs_ticket:
        # spec/voice.md#1: the state precedes the server event, so that clients have their session ID when they receive the server.
        _send_voice_server(call, lobby, row)
    if result.has_changed or result.needs_ticket:
        voice_states.calls.notify_voice_server(call, row)


def leave(call: Call, rows: Sequence[VoiceCallParticipantRow], *, is_lobby_deleted: bool = False) -> None:
    """Remove participants from their calls. A call ends when its last participant leaves.

    With `is_lobby_deleted`, the voice server is notified that the calls end because their lobby is being deleted."""
    for lobby_id in dict.fromkeys(row.voice_call_id for row in rows):
        lobby = lobbies.find(call.tx, lobby_id)
        audience = None if lobby is None else _lobby_audience(call, lobby)
        for row in (row for row in rows if row.voice_call_id == lobby_id):
            voice_states.calls.remove_participant(call, row)
            if audience is not None:
                _publish_state(call, audience, row, has_left=True)
    for row in rows:
        voice_states.calls.notify_voice_server(call, row, has_voice_call_ended=is_lobby_deleted)


def reassign_server(call: Call, row: VoiceCallParticipantRow) -> None:
    """Assign a participant to another voice server, after the current one was lost or while it shuts down.

    If no voice server is available, the participant waits for one."""
    lobby = lobbies.find(call.tx, row.voice_call_id)
    if lobby is not None:
        _send_voice_server(call, lobby, row)
        voice_states.calls.notify_voice_server(call, row)


def on_members_leaving(call: Call, signal: LobbyMembersLeaving) -> None:
    """Remove leaving lobby members from the call."""
    participants = voice_states.calls.find_participants(call.tx, [signal.lobby.id]).get(signal.lobby.id, [])
    leave(
        call, [row for row in participants if row.user_id in signal.user_ids], is_lobby_deleted=signal.is_lobby_deleted
    )


def remove_participant(call: Call, row: VoiceCallParticipantRow) -> None:
    """Remove a participant from a lobby call; ignore other calls."""
    if row.kind == VoiceCallKind.LOBBY:
        leave(call, [row])


def on_participant_displaced(call: Call, signal: ParticipantDisplaced) -> None:
    """Assign another voice server to a participant whose voice server was lost or shuts down."""
    if signal.row.kind == VoiceCallKind.LOBBY:
        reassign_server(call, signal.row)


def _lobby_audience(call: Call, lobby: LobbyRow) -> UserAudience:
    """Return the audience of a call: the sessions of members that receive the lobby's events."""
    return lobbies.member_audience(lobby, frozenset(lobbies.list_member_ids(call.tx, lobby.id)))


def _publish_state(call: Call, audience: UserAudience, row: VoiceCallParticipantRow, *, has_left: bool = False) -> None:
    call.tx.emit(wire.LOBBY_VOICE_STATE_UPDATE, lobbies.voice_state(row, has_left=has_left), audience)


def _send_voice_server(call: Call, lobby: LobbyRow, row: VoiceCallParticipantRow) -> None:
    token, endpoint = voice_states.calls.issue_ticket(call, row)
    payload = wire.LobbyVoiceServer(token=token, lobby_id=LobbyId(lobby.id), endpoint=endpoint)
    audience = voice_states.calls.session_audience(row, application_id=lobby.application_id)
    call.tx.emit(wire.LOBBY_VOICE_SERVER_UPDATE, payload, audience)

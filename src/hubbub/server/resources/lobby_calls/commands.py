"""Lobby calls over the gateway: opcode 17 says in which a session wants to be, opcode 42 that a voice server does not answer."""

from typing import Final

import msgspec

from hubbub.protocol.enums import Scope
from hubbub.protocol.ids import ApplicationId, LobbyId, UserId
from hubbub.protocol.resources import lobby_calls as wire
from hubbub.server.core import jobs, voice
from hubbub.server.core.call import Call
from hubbub.server.core.slices import obeys
from hubbub.server.resources import lobbies, voice_states
from hubbub.server.resources.lobby_calls import actions, rules
from hubbub.server.resources.voice_states import CallKind, WaitingForgotten

JOIN: Final = "lobby_calls.join"


class Wish(msgspec.Struct, kw_only=True):
    """Who wants to be in the call of a lobby, and how."""

    lobby_id: LobbyId
    application_id: ApplicationId
    user_id: UserId
    session_id: str
    """As voice states show it."""
    self_mute: bool
    self_deaf: bool
    self_video: bool


@obeys(wire.SET_LOBBY_VOICE_STATES, writes=True)
def set_lobby_voice_states(call: Call, body: wire.SetLobbyVoiceStates) -> None:
    """Be in the calls named, as said, and leave those of this session that are not (voice.md 1)."""
    application_id = _playing(call)
    if application_id is None:
        return
    session_id = voice.session_id(call.session_id)
    # A later wish takes the place of one that waits.
    for lobby_id in voice_states.calls.failed_at(call.tx, call.user_id):
        jobs.cancel(call.tx, JOIN, _key(lobby_id, call.user_id))
    wanted = {int(each.lobby_id): each for each in body}
    held = voice_states.calls.list_of_user(call, CallKind.LOBBY, call.user_id, session_id)
    actions.leave(call, [row for row in held if row.call_id not in wanted])
    mine = {row.id: row for row in lobbies.list_of_user(call.tx, application_id, call.user_id)}
    inside = voice_states.calls.callers(call.tx, list(wanted))
    for lobby_id, each in wanted.items():
        wish = Wish(
            lobby_id=LobbyId(lobby_id),
            application_id=application_id,
            user_id=call.user_id,
            session_id=session_id,
            self_mute=each.self_mute,
            self_deaf=each.self_deaf,
            self_video=each.self_video,
        )
        lobby = mine.get(lobby_id)
        if lobby is None or not rules.can_enter(call.user_id, inside.get(lobby_id, ())):
            _refuse(call, wish)
        elif waits_ms := voice_states.calls.waits_ms(call, lobby_id, call.user_id):
            call.tx.enqueue(JOIN, wish, due_ms=call.now + waits_ms, key=_key(lobby_id, call.user_id))
        else:
            actions.put(call, lobby, _row(call, wish))


def _playing(call: Call) -> ApplicationId | None:
    """The game that speaks, if one does that may be in lobbies."""
    actor = call.actor
    return actor.application_id if actor.kind == "bearer" and Scope.LOBBIES_WRITE in actor.scopes else None


def _refuse(call: Call, wish: Wish) -> None:
    """Tell the session that asked, and nobody else, that it is not in the call: a game need not wait for what will not come."""
    call.replies.append((wire.LOBBY_VOICE_STATE_UPDATE, lobbies.voice_state(_row(call, wish), left=True)))


def _row(call: Call, wish: Wish) -> voice_states.CallStateRow:
    return voice_states.calls.state(
        wish.lobby_id,
        wish.user_id,
        CallKind.LOBBY,
        wish.session_id,
        call.now,
        self_mute=wish.self_mute,
        self_deaf=wish.self_deaf,
        self_video=wish.self_video,
    )


def join_at_last(call: Call, job: jobs.Job) -> None:
    """Let somebody into a call who had to wait, since the voice server refused them before."""
    wish = job.decode(Wish)
    mine = lobbies.list_of_user(call.tx, wish.application_id, wish.user_id)
    lobby = next((row for row in mine if row.id == wish.lobby_id), None)
    inside = voice_states.calls.callers(call.tx, [wish.lobby_id]).get(wish.lobby_id, ())
    if lobby is not None and rules.can_enter(wish.user_id, inside):
        actions.put(call, lobby, _row(call, wish))


@obeys(wire.PING_LOBBY_VOICE_SERVER, writes=True)
def ping_lobby_voice_server(call: Call, body: wire.PingLobbyVoiceServer) -> None:
    """Look whether the voice server of a call that this session is in is still there, and find another where it is not."""
    if _playing(call) is None:
        return
    session_id = voice.session_id(call.session_id)
    row = voice_states.calls.find_caller(call.tx, body.lobby_id, call.user_id)
    if row is not None and row.session_id == session_id and voice_states.tickets.is_lost(call, *row[:2]):
        actions.displace(call, row)


def forget_waiting(call: Call, fact: WaitingForgotten) -> None:
    """Let nobody in who waits."""
    for lobby_id in fact.server_ids:
        jobs.cancel(call.tx, JOIN, _key(lobby_id, fact.user_id))


def _key(lobby_id: int, user_id: int) -> str:
    return f"{JOIN}:{int(lobby_id)}:{int(user_id)}"

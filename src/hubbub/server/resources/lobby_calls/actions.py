"""Coming into calls of lobbies and leaving them: write, and tell those who play."""

from collections.abc import Sequence

from hubbub.protocol.ids import LobbyId
from hubbub.protocol.resources import lobby_calls as wire
from hubbub.server.core.call import Call
from hubbub.server.core.dispatches import Audience
from hubbub.server.resources import lobbies, voice_states
from hubbub.server.resources.lobbies import LobbyMembersLeave, LobbyRow
from hubbub.server.resources.voice_states import CallerDisplaced, CallerLeaves, CallKind, CallStateRow


def put(call: Call, lobby: LobbyRow, row: CallStateRow) -> None:
    """A player comes into a call, or is in it in another way; the first one makes it."""
    done = voice_states.calls.put(call, row)
    if done.changed:
        _tell(call, _players(call, lobby), row)
    if done.needs_ticket:
        # voice.md 1: the state always comes before the server, so that clients know their session by then.
        _admit(call, lobby, row)
    if done.changed or done.needs_ticket:
        voice_states.calls.tell_server(call, row)


def leave(call: Call, rows: Sequence[CallStateRow], *, ended: bool = False) -> None:
    """Players leave calls, the last one ends it; `ended`: the lobby goes too."""
    for lobby_id in dict.fromkeys(row.call_id for row in rows):
        lobby = lobbies.find(call.tx, lobby_id)
        players = None if lobby is None else _players(call, lobby)
        for row in (row for row in rows if row.call_id == lobby_id):
            voice_states.calls.remove(call, row)
            if players is not None:
                _tell(call, players, row, left=True)
    for row in rows:
        voice_states.calls.tell_server(call, row, ended=ended)


def displace(call: Call, row: CallStateRow) -> None:
    """The voice server is gone: send somebody to another, or tell them to wait for one."""
    lobby = lobbies.find(call.tx, row.call_id)
    if lobby is not None:
        _admit(call, lobby, row)
        voice_states.calls.tell_server(call, row)


def members_leave(call: Call, fact: LobbyMembersLeave) -> None:
    """Who is in a lobby no more is not in its call."""
    inside = voice_states.calls.callers(call.tx, [fact.lobby.id]).get(fact.lobby.id, [])
    leave(call, [row for row in inside if row.user_id in fact.user_ids], ended=fact.ended)


def caller_leaves(call: Call, fact: CallerLeaves) -> None:
    """The voice server lost somebody for good."""
    if fact.row.kind == CallKind.LOBBY:
        leave(call, [fact.row])


def caller_displaced(call: Call, fact: CallerDisplaced) -> None:
    """The voice server itself was lost."""
    if fact.row.kind == CallKind.LOBBY:
        displace(call, fact.row)


def _players(call: Call, lobby: LobbyRow) -> Audience:
    """The sessions of the lobby's game that its members have."""
    inside = frozenset(lobbies.member_ids(call.tx, lobby.id))
    return Audience(users=inside, application_id=lobby.application_id, games_only=True)


def _tell(call: Call, players: Audience, row: CallStateRow, *, left: bool = False) -> None:
    call.tx.emit(wire.LOBBY_VOICE_STATE_UPDATE, lobbies.voice_state(row, left=left), players)


def _admit(call: Call, lobby: LobbyRow, row: CallStateRow) -> None:
    token, endpoint = voice_states.calls.admit(call, row)
    server = wire.LobbyVoiceServer(token=token, lobby_id=LobbyId(lobby.id), endpoint=endpoint)
    audience = voice_states.calls.holder(row, application_id=lobby.application_id)
    call.tx.emit(wire.LOBBY_VOICE_SERVER_UPDATE, server, audience)

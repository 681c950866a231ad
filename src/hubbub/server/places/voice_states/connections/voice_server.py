"""Functions that the voice server calls; they implement the protocol `VoiceTickets` of core/voice.py."""

from hubbub.server.core.call import Call
from hubbub.server.core.store import Tx
from hubbub.server.core.voice import SERVER_TIMEOUT_MS, VoiceTicket
from hubbub.server.places.standing import access
from hubbub.server.places.voice_states import actions, ports, rules, store


def find_ticket(tx: Tx, token_hash: bytes) -> VoiceTicket | None:
    """Return the ticket with this token hash, or None if it does not exist or a newer ticket replaced it."""
    return store.find_ticket(tx, token_hash)


def find_ticket_of_user(tx: Tx, server_id: int, user_id: int) -> VoiceTicket | None:
    """Return a user's ticket for a guild, lobby or private channel, or None."""
    return store.find_ticket_of_user(tx, server_id, user_id)


def allows_video(tx: Tx, ticket: VoiceTicket, now_ms: int) -> bool:
    """Return whether a user may send video: in a guild channel with STREAM, elsewhere always (decisions/0185)."""
    if not ticket.is_in_guild:
        return True
    channel_and_access = access.find_channel_standing(tx, now_ms, ticket.channel_id, ticket.user_id)
    return channel_and_access is not None and rules.can_send_video(channel_and_access[1])


def on_video_forbidden(call: Call, ticket: VoiceTicket) -> None:
    """Remove camera and screen from the voice state of a user who may not send video in the channel of the ticket."""
    row = store.find(call.tx, ticket.server_id, ticket.user_id)
    if row is not None and row.channel_id == ticket.channel_id and not allows_video(call.tx, ticket, call.now_ms):
        actions.update(call, row, row._replace(self_video=0, self_stream=0))


def on_connected(call: Call, ticket: VoiceTicket) -> None:
    """Delete the count of rejected connections after a connection was established."""
    store.put_failures(call.tx, ticket.server_id, ticket.user_id, 0, call.now_ms)


def on_rejected(call: Call, ticket: VoiceTicket) -> None:
    """Disconnect a user whose connection was rejected despite a valid ticket, and count the rejection."""
    if not _is_newest(call, ticket):
        return
    store.delete_expired_failures(call.tx, call.now_ms - rules.FAILURES_EXPIRE_MS)
    failure_count, _ = store.find_failures(call.tx, ticket.server_id, ticket.user_id)
    store.put_failures(call.tx, ticket.server_id, ticket.user_id, failure_count + 1, call.now_ms)
    _disconnect(call, ticket)


def on_connection_ended(call: Call, ticket: VoiceTicket) -> None:
    """Disconnect a user whose voice connection ended permanently, unless they have a newer ticket."""
    if _is_newest(call, ticket):
        _disconnect(call, ticket)


def record_heartbeat(call: Call, endpoint: str) -> None:
    """Record a heartbeat of a voice server, and move the users of lost servers to other servers."""
    seen_ms_by_endpoint = store.find_server_heartbeats(call.tx)
    store.put_server(call.tx, endpoint, call.now_ms)
    for other_endpoint, seen_ms in seen_ms_by_endpoint.items():
        if other_endpoint != endpoint and call.now_ms - seen_ms >= SERVER_TIMEOUT_MS:
            actions.reallocate_users(call, other_endpoint)


def remove_server(call: Call, endpoint: str) -> None:
    """Remove a voice server that shuts down, and move its users to other servers."""
    actions.reallocate_users(call, endpoint)


def _is_newest(call: Call, ticket: VoiceTicket) -> bool:
    """Return whether the user has no newer ticket for the guild, lobby or private channel."""
    newest_ticket = store.find_ticket_of_user(call.tx, ticket.server_id, ticket.user_id)
    return newest_ticket is not None and newest_ticket.token_hash == ticket.token_hash


def _disconnect(call: Call, ticket: VoiceTicket) -> None:
    """Disconnect the user of a ticket from their guild channel or from their call."""
    row = store.find(call.tx, ticket.server_id, ticket.user_id)
    if row is not None:
        actions.leave(call, [row])
    elif (participant := store.find_participant(call.tx, ticket.server_id, ticket.user_id)) is not None:
        ports.remove_participant(call, participant)

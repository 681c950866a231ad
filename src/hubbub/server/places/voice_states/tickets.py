"""Issue tickets, with which users connect to a voice server, and choose the server."""

import hashlib
import secrets

from hubbub.server.core import auth
from hubbub.server.core.call import Call
from hubbub.server.core.voice import SERVER_TIMEOUT_MS
from hubbub.server.places.voice_states import store
from hubbub.server.places.voice_states.store import TicketRow


def issue(call: Call, server_id: int, user_id: int, channel_id: int, session_id: str) -> tuple[str, str | None]:
    """Issue a ticket; return its token and the voice server's endpoint, which is None if no server is available.

    `server_id` is the ID of a guild, lobby or private channel. The user's earlier ticket for it becomes invalid."""
    endpoint, token = _choose_endpoint(call, channel_id), secrets.token_hex(16)
    ticket = TicketRow(server_id, user_id, channel_id, session_id, auth.hash_token(token), endpoint)
    store.put_ticket(call.tx, ticket)
    return token, endpoint


def needs_new_server(call: Call, server_id: int, user_id: int) -> bool:
    """Return whether a live voice server exists and a user's ticket is for none or for a server that is lost."""
    ticket = store.find_ticket_of_user(call.tx, server_id, user_id)
    live_endpoints = _live_endpoints(call)
    return ticket is not None and bool(live_endpoints) and ticket.endpoint not in live_endpoints


def _live_endpoints(call: Call) -> list[str]:
    """Return the endpoints of live voice servers.

    In a cluster these are the servers with a recent heartbeat, otherwise the server of this process, if it has one."""
    if call.config.nats_url is None:
        own_endpoint = call.config.voice.endpoint
        return [own_endpoint] if own_endpoint is not None and "voice" in call.config.roles else []
    return [
        endpoint
        for endpoint, seen_ms in store.find_server_heartbeats(call.tx).items()
        if call.now_ms - seen_ms < SERVER_TIMEOUT_MS
    ]


def _choose_endpoint(call: Call, channel_id: int) -> str | None:
    """Return the endpoint of the voice server for a channel, or None if no server is live.

    All participants of a channel share one server: the current server if it is live, otherwise a server that is chosen by
    a hash of the channel ID."""
    live_endpoints = _live_endpoints(call)
    if len(live_endpoints) < 2:
        return live_endpoints[0] if live_endpoints else None
    current_endpoint = store.find_server_endpoint(call.tx, channel_id)
    if current_endpoint in live_endpoints:
        return current_endpoint
    return max(live_endpoints, key=lambda endpoint: hashlib.sha256(f"{int(channel_id)} {endpoint}".encode()).digest())

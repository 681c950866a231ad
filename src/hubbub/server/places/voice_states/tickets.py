"""Tickets for the voice server."""

import hashlib
import secrets

from hubbub.server.core import auth
from hubbub.server.core.call import Call
from hubbub.server.core.voice import SERVER_TIMEOUT_MS
from hubbub.server.places.voice_states import store
from hubbub.server.places.voice_states.store import TicketRow


def issue(call: Call, server_id: int, user_id: int, channel_id: int, session_id: str) -> tuple[str, str | None]:
    """Issue a ticket for a guild, lobby or private channel; return its token and the voice server's endpoint.

    Earlier tickets of the user there become invalid."""
    server, token = _server(call, channel_id), secrets.token_hex(16)
    ticket = TicketRow(server_id, user_id, channel_id, session_id, auth.hash_token(token), server)
    store.put_ticket(call.tx, ticket)
    return token, server


def is_lost(call: Call, server_id: int, user_id: int) -> bool:
    """Return whether a user's voice server is lost, or a server became available for a user without one."""
    found = store.find_ticket_of_user(call.tx, server_id, user_id)
    live = _live(call)
    return found is not None and bool(live) and found.server not in live


def _live(call: Call) -> list[str]:
    """Return the endpoints of live voice servers.

    This is the process's own server or, in a cluster, those with a recent heartbeat."""
    if call.config.nats_url is None:
        own = call.config.voice.endpoint
        return [own] if own is not None and "voice" in call.config.roles else []
    return [server for server, seen_ms in store.list_servers(call.tx).items() if call.now - seen_ms < SERVER_TIMEOUT_MS]


def _server(call: Call, channel_id: int) -> str | None:
    """Return the voice server for a channel, or None.

    All participants share one server: the current one, or one chosen by a hash of the channel."""
    live = _live(call)
    if len(live) < 2:
        return live[0] if live else None
    known = store.find_server(call.tx, channel_id)
    if known in live:
        return known
    return max(live, key=lambda server: hashlib.sha256(f"{int(channel_id)} {server}".encode()).digest())

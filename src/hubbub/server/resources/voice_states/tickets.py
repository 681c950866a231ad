"""Tickets for the voice server: who is let in where, and what the voice door reports back (core/voice.py)."""

import hashlib
import secrets

from hubbub.server.core import auth
from hubbub.server.core.call import Call
from hubbub.server.core.store import Tx
from hubbub.server.core.voice import LOST_MS, Ticket
from hubbub.server.resources.voice_states import actions, rules, store
from hubbub.server.resources.voice_states.facts import CallerLeaves
from hubbub.server.resources.voice_states.store import TicketRow


def issue(call: Call, server_id: int, user_id: int, channel_id: int, session_id: str) -> tuple[str, str | None]:
    """A new ticket for a guild, a lobby or a private channel: its token, and the endpoint of the voice server. Whatever the user
    had there before is worth nothing from now on."""
    server, token = _server(call, channel_id), secrets.token_hex(16)
    ticket = TicketRow(server_id, user_id, channel_id, session_id, auth.hash_token(token), server)
    store.put_ticket(call.tx, ticket)
    return token, server


def is_lost(call: Call, server_id: int, user_id: int) -> bool:
    """Whether somebody was sent to a voice server that is there no more, or to none while there is one now."""
    found = store.ticket_of(call.tx, server_id, user_id)
    live = _live(call)
    return found is not None and bool(live) and found.server not in live


def _live(call: Call) -> list[str]:
    """The voice servers that are there: our own, or where there are several processes, those that said so."""
    if call.config.nats_url is None:
        own = call.config.voice.endpoint
        return [own] if own is not None and "voice" in call.config.roles else []
    return [server for server, seen_ms in store.servers(call.tx).items() if call.now - seen_ms < LOST_MS]


def _server(call: Call, channel_id: int) -> str | None:
    """A call is on one server: where the others are, or else one that follows from the channel alone."""
    live = _live(call)
    if len(live) < 2:
        return live[0] if live else None
    known = store.server_of(call.tx, channel_id)
    if known in live:
        return known
    return max(live, key=lambda server: hashlib.sha256(f"{int(channel_id)} {server}".encode()).digest())


# What the voice door asks and reports


def find_ticket(tx: Tx, token_hash: bytes) -> Ticket | None:
    """The ticket of a token, as long as it is the newest of its owner."""
    return store.find_ticket(tx, token_hash)


def ticket_of(tx: Tx, server_id: int, user_id: int) -> Ticket | None:
    """The ticket of somebody in a guild, lobby or private channel."""
    return store.ticket_of(tx, server_id, user_id)


def entered(call: Call, ticket: Ticket) -> None:
    """A connection stands: earlier refusals are forgotten."""
    store.put_failures(call.tx, ticket.server_id, ticket.user_id, 0, call.now)


def refused(call: Call, ticket: Ticket) -> None:
    """A connection with a good ticket was refused: they are not in the channel, and the next join waits."""
    if not _is_newest(call, ticket):
        return
    store.forget_failures(call.tx, call.now - rules.FORGIVEN_MS)
    count, _ = store.failures(call.tx, ticket.server_id, ticket.user_id)
    store.put_failures(call.tx, ticket.server_id, ticket.user_id, count + 1, call.now)
    _leave(call, ticket)


def gone(call: Call, ticket: Ticket) -> None:
    """A connection is gone for good: unless there is a newer ticket they leave the channel."""
    if _is_newest(call, ticket):
        _leave(call, ticket)


def serve(call: Call, endpoint: str) -> None:
    """A voice server of several is there; calls of those that are not go to others."""
    known = store.servers(call.tx)
    store.put_server(call.tx, endpoint, call.now)
    for other, seen_ms in known.items():
        if other != endpoint and call.now - seen_ms >= LOST_MS:
            actions.reallocate(call, other)


def withdraw(call: Call, endpoint: str) -> None:
    """A voice server of several ends; its calls go to others."""
    actions.reallocate(call, endpoint)


def _is_newest(call: Call, ticket: Ticket) -> bool:
    found = store.ticket_of(call.tx, ticket.server_id, ticket.user_id)
    return found is not None and found.token_hash == ticket.token_hash


def _leave(call: Call, ticket: Ticket) -> None:
    row = store.find(call.tx, ticket.server_id, ticket.user_id)
    if row is not None:
        actions.leave(call, [row])
    elif (caller := store.find_caller(call.tx, ticket.server_id, ticket.user_id)) is not None:
        call.tell(CallerLeaves(row=caller))

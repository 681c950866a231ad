"""Add, update and remove connections. No event is published (decisions/0025)."""

from typing import Any

from hubbub.protocol import changes
from hubbub.server.core.call import Call
from hubbub.server.identity import users
from hubbub.server.identity.connections import store
from hubbub.server.identity.connections.store import PUBLISHER_SCHEME_LEGACY, PUBLISHER_SCHEME_NEW, ConnectionRow


def add(
    call: Call,
    user_id: int,
    type: str,
    id: str,
    *,
    name: str | None = None,
    is_verified: bool = False,
    has_friend_sync: bool = False,
    shows_activity: bool = False,
    has_two_way_link: bool = False,
    visibility: int = 0,
    is_revoked: bool = False,
    publisher_scheme: str | None = None,
) -> ConnectionRow:
    """Add or update a connection of a user.

    `type` and `id` name the account on the other service. `publisher_scheme` is `new` or `legacy`. If it is None, an
    existing connection keeps its scheme, and the date decides about the scheme of a new connection."""
    existing_row = store.find(call.tx, user_id, type, id)
    if publisher_scheme is None:
        if existing_row is not None:
            publisher_scheme = existing_row.publisher_scheme
        else:
            publisher_scheme = (
                PUBLISHER_SCHEME_NEW if changes.PUBLISHER_SCHEME.is_active(call.now_ms) else PUBLISHER_SCHEME_LEGACY
            )
    row = ConnectionRow(
        user_id=user_id,
        type=type,
        id=id,
        name=name,
        verified=int(is_verified),
        friend_sync=int(has_friend_sync),
        show_activity=int(shows_activity),
        two_way_link=int(has_two_way_link),
        visibility=visibility,
        revoked=int(is_revoked),
        publisher_scheme=publisher_scheme,
        created_ms=call.now_ms if existing_row is None else existing_row.created_ms,
    )
    store.put(call.tx, row)
    return row


def remove(call: Call, user_id: int, type: str, id: str) -> bool:
    """Remove a connection. Return False if there was none."""
    return store.delete(call.tx, user_id, type, id)


def on_user_deleting(call: Call, signal: users.signals.UserDeleting) -> None:
    """Delete the connections of a deleted user."""
    store.delete_user_connections(call.tx, signal.user_id)


def export_data(call: Call, user_id: int) -> dict[str, Any]:
    """Return a user's connections for their data export."""
    rows = store.list_user_connections(call.tx, user_id)
    return {"connections": [{"type": row.type, "id": row.id, "name": row.name} for row in rows]}

"""HTTP handlers for connections."""

from msgspec import UNSET

from hubbub.protocol import errors
from hubbub.protocol.resources import connections as wire
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.identity.connections import actions, rules, store
from hubbub.server.identity.connections.store import ConnectionRow


@handles(wire.LIST_MY_CONNECTIONS)
def list_my_connections(call: Call) -> list[wire.Connection]:
    """List the connections of the current user."""
    publisher_types = call.config.publisher_connection_types
    rows = store.list_user_connections(call.tx, call.user_id)
    return [_connection_view(row) for row in rows if rules.is_listed(row, publisher_types, call.now_ms)]


@handles(wire.SET_MY_CONNECTION)
def set_my_connection(
    call: Call, connection_type: str, connection_id: str, body: wire.SetConnection
) -> wire.Connection:
    """Create or update a connection of the current user.

    The platform does not verify the account."""
    current_row = store.find(call.tx, call.user_id, connection_type, connection_id)
    if current_row is None:
        rules.require_valid_connection(call, connection_type, connection_id)
        current_row = ConnectionRow(call.user_id, connection_type, connection_id)
    row = actions.add(
        call,
        call.user_id,
        connection_type,
        connection_id,
        name=current_row.name if body.name is UNSET else body.name,
        is_verified=bool(current_row.verified),
        is_revoked=bool(current_row.revoked),
        visibility=current_row.visibility if body.visibility is UNSET else body.visibility,
        shows_activity=bool(current_row.show_activity) if body.show_activity is UNSET else body.show_activity,
        has_friend_sync=bool(current_row.friend_sync) if body.friend_sync is UNSET else body.friend_sync,
        has_two_way_link=bool(current_row.two_way_link) if body.two_way_link is UNSET else body.two_way_link,
    )
    return _connection_view(row)


@handles(wire.DELETE_MY_CONNECTION)
def delete_my_connection(call: Call, connection_type: str, connection_id: str) -> None:
    """Delete a connection of the current user."""
    if not actions.remove(call, call.user_id, connection_type, connection_id):
        raise errors.UNKNOWN_ACCOUNT()


def _connection_view(row: ConnectionRow) -> wire.Connection:
    return wire.Connection(
        id=row.id,
        name=row.name,
        type=row.type,
        verified=bool(row.verified),
        friend_sync=bool(row.friend_sync),
        show_activity=bool(row.show_activity),
        two_way_link=bool(row.two_way_link),
        visibility=row.visibility,
        revoked=True if row.revoked else UNSET,
    )

"""Rules for adding and listing connections: accounts of users on other services."""

from collections.abc import Collection

from hubbub.protocol import changes, errors
from hubbub.protocol.enums import ConnectionType
from hubbub.protocol.resources import connections as wire
from hubbub.server.core.call import Call
from hubbub.server.identity.connections import store
from hubbub.server.identity.connections.store import PUBLISHER_SCHEME_NEW, ConnectionRow

_CONNECTION_TYPES = frozenset(str(connection_type) for connection_type in ConnectionType)


def is_listed(row: ConnectionRow, publisher_types: Collection[str], now_ms: int) -> bool:
    """Return whether the list of a user's connections contains this connection.

    Connections of the types in the setting `publisher_connection_types` are not listed if they were created under the new
    scheme. Those under the legacy scheme are listed until the date in spec/dated-changes.md#2.7."""
    if row.type not in publisher_types:
        return True
    return row.publisher_scheme != PUBLISHER_SCHEME_NEW and not changes.CONNECTIONS_PUBLISHER.is_active(now_ms)


def require_valid_connection(call: Call, service: str, account_id: str) -> None:
    """Raise an error for an unknown service, an invalid account ID, or a caller with too many connections."""
    if service not in _CONNECTION_TYPES and service not in call.config.publisher_connection_types:
        raise errors.UNKNOWN_PROVIDER()
    if not 1 <= len(account_id) <= wire.CONNECTION_ID_MAX:
        raise errors.invalid("connection_id", *errors.bad_length(1, wire.CONNECTION_ID_MAX))
    if store.count(call.tx, call.user_id) >= wire.CONNECTIONS_MAX:
        raise errors.invalid(
            "connection_id", "CONNECTIONS_MAX", f"Maximum number of connections reached ({wire.CONNECTIONS_MAX})."
        )

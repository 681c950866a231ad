"""Which accounts can be connected, and which are listed."""

from collections.abc import Collection

from hubbub.protocol import changes, errors
from hubbub.protocol.enums import ConnectionType
from hubbub.protocol.resources import connections as wire
from hubbub.server.core.call import Call
from hubbub.server.resources.connections import store
from hubbub.server.resources.connections.store import NEW, ConnectionRow

_KNOWN = frozenset(str(kind) for kind in ConnectionType)


def is_listed(row: ConnectionRow, publisher_types: Collection[str], now: int) -> bool:
    """Whether a connection is told of: a publisher's new ones never are, its old ones until a day (dated-changes.md 2.7)."""
    if row.type not in publisher_types:
        return True
    return row.publisher_scheme != NEW and not changes.CONNECTIONS_PUBLISHER.active(now)


def require_connectable(call: Call, type: str, id: str) -> None:
    """Raise unless the provider is known and the person has room for one more account."""
    if type not in _KNOWN and type not in call.config.publisher_connection_types:
        raise errors.UNKNOWN_PROVIDER()
    if not 1 <= len(id) <= wire.CONNECTION_ID_MAX:
        raise errors.invalid("connection_id", *errors.bad_length(1, wire.CONNECTION_ID_MAX))
    if store.count(call.tx, call.user_id) >= wire.CONNECTIONS_MAX:
        raise errors.invalid(
            "connection_id", "CONNECTIONS_MAX", f"Maximum number of connections reached ({wire.CONNECTIONS_MAX})."
        )

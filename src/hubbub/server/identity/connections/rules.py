"""Rules for adding and listing connections."""

from collections.abc import Collection

from hubbub.protocol import changes, errors
from hubbub.protocol.enums import ConnectionType
from hubbub.protocol.resources import connections as wire
from hubbub.server.core.call import Call
from hubbub.server.identity.connections import store
from hubbub.server.identity.connections.store import SCHEME_NEW, ConnectionRow

_KNOWN = frozenset(str(kind) for kind in ConnectionType)


def is_listed(row: ConnectionRow, publisher_types: Collection[str], now: int) -> bool:
    """Return whether a connection is listed.

    A publisher's new connections never are; its legacy connections are until the date in spec/dated-changes.md#2.7."""
    if row.type not in publisher_types:
        return True
    return row.publisher_scheme != SCHEME_NEW and not changes.CONNECTIONS_PUBLISHER.is_active(now)


def require_connectable(call: Call, type: str, id: str) -> None:
    """Require a known provider, a valid account ID and fewer connections than the limit."""
    if type not in _KNOWN and type not in call.config.publisher_connection_types:
        raise errors.UNKNOWN_PROVIDER()
    if not 1 <= len(id) <= wire.CONNECTION_ID_MAX:
        raise errors.invalid("connection_id", *errors.bad_length(1, wire.CONNECTION_ID_MAX))
    if store.count(call.tx, call.user_id) >= wire.CONNECTIONS_MAX:
        raise errors.invalid(
            "connection_id", "CONNECTIONS_MAX", f"Maximum number of connections reached ({wire.CONNECTIONS_MAX})."
        )

"""Connecting and disconnecting accounts. No event tells of it (decisions/0025)."""

from hubbub.protocol import changes
from hubbub.server.core.call import Call
from hubbub.server.resources import users
from hubbub.server.resources.connections import store
from hubbub.server.resources.connections.store import LEGACY, NEW, ConnectionRow


def add(
    call: Call,
    user_id: int,
    type: str,
    id: str,
    *,
    name: str | None = None,
    verified: bool = False,
    friend_sync: bool = False,
    show_activity: bool = False,
    two_way_link: bool = False,
    visibility: int = 0,
    revoked: bool = False,
    publisher_scheme: str | None = None,
) -> ConnectionRow:
    """Connect a person's account, or say anew what is known of it; `publisher_scheme` is `new` or `legacy`.

    An account that is connected keeps the scheme it came under unless told otherwise."""
    before = store.find(call.tx, user_id, type, id)
    if publisher_scheme is None:
        if before is not None:
            publisher_scheme = before.publisher_scheme
        else:
            publisher_scheme = NEW if changes.PUBLISHER_SCHEME.active(call.now) else LEGACY
    row = ConnectionRow(
        user_id=user_id,
        type=type,
        id=id,
        name=name,
        verified=int(verified),
        friend_sync=int(friend_sync),
        show_activity=int(show_activity),
        two_way_link=int(two_way_link),
        visibility=visibility,
        revoked=int(revoked),
        publisher_scheme=publisher_scheme,
        created_ms=call.now if before is None else before.created_ms,
    )
    store.put(call.tx, row)
    return row


def remove(call: Call, user_id: int, type: str, id: str) -> bool:
    """Disconnect an account; False when it was not connected."""
    return store.delete(call.tx, user_id, type, id)


def forget(call: Call, fact: users.UserDeleted) -> None:
    """A person is gone: nothing of theirs is connected any more."""
    store.delete_of_user(call.tx, fact.user_id)


def harvest(call: Call, asked: users.DataAsked) -> None:
    """What a person connected, for their copy of all that is kept of them."""
    rows = store.list_of_user(call.tx, asked.user_id)
    asked.records["connections"] = [{"type": row.type, "id": row.id, "name": row.name} for row in rows]

"""The system user, which sends the notices of the server and of its operators."""

from typing import Final

from hubbub.protocol.ids import UserId
from hubbub.server.core import meta
from hubbub.server.core.call import Call
from hubbub.server.identity.users import store
from hubbub.server.identity.users.store import UserRow

SYSTEM_USERNAME: Final = "Server notices"
_META_KEY: Final = "system_user_id"


def find_or_create_system_user(call: Call) -> UserRow:
    """Return the system user; the first call creates it and must be in a write transaction.

    It is a bot without an application, so that it has no token and its name cannot be confused with a username."""
    stored_id = meta.find(call.tx, _META_KEY)
    row = None if stored_id is None else store.find(call.tx, int(stored_id))
    if row is None:
        row = UserRow(id=call.new_id(UserId), username=SYSTEM_USERNAME, discriminator="0000", bot=1, system=1)
        store.insert(call.tx, row)
        meta.put(call.tx, _META_KEY, str(int(row.id)))
    return row

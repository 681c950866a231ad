"""Deletion and export of the threads that a user created."""

from typing import Any, Final

from hubbub.protocol import codec
from hubbub.protocol.ids import UserId
from hubbub.server.core.call import Call
from hubbub.server.core.personal_data import export_row
from hubbub.server.talk import messages
from hubbub.server.talk.threads import actions, store

BATCH_SIZE: Final = 20
"""Number of threads that one transaction of the deletion of an account deletes or renames."""
DELETED_TITLE: Final = "Deleted thread"
"""Title of a thread whose creator was deleted with everything that they wrote."""


def delete_by_owner(call: Call, user_id: UserId) -> bool:
    """Delete a batch of the threads that a user created. Return whether there may be more.

    The messages of the user are already deleted. A thread with messages of other users stays: its title, which the user
    wrote, is replaced, and it has no owner. The audit log does not get the titles (decisions/0167)."""
    rows = store.list_by_owner(call.tx, user_id, limit=BATCH_SIZE)
    for row in rows:
        if messages.history.list_newest(call.tx, row.id, 1):
            actions.update(call, row, row._replace(name=DELETED_TITLE, owner_id=None), is_audited=False)
        else:
            actions.delete(call, row, is_audited=False)
    return len(rows) == BATCH_SIZE


def export_data(call: Call, user_id: UserId) -> dict[str, Any]:
    """Return the threads that a user created and joined for the export of their data."""
    return {
        "threads": [
            {
                name: value
                for name, value in export_row(row).items()
                if name in {"id", "guild_id", "parent_id", "type", "name", "created_at"}
            }
            for row in store.list_by_owner(call.tx, user_id)
        ],
        "thread_memberships": [
            {"thread_id": str(thread_id), "joined_at": codec.timestamp(joined_ms)}
            for thread_id, joined_ms in store.list_memberships(call.tx, user_id)
        ],
    }
